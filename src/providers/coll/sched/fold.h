/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_FOLD_H
#define WF_COLL_SCHED_FOLD_H

#include "providers/coll/sched/pipeline.h"

/*
 * Reductions among a power of two of members, in a group of any size. The group has
 * some members in excess of a power of two; as many pairs are folded: one member's
 * vector is reduced into the other's, and the first member stands aside. The remaining
 * members have consecutive slots.
 *
 * Operands are always in the order of the slots, which is that of the ranks if the root
 * is 0; so all members that compute an element compute the same bits.
 */
struct coll_fold {
	uint32_t root, members;
	uint32_t slots;  /* number of slots, the power of two */
	uint32_t rest;   /* number of pairs that are folded */
	uint32_t number; /* rank of this member relative to the root */
	uint32_t slot;   /* slot of this member, if it is not aside */
	bool aside;
	size_t count;    /* number of elements of the vector */
	const char *cur; /* vector of this member; at acc after the first reduction */
	char *acc;
};

/* Compute the fold of @count elements at args->buf, and add its actions; reduced data
 * are stored in @acc, which may be equal to args->buf. */
struct coll_fold coll_fold(
	struct coll_build *b, size_t count, uint32_t root, char *acc);

/* Rank of the member in @slot. */
uint32_t coll_fold_rank(const struct coll_fold *fold, uint32_t slot);

/* Rank of the other member of a folded pair; @fold->number < 2 * @fold->rest. */
uint32_t coll_fold_partner(const struct coll_fold *fold);

/* Division of a vector among the slots: if @by_rank, into one block per member, and a
 * slot has the blocks of its pair; else as equally as possible. Returns the index of
 * the first element of the part of @slot; @slot may be the number of slots. */
size_t coll_fold_part(const struct coll_fold *fold, bool by_rank, uint32_t slot);

/* Recursive halving: afterwards each slot has its part of the result, in acc. */
void coll_fold_halve(struct coll_build *b, struct coll_fold *fold, bool by_rank);

/* Recursive doubling: each slot has its part in acc, and afterwards all parts. */
void coll_fold_gather(struct coll_build *b, const struct coll_fold *fold);

/* Send the whole result to the members that stand aside. */
void coll_fold_return(struct coll_build *b, const struct coll_fold *fold);

#endif
