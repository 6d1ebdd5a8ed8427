/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/absent/stub.h"

/* The calls of fi_collective(3). */

STUB(collective, barrier, ssize_t, -FI_ENOSYS, struct fid_ep *ep, fi_addr_t coll_addr,
	void *context)

STUB(collective, broadcast, ssize_t, -FI_ENOSYS, struct fid_ep *ep, void *buf,
	size_t count, void *desc, fi_addr_t coll_addr, fi_addr_t root_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, alltoall, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, allreduce, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)

STUB(collective, allgather, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, reduce_scatter, ssize_t, -FI_ENOSYS, struct fid_ep *ep,
	const void *buf, size_t count, void *desc, void *result, void *result_desc,
	fi_addr_t coll_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)

STUB(collective, reduce, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
	void *context)

STUB(collective, scatter, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, gather, ssize_t, -FI_ENOSYS, struct fid_ep *ep, const void *buf,
	size_t count, void *desc, void *result, void *result_desc, fi_addr_t coll_addr,
	fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags, void *context)

STUB(collective, msg, ssize_t, -FI_ENOSYS, struct fid_ep *ep,
	const struct fi_msg_collective *msg, struct fi_ioc *resultv, void **result_desc,
	size_t result_count, uint64_t flags)

STUB(collective, barrier2, ssize_t, -FI_ENOSYS, struct fid_ep *ep, fi_addr_t coll_addr,
	uint64_t flags, void *context)

struct fi_ops_collective wf_absent_collective = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = wf_absent_collective_barrier,
	.broadcast = wf_absent_collective_broadcast,
	.alltoall = wf_absent_collective_alltoall,
	.allreduce = wf_absent_collective_allreduce,
	.allgather = wf_absent_collective_allgather,
	.reduce_scatter = wf_absent_collective_reduce_scatter,
	.reduce = wf_absent_collective_reduce,
	.scatter = wf_absent_collective_scatter,
	.gather = wf_absent_collective_gather,
	.msg = wf_absent_collective_msg,
	.barrier2 = wf_absent_collective_barrier2,
};
