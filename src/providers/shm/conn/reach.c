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

/* End the operations that wait for a connection, and those that are kept for a
 * successor of the peer. */
static void reach_end_pending(
	struct shm_ep *ep, struct shm_peer *peer, int err, struct wf_unread *unread)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&peer->remote.pending))) {
		if (unread && ep->conn_ops->is_replayed(link))
			ep->conn_ops->hand_over(ep, link, unread);
		else
			ep->conn_ops->end_waiting(ep, link, err, peer->name);
	}
}

static void reach_end_conn(struct shm_conn *conn, int err)
{
	if (!err && !conn->queue.idle)
		conn->ep->conn_ops->flush(conn);
	/* The peer has closed its end: with this error shm_conn_end finds the
	 * messages that the peer left unread. */
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
		reach_end_conn(peer->conn, err);
	reach_end_pending(ep, peer, err, unread);
	/* The connection that has just ended may hold a reference of its own. */
	return peer->remote.refs > 0;
}
