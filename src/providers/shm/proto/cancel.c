/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/tx.h"

/* fi_cancel of operations that wait for a connection, or for space in a lane. */

static bool shm_cancel_is_wanted(const struct wf_list *link, const void *arg)
{
	const struct shm_tx *tx = wf_list_entry(link, struct shm_tx, link);
	const struct wf_cancel *which = arg;

	return !tx->is_completed && !tx->begun && !tx->asked && !tx->done &&
	       !tx->parts.count && !tx->parts.whole &&
	       wf_op_is_reported(tx->op_flags) && wf_cancel_is(which, tx->context);
}

static bool shm_cancel_on(struct shm_conn *conn, const struct wf_cancel *which)
{
	struct wf_list *link =
		wf_list_find(&conn->queue.txq, shm_cancel_is_wanted, which);

	if (link)
		shm_tx_settle(
			conn, wf_list_entry(link, struct shm_tx, link), FI_ECANCELED);
	return link != NULL;
}

static bool shm_cancel_waiting(struct shm_ep *ep, const struct wf_cancel *which)
{
	struct wf_remote *remote;
	struct wf_list *link = wf_remotes_withdraw(
		&ep->peers->remotes, shm_cancel_is_wanted, which, &remote);

	if (link)
		shm_tx_fail(ep, wf_list_entry(link, struct shm_tx, link), FI_ECANCELED,
			shm_peer_of(remote)->name);
	return link != NULL;
}

bool shm_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct shm_ep *ep = shm_ep_of(wf);

	for (uint32_t i = 0; i < ep->conns.count; i++)
		if (shm_cancel_on(ep->conns.at[i], which))
			return true;
	return shm_cancel_waiting(ep, which);
}
