/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/shm/conn.h"

/* Messages that wait for a receive, and what the owner of the receives says of them. */

struct shm_unexp *shm_unexp_new(
	struct shm_conn *conn, struct fi_peer_rx_entry *entry, size_t room)
{
	struct shm_unexp *unexp = wf_sizes_get(&conn->ep->unexps, room);

	if (!unexp)
		return NULL;
	*unexp = (struct shm_unexp){
		.ep = conn->ep,
		.conn = conn,
		.entry = entry,
		.len = room,
		.source =
			conn->ep->want_index ? shm_conn_index(conn) : FI_ADDR_NOTAVAIL,
		.state = SHM_UNEXP_WHOLE,
	};
	wf_list_push(&conn->unexps, &unexp->link);
	conn->unexp_bytes += room;
	return unexp;
}

void shm_unexp_free(struct shm_unexp *unexp)
{
	if (unexp->conn)
		unexp->conn->unexp_bytes -= unexp->len;
	wf_list_remove(&unexp->link);
	wf_sizes_put(&unexp->ep->unexps, unexp, unexp->len);
}

static fi_addr_t source(struct shm_unexp *unexp)
{
	struct shm_ep *ep = unexp->ep;

	if (!ep->want_source)
		return FI_ADDR_NOTAVAIL;
	if (unexp->conn)
		return shm_conn_source(unexp->conn);
	return unexp->source == FI_ADDR_NOTAVAIL
		       ? FI_ADDR_NOTAVAIL
		       : wf_av_report(ep->ep.av, unexp->source);
}

/* From our buffer to the application's. */
static void deliver(struct shm_unexp *unexp)
{
	struct fi_peer_rx_entry *entry = unexp->entry;

	(void)wf_iov_scatter(entry->iov, entry->count, unexp->buf, unexp->len);
	if (unexp->conn && unexp->flags & SHM_FLAG_MATCH)
		shm_tx_ack(unexp->conn, unexp->id);
	shm_recv_done(unexp->ep, unexp->conn, entry, unexp->flags, unexp->len,
		unexp->data, source(unexp));
	shm_unexp_free(unexp);
}

static void rts_of(const struct shm_unexp *unexp, struct shm_rts *rts)
{
	memcpy(rts, unexp->buf, sizeof(*rts));
}

/* A queued message has buffers now. The owner's lock is held. */
static int start(struct fi_peer_rx_entry *entry)
{
	struct shm_unexp *unexp = entry->peer_context;
	struct shm_conn *conn = unexp->conn;
	struct shm_ep *ep = unexp->ep;
	struct shm_rts rts;
	int ret = 0;

	wf_lock(&ep->ep.lock);
	unexp->entry = entry;
	switch ((enum shm_unexp_state)unexp->state) {
	case SHM_UNEXP_WHOLE:
		deliver(unexp);
		break;
	case SHM_UNEXP_RTS:
		rts_of(unexp, &rts);
		ret = shm_bulk_start(conn, &rts, entry, unexp->flags, unexp->data);
		shm_unexp_free(unexp);
		break;
	case SHM_UNEXP_BROKEN:
		ret = -FI_ECONNRESET;
		shm_unexp_free(unexp);
		break;
	}
	if (conn && !conn->idle)
		shm_out_flush(conn);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* Nobody will want it. The owner's lock is held. */
static int discard(struct fi_peer_rx_entry *entry)
{
	struct shm_unexp *unexp = entry->peer_context;
	struct shm_conn *conn = unexp->conn;
	struct shm_ep *ep = unexp->ep;
	struct shm_rts rts;

	wf_lock(&ep->ep.lock);
	if (conn && unexp->state == SHM_UNEXP_RTS) {
		rts_of(unexp, &rts);
		shm_tx_ack(conn, rts.id);
	} else if (conn && unexp->flags & SHM_FLAG_MATCH) {
		shm_tx_ack(conn, unexp->id);
	}
	shm_unexp_free(unexp);
	if (conn && !conn->idle)
		shm_out_flush(conn);
	wf_srx_free_entry(entry);
	wf_unlock(&ep->ep.lock);
	return 0;
}

struct fi_ops_srx_peer shm_srx_ops = {
	.size = sizeof(shm_srx_ops),
	.start_msg = start,
	.start_tag = start,
	.discard_msg = discard,
	.discard_tag = discard,
};

fi_addr_t shm_srx_addr(struct fi_peer_rx_entry *entry)
{
	struct shm_unexp *unexp = entry->peer_context;
	struct shm_ep *ep = unexp->ep;

	wf_lock(&ep->ep.lock);
	if (unexp->conn)
		unexp->source = shm_conn_index(unexp->conn);
	else if (!wf_av_addr(ep->ep.av, unexp->source))
		unexp->source = FI_ADDR_NOTAVAIL;
	wf_unlock(&ep->ep.lock);
	return wf_ep_srx_source(&ep->ep, unexp->source);
}

void shm_unexp_break(struct shm_conn *conn)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&conn->unexps))) {
		struct shm_unexp *unexp = wf_list_entry(link, struct shm_unexp, link);

		unexp->conn = NULL;
		if (unexp->state == SHM_UNEXP_RTS)
			unexp->state = SHM_UNEXP_BROKEN;
	}
}
