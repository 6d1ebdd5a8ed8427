/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_RECORD_H
#define LNX_RECORD_H

#include "providers/lnx/endpoint.h"

/*
 * The record of one operation that a member has taken, which is the operation's context
 * there. All transmissions over a recorded rail have one, and deferred receives at
 * members of other libraries. Functions take lnx_ep.ops_lock; the caller may hold the
 * lock of the receive context and locks of members.
 */
struct lnx_op {
	struct fi_context2 scratch; /* the member's with FI_CONTEXT2; first member */
	struct wf_list link;        /* in lnx_ep.ops */
	void *context;              /* the application's */
	uint64_t flags;
	size_t len; /* bytes */
	enum wf_op_kind kind;
	uint32_t rail;
	bool cancelled; /* by the application: its rail did not fail */
	/* While a cancel call names the record its memory stays; ended: the cancel call
	 * frees it. */
	bool cancelling, ended;
	fi_addr_t peer;
};

/* A record of @op at @rail; NULL: no memory. */
struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail);
void lnx_op_free(struct lnx_ep *ep, struct lnx_op *op);

/* The operation at @rail that the member knows by @context, or NULL. */
struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context, uint32_t rail);

/* Has an operation at @rail not ended of which the application hears no success,
 * because it was injected? */
bool lnx_op_any_injected(struct lnx_ep *ep, uint32_t rail);

/* fi_cancel at a recorded rail whose member is of another library; no lock held. The
 * member does not tell whether it found the operation. */
void lnx_op_cancel(struct lnx_ep *ep, const void *context, uint32_t rail);

#endif
