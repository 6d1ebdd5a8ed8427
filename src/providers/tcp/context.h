/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_CONTEXT_H
#define TCP_CONTEXT_H

#include "objects/endpoint/scalable/scalable.h"
#include "providers/tcp/tcp.h"

/*
 * Contexts of scalable FI_EP_RDM endpoints. All use the connections of the core
 * endpoint, one to each peer, and its lock. An operation keeps its transmit context
 * (tcp_tx.from). A record for another receive context than the first names it, if the
 * peer said that it has that one (docs/tcp-wire.md).
 */

/* Transmit contexts of an endpoint, and as many receive contexts. */
enum { TCP_CONTEXTS_MAX = 256 };

int tcp_scalable_ep(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_sep, void *context);

/* Free the array of transmit contexts of @ep. */
void tcp_contexts_free(struct tcp_ep *ep);

/* The transmit context of @from, or the receive context @ctx, is being closed. The srx
 * lock and ep.lock held. */
void tcp_context_close_tx(struct tcp_ep *ep, struct tcp_source *from);
void tcp_context_close_rx(struct tcp_ep *ep, const struct wf_ep *ctx);

/* Index of the receive context that @addr names. */
static inline uint16_t tcp_context_of(const struct tcp_ep *ep, fi_addr_t addr)
{
	return wf_likely(!(addr & ep->context_bits))
		       ? 0
		       : (uint16_t)(addr >> ep->context_shift);
}

#endif
