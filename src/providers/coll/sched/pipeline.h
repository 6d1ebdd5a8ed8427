/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_SCHED_PIPELINE_H
#define WF_PROVIDERS_COLL_SCHED_PIPELINE_H

#include "providers/coll/sched/build.h"

/*
 * Reductions of received data in pieces: while one piece is reduced, the next one is
 * under way.
 */

/* Into how many pieces @len bytes are divided at most, and the bytes of the largest
 * piece of @count elements. The same at all members for the same numbers. */
uint32_t coll_pieces(size_t len);
size_t coll_piece_len(const struct coll_args *args, size_t count, uint32_t pieces);

/* One unit of a pipeline, in bytes: send, receive, and reduce the received data:
 * @dst = @own op received, or with own_second received op @own. */
struct coll_unit {
	const char *out;
	size_t out_len;
	uint32_t to, from;
	size_t in_len; /* not above the piece_len of coll_temp */
	const char *own;
	char *dst;
	bool own_second;
	bool out_after; /* send @out when the data is reduced, not before */
};

/* Fill in unit @i, with zeros in it before. */
typedef void coll_unit_fn(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit);

/* Add @count units, whose transfers have ended at the end. @chained: each unit sends
 * what the one before it reduces. */
void coll_pipeline(struct coll_build *b, size_t count, bool chained, coll_unit_fn *fill,
	const void *arg);

/* Both sides of an exchange with @peer: send @out_count elements at @out, receive
 * @in_count and reduce them with @own into @dst. One of the counts may be 0. */
struct coll_exchange {
	uint32_t peer;
	const char *out;
	size_t out_count, in_count;
	const char *own;
	char *dst;
	bool own_second;
};

void coll_exchange(struct coll_build *b, const struct coll_exchange *x);

/* The piece_len that coll_temp needs for exchanges of up to @count elements. */
size_t coll_exchange_piece(const struct coll_args *args, size_t count);

#endif
