/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_SRX_H
#define WF_VERBS_SRX_H

#include "objects/endpoint/scalable/srx_ctx.h"
#include "providers/verbs/verbs.h"

/*
 * A shared receive context: an SRQ. Its receives end in any order, so the free slots
 * are in a list. The wr_id of a request is its slot, with VERBS_WR_RECV. ctx->ep.lock
 * guards the list and the posting; it may be taken with the lock of a CQ held.
 */
struct verbs_srx {
	struct wf_srx_ctx *ctx;
	struct ibv_srq *srq;
	struct verbs_wr *slots;
	uint32_t *next; /* for each free slot the next free one */
	uint32_t free;  /* first free slot; equal to @size if there is none */
	uint32_t size;  /* number of slots */
};

extern const struct wf_shared_rx_ops verbs_shared_rx;

/* The request in slot @number has ended: return its contents and free the slot. */
struct verbs_wr verbs_srx_take(struct verbs_srx *srx, uint32_t number);

#endif
