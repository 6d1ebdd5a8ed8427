/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_SHORT_H
#define LNX_SHORT_H

#include "providers/lnx/lnx.h"

/*
 * Members of this library are not asked through the public interface for what every
 * message needs.
 *
 *   sending     the member's send_small is called for a small message, which is over
 *               when that returns: it completes here, whatever the endpoint does with
 *               other transmissions.
 *   receiving   the member delivers into our receive context and the application's CQ
 *               and counters (objects/srx/quick.c), as does all else that it completes.
 *               While deferred work is under way completions come by here (owner.c).
 *   progress    the member's endpoint is moved without its queue (progress.c).
 */

/* The body of lnx_send_small. An address with more in it than an index takes the long
 * way. */
static inline ssize_t lnx_send_short(struct lnx_ep *ep, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	const struct lnx_av *av = ep->av;
	const struct lnx_short *way;
	struct lnx_peer *peer;
	uintptr_t segment;
	uint32_t rail;

	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return -FI_EAGAIN;
	segment = lnx_av_segment(av, addr);
	if (wf_unlikely(!segment))
		return -FI_EAGAIN;
	peer = lnx_av_peer_in(av, segment, addr);
	/* acquire: pairs with the release of the insertion. */
	rail = atomic_load_explicit(&peer->rail, memory_order_acquire);
	way = &ep->rail_short[rail];
	if (wf_unlikely(len >= way->limit))
		return -FI_EAGAIN;
	return way->send(way->ep, kind, buf, len, peer->addr[rail], tag);
}

#endif
