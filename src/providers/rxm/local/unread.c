/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/unread.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/op.h"
#include "providers/rxm/local/local.h"

static bool rxm_unread_is_left(const struct wf_list *link)
{
	return rxm_op_is_left(rxm_work_of(link));
}

static struct wf_list *rxm_local_unread_keep(struct wf_ep *ep, const struct wf_op *from)
{
	struct rxm_op *op = rxm_op_new_left(rxm_ep_of(ep), from);

	return op ? &op->work.link : NULL;
}

static const struct wf_local_left left = { rxm_unread_is_left, rxm_local_unread_keep };

void rxm_unread_take_over(struct rxm_conn *conn, int err)
{
	struct wf_remote *remote = &conn->peer->ip.remote;

	if (wf_local_take_over(conn->ep->below, conn->local->below, err,
		    &conn->peer->ip.addr, &remote->pending, &left))
		wf_remote_schedule(&conn->ep->peers->remotes, remote);
}

void rxm_unread_keep(struct rxm_conn *conn)
{
	struct wf_remote *remote = &conn->peer->ip.remote;

	if (wf_local_keep_left(&conn->waiting, &remote->pending, &left))
		wf_remote_schedule(&conn->ep->peers->remotes, remote);
}

bool rxm_unread_waits(const struct rxm_peer *peer)
{
	const struct wf_list *pending = &peer->ip.remote.pending;

	return !wf_list_empty(pending) && rxm_unread_is_left(pending->next);
}
