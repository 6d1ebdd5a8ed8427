/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/calls.h"

/* The calls of fi_collective(3): each one fills a struct coll_call. Memory descriptors
 * are not needed, because the data are in the memory of this process (check_owner,
 * endpoint.c). */

static struct coll_ep *calls_ep_of(struct fid_ep *fid)
{
	return coll_ep_of(wf_ep_of(fid));
}

static uint64_t coll_calls_flags_of(const struct coll_ep *ep, uint64_t flags)
{
	return flags | ep->ep.tx.forced;
}

/* Start a call with contiguous buffers; arguments that the call does not have are 0. */
static ssize_t calls_start(struct fid_ep *fid, enum fi_collective_op kind,
	const void *buf, size_t count, void *result, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)
{
	struct coll_ep *ep = calls_ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = kind,
				      .datatype = datatype,
				      .op = op,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .coll_addr = coll_addr,
				      .root_addr = root_addr,
				      .flags = coll_calls_flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t calls_barrier2(
	struct fid_ep *fid, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	return calls_start(fid, FI_BARRIER, NULL, 0, NULL, coll_addr, 0, FI_VOID,
		FI_NOOP, flags, context);
}

static ssize_t calls_barrier(struct fid_ep *fid, fi_addr_t coll_addr, void *context)
{
	const struct coll_ep *ep = calls_ep_of(fid);

	return calls_barrier2(fid, coll_addr,
		atomic_load_explicit(&ep->ep.tx.plain, memory_order_relaxed), context);
}

static ssize_t calls_broadcast(struct fid_ep *fid, void *buf, size_t count, void *desc,
	fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	return calls_start(fid, FI_BROADCAST, buf, count, buf, coll_addr, root_addr,
		datatype, FI_NOOP, flags, context);
}

static ssize_t calls_alltoall(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	return calls_start(fid, FI_ALLTOALL, buf, count, result, coll_addr, 0, datatype,
		FI_NOOP, flags, context);
}

static ssize_t calls_allgather(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	return calls_start(fid, FI_ALLGATHER, buf, count, result, coll_addr, 0,
		datatype, FI_NOOP, flags, context);
}

static ssize_t calls_allreduce(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	return calls_start(fid, FI_ALLREDUCE, buf, count, result, coll_addr, 0,
		datatype, op, flags, context);
}

static ssize_t calls_reduce_scatter(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	return calls_start(fid, FI_REDUCE_SCATTER, buf, count, result, coll_addr, 0,
		datatype, op, flags, context);
}

static ssize_t calls_reduce(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)
{
	return calls_start(fid, FI_REDUCE, buf, count, result, coll_addr, root_addr,
		datatype, op, flags, context);
}

static ssize_t calls_scatter(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return calls_start(fid, FI_SCATTER, buf, count, result, coll_addr, root_addr,
		datatype, FI_NOOP, flags, context);
}

static ssize_t calls_gather(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)
{
	return calls_start(fid, FI_GATHER, buf, count, result, coll_addr, root_addr,
		datatype, FI_NOOP, flags, context);
}

static int calls_bad_msg(const char *why)
{
	coll_log(FI_LOG_WARN, FI_LOG_EP_DATA, "collective message refused: %s\n", why);
	return -FI_EINVAL;
}

static int calls_set_vectors(struct coll_call *call,
	const struct fi_msg_collective *msg, const struct fi_ioc *resultv,
	size_t result_count)
{
	if ((msg->iov_count && !msg->msg_iov) || (result_count && !resultv))
		return calls_bad_msg("a vector is missing");
	if (msg->iov_count > COLL_IOV_MAX || result_count > COLL_IOV_MAX)
		return calls_bad_msg("more entries than iov_limit");
	call->bufv = msg->msg_iov;
	call->buf_count = msg->iov_count;
	call->resultv = resultv;
	call->result_count = result_count;
	return 0;
}

static ssize_t calls_msg_call(struct fid_ep *fid, const struct fi_msg_collective *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct coll_ep *ep = calls_ep_of(fid);
	struct coll_call call;
	int ret;

	if (!msg || (unsigned int)msg->coll > FI_GATHER)
		return calls_bad_msg("no such collective");
	call = (struct coll_call){
		.kind = msg->coll,
		.datatype = msg->datatype,
		.op = msg->op,
		.coll_addr = msg->coll_addr,
		.root_addr = msg->root_addr,
		.flags = coll_calls_flags_of(ep, flags),
		.context = msg->context,
	};
	ret = calls_set_vectors(&call, msg, resultv, result_count);
	return ret ? ret : coll_start(ep, &call);
}

struct fi_ops_collective coll_calls = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = calls_barrier,
	.broadcast = calls_broadcast,
	.alltoall = calls_alltoall,
	.allreduce = calls_allreduce,
	.allgather = calls_allgather,
	.reduce_scatter = calls_reduce_scatter,
	.reduce = calls_reduce,
	.scatter = calls_scatter,
	.gather = calls_gather,
	.msg = calls_msg_call,
	.barrier2 = calls_barrier2,
};
