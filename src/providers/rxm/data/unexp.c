/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/recv.h"

/* Unexpected messages whose payload is incomplete; see objects/conn/unexp.h. */

static fi_addr_t index_of(struct wf_ep *ep, struct wf_remote *remote)
{
	return rxm_peer_index(rxm_ep_of(ep), rxm_peer_of(remote));
}

static const void *name_of(const struct wf_remote *remote, size_t *ret_len)
{
	const union wf_sockaddr *addr = &rxm_peer_of(remote)->ip.addr;

	*ret_len = wf_sockaddr_len(addr);
	return addr;
}

static size_t size_of(const struct wf_srx_unexpected *saved)
{
	return wf_unexp_state(saved) == RXM_UNEXP_PARTIAL ? saved->len
							  : sizeof(struct rxm_rdv *);
}

static int start(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct rxm_conn *conn = rxm_conn_of_unexp(unexp);

	if (wf_unexp_state(saved) == RXM_UNEXP_PARTIAL)
		rxm_partial_start(conn, saved, entry);
	else
		rxm_rdv_start(conn, saved, entry);
	return 0;
}

static void discard(struct wf_unexp_conn *unexp, struct wf_srx_unexpected *saved)
{
	(void)start(unexp, saved, NULL);
}

/* No message asks for it: a sender that waits for the match uses a rendezvous. */
static void matched(struct wf_unexp_conn *conn, uint64_t id)
{
	(void)conn;
	(void)id;
}

/* Answers are on their way already. */
static void flush(struct wf_unexp_conn *conn)
{
	(void)conn;
}

const struct wf_unexp_ops rxm_unexp_ops = {
	.index = index_of,
	.name = name_of,
	.size = size_of,
	.matched = matched,
	.start = start,
	.discard = discard,
	.flush = flush,
};
