/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "providers/coll/node/direct.h"
#include "sys/compiler.h"
#include "sys/copy.h"

/*
 * The steps of a direct operation. Each has a slot use of its own, so that they do not
 * wait for each other's slots.
 */
enum step {
	STEP_POST,    /* Tell the others where the buffers are: first slot use. */
	STEP_READ,    /* Copy or reduce from their inputs, then publish the second. */
	STEP_RESULTS, /* Copy the shares that they reduced, then publish the third. */
	STEP_END,     /* Wait for those that read from this member. */
};

enum {
	PIECE = 128
		<< 10, /* bytes of one step of a reduction, which stay in the cache */
	COPY = 256 << 10, /* bytes of one system call */
	BUDGET = 1 << 20, /* bytes between two returns to the caller */
	HALF_ALIGN = 4096,
};

/* What a member posts: addresses in its process. */
struct addresses {
	uint64_t in, out;
};

static bool is_reduction(const struct coll_node *node)
{
	return node->plan.role.combines;
}

/* Two members: the root of a broadcast writes half of it to the other. */
static bool in_halves(const struct coll_node *node)
{
	return node->members == 2 && node->plan.kind == FI_BROADCAST;
}

static size_t half_of(const struct coll_plan *plan)
{
	return plan->part / 2 / HALF_ALIGN * HALF_ALIGN;
}

/* ---- memory of the others ---- */

static struct addresses posted_by(const struct coll_node *node, uint32_t member)
{
	struct addresses ret;

	memcpy(&ret, node->segment[member]->line[node->base % COLL_SLOTS].data,
		sizeof(ret));
	return ret;
}

/*
 * Copy between @mine and @len bytes at @theirs of @member. A wrong address concerns the
 * memory of that member's process only. Whatever the system says (EFAULT, too, for a
 * process that is about to end), the member is lost to the group.
 */
static int transfer(const struct coll_node *node, uint32_t member, bool write,
	void *mine, uint64_t theirs, size_t len)
{
	const struct coll_card *card = &node->card[member];
	struct iovec local = { mine, len };
	struct iovec remote = { (void *)(uintptr_t)theirs, len };
	ssize_t done;

	while (local.iov_len) {
		done = write ? process_vm_writev(
				       (pid_t)card->pid, &local, 1, &remote, 1, 0)
			     : process_vm_readv(
				       (pid_t)card->pid, &local, 1, &remote, 1, 0);
		if (done <= 0)
			return -FI_ECONNRESET;
		local.iov_base = (uint8_t *)local.iov_base + done;
		local.iov_len -= (size_t)done;
		remote.iov_base = (uint8_t *)remote.iov_base + done;
		remote.iov_len = local.iov_len;
	}
	return 0;
}

bool coll_direct_probe(const struct coll_node *node, uint32_t member)
{
	const struct coll_segment *segment = node->segment[member];
	uint64_t cookie = 0;

	return !transfer(node, member, false, &cookie, segment->address,
		       sizeof(cookie)) &&
	       cookie == node->card[member].cookie;
}

/* ---- memory of this member ---- */

/* Two pieces, and behind them what else the operation needs: a share where this member
 * has no result, or a copy of an input that its result overwrites. */
static int get_scratch(struct coll_node *node, size_t more)
{
	size_t size = 2 * (size_t)PIECE + more;
	uint8_t *mem;

	if (node->scratch_size >= size)
		return 0;
	mem = malloc(size);
	if (!mem)
		return -FI_ENOMEM;
	free(node->scratch);
	node->scratch = mem;
	node->scratch_size = size;
	return 0;
}

static int post(struct coll_node *node)
{
	struct coll_plan *plan = &node->plan;
	struct addresses own = { (uintptr_t)plan->in, (uintptr_t)plan->out };
	bool overwrites =
		plan->role.scatters && plan->role.all && plan->in == plan->out;
	bool shares = plan->stride == 3;
	size_t at = 0, more = 0;
	int ret = 0;

	if (overwrites)
		more = plan->part * node->members;
	else if (shares && !plan->role.takes)
		more = coll_share_of(node, node->rank, plan->part, &at);
	if (more || is_reduction(node))
		ret = get_scratch(node, more);
	if (ret)
		return ret;
	if (overwrites) {
		wf_copy(node->scratch + 2 * PIECE, plan->in, more);
		plan->in = node->scratch + 2 * PIECE;
		own.in = (uintptr_t)plan->in;
	} else if (more) {
		/* The share is where it would be in a result. */
		own.out = (uintptr_t)(node->scratch + 2 * PIECE) - at;
	}
	memcpy(node->own->line[node->base % COLL_SLOTS].data, &own, sizeof(own));
	coll_publish(node, node->base);
	return 0;
}

/* ---- copies ---- */

/* The next piece of a copy of @len bytes. */
static size_t next_piece(const struct coll_direct *direct, size_t len, size_t most)
{
	return WF_MIN(len - direct->at, most);
}

static void end_piece(struct coll_direct *direct, size_t piece, size_t len)
{
	direct->at += piece;
	if (direct->at >= len) {
		direct->at = 0;
		direct->turn++;
	}
}

/* The member whose turn it is: first this one, which has no need to wait for itself,
 * and then each member goes on with another one. */
static uint32_t member_of_turn(const struct coll_node *node)
{
	return (node->rank + node->direct.turn) % node->members;
}

static bool is_source(const struct coll_node *node, uint32_t member)
{
	return member != node->rank && member >= node->plan.first &&
	       member < node->plan.end;
}

static int copy_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t member = member_of_turn(node);
	size_t len = in_halves(node) ? half_of(plan) : plan->part;
	size_t piece = next_piece(direct, len, COPY);
	size_t from = direct->at + (plan->role.scatters ? node->rank * plan->part : 0);
	uint8_t *to = plan->out + direct->at;
	int ret = 0;

	if (plan->role.gathers)
		to += member * plan->part;
	if (is_source(node, member))
		ret = transfer(node, member, false, to,
			posted_by(node, member).in + from, piece);
	else if (member != node->rank || !plan->role.own)
		piece = len;
	else if (plan->in + from != to)
		wf_copy(to, plan->in + from, piece);
	end_piece(direct, piece, len);
	*ret_bytes = piece;
	return ret;
}

/* The root's half. */
static int write_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t member = !node->rank;
	size_t half = half_of(plan), len = plan->part - half;
	size_t piece = next_piece(direct, len, COPY), at = half + direct->at;
	int ret = transfer(node, member, true, (void *)(uintptr_t)(plan->in + at),
		posted_by(node, member).out + at, piece);

	end_piece(direct, piece, len);
	if (!direct->at)
		direct->turn = node->members;
	*ret_bytes = piece;
	return ret;
}

/* ---- reductions ---- */

/* Reduce @len bytes at @at of the inputs into @out, which may be this member's input.
 */
static int reduce_at(struct coll_node *node, uint64_t at, uint8_t *out,
	const uint8_t *own, size_t len)
{
	uint8_t *sum = node->scratch, *other = node->scratch + PIECE;
	const uint8_t *so_far = NULL;

	for (uint32_t i = 0; i < node->members; i++) {
		const uint8_t *in = own;

		if (i != node->rank) {
			uint8_t *to = so_far ? other : sum;
			int ret = transfer(
				node, i, false, to, posted_by(node, i).in + at, len);

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

static int reduce_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	size_t at, len = coll_share_of(node, node->rank, plan->part, &at), piece;
	uint8_t *out = node->scratch + 2 * PIECE;
	int ret = 0;

	if (plan->role.scatters) {
		at = node->rank * plan->part;
		len = plan->part;
		out = plan->out;
	} else if (plan->role.takes) {
		out = plan->out + at;
	}
	piece = next_piece(direct, len, PIECE);
	at += direct->at;
	if (piece)
		ret = reduce_at(node, at, out + direct->at, plan->in + at, piece);
	end_piece(direct, piece, len);
	/* All members were read. */
	if (!direct->at)
		direct->turn = node->members;
	*ret_bytes = piece;
	return ret;
}

/* Read the share that another member reduced. */
static int share_piece(struct coll_node *node, size_t *ret_bytes)
{
	struct coll_direct *direct = &node->direct;
	uint32_t member = member_of_turn(node);
	size_t at, len = coll_share_of(node, member, node->plan.part, &at), piece;
	int ret = 0;

	piece = next_piece(direct, len, COPY);
	at += direct->at;
	if (member != node->rank && piece)
		ret = transfer(node, member, false, node->plan.out + at,
			posted_by(node, member).out + at, piece);
	else
		piece = len;
	end_piece(direct, piece, len);
	*ret_bytes = piece;
	return ret;
}

/* ---- steps ---- */

/* The members whose slots this step waits for. */
static void range(const struct coll_node *node, uint32_t *ret_first, uint32_t *ret_end)
{
	const struct coll_plan *plan = &node->plan;
	const struct coll_role *role = &plan->role;
	bool to_root = plan->kind == FI_GATHER || plan->kind == FI_REDUCE;
	bool is_root = node->rank == plan->root;
	bool all = role->all;

	switch ((enum step)node->direct.step) {
	case STEP_READ:
		all |= plan->kind == FI_REDUCE || (to_root && is_root) ||
		       (is_root && in_halves(node));
		break;
	case STEP_RESULTS:
		all |= is_root;
		break;
	case STEP_END:
		/* The root of a broadcast or scatter waits for all others; the others
		 * wait for the root of a gather or reduce. */
		all |= !to_root && is_root;
		break;
	default:
		break;
	}
	*ret_first = 0;
	*ret_end = 0;
	if (all)
		*ret_end = node->members;
	else if (!is_root && (node->direct.step == STEP_READ
					     ? !to_root
					     : node->direct.step == STEP_END &&
						       (to_root || in_halves(node)))) {
		*ret_first = plan->root;
		*ret_end = plan->root + 1;
	}
}

static uint64_t use_of_step(const struct coll_node *node)
{
	switch ((enum step)node->direct.step) {
	case STEP_READ:
		return node->base;
	case STEP_RESULTS:
		return node->base + 1;
	default:
		return node->base + node->plan.stride - 1;
	}
}

/* One piece of the work of this step. */
static int work(struct coll_node *node, size_t *ret_bytes)
{
	if (node->direct.step == STEP_RESULTS)
		return share_piece(node, ret_bytes);
	if (is_reduction(node))
		return reduce_piece(node, ret_bytes);
	if (node->rank == node->plan.root && in_halves(node))
		return write_piece(node, ret_bytes);
	return copy_piece(node, ret_bytes);
}

static bool works(const struct coll_node *node)
{
	return node->direct.step == STEP_RESULTS || is_reduction(node) ||
	       node->plan.role.takes || in_halves(node);
}

/*
 * Does this step need each member only when its turn comes? Copies do: of inputs, and
 * of shares of a result. The share of a member in this one's input is read by that
 * member alone, so the result may take its place as soon as that member has published
 * it.
 */
static bool is_in_turns(const struct coll_node *node)
{
	if (node->direct.step == STEP_READ)
		return node->plan.role.all && !is_reduction(node);
	return node->direct.step == STEP_RESULTS;
}

/* Have the members posted that this step, or its next piece, needs? */
static bool may_go_on(struct coll_node *node)
{
	struct coll_direct *direct = &node->direct;
	uint32_t first, end, member = member_of_turn(node);

	if (is_in_turns(node))
		return member == node->rank ||
		       coll_is_full(node->segment[member], use_of_step(node));
	range(node, &first, &end);
	return coll_all_full(node, &direct->seen, end, use_of_step(node));
}

static void next_step(struct coll_node *node)
{
	struct coll_direct *direct = &node->direct;
	const struct coll_plan *plan = &node->plan;
	uint32_t end;

	if (direct->step == STEP_READ)
		coll_publish(node, node->base + 1);
	else if (direct->step == STEP_RESULTS)
		coll_publish(node, node->base + 2);
	direct->step++;
	if (direct->step == STEP_RESULTS && (plan->stride < 3 || !plan->role.takes))
		direct->step++;
	direct->turn = 0;
	direct->at = 0;
	range(node, &direct->seen, &end);
}

bool coll_direct_needs(const struct coll_node *node, uint32_t member)
{
	uint32_t first, end;

	if (node->direct.step == STEP_POST)
		return !coll_is_past(atomic_load_explicit(&node->segment[member]->done,
					     memory_order_acquire),
			node->base + node->plan.stride - 1);
	range(node, &first, &end);
	return member >= first && member < end &&
	       !coll_is_full(node->segment[member], use_of_step(node));
}

int coll_direct_advance(struct coll_node *node, bool *ret_moved)
{
	struct coll_direct *direct = &node->direct;
	size_t bytes = 0, piece;
	int ret;

	*ret_moved = false;
	for (;;) {
		if (direct->step == STEP_POST) {
			if (!coll_is_free(node, node->base + node->plan.stride - 1))
				return 0;
			ret = post(node);
			if (ret)
				return ret;
			next_step(node);
			*ret_moved = true;
		}
		if (!may_go_on(node))
			return 0;
		if (direct->step == STEP_END)
			return 1;
		*ret_moved = true;
		while (works(node) && direct->turn < node->members) {
			if (bytes > BUDGET || !may_go_on(node))
				return 0;
			ret = work(node, &piece);
			if (ret)
				return ret;
			bytes += piece;
		}
		next_step(node);
	}
}
