/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/pieces.h"

#include <assert.h>

#include "providers/shm/copy/span.h"
#include "providers/shm/proto/deliver.h"
#include "providers/shm/proto/out.h"

enum {
	/* Shorter messages are sent as a whole: the record of each piece takes time. */
	MESSAGE_MIN = 8192,
	PIECE = 4096,
};

/* ---- the sender ---- */

/* Space for all records of the message, however its pieces lie in the ring? */
static bool pieces_has_space(const struct shm_writer *w, size_t len)
{
	size_t count = len / PIECE + 1, bytes = count * shm_bytes_taken(PIECE);
	uint64_t at = w->pos % SHM_BYTES, end = w->pos + bytes;

	/* One of them may be at the beginning. */
	if (at + bytes > w->lap)
		end += SHM_BYTES - at;
	return end - w->seen_pos <= SHM_BYTES && shm_writer_slots(w) >= count;
}

/* The reader has read the earlier bytes of this part of the ring, so its cache has
 * these lines. The copy waits for each of them, unless they are asked for while the
 * piece before is written. */
static void pieces_prefetch_lines(const struct shm_writer *w, size_t len)
{
	uint8_t flags, *at = shm_writer_bytes(w, len, &flags);

	for (size_t i = 0; i < len; i += WF_CACHELINE)
		wf_prefetch_write(at + i);
}

static void pieces_copy_piece(
	uint8_t *to, const struct wf_op *op, size_t at, size_t len)
{
	struct iovec from[SHM_IOV_LIMIT];

	if (wf_likely(op->iov_count == 1))
		wf_copy(to, (const uint8_t *)op->iov->iov_base + at, len);
	else
		(void)wf_iov_gather(
			to, from, shm_iov_rest(op->iov, op->iov_count, at, len, from));
}

static void pieces_write_piece(struct shm_conn *conn, const struct wf_op *op, size_t at)
{
	struct shm_writer *w = &conn->out;
	struct shm_slot *slot = shm_writer_slot(w);
	uint32_t len = (uint32_t)WF_MIN((size_t)PIECE, op->len - at);
	size_t left = op->len - at - len;
	uint8_t kind = SHM_REC_DATA, flags;
	uint8_t *to = shm_writer_bytes(w, len, &flags);

	assert(to); /* See pieces_has_space. */
	shm_writer_bytes_done(w, flags, len);
	if (left)
		pieces_prefetch_lines(w, WF_MIN(left, (size_t)PIECE));
	pieces_copy_piece(to, op, at, len);
	slot->word = 0;
	if (!at) {
		kind = op->kind == WF_OP_TSEND ? SHM_REC_TAGGED : SHM_REC_MSG;
		flags |= SHM_FLAG_MORE |
			 (op->flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0);
		slot->word = op->tag;
		slot->data = op->data;
	}
	shm_out_describe(conn, slot, len, (uint32_t)op->len);
	shm_writer_commit(w, slot, kind, flags, 0);
}

/*
 * A peer that has sent something since the last such message may wait for this one. To
 * one that has not, it is one of a stream, which takes less time in whole messages:
 * both ends copy at the same time anyway.
 */
static bool pieces_is_awaited(struct shm_conn *conn)
{
	bool awaited = conn->heard != conn->in.next;

	conn->heard = conn->in.next;
	return awaited;
}

bool shm_pieces_write(struct shm_conn *conn, const struct wf_op *op)
{
	if (op->len < MESSAGE_MIN || !pieces_is_awaited(conn))
		return false;
	if (wf_unlikely(!pieces_has_space(&conn->out, op->len)) &&
		(!shm_out_has_space_slow(conn) ||
			!pieces_has_space(&conn->out, op->len)))
		return false;
	for (size_t at = 0; at < op->len; at += PIECE)
		pieces_write_piece(conn, op, at);
	/* A reader that sleeps is woken for the whole message. */
	shm_out_wake(conn);
	/* Not before: the space was that of one lap. */
	shm_reuse_count(conn, (uint32_t)op->len);
	return true;
}

/* ---- the receiver ---- */

static void pieces_put(struct shm_coming *in, const struct shm_record *rec)
{
	size_t at = in->len - in->left;

	if (in->entry)
		(void)wf_iov_scatter_at(
			in->entry->iov, in->entry->count, at, rec->blob, rec->len);
	else if (in->saved)
		wf_copy((uint8_t *)wf_srx_payload(in->saved) + at, rec->blob, rec->len);
	in->left -= rec->len;
}

void shm_pieces_begin(struct shm_conn *conn, const struct shm_record *rec,
	struct fi_peer_rx_entry *entry, struct wf_srx_unexpected *saved)
{
	conn->arriving.coming = (struct shm_coming){
		.entry = entry,
		.saved = saved,
		.len = rec->total,
		.left = rec->total,
		.data = rec->data,
		.flags = rec->flags,
	};
	pieces_put(&conn->arriving.coming, rec);
}

static void pieces_message_done(struct shm_conn *conn, const struct shm_coming *in)
{
	shm_deliver_done(conn, in->entry, in->flags, in->len, in->data);
}

int shm_pieces_add(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_coming *in = &conn->arriving.coming;

	if (!rec->len || rec->len > in->left)
		return -FI_EPROTO;
	pieces_put(in, rec);
	if (in->left)
		return 0;
	if (in->saved)
		in->saved->note = WF_UNEXP_WHOLE;
	else if (in->entry)
		pieces_message_done(conn, in);
	return 0;
}

void shm_pieces_match(struct shm_conn *conn, struct wf_srx_unexpected *saved,
	struct fi_peer_rx_entry *entry)
{
	struct shm_coming *in = &conn->arriving.coming;

	assert(in->saved == saved);
	if (entry)
		(void)wf_iov_scatter(entry->iov, entry->count, wf_srx_payload(saved),
			in->len - in->left);
	in->entry = entry;
	in->saved = NULL;
}

void shm_pieces_end(struct shm_conn *conn, int err, bool quiet)
{
	if (conn->arriving.coming.left && conn->arriving.coming.entry)
		shm_deliver_end(conn, conn->arriving.coming.entry, err, quiet);
	conn->arriving.coming = (struct shm_coming){ 0 };
}
