/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_DELIVER_H
#define WF_OBJECTS_ENDPOINT_LIFE_DELIVER_H

#include "objects/endpoint/endpoint.h"
#include "objects/srx/fast_post.h"
#include "sys/copy.h"

/*
 * The fast path of the most frequent case: a posted receive with one buffer
 * (srx/fast_post.h) and a message that arrives in one piece and matches such a receive.
 * Both use the inline parts of the general code (srx/post.c, srx/match.c, done.c), with
 * the same result.
 *
 * An imported receive context and completion queue take the fast path as well, if this
 * library owns both: the message goes directly to the receive and the queue that the
 * application uses.
 */

enum { WF_DELIVER_SMALL = 128 };

/* @flags, here and below: those of @entry, which the caller has loaded before it stores
 * to the application's memory. */
WF_INLINE bool wf_deliver_complete(struct wf_cq *cq, const struct wf_srx_entry *entry,
	uint64_t flags, void *buf, const struct wf_srx_arrival *msg)
{
	return !wf_cq_write_own(cq, entry->peer.context,
		(flags & (FI_MSG | FI_TAGGED | FI_RECV)) | msg->flags, msg->len, buf,
		msg->data, msg->tag, msg->src);
}

/* The receive needs nothing but one copy and a completion: one buffer, which is large
 * enough, and no special flags. */
WF_INLINE bool wf_deliver_is_simple(const struct wf_srx_entry *entry, uint64_t flags,
	const struct wf_srx_arrival *msg)
{
	return entry->peer.count == 1 && msg->len <= entry->iov[0].iov_len &&
	       !(flags &
		       (WF_OP_WORK | FI_PEER_TRANSFER | WF_SRX_INDEXED | WF_SRX_MULTI));
}

/* The receive context and queue for messages of an endpoint: looked up once for all
 * messages of one progress call. */
struct wf_delivery {
	struct wf_srx *srx;   /* NULL: no message takes the fast path */
	struct wf_cq *cq;     /* takes the completions */
	struct wf_cntr *cntr; /* counts the messages; NULL: none does */
	uint64_t forced; /* FI_COMPLETION if each receive has a completion, else 0 */
};

/* ep->srx is set. Of a handle on which heads (objects/srx/heads.h) may come, no message
 * takes the fast path. */
static inline struct wf_delivery wf_delivery_of(const struct wf_ep *ep)
{
	struct wf_delivery to = {
		.cq = wf_cq_direct(ep->rx_cq),
		.cntr = ep->cntr[WF_CNTR_RECV],
		.forced = ep->rx.forced & FI_COMPLETION,
	};

	if (wf_likely(
		    to.cq && wf_srx_is_own(ep->srx) && !wf_srx_port_of(ep->srx)->heads))
		to.srx = wf_srx_port_of(ep->srx)->srx;
	return to;
}

/* wf_ep_deliver (endpoint.h), for a transport where the call would be measurable.
 * @to.srx is not NULL. */
WF_INLINE bool wf_ep_deliver_inline(
	struct wf_delivery to, uint64_t type, const struct wf_srx_arrival *msg)
{
	struct wf_match *engine;
	struct wf_srx *srx = to.srx;
	struct wf_match_entry *match;
	struct wf_srx_entry *entry;
	uint64_t flags;
	void *buf;

	engine = wf_srx_engine(srx, type);
	match = wf_match_search_posted_inline(engine, msg->tag, msg->addr);
	if (wf_unlikely(!match))
		return false;
	entry = wf_srx_matched(match);
	flags = entry->peer.flags;
	if (wf_unlikely(!wf_deliver_is_simple(entry, flags, msg)))
		return false;
	buf = entry->iov[0].iov_base;
	if (wf_likely(msg->len <= WF_DELIVER_SMALL))
		wf_copy_small(buf, msg->buf, msg->len);
	else
		memcpy(buf, msg->buf, msg->len);
	if ((flags & FI_COMPLETION || to.forced) &&
		wf_unlikely(!wf_deliver_complete(to.cq, entry, flags, buf, msg)))
		return false;
	wf_srx_dequeue(srx, engine, entry);
	wf_srx_put_spare(srx, entry);
	if (to.cntr)
		wf_cntr_add(to.cntr, msg->len);
	return true;
}

#endif
