/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/context.h"
#include "providers/tcp/peer.h"

/*
 * fi_cancel of what waits: for a connection, or behind other records. A record that was
 * put into the stage has its number in the stream and goes; so does the data of a
 * rendezvous that was cleared.
 */

struct search {
	struct tcp_ep *ep;
	const struct tcp_source *from;
	const struct wf_cancel *which;
};

static bool is_wanted(const struct search *search, const struct tcp_tx *tx)
{
	return tx->from == search->from && !tx->rendezvous &&
	       wf_op_is_reported(tx->op_flags) &&
	       wf_cancel_is(search->which, tx->context);
}

/* Among those in @list, whose peer is at @addr. */
static bool cancel_in(const struct search *search, struct wf_list *list,
	const union wf_sockaddr *addr)
{
	wf_list_foreach(link, list)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (!is_wanted(search, tx))
			continue;
		wf_list_remove(&tx->link);
		tcp_tx_fail(tx, FI_ECANCELED, addr);
		return true;
	}
	return false;
}

static bool cancel_on(const struct search *search, struct tcp_conn *conn)
{
	if (!cancel_in(search, &conn->txq, tcp_conn_addr(conn)))
		return false;
	/* It may have been the one that others waited for. */
	if (!wf_list_empty(&conn->txq) && !conn->err)
		tcp_tx_dirty(conn);
	return true;
}

static bool cancel_waiting(const struct search *search)
{
	if (!search->ep->peers)
		return false;
	wf_list_foreach(link, &search->ep->peers->remotes.busy)
	{
		struct wf_remote *remote =
			wf_list_entry(link, struct wf_remote, busy_link);

		if (!cancel_in(search, &remote->pending, &tcp_peer_of(remote)->addr))
			continue;
		wf_remote_withdrawn(remote);
		return true;
	}
	return false;
}

bool tcp_cancel_from(
	struct tcp_ep *ep, const struct tcp_source *from, const struct wf_cancel *which)
{
	struct search search = { ep, from, which };

	wf_list_foreach(link, &ep->conns)
	{
		if (cancel_on(&search, wf_list_entry(link, struct tcp_conn, link)))
			return true;
	}
	return cancel_waiting(&search);
}

bool tcp_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	return tcp_cancel_from(ep, &ep->own, which);
}
