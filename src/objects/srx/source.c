/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Sources of unexpected messages become known when their address is inserted into the
 * AV, and unknown when it is removed, since the AV may give the index to another
 * address. Called from fi_av_insert and fi_av_remove, without the lock.
 */

typedef fi_addr_t (*get_addr_fn)(struct fi_peer_rx_entry *);

/* Call @get_addr for the source of @msg. A peer provider that keeps a pointer to the
 * message's entry gets that entry, because it may read private members behind it. */
static uint64_t srx_source_ask(
	const struct wf_srx *srx, uint32_t msg, uint64_t type, get_addr_fn get_addr)
{
	struct fi_peer_rx_entry *kept = wf_srx_kept(srx, msg);
	struct fi_peer_rx_entry view;

	if (kept)
		return wf_srx_known(get_addr(kept));
	view = wf_srx_view(srx, msg, type);
	return wf_srx_known(get_addr(&view));
}

/* A slice of @buffer for a message of @size bytes; NULL: it does not fit, or no
 * memory. */
static struct wf_srx_entry *source_slice_of(
	struct wf_srx *srx, struct wf_srx_entry *buffer, uint64_t type, size_t size)
{
	struct wf_srx_entry *slice = wf_srx_new_entry(srx, type);

	if (!slice) {
		/* The message stays in the unexpected queue for the next receive. */
		buffer->err = FI_ENOMEM;
		wf_srx_multi_retire(srx, buffer);
		return NULL;
	}
	if (wf_srx_multi_take(srx, buffer, slice, size))
		return slice;
	wf_pool_put(&srx->pool, slice);
	return NULL;
}

/* The source of @msg became known: a directed receive posted earlier may match it. (An
 * undirected one would have matched before.) */
static void source_deliver(
	struct wf_srx *srx, struct wf_match *engine, uint64_t type, uint32_t msg)
{
	const struct fi_peer_rx_entry view = wf_srx_view(srx, msg, type);
	struct wf_srx_entry *posted = NULL;
	struct wf_match_entry *match;

	while (!posted) {
		match = wf_match_find_posted(engine, view.tag, view.addr);
		if (!match)
			return;
		posted = wf_srx_matched(match);
		if (wf_srx_is_multi(posted))
			posted = source_slice_of(srx, posted, type, view.msg_size);
		else
			wf_srx_unpost(srx, posted);
	}
	wf_srx_start_entry(srx, wf_srx_take(srx, engine, msg, posted));
}

static void source_resolve_engine(struct wf_srx *srx, uint64_t type,
	const struct fid_peer_srx *fid, get_addr_fn get_addr)
{
	struct wf_match *engine = wf_srx_engine(srx, type);

	wf_match_foreach_unspec(msg, engine)
	{
		uint64_t addr;

		if (wf_srx_fid_of(srx, msg) != fid)
			continue;
		addr = srx_source_ask(srx, msg, type, get_addr);
		if (addr == WF_MATCH_ANY)
			continue;
		wf_match_resolve(engine, msg, addr);
		source_deliver(srx, engine, type, msg);
	}
}

void wf_srx_own_foreach_unspec(struct fid_peer_srx *fid, get_addr_fn get_addr)
{
	struct wf_srx *srx = wf_srx_port_of(fid)->srx;

	wf_lock(srx->lock);
	source_resolve_engine(srx, FI_MSG, fid, get_addr);
	source_resolve_engine(srx, FI_TAGGED, fid, get_addr);
	wf_srx_foreach_claimed(entry, srx)
	{
		if (entry->peer.srx == fid && entry->peer.addr == FI_ADDR_UNSPEC)
			entry->peer.addr = get_addr(&entry->peer);
	}
	wf_unlock(srx->lock);
}

/* The arguments of wf_srx_recheck_sources: the port whose messages are asked about, the
 * function that returns the source of a message, and which sources may have changed
 * (@changed NULL: all). */
struct question {
	const struct fid_peer_srx *fid;
	get_addr_fn get_addr;
	bool (*changed)(fi_addr_t addr, const void *arg);
	const void *arg; /* argument of @changed */
};

static bool source_concerns(
	const struct question *q, const struct fid_peer_srx *fid, fi_addr_t addr)
{
	return fid == q->fid && addr != FI_ADDR_UNSPEC &&
	       (!q->changed || q->changed(addr, q->arg));
}

/* Forget the sources that are no longer valid. A sender whose address was inserted at
 * its old index meanwhile is resolved afterwards, as a new sender is. */
static void source_ask_engine(
	struct wf_srx *srx, uint64_t type, const struct question *q)
{
	struct wf_match *engine = wf_srx_engine(srx, type);

	if (engine->unspec_count == engine->unexpected_count)
		return;
	wf_match_foreach_unexpected(msg, engine)
	{
		uint64_t addr = wf_match_addr(wf_match_message_at(engine, msg));

		if (source_concerns(q, wf_srx_fid_of(srx, msg), addr) &&
			srx_source_ask(srx, msg, type, q->get_addr) != addr)
			wf_match_forget(engine, msg);
	}
}

void wf_srx_recheck_sources(struct fid_peer_srx *fid, get_addr_fn get_addr,
	bool (*changed)(fi_addr_t addr, const void *arg), const void *arg)
{
	struct wf_srx *srx = wf_srx_port_of(fid)->srx;
	const struct question q = { fid, get_addr, changed, arg };

	wf_lock(srx->lock);
	source_ask_engine(srx, FI_MSG, &q);
	source_ask_engine(srx, FI_TAGGED, &q);
	wf_srx_foreach_claimed(entry, srx)
	{
		if (source_concerns(&q, entry->peer.srx, entry->peer.addr))
			entry->peer.addr = get_addr(&entry->peer);
	}
	source_resolve_engine(srx, FI_MSG, fid, get_addr);
	source_resolve_engine(srx, FI_TAGGED, fid, get_addr);
	wf_unlock(srx->lock);
}
