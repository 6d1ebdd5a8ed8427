/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/copy.h"
#include "providers/coll/node/tree.h"
#include "sys/compiler.h"

/* The plan of an operation at one member. */

enum {
	/* A part is divided at least into this many chunks, so that members work at the
	 * same time, unless the chunks become too small. */
	CHUNKS_WANTED = 4,
	CHUNK_ALIGN = 64,
};

const struct coll_role coll_roles[][2] = {
	[FI_BARRIER] = { { .posts = true, .takes = true, .all = true },
		{ .posts = true, .takes = true, .all = true } },
	[FI_BROADCAST] = { { .posts = true }, { .takes = true } },
	/* The root takes its own part, too. */
	[FI_SCATTER] = { { .posts = true,
				 .takes = true,
				 .own = true,
				 .scatters = true },
		{ .takes = true, .scatters = true } },
	[FI_GATHER] = { { .takes = true, .own = true, .gathers = true },
		{ .posts = true } },
	[FI_ALLGATHER] = { { .posts = true,
				   .takes = true,
				   .all = true,
				   .own = true,
				   .gathers = true },
		{ .posts = true,
			.takes = true,
			.all = true,
			.own = true,
			.gathers = true } },
	[FI_ALLTOALL] = { { .posts = true,
				  .takes = true,
				  .all = true,
				  .own = true,
				  .gathers = true,
				  .scatters = true },
		{ .posts = true,
			.takes = true,
			.all = true,
			.own = true,
			.gathers = true,
			.scatters = true } },
	[FI_ALLREDUCE] = { { .posts = true,
				   .takes = true,
				   .all = true,
				   .combines = true },
		{ .posts = true, .takes = true, .all = true, .combines = true } },
	[FI_REDUCE] = { { .takes = true, .combines = true },
		{ .posts = true, .combines = true } },
	[FI_REDUCE_SCATTER] = { { .posts = true,
					.takes = true,
					.all = true,
					.combines = true,
					.scatters = true },
		{ .posts = true,
			.takes = true,
			.all = true,
			.combines = true,
			.scatters = true } },
};

static void plan_shares(struct coll_plan *plan, const struct coll_node *node,
	const struct coll_args *args)
{
	bool possible = args->kind == FI_ALLREDUCE || args->kind == FI_REDUCE;

	if (possible && args->members >= node->setting[COLL_NODE_SHARE_MEMBERS] &&
		plan->part >= node->setting[COLL_NODE_SHARE_BYTES]) {
		plan->shares = plan->role.posts = true;
		plan->stride = 2;
	} else if (args->kind == FI_REDUCE && plan->role.takes && args->rank > 1 &&
		   args->buf == args->result) {
		/* The first ranks would be reduced into the input. */
		plan->role.posts = true;
	}
}

static void plan_chunks(struct coll_plan *plan, const struct coll_node *node,
	const struct coll_args *args)
{
	bool barrier = args->kind == FI_BARRIER;
	size_t piece = node->setting[COLL_NODE_CHUNK_BYTES];

	plan->ahead = COLL_SLOTS / plan->stride;
	/* The usual case, without divisions. */
	if (plan->part <= piece && plan->part * plan->parts <= COLL_CELL_BYTES) {
		plan->piece = piece;
		plan->chunks = barrier || plan->part;
	} else {
		piece = WF_MAX(piece, plan->part / CHUNKS_WANTED);
		piece = WF_MIN(piece, (size_t)COLL_CELL_BYTES / plan->parts);
		/* A multiple of the size of any element. */
		plan->piece = piece / CHUNK_ALIGN * CHUNK_ALIGN;
		plan->chunks = (plan->part + plan->piece - 1) / plan->piece;
	}
	/* Without data no member waits for another one. */
	plan->is_joint = plan->chunks &&
			 (plan->role.all || (args->members == 2 && plan->role.takes &&
						    !plan->role.posts));
}

/* The range of ranks that this member takes from. */
static void plan_sources(struct coll_plan *plan, const struct coll_args *args)
{
	bool from_root = args->kind == FI_BROADCAST || args->kind == FI_SCATTER;

	plan->first = from_root ? args->root : 0;
	plan->end = from_root ? args->root + 1 : args->members;
}

/* If the members of a broadcast share processors, they run one after the other: then
 * the data that the root has written into the segment are in their caches. */
static bool plan_may_be_direct(
	const struct coll_plan *plan, const struct coll_node *node)
{
	size_t least = node->setting[node->oversubscribed
					     ? COLL_NODE_DIRECT_BYTES_OVERSUBSCRIBED
					     : COLL_NODE_DIRECT_BYTES];

	return node->may_read && node->members > 1 && plan->part >= least &&
	       !(node->oversubscribed && plan->kind == FI_BROADCAST);
}

/* Decide whether the operation is direct. All members decide alike. */
static bool plan_direct(struct coll_plan *plan, const struct coll_node *node)
{
	plan->is_direct = false;
	plan->copy_class = -1;
	if (!plan_may_be_direct(plan, node))
		return false;
	plan->copy_class = coll_copy_class(plan);
	plan->is_direct = coll_copy_is_direct(node, plan->copy_class);
	if (!plan->is_direct)
		return false;
	plan->stride = plan->role.combines && !plan->role.scatters ? 3 : 2;
	plan->uses = plan->stride;
	plan->chunks = 0;
	plan->is_joint = plan->role.all;
	return true;
}

void coll_plan(struct coll_node *node, const struct coll_args *args)
{
	struct coll_plan *plan = &node->plan;

	/* One store for each field: clearing the whole structure would take longer. */
	plan->role = coll_roles[args->kind][args->rank != args->root];
	plan->kind = args->kind;
	plan->root = args->root;
	plan->shares = plan->is_tree = false;
	plan->stride = 1;
	plan->size = args->size;
	plan->part = args->kind == FI_BARRIER ? 0 : args->count * args->size;
	plan->parts = plan->role.scatters ? args->members : 1;
	plan->in = args->buf;
	plan->out = args->result;
	plan->streams =
		plan->role.all && plan->role.gathers && plan->part >= node->stream_part;
	plan_sources(plan, args);
	if (plan->role.gathers && !plan->role.scatters && args->buf == args->result)
		plan->in = plan->out + args->rank * plan->part;
	if (plan->role.combines)
		plan->reduce = coll_reduce(args->datatype, args->op);
	if (plan_direct(plan, node) || coll_tree_plan(node, plan))
		return;
	if (plan->role.combines)
		plan_shares(plan, node, args);
	plan_chunks(plan, node, args);
	plan->uses = plan->chunks * plan->stride;
}
