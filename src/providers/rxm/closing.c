/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/async.h"
#include "objects/local/local.h"
#include "providers/rxm/conn/peer.h"

/*
 * Before an endpoint is closed, it sends messages that were injected or are complete
 * for the application. What the endpoints below have taken, they flush when they are
 * closed.
 */

static bool closing_is_promised(const struct wf_list *link, const void *arg)
{
	(void)arg;
	return wf_list_entry(link, struct rxm_call, link)->promised;
}

static bool rxm_closing_is_left(const struct rxm_conn *conn)
{
	if (conn->state == RXM_CONN_DOWN)
		return false;
	return wf_list_find(&conn->waiting, rxm_data_op_is_promised, NULL) ||
	       wf_list_find(&conn->calls, closing_is_promised, NULL) ||
	       (conn->state == RXM_CONN_UP && !rxm_data_flushed(conn));
}

bool rxm_flushed(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);

	ep->eq_soon = true;
	wf_list_foreach(link, &ep->conns)
	{
		if (rxm_closing_is_left(wf_list_entry(link, struct rxm_conn, link)))
			return false;
	}
	return wf_local_flushed(ep->below) &&
	       !wf_remotes_any_pending(
		       &ep->peers->remotes, rxm_data_op_is_promised, NULL);
}

static bool closing_is_unfinished_below(const struct rxm_conn *conn)
{
	return !wf_list_empty(&conn->waiting) || !wf_list_empty(&conn->calls) ||
	       (conn->below.builtin && wf_ep_unfinished(conn->below.builtin));
}

bool rxm_unfinished(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);

	if (ep->data.pending || rxm_peers_owe(ep) || wf_local_unfinished(ep->below))
		return true;
	wf_list_foreach(link, &ep->conns)
	{
		if (closing_is_unfinished_below(
			    wf_list_entry(link, struct rxm_conn, link)))
			return true;
	}
	return false;
}
