/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_COLL_FORK_H
#define BENCH_COLL_FORK_H

#include "coll_rows.h"

/*
 * Run the rows with group->members processes; each has a core of its own where there
 * are enough of them. Each process calls @join with its rank and with @board_size bytes
 * that all share, zeros at first; then come the rows of @only, or all. Returns the exit
 * status of the program: the first failure ends all processes.
 */
int coll_fork(struct coll_group *group, size_t board_size,
	void (*join)(struct coll_group *group, void *board), const char *only);

#endif
