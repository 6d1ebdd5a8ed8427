/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/local.h"
#include "objects/lower/call.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/op.h"

/* fi_cancel of operations that wait for a connection or behind others, or that are in
 * the queue of the provider below, if it is of this library. */

struct below {
	struct wf_cancel cancel;
	const struct wf_cancel *which; /* selects an operation of the application */
};

/* Is @context that of a call of a selected operation? Some segments of a message may
 * have been sent already. */
static bool cancel_is_call_of(const struct wf_cancel *cancel, void *context)
{
	const struct below *below = wf_container_of(cancel, struct below, cancel);
	struct rxm_call *call = context;
	const struct rxm_op *op;

	if (!call || call->done != rxm_op_sent)
		return false;
	op = wf_container_of(call, struct rxm_op, sending.call);
	return wf_op_is_reported(op->op.flags) &&
	       wf_cancel_is(below->which, op->op.context);
}

static bool cancel_below(struct rxm_ep *ep, const struct wf_cancel *which)
{
	struct below below = { { .is = cancel_is_call_of }, which };

	wf_list_foreach(link, &ep->conns)
	{
		struct rxm_conn *conn = wf_list_entry(link, struct rxm_conn, link);

		if (conn->below.builtin &&
			wf_lower_cancel_tx(&conn->below, &below.cancel))
			return true;
	}
	return false;
}

static bool rxm_cancel_is_wanted(const struct wf_list *link, const void *arg)
{
	const struct rxm_work *work = rxm_work_of(link);

	return work->ops->is && work->ops->is(work, arg);
}

bool rxm_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	struct wf_remote *remote;
	struct wf_list *found = NULL;

	for (struct wf_list *link = ep->conns.next; link != &ep->conns && !found;
		link = link->next) {
		struct rxm_conn *conn = wf_list_entry(link, struct rxm_conn, link);

		found = wf_list_find(&conn->waiting, rxm_cancel_is_wanted, which);
		if (!found)
			continue;
		wf_list_remove(found);
		rxm_fence_removed(conn, found);
	}
	if (!found)
		found = wf_remotes_withdraw(
			&ep->peers->remotes, rxm_cancel_is_wanted, which, &remote);
	if (found)
		rxm_data_op_fail(found, FI_ECANCELED);
	return found || cancel_below(ep, which) || wf_local_cancel(ep->below, which);
}
