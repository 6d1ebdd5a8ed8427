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

/* The body of lnx_send_small. */
static inline ssize_t lnx_send_short(struct lnx_ep *ep, enum wf_op_kind kind,
	const void *buf, size_t len, fi_addr_t addr, uint64_t tag)
{
	struct lnx_peer *peer = lnx_av_peer(ep->av, addr);
	struct lnx_rail *rail;
	uint32_t index;

	if (wf_unlikely(!peer))
		return -FI_EAGAIN;
	/* acquire: pairs with the release of the insertion. */
	index = atomic_load_explicit(&peer->rail, memory_order_acquire);
	if (wf_unlikely(index == LNX_NO_RAIL))
		return -FI_EAGAIN;
	rail = &ep->rail[index];
	if (wf_unlikely(len >= rail->small_limit))
		return -FI_EAGAIN;
	return rail->here->xfer->send_small(
		rail->here, kind, buf, len, peer->addr[index], tag);
}

#endif
