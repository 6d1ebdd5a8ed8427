/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/engine.h"

#include <stdlib.h>

#include "providers/coll/exec.h"
#include "providers/coll/reduce.h"

static struct coll_op *op_new(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	struct coll_op *op = calloc(1, sizeof(*op));

	if (!op)
		return NULL;
	wf_list_init(&op->link);
	wf_list_init(&op->xfers);
	op->ep = group->ep;
	op->group = group;
	op->args = *args;
	op->stage = stage;
	op->context = call->context;
	op->flags = call->flags;
	op->number = group->operations;
	return op;
}

static void log_choice(struct coll_group *group, const struct coll_args *args,
	const char *engine, const char *algo, const char *why)
{
	uint32_t bit = UINT32_C(1) << args->kind;

	if (group->logged & bit)
		return;
	group->logged |= bit;
	coll_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"group %u of %u members: %s of %zu bytes: engine %s, %s (%s)\n",
		group->id, group->members, coll_kind_name(args->kind),
		args->count * args->size, engine, algo, why);
}

static int start_p2p(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	enum coll_algo forced = coll_params.algo[args->kind];
	enum coll_algo algo = coll_choose(args, forced);
	struct coll_op *op = op_new(group, args, stage, call);
	int ret;

	if (!op) {
		coll_stage_free(stage);
		return -FI_ENOMEM;
	}
	ret = coll_sched_build(&op->sched, args, algo);
	if (!ret && !group->is_ordered) {
		op->steps = calloc(2 * (size_t)group->members, sizeof(*op->steps));
		ret = op->steps ? 0 : -FI_ENOMEM;
	}
	if (ret) {
		coll_op_free(op);
		return ret;
	}
	log_choice(group, args, "p2p", coll_algo_name(algo),
		algo == forced ? "parameter" : "by size and members");
	group->operations++;
	group->in_flight++;
	wf_list_push(&group->ops, &op->link);
	coll_exec_start(op);
	return 0;
}

ssize_t coll_engine_start(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	return start_p2p(group, args, stage, call);
}

bool coll_engine_progress(struct coll_ep *ep)
{
	(void)ep;
	return false;
}
