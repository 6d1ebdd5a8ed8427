/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/rxm/data/recv.h"

/*
 * Messages that arrive in segments. The first segment is matched; the position of each
 * segment follows from the previous ones, because the packets of a connection arrive in
 * order. Segments of several messages may alternate.
 */

/* Limit of the bytes that the unexpected messages of one connection may have
 * outstanding: memory is allocated for them in advance. */
enum { ANNOUNCED_MAX = 256 << 20 };

static struct rxm_partial *find(struct rxm_conn *conn, uint64_t msg_id)
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

static bool keep(struct rxm_conn *conn, const struct rxm_packet *packet,
	struct rxm_partial *partial, struct fi_peer_rx_entry *entry)
{
	if (packet->size > ANNOUNCED_MAX - conn->data.announced) {
		wf_srx_free_entry(entry);
		rxm_conn_broken(conn, "unexpected message in too many segments");
		return false;
	}
	partial->unexp = rxm_unexp_new(conn, packet, entry, packet->size);
	if (!partial->unexp)
		return false;
	partial->unexp->note = RXM_UNEXP_PARTIAL;
	conn->data.announced += packet->size;
	return true;
}

static struct rxm_partial *begin(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_partial *partial = malloc(sizeof(*partial));
	struct fi_peer_rx_entry *entry = NULL;
	int ret = -FI_ENOMEM;

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
	if (!ret) {
		partial->entry = entry;
	} else if (!keep(conn, packet, partial, entry)) {
		free(partial);
		return NULL;
	}
	wf_list_push(&conn->data.partial, &partial->link);
	return partial;
}

/* Copy the @len bytes at @from to the buffers of a receive, from byte @offset on. */
static void put(
	struct fi_peer_rx_entry *entry, size_t offset, const uint8_t *from, size_t len)
{
	for (size_t i = 0; i < entry->count && len; i++) {
		struct iovec rest = entry->iov[i];
		size_t skip = WF_MIN(offset, rest.iov_len), done;

		rest.iov_base = (uint8_t *)rest.iov_base + skip;
		rest.iov_len -= skip;
		offset -= skip;
		done = wf_iov_scatter(&rest, 1, from, len);
		from += done;
		len -= done;
	}
}

static void end(struct rxm_conn *conn, struct rxm_partial *partial)
{
	struct rxm_arrived arrived = { partial->size, partial->data,
		partial->has_data };

	wf_list_remove(&partial->link);
	if (partial->unexp) {
		conn->data.announced -= partial->size;
		partial->unexp->note = WF_UNEXP_WHOLE;
	} else if (partial->entry) {
		rxm_recv_done(conn, partial->entry, &arrived);
	}
	free(partial);
}

void rxm_segment(struct rxm_conn *conn, const struct rxm_packet *packet)
{
	struct rxm_partial *partial = find(conn, packet->msg_id);
	uint64_t left;

	if ((packet->position == RXM_FIRST) == (partial != NULL)) {
		rxm_conn_broken(conn, partial ? "message that begins twice"
					      : "segment of no message");
		return;
	}
	if (!partial)
		partial = begin(conn, packet);
	if (!partial)
		return;
	left = partial->size - partial->got;
	if (packet->payload_len > left ||
		(packet->position == RXM_LAST) != (packet->payload_len == left)) {
		rxm_conn_broken(conn, "segments of another length than the message");
		return;
	}
	if (partial->unexp)
		memcpy((uint8_t *)wf_srx_payload(partial->unexp) + partial->got,
			packet->payload, packet->payload_len);
	else if (partial->entry)
		put(partial->entry, partial->got, packet->payload, packet->payload_len);
	partial->got += packet->payload_len;
	if (packet->position == RXM_LAST)
		end(conn, partial);
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
		if (entry)
			put(entry, 0, wf_srx_payload(unexp), partial->got);
		conn->data.announced -= partial->size;
		partial->unexp = NULL;
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

		if (partial->entry)
			rxm_recv_fail(conn, partial->entry, err);
		free(partial);
	}
	wf_list_init(&conn->data.partial);
}
