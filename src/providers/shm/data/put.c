/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/put.h"

#include <string.h>

#include "providers/shm/data/bulk.h"
#include "providers/shm/data/lease.h"
#include "providers/shm/data/method.h"
#include "providers/shm/data/out.h"

/* ---- the initiator ---- */

static bool is_possible(const struct shm_conn *conn, const struct shm_tx *tx)
{
	return conn->copies && conn->cma && tx->seg_count == 1;
}

bool shm_put_is_chosen(struct shm_conn *conn, struct shm_tx *tx)
{
	bool is_write = tx->op == WF_OP_WRITE;

	if ((!is_write && tx->op != WF_OP_READ) || tx->local.len < SHM_PUT_MIN)
		return false;
	if (!tx->is_chosen && !tx->begun)
		shm_method_begin(conn, is_write ? SHM_USE_WRITE : SHM_USE_READ,
			tx->local.len, conn->cma && tx->seg_count == 1, &tx->how);
	tx->is_chosen = true;
	/* The connection may have changed since. */
	return tx->how.method != SHM_METHOD_LANE && is_possible(conn, tx);
}

static void get_tail(const struct shm_tx *tx, uint8_t *tail)
{
	struct iovec iov[SHM_IOV_LIMIT];
	size_t count = shm_bulk_rest(tx->local.iov, tx->local.count,
		tx->local.len - SHM_TAIL, SHM_TAIL, iov);

	(void)wf_iov_gather(tail, iov, count);
}

int shm_put_send(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_put put = { .seg = tx->seg[0] };
	size_t len = SHM_RTS_SIZE(struct shm_put, tx->local.count);
	struct shm_blob blob;

	if (!shm_out_need_id(conn, tx) || !shm_blob_begin(conn, &blob, len))
		return SHM_FULL;
	shm_out_fill_rts(conn, tx, &put.rts);
	get_tail(tx, put.tail);
	memcpy(blob.at, &put, len);
	shm_blob_end(conn, &blob, SHM_REC_PUT,
		tx->op_flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0,
		shm_method_shares(&tx->how) ? SHM_COPYING_SHARED : SHM_COPYING_ALONE,
		tx->data);
	tx->put = true;
	conn->unput++;
	return shm_out_settle_later(conn, tx);
}

void shm_put_settle(struct shm_conn *conn, struct shm_tx *tx)
{
	tx->put = false;
	/* Operations may be written at once again. */
	if (!--conn->unput)
		shm_out_dirty(conn);
}

/* ---- the target ---- */

/* Copy a request once, and check the copy. */
static int read_put(const struct shm_record *rec, struct shm_put *put)
{
	if (rec->len < SHM_RTS_SIZE(struct shm_put, 0) || rec->len > sizeof(*put))
		return -FI_EPROTO;
	memset(put, 0, sizeof(*put));
	memcpy(put, rec->blob, rec->len);
	if (put->rts.count > SHM_IOV_LIMIT ||
		rec->len != SHM_RTS_SIZE(struct shm_put, put->rts.count) ||
		put->rts.id == SHM_ID_NONE || put->rts.token >= SHM_TOKENS ||
		put->rts.len != put->seg.len || put->rts.len <= SHM_TAIL ||
		!shm_bulk_is_whole(&put->rts))
		return -FI_EPROTO;
	return rec->word == SHM_COPYING_ALONE || rec->word == SHM_COPYING_SHARED
		       ? 0
		       : -FI_EPROTO;
}

static void begin(struct shm_sink *sink);

/* The write is over: begin with the next one. */
static void end(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;
	bool first = conn->puts.next == &sink->put_link;

	shm_bulk_free(sink);
	if (first && !wf_list_empty(&conn->puts) && !conn->err)
		begin(wf_list_entry(conn->puts.next, struct shm_sink, put_link));
}

static struct shm_span remote_span(const struct shm_sink *sink)
{
	struct shm_span span = { .len = sink->len,
		.count = 1,
		.remote = true,
		.past = shm_is_past(sink->len) };

	span.seg[0] = sink->seg;
	return span;
}

static void answer(struct shm_sink *sink, int err)
{
	struct shm_span span = remote_span(sink);

	shm_access_end_write(
		sink->conn, &span, sink->request, sink->flags, sink->data, err);
	end(sink);
}

void shm_put_clear(struct shm_sink *sink)
{
	if (sink->lease)
		shm_lease_end(sink->lease);
	sink->lease = NULL;
	sink->to = remote_span(sink);
	shm_bulk_clear(sink);
}

/* The lease is entered. */
static void begin_copy(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;

	sink->to.len -= SHM_TAIL;
	if (!shm_bulk_take_token(shm_bulk_sink_token(sink), sink->request)) {
		shm_conn_fail(conn, FI_EPROTO);
		return;
	}
	if (sink->how.method == SHM_METHOD_SHARE)
		shm_share_begin(sink);
	else
		shm_bulk_pull_alone(sink);
	shm_bulk_add_pull(sink);
}

static void begin(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;
	int err;

	sink->lease = shm_lease_new(conn, &sink->seg, FI_REMOTE_WRITE, &sink->to, &err);
	if (err) {
		answer(sink, err);
		return;
	}
	if (sink->lease)
		sink->lease->sink = sink;
	if (sink->lease && conn->cma) {
		begin_copy(sink);
		shm_lease_leave(sink->lease);
		return;
	}
	shm_lease_leave(sink->lease);
	shm_put_clear(sink);
}

int shm_recv_put(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_sink *sink;
	struct shm_put put;

	if (read_put(rec, &put) || conn->put_count >= SHM_TOKENS)
		return -FI_EPROTO;
	sink = shm_bulk_write(conn, put.rts.id);
	if (!sink)
		return 0;
	shm_bulk_set_source(sink, &put.rts);
	sink->seg = put.seg;
	memcpy(sink->tail, put.tail, sizeof(sink->tail));
	sink->data = rec->data;
	sink->flags = rec->flags;
	sink->how.method =
		rec->word == SHM_COPYING_SHARED ? SHM_METHOD_SHARE : SHM_METHOD_READ;
	wf_list_push(&conn->puts, &sink->put_link);
	conn->put_count++;
	if (conn->put_count == 1)
		begin(sink);
	return 0;
}

void shm_put_store_tail(struct shm_sink *sink)
{
	const struct shm_span *to = &sink->to;

	atomic_thread_fence(memory_order_release);
	(void)wf_iov_scatter_at(to->iov, to->count, to->len, sink->tail, SHM_TAIL);
}

void shm_put_finish(struct shm_sink *sink)
{
	answer(sink, sink->err);
}

void shm_put_revoked(struct shm_sink *sink)
{
	answer(sink, -FI_EKEYREJECTED);
}
