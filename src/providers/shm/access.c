/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/atomic/ops.h"
#include "objects/mr/target.h"
#include "providers/shm/conn.h"

/* Peers' access to our memory, and their answers to ours. */

/* What such a record begins with. */
struct request {
	struct shm_access access;
	uint64_t id;
	uint64_t len; /* of all segments */
	struct fi_rma_iov seg[SHM_RMA_LIMIT];
	const uint8_t *payload;
	size_t payload_len;
};

static int parse(const struct shm_record *rec, struct request *req)
{
	size_t segs, head;

	memcpy(&req->access, &rec->word, sizeof(req->access));
	segs = req->access.segs * sizeof(req->seg[0]);
	head = sizeof(req->id) + segs;
	if (req->access.segs > SHM_RMA_LIMIT || rec->len < head)
		return -FI_EPROTO;
	memcpy(&req->id, rec->blob, sizeof(req->id));
	memcpy(req->seg, rec->blob + sizeof(req->id), segs);
	req->payload = rec->blob + head;
	req->payload_len = rec->len - head;
	req->len = 0;
	for (unsigned int i = 0; i < req->access.segs; i++)
		if (__builtin_add_overflow(req->len, req->seg[i].len, &req->len))
			return -FI_EPROTO;
	return 0;
}

static struct wf_mr_map *map_of(struct shm_conn *conn)
{
	return &conn->ep->ep.domain->mr_map;
}

static void set_span(struct shm_span *span, const struct request *req)
{
	span->len = req->len;
	span->remote = true;
	span->count = req->access.segs;
	memcpy(span->seg, req->seg, req->access.segs * sizeof(req->seg[0]));
}

/* The end of a write, all of which came. */
static void written(struct shm_conn *conn, const struct shm_span *to, uint64_t id,
	uint8_t flags, uint64_t data, int err)
{
	uint64_t comp_flags = FI_RMA | FI_REMOTE_WRITE;

	if (err) {
		shm_tx_error(conn, id, -err);
		return;
	}
	if (flags & SHM_FLAG_DATA)
		comp_flags |= FI_REMOTE_CQ_DATA;
	wf_target_done(&conn->ep->ep, to->seg, to->count, comp_flags, to->len, data,
		shm_conn_source(conn));
	shm_tx_ack(conn, id);
}

void shm_access_written(struct shm_conn *conn, struct shm_sink *sink)
{
	written(conn, &sink->to, sink->request, sink->flags, sink->data, sink->err);
	conn->writing = NULL;
	shm_bulk_free(sink);
}

int shm_recv_write(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_span span;
	struct shm_sink *sink;
	struct request req;
	int err, ret = parse(rec, &req);

	if (ret)
		return ret;
	err = wf_target_check(map_of(conn), req.seg, req.access.segs, FI_REMOTE_WRITE);
	set_span(&span, &req);
	if (rec->flags & SHM_FLAG_MORE) {
		if (conn->writing || req.payload_len || !req.len)
			return -FI_EPROTO;
		sink = shm_bulk_write(conn, req.id);
		if (!sink)
			return 0;
		sink->to = span;
		sink->len = req.len;
		sink->flags = rec->flags;
		sink->data = rec->data;
		sink->err = err;
		conn->writing = sink;
		return 0;
	}
	if (req.payload_len != req.len)
		return -FI_EPROTO;
	if (!err && req.len)
		err = shm_span_put(conn->ep, &span, 0, req.payload, req.payload_len);
	written(conn, &span, req.id, rec->flags, rec->data, err);
	return 0;
}

/* Answered by a stream from the region, however long. */
int shm_recv_read(struct shm_conn *conn, const struct shm_record *rec)
{
	struct request req;
	struct shm_tx *tx;
	int err, ret = parse(rec, &req);

	if (ret || req.payload_len)
		return -FI_EPROTO;
	err = wf_target_check(map_of(conn), req.seg, req.access.segs, FI_REMOTE_READ);
	if (err) {
		shm_tx_error(conn, req.id, -err);
		return 0;
	}
	if (!req.len) {
		shm_tx_ack(conn, req.id);
		return 0;
	}
	tx = shm_tx_stream(conn, req.id);
	if (tx)
		set_span(&tx->local, &req);
	return 0;
}

static enum wf_op_kind kind_of(uint8_t kind)
{
	if (kind == SHM_REC_ATOMIC)
		return WF_OP_ATOMIC;
	return kind == SHM_REC_FETCH ? WF_OP_FETCH : WF_OP_COMPARE;
}

/* Operands of the right number for an operation that exists. */
static int check_atomic(
	const struct request *req, const struct wf_target_atomic *atomic)
{
	size_t operands = atomic->op == FI_ATOMIC_READ ? 0 : req->len, count;

	if (atomic->kind == WF_OP_COMPARE)
		operands += req->len;
	if (wf_atomic_valid(atomic->kind, atomic->datatype, atomic->op, SHM_ATOMIC_MAX,
		    &count) ||
		!req->len || req->len > SHM_ATOMIC_MAX ||
		req->len % wf_atomic_size(atomic->datatype) ||
		req->payload_len != operands)
		return -FI_EPROTO;
	return 0;
}

int shm_recv_atomic(struct shm_conn *conn, const struct shm_record *rec)
{
	/* The peer may change the lane meanwhile, and operands are used twice. */
	uint8_t operands[2 * SHM_ATOMIC_MAX];
	struct wf_target_atomic atomic = { .kind = kind_of(rec->kind) };
	bool fetch = rec->kind != SHM_REC_ATOMIC;
	uint64_t flags = FI_ATOMIC | (fetch ? FI_REMOTE_READ : FI_REMOTE_WRITE);
	struct shm_tx *tx = NULL;
	struct request req;
	int ret = parse(rec, &req);

	if (ret)
		return ret;
	atomic.datatype = req.access.datatype;
	atomic.op = req.access.op;
	if (check_atomic(&req, &atomic))
		return -FI_EPROTO;
	memcpy(operands, req.payload, req.payload_len);
	atomic.seg = req.seg;
	atomic.count = req.access.segs;
	atomic.len = req.len;
	atomic.src = atomic.op == FI_ATOMIC_READ ? NULL : operands;
	if (atomic.kind == WF_OP_COMPARE)
		atomic.compare = operands + req.payload_len - req.len;
	ret = wf_target_check(map_of(conn), req.seg, req.access.segs,
		wf_target_atomic_access(atomic.kind, atomic.op));
	if (!ret && fetch) {
		tx = shm_tx_answer(conn, SHM_REC_RESP, req.id, req.len);
		if (!tx)
			return 0;
		atomic.result = tx->copy;
	}
	if (!ret)
		ret = wf_target_atomic(map_of(conn), &atomic);
	if (ret && tx)
		shm_tx_withdraw(conn, tx);
	if (ret) {
		shm_tx_error(conn, req.id, -ret);
		return 0;
	}
	if (rec->flags & SHM_FLAG_DATA)
		flags |= FI_REMOTE_CQ_DATA;
	wf_target_done(&conn->ep->ep, req.seg, req.access.segs, flags, req.len,
		rec->data, shm_conn_source(conn));
	if (!fetch)
		shm_tx_ack(conn, req.id);
	return 0;
}

/* ---- answers ---- */

int shm_recv_resp(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	struct shm_span to = { .len = 0 };

	if (!tx || (tx->op != WF_OP_FETCH && tx->op != WF_OP_COMPARE))
		return -FI_EPROTO;
	to.count = tx->result_count;
	for (unsigned int i = 0; i < tx->result_count; i++) {
		to.iov[i] = tx->result[i];
		to.len += tx->result[i].iov_len;
	}
	if (to.len != rec->len)
		return -FI_EPROTO;
	(void)shm_span_put(conn->ep, &to, 0, rec->blob, rec->len);
	shm_tx_settle(conn, tx, 0);
	return 0;
}

/* Can the operation end with nothing but a word? */
static bool may_end(const struct shm_tx *tx)
{
	return tx->op != WF_OP_FETCH && tx->op != WF_OP_COMPARE &&
	       (tx->op != WF_OP_READ || !tx->local.len);
}

int shm_recv_ack(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx;
	uint64_t id;

	if (rec->len % sizeof(id))
		return -FI_EPROTO;
	for (size_t at = 0; at < rec->len; at += sizeof(id)) {
		memcpy(&id, rec->blob + at, sizeof(id));
		tx = shm_id_find(conn, id, SHM_ID_TX);
		if (!tx || !may_end(tx))
			return -FI_EPROTO;
		shm_tx_settle(conn, tx, 0);
	}
	return 0;
}

int shm_recv_error(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	uint32_t err;

	if (!tx || rec->len != sizeof(err))
		return -FI_EPROTO;
	memcpy(&err, rec->blob, sizeof(err));
	shm_tx_settle(conn, tx, err && err < FI_ERRNO_MAX ? (int)err : FI_EIO);
	return 0;
}
