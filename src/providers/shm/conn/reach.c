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

/* End the operations that wait for a connection, and those that shm_replay kept for a
 * successor of the peer. */
static void end_pending(struct shm_ep *ep, struct shm_peer *peer, int err)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&peer->remote.pending))) {
		struct shm_tx *tx = wf_list_entry(link, struct shm_tx, link);

		if (err)
			shm_tx_fail(ep, tx, err, peer->name);
		else
			shm_tx_free(ep, tx);
	}
}

static void end_conn(struct shm_conn *conn, int err)
{
	if (!err && !conn->idle)
		shm_out_flush(conn);
	shm_conn_end(conn, err);
}

bool shm_part(struct wf_ep *wf, fi_addr_t addr, int err)
{
	struct shm_ep *ep = shm_ep_of(wf);
	struct shm_peer *peer = shm_peer_at(ep, addr);

	if (!peer)
		return false;
	/* shm_peers_tick frees the peer's memory later. */
	shm_peer_schedule(ep, peer);
	if (peer->attempt)
		shm_attempt_drop(peer->attempt);
	if (peer->conn)
		end_conn(peer->conn, err);
	end_pending(ep, peer, err);
	/* The connection that has just ended may hold a reference of its own. */
	return peer->remote.refs > 0;
}
