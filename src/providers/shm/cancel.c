/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/peer.h"

/* fi_cancel of what waits: for a connection, or for room in a lane. */

static bool is_wanted(const struct wf_cancel *which, const struct shm_tx *tx)
{
	return !tx->told && !tx->begun && !tx->asked &&
	       wf_op_is_reported(tx->op_flags) && wf_cancel_is(which, tx->context);
}

static struct shm_tx *find(const struct wf_list *list, const struct wf_cancel *which)
{
	wf_list_foreach(link, list)
	{
		struct shm_tx *tx = wf_list_entry(link, struct shm_tx, link);

		if (is_wanted(which, tx))
			return tx;
	}
	return NULL;
}

bool shm_cancel(struct wf_ep *wf, const struct wf_cancel *which)
{
	struct shm_ep *ep = shm_ep_of(wf);
	struct shm_tx *tx;

	for (uint32_t i = 0; i < ep->conn_count; i++) {
		tx = find(&ep->conns[i]->txq, which);
		if (tx) {
			shm_tx_settle(ep->conns[i], tx, FI_ECANCELED);
			return true;
		}
	}
	wf_list_foreach(link, &ep->peers->remotes.busy)
	{
		struct wf_remote *remote =
			wf_list_entry(link, struct wf_remote, busy_link);

		tx = find(&remote->pending, which);
		if (tx) {
			wf_list_remove(&tx->link);
			shm_tx_fail(ep, tx, FI_ECANCELED, shm_peer_of(remote)->name);
			wf_remote_withdrawn(remote);
			return true;
		}
	}
	return false;
}
