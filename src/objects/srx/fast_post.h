/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_POST_QUICK_H
#define WF_OBJECTS_SRX_POST_QUICK_H

/* The fast path of posting, inline in the two calls that take it; see fast_path.c. */

#include "match/posted.h"
#include "objects/srx/internal.h"

/* Post a receive of one buffer with the endpoint's default @flags where ep->fast_post
 * says that ep->start_rx does no more. False: nothing was done, it takes that. */
WF_INLINE bool wf_srx_fast_post(struct wf_ep *ep, uint64_t type, uint64_t flags,
	void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
	uint64_t ignore, void *context)
{
	struct wf_srx *srx = ep->srx_queue;
	struct wf_match *engine = wf_srx_engine(srx, type);
	struct wf_srx_entry *entry;

	if (wf_unlikely(flags & FI_MULTI_RECV || srx->exact))
		return false;
	if (addr != FI_ADDR_UNSPEC)
		addr = wf_srx_key(srx, type == FI_TAGGED, addr);
	wf_lock(srx->lock);
	if (wf_unlikely(engine->unexpected_count || srx->posted >= srx->size))
		goto long_way;
	entry = wf_pool_get_inline(&srx->pool);
	if (wf_unlikely(!entry))
		goto long_way;
	entry->peer.flags = type | FI_RECV | (flags & FI_COMPLETION);
	entry->peer.context = context;
	entry->peer.count = len != 0;
	entry->peer.tag = tag;
	entry->peer.cq_data = 0;
	entry->peer.desc = wf_srx_desc(srx, entry);
	entry->peer.iov = entry->iov;
	entry->peer.peer_context = entry->peer.owner_context = NULL;
	entry->parent = NULL;
	entry->multi = false;
	entry->iov[0].iov_base = buf;
	entry->iov[0].iov_len = len;
	*entry->peer.desc = desc;
	wf_match_post_inline(engine, &entry->match, tag, ignore, addr);
	srx->posted++;
	wf_unlock(srx->lock);
	return true;

long_way:
	wf_unlock(srx->lock);
	return false;
}

#endif
