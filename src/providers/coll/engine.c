/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/engine.h"

#include <inttypes.h>
#include <stdlib.h>

#include "providers/coll/exec.h"
#include "providers/coll/reduce.h"

static void engine_log_choice(struct coll_group *group, const struct coll_args *args,
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

void coll_engine_tell_copy(void *arg, const struct coll_node_choice *choice)
{
	const struct coll_group *group = arg;

	coll_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"group %u of %u members: %s of about %zu bytes: copied %s from now on "
		"(a KiB took %" PRIu64 " ns directly, %" PRIu64
		" ns through the segments)\n",
		group->id, group->members, coll_kind_name(choice->kind), choice->part,
		choice->copy == COLL_COPY_DIRECT ? "directly" : "through the segments",
		choice->direct_ns, choice->segment_ns);
}

/* Add an operation of @group to those that need the node engine, for @acts actions. */
static void engine_enter_node(struct coll_group *group, struct coll_op *op, size_t acts)
{
	op->node_acts = acts;
	if (!acts)
		return;
	wf_list_push(&group->node_ops, &op->node_link);
	if (wf_list_empty(&group->node_link))
		wf_list_push(&group->ep->node_groups, &group->node_link);
}

/* One of the operation's actions has ended. */
static void engine_leave_node(struct coll_op *op)
{
	struct coll_group *group = op->group;

	op->is_in_node = false;
	if (--op->node_acts)
		return;
	wf_list_remove(&op->node_link);
	if (wf_list_empty(&group->node_ops))
		wf_list_remove(&group->node_link);
}

static struct coll_op *engine_first_in_node(const struct coll_group *group)
{
	return wf_list_empty(&group->node_ops)
		       ? NULL
		       : wf_list_entry(group->node_ops.next, struct coll_op, node_link);
}

int coll_engine_node(struct coll_op *op, const struct coll_args *args)
{
	int ret;

	if (op->is_in_node || engine_first_in_node(op->group) != op)
		return -FI_EAGAIN;
	ret = coll_node_start(op->group->node, args);
	if (ret < 0)
		return ret;
	op->is_in_node = true;
	if (!ret)
		return -FI_EAGAIN;
	engine_leave_node(op);
	return 0;
}

/* Operations by messages, with actions for the node engine if there are two levels. */

static size_t engine_count_node_acts(const struct coll_sched *sched)
{
	size_t count = 0;

	for (size_t i = 0; i < sched->count; i++)
		count += sched->act[i].kind == COLL_ACT_NODE;
	return count;
}

static bool engine_has_levels(
	const struct coll_group *group, const struct coll_args *args)
{
	return group->has_node && group->nodes.count > 1 &&
	       coll_sched_has_levels(args->kind);
}

static int engine_build(struct coll_op *op)
{
	struct coll_group *group = op->group;
	const struct coll_args *args = &op->args;
	bool levels = engine_has_levels(group, args);
	struct coll_args upper = levels ? coll_leader_args(args, &group->nodes) : *args;
	enum coll_algo forced = coll_params.algo[args->kind];
	enum coll_algo algo = coll_choose(&upper, forced);
	int ret =
		levels ? coll_sched_build_levels(&op->sched, args, &group->nodes, algo)
		       : coll_sched_build(&op->sched, args, algo);

	if (!ret && !group->is_ordered) {
		op->steps = calloc(2 * (size_t)group->members, sizeof(*op->steps));
		ret = op->steps ? 0 : -FI_ENOMEM;
	}
	if (!ret)
		engine_log_choice(group, args, levels ? "node and p2p" : "p2p",
			coll_algo_name(algo),
			algo == forced ? "parameter" : "by size and members");
	return ret;
}

static int engine_start_p2p(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	struct coll_op *op = coll_op_new(group, args, stage, call);
	int ret;

	if (!op) {
		coll_stage_free(stage);
		return -FI_ENOMEM;
	}
	ret = engine_build(op);
	if (ret) {
		coll_op_free(op);
		return ret;
	}
	group->operations++;
	wf_list_push(&group->ops, &op->link);
	engine_enter_node(group, op, engine_count_node_acts(&op->sched));
	coll_exec_start(op);
	return 0;
}

/* Operations of the node engine alone, which have no schedule. */

/* Most operations end inside their call: they need no struct coll_op. */
static void engine_report_at_once(
	struct coll_ep *ep, struct coll_staging *stage, const struct coll_call *call)
{
	coll_stage_finish(stage);
	coll_stage_free(stage);
	wf_ep_tx_plain_done(
		&ep->ep, WF_CNTR_SEND, call->context, call->flags, FI_COLLECTIVE, 0);
}

/* Let @op wait for the node engine, or until it is the first operation there. */
static void engine_wait_for_node(struct coll_op *op)
{
	struct coll_group *group = op->group;

	op->is_in_node = wf_list_empty(&group->node_ops);
	wf_list_push(&group->ops, &op->link);
	engine_enter_node(group, op, 1);
}

static int engine_start_node(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	struct coll_op *op;
	int ret = 0;

	/* The operation is allocated before the engine writes anything that other
	 * members can read, because there may be no memory for it. */
	if (wf_unlikely(!coll_op_reserve(group->ep))) {
		coll_stage_free(stage);
		return -FI_ENOMEM;
	}
	engine_log_choice(
		group, args, "node", "shared memory", "all members are local");
	if (wf_list_empty(&group->node_ops))
		ret = coll_node_start(group->node, args);
	if (ret > 0) {
		engine_report_at_once(group->ep, stage, call);
		return 0;
	}
	op = coll_op_new(group, args, stage, call);
	if (ret == 0) {
		engine_wait_for_node(op);
		return 0;
	}
	coll_op_free(op);
	coll_group_fail(group, ret);
	return ret;
}

/* The action of the first operation in the node engine has ended. */
static void engine_ended(struct coll_group *group)
{
	struct coll_op *op = engine_first_in_node(group);

	engine_leave_node(op);
	if (group->nodes.count == 1) {
		coll_op_end(op, 0);
		return;
	}
	op->next++;
	coll_exec_resume(op);
}

/* Start the next operation, which waited until it was the first one. Its result is that
 * of coll_node_start; 0, too, if there is none or it waits for messages. */
static int engine_start_next(struct coll_group *group)
{
	struct coll_op *op = engine_first_in_node(group);
	int ret;

	if (!op || group->nodes.count > 1) {
		if (op)
			coll_exec_resume(op);
		return 0;
	}
	ret = coll_node_start(group->node, &op->args);
	op->is_in_node = ret >= 0;
	return ret;
}

static void engine_progress(struct coll_group *group)
{
	struct coll_op *op = engine_first_in_node(group);
	int ret;

	if (!op) {
		wf_list_remove(&group->node_link);
		return;
	}
	ret = op->is_in_node ? coll_node_progress(group->node)
			     : engine_start_next(group);
	while (ret > 0) {
		engine_ended(group);
		ret = group->state == COLL_OPEN ? engine_start_next(group) : 0;
	}
	if (wf_unlikely(ret < 0))
		coll_group_fail(group, ret);
}

void coll_engine_progress(struct coll_ep *ep)
{
	wf_list_foreach_safe(link, &ep->node_groups)
		engine_progress(wf_list_entry(link, struct coll_group, node_link));
}

/* Convert @call to arguments of the fast path. False: the long path has to check it. */
static bool engine_read_tiny(const struct coll_call *call, struct coll_node_tiny *ret)
{
	size_t size;

	*ret = (struct coll_node_tiny){ 0 };
	if (call->kind == FI_BARRIER)
		return true;
	if (call->kind != FI_ALLREDUCE)
		return false;
	size = coll_type_size(call->datatype);
	ret->reduce = coll_reduce(call->datatype, call->op);
	ret->in = call->buf;
	ret->out = call->result;
	ret->count = call->count;
	ret->len = call->count * size;
	/* A call with vectors has no buffers. */
	return size && ret->reduce && call->buf && call->result && call->count &&
	       call->count <= COLL_NODE_TINY / size;
}

bool coll_engine_fast_path(struct coll_group *group, const struct coll_call *call)
{
	struct coll_node_tiny tiny;

	/* The long path logs the first operation of each kind, and leaves memory of an
	 * operation for the next ones. */
	if (group->state != COLL_OPEN || !group->has_node || group->nodes.count > 1 ||
		group->in_flight || !(group->logged & UINT32_C(1) << call->kind) ||
		!engine_read_tiny(call, &tiny) ||
		!coll_node_fast_path(group->node, &tiny))
		return false;
	engine_report_at_once(group->ep, NULL, call);
	return true;
}

ssize_t coll_engine_start(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	if (group->has_node && group->nodes.count == 1 &&
		coll_node_can(group->node, args))
		return engine_start_node(group, args, stage, call);
	return engine_start_p2p(group, args, stage, call);
}
