/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"

/*
 * Connections whose beginning and end a provider above decides, because it has another
 * transport to the same peers.
 */

int shm_reach(struct wf_ep *wf, fi_addr_t addr)
{
	struct wf_list *wait = NULL;
	struct shm_conn *conn;
	int ret = shm_peer_route(shm_ep_of(wf), addr, &conn, &wait);

	if (ret)
		return ret;
	return conn ? 0 : -FI_EAGAIN;
}

/* Pass a message that the peer left unread to the caller of shm_disconnect. */
static void hand_over(struct shm_ep *ep, struct shm_tx *tx, struct wf_unread *unread)
{
	const struct wf_op op = {
		.kind = (enum wf_op_kind)tx->op,
		.flags = tx->op_flags,
		.iov = tx->local.iov,
		.iov_count = tx->local.count,
		.len = tx->copy_len,
		.addr = FI_ADDR_NOTAVAIL,
		.data = tx->data,
		.tag = tx->tag,
	};

	unread->take(unread, &op);
	shm_tx_free(ep, tx);
}

/* End the operations that wait for a connection, and those that shm_replay kept for a
 * successor of the peer. */
static void end_pending(
	struct shm_ep *ep, struct shm_peer *peer, int err, struct wf_unread *unread)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&peer->remote.pending))) {
		struct shm_tx *tx = wf_list_entry(link, struct shm_tx, link);

		if (tx->is_completed && unread)
			hand_over(ep, tx, unread);
		else if (err)
			shm_tx_fail(ep, tx, err, peer->name);
		else
			shm_tx_free(ep, tx);
	}
}

static void end_conn(struct shm_conn *conn, int err)
{
	if (!err && !conn->idle)
		shm_out_flush(conn);
	/* The peer has closed its end: with this error shm_conn_end has shm_replay find
	 * the messages that the peer left unread. */
	if (err && shm_socket_ended(conn->watch.fd))
		shm_conn_fail(conn, FI_ECONNRESET);
	shm_conn_end(conn, err);
}

bool shm_is_reached(struct wf_ep *wf, fi_addr_t addr)
{
	const struct shm_peer *peer = shm_peer_at(shm_ep_of(wf), addr);

	return peer && peer->conn && !peer->conn->err &&
	       !shm_socket_ended(peer->conn->watch.fd);
}

bool shm_disconnect(struct wf_ep *wf, fi_addr_t addr, int err, struct wf_unread *unread)
{
	struct shm_ep *ep = shm_ep_of(wf);
	struct shm_peer *peer = shm_peer_at(ep, addr);

	if (!peer)
		return false;
	/* shm_peers_tick frees the peer's memory later. */
	shm_peer_schedule(ep, peer);
	/* The peer may have accepted, and sent messages. */
	if (peer->attempt)
		shm_attempt_poll(peer->attempt);
	if (peer->attempt)
		shm_attempt_drop(peer->attempt);
	if (peer->conn)
		end_conn(peer->conn, err);
	end_pending(ep, peer, err, unread);
	/* The connection that has just ended may hold a reference of its own. */
	return peer->remote.refs > 0;
}
