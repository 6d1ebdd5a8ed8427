/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/srx/internal.h"

/*
 * Creating and freeing receive contexts and the handles to them. Receives come in
 * through post.c, messages through match.c. endpoint/scalable/srx_ctx.c implements the
 * object that fi_srx_context(3) opens; endpoint/life/srx_attach.c chooses the context
 * of an endpoint.
 */

static_assert(offsetof(struct wf_srx_entry, match.node.tag) % 16 == 0,
	"see wf_match_node and srx_entry_size");

/* A multiple of 16 bytes, so that all entries are aligned as wf_match_node wants. */
static size_t srx_entry_size(size_t iov_limit)
{
	size_t size = sizeof(struct wf_srx_entry) +
		      iov_limit * (sizeof(struct iovec) + sizeof(void *));

	return (size + 15) & ~(size_t)15;
}

void wf_srx_init_with(
	struct wf_srx *srx, const struct wf_srx_attr *attr, struct wf_lock *lock)
{
	const uint64_t any = FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV;

	*srx = (struct wf_srx){
		.lock = lock,
		.prov = attr->prov,
		.size = attr->size ? attr->size : SIZE_MAX,
		.iov_limit = WF_MAX(attr->iov_limit, 1),
		.msg_directed = attr->caps & any,
		.tag_directed = attr->caps & (any | FI_TAGGED_DIRECTED_RECV),
		.exact = attr->caps & FI_EXACT_DIRECTED_RECV,
		.transfer_directed =
			attr->caps & (any | FI_TAGGED_DIRECTED_RECV | FI_SOURCE),
		.addr_mask = UINT64_MAX,
		.min_multi_recv = attr->min_multi_recv,
	};
	wf_srx_settle_posts(srx);
	wf_sizes_init(&srx->messages, sizeof(struct wf_srx_message));
	wf_match_init(&srx->msg, &srx->messages.handles);
	wf_match_init(&srx->tag, &srx->messages.handles);
	wf_pool_init(&srx->pool, srx_entry_size(srx->iov_limit));
	wf_match_table_init(&srx->claims, NULL, 0, false);
	wf_list_init(&srx->claimed);
	wf_list_init(&srx->ports);
}

void wf_srx_init(
	struct wf_srx *srx, const struct wf_srx_attr *attr, enum wf_lock_kind lock_kind)
{
	wf_srx_init_with(srx, attr, &srx->own_lock);
	wf_lock_init(&srx->own_lock, lock_kind);
}

void wf_srx_fini(struct wf_srx *srx)
{
	assert(wf_list_empty(&srx->ports));
	wf_match_done(&srx->msg);
	wf_match_done(&srx->tag);
	wf_match_table_done(&srx->claims);
	wf_srx_contexts_done(srx);
	wf_sizes_done(&srx->messages);
	wf_id_map_done(&srx->origins);
	wf_pool_done(&srx->pool);
	if (srx->lock == &srx->own_lock)
		wf_lock_done(&srx->own_lock);
}

void wf_srx_export(
	struct wf_srx *srx, struct wf_srx_port *port, const struct wf_srx_user *user)
{
	*port = (struct wf_srx_port){
		.fid = {
			.ep_fid.fid = {
				.fclass = FI_CLASS_PEER_SRX,
				.context = srx,
				.ops = &wf_absent_fid,
			},
			.owner_ops = &wf_srx_owner_ops,
			.peer_ops = user->peer_ops ? user->peer_ops : &port->table,
		},
		.srx = srx,
		.sink = user->sink,
		.table.size = sizeof(port->table),
		.forced = user->forced,
	};
	wf_lock(srx->lock);
	wf_list_push(&srx->ports, &port->link);
	if (user->addr_mask)
		srx->addr_mask = user->addr_mask;
	wf_unlock(srx->lock);
}

/* Discard @msg. This needs an entry: srx->reserve, or the entry that was freed when the
 * message before was discarded. */
static void srx_discard_message(
	struct wf_srx *srx, struct wf_match *engine, uint64_t type, uint32_t msg)
{
	struct wf_srx_entry *entry = srx->reserve;

	srx->reserve = NULL;
	if (entry)
		wf_srx_set_entry(srx, entry, type);
	else
		entry = wf_srx_new_entry(srx, type);
	entry = wf_srx_take(srx, engine, msg, entry);
	if (entry)
		wf_srx_discard_entry(entry);
	else
		wf_srx_log(srx, FI_LOG_WARN,
			"no memory to let a message go: the transport keeps it\n");
	srx->reserve = wf_pool_get(&srx->pool);
}

static void srx_discard_queue(
	struct wf_srx *srx, uint64_t type, const struct wf_srx_port *port)
{
	struct wf_match *engine = wf_srx_engine(srx, type);

	wf_match_foreach_unexpected(
		msg, engine) if (wf_srx_fid_of(srx, msg) == &port->fid)
		srx_discard_message(srx, engine, type, msg);
}

void wf_srx_drain(struct wf_srx_port *port)
{
	struct wf_srx *srx = port->srx;

	wf_lock(srx->lock);
	wf_list_remove(&port->link);
	srx_discard_queue(srx, FI_MSG, port);
	srx_discard_queue(srx, FI_TAGGED, port);
	wf_srx_foreach_claimed(entry, srx)
	{
		if (entry->peer.srx != &port->fid)
			continue;
		wf_srx_unclaim(srx, entry);
		wf_srx_discard_entry(entry);
	}
	wf_unlock(srx->lock);
}

void wf_srx_detach(struct wf_srx_port *port)
{
	wf_srx_lock(port->srx);
	port->detached = true;
	wf_srx_unlock(port->srx);
}

struct wf_srx_sink *wf_srx_reporter(struct wf_srx *srx, struct fid_peer_srx *fid)
{
	struct wf_srx_port *port;

	if (fid) {
		port = wf_srx_port_of(fid);
		/* A drained port is linked to itself. */
		if (!wf_list_empty(&port->link))
			return port->sink;
	}
	if (wf_list_empty(&srx->ports))
		return NULL;
	port = wf_list_entry(srx->ports.next, struct wf_srx_port, link);
	return port->sink;
}
