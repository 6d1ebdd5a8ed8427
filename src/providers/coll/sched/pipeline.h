/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_SCHED_PIPELINE_H
#define WF_COLL_SCHED_PIPELINE_H

#include "providers/coll/sched/build.h"

/*
 * Reductions of received data in pieces: while one piece is reduced, the next one is
 * under way.
 */

/* coll_pieces: limit of the number of pieces of @len bytes. coll_piece_len: length in
 * bytes of the largest piece of @count elements. Both return the same at all members
 * for the same arguments. */
uint32_t coll_pieces(size_t len);
size_t coll_piece_len(const struct coll_args *args, size_t count, uint32_t pieces);

/* One step of a pipeline, with lengths in bytes: send, receive, and reduce the received
 * data: @dst = @own op received, or with own_second @dst = received op @own. */
struct coll_unit {
	const char *out;
	size_t out_len;
	uint32_t to, from;
	size_t in_len; /* at most the piece_len of coll_temp */
	const char *own;
	char *dst;
	bool own_second;
	bool out_after; /* Send @out after the data is reduced, not before. */
};

/* Fill unit @i, which is zeroed before. */
typedef void coll_unit_fn(
	const struct coll_build *b, const void *arg, size_t i, struct coll_unit *unit);

/* Add @count units, whose transfers have ended at the end. @chained: each unit sends
 * the data that the previous unit reduced. */
void coll_pipeline(struct coll_build *b, size_t count, bool chained, coll_unit_fn *fill,
	const void *arg);

/* Both directions of an exchange with @peer: send @out_count elements at @out, receive
 * @in_count elements and reduce them with @own into @dst. One of the counts may be
 * 0. */
struct coll_exchange {
	uint32_t peer;
	const char *out;
	size_t out_count, in_count;
	const char *own;
	char *dst;
	bool own_second;
};

void coll_exchange(struct coll_build *b, const struct coll_exchange *x);

/* The piece_len for coll_temp that exchanges of up to @count elements need. */
size_t coll_exchange_piece(const struct coll_args *args, size_t count);

#endif
