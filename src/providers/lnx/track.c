/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

/*
 * Records of operations, and rails that fail.
 *
 * Where a peer may be reached over several rails, every transmission has a record that
 * says where it went, and so has what goes over a member of another library, which
 * knows nothing of deferred work. One that a rail did not take goes over the next one.
 * One that it took and lost ends with that error, because it may have arrived; the rail
 * is not used for that peer any more, and what is sent from then on goes over the next.
 * When none is left all are tried again. Order holds: what was on the failed rail and
 * did not arrive has failed before anything else is sent.
 */

struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail)
{
	struct lnx_op *rec;

	wf_lock(&ep->ops_lock);
	rec = wf_pool_get(&ep->ops_pool);
	if (rec) {
		rec->context = op->context;
		rec->flags = op->flags;
		rec->len = op->atomic ? op->atomic->size : op->len;
		rec->kind = op->kind;
		rec->rail = rail;
		rec->cancelled = rec->cancelling = rec->ended = false;
		rec->peer = op->addr;
		wf_list_push(&ep->ops, &rec->link);
	}
	wf_unlock(&ep->ops_lock);
	return rec;
}

void lnx_op_free(struct lnx_ep *ep, struct lnx_op *rec)
{
	wf_lock(&ep->ops_lock);
	wf_list_remove(&rec->link);
	rec->ended = true;
	if (!rec->cancelling)
		wf_pool_put(&ep->ops_pool, rec);
	wf_unlock(&ep->ops_lock);
}

struct lnx_op *lnx_op_find(struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *found = NULL;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec == context && rec->rail == rail) {
			found = rec;
			break;
		}
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

bool lnx_op_any_injected(struct lnx_ep *ep, uint32_t rail)
{
	bool found = false;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		const struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec->rail != rail || wf_op_is_reported(rec->flags))
			continue;
		found = true;
		break;
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

/* The first transmission there that reports its end, kept by @cancelling; NULL. */
static struct lnx_op *find_cancelled(
	struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *found = NULL;

	wf_lock(&ep->ops_lock);
	wf_list_foreach(link, &ep->ops)
	{
		struct lnx_op *rec = wf_list_entry(link, struct lnx_op, link);

		if (rec->context != context || rec->rail != rail || rec->cancelling ||
			rec->kind == WF_OP_RECV || rec->kind == WF_OP_TRECV ||
			!wf_op_is_reported(rec->flags))
			continue;
		rec->cancelling = rec->cancelled = true;
		found = rec;
		break;
	}
	wf_unlock(&ep->ops_lock);
	return found;
}

void lnx_op_cancel(struct lnx_ep *ep, const void *context, uint32_t rail)
{
	struct lnx_op *rec = find_cancelled(ep, context, rail);

	if (!rec)
		return;
	(void)fi_cancel(&ep->rail[rail].below.fid->fid, rec);
	wf_lock(&ep->ops_lock);
	rec->cancelling = false;
	if (rec->ended)
		wf_pool_put(&ep->ops_pool, rec);
	wf_unlock(&ep->ops_lock);
}

/* ---- rails ---- */

/* Does @err (positive) say that the other side cannot be reached this way? */
static bool is_gone(int err)
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

/* The first of @rails behind @rail, around the end. */
static uint32_t next_of(uint8_t rails, uint32_t rail)
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
	next = next_of(up, rail);
	if (next == LNX_NO_RAIL)
		return rail;
	/* Not if the peer was removed or changed meanwhile. */
	(void)atomic_compare_exchange_strong_explicit(
		&peer->rail, &rail, next, memory_order_relaxed, memory_order_relaxed);
	return next;
}

/* @rail is taken out; false when another thread has done so. */
static bool take_out(struct lnx_peer *peer, uint32_t rail)
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
	if (!is_gone(err) || !peer)
		return false;
	rails = atomic_load_explicit(&peer->rails, memory_order_relaxed);
	if (!(rails & ~(1u << rail)) || !take_out(peer, rail))
		return false;
	up = rails & (uint8_t)~atomic_load_explicit(&peer->down, memory_order_relaxed);
	left = up != 0;
	if (!left) {
		atomic_store_explicit(&peer->down, 0, memory_order_relaxed);
		up = rails;
	}
	next = next_of(up, rail);
	if (atomic_compare_exchange_strong_explicit(&peer->rail, &now, next,
		    memory_order_relaxed, memory_order_relaxed))
		lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"address %llu: %s fails (%s), over %s from now on\n",
			(unsigned long long)addr, link->member[rail].name,
			fi_strerror(err), link->member[next].name);
	return left;
}

/* ---- statistics ---- */

static uint64_t value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void lnx_rail_count(struct lnx_ep *ep, uint32_t rail, size_t len)
{
	atomic_fetch_add_explicit(&ep->rail[rail].ops, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&ep->rail[rail].bytes, len, memory_order_relaxed);
}

void lnx_dump_stats(const struct lnx_ep *ep)
{
	if (!lnx_params.stats)
		return;
	for (unsigned int i = 0; i < ep->count; i++)
		fprintf(stderr,
			"lnx %s: %s: %" PRIu64 " operations, %" PRIu64
			" bytes sent, %" PRIu64 " failed\n",
			ep->domain->wf->name, ep->domain->link->member[i].name,
			value(&ep->rail[i].ops), value(&ep->rail[i].bytes),
			value(&ep->rail[i].failures));
}
