/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/peer.h"

/*
 * What a peer that died never took.
 *
 * A small message is over for the application when it is in the lane, and a peer that
 * is dead since the last check takes nothing out of it any more. No check at every
 * message is needed to notice: the lane is still there when the death is known, and the
 * peer said of each record whether it came to act on it. Messages that it did not come
 * to had no effect, and go to the next peer of that name, in their order,
 * before all that was sent later. So no message is acted on twice, and one that was
 * sent after the death is not lost. Operations that the application still waits for
 * are none of this: they end in errors, and so do injected accesses to the peer's
 * memory.
 *
 * Like a peer's lane, this one may be full of garbage.
 */

/* The reader's place among our records: told with the last slot, or died while it told
 * it, in the record that it took last. */
static bool fits(const struct shm_conn *conn, struct shm_reader at)
{
	struct shm_record rec;
	uint64_t head;

	for (; at.next != conn->out.next; at.next++) {
		head = shm_reader_head(&at);
		if (!head || !shm_rx_decode(&at, head, &rec))
			return false;
	}
	return at.pos == conn->out.pos;
}

static bool find_place(struct shm_conn *conn, uint32_t taken, struct shm_reader *ret)
{
	struct shm_writer *out = &conn->out;

	if (!shm_writer_refresh(out))
		return false;
	*ret = (struct shm_reader){
		.lane = out->lane, .next = out->seen_slots + 1, .pos = out->seen_pos
	};
	if (fits(conn, *ret))
		return true;
	ret->next = taken + 1;
	return out->next - ret->next <= SHM_SLOTS && fits(conn, *ret);
}

static struct shm_tx *message(struct shm_conn *conn, const struct shm_record *rec)
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
	tx->told = true;
	conn->ep->tx_pending--;
	return tx;
}

static bool is_message(const struct shm_record *rec)
{
	return (rec->kind == SHM_REC_MSG || rec->kind == SHM_REC_TAGGED) &&
	       !(rec->flags & (SHM_FLAG_ACK | SHM_FLAG_MATCH));
}

/* Of these the application is told only when they fail. */
static bool is_silent(const struct shm_record *rec)
{
	uint64_t id;

	if ((rec->kind != SHM_REC_WRITE && rec->kind != SHM_REC_ATOMIC) ||
		rec->len < sizeof(id))
		return false;
	memcpy(&id, rec->blob, sizeof(id));
	return id == SHM_ID_SILENT;
}

void shm_again(struct shm_conn *conn)
{
	/* acquire: what the peer did before it closed its end is known by now. */
	uint32_t taken =
		atomic_load_explicit(&conn->out.lane->taken, memory_order_acquire);
	struct shm_peer *peer = conn->peer;
	struct wf_list *last = &peer->remote.pending;
	unsigned int count = 0;
	struct shm_reader at;
	struct shm_record rec;
	struct shm_tx *tx;

	if (!find_place(conn, taken, &at))
		return;
	for (; at.next != conn->out.next; at.next++) {
		if (!shm_rx_decode(&at, shm_reader_head(&at), &rec))
			break;
		if ((int32_t)(at.next - taken) <= 0)
			continue;
		if (is_silent(&rec))
			shm_tx_fail_silent(conn,
				rec.kind == SHM_REC_WRITE ? WF_OP_WRITE : WF_OP_ATOMIC,
				FI_ECONNRESET);
		if (!is_message(&rec))
			continue;
		tx = message(conn, &rec);
		if (!tx)
			break;
		wf_list_insert_after(last, &tx->link);
		last = &tx->link;
		count++;
	}
	if (!count)
		return;
	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"%u messages to %s were not taken before its end: they wait for the "
		"next one of that name\n",
		count, peer->name);
	shm_peer_busy(conn->ep, peer);
}
