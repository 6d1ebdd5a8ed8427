/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_FAST_POST_H
#define WF_OBJECTS_SRX_FAST_POST_H

/* The fast path of posting a receive, inline in fi_recv and fi_trecv. The fast path of
 * its message is in objects/endpoint/life/deliver.h. */

#include "objects/srx/entry.h"

/* wf_srx_fast_post with the lock held. */
WF_INLINE bool wf_srx_fast_post_locked(struct wf_srx *srx, uint64_t type,
	uint64_t flags, void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
	uint64_t ignore, void *context)
{
	struct wf_match *engine = wf_srx_engine(srx, type);
	struct wf_srx_entry *entry;

	if (wf_unlikely(engine->unexpected_count || srx->posted >= srx->fast_size))
		return false;
	entry = wf_srx_get_spare(srx, type);
	if (wf_unlikely(!entry))
		return false;
	wf_srx_set_receive(entry, len != 0, flags & FI_COMPLETION, context);
	wf_srx_set_buffer(entry, 0, buf, len, desc);
	wf_srx_enqueue(srx, engine, entry, tag, ignore, addr);
	return true;
}

/* Post a receive of one buffer with the endpoint's default @flags. The caller has
 * checked ep->fast_post: start_rx of the endpoint is wf_srx_post. Takes the lock.
 * False: nothing was done, the caller calls start_rx. Calls no function, because saving
 * registers for a call takes measurable time. */
WF_INLINE bool wf_srx_fast_post(struct wf_srx *srx, uint64_t type, uint64_t flags,
	void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
	uint64_t ignore, void *context)
{
	bool posted;

	if (wf_unlikely(flags & FI_MULTI_RECV))
		return false;
	if (addr != FI_ADDR_UNSPEC)
		addr = wf_srx_key(srx, type == FI_TAGGED, addr);
	if (wf_unlikely(!wf_trylock_inline(srx->lock)))
		return false;
	posted = wf_srx_fast_post_locked(
		srx, type, flags, buf, len, desc, addr, tag, ignore, context);
	wf_unlock_inline(srx->lock);
	return posted;
}

#endif
