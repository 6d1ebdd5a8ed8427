/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_LIBRARY_H
#define TOOLS_BENCH_LIBRARY_H

#include <stdint.h>

/*
 * libfabric as it is found when the program runs: by LD_LIBRARY_PATH, else beside the
 * program, else where the system has it. The program is not linked with it, because
 * the versions of symbols that a link notes down keep a program from running over older
 * libraries. What fi_bench calls by name is forwarded (library.c); everything else goes
 * through the tables of the objects, which libraries extend at their ends only.
 */
void fb_library_open(void);

/* Its file. */
const char *fb_library_path(void);

/* The version of the interface to ask for: the library's, but none that the headers of
 * this program do not know. */
uint32_t fb_library_version(void);

#endif
