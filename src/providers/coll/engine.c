/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/engine.h"

#include <stdlib.h>

#include "providers/coll/exec.h"
#include "providers/coll/reduce.h"

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
	struct coll_op *op = coll_op_new(group, args, stage, call);
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
	wf_list_push(&group->ops, &op->link);
	coll_exec_start(op);
	return 0;
}

/* The node engine. */

/* Begin the operations that wait for their turn, as far as they end at once. */
static void start_waiting(struct coll_group *group)
{
	while (!wf_list_empty(&group->node_ops)) {
		struct coll_op *op =
			wf_list_entry(group->node_ops.next, struct coll_op, link);
		int ret = coll_node_start(group->node, &op->args);

		if (ret < 0)
			coll_group_fail(group, ret);
		if (ret <= 0)
			return;
		coll_op_end(op, 0);
	}
	wf_list_remove(&group->node_link);
}

/* Go on with the first operation. */
static void progress(struct coll_group *group)
{
	int ret = coll_node_progress(group->node);

	if (wf_likely(!ret))
		return;
	if (ret < 0) {
		coll_group_fail(group, ret);
		return;
	}
	coll_op_end(wf_list_entry(group->node_ops.next, struct coll_op, link), 0);
	start_waiting(group);
}

void coll_engine_progress(struct coll_ep *ep)
{
	wf_list_foreach_safe(link, &ep->node_groups)
		progress(wf_list_entry(link, struct coll_group, node_link));
}

static void push_node(struct coll_group *group, struct coll_op *op)
{
	if (wf_list_empty(&group->node_ops))
		wf_list_push(&group->ep->node_groups, &group->node_link);
	wf_list_push(&group->node_ops, &op->link);
}

static int start_node(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	struct coll_op *op = coll_op_new(group, args, stage, call);
	int ret = 0;

	if (!op) {
		coll_stage_free(stage);
		return -FI_ENOMEM;
	}
	log_choice(group, args, "node", "shared memory", "all members are local");
	if (wf_list_empty(&group->node_ops))
		ret = coll_node_start(group->node, args);
	if (ret > 0) {
		coll_op_end(op, 0);
		return 0;
	}
	if (ret < 0) {
		coll_op_free(op);
		coll_group_fail(group, ret);
		return ret;
	}
	push_node(group, op);
	return 0;
}

ssize_t coll_engine_start(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	if (group->has_node && coll_node_can(group->node, args))
		return start_node(group, args, stage, call);
	return start_p2p(group, args, stage, call);
}
