/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_LIBRARY_H
#define TOOLS_BENCH_LIBRARY_H

#include <stdint.h>

/*
 * libfabric as it is found when the program runs: by LD_LIBRARY_PATH, else beside the
 * program, else in the system's folders. The program is not linked with it, because
 * the symbol versions in a linked program keep it from running over older libraries.
 * Functions that fi_bench calls by name are forwarded (library.c); other calls use the
 * tables of the objects, which newer libraries only extend at the end.
 */
void fb_library_open(void);

/* The path of the library's file. */
const char *fb_library_path(void);

/* The interface version for fi_getinfo: the lower of the library's version and that of
 * this program's headers. */
uint32_t fb_library_version(void);

#endif
