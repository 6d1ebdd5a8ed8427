/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_PROCESS_H
#define TOOLS_BENCH_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A program to run. */
struct fb_process {
	char *const *argv; /* ends with NULL; argv[0] is looked up in PATH */
	char *const *env;  /* NAME=VALUE to add, ends with NULL; or NULL */
	int64_t core;      /* pinned to it; -1: not pinned */
	uint32_t limit_s;  /* killed after so long; 0: no limit */
	bool silent;       /* its standard error is dropped */
};

/* Starts the program. @ret_output gets its standard output; NULL: it is dropped. The
 * program is killed when this process ends. */
pid_t fb_process_start(const struct fb_process *process, FILE **ret_output);

/* Waits for the end of the program. Returns its exit status, or 128 plus the number of
 * the signal that killed it. */
int fb_process_wait(pid_t pid);

#endif
