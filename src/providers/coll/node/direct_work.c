/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/direct_work.h"
#include "sys/compiler.h"

/* The work of the steps of direct operations: copies and reductions. */

enum {
	COPY = 256 << 10, /* bytes of one system call */
	HALF_ALIGN = 4096,
};

static size_t direct_work_half_of(const struct coll_plan *plan)
{
	return plan->part / 2 / HALF_ALIGN * HALF_ALIGN;
}

/* Length of the next piece of a copy of @len bytes. */
static size_t direct_work_next_piece(
	const struct coll_direct *direct, size_t len, size_t most)
{
	return WF_MIN(len - direct->at, most);
}

static void direct_work_end_piece(struct coll_direct *direct, size_t piece, size_t len)
{
	direct->at += piece;
	if (direct->at >= len) {
		direct->at = 0;
		direct->members_done++;
	}
}

static bool direct_work_is_source(const struct coll_node *node, uint32_t member)
{
	return member != node->rank && member >= node->plan.first &&
	       member < node->plan.end;
}

static int direct_work_copy_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t member = coll_direct_member(node);
	size_t len =
		coll_direct_in_halves(node) ? direct_work_half_of(plan) : plan->part;
	size_t piece = direct_work_next_piece(direct, len, COPY);
	size_t from = direct->at + (plan->role.scatters ? node->rank * plan->part : 0);
	uint8_t *to = plan->out + direct->at;
	int ret = 0;

	if (plan->role.gathers)
		to += member * plan->part;
	if (direct_work_is_source(node, member))
		ret = coll_direct_transfer(node, member, false, to,
			coll_direct_posted(node, member).in + from, piece);
	else if (member != node->rank || !plan->role.own)
		piece = len;
	else
		coll_copy_result(plan, to, plan->in + from, piece);
	direct_work_end_piece(direct, piece, len);
	*ret_bytes = piece;
	return ret;
}

/* Write the root's half. */
static int direct_work_write_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t member = !node->rank;
	size_t half = direct_work_half_of(plan), len = plan->part - half;
	size_t piece = direct_work_next_piece(direct, len, COPY),
	       at = half + direct->at;
	int ret = coll_direct_transfer(node, member, true,
		(void *)(uintptr_t)(plan->in + at),
		coll_direct_posted(node, member).out + at, piece);

	direct_work_end_piece(direct, piece, len);
	if (!direct->at)
		direct->members_done = node->members;
	*ret_bytes = piece;
	return ret;
}

/* Reduce @len bytes at @at of the inputs into @out, which may be this member's
 * input. */
static int direct_work_reduce_at(struct coll_node *node, uint64_t at, uint8_t *out,
	const uint8_t *own, size_t len)
{
	uint8_t *sum = node->scratch, *other = node->scratch + COLL_DIRECT_PIECE;
	const uint8_t *so_far = NULL;

	for (uint32_t i = 0; i < node->members; i++) {
		const uint8_t *in = own;

		if (i != node->rank) {
			uint8_t *to = so_far ? other : sum;
			int ret = coll_direct_transfer(node, i, false, to,
				coll_direct_posted(node, i).in + at, len);

			if (ret)
				return ret;
			in = to;
		}
		if (so_far) {
			uint8_t *to = i + 1 == node->members ? out : sum;

			node->plan.reduce(to, so_far, in, len / node->plan.size);
			so_far = to;
		} else {
			so_far = in;
		}
	}
	return 0;
}

static int direct_work_reduce_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	size_t at, len = coll_share_of(node, node->rank, plan->part, &at), piece;
	uint8_t *out = node->scratch + 2 * COLL_DIRECT_PIECE;
	int ret = 0;

	if (plan->role.scatters) {
		at = node->rank * plan->part;
		len = plan->part;
		out = plan->out;
	} else if (plan->role.takes) {
		out = plan->out + at;
	}
	piece = direct_work_next_piece(direct, len, COLL_DIRECT_PIECE);
	at += direct->at;
	if (piece)
		ret = direct_work_reduce_at(
			node, at, out + direct->at, plan->in + at, piece);
	direct_work_end_piece(direct, piece, len);
	/* All members have been read. */
	if (!direct->at)
		direct->members_done = node->members;
	*ret_bytes = piece;
	return ret;
}

/* Read the share that another member reduced. */
static int direct_work_share_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	uint32_t member = coll_direct_member(node);
	size_t at, len = coll_share_of(node, member, node->plan.part, &at), piece;
	int ret = 0;

	piece = direct_work_next_piece(direct, len, COPY);
	at += direct->at;
	if (member != node->rank && piece)
		ret = coll_direct_transfer(node, member, false, node->plan.out + at,
			coll_direct_posted(node, member).out + at, piece);
	else
		piece = len;
	direct_work_end_piece(direct, piece, len);
	*ret_bytes = piece;
	return ret;
}

int coll_direct_work(struct coll_node *node, size_t *ret_bytes)
{
	if (node->direct.step == COLL_STEP_RESULTS)
		return direct_work_share_piece(node, ret_bytes);
	if (coll_direct_reduces(node))
		return direct_work_reduce_piece(node, ret_bytes);
	if (node->rank == node->plan.root && coll_direct_in_halves(node))
		return direct_work_write_piece(node, ret_bytes);
	return direct_work_copy_piece(node, ret_bytes);
}
