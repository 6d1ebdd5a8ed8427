/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MODEL_COLL_START_H
#define TESTS_MODEL_COLL_START_H

#include <rdma/fi_errno.h>

#include "coll_model.h"

/* The objects and buffers with which a member makes a call of the model. */
struct cm_start {
	struct fid_ep *ep;
	fi_addr_t coll, root; /* addresses in this member's AV */
	void *buf, *desc, *result, *result_desc;
	uint64_t flags;
	void *context;
};

/* Make the call @call. Returns its result. */
static inline ssize_t cm_start(const struct cm_call *call, const struct cm_start *s)
{
	enum fi_datatype type = call->type ? call->type->datatype : FI_VOID;

	switch (call->kind) {
	case FI_BARRIER:
		return fi_barrier2(s->ep, s->coll, s->flags, s->context);
	case FI_BROADCAST:
		return fi_broadcast(s->ep, s->buf, call->count, s->desc, s->coll,
			s->root, type, s->flags, s->context);
	case FI_ALLTOALL:
		return fi_alltoall(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, type, s->flags, s->context);
	case FI_ALLREDUCE:
		return fi_allreduce(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, type, call->op, s->flags, s->context);
	case FI_ALLGATHER:
		return fi_allgather(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, type, s->flags, s->context);
	case FI_REDUCE_SCATTER:
		return fi_reduce_scatter(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, type, call->op, s->flags, s->context);
	case FI_REDUCE:
		return fi_reduce(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, s->root, type, call->op, s->flags,
			s->context);
	case FI_SCATTER:
		return fi_scatter(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, s->root, type, s->flags, s->context);
	case FI_GATHER:
		return fi_gather(s->ep, s->buf, call->count, s->desc, s->result,
			s->result_desc, s->coll, s->root, type, s->flags, s->context);
	}
	return -FI_EINVAL;
}

#endif
