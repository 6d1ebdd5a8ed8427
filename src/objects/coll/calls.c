/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/coll/internal.h"

/*
 * The calls of fi_collective(3), which are forwarded to engines. The engine's CQ is
 * bound with FI_SELECTIVE_COMPLETION, so the flags passed to the engine decide whether
 * the operation writes an entry, as for other operations of the endpoint
 * (endpoint/calls/flags.c).
 */

/* The engine that gets a call, with its endpoint, and its address of the group. */
struct target {
	struct wf_coll *coll;
	struct fid_ep *ep;
	struct fi_ops_collective *ops;
	fi_addr_t addr;
};

static int coll_calls_refuse(
	const struct wf_ep *ep, int err, fi_addr_t addr, const char *why)
{
	FI_WARN(ep->domain->prov->fi, FI_LOG_EP_DATA,
		"collective on the group %#llx refused: %s\n", (unsigned long long)addr,
		why);
	return err;
}

/* The collective of a call: arguments of wf_coll_offloads. */
struct question {
	enum fi_collective_op coll;
	enum fi_op op;
	enum fi_datatype datatype;
};

static int calls_find_target(struct fid_ep *fid, fi_addr_t addr,
	const struct question *question, struct target *ret)
{
	enum wf_coll_which which = WF_COLL_BASE;
	struct wf_ep *ep = wf_ep_resolve(&fid->fid);
	const struct wf_coll_group *group = wf_coll_find(ep->coll, addr);

	if (wf_unlikely(!group))
		return coll_calls_refuse(
			ep, -FI_EINVAL, addr, "no group of this endpoint");
	/* acquire: pairs with the end of the join. */
	if (wf_unlikely(atomic_load_explicit(&group->state, memory_order_acquire) !=
			WF_COLL_JOINED))
		return coll_calls_refuse(
			ep, -FI_EOPBADSTATE, addr, "its join has not completed");
	if (wf_unlikely(group->offloads) &&
		wf_coll_offloads(ep->coll->engines, question->coll, question->op,
			question->datatype))
		which = WF_COLL_OFFLOAD;
	ret->coll = ep->coll;
	ret->ep = ep->coll->port[which].ep;
	ret->ops = ret->ep->collective;
	ret->addr = fi_mc_addr(group->at[which].mc);
	return 0;
}

static uint64_t coll_calls_flags_of(const struct target *target, uint64_t flags)
{
	return flags | target->coll->ep->tx.forced;
}

static ssize_t calls_done(const struct target *target, ssize_t ret)
{
	wf_coll_wake(target->coll);
	wf_coll_left_engine(target->coll);
	return ret;
}

#define QUESTION(coll, op, datatype) (&(const struct question){ coll, op, datatype })

/* Call @slot of the engine with its own endpoint first. */
#define FORWARD(fid, coll_addr, question, slot, ...)                                   \
	do {                                                                           \
		struct target t;                                                       \
		int err = calls_find_target(fid, coll_addr, question, &t);             \
		if (wf_unlikely(err))                                                  \
			return err;                                                    \
		return calls_done(&t, t.ops->slot(t.ep, __VA_ARGS__));                 \
	} while (0)

static ssize_t coll_barrier2(
	struct fid_ep *fid, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_BARRIER, FI_NOOP, FI_VOID), barrier2,
		t.addr, coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_barrier(struct fid_ep *fid, fi_addr_t coll_addr, void *context)
{
	const struct wf_ep *ep = wf_ep_resolve(&fid->fid);

	return coll_barrier2(
		fid, coll_addr, wf_flags_plain(&ep->tx) & FI_COMPLETION, context);
}

static ssize_t coll_broadcast(struct fid_ep *fid, void *buf, size_t count, void *desc,
	fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_BROADCAST, FI_NOOP, datatype), broadcast,
		buf, count, desc, t.addr, root_addr, datatype,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_alltoall(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_ALLTOALL, FI_NOOP, datatype), alltoall, buf,
		count, desc, result, result_desc, t.addr, datatype,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_allreduce(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_ALLREDUCE, op, datatype), allreduce, buf,
		count, desc, result, result_desc, t.addr, datatype, op,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_allgather(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_ALLGATHER, FI_NOOP, datatype), allgather,
		buf, count, desc, result, result_desc, t.addr, datatype,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_reduce_scatter(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_REDUCE_SCATTER, op, datatype),
		reduce_scatter, buf, count, desc, result, result_desc, t.addr, datatype,
		op, coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_reduce(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_REDUCE, op, datatype), reduce, buf, count,
		desc, result, result_desc, t.addr, root_addr, datatype, op,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_scatter(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_SCATTER, FI_NOOP, datatype), scatter, buf,
		count, desc, result, result_desc, t.addr, root_addr, datatype,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_gather(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	FORWARD(fid, coll_addr, QUESTION(FI_GATHER, FI_NOOP, datatype), gather, buf,
		count, desc, result, result_desc, t.addr, root_addr, datatype,
		coll_calls_flags_of(&t, flags), context);
}

static ssize_t coll_msg(struct fid_ep *fid, const struct fi_msg_collective *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct fi_msg_collective below;
	struct target t;
	int ret;

	if (!msg)
		return -FI_EINVAL;
	ret = calls_find_target(
		fid, msg->coll_addr, QUESTION(msg->coll, msg->op, msg->datatype), &t);
	if (ret)
		return ret;
	below = *msg;
	below.coll_addr = t.addr;
	return calls_done(&t, t.ops->msg(t.ep, &below, resultv, result_desc,
				      result_count, coll_calls_flags_of(&t, flags)));
}

struct fi_ops_collective wf_coll_calls = {
	.size = sizeof(wf_coll_calls),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};
