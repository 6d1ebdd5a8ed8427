/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/coll/node/state.h"
#include "sys/compiler.h"
#include "sys/copy.h"

/* Copies and reduces the data of one chunk. */

enum { SHARE_ALIGN = 64, SMALL = 64 };

void coll_copy_data(void *to, const void *from, size_t len)
{
	if (to == from)
		return;
	if (len <= SMALL)
		wf_copy_small(to, from, len);
	else
		wf_copy(to, from, len);
}

void coll_copy_result(
	const struct coll_plan *plan, void *to, const void *from, size_t len)
{
	if (plan->streams && to != from)
		wf_copy_stream(to, from, len);
	else
		coll_copy_data(to, from, len);
}

const uint8_t *coll_data_of(
	const struct coll_segment *segment, uint64_t use, size_t len)
{
	uint64_t slot = use % COLL_SLOTS;

	return len <= COLL_LINE_BYTES ? segment->line[slot].data : segment->cell[slot];
}

uint8_t *coll_own_data(struct coll_node *node, uint64_t use, size_t len)
{
	return (uint8_t *)(uintptr_t)coll_data_of(node->own, use, len);
}

/* Bytes of each part in @chunk. */
static size_t data_chunk_len(const struct coll_plan *plan, uint64_t chunk)
{
	return WF_MIN(plan->piece, plan->part - chunk * plan->piece);
}

size_t coll_share_of(
	const struct coll_node *node, uint32_t rank, size_t len, size_t *ret_at)
{
	size_t share = (len + node->members - 1) / node->members;
	size_t at;

	share = (share + SHARE_ALIGN - 1) / SHARE_ALIGN * SHARE_ALIGN;
	at = WF_MIN(rank * share, len);
	*ret_at = at;
	return WF_MIN(share, len - at);
}

/* The chunk of this member's data; NULL: the member contributes none. */
static const uint8_t *data_own_chunk(const struct coll_plan *plan, uint64_t chunk)
{
	return plan->in ? plan->in + chunk * plan->piece : NULL;
}

/* Copy @in, this member's data for one chunk, which has @len bytes, to its slot @to. */
static void data_post(
	const struct coll_node *node, const uint8_t *in, size_t len, uint8_t *to)
{
	const struct coll_plan *plan = &node->plan;
	size_t at, own;

	if (plan->shares) {
		/* No other member reads this member's share. */
		own = coll_share_of(node, node->rank, len, &at);
		coll_copy_data(to, in, at);
		coll_copy_data(to + at + own, in + at + own, len - at - own);
	} else if (plan->parts == 1) {
		coll_copy_data(to, in, len);
	} else {
		for (uint32_t i = 0; i < plan->parts; i++, to += len, in += plan->part)
			if (i != node->rank)
				coll_copy_data(to, in, len);
	}
}

void coll_post(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;
	uint64_t use = coll_use(node, chunk);
	size_t len = data_chunk_len(plan, chunk);
	const uint8_t *in = data_own_chunk(plan, chunk);

	if (in)
		data_post(node, in, len, coll_own_data(node, use, len * plan->parts));
	coll_publish(node, use);
}

/* The data of all members for one reduction. */
struct inputs {
	const uint8_t *own; /* data of this member */
	uint64_t use;       /* slot use of the data of the other members */
	size_t slot_len;    /* bytes in that slot */
	size_t at;          /* offset of the data in it */
	size_t count;       /* number of elements */
};

/*
 * Reduce into @out, which may be the input of the first or second member. The order is
 * that of the ranks, so that the results are the same at every member and in every run.
 */
static void data_combine(
	const struct coll_node *node, const struct inputs *inputs, uint8_t *out)
{
	const uint8_t *sum = NULL;

	for (uint32_t i = 0; i < node->members; i++) {
		const uint8_t *in = inputs->own;

		if (i != node->rank)
			in = coll_data_of(
				     node->segment[i], inputs->use, inputs->slot_len) +
			     inputs->at;
		if (sum)
			node->plan.reduce(out, sum, in, inputs->count);
		sum = sum ? out : in;
	}
	if (node->members == 1)
		coll_copy_data(out, sum, inputs->count * node->plan.size);
}

void coll_share(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;
	size_t len = data_chunk_len(plan, chunk), at;
	size_t share = coll_share_of(node, node->rank, len, &at);
	struct inputs inputs = {
		.own = plan->in + chunk * plan->piece + at,
		.use = coll_use(node, chunk),
		.slot_len = len,
		.at = at,
		.count = share / plan->size,
	};

	data_combine(node, &inputs, coll_own_data(node, inputs.use + 1, share));
	coll_publish(node, inputs.use + 1);
}

static void data_take_shares(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;
	size_t len = data_chunk_len(plan, chunk), at;
	uint64_t use = coll_use(node, chunk) + 1;
	uint8_t *out = plan->out + chunk * plan->piece;

	for (uint32_t i = 0; i < node->members; i++) {
		size_t share = coll_share_of(node, i, len, &at);

		coll_copy_data(
			out + at, coll_data_of(node->segment[i], use, share), share);
	}
}

static void data_take_combined(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;
	size_t len = data_chunk_len(plan, chunk), at = 0;
	uint64_t use = coll_use(node, chunk);
	const uint8_t *own = plan->in + chunk * plan->piece;

	if (plan->parts > 1) {
		at = node->rank * len;
		own += node->rank * plan->part;
	} else if (plan->role.posts && plan->in == plan->out && node->rank > 1) {
		/* The data of the first members are reduced into the input. Otherwise
		 * it is read instead of the slot, which other processors read now. */
		own = coll_data_of(node->own, use, len);
	}
	data_combine(node,
		&(struct inputs){
			.own = own,
			.use = use,
			.slot_len = len * plan->parts,
			.at = at,
			.count = len / plan->size,
		},
		plan->out + chunk * plan->piece);
}

static void data_take_parts(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;
	size_t len = data_chunk_len(plan, chunk);
	size_t at = plan->parts > 1 ? node->rank * len : 0;
	size_t step = plan->role.gathers ? plan->part : 0;
	uint64_t use = coll_use(node, chunk);
	uint8_t *out = plan->out + chunk * plan->piece;
	const uint8_t *own = data_own_chunk(plan, chunk);

	if (plan->parts > 1 && own)
		own += node->rank * plan->part;
	if (plan->role.own)
		coll_copy_result(plan, out + node->rank * step, own, len);
	for (uint32_t i = plan->first; i < plan->end; i++)
		if (i != node->rank)
			coll_copy_result(plan, out + i * step,
				coll_data_of(node->segment[i], use, len * plan->parts) +
					at,
				len);
}

void coll_take(struct coll_node *node, uint64_t chunk)
{
	const struct coll_plan *plan = &node->plan;

	if (plan->shares)
		data_take_shares(node, chunk);
	else if (plan->role.combines)
		data_take_combined(node, chunk);
	else if (plan->part)
		data_take_parts(node, chunk);
}
