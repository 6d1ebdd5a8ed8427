/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/failover.h"

#include <errno.h>

/*
 * Failures of rails. An operation that a rail refuses goes over the next rail. An
 * operation that a rail has taken and lost ends with its error, because it may have
 * arrived; the next operations to that peer go over another rail. When no rail is left,
 * all are tried again. Messages stay in order: a message on the failed rail that did
 * not arrive has failed before the next one is sent.
 */

bool lnx_rail_is_gone(int err)
{
	switch (err) {
	case FI_ECANCELED:
	case FI_ECONNABORTED:
	case FI_ECONNREFUSED:
	case FI_ECONNRESET:
	case FI_EHOSTDOWN:
	case FI_EHOSTUNREACH:
	case FI_ENETDOWN:
	case FI_ENETUNREACH:
	case FI_ENODEV:
	case FI_ENOTCONN:
	case FI_ESHUTDOWN:
	case FI_ETIMEDOUT:
	case EPIPE:
		return true;
	default:
		return false;
	}
}

/* The first rail in the set @rails after @rail, cyclically. */
static uint32_t failover_next_of(uint8_t rails, uint32_t rail)
{
	for (uint32_t i = 1; i <= LNX_MAX_LINKS; i++) {
		uint32_t at = (rail + i) % LNX_MAX_LINKS;

		if (rails >> at & 1)
			return at;
	}
	return LNX_NO_RAIL;
}

uint32_t lnx_rail_next(struct lnx_ep *ep, struct lnx_peer *peer)
{
	uint32_t rail = atomic_load_explicit(&peer->rail, memory_order_acquire), next;
	uint8_t up;

	if (!ep->per_msg || rail == LNX_NO_RAIL || ep->domain->link->local[rail])
		return rail;
	up = atomic_load_explicit(&peer->rails, memory_order_relaxed) &
	     (uint8_t)~atomic_load_explicit(&peer->down, memory_order_relaxed);
	next = failover_next_of(up, rail);
	if (next == LNX_NO_RAIL)
		return rail;
	/* No exchange if the peer was removed or its rail was changed meanwhile. */
	(void)atomic_compare_exchange_strong_explicit(
		&peer->rail, &rail, next, memory_order_relaxed, memory_order_relaxed);
	return next;
}

/* Mark @rail as failed; false: another thread has marked it. */
static bool failover_mark_failed(struct lnx_peer *peer, uint32_t rail)
{
	uint8_t bit = (uint8_t)(1u << rail);

	return !(
		atomic_fetch_or_explicit(&peer->down, bit, memory_order_relaxed) & bit);
}

bool lnx_rail_failed(struct lnx_ep *ep, fi_addr_t addr, uint32_t rail, int err)
{
	const struct lnx_link *link = ep->domain->link;
	struct lnx_peer *peer = lnx_av_peer(ep->av, addr);
	uint32_t now = rail, next;
	uint8_t rails, up;
	bool left;

	atomic_fetch_add_explicit(&ep->rail[rail].failures, 1, memory_order_relaxed);
	if (!lnx_rail_is_gone(err) || !peer)
		return false;
	rails = atomic_load_explicit(&peer->rails, memory_order_relaxed);
	if (!(rails & ~(1u << rail)) || !failover_mark_failed(peer, rail))
		return false;
	up = rails & (uint8_t)~atomic_load_explicit(&peer->down, memory_order_relaxed);
	left = up != 0;
	if (!left) {
		atomic_store_explicit(&peer->down, 0, memory_order_relaxed);
		up = rails;
	}
	next = failover_next_of(up, rail);
	if (atomic_compare_exchange_strong_explicit(&peer->rail, &now, next,
		    memory_order_relaxed, memory_order_relaxed))
		lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"address %llu: %s fails (%s), over %s from now on\n",
			(unsigned long long)addr, link->member[rail].name,
			fi_strerror(err), link->member[next].name);
	return left;
}
