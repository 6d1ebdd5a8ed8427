/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/absent/stub.h"

/* The calls of fi_collective(3). */

#define ANSWER -FI_ENOSYS
#include "objects/absent/collective.inl"
#undef STUB
#undef ANSWER

#define STUB(table, slot, type, answer, ...)                                           \
	static type disabled_##table##_##slot(__VA_ARGS__)                             \
	{                                                                              \
		return answer;                                                         \
	}
#define ANSWER -FI_EOPBADSTATE
#include "objects/absent/collective.inl"

#define COLLECTIVE_OPS(stubs)                                                          \
	{                                                                              \
		.size = sizeof(struct fi_ops_collective),                              \
		.barrier = stubs##_collective_barrier,                                 \
		.broadcast = stubs##_collective_broadcast,                             \
		.alltoall = stubs##_collective_alltoall,                               \
		.allreduce = stubs##_collective_allreduce,                             \
		.allgather = stubs##_collective_allgather,                             \
		.reduce_scatter = stubs##_collective_reduce_scatter,                   \
		.reduce = stubs##_collective_reduce,                                   \
		.scatter = stubs##_collective_scatter,                                 \
		.gather = stubs##_collective_gather, .msg = stubs##_collective_msg,    \
		.barrier2 = stubs##_collective_barrier2,                               \
	}
struct fi_ops_collective wf_absent_collective = COLLECTIVE_OPS(wf_absent);
struct fi_ops_collective wf_disabled_collective = COLLECTIVE_OPS(disabled);
