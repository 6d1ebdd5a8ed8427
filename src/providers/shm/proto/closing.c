/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/tx.h"

/*
 * Before an endpoint is closed, it writes injected messages and answers to peers into
 * the lanes. A record in a lane has reached the peer, which has the memory mapped.
 */

static bool shm_closing_is_owed(const struct wf_list *link, const void *arg)
{
	(void)arg;
	return wf_list_entry(link, struct shm_tx, link)->op_flags & FI_INJECT;
}

static bool shm_closing_is_left(const struct shm_conn *conn)
{
	return !conn->err && !conn->queue.idle &&
	       (conn->queue.ack_count || !wf_list_empty(&conn->queue.answers) ||
		       wf_list_find(&conn->queue.txq, shm_closing_is_owed, NULL));
}

bool shm_flushed(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	/* Let the next progress call poll the sockets. */
	ep->pace.left = 1;
	for (uint32_t i = 0; i < ep->conns.count; i++)
		if (shm_closing_is_left(ep->conns.at[i]))
			return false;
	return !wf_remotes_any_pending(&ep->peers->remotes, shm_closing_is_owed, NULL);
}

/* Operations that wait for an answer count as well: some of them go on when it
 * comes. */
bool shm_unfinished(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	return ep->tx.pending || !wf_list_empty(&ep->dirty) ||
	       wf_remotes_busy(&ep->peers->remotes);
}
