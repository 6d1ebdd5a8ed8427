/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/recv.h"

/* Unexpected messages whose payload is incomplete; see objects/conn/unexp.h. */

static size_t rxm_unexp_size_of(const struct wf_srx_unexpected *saved)
{
	return wf_unexp_state(saved) == RXM_UNEXP_PARTIAL ? WF_SRX_ENLARGE_MIN
							  : sizeof(struct rxm_rdv *);
}

static int rxm_unexp_start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct rxm_conn *conn = rxm_conn_of_unexp(unexp);

	if (wf_unexp_state(saved) == RXM_UNEXP_PARTIAL)
		rxm_partial_start(conn, saved, entry);
	else
		rxm_rdv_start(conn, saved, entry);
	return 0;
}

static void rxm_unexp_discard(
	struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	(void)rxm_unexp_start(unexp, saved, NULL);
}

/* The answers have been started already. */
static void rxm_unexp_flush(struct wf_unexp_conn *conn)
{
	(void)conn;
}

const struct wf_unexp_ops rxm_unexp_ops = {
	.index = wf_ip_remote_unexp_index,
	.name = wf_ip_remote_unexp_name,
	.size = rxm_unexp_size_of,
	/* A sender that waits for the match uses a rendezvous. */
	.matched = NULL,
	.start = rxm_unexp_start,
	.discard = rxm_unexp_discard,
	.flush = rxm_unexp_flush,
};
