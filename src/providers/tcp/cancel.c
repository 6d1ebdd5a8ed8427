/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"
#include "objects/local/local.h"

/*
 * fi_cancel of operations that wait for a connection, or behind other records. A record
 * in the stage already has its number in the stream, so it is sent; so is the payload
 * of a rendezvous with a clear to send.
 */

/* The operation to cancel: @which selects it among those of @from. */
struct search {
	struct tcp_ep *ep;
	const struct tcp_source *from;
	const struct wf_cancel *which;
};

static bool tcp_cancel_is_wanted(const struct wf_list *link, const void *arg)
{
	const struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);
	const struct search *search = arg;

	return tx->from == search->from && !tx->rendezvous &&
	       wf_op_is_reported(tx->op_flags) &&
	       wf_cancel_is(search->which, tx->context);
}

static void cancel_one(struct wf_list *link, const union wf_sockaddr *addr)
{
	tcp_tx_fail(wf_list_entry(link, struct tcp_tx, link), FI_ECANCELED, addr);
}

static bool tcp_cancel_on(const struct search *search, struct tcp_conn *conn)
{
	struct wf_list *link = wf_list_find(&conn->txq, tcp_cancel_is_wanted, search);

	if (!link)
		return false;
	wf_list_remove(link);
	cancel_one(link, tcp_conn_addr(conn));
	/* Operations behind the cancelled one may have waited for it. */
	if (!wf_list_empty(&conn->txq) && !conn->err)
		tcp_tx_dirty(conn);
	return true;
}

static bool tcp_cancel_waiting(const struct search *search)
{
	struct tcp_peers *peers = search->ep->peers;
	struct wf_remote *remote;
	struct wf_list *link;

	link = peers ? wf_remotes_withdraw(
			       &peers->remotes, tcp_cancel_is_wanted, search, &remote)
		     : NULL;
	if (link)
		cancel_one(link, &tcp_peer_of(remote)->ip.addr);
	return link != NULL;
}

bool tcp_cancel_from(
	struct tcp_ep *ep, const struct tcp_source *from, const struct wf_cancel *which)
{
	struct search search = { ep, from, which };

	wf_list_foreach(link, &ep->conns)
	{
		if (tcp_cancel_on(&search, wf_list_entry(link, struct tcp_conn, link)))
			return true;
	}
	return tcp_cancel_waiting(&search);
}

bool tcp_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	return tcp_cancel_from(ep, &ep->own, which) ||
	       wf_local_cancel(ep->below, which);
}
