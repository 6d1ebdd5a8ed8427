/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/replay.h"

#include <stdlib.h>
#include <string.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/tx.h"
#include "providers/shm/wire/record.h"

/*
 * Messages that a dead peer never processed. A peer has begun to process a message in
 * pieces when it has taken its first record.
 *
 * A small message is complete for the application when it is in the lane. A dead peer
 * takes nothing out of the lane, and its death need not be checked for at each message:
 * the lane still exists when the death is detected, and @taken is the number of the
 * last record that the peer began to process. Messages behind it had no effect. They
 * are queued for the next peer with that name, in order and before all later messages.
 * So no message is processed twice, and a message that was sent after the death is not
 * lost. Messages of that kind that were queued for this peer, and never entered the
 * lane, are behind them. Operations that are not complete end with errors instead, as
 * do all accesses to the peer's memory.
 *
 * The dead peer may have written garbage into the lane.
 */

/* Is @at the position of a record of this endpoint, from which the following records
 * end where the writer is? The dead reader may have been in the middle of storing its
 * position. */
static bool replay_fits(const struct shm_conn *conn, struct shm_reader at)
{
	struct shm_record rec;
	uint64_t head;

	for (; at.next != conn->out.next; at.next++) {
		head = shm_reader_head(&at);
		if (!head || !shm_record_decode(&at, head, &rec))
			return false;
	}
	return at.pos == conn->out.pos;
}

static bool replay_find_position(
	struct shm_conn *conn, uint32_t taken, struct shm_reader *ret)
{
	struct shm_writer *out = &conn->out;

	if (!shm_writer_refresh(out))
		return false;
	*ret = (struct shm_reader){
		.lane = out->lane, .next = out->seen_slots + 1, .pos = out->seen_pos
	};
	if (replay_fits(conn, *ret))
		return true;
	ret->next = taken + 1;
	return out->next - ret->next <= SHM_SLOTS && replay_fits(conn, *ret);
}

/* The payload of a message in pieces: the first one is that of @rec, which is number
 * at.next; the others are the records behind it. NULL: they are not, or no memory. */
static uint8_t *replay_join(
	const struct shm_conn *conn, struct shm_reader at, const struct shm_record *rec)
{
	struct shm_record piece = *rec;
	uint8_t *payload = NULL;
	uint32_t len = 0;

	if (rec->total <= SHM_BLOB_MAX)
		payload = malloc(rec->total);
	if (!payload)
		return NULL;
	for (;;) {
		if (piece.len > rec->total - len)
			break;
		memcpy(payload + len, piece.blob, piece.len);
		len += piece.len;
		if (len == rec->total)
			return payload;
		if (++at.next == conn->out.next ||
			!shm_record_decode(&at, shm_reader_head(&at), &piece) ||
			piece.kind != SHM_REC_DATA || piece.word)
			break;
	}
	free(payload);
	return NULL;
}

static struct shm_tx *replay_message(
	struct shm_conn *conn, const struct shm_record *rec)
{
	struct wf_op op = {
		.kind = rec->kind == SHM_REC_TAGGED ? WF_OP_TSEND : WF_OP_SEND,
		.flags = FI_INJECT,
		.iov = &op.one,
		.iov_count = 1,
		.len = rec->len,
		.addr = FI_ADDR_NOTAVAIL,
		.data = rec->data,
		.tag = rec->word,
		.one = { (void *)(uintptr_t)rec->blob, rec->len },
	};
	struct shm_tx *tx;

	if (rec->flags & SHM_FLAG_DATA)
		op.flags |= FI_REMOTE_CQ_DATA;
	tx = shm_tx_new(conn->ep, &op);
	if (!tx)
		return NULL;
	tx->is_completed = true;
	conn->ep->tx.pending--;
	return tx;
}

/* @at is at @rec, and behind its bytes. */
static struct shm_tx *replay_joined_message(struct shm_conn *conn,
	const struct shm_reader *at, const struct shm_record *rec)
{
	struct shm_record whole = *rec;
	uint8_t *payload = replay_join(conn, *at, rec);
	struct shm_tx *tx;

	if (!payload)
		return NULL;
	whole.blob = payload;
	whole.len = rec->total;
	tx = replay_message(conn, &whole);
	free(payload);
	return tx;
}

static bool replay_is_message(const struct shm_record *rec)
{
	return (rec->kind == SHM_REC_MSG || rec->kind == SHM_REC_TAGGED) &&
	       !(rec->flags & (SHM_FLAG_ACK | SHM_FLAG_MATCH));
}

/* Queue the messages in the lane that the peer never took behind @last of its pending
 * operations. Returns the last one. */
static struct wf_list *replay_queue_lane(struct shm_conn *conn, struct wf_list *last)
{
	/* acquire: the socket is closed, so all that the peer stored is visible. */
	uint32_t taken =
		atomic_load_explicit(&conn->out.lane->taken, memory_order_acquire);
	struct shm_reader at;
	struct shm_record rec;
	struct shm_tx *tx;

	if (!replay_find_position(conn, taken, &at))
		return last;
	for (; at.next != conn->out.next; at.next++) {
		if (!shm_record_decode(&at, shm_reader_head(&at), &rec))
			break;
		if ((int32_t)(at.next - taken) <= 0)
			continue;
		if (!replay_is_message(&rec))
			continue;
		tx = rec.flags & SHM_FLAG_MORE ? replay_joined_message(conn, &at, &rec)
					       : replay_message(conn, &rec);
		if (!tx)
			break;
		wf_list_insert_after(last, &tx->link);
		last = &tx->link;
	}
	return last;
}

void shm_replay(struct shm_conn *conn)
{
	struct shm_peer *peer = conn->peer;
	struct wf_list *last = replay_queue_lane(conn, &peer->remote.pending), *link;

	while ((link = wf_list_pop(&conn->queue.txq))) {
		wf_list_insert_after(last, link);
		last = link;
	}
	if (last == &peer->remote.pending)
		return;
	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"messages to %s were not taken before its end: they wait for the next "
		"one of that name\n",
		peer->name);
	shm_peer_schedule(conn->ep, peer);
}
