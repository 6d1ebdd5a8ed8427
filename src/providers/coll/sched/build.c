/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/coll/sched/build.h"
#include "sys/compiler.h"

/* 960 bytes: glibc caches blocks of up to 1032 bytes per thread. */
enum { ACTS_FIRST = 24 };

/* Values of these types have padding, which reductions do not write. */
static bool build_has_padding(const struct coll_args *args)
{
	return args->datatype == FI_LONG_DOUBLE ||
	       args->datatype == FI_LONG_DOUBLE_COMPLEX;
}

static size_t build_in_lines(size_t len)
{
	return (len + WF_CACHELINE - 1) & ~(size_t)(WF_CACHELINE - 1);
}

bool coll_temp(struct coll_build *b, size_t len, size_t piece_len, char **ret_temp)
{
	struct coll_sched *sched = b->sched;
	size_t need = build_in_lines(len) + 2 * build_in_lines(piece_len);

	if (need > sched->temp_size) {
		free(sched->temp);
		sched->temp_size = 0;
		sched->temp = malloc(need);
		if (!sched->temp) {
			b->err = -FI_ENOMEM;
			return false;
		}
		sched->temp_size = need;
	}
	/* Do not send other data of this process in the padding. */
	if (build_has_padding(b->args))
		memset(sched->temp, 0, need);
	b->piece[0] = (char *)sched->temp + build_in_lines(len);
	b->piece[1] = b->piece[0] + build_in_lines(piece_len);
	*ret_temp = sched->temp;
	return true;
}

static uint32_t build_rank_of(const struct coll_build *b, uint32_t member)
{
	return b->leaders ? coll_leader(b->leaders, member) : member;
}

static void build_add(struct coll_build *b, struct coll_act act)
{
	struct coll_sched *sched = b->sched;

	if (wf_unlikely(sched->count == sched->capacity)) {
		size_t capacity = WF_MAX(2 * sched->capacity, (size_t)ACTS_FIRST);
		struct coll_act *more =
			b->err ? NULL : realloc(sched->act, capacity * sizeof(*more));

		if (!more) {
			b->err = -FI_ENOMEM;
			return;
		}
		sched->act = more;
		sched->capacity = capacity;
	}
	sched->act[sched->count++] = act;
}

void coll_send(struct coll_build *b, uint32_t to, const char *src, size_t len)
{
	if (!len)
		return;
	build_add(b, (struct coll_act){ .kind = COLL_ACT_SEND,
			     .peer = build_rank_of(b, to),
			     .src = src,
			     .len = len });
	b->pending = true;
}

void coll_recv(struct coll_build *b, uint32_t from, char *dst, size_t len)
{
	if (!len)
		return;
	build_add(b, (struct coll_act){ .kind = COLL_ACT_RECV,
			     .peer = build_rank_of(b, from),
			     .dst = dst,
			     .len = len });
	b->pending = true;
}

void coll_signal(struct coll_build *b, uint32_t to, uint32_t from)
{
	build_add(b, (struct coll_act){
			     .kind = COLL_ACT_RECV, .peer = build_rank_of(b, from) });
	build_add(b, (struct coll_act){
			     .kind = COLL_ACT_SEND, .peer = build_rank_of(b, to) });
	b->pending = true;
}

/* Extend the previous copy action, if it ends where this copy begins. */
static bool build_prolong_copy(
	struct coll_build *b, char *dst, const char *src, size_t len)
{
	struct coll_act *last;

	if (!b->sched->count)
		return false;
	last = &b->sched->act[b->sched->count - 1];
	if (last->kind != COLL_ACT_COPY || (char *)last->dst + last->len != dst ||
		(const char *)last->src + last->len != src)
		return false;
	last->len += len;
	return true;
}

void coll_copy(struct coll_build *b, char *dst, const char *src, size_t len)
{
	if (!len || dst == src || build_prolong_copy(b, dst, src, len))
		return;
	build_add(
		b, (struct coll_act){
			   .kind = COLL_ACT_COPY, .dst = dst, .src = src, .len = len });
}

void coll_combine(struct coll_build *b, char *dst, const char *first,
	const char *second, size_t len)
{
	if (!len)
		return;
	build_add(b, (struct coll_act){ .kind = COLL_ACT_REDUCE,
			     .dst = dst,
			     .src = first,
			     .src2 = second,
			     .len = len });
}

void coll_wait(struct coll_build *b)
{
	if (b->pending)
		build_add(b, (struct coll_act){ .kind = COLL_ACT_WAIT });
	b->pending = false;
}

void coll_node_act(struct coll_build *b, uint32_t i, const struct coll_args *args)
{
	b->sched->node[i] = *args;
	build_add(b, (struct coll_act){ .kind = COLL_ACT_NODE, .peer = i });
	b->pending = false;
}

size_t coll_part(size_t count, uint32_t parts, uint32_t i)
{
	size_t rest = count % parts;

	return count / parts * i + WF_MIN(rest, (size_t)i);
}
