/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_CHOOSE_H
#define WF_COLL_SCHED_CHOOSE_H

#include "providers/coll/setting.h"

/*
 * Where one algorithm takes over from another. Up to so many bytes (..._BYTES) the
 * algorithm in the name is chosen, and from so many members (..._MEMBERS) on. A block
 * has the count of fi_collective(3); a total is one block for each member. Bytes are
 * those of a block where no comment says otherwise.
 */
enum coll_sched_setting {
	COLL_BROADCAST_BINOMIAL_BYTES,
	COLL_ALLREDUCE_DOUBLING_BYTES,
	COLL_ALLREDUCE_DOUBLING_BYTES_OF_TWO, /* for two members */
	/* If the number of members is no power of two: Rabenseifner's algorithm has to
	 * fold then, and above this size the ring is used. */
	COLL_ALLREDUCE_RABENSEIFNER_BYTES,
	COLL_ALLGATHER_DOUBLING_BYTES, /* bytes of the total */
	COLL_ALLGATHER_BRUCK_BYTES,    /* bytes of the total */
	COLL_ALLTOALL_BRUCK_BYTES,
	COLL_ALLTOALL_BRUCK_MEMBERS,
	COLL_REDUCE_BINOMIAL_BYTES,
	COLL_REDUCE_SCATTER_HALVING_BYTES, /* bytes of the total */
	/* The same if the number of members is no power of two. */
	COLL_REDUCE_SCATTER_FOLDED_BYTES,
	/* Of scatter and gather; with fewer members, or larger blocks, the root
	 * communicates with each member. */
	COLL_SCATTER_BINOMIAL_BYTES,
	COLL_SCATTER_BINOMIAL_MEMBERS,
	/* Data to reduce, and broadcasts along a tree, move in pieces of about this
	 * many bytes; see coll_piece_bytes. */
	COLL_PIECE_BYTES,
	COLL_SCHED_SETTINGS,
};

/* By enum coll_sched_setting; constant after the provider was loaded, and the same at
 * all members of a group. */
extern struct coll_setting coll_sched_settings[COLL_SCHED_SETTINGS];

enum {
	/* Limit of the pieces of one transfer of a member. */
	COLL_PIECES_MAX = 32,
	/* Limit of transfers that a member starts before it waits for them. */
	COLL_WINDOW = 16,
	/* A multiple of the size of every element. */
	COLL_PIECE_ALIGN = 64,
};

static inline size_t coll_piece_bytes(void)
{
	return coll_sched_settings[COLL_PIECE_BYTES].value / COLL_PIECE_ALIGN *
	       COLL_PIECE_ALIGN;
}

#endif
