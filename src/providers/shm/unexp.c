/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/shm/conn.h"

/* Messages that wait for a receive, and what the owner of the receives says of them. */

static struct shm_origin *origin_new(struct shm_conn *conn)
{
	struct shm_origin *origin = malloc(sizeof(*origin));

	if (!origin)
		return NULL;
	*origin = (struct shm_origin){
		.srx.fid = conn->ep->ep.srx,
		.ep = conn->ep,
		.conn = conn,
		.index = FI_ADDR_NOTAVAIL,
	};
	return conn->origin = origin;
}

static void origin_settle(struct shm_origin *origin)
{
	if (!origin->conn && !origin->srx.count)
		free(origin);
}

static struct shm_origin *origin_at(const struct fi_peer_rx_entry *entry)
{
	return wf_container_of(wf_srx_origin(entry), struct shm_origin, srx);
}

/* Memory of a message that waits, with @size bytes. */
static size_t cost_of(size_t size)
{
	return size + sizeof(struct wf_srx_message);
}

static bool is_tagged(const struct shm_record *rec)
{
	return rec->kind == SHM_REC_TAGGED || rec->kind == SHM_REC_TAGGED_RTS;
}

struct wf_srx_unexpected *shm_unexp_new(struct shm_conn *conn,
	const struct shm_record *rec, struct fi_peer_rx_entry *entry, size_t size)
{
	struct shm_origin *origin = conn->origin ? conn->origin : origin_new(conn);
	struct wf_srx_unexpected *unexp;

	if (wf_unlikely(!origin))
		return NULL;
	if (rec->flags & SHM_FLAG_DATA) {
		entry->cq_data = rec->data;
		entry->flags |= FI_REMOTE_CQ_DATA;
	}
	unexp = wf_srx_save(
		is_tagged(rec) ? FI_TAGGED : FI_MSG, entry, &origin->srx, size);
	if (wf_likely(unexp != NULL)) {
		conn->unexp_bytes += cost_of(size);
		conn->ep->unexp_bytes += cost_of(size);
	}
	return unexp;
}

static enum shm_unexp state_of(const struct wf_srx_unexpected *unexp)
{
	return unexp->note & SHM_UNEXP_STATES;
}

/* What shm_unexp_new was asked for. */
static size_t payload_size(const struct wf_srx_unexpected *unexp)
{
	if (state_of(unexp) != SHM_UNEXP_WHOLE)
		return sizeof(struct shm_waiting);
	return unexp->len + (unexp->note & SHM_UNEXP_MATCH ? sizeof(uint64_t) : 0);
}

static void give_back(struct shm_origin *origin, struct wf_srx_unexpected *unexp)
{
	size_t cost = cost_of(payload_size(unexp));

	origin->ep->unexp_bytes -= cost;
	if (origin->conn)
		origin->conn->unexp_bytes -= cost;
	wf_srx_release(&origin->srx, unexp);
	origin_settle(origin);
}

/* The sender of a message that is whole hears that it was matched, or dropped. */
static void matched(struct shm_conn *conn, struct wf_srx_unexpected *unexp)
{
	uint64_t id;

	if (!conn || !(unexp->note & SHM_UNEXP_MATCH))
		return;
	memcpy(&id, (uint8_t *)wf_srx_payload(unexp) + unexp->len, sizeof(id));
	shm_tx_ack(conn, id);
}

static fi_addr_t source(const struct shm_origin *origin)
{
	struct shm_ep *ep = origin->ep;

	if (!ep->want_source)
		return FI_ADDR_NOTAVAIL;
	if (origin->conn)
		return shm_conn_source(origin->conn);
	return origin->index == FI_ADDR_NOTAVAIL
		       ? FI_ADDR_NOTAVAIL
		       : wf_av_report(ep->ep.av, origin->index);
}

/* From our buffer to the application's. */
static void deliver(const struct shm_origin *origin, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry)
{
	uint8_t flags = entry->flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0;

	(void)wf_iov_scatter(
		entry->iov, entry->count, wf_srx_payload(unexp), unexp->len);
	matched(origin->conn, unexp);
	shm_recv_done(origin->ep, origin->conn, entry, flags, unexp->len,
		entry->cq_data, source(origin));
}

/* A message that waited has buffers now. The owner's lock is held. */
static int start(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp = entry->peer_context;
	struct shm_origin *origin = origin_at(entry);
	struct shm_conn *conn = origin->conn;
	struct shm_ep *ep = origin->ep;
	struct shm_waiting waiting;
	int ret = -FI_ECONNRESET;

	wf_lock(&ep->ep.lock);
	if (state_of(unexp) == SHM_UNEXP_WHOLE) {
		deliver(origin, unexp, entry);
		ret = 0;
	} else if (conn) {
		memcpy(&waiting, wf_srx_payload(unexp), sizeof(waiting));
		ret = shm_bulk_start(
			conn, &waiting.rts, entry, waiting.flags, entry->cq_data);
	}
	give_back(origin, unexp);
	if (conn && !conn->idle)
		shm_out_flush(conn);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* Nobody will want it. The owner's lock is held. */
static int discard(struct fi_peer_rx_entry *entry)
{
	struct wf_srx_unexpected *unexp = entry->peer_context;
	struct shm_origin *origin = origin_at(entry);
	struct shm_conn *conn = origin->conn;
	struct shm_ep *ep = origin->ep;
	struct shm_waiting waiting;

	wf_lock(&ep->ep.lock);
	if (state_of(unexp) == SHM_UNEXP_WHOLE) {
		matched(conn, unexp);
	} else if (conn) {
		memcpy(&waiting, wf_srx_payload(unexp), sizeof(waiting));
		shm_tx_ack(conn, waiting.rts.id);
	}
	give_back(origin, unexp);
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
	struct shm_origin *origin = origin_at(entry);
	struct shm_ep *ep = origin->ep;

	wf_lock(&ep->ep.lock);
	if (origin->conn)
		origin->index = shm_conn_index(origin->conn);
	else if (!wf_av_addr(ep->ep.av, origin->index))
		origin->index = FI_ADDR_NOTAVAIL;
	wf_unlock(&ep->ep.lock);
	return wf_ep_srx_source(&ep->ep, origin->index);
}

void shm_unexp_break(struct shm_conn *conn)
{
	struct shm_origin *origin = conn->origin;

	if (!origin)
		return;
	if (origin->srx.count && conn->ep->want_index)
		origin->index = shm_conn_index(conn);
	origin->conn = NULL;
	conn->origin = NULL;
	origin_settle(origin);
}
