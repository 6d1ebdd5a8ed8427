/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/coll/calls.h"
#include "providers/coll/engine.h"
#include "providers/coll/exec.h"
#include "providers/coll/query.h"
#include "providers/coll/reduce.h"

/* A collective call: its checks, the arguments for the engines, and its start. */

/* The buffers of each collective, and their length: the call's count of elements, or
 * that count for each member (struct coll_args). */
static const struct shape {
	/* @buf, @result has the count of elements for each member. */
	bool buf_each, result_each;
	bool buf_at_root;    /* only the root has @buf */
	bool result_at_root; /* only the root has @result */
	bool has_root;
} shapes[COLL_KINDS] = {
	[FI_BROADCAST] = { .has_root = true },
	[FI_ALLTOALL] = { .buf_each = true, .result_each = true },
	[FI_ALLGATHER] = { .result_each = true },
	[FI_REDUCE_SCATTER] = { .buf_each = true },
	[FI_REDUCE] = { .result_at_root = true, .has_root = true },
	[FI_SCATTER] = { .buf_each = true, .buf_at_root = true, .has_root = true },
	[FI_GATHER] = { .result_each = true, .result_at_root = true, .has_root = true },
};

static int start_refuse(const struct coll_call *call, int err, const char *why)
{
	coll_log(FI_LOG_WARN, FI_LOG_EP_DATA, "%s refused: %s\n",
		coll_kind_name(call->kind), why);
	return err;
}

static int start_check_type(const struct coll_call *call, struct coll_args *args)
{
	if (call->kind == FI_BARRIER)
		return 0;
	args->size = coll_type_size(call->datatype);
	if (!args->size)
		return start_refuse(call, -FI_EOPNOTSUPP, "no such datatype");
	if (coll_reduces(call->kind) && !coll_reduce(call->datatype, call->op))
		return start_refuse(call, -FI_EOPNOTSUPP,
			"the operation is not possible with the datatype");
	return 0;
}

static int start_check_root(const struct coll_group *group,
	const struct coll_call *call, struct coll_args *args)
{
	if (!shapes[call->kind].has_root)
		return 0;
	args->root = coll_group_rank(group, call->root_addr);
	if (args->root == group->members)
		return start_refuse(
			call, -FI_EINVAL, "root_addr is not the address of a member");
	return 0;
}

static bool start_has_buf(const struct coll_args *args)
{
	return args->kind != FI_BARRIER &&
	       (!shapes[args->kind].buf_at_root || args->rank == args->root);
}

static bool start_has_result(const struct coll_args *args)
{
	return args->kind != FI_BARRIER &&
	       (!shapes[args->kind].result_at_root || args->rank == args->root);
}

/* Number of elements in the whole buffer. */
static size_t start_elements(const struct coll_args *args, bool each)
{
	return each ? args->count * args->members : args->count;
}

/* Compute the count of a call in message form, whose vectors have all elements. */
static int start_count_vectors(const struct coll_call *call, struct coll_args *args)
{
	const struct shape *shape = &shapes[args->kind];
	bool by_buf = start_has_buf(args), each = by_buf ? shape->buf_each : false;
	size_t sum = by_buf ? coll_ioc_count(call->bufv, call->buf_count)
			    : coll_ioc_count(call->resultv, call->result_count);

	if (sum == SIZE_MAX)
		return start_refuse(call, -FI_EMSGSIZE, "too many elements");
	if (each && sum % args->members)
		return start_refuse(call, -FI_EINVAL,
			"the number of elements is no multiple of the members'");
	args->count = each ? sum / args->members : sum;
	return 0;
}

static int start_check_size(const struct coll_call *call, const struct coll_args *args)
{
	size_t bytes;

	if (__builtin_mul_overflow(args->count, args->size, &bytes) ||
		__builtin_mul_overflow(bytes, args->members, &bytes))
		return start_refuse(call, -FI_EMSGSIZE, "too many elements");
	return 0;
}

static int start_stage_buf(const struct coll_call *call, struct coll_args *args,
	struct coll_staging *stage)
{
	size_t size = start_elements(args, shapes[args->kind].buf_each) * args->size;

	if (call->bufv && call->buf_count == 1) {
		args->buf = call->bufv->addr;
		return 0;
	}
	stage->buf = malloc(size + 1);
	if (!stage->buf)
		return -FI_ENOMEM;
	coll_ioc_gather(stage->buf, call->bufv, call->buf_count, args->size);
	args->buf = stage->buf;
	return 0;
}

/* Copy the vector for the result. */
static int start_keep_vector(
	struct coll_staging *stage, const struct fi_ioc *ioc, size_t count)
{
	stage->resultv = calloc(count + 1, sizeof(*ioc));
	if (!stage->resultv)
		return -FI_ENOMEM;
	for (size_t i = 0; i < count; i++)
		stage->resultv[i] = ioc[i];
	stage->result_count = count;
	return 0;
}

static int start_stage_result(const struct coll_call *call, struct coll_args *args,
	struct coll_staging *stage)
{
	size_t size = start_elements(args, shapes[args->kind].result_each) * args->size;

	if (coll_ioc_count(call->resultv, call->result_count) * args->size != size)
		return start_refuse(
			call, -FI_EINVAL, "the result has another number of elements");
	if (call->result_count == 1) {
		args->result = call->resultv->addr;
		return 0;
	}
	stage->result = malloc(size + 1);
	if (!stage->result)
		return -FI_ENOMEM;
	args->result = stage->result;
	return start_keep_vector(stage, call->resultv, call->result_count);
}

/* A broadcast has a single vector, which is its result as well. */
static int start_stage_broadcast(const struct coll_call *call, struct coll_args *args,
	struct coll_staging *stage)
{
	args->result = (void *)(uintptr_t)args->buf;
	if (!stage->buf || args->rank == args->root)
		return 0;
	stage->result = stage->buf;
	stage->buf = NULL;
	return start_keep_vector(stage, call->bufv, call->buf_count);
}

static int start_set_buffers(const struct coll_call *call, struct coll_args *args,
	struct coll_staging *stage)
{
	int ret = 0;

	if (start_has_buf(args))
		ret = start_stage_buf(call, args, stage);
	if (ret)
		return ret;
	if (args->kind == FI_BROADCAST)
		return start_stage_broadcast(call, args, stage);
	return start_has_result(args) ? start_stage_result(call, args, stage) : 0;
}

/* Replace the vectors of the message form by buffers. */
static int start_take_vectors(const struct coll_call *call, struct coll_args *args,
	struct coll_staging **ret_stage)
{
	struct coll_staging *stage = calloc(1, sizeof(*stage));
	int ret;

	if (!stage)
		return -FI_ENOMEM;
	stage->size = args->size;
	ret = start_set_buffers(call, args, stage);
	if (ret || !(stage->buf || stage->result)) {
		coll_stage_free(stage);
		return ret;
	}
	*ret_stage = stage;
	return 0;
}

static int start_check_buffers(
	const struct coll_call *call, const struct coll_args *args)
{
	if (!args->count)
		return 0;
	if ((start_has_buf(args) && !args->buf) ||
		(start_has_result(args) && !args->result))
		return start_refuse(call, -FI_EINVAL, "a buffer is NULL");
	return 0;
}

/* Check @call and fill @args. *@ret_stage: memory used instead of vectors, or NULL. */
static int start_read_call(const struct coll_group *group, const struct coll_call *call,
	struct coll_args *args, struct coll_staging **ret_stage)
{
	bool is_msg = call->bufv || call->resultv;
	int ret;

	*ret_stage = NULL;
	*args = (struct coll_args){
		.kind = call->kind,
		.datatype = call->datatype,
		.op = call->op,
		.count = call->count,
		.rank = group->rank,
		.members = group->members,
	};
	if (call->kind == FI_BARRIER)
		return 0;
	ret = start_check_type(call, args);
	if (!ret)
		ret = start_check_root(group, call, args);
	if (!ret && is_msg)
		ret = start_count_vectors(call, args);
	if (!ret)
		ret = start_check_size(call, args);
	if (ret)
		return ret;
	if (is_msg) {
		ret = start_take_vectors(call, args, ret_stage);
	} else {
		args->buf = start_has_buf(args) ? call->buf : NULL;
		args->result = start_has_result(args) ? call->result : NULL;
	}
	if (!ret)
		ret = start_check_buffers(call, args);
	if (ret) {
		coll_stage_free(*ret_stage);
		*ret_stage = NULL;
	}
	return ret;
}

static struct coll_group *start_find(
	const struct coll_ep *ep, const struct coll_call *call, ssize_t *ret_err)
{
	struct coll_group *group = coll_group_at(ep, call->coll_addr);

	if (!group)
		*ret_err = start_refuse(
			call, -FI_EINVAL, "coll_addr is not the address of a group");
	else if (group->state == COLL_FAILED)
		*ret_err = group->err;
	else if (group->state == COLL_JOINING)
		*ret_err = start_refuse(
			call, -FI_EOPBADSTATE, "the group is not joined yet");
	else if (group->in_flight >= COLL_OPS_MAX)
		*ret_err = -FI_EAGAIN;
	else
		return group;
	return NULL;
}

ssize_t coll_start(struct coll_ep *ep, const struct coll_call *call)
{
	struct coll_staging *stage;
	struct coll_group *group;
	struct coll_args args;
	ssize_t ret;

	wf_lock(&ep->ep.lock);
	group = coll_group_at(ep, call->coll_addr);
	if (wf_likely(group && coll_engine_fast_path(group, call))) {
		wf_unlock(&ep->ep.lock);
		return 0;
	}
	group = start_find(ep, call, &ret);
	if (group) {
		ret = start_read_call(group, call, &args, &stage);
		if (!ret)
			ret = coll_engine_start(group, &args, stage, call);
	}
	coll_ep_unlock(ep);
	return ret;
}
