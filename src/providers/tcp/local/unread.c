/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/unread.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/unread.h"

static bool tcp_unread_is_left(const struct wf_list *link)
{
	return wf_list_entry(link, struct tcp_tx, link)->left;
}

static struct wf_list *tcp_local_unread_keep(struct wf_ep *ep, const struct wf_op *op)
{
	struct tcp_tx *tx = tcp_tx_new(&tcp_ep_of(ep)->closed, op);

	if (!tx)
		return NULL;
	tx->left = true;
	return &tx->link;
}

static const struct wf_local_left left = { tcp_unread_is_left, tcp_local_unread_keep };

void tcp_unread_take_over(struct tcp_conn *conn, fi_addr_t below, int err)
{
	struct tcp_peer *peer = conn->peer;

	if (wf_local_take_over(conn->ep->below, below, err, &peer->ip.addr,
		    &peer->ip.remote.pending, &left))
		tcp_peer_schedule(conn->ep, peer);
}

void tcp_unread_keep(struct tcp_conn *conn)
{
	struct tcp_peer *peer = conn->peer;

	if (wf_local_keep_left(&conn->txq, &peer->ip.remote.pending, &left))
		tcp_peer_schedule(conn->ep, peer);
}
