/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_RING_H
#define WF_COLL_SCHED_RING_H

#include "providers/coll/sched/build.h"

/*
 * A vector in as many parts as there are members; each part goes around the ring from
 * rank to rank + 1.
 */

/* Reduce args->count elements at args->buf into @acc, which may be equal to it;
 * afterwards @acc has the complete part rank + 1 of the result. */
void coll_ring_reduce(struct coll_build *b, char *acc);

/* The piece_len for coll_temp that the reduction of @count elements in @parts parts
 * needs. */
size_t coll_ring_piece(const struct coll_args *args, size_t count, uint32_t parts);

/* Gather @count elements at args->result: each member has part rank + @shift, and
 * afterwards all parts. @own: address of the member's part, which is copied to its
 * position in the result, too. */
void coll_ring_gather(
	struct coll_build *b, size_t count, uint32_t shift, const char *own);

#endif
