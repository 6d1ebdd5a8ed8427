/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/request.h"

#include <string.h>

#include "providers/shm/copy/remote.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/withdraw.h"

const uint8_t shm_access_kinds[WF_OP_COUNT] = {
	[WF_OP_READ] = SHM_REC_READ,
	[WF_OP_WRITE] = SHM_REC_WRITE,
	[WF_OP_ATOMIC] = SHM_REC_ATOMIC,
	[WF_OP_FETCH] = SHM_REC_FETCH,
	[WF_OP_COMPARE] = SHM_REC_COMPARE,
};

/* A request for memory that cannot be copied stays in the lane: the initiator would
 * send it again each time, and a target that polls seldom would never find it. */
static bool request_may_withdraw(
	struct shm_conn *conn, const struct shm_tx *tx, uint8_t flags)
{
	return tx->op <= WF_OP_WRITE && tx->seg_count == 1 && !flags &&
	       !shm_remote_has_no_copies(conn, tx->seg[0].key);
}

int shm_request_send(struct shm_conn *conn, struct shm_tx *tx, uint8_t kind,
	uint8_t flags, size_t payload)
{
	size_t segs = tx->seg_count * sizeof(tx->seg[0]);
	size_t compare = wf_iov_len(tx->compare, tx->atomic.compare_count);
	struct shm_blob blob;
	uint8_t *to;

	if (!shm_tx_need_id(conn, tx) ||
		!shm_blob_begin(conn, &blob, sizeof(tx->id) + segs + payload + compare))
		return SHM_FULL;
	memcpy(blob.at, &tx->id, sizeof(tx->id));
	to = blob.at + sizeof(tx->id);
	memcpy(to, tx->seg, segs);
	to += segs;
	if (payload)
		to += wf_iov_gather(to, tx->local.iov, tx->local.count);
	(void)wf_iov_gather(to, tx->compare, tx->atomic.compare_count);
	if (request_may_withdraw(conn, tx, flags))
		shm_withdraw_begin(conn, tx);
	shm_blob_end(conn, &blob, kind, flags | shm_request_data_flag(tx),
		shm_access_word(tx->seg_count, tx->atomic.datatype, tx->atomic.op),
		tx->data);
	return SHM_SENT;
}

int shm_request_piece(
	struct shm_conn *conn, struct shm_tx *tx, uint64_t word, int *ret_err)
{
	size_t len = WF_MIN(tx->local.len - tx->done, (uint64_t)SHM_CHUNK);
	struct shm_blob blob;

	if (!shm_blob_begin(conn, &blob, len))
		return SHM_FULL;
	*ret_err = shm_span_get(conn->ep, &tx->local, tx->done, blob.at, len);
	if (*ret_err)
		return SHM_FULL;
	shm_blob_end(conn, &blob, SHM_REC_DATA, 0, word, 0);
	tx->done += len;
	wf_progress_found_some(&conn->ep->ep.progress);
	return SHM_SENT;
}

static int request_settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	shm_tx_settle_later(conn, tx);
	return SHM_SENT;
}

/* Write a queued write operation of any length. It is sent before the operations behind
 * it, so that they keep their order. The peer acknowledges it. */
static int request_write(struct shm_conn *conn, struct shm_tx *tx)
{
	bool stream = tx->local.len > SHM_CHUNK;
	int ret, err = 0;

	if (!tx->begun) {
		ret = shm_request_send(conn, tx, SHM_REC_WRITE,
			stream ? SHM_FLAG_MORE : 0, stream ? 0 : tx->local.len);
		if (ret != SHM_SENT || !stream)
			return ret == SHM_SENT ? request_settle_later(conn, tx) : ret;
		tx->begun = true;
	}
	while (tx->done < tx->local.len) {
		ret = shm_request_piece(conn, tx, 0, &err);
		if (ret != SHM_SENT)
			return ret;
	}
	return request_settle_later(conn, tx);
}

static int request_other(struct shm_conn *conn, struct shm_tx *tx)
{
	size_t payload = tx->op == WF_OP_READ ? 0 : tx->local.len;
	int ret = shm_request_send(conn, tx, shm_access_kinds[tx->op], 0, payload);

	return ret == SHM_SENT ? request_settle_later(conn, tx) : ret;
}

int shm_request_whole(struct shm_conn *conn, struct shm_tx *tx)
{
	return tx->op == WF_OP_WRITE ? request_write(conn, tx)
				     : request_other(conn, tx);
}
