/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/conn/peer.h"
#include "objects/local/local.h"

/*
 * Before an endpoint is closed it sends injected messages, the bytes of records whose
 * messages are complete, and answers to peers.
 *
 * Bytes that the kernel has not sent count as well: the kernel drops unsent bytes of a
 * closed socket when something arrives from the peer. Bytes that were sent arrive
 * before the reset does.
 */

static bool tcp_closing_is_owed(const struct tcp_tx *tx)
{
	return tx->op == WF_OP_COUNT || tx->op_flags & FI_INJECT;
}

static bool closing_is_owed_item(const struct wf_list *link, const void *arg)
{
	(void)arg;
	return tcp_closing_is_owed(wf_list_entry(link, struct tcp_tx, link));
}

static bool closing_has_owed(const struct tcp_conn *conn)
{
	return conn->staged != conn->flushed || conn->acks_due ||
	       (conn->cur && tcp_closing_is_owed(conn->cur)) ||
	       !wf_list_empty(&conn->answers) ||
	       wf_list_find(&conn->txq, closing_is_owed_item, NULL);
}

/* Does the connection have bytes to send that may still arrive? Not if the peer's host
 * does not answer: it may have vanished, and retransmission is the kernel's task. */
static bool tcp_closing_is_left(const struct tcp_conn *conn)
{
	enum { RETRIES = 2 };
	struct tcp_sock_debt debt;

	if (conn->err)
		return false;
	if (wf_list_empty(&conn->owing_link) || !tcp_sock_owes(conn->watch.fd, &debt))
		return closing_has_owed(conn);
	return (debt.unsent || closing_has_owed(conn)) && debt.retries < RETRIES;
}

bool tcp_flushed(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	/* Let the next progress call poll the epoll set. */
	ep->armed_epoch = ep->epoch;
	wf_list_foreach(link, &ep->conns)
	{
		if (tcp_closing_is_left(wf_list_entry(link, struct tcp_conn, link)))
			return false;
	}
	if (!wf_local_flushed(ep->below))
		return false;
	return !ep->peers ||
	       !wf_remotes_any_pending(&ep->peers->remotes, closing_is_owed_item, NULL);
}

static size_t closing_pending_of_contexts(const struct tcp_ep *ep)
{
	size_t sum = 0;

	for (size_t i = 0; ep->contexts && i < wf_sep_tx_count(&ep->ep); i++)
		sum += ep->contexts[i].pending;
	return sum;
}

/* Operations that wait for an answer count as well: some of them go on when it
 * comes. */
bool tcp_unfinished(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	return !wf_list_empty(&ep->dirty) || ep->own.pending || ep->closed.pending ||
	       closing_pending_of_contexts(ep) ||
	       (ep->peers &&
		       (wf_remotes_busy(&ep->peers->remotes) || tcp_peers_owe(ep))) ||
	       wf_local_unfinished(ep->below);
}
