/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_RECORD_H
#define WF_LNX_RECORD_H

#include "providers/lnx/endpoint.h"

struct lnx_outbound;

/*
 * Record of one operation that a member has started; the member knows the operation by
 * this record as its context. All transmissions over a recorded rail have one, and
 * deferred receives at members of other libraries. The functions take lnx_ep.ops_lock;
 * the caller may hold the lock of the receive context and locks of members.
 */
struct lnx_op {
	/* Memory for a member with FI_CONTEXT2; must be the first field. */
	struct fi_context2 scratch;
	struct wf_list link; /* Link in lnx_ep.ops. */
	void *context;       /* the application's context */
	uint64_t flags;
	size_t len; /* length in bytes */
	enum wf_op_kind kind;
	/* The operation is the head of this striped message; NULL: it is none. */
	struct lnx_outbound *head_of;
	uint32_t rail;
	/* The application cancelled the operation, so its error is no failure of the
	 * rail. */
	bool cancelled;
	/* cancelling: a cancel call uses the record, which is not freed. ended: the
	 * operation has ended meanwhile, so that the cancel call frees the record. */
	bool cancelling, ended;
	fi_addr_t peer;
};

/* Make a record of @op at @rail; NULL: no memory. */
struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail);
void lnx_op_free(struct lnx_ep *ep, struct lnx_op *op);

/* The record with the address @context of an operation at @rail, or NULL: there is
 * none. */
struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context, uint32_t rail);

/* Is an injected operation at @rail, whose success is not reported to the application,
 * still under way? */
bool lnx_op_any_injected(struct lnx_ep *ep, uint32_t rail);
/* Is there any operation over the rail that has not ended? */
bool lnx_op_any(struct lnx_ep *ep, uint32_t rail);

/* fi_cancel at a recorded rail whose member is of another library. No lock is held. The
 * member does not report whether it found the operation. */
void lnx_op_cancel(struct lnx_ep *ep, const void *context, uint32_t rail);

#endif
