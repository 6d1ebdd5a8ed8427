/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_SCHED_CHOOSE_H
#define WF_PROVIDERS_COLL_SCHED_CHOOSE_H

/* The numbers that decide how an operation is done: measured by ./dev bench coll, see
 * docs/performance.md. */
enum {
	/* Data to reduce, and broadcasts along a tree, move in pieces of about so many
	 * bytes, and one transfer of a member in at most so many pieces. */
	COLL_PIECE_BYTES = 256 << 10,
	COLL_PIECES_MAX = 32,
	/* Transfers of one member that are started before it waits for them. */
	COLL_WINDOW = 16,
};

#endif
