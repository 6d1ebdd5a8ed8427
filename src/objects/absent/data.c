/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/absent/stub.h"

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

/* The tables, once with the stubs wf_absent_* and once with disabled_*. */
#define MSG_OPS(stubs)                                                                 \
	{                                                                              \
		.size = sizeof(struct fi_ops_msg), .recv = stubs##_msg_recv,           \
		.recvv = stubs##_msg_recvv, .recvmsg = stubs##_msg_recvmsg,            \
		.send = stubs##_msg_send, .sendv = stubs##_msg_sendv,                  \
		.sendmsg = stubs##_msg_sendmsg, .inject = stubs##_msg_inject,          \
		.senddata = stubs##_msg_senddata,                                      \
		.injectdata = stubs##_msg_injectdata,                                  \
	}
struct fi_ops_msg wf_absent_msg = MSG_OPS(wf_absent);
struct fi_ops_msg wf_disabled_msg = MSG_OPS(disabled);

#define TAGGED_OPS(stubs)                                                              \
	{                                                                              \
		.size = sizeof(struct fi_ops_tagged), .recv = stubs##_tagged_recv,     \
		.recvv = stubs##_tagged_recvv, .recvmsg = stubs##_tagged_recvmsg,      \
		.send = stubs##_tagged_send, .sendv = stubs##_tagged_sendv,            \
		.sendmsg = stubs##_tagged_sendmsg, .inject = stubs##_tagged_inject,    \
		.senddata = stubs##_tagged_senddata,                                   \
		.injectdata = stubs##_tagged_injectdata,                               \
	}
struct fi_ops_tagged wf_absent_tagged = TAGGED_OPS(wf_absent);
struct fi_ops_tagged wf_disabled_tagged = TAGGED_OPS(disabled);

#define RMA_OPS(stubs)                                                                 \
	{                                                                              \
		.size = sizeof(struct fi_ops_rma), .read = stubs##_rma_read,           \
		.readv = stubs##_rma_readv, .readmsg = stubs##_rma_readmsg,            \
		.write = stubs##_rma_write, .writev = stubs##_rma_writev,              \
		.writemsg = stubs##_rma_writemsg, .inject = stubs##_rma_inject,        \
		.writedata = stubs##_rma_writedata,                                    \
		.injectdata = stubs##_rma_injectdata,                                  \
	}
struct fi_ops_rma wf_absent_rma = RMA_OPS(wf_absent);
struct fi_ops_rma wf_disabled_rma = RMA_OPS(disabled);

#define ATOMIC_OPS(stubs)                                                              \
	{                                                                              \
		.size = sizeof(struct fi_ops_atomic), .write = stubs##_atomic_write,   \
		.writev = stubs##_atomic_writev, .writemsg = stubs##_atomic_writemsg,  \
		.inject = stubs##_atomic_inject,                                       \
		.readwrite = stubs##_atomic_readwrite,                                 \
		.readwritev = stubs##_atomic_readwritev,                               \
		.readwritemsg = stubs##_atomic_readwritemsg,                           \
		.compwrite = stubs##_atomic_compwrite,                                 \
		.compwritev = stubs##_atomic_compwritev,                               \
		.compwritemsg = stubs##_atomic_compwritemsg,                           \
		.writevalid = stubs##_atomic_writevalid,                               \
		.readwritevalid = stubs##_atomic_readwritevalid,                       \
		.compwritevalid = stubs##_atomic_compwritevalid,                       \
	}
struct fi_ops_atomic wf_absent_atomic = ATOMIC_OPS(wf_absent);
struct fi_ops_atomic wf_disabled_atomic = ATOMIC_OPS(disabled);
