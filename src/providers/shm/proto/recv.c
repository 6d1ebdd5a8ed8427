/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/proto/deliver.h"
#include "providers/shm/proto/pieces.h"
#include "providers/shm/proto/rx.h"
#include "providers/shm/proto/unexp.h"
#include "sys/copy.h"

/*
 * Messages that arrive. The owner of the receive context decides where the payload is
 * stored. A message that no receive matches is saved, and the next record is read.
 * ep.lock and the lock of the receive context are held.
 */

/* Match a message. Returns 0: @entry is a posted receive; -FI_ENOENT: @entry is for an
 * unexpected message; or another negative fi_errno. */
static inline int shm_recv_match(struct shm_conn *conn, bool tagged, uint64_t tag,
	uint64_t len, struct fi_peer_rx_entry **entry)
{
	struct shm_ep *ep = conn->ep;
	fi_addr_t index = ep->unexp.wants.index ? shm_conn_index(conn) : FI_ADDR_UNSPEC;
	struct fi_peer_match_attr attr = {
		.addr = wf_ep_srx_source(&ep->ep, index),
		.msg_size = len,
		.tag = tagged ? tag : 0,
	};

	return tagged ? wf_srx_get_tag(ep->ep.srx, &attr, entry)
		      : wf_srx_get_msg(ep->ep.srx, &attr, entry);
}

/* The message cannot be stored: end the connection, because later messages must not
 * overtake it. @entry (NULL: none) is released. Returns 0, the result of a handler. */
static int shm_recv_no_memory(struct shm_conn *conn, struct fi_peer_rx_entry *entry)
{
	if (entry)
		wf_srx_free_entry(entry);
	shm_conn_fail(conn, FI_ENOMEM);
	return 0;
}

/* Save a message that is complete in @rec and that no receive has matched. Behind its
 * payload is @id, if the sender waits for the message to be matched. The result is that
 * of a handler. */
static int shm_recv_unexpected(struct shm_conn *conn, const struct shm_record *rec,
	struct fi_peer_rx_entry *entry, uint64_t id, const uint8_t *payload, size_t len)
{
	size_t id_len = rec->flags & SHM_FLAG_MATCH ? sizeof(id) : 0;
	struct wf_srx_unexpected *unexp = shm_unexp_new(conn, rec, entry, len + id_len);
	uint8_t *saved;

	if (!unexp)
		return shm_recv_no_memory(conn, entry);
	unexp->note = WF_UNEXP_WHOLE | (id_len ? WF_UNEXP_MATCH : 0);
	saved = wf_srx_payload(unexp);
	wf_copy(saved, payload, len);
	memcpy(saved + len, &id, id_len);
	if (rec->flags & SHM_FLAG_ACK)
		shm_answer_ack(conn, id);
	return 0;
}

/* The first piece of a message that arrives in pieces (pieces.h): match the message, or
 * save it in memory for all of its pieces. */
static int recv_first(struct shm_conn *conn, const struct shm_record *rec)
{
	struct fi_peer_rx_entry *entry = NULL;
	struct wf_srx_unexpected *saved = NULL;
	int ret;

	if (rec->flags & (SHM_FLAG_ACK | SHM_FLAG_MATCH) ||
		!(rec->flags & SHM_FLAG_BYTES) || rec->total <= rec->len ||
		rec->total > SHM_BLOB_MAX || shm_pieces_expected(conn) ||
		!conn->ep->ep.srx)
		return -FI_EPROTO;
	ret = shm_recv_match(
		conn, rec->kind == SHM_REC_TAGGED, rec->word, rec->total, &entry);
	if (ret && ret != -FI_ENOENT)
		return shm_recv_no_memory(conn, NULL);
	if (ret) {
		saved = shm_unexp_new(conn, rec, entry, rec->total);
		if (!saved)
			return shm_recv_no_memory(conn, entry);
		saved->note = SHM_UNEXP_COMING;
		entry = NULL;
	}
	shm_pieces_begin(conn, rec, entry, saved);
	return 0;
}

int shm_recv_msg(struct shm_conn *conn, const struct shm_record *rec)
{
	const uint8_t *payload = rec->blob;
	struct fi_peer_rx_entry *entry = NULL;
	size_t len = rec->len;
	uint64_t id = 0;
	int ret;

	if (rec->flags & SHM_FLAG_MORE)
		return recv_first(conn, rec);
	if (wf_unlikely(rec->flags & (SHM_FLAG_ACK | SHM_FLAG_MATCH))) {
		if (len < sizeof(id))
			return -FI_EPROTO;
		memcpy(&id, payload, sizeof(id));
		payload += sizeof(id);
		len -= sizeof(id);
	}
	if (wf_unlikely(!conn->ep->ep.srx))
		return -FI_EPROTO;
	ret = shm_recv_match(conn, rec->kind == SHM_REC_TAGGED, rec->word, len, &entry);
	if (wf_unlikely(ret == -FI_ENOENT))
		return shm_recv_unexpected(conn, rec, entry, id, payload, len);
	if (wf_unlikely(ret))
		return shm_recv_no_memory(conn, NULL);
	(void)wf_iov_scatter(entry->iov, entry->count, payload, len);
	if (wf_unlikely(id))
		shm_answer_ack(conn, id);
	shm_deliver_done(conn, entry, rec->flags, len, rec->data);
	return 0;
}

/* Copy a request to send once. False: the copy makes no sense. */
static bool recv_read_rts(const struct shm_record *rec, struct shm_rts *rts)
{
	if (rec->len != sizeof(*rts))
		return false;
	memcpy(rts, rec->blob, sizeof(*rts));
	return rts->id && rts->token <= SHM_TOKENS && rts->count <= SHM_IOV_LIMIT &&
	       shm_bulk_is_whole(rts);
}

int shm_recv_rts(struct shm_conn *conn, const struct shm_record *rec)
{
	bool tagged = rec->kind == SHM_REC_TAGGED_RTS;
	struct fi_peer_rx_entry *entry = NULL;
	struct shm_waiting waiting = { .flags = rec->flags };
	struct wf_srx_unexpected *unexp;
	struct shm_rts rts;
	int ret;

	if (!recv_read_rts(rec, &rts) || !conn->ep->ep.srx)
		return -FI_EPROTO;
	ret = shm_recv_match(conn, tagged, rec->word, rts.len, &entry);
	if (!ret)
		return shm_bulk_start(conn, &rts, entry, rec->flags, rec->data);
	if (ret != -FI_ENOENT)
		return shm_recv_no_memory(conn, NULL);
	unexp = shm_unexp_new(conn, rec, entry, sizeof(waiting));
	if (!unexp)
		return shm_recv_no_memory(conn, entry);
	unexp->note = SHM_UNEXP_RTS;
	waiting.rts = rts;
	memcpy(wf_srx_payload(unexp), &waiting, sizeof(waiting));
	return 0;
}
