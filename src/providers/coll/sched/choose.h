/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_SCHED_CHOOSE_H
#define WF_PROVIDERS_COLL_SCHED_CHOOSE_H

/* The numbers that decide how an operation is executed, measured by ./dev bench coll;
 * see docs/performance.md. */
enum {
	/* Data to reduce, and broadcasts along a tree, move in pieces of about this
	 * many bytes, and one transfer of a member in at most this many pieces. */
	COLL_PIECE_BYTES = 256 << 10,
	COLL_PIECES_MAX = 32,
	/* Limit of transfers that a member starts before it waits for them. */
	COLL_WINDOW = 16,
};

#endif
