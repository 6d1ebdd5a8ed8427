/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/work.h"

/* fi_cancel of operations that wait for a connection, or behind others. */

static bool is_wanted(const struct wf_list *link, const void *arg)
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

		found = wf_list_find(&conn->waiting, is_wanted, which);
		if (found)
			wf_list_remove(found);
	}
	if (!found)
		found = wf_remotes_withdraw(
			&ep->peers->remotes, is_wanted, which, &remote);
	if (found)
		rxm_data_op_fail(found, FI_ECANCELED);
	return found != NULL;
}
