/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/rxm/data/hold.h"
#include "providers/rxm/data/recv.h"

/*
 * Messages that arrive in segments. The first segment is matched; the position of each
 * segment follows from the previous ones, because the packets of a connection arrive in
 * order. Segments of several messages may alternate.
 *
 * An unexpected message takes memory for the segments that have arrived, not for those
 * that were announced. The last segment makes it a message in one piece of memory.
 */

enum {
	UNEXPECTED_MAX = 1 << 30, /* longest unexpected message in segments */
	/* Messages of a connection of which some segments have not arrived: they are in
	 * a list, which is searched for each segment. Senders send the segments of one
	 * message after those of the other. */
	AT_ONCE_MAX = 4096,
};

/* A segment of an unexpected message. */
struct chunk {
	struct wf_list link; /* link in partial->chunks */
	size_t len;
	uint8_t bytes[];
};

static struct rxm_partial *segments_find(struct rxm_conn *conn, uint64_t msg_id)
{
	wf_list_foreach(link, &conn->data.partial)
	{
		struct rxm_partial *partial =
			wf_list_entry(link, struct rxm_partial, link);

		if (partial->msg_id == msg_id)
			return partial;
	}
	return NULL;
}

/* Bytes of @partial that are counted besides its saved message. */
static size_t segments_cost_of(const struct rxm_partial *partial)
{
	return sizeof(*partial) + partial->chunk_bytes;
}

static bool segments_keep(struct rxm_conn *conn, const struct rxm_packet *packet,
	struct rxm_partial *partial, struct fi_peer_rx_entry *entry)
{
	if (packet->size > UNEXPECTED_MAX) {
		wf_srx_free_entry(entry);
		rxm_conn_broken(conn, "unexpected message in too many segments");
		return false;
	}
	partial->unexp = rxm_unexp_new(conn, packet, entry, WF_SRX_ENLARGE_MIN);
	if (!partial->unexp)
		return false;
	partial->unexp->note = RXM_UNEXP_PARTIAL;
	wf_unexp_take(&conn->ep->unexp, &conn->unexp, segments_cost_of(partial));
	return true;
}

static struct rxm_partial *segments_begin(
	struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct fi_peer_rx_entry *entry = NULL;
	struct rxm_partial *partial;
	int ret = -FI_ENOMEM;

	if (conn->data.partial_count == AT_ONCE_MAX) {
		rxm_conn_broken(conn, "segments of too many messages");
		return NULL;
	}
	partial = malloc(sizeof(*partial));
	if (partial)
		ret = rxm_match(conn, packet, &entry);
	if (ret && ret != -FI_ENOENT) {
		free(partial);
		rxm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	*partial = (struct rxm_partial){
		.msg_id = packet->msg_id,
		.size = packet->size,
		.data = packet->data,
		.has_data = packet->has_data,
	};
	wf_list_init(&partial->chunks);
	if (!ret) {
		partial->entry = entry;
	} else if (!segments_keep(conn, packet, partial, entry)) {
		free(partial);
		return NULL;
	}
	wf_list_push(&conn->data.partial, &partial->link);
	conn->data.partial_count++;
	return partial;
}

static void segments_add_chunk(struct rxm_conn *conn, struct rxm_partial *partial,
	const struct rxm_packet *packet)
{
	size_t len = packet->payload_len;
	struct chunk *chunk = malloc(sizeof(*chunk) + len);

	if (!chunk) {
		rxm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	chunk->len = len;
	memcpy(chunk->bytes, packet->payload, len);
	wf_list_push(&partial->chunks, &chunk->link);
	partial->chunk_bytes += sizeof(*chunk) + len;
	wf_unexp_take(&conn->ep->unexp, &conn->unexp, sizeof(*chunk) + len);
}

/* The message is not a partial, unexpected one any more: copy its segments to the
 * buffers @iov (@count of them; 0: drop them), and free them. */
static void segments_settle(struct rxm_conn *conn, struct rxm_partial *partial,
	const struct iovec *iov, size_t count)
{
	struct wf_list *link;
	size_t at = 0;

	wf_unexp_give(&conn->ep->unexp, &conn->unexp, segments_cost_of(partial));
	while ((link = wf_list_pop(&partial->chunks))) {
		struct chunk *chunk = wf_list_entry(link, struct chunk, link);

		(void)wf_iov_scatter_at(iov, count, at, chunk->bytes, chunk->len);
		at += chunk->len;
		free(chunk);
	}
	partial->unexp = NULL;
}

static void segments_partial_free(struct rxm_conn *conn, struct rxm_partial *partial)
{
	wf_list_remove(&partial->link);
	conn->data.partial_count--;
	free(partial);
}

/* All segments of an unexpected message have arrived: put them into one piece. */
static void segments_make_whole(struct rxm_conn *conn, struct rxm_partial *partial)
{
	struct wf_srx_unexpected *unexp = partial->unexp;
	struct iovec whole = { NULL, partial->size };

	if (!wf_unexp_enlarge(&conn->ep->unexp, &conn->unexp, unexp, WF_SRX_ENLARGE_MIN,
		    partial->size)) {
		rxm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	whole.iov_base = wf_srx_payload(unexp);
	segments_settle(conn, partial, &whole, 1);
	unexp->note = WF_UNEXP_WHOLE;
	segments_partial_free(conn, partial);
}

static void segments_end(struct rxm_conn *conn, struct rxm_partial *partial)
{
	struct rxm_arrived arrived = { partial->size, partial->data,
		partial->has_data };

	if (partial->unexp) {
		segments_make_whole(conn, partial);
		return;
	}
	if (partial->entry)
		rxm_recv_done(conn, partial->entry, &arrived);
	segments_partial_free(conn, partial);
}

void rxm_segment(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_partial *partial = segments_find(conn, packet->msg_id);
	uint64_t left;

	if ((packet->position == RXM_FIRST) == (partial != NULL)) {
		rxm_conn_broken(conn, partial ? "message that begins twice"
					      : "segment of no message");
		return;
	}
	if (!partial)
		partial = segments_begin(conn, packet);
	if (!partial)
		return;
	left = partial->size - partial->got;
	if (packet->payload_len > left ||
		(packet->position == RXM_LAST) != (packet->payload_len == left)) {
		rxm_conn_broken(conn, "segments of another length than the message");
		return;
	}
	if (partial->unexp)
		segments_add_chunk(conn, partial, packet);
	else if (partial->entry)
		(void)wf_iov_scatter_at(partial->entry->iov, partial->entry->count,
			partial->got, packet->payload, packet->payload_len);
	partial->got += packet->payload_len;
	if (packet->position == RXM_LAST)
		segments_end(conn, partial);
	rxm_hold_if_full(conn);
}

void rxm_partial_start(struct rxm_conn *conn, struct wf_srx_unexpected *unexp,
	struct fi_peer_rx_entry *entry)
{
	wf_list_foreach(link, &conn->data.partial)
	{
		struct rxm_partial *partial =
			wf_list_entry(link, struct rxm_partial, link);

		if (partial->unexp != unexp)
			continue;
		segments_settle(conn, partial, entry ? entry->iov : NULL,
			entry ? entry->count : 0);
		partial->entry = entry;
		return;
	}
}

void rxm_partial_lost(struct rxm_conn *conn, int err)
{
	wf_list_foreach_safe(link, &conn->data.partial)
	{
		struct rxm_partial *partial =
			wf_list_entry(link, struct rxm_partial, link);

		if (partial->unexp)
			segments_settle(conn, partial, NULL, 0);
		if (partial->entry)
			rxm_recv_fail(conn, partial->entry, err);
		segments_partial_free(conn, partial);
	}
}
