/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_CONTEXT_H
#define WF_TCP_CONTEXT_H

#include "objects/endpoint/scalable/scalable.h"
#include "providers/tcp/tcp.h"

/*
 * Contexts of scalable FI_EP_RDM endpoints. All use the connections of the core
 * endpoint, one to each peer, and its lock. An operation keeps its transmit context
 * (tcp_tx.from). A record for a receive context other than the first contains the
 * context's index, if the peer announced that it has as many contexts
 * (docs/tcp-wire.md).
 */

/* Limit of transmit contexts of an endpoint, and of receive contexts. */
enum { TCP_CONTEXTS_MAX = 256 };

int tcp_scalable_ep(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_sep, void *context);

/* Free the array of transmit contexts of @ep. */
void tcp_contexts_free(struct tcp_ep *ep);

/* The transmit context of @from, or the receive context @ctx, is being closed. The lock
 * of the receive context and ep.lock are held. */
void tcp_context_close_tx(struct tcp_ep *ep, struct tcp_source *from);
void tcp_context_close_rx(struct tcp_ep *ep, const struct wf_ep *ctx);

/* Index of the receive context in @addr. */
static inline uint16_t tcp_context_of(const struct tcp_ep *ep, fi_addr_t addr)
{
	return wf_likely(!(addr & ep->context_bits))
		       ? 0
		       : (uint16_t)(addr >> ep->context_shift);
}

#endif
