/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/resource.h>

#include "../model/coll_start.h"
#include "coll_env.h"

static enum fi_progress wanted_progress; /* of the hints, for adjust */

/* A full mesh of sockets is more than the usual soft limit. */
static void raise_fd_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= 4096)
		return;
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void set_progress(struct fi_info *hints)
{
	hints->domain_attr->data_progress = wanted_progress;
	hints->domain_attr->control_progress = wanted_progress;
}

static void open_member(
	struct cl_env *env, struct cl_member *member, const struct cl_options *options)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA,
		.size = options->room ? 4096 : 0,
		.wait_obj = options->sleeps ? FI_WAIT_UNSPEC : FI_WAIT_NONE };

	CHECK_OK(fi_endpoint(env->base.domain, env->base.info, &member->ep, NULL));
	CHECK_OK(fi_eq_open(env->base.fabric, &eq_attr, &member->eq, NULL));
	CHECK_OK(fi_cq_open(env->base.domain, &cq_attr, &member->cq, NULL));
	member->av = cf_new_av(&env->base);
	CHECK_OK(fi_ep_bind(member->ep, &member->eq->fid, 0));
	CHECK_OK(fi_ep_bind(member->ep, &member->cq->fid,
		FI_TRANSMIT | FI_RECV | options->cq_flags));
	CHECK_OK(fi_ep_bind(member->ep, &member->av->fid, 0));
	if (options->counters) {
		member->cntr = cf_new_cntr(&env->base, FI_WAIT_NONE);
		CHECK_OK(fi_ep_bind(member->ep, &member->cntr->fid, FI_SEND));
	}
	CHECK_OK(fi_enable(member->ep));
}

/* Endpoint i is at index i of each AV, or at another one in each. */
static void exchange_names(struct cl_env *env, const struct cl_options *options)
{
	uint64_t flags = options->ids ? FI_AV_USER_ID : 0;
	static char name[CL_MEMBERS_MAX][256];

	for (uint32_t i = 0; i < env->count; i++) {
		size_t len = sizeof(name[i]);

		CHECK_OK(fi_getname(&env->member[i].ep->fid, name[i], &len));
	}
	for (uint32_t i = 0; i < env->count; i++) {
		struct cl_member *member = &env->member[i];

		for (uint32_t k = 0; k < env->count; k++) {
			uint32_t j =
				options->mixed ? (env->count + i - k) % env->count : k;

			/* An id, which becomes the address. */
			member->addr[j] = 1000 + j;
			CHECK_EQ(fi_av_insert(member->av, name[j], 1, &member->addr[j],
					 flags, NULL),
				1);
		}
	}
}

void cl_open(struct cl_env *env, uint32_t count, const struct cl_options *options)
{
	static const struct cl_options none;
	struct cf_options base = { .adjust = set_progress };

	cf_need_connectionless();
	if (!options)
		options = &none;
	memset(env, 0, sizeof(*env));
	wanted_progress = options->progress;
	base.caps = FI_TAGGED | FI_COLLECTIVE | options->caps;
	if (!cf_offers(&base))
		SKIP("collectives are not offered");
	raise_fd_limit();
	cf_open_domain(&env->base, &base);
	env->count = count;
	for (uint32_t i = 0; i < count; i++)
		open_member(env, &env->member[i], options);
	exchange_names(env, options);
}

void cl_close(struct cl_env *env)
{
	for (uint32_t i = 0; i < env->count; i++)
		CF_CLOSE(env->member[i].ep);
	for (uint32_t i = 0; i < env->count; i++) {
		struct cl_member *member = &env->member[i];

		CF_CLOSE(member->cq);
		CF_CLOSE(member->cntr);
		CF_CLOSE(member->av);
		CF_CLOSE(member->eq);
	}
	cf_close(&env->base);
}

/* ---- events ---- */

static void finish(struct cl_env *env, void *context, uint64_t flags, int err)
{
	struct cl_op *op = context;

	/* Contexts of other operations are no cl_ops: they are outside of
	 * FI_COLLECTIVE. */
	if (!(flags & FI_COLLECTIVE)) {
		env->stray++;
		return;
	}
	CHECK(op && !op->done);
	op->done = true;
	op->err = err;
	op->flags = flags;
}

static void read_cq(struct cl_env *env, struct cl_member *member)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_data_entry entry[8];
	ssize_t n = fi_cq_read(member->cq, entry, CF_COUNT(entry));

	if (n == -FI_EAGAIN)
		return;
	if (n == -FI_EAVAIL) {
		CHECK_EQ(fi_cq_readerr(member->cq, &err, 0), 1);
		finish(env, err.op_context, err.flags, err.err);
		return;
	}
	CHECK(n > 0);
	for (ssize_t i = 0; i < n; i++)
		finish(env, entry[i].op_context, entry[i].flags, 0);
}

static void read_eq(struct cl_member *member)
{
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_entry entry;
	uint32_t event = 0;
	ssize_t n = fi_eq_read(member->eq, &event, &entry, sizeof(entry), 0);

	if (n == -FI_EAGAIN)
		return;
	if (n == -FI_EAVAIL) {
		CHECK(fi_eq_readerr(member->eq, &err, 0) > 0);
		member->joined = err.fid;
		member->joined_context = err.context;
		member->join_err = err.err;
	} else {
		CHECK_EQ(n, sizeof(entry));
		CHECK_EQ(event, FI_JOIN_COMPLETE);
		member->joined = entry.fid;
		member->joined_context = entry.context;
		member->join_err = 0;
	}
	member->joins++;
}

void cl_step_one(struct cl_env *env, struct cl_member *member)
{
	read_cq(env, member);
	read_eq(member);
}

void cl_step(struct cl_env *env)
{
	for (uint32_t i = 0; i < env->count; i++)
		cl_step_one(env, &env->member[i]);
}

/* ---- groups ---- */

void cl_range(struct cl_group *group, uint32_t count, uint32_t first, uint32_t stride)
{
	memset(group, 0, sizeof(*group));
	group->count = count;
	for (uint32_t r = 0; r < count; r++)
		group->at[r] = first + r * stride;
}

struct fid_av_set *cl_empty_set(struct cl_member *member)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set;

	CHECK_OK(fi_av_set(member->av, &attr, &set, NULL));
	return set;
}

void cl_insert_sets(struct cl_env *env, struct cl_group *group)
{
	for (uint32_t r = 0; r < group->count; r++) {
		struct cl_member *member = &env->member[group->at[r]];

		group->set[r] = cl_empty_set(member);
		for (uint32_t s = 0; s < group->count; s++)
			CHECK_OK(fi_av_set_insert(
				group->set[r], member->addr[group->at[s]]));
	}
}

void cl_start_join(struct cl_env *env, struct cl_group *group, uint32_t rank)
{
	struct cl_member *member = &env->member[group->at[rank]];

	CL_RETRY(env, fi_join_collective(member->ep, FI_ADDR_NOTAVAIL, group->set[rank],
			      0, &group->mc[rank], &group->mc[rank]));
}

void cl_end_join(struct cl_env *env, struct cl_group *group, uint32_t rank)
{
	struct cl_member *member = &env->member[group->at[rank]];

	CL_UNTIL(env, member->joined);
	CHECK_OK(-member->join_err);
	CHECK(member->joined == &group->mc[rank]->fid);
	CHECK(member->joined_context == &group->mc[rank]);
	member->joined = NULL;
	group->addr[rank] = fi_mc_addr(group->mc[rank]);
	CHECK(group->addr[rank] != FI_ADDR_NOTAVAIL);
}

void cl_join(struct cl_env *env, struct cl_group *group)
{
	for (uint32_t r = 0; r < group->count; r++)
		cl_start_join(env, group, r);
	for (uint32_t r = 0; r < group->count; r++)
		cl_end_join(env, group, r);
}

void cl_form(struct cl_env *env, struct cl_group *group)
{
	cl_insert_sets(env, group);
	cl_join(env, group);
}

void cl_leave(struct cl_group *group)
{
	for (uint32_t r = 0; r < group->count; r++) {
		CF_CLOSE(group->mc[r]);
		CF_CLOSE(group->set[r]);
	}
}

/* ---- operations ---- */

const enum fi_collective_op cl_kinds[CL_KINDS] = { FI_BARRIER, FI_BROADCAST,
	FI_ALLTOALL, FI_ALLREDUCE, FI_ALLGATHER, FI_REDUCE_SCATTER, FI_REDUCE,
	FI_SCATTER, FI_GATHER };

const struct am_type *cl_type(enum fi_datatype datatype)
{
	for (size_t t = 0; t < am_type_count; t++)
		if (am_types[t].datatype == datatype)
			return &am_types[t];
	return NULL;
}

/* Behind each buffer, to see that it is not written. */
enum { GUARD = 16, GUARD_BYTE = 0xa5 };

static void *new_buffer(size_t len)
{
	char *buf = malloc(len + GUARD);

	CHECK(buf);
	memset(buf, 0x5a, len);
	memset(buf + len, GUARD_BYTE, GUARD);
	return buf;
}

static void free_buffer(void *buf, size_t len)
{
	const unsigned char *guard = (unsigned char *)buf + len;

	for (int i = 0; i < GUARD; i++)
		CHECK_EQ(guard[i], GUARD_BYTE);
	free(buf);
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Elements of a buffer that is source and destination. */
static size_t place_elems(const struct cm_call *call, uint32_t rank)
{
	return larger(cm_buf_elems(call, rank), cm_result_elems(call, rank));
}

/* In place where the operation has that, and the member both buffers. */
static bool in_place(const struct cl_work *work, uint32_t rank)
{
	const struct cm_call *call = &work->call;

	if (call->kind == FI_BROADCAST)
		return true;
	return work->in_place && call->kind != FI_SCATTER && cm_buf_elems(call, rank) &&
	       cm_result_elems(call, rank);
}

/* Where the input of a member is in a buffer that is also the result: the part of the
 * member. */
static size_t place_of_input(const struct cm_call *call, uint32_t rank)
{
	if (call->kind == FI_ALLGATHER || call->kind == FI_GATHER)
		return rank * call->count;
	return 0;
}

void cl_prepare(struct cl_work *work)
{
	const struct cm_call *call = &work->call;
	size_t size = call->type ? call->type->size : 0;

	for (uint32_t r = 0; call->kind != FI_BARRIER && r < call->members; r++) {
		if (in_place(work, r)) {
			char *buf = new_buffer(place_elems(call, r) * size);

			cm_fill(call, r, buf + place_of_input(call, r) * size);
			work->buf[r] = work->result[r] = buf;
			continue;
		}
		work->buf[r] = new_buffer(cm_buf_elems(call, r) * size);
		work->result[r] = new_buffer(cm_result_elems(call, r) * size);
		cm_fill(call, r, work->buf[r]);
	}
	memset(work->op, 0, sizeof(work->op));
}

/* Cut @count elements in pieces, some of which are empty. Returns how many. */
static size_t cut(struct fi_ioc *ioc, void *buf, size_t count, size_t size, size_t most)
{
	size_t parts[3] = { count / 3, 0, count - count / 3 };
	char *at = buf;

	if (most < 3) {
		ioc[0] = (struct fi_ioc){ .addr = buf, .count = count };
		return 1;
	}
	for (int i = 0; i < 3; i++) {
		ioc[i] = (struct fi_ioc){ .addr = at, .count = parts[i] };
		at += parts[i] * size;
	}
	return 3;
}

static ssize_t call_message(struct cl_env *env, struct cl_work *work, uint32_t rank)
{
	struct cl_member *member = &env->member[work->group->at[rank]];
	const struct cm_call *call = &work->call;
	size_t size = call->type ? call->type->size : 0;
	size_t most = env->base.info->tx_attr->iov_limit, results = 0;
	void *desc[3] = { work->desc[rank], work->desc[rank], work->desc[rank] };
	void *result_desc[3] = { work->result_desc[rank], work->result_desc[rank],
		work->result_desc[rank] };
	struct fi_ioc source[3], result[3];
	struct fi_msg_collective msg = { .msg_iov = source,
		.desc = desc,
		.coll_addr = work->group->addr[rank],
		.root_addr = FI_ADDR_NOTAVAIL,
		.coll = call->kind,
		.datatype = call->type ? call->type->datatype : FI_VOID,
		.op = cm_is_reduction(call->kind) ? call->op : FI_NOOP,
		.context = &work->op[rank].context };

	if (cm_has_root(call->kind))
		msg.root_addr = member->addr[work->group->at[call->root]];
	if (call->kind != FI_BARRIER) {
		msg.iov_count = cut(
			source, work->buf[rank], cm_buf_elems(call, rank), size, most);
		results = cut(result, work->result[rank], cm_result_elems(call, rank),
			size, most);
	}
	if (call->kind == FI_BROADCAST)
		results = 0;
	return member->ep->collective->msg(
		member->ep, &msg, result, result_desc, results, work->flags);
}

ssize_t cl_call(struct cl_env *env, struct cl_work *work, uint32_t rank)
{
	struct cl_member *m = &env->member[work->group->at[rank]];
	struct cm_start start = { .ep = m->ep,
		.coll = work->group->addr[rank],
		.root = m->addr[work->group->at[work->call.root]],
		.buf = work->buf[rank],
		.desc = work->desc[rank],
		.result = work->result[rank],
		.result_desc = work->result_desc[rank],
		.flags = work->flags,
		.context = &work->op[rank].context };

	if (work->message)
		return call_message(env, work, rank);
	return cm_start(&work->call, &start);
}

void cl_start(struct cl_env *env, struct cl_work *work, uint32_t rank)
{
	CL_RETRY(env, cl_call(env, work, rank));
}

bool cl_done(const struct cl_work *work)
{
	for (uint32_t r = 0; r < work->call.members; r++)
		if (!work->op[r].done)
			return false;
	return true;
}

static void verify_member(struct cl_work *work, uint32_t rank)
{
	const struct cm_call *call = &work->call;
	size_t wrong;

	if (work->op[rank].err)
		cf_fail(__FILE__, __LINE__, "%s at %u of %u: %s",
			cm_kind_name(call->kind), rank, call->members,
			fi_strerror(work->op[rank].err));
	CHECK(work->op[rank].flags & FI_COLLECTIVE);
	if (!cm_check(call, rank, work->result[rank], &wrong))
		cf_fail(__FILE__, __LINE__,
			"%s of %zu %s by op %d: element %zu at %u of %u is wrong",
			cm_kind_name(call->kind), call->count,
			call->type ? call->type->name : "", call->op, wrong, rank,
			call->members);
}

void cl_verify(struct cl_work *work)
{
	const struct cm_call *call = &work->call;
	size_t size = call->type ? call->type->size : 0;

	for (uint32_t r = 0; r < call->members; r++) {
		verify_member(work, r);
		if (call->kind == FI_BARRIER)
			continue;
		if (in_place(work, r)) {
			free_buffer(work->buf[r], place_elems(call, r) * size);
			continue;
		}
		free_buffer(work->buf[r], cm_buf_elems(call, r) * size);
		free_buffer(work->result[r], cm_result_elems(call, r) * size);
	}
}

void cl_run(struct cl_env *env, struct cl_work *work)
{
	work->call.members = work->group->count;
	cl_prepare(work);
	for (uint32_t r = 0; r < work->call.members; r++)
		cl_start(env, work, r);
	CL_UNTIL(env, cl_done(work));
	cl_verify(work);
}
