/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"

#define STUB(table, slot, type, answer, ...)                                           \
	type wf_absent_##table##_##slot(__VA_ARGS__)                                   \
	{                                                                              \
		return answer;                                                         \
	}
#define ANSWER  -FI_ENOSYS
#define INVALID -FI_EOPNOTSUPP
#include "objects/absent/data.inl"
#undef STUB
#undef ANSWER
#undef INVALID

#define STUB(table, slot, type, answer, ...)                                           \
	static type disabled_##table##_##slot(__VA_ARGS__)                             \
	{                                                                              \
		return answer;                                                         \
	}
#define ANSWER  -FI_EOPBADSTATE
#define INVALID -FI_EOPBADSTATE
#include "objects/absent/data.inl"

struct fi_ops_msg wf_absent_msg = {
	.size = sizeof(struct fi_ops_msg),
	.recv = wf_absent_msg_recv,
	.recvv = wf_absent_msg_recvv,
	.recvmsg = wf_absent_msg_recvmsg,
	.send = wf_absent_msg_send,
	.sendv = wf_absent_msg_sendv,
	.sendmsg = wf_absent_msg_sendmsg,
	.inject = wf_absent_msg_inject,
	.senddata = wf_absent_msg_senddata,
	.injectdata = wf_absent_msg_injectdata,
};

struct fi_ops_tagged wf_absent_tagged = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = wf_absent_tagged_recv,
	.recvv = wf_absent_tagged_recvv,
	.recvmsg = wf_absent_tagged_recvmsg,
	.send = wf_absent_tagged_send,
	.sendv = wf_absent_tagged_sendv,
	.sendmsg = wf_absent_tagged_sendmsg,
	.inject = wf_absent_tagged_inject,
	.senddata = wf_absent_tagged_senddata,
	.injectdata = wf_absent_tagged_injectdata,
};

struct fi_ops_rma wf_absent_rma = {
	.size = sizeof(struct fi_ops_rma),
	.read = wf_absent_rma_read,
	.readv = wf_absent_rma_readv,
	.readmsg = wf_absent_rma_readmsg,
	.write = wf_absent_rma_write,
	.writev = wf_absent_rma_writev,
	.writemsg = wf_absent_rma_writemsg,
	.inject = wf_absent_rma_inject,
	.writedata = wf_absent_rma_writedata,
	.injectdata = wf_absent_rma_injectdata,
};

struct fi_ops_atomic wf_absent_atomic = {
	.size = sizeof(struct fi_ops_atomic),
	.write = wf_absent_atomic_write,
	.writev = wf_absent_atomic_writev,
	.writemsg = wf_absent_atomic_writemsg,
	.inject = wf_absent_atomic_inject,
	.readwrite = wf_absent_atomic_readwrite,
	.readwritev = wf_absent_atomic_readwritev,
	.readwritemsg = wf_absent_atomic_readwritemsg,
	.compwrite = wf_absent_atomic_compwrite,
	.compwritev = wf_absent_atomic_compwritev,
	.compwritemsg = wf_absent_atomic_compwritemsg,
	.writevalid = wf_absent_atomic_writevalid,
	.readwritevalid = wf_absent_atomic_readwritevalid,
	.compwritevalid = wf_absent_atomic_compwritevalid,
};

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

struct fi_ops_msg wf_disabled_msg = {
	.size = sizeof(struct fi_ops_msg),
	.recv = disabled_msg_recv,
	.recvv = disabled_msg_recvv,
	.recvmsg = disabled_msg_recvmsg,
	.send = disabled_msg_send,
	.sendv = disabled_msg_sendv,
	.sendmsg = disabled_msg_sendmsg,
	.inject = disabled_msg_inject,
	.senddata = disabled_msg_senddata,
	.injectdata = disabled_msg_injectdata,
};

struct fi_ops_tagged wf_disabled_tagged = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = disabled_tagged_recv,
	.recvv = disabled_tagged_recvv,
	.recvmsg = disabled_tagged_recvmsg,
	.send = disabled_tagged_send,
	.sendv = disabled_tagged_sendv,
	.sendmsg = disabled_tagged_sendmsg,
	.inject = disabled_tagged_inject,
	.senddata = disabled_tagged_senddata,
	.injectdata = disabled_tagged_injectdata,
};

struct fi_ops_rma wf_disabled_rma = {
	.size = sizeof(struct fi_ops_rma),
	.read = disabled_rma_read,
	.readv = disabled_rma_readv,
	.readmsg = disabled_rma_readmsg,
	.write = disabled_rma_write,
	.writev = disabled_rma_writev,
	.writemsg = disabled_rma_writemsg,
	.inject = disabled_rma_inject,
	.writedata = disabled_rma_writedata,
	.injectdata = disabled_rma_injectdata,
};

struct fi_ops_atomic wf_disabled_atomic = {
	.size = sizeof(struct fi_ops_atomic),
	.write = disabled_atomic_write,
	.writev = disabled_atomic_writev,
	.writemsg = disabled_atomic_writemsg,
	.inject = disabled_atomic_inject,
	.readwrite = disabled_atomic_readwrite,
	.readwritev = disabled_atomic_readwritev,
	.readwritemsg = disabled_atomic_readwritemsg,
	.compwrite = disabled_atomic_compwrite,
	.compwritev = disabled_atomic_compwritev,
	.compwritemsg = disabled_atomic_compwritemsg,
	.writevalid = disabled_atomic_writevalid,
	.readwritevalid = disabled_atomic_readwritevalid,
	.compwritevalid = disabled_atomic_compwritevalid,
};

struct fi_ops_collective wf_disabled_collective = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = disabled_collective_barrier,
	.broadcast = disabled_collective_broadcast,
	.alltoall = disabled_collective_alltoall,
	.allreduce = disabled_collective_allreduce,
	.allgather = disabled_collective_allgather,
	.reduce_scatter = disabled_collective_reduce_scatter,
	.reduce = disabled_collective_reduce,
	.scatter = disabled_collective_scatter,
	.gather = disabled_collective_gather,
	.msg = disabled_collective_msg,
	.barrier2 = disabled_collective_barrier2,
};
