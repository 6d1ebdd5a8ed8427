/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/calls.h"

/* The calls of fi_collective(3): each one fills a struct coll_call. */

static struct coll_ep *ep_of(struct fid_ep *fid)
{
	return coll_ep_of(wf_ep_of(fid));
}

static uint64_t flags_of(const struct coll_ep *ep, uint64_t flags)
{
	return flags | ep->ep.tx.forced;
}

static ssize_t barrier(struct fid_ep *fid, fi_addr_t coll_addr, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_BARRIER,
				      .coll_addr = coll_addr,
				      .flags = atomic_load_explicit(
					      &ep->ep.tx.plain, memory_order_relaxed),
				      .context = context,
			      });
}

static ssize_t barrier2(
	struct fid_ep *fid, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_BARRIER,
				      .coll_addr = coll_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t broadcast(struct fid_ep *fid, void *buf, size_t count, void *desc,
	fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_BROADCAST,
				      .datatype = datatype,
				      .count = count,
				      .buf = buf,
				      .result = buf,
				      .desc = desc,
				      .coll_addr = coll_addr,
				      .root_addr = root_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t alltoall(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_ALLTOALL,
				      .datatype = datatype,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t allgather(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype,
	uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_ALLGATHER,
				      .datatype = datatype,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t allreduce(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype,
	enum fi_op op, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_ALLREDUCE,
				      .datatype = datatype,
				      .op = op,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t reduce_scatter(struct fid_ep *fid, const void *buf, size_t count,
	void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_REDUCE_SCATTER,
				      .datatype = datatype,
				      .op = op,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t reduce(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_REDUCE,
				      .datatype = datatype,
				      .op = op,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .root_addr = root_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t scatter(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_SCATTER,
				      .datatype = datatype,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .root_addr = root_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static ssize_t gather(struct fid_ep *fid, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, fi_addr_t root_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)
{
	struct coll_ep *ep = ep_of(fid);

	return coll_start(ep, &(struct coll_call){
				      .kind = FI_GATHER,
				      .datatype = datatype,
				      .count = count,
				      .buf = buf,
				      .result = result,
				      .desc = desc,
				      .result_desc = result_desc,
				      .coll_addr = coll_addr,
				      .root_addr = root_addr,
				      .flags = flags_of(ep, flags),
				      .context = context,
			      });
}

static int bad_msg(const char *why)
{
	coll_log(FI_LOG_WARN, FI_LOG_EP_DATA, "collective message refused: %s\n", why);
	return -FI_EINVAL;
}

static int set_vectors(struct coll_call *call, const struct fi_msg_collective *msg,
	const struct fi_ioc *resultv, void **result_desc, size_t result_count)
{
	if ((msg->iov_count && !msg->msg_iov) || (result_count && !resultv))
		return bad_msg("a vector is missing");
	if (msg->iov_count > COLL_IOV_MAX || result_count > COLL_IOV_MAX)
		return bad_msg("more entries than iov_limit");
	call->bufv = msg->msg_iov;
	call->buf_count = msg->iov_count;
	call->resultv = resultv;
	call->result_count = result_count;
	call->desc = msg->desc && msg->iov_count ? msg->desc[0] : NULL;
	call->result_desc = result_desc && result_count ? result_desc[0] : NULL;
	return 0;
}

static ssize_t msg_call(struct fid_ep *fid, const struct fi_msg_collective *msg,
	struct fi_ioc *resultv, void **result_desc, size_t result_count, uint64_t flags)
{
	struct coll_ep *ep = ep_of(fid);
	struct coll_call call;
	int ret;

	if (!msg || (unsigned int)msg->coll > FI_GATHER)
		return bad_msg("no such collective");
	call = (struct coll_call){
		.kind = msg->coll,
		.datatype = msg->datatype,
		.op = msg->op,
		.coll_addr = msg->coll_addr,
		.root_addr = msg->root_addr,
		.flags = flags_of(ep, flags),
		.context = msg->context,
	};
	ret = set_vectors(&call, msg, resultv, result_desc, result_count);
	return ret ? ret : coll_start(ep, &call);
}

struct fi_ops_collective coll_calls = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = barrier,
	.broadcast = broadcast,
	.alltoall = alltoall,
	.allreduce = allreduce,
	.allgather = allgather,
	.reduce_scatter = reduce_scatter,
	.reduce = reduce,
	.scatter = scatter,
	.gather = gather,
	.msg = msg_call,
	.barrier2 = barrier2,
};
