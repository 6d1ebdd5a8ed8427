/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/state.h"
#include "sys/compiler.h"

/* What an operation is in posts and takes. */

enum {
	/* Measured on one machine (docs/performance.md). Two members reduce a vector
	 * faster each for itself than in shares of it. */
	SHARE_MEMBERS = 3,
	SHARE_BYTES = 8 << 10,
	/* A part is cut at least into this many chunks, so that members work at the
	 * same time, unless the chunks become too small. */
	CHUNKS_WANTED = 4,
	CHUNK_BYTES_MIN = 4 << 10,
	CHUNK_ALIGN = 64,
};

static void plan_all(struct coll_plan *plan, uint32_t members)
{
	plan->posts = plan->takes = plan->all = true;
	plan->end = members;
}

/* The root has data for the others. */
static void plan_from_root(struct coll_plan *plan, const struct coll_args *args)
{
	plan->posts = args->rank == args->root;
	plan->takes = !plan->posts;
	plan->first = args->root;
	plan->end = args->root + 1;
}

static void plan_to_root(struct coll_plan *plan, const struct coll_args *args)
{
	plan->posts = args->rank != args->root;
	plan->takes = !plan->posts;
	plan->end = args->members;
}

/* The input and the members' roles in @args->kind. */
static bool plan_kind(struct coll_plan *plan, const struct coll_args *args)
{
	switch (args->kind) {
	case FI_BARRIER:
		plan_all(plan, args->members);
		plan->part = 0;
		return true;
	case FI_BROADCAST:
		plan_from_root(plan, args);
		return true;
	case FI_SCATTER:
		plan_from_root(plan, args);
		plan->parts = args->members;
		/* The root takes its own part. */
		plan->own = plan->posts;
		plan->takes = true;
		return true;
	case FI_GATHER:
		plan_to_root(plan, args);
		plan->gathers = plan->own = plan->takes;
		break;
	case FI_ALLGATHER:
		plan_all(plan, args->members);
		plan->gathers = plan->own = true;
		break;
	case FI_ALLTOALL:
		plan_all(plan, args->members);
		plan->gathers = plan->own = true;
		plan->parts = args->members;
		return true;
	case FI_ALLREDUCE:
		plan_all(plan, args->members);
		plan->combines = true;
		return true;
	case FI_REDUCE:
		plan_to_root(plan, args);
		plan->combines = true;
		return true;
	case FI_REDUCE_SCATTER:
		plan_all(plan, args->members);
		plan->combines = true;
		plan->parts = args->members;
		return true;
	default:
		return false;
	}
	if (plan->gathers && args->buf == args->result)
		plan->in = plan->out + args->rank * plan->part;
	return true;
}

static void plan_shares(struct coll_plan *plan, const struct coll_args *args)
{
	bool possible = args->kind == FI_ALLREDUCE || args->kind == FI_REDUCE;

	if (possible && args->members >= SHARE_MEMBERS && plan->part >= SHARE_BYTES) {
		plan->shares = plan->posts = true;
		plan->stride = 2;
	} else if (args->kind == FI_REDUCE && plan->takes && args->rank > 1 &&
		   args->buf == args->result) {
		/* The first ranks would be reduced into the input. */
		plan->posts = true;
	}
}

static void plan_chunks(struct coll_plan *plan, bool barrier)
{
	size_t piece = plan->part / CHUNKS_WANTED;

	piece = WF_MAX(piece, (size_t)CHUNK_BYTES_MIN);
	piece = WF_MIN(piece, (size_t)COLL_CELL_BYTES / plan->parts);
	/* A multiple of any element's size. */
	plan->piece = piece / CHUNK_ALIGN * CHUNK_ALIGN;
	plan->chunks = barrier ? 1 : (plan->part + plan->piece - 1) / plan->piece;
	/* Without data no member waits for another. */
	plan->all = plan->all && plan->chunks;
	plan->ahead = COLL_SLOTS / plan->stride;
}

bool coll_plan(const struct coll_args *args, struct coll_plan *ret_plan)
{
	*ret_plan = (struct coll_plan){
		.part = args->count * args->size,
		.parts = 1,
		.stride = 1,
		.size = args->size,
		.in = args->buf,
		.out = args->result,
	};
	if (!plan_kind(ret_plan, args))
		return false;
	if (ret_plan->combines) {
		ret_plan->reduce = coll_reduce(args->datatype, args->op);
		if (!ret_plan->reduce)
			return false;
		plan_shares(ret_plan, args);
	}
	plan_chunks(ret_plan, args->kind == FI_BARRIER);
	return true;
}
