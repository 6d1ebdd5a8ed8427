/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Matching arriving messages with posted receives: the calls that transports make. The
 * thread that runs the transport's progress holds the lock.
 */

/*
 * The posted receive that matches a message of attr->msg_size bytes, out of its queue.
 * A multi-receive buffer yields a slice, in a new entry. If nothing matches, *ret_found
 * is false and the result is an empty entry for the message. NULL: no memory.
 */
static inline struct wf_srx_entry *match_take_posted(struct wf_srx *srx, uint64_t type,
	uint64_t tag, const struct fi_peer_match_attr *attr, bool *ret_found)
{
	struct wf_match *engine = wf_srx_engine(srx, type);
	struct wf_srx_entry *blank = NULL, *posted;
	struct wf_match_entry *match;

	*ret_found = true;
	while ((match = wf_match_find_posted(engine, tag, attr->addr))) {
		posted = wf_srx_matched(match);
		if (wf_likely(!wf_srx_is_multi(posted))) {
			wf_srx_unpost(srx, posted);
			if (wf_unlikely(blank))
				wf_pool_put(&srx->pool, blank);
			return posted;
		}
		if (!blank)
			blank = wf_srx_new_entry(srx, type);
		if (wf_unlikely(!blank))
			return NULL;
		if (wf_srx_multi_take(srx, posted, blank, attr->msg_size))
			return blank;
	}
	*ret_found = false;
	return blank ? blank : wf_srx_new_entry(srx, type);
}

/* A receive got its message: add port->forced, FI_COMPLETION or 0, to its flags. Not to
 * deferred work and transfers of a peer, which report their end by other means. */
static inline void match_add_forced(
	const struct wf_srx_port *port, struct fi_peer_rx_entry *peer)
{
	if (wf_likely(!(peer->flags & (WF_OP_WORK | FI_PEER_TRANSFER))))
		peer->flags |= port->forced;
}

static inline int match_get(struct fid_peer_srx *fid, uint64_t type, uint64_t tag,
	const struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	const struct wf_srx_port *port = wf_srx_port_of(fid);
	struct wf_srx_entry *entry;
	bool found;

	entry = match_take_posted(port->srx, type, tag, attr, &found);
	if (wf_unlikely(!entry))
		return -FI_ENOMEM;
	entry->peer.srx = fid;
	entry->peer.addr = attr->addr;
	entry->peer.msg_size = attr->msg_size;
	entry->peer.tag = tag;
	if (found)
		match_add_forced(port, &entry->peer);
	*ret_entry = &entry->peer;
	return found ? 0 : -FI_ENOENT;
}

int wf_srx_own_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return match_get(fid, FI_MSG, 0, attr, ret_entry);
}

int wf_srx_own_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return match_get(fid, FI_TAGGED, attr->tag, attr, ret_entry);
}

void wf_srx_own_free_entry(struct fi_peer_rx_entry *peer)
{
	const struct wf_srx_port *port = wf_srx_port_of(peer->srx);
	struct wf_srx_entry *entry = wf_srx_entry_of(peer);
	struct wf_srx *srx = port->srx;
	bool detached = port->detached;

	if (wf_unlikely(detached))
		wf_srx_lock(srx);
	if (wf_unlikely(entry->parent))
		wf_srx_multi_put(srx, entry);
	wf_srx_set_constants(srx, entry);
	wf_srx_put_spare(srx, entry);
	if (wf_unlikely(detached))
		wf_srx_unlock(srx);
}

/* The transport could not deliver the message of @peer: write the error entry with the
 * source that @peer has. */
static void match_fail(struct wf_srx_sink *sink, struct fi_peer_rx_entry *peer, int err)
{
	const uint64_t flags = FI_MSG | FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA;
	struct fi_cq_err_entry entry = {
		.op_context = peer->context,
		.flags = peer->flags & flags,
		.buf = peer->count ? peer->iov[0].iov_base : NULL,
		.data = peer->cq_data,
		.tag = peer->tag,
		.err = err,
		.prov_errno = err,
		.src_addr = peer->addr,
	};

	sink->ops->fail(sink, peer->flags, &entry);
	wf_srx_free_entry(peer);
}

void wf_srx_start_entry(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	struct fi_peer_rx_entry *peer = &entry->peer;
	const struct wf_srx_port *port = wf_srx_port_of(peer->srx);
	struct fi_ops_srx_peer *ops = peer->srx->peer_ops;
	int ret;

	match_add_forced(port, peer);
	ret = peer->flags & FI_TAGGED ? ops->start_tag(peer) : ops->start_msg(peer);
	if (wf_likely(ret >= 0))
		return;
	wf_srx_log(srx, FI_LOG_WARN, "a message could not be received: %s\n",
		fi_strerror(-ret));
	match_fail(port->sink, peer, -ret);
}

void wf_srx_discard_entry(struct wf_srx_entry *entry)
{
	struct fi_peer_rx_entry *peer = &entry->peer;
	struct fi_ops_srx_peer *ops = peer->srx->peer_ops;

	(void)(peer->flags & FI_TAGGED ? ops->discard_tag(peer)
				       : ops->discard_msg(peer));
}

struct fi_ops_srx_owner wf_srx_owner_ops = {
	.size = sizeof(wf_srx_owner_ops),
	.get_msg = wf_srx_own_get_msg,
	.get_tag = wf_srx_own_get_tag,
	.queue_msg = wf_srx_own_keep,
	.queue_tag = wf_srx_own_keep,
	.foreach_unspec_addr = wf_srx_own_foreach_unspec,
	.free_entry = wf_srx_own_free_entry,
};
