/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/access.h"

#include <stdlib.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/rx.h"
#include "providers/shm/proto/verdict.h"

/* Peers' RMA and atomic operations on local memory. */

/* Limit of operands and result of an atomic operation on the stack, in bytes: a thread
 * of the application may have a small stack. */
enum { SMALL_ATOMIC = 1024 };

/* The decoded beginning of an RMA or atomic record. */
struct request {
	uint8_t segs;         /* number of segments */
	uint8_t datatype, op; /* of an atomic operation: enum fi_datatype, enum fi_op */
	uint64_t id;          /* the peer's id of the operation */
	uint64_t len;         /* length of all segments in bytes */
	struct fi_rma_iov seg[SHM_RMA_LIMIT];
	const uint8_t *payload; /* in the lane: what is written, or the operands */
	size_t payload_len;     /* in bytes */
};

static int access_parse(const struct shm_record *rec, struct request *req)
{
	size_t head = sizeof(req->id);

	req->segs = (uint8_t)rec->word;
	req->datatype = (uint8_t)(rec->word >> 8);
	req->op = (uint8_t)(rec->word >> 16);
	head += req->segs * sizeof(req->seg[0]);
	if (req->segs > SHM_RMA_LIMIT || rec->len < head)
		return -FI_EPROTO;
	memcpy(&req->id, rec->blob, sizeof(req->id));
	req->payload = rec->blob + head;
	req->payload_len = rec->len - head;
	req->len = 0;
	for (unsigned int i = 0; i < req->segs; i++) {
		memcpy(&req->seg[i],
			rec->blob + sizeof(req->id) + i * sizeof(req->seg[i]),
			sizeof(req->seg[i]));
		if (__builtin_add_overflow(req->len, req->seg[i].len, &req->len))
			return -FI_EPROTO;
	}
	return 0;
}

static struct wf_mr_map *shm_access_map_of(struct shm_conn *conn)
{
	return wf_ep_mr_map(&conn->ep->ep);
}

static void access_set_span(struct shm_span *span, const struct request *req)
{
	span->len = req->len;
	span->remote = true;
	span->past = shm_is_past(req->len);
	span->count = req->segs;
	memcpy(span->seg, req->seg, req->segs * sizeof(req->seg[0]));
}

/* The operation of the record that is being read was executed. */
static inline void access_executed(struct shm_conn *conn, uint64_t id)
{
	if (id == SHM_ID_NONE)
		conn->tells = true;
	else
		shm_answer_ack(conn, id);
}

/* It is refused with @err, a negative fi_errno. */
static void access_refused(struct shm_conn *conn, uint64_t id, int err)
{
	if (id != SHM_ID_NONE) {
		shm_answer_error(conn, id, -err);
		return;
	}
	shm_verdict_refuse(conn, -err);
	conn->tells = true;
}

static uint64_t access_with_data(const struct shm_record *rec, uint64_t comp_flags)
{
	return rec->flags & SHM_FLAG_DATA ? comp_flags | FI_REMOTE_CQ_DATA : comp_flags;
}

/* Count the operation and write remote CQ data, after wf_target_one_piece. Releases the
 * lock of the region map. */
static void access_done_there(struct shm_conn *conn, struct wf_mr *mr,
	const struct shm_record *rec, uint64_t comp_flags, size_t len)
{
	wf_ep_remote_done(&conn->ep->ep, mr, access_with_data(rec, comp_flags), len,
		rec->data, shm_conn_source(conn));
	wf_target_release(shm_access_map_of(conn));
}

/* End a peer's write to @to that has the id @id: count it and acknowledge it, or refuse
 * it with @err, a negative fi_errno. @flags: SHM_FLAG_* of its record. */
static void access_end_write(struct shm_conn *conn, const struct shm_span *to,
	uint64_t id, uint8_t flags, uint64_t data, int err)
{
	uint64_t comp_flags = FI_RMA | FI_REMOTE_WRITE;

	if (err) {
		access_refused(conn, id, err);
		return;
	}
	if (flags & SHM_FLAG_DATA)
		comp_flags |= FI_REMOTE_CQ_DATA;
	wf_target_done(&conn->ep->ep, to->seg, to->count, comp_flags, to->len, data,
		shm_conn_source(conn));
	access_executed(conn, id);
}

void shm_access_written(struct shm_conn *conn, struct shm_sink *sink)
{
	access_end_write(
		conn, &sink->to, sink->request, sink->flags, sink->data, sink->err);
	conn->arriving.writing = NULL;
	shm_bulk_free(sink);
}

static inline uint64_t access_load_word(const uint8_t *from)
{
	return *(const volatile uint64_t *)(const void *)from;
}

/* The peer may change the slot meanwhile, so each word is loaded once. */
bool shm_recv_small_write(struct shm_conn *conn, uint64_t head)
{
	const struct shm_slot *slot = shm_slot_at(conn->in.lane, conn->in.next);
	uint64_t id, flags = shm_head_flags(head), len = shm_head_len(head);
	struct fi_rma_iov seg;
	struct wf_mr *mr;
	uint8_t *to;

	if (flags || len <= SHM_ACCESS_HEAD || len > SHM_INLINE_MAX ||
		*(const volatile uint64_t *)&slot->word != shm_access_word(1, 0, 0))
		return false;
	id = access_load_word(slot->blob);
	seg.addr = access_load_word(slot->blob + 8);
	seg.len = access_load_word(slot->blob + 16);
	seg.key = access_load_word(slot->blob + 24);
	len -= SHM_ACCESS_HEAD;
	if (wf_unlikely(seg.len != len))
		return false;
	to = wf_target_one_piece(shm_access_map_of(conn), &seg, FI_REMOTE_WRITE, &mr);
	if (wf_unlikely(!to))
		return false;
	wf_copy_small(to, slot->blob + SHM_ACCESS_HEAD, len);
	wf_ep_remote_done(
		&conn->ep->ep, mr, FI_RMA | FI_REMOTE_WRITE, len, 0, FI_ADDR_NOTAVAIL);
	wf_target_release(shm_access_map_of(conn));
	access_executed(conn, id);
	return true;
}

/* Fast path of a write in one record to one contiguous segment: the region is looked up
 * once. */
static bool access_write_at_once(
	struct shm_conn *conn, const struct shm_record *rec, const struct request *req)
{
	struct wf_mr *mr;
	uint8_t *to;

	if (req->segs != 1 || rec->flags & SHM_FLAG_MORE ||
		req->payload_len != req->len || !req->len)
		return false;
	to = wf_target_one_piece(
		shm_access_map_of(conn), req->seg, FI_REMOTE_WRITE, &mr);
	if (!to)
		return false;
	shm_copy(to, req->payload, req->len);
	access_done_there(conn, mr, rec, FI_RMA | FI_REMOTE_WRITE, req->len);
	access_executed(conn, req->id);
	return true;
}

int shm_recv_write(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_span span;
	struct shm_sink *sink;
	struct request req;
	int err, ret = access_parse(rec, &req);

	if (ret)
		return ret;
	if (wf_likely(access_write_at_once(conn, rec, &req)))
		return 0;
	err = wf_target_check(
		shm_access_map_of(conn), req.seg, req.segs, FI_REMOTE_WRITE);
	access_set_span(&span, &req);
	if (rec->flags & SHM_FLAG_MORE) {
		if (conn->arriving.writing || req.payload_len || !req.len ||
			req.id == SHM_ID_NONE)
			return -FI_EPROTO;
		sink = shm_bulk_write(conn, req.id);
		if (!sink)
			return 0;
		sink->to = span;
		sink->len = req.len;
		sink->flags = rec->flags;
		sink->data = rec->data;
		sink->err = err;
		conn->arriving.writing = sink;
		return 0;
	}
	if (req.payload_len != req.len)
		return -FI_EPROTO;
	if (!err && req.len)
		err = shm_span_put(conn->ep, &span, 0, req.payload, req.payload_len);
	access_end_write(conn, &span, req.id, rec->flags, rec->data, err);
	return 0;
}

static bool access_read_at_once(
	struct shm_conn *conn, const struct shm_record *rec, const struct request *req)
{
	uint8_t bytes[SHM_INLINE_MAX];
	const uint8_t *from;
	struct wf_mr *mr;

	if (req->segs != 1 || !req->len || req->len > sizeof(bytes))
		return false;
	from = wf_target_one_piece(
		shm_access_map_of(conn), req->seg, FI_REMOTE_READ, &mr);
	if (!from)
		return false;
	wf_copy_small(bytes, from, req->len);
	access_done_there(conn, mr, rec, FI_RMA | FI_REMOTE_READ, req->len);
	shm_answer_send(conn, SHM_REC_DATA, req->id, bytes, req->len);
	return true;
}

/* A read that is not answered at once is answered by a stream, whatever its length. */
int shm_recv_read(struct shm_conn *conn, const struct shm_record *rec)
{
	struct request req;
	struct shm_tx *tx;
	int err, ret = access_parse(rec, &req);

	if (ret || req.payload_len || req.id == SHM_ID_NONE)
		return -FI_EPROTO;
	if (wf_likely(access_read_at_once(conn, rec, &req)))
		return 0;
	err = wf_target_check(
		shm_access_map_of(conn), req.seg, req.segs, FI_REMOTE_READ);
	if (err) {
		shm_answer_error(conn, req.id, -err);
		return 0;
	}
	if (!req.len) {
		shm_answer_ack(conn, req.id);
		return 0;
	}
	tx = shm_answer_stream(conn, req.id);
	if (tx)
		access_set_span(&tx->local, &req);
	return 0;
}

/* The peer has read or written the memory itself. It may have been closed since; the
 * peer can invent an operation here, as it can perform one. */
int shm_recv_performed(struct shm_conn *conn, const struct shm_record *rec)
{
	struct request req;
	uint64_t access;
	int err, ret = access_parse(rec, &req);

	if (ret || req.payload_len || req.datatype || req.op > SHM_DONE_READ)
		return -FI_EPROTO;
	access = req.op == SHM_DONE_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	err = wf_target_check(shm_access_map_of(conn), req.seg, req.segs, access);
	if (err && err != -FI_EKEYREJECTED) {
		if (req.id != SHM_ID_NONE)
			shm_answer_error(conn, req.id, -err);
		return 0;
	}
	wf_target_done(&conn->ep->ep, req.seg, req.segs,
		access_with_data(rec, FI_RMA | access), req.len, rec->data,
		shm_conn_source(conn));
	if (req.id != SHM_ID_NONE)
		shm_answer_ack(conn, req.id);
	return 0;
}

int shm_recv_gone(struct shm_conn *conn, const struct shm_record *rec)
{
	uint64_t id;

	if (rec->len < sizeof(id))
		return -FI_EPROTO;
	memcpy(&id, rec->blob, sizeof(id));
	access_refused(conn, id, -SHM_WITHDRAWN);
	return 0;
}

static enum wf_op_kind shm_access_kind_of(uint8_t kind)
{
	if (kind == SHM_REC_ATOMIC)
		return WF_OP_ATOMIC;
	return kind == SHM_REC_FETCH ? WF_OP_FETCH : WF_OP_COMPARE;
}

/* Number of elements in @len bytes; it is mostly one, so the division is avoided. */
static inline size_t access_elements(size_t len, size_t size)
{
	return wf_likely(len == size) ? 1 : len / size;
}

/* Are there the right number of operands, for an operation that exists? */
static bool access_is_atomic(
	const struct request *req, const struct wf_target_atomic *atomic)
{
	size_t operands = atomic->op == FI_ATOMIC_READ ? 0 : req->len, count;
	size_t size = wf_atomic_size(atomic->datatype);

	if (atomic->kind == WF_OP_COMPARE)
		operands += req->len;
	return !wf_atomic_valid(atomic->kind, atomic->datatype, atomic->op,
		       SHM_ATOMIC_MAX, &count) &&
	       req->len && req->len <= SHM_ATOMIC_MAX &&
	       access_elements(req->len, size) * size == req->len &&
	       req->payload_len == operands;
}

/* Execute an atomic operation with checked operands. */
static int access_run_atomic(struct shm_conn *conn, const struct shm_record *rec,
	const struct wf_target_atomic *atomic)
{
	uint64_t access = wf_target_atomic_access(atomic->kind, atomic->op);
	uint64_t flags = FI_ATOMIC | access;
	struct wf_mr_map *map = shm_access_map_of(conn);
	struct wf_mr *mr;
	uint8_t *at = NULL;
	int ret;

	if (atomic->count == 1)
		at = wf_target_one_piece(
			shm_access_map_of(conn), atomic->seg, access, &mr);
	if (wf_likely(at != NULL)) {
		wf_atomic_apply(atomic->datatype, atomic->op, at, atomic->src,
			atomic->compare, atomic->result,
			access_elements(atomic->len, wf_atomic_size(atomic->datatype)));
		access_done_there(conn, mr, rec, flags, atomic->len);
		return 0;
	}
	ret = wf_target_check(map, atomic->seg, atomic->count, access);
	if (!ret)
		ret = wf_target_atomic(map, atomic);
	if (!ret)
		wf_target_done(&conn->ep->ep, atomic->seg, atomic->count,
			access_with_data(rec, flags), atomic->len, rec->data,
			shm_conn_source(conn));
	return ret;
}

/* Execute the atomic operation of @req and answer it. @memory: for its operands and its
 * result. The operands are read twice, so they are copied: the peer may change the lane
 * meanwhile. */
static void access_serve_atomic(struct shm_conn *conn, const struct shm_record *rec,
	const struct request *req, struct wf_target_atomic *atomic, uint8_t *memory)
{
	uint8_t *found = memory + req->payload_len;
	bool fetch = atomic->kind != WF_OP_ATOMIC;
	int ret;

	shm_copy(memory, req->payload, req->payload_len);
	atomic->src = atomic->op == FI_ATOMIC_READ ? NULL : memory;
	if (atomic->kind == WF_OP_COMPARE)
		atomic->compare = found - req->len;
	if (fetch)
		atomic->result = found;
	ret = access_run_atomic(conn, rec, atomic);
	if (ret)
		access_refused(conn, req->id, ret);
	else if (fetch)
		shm_answer_send(conn, SHM_REC_RESP, req->id, found, req->len);
	else
		access_executed(conn, req->id);
}

static void access_serve_large_atomic(struct shm_conn *conn,
	const struct shm_record *rec, const struct request *req,
	struct wf_target_atomic *atomic)
{
	uint8_t *memory = malloc(req->payload_len + req->len);

	if (memory)
		access_serve_atomic(conn, rec, req, atomic, memory);
	else
		shm_conn_fail(conn, FI_ENOMEM);
	free(memory);
}

int shm_recv_atomic(struct shm_conn *conn, const struct shm_record *rec)
{
	struct wf_target_atomic atomic = { .kind = shm_access_kind_of(rec->kind) };
	uint8_t few[SMALL_ATOMIC];
	struct request req;
	int ret = access_parse(rec, &req);

	if (ret)
		return ret;
	atomic.datatype = req.datatype;
	atomic.op = req.op;
	if (!access_is_atomic(&req, &atomic) ||
		(atomic.kind != WF_OP_ATOMIC && req.id == SHM_ID_NONE))
		return -FI_EPROTO;
	atomic.seg = req.seg;
	atomic.count = req.segs;
	atomic.len = req.len;
	if (wf_likely(req.payload_len + req.len <= sizeof(few)))
		access_serve_atomic(conn, rec, &req, &atomic, few);
	else
		access_serve_large_atomic(conn, rec, &req, &atomic);
	return 0;
}
