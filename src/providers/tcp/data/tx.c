/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "objects/conn/ip.h"
#include "providers/tcp/memory.h"
#include "providers/tcp/data/stage.h"

/*
 * Adds records to the stream of a connection; flush.c sends them.
 *
 * Small records are copied to the stage, larger ones are sent from the application's
 * buffers. A record gets its number when it is added to the stream, never before.
 */

enum { FEW_MARKS = 16, FEW_BYTES = 1024, MANY_MARKS = 256 };

static struct tcp_stage *tx_stage_new(uint32_t marks, size_t size)
{
	size_t marks_size = marks * sizeof(struct tcp_mark);
	struct tcp_stage *stage = malloc(sizeof(*stage) + marks_size + size);

	if (!stage)
		return NULL;
	stage->head = stage->tail = 0;
	stage->size = size;
	stage->mark_head = stage->mark_tail = 0;
	stage->mark_mask = marks - 1;
	stage->bytes = (uint8_t *)stage->marks + marks_size;
	return stage;
}

static bool tx_is_small(const struct tcp_stage *stage)
{
	return stage->mark_mask != MANY_MARKS - 1;
}

static bool tx_stage_get(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;

	conn->stage = ep->spare_stage;
	ep->spare_stage = NULL;
	if (!conn->stage)
		conn->stage = tx_stage_new(FEW_MARKS, FEW_BYTES);
	return conn->stage != NULL;
}

/* Keep the larger one of two empty stages for the endpoint's connections, and free the
 * other: idle connections have none. */
static void tx_spare(struct tcp_ep *ep, struct tcp_stage *stage)
{
	if (ep->spare_stage && (tx_is_small(stage) || !tx_is_small(ep->spare_stage))) {
		free(stage);
		return;
	}
	free(ep->spare_stage);
	stage->head = stage->tail = 0;
	stage->mark_head = stage->mark_tail = 0;
	ep->spare_stage = stage;
}

void tcp_stage_put(struct tcp_conn *conn)
{
	tx_spare(conn->ep, conn->stage);
	conn->stage = NULL;
}

/* Replace a small stage by a full-sized one. False: it is full-sized already, or no
 * memory. */
static bool tx_stage_grow(struct tcp_conn *conn)
{
	struct tcp_stage *old = conn->stage, *stage;
	struct tcp_ep *ep = conn->ep;

	if (!tx_is_small(old))
		return false;
	stage = ep->spare_stage && !tx_is_small(ep->spare_stage)
			? ep->spare_stage
			: tx_stage_new(MANY_MARKS, ep->stage_size);
	if (!stage)
		return false;
	if (stage == ep->spare_stage)
		ep->spare_stage = NULL;
	stage->tail = old->tail - old->head;
	memcpy(stage->bytes, old->bytes + old->head, stage->tail);
	stage->mark_head = old->mark_head;
	stage->mark_tail = old->mark_tail;
	for (uint32_t i = old->mark_tail; i != old->mark_head; i++)
		stage->marks[i & stage->mark_mask] = old->marks[i & old->mark_mask];
	conn->stage = stage;
	tx_spare(ep, old);
	return true;
}

/* Space for the next @len bytes; NULL: none. */
static inline uint8_t *tx_stage_space(struct tcp_conn *conn, size_t len)
{
	struct tcp_stage *stage = conn->stage;

	if (!stage) {
		if (!tx_stage_get(conn))
			return NULL;
		stage = conn->stage;
	}
	if (stage->head == stage->tail)
		stage->head = stage->tail = 0;
	if (wf_unlikely(len > stage->size - stage->tail)) {
		if (!tx_stage_grow(conn))
			return NULL;
		stage = conn->stage;
		if (len > stage->size - stage->tail)
			return NULL;
	}
	return stage->bytes + stage->tail;
}

static inline void tx_stage_add(struct tcp_conn *conn, size_t len)
{
	conn->stage->tail += len;
	conn->staged += len;
}

void tcp_stage_sent(struct tcp_conn *conn, size_t len)
{
	struct tcp_stage *stage = conn->stage;

	stage->head += len;
	conn->flushed += len;
	while (stage->mark_tail != stage->mark_head) {
		const struct tcp_mark *mark =
			&stage->marks[stage->mark_tail & stage->mark_mask];
		const struct wf_op_report *report = &wf_op_reports[mark->op];

		if (mark->end > conn->flushed)
			break;
		if (wf_likely(mark->from->ep != NULL))
			wf_ep_tx_done(mark->from->ep, report->cntr, mark->context,
				mark->op_flags, report->comp_flags, mark->len);
		stage->mark_tail++;
	}
}

/* wf_ip_op_fail. A connected endpoint's peer has no fi_addr_t. */
static void tx_report_failed(const struct tcp_source *from, unsigned int op,
	void *context, uint64_t op_flags, fi_addr_t addr, int err,
	const union wf_sockaddr *peer)
{
	if (from->ep)
		wf_ip_op_fail(from->ep, (enum wf_op_kind)op, context, op_flags,
			from->ep->type == FI_EP_RDM ? addr : FI_ADDR_NOTAVAIL, err,
			peer);
}

void tcp_tx_drop_stage(struct tcp_conn *conn, int err)
{
	struct tcp_stage *stage = conn->stage;

	if (!stage)
		return;
	for (; err && stage->mark_tail != stage->mark_head; stage->mark_tail++) {
		const struct tcp_mark *mark =
			&stage->marks[stage->mark_tail & stage->mark_mask];

		tx_report_failed(mark->from, mark->op, mark->context, mark->op_flags,
			mark->addr, err, tcp_conn_addr(conn));
	}
	conn->flushed = conn->staged;
	tcp_stage_put(conn);
}

struct tcp_tx *tcp_tx_new(struct tcp_source *from, const struct wf_op *op)
{
	bool inject = op->flags & FI_INJECT;
	size_t copy = inject ? op->len : 0;
	struct tcp_tx *tx;

	if (inject && op->atomic && op->atomic->compare_count)
		copy += op->atomic->size;
	tx = malloc(sizeof(*tx) + copy);
	if (!tx)
		return NULL;
	tx->from = from;
	tx->kept = NULL;
	tx->op_flags = op->flags;
	tx->context = op->context;
	tx->addr = op->addr;
	tx->len = op->len;
	tx->op = (uint8_t)op->kind;
	tx->want = TCP_WANT_SENT;
	tx->from_mr = false;
	tx->rendezvous = false;
	tx->left = false;
	tx->hdr_len = 0;
	tx->done = 0;
	tx->result_count = 0;
	memset(&tx->rec, 0, offsetof(struct tcp_record, seg));
	tx->rec.data = op->data;
	tx->rec.tag = op->tag;
	tx->iov_count = (uint8_t)op->iov_count;
	if (inject && op->len) {
		wf_iov_gather(tx->copy, op->iov, op->iov_count);
		tx->iov[0] = (struct iovec){ tx->copy, op->len };
		tx->iov_count = 1;
	} else {
		for (size_t i = 0; i < op->iov_count; i++)
			tx->iov[i] = op->iov[i];
	}
	from->pending++;
	return tx;
}

struct tcp_tx *tcp_tx_answer(struct tcp_conn *conn, uint8_t kind, size_t copy_len)
{
	struct tcp_tx *tx = malloc(sizeof(*tx) + copy_len);

	if (!tx) {
		tcp_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	memset(tx, 0, offsetof(struct tcp_tx, hdr));
	tx->op = WF_OP_COUNT;
	tx->rec.kind = kind;
	if (copy_len) {
		tx->iov[0] = (struct iovec){ tx->copy, copy_len };
		tx->iov_count = 1;
		tx->rec.payload_len = copy_len;
	}
	wf_list_push(&conn->answers, &tx->link);
	wf_budget_take(
		&conn->ep->answers, &conn->answer_bytes, TCP_ANSWER_COST + copy_len);
	return tx;
}

void tcp_answer_taken(struct tcp_conn *conn, const struct tcp_tx *tx)
{
	size_t cost = TCP_ANSWER_COST + (tx->from_mr ? 0 : tx->rec.payload_len);

	wf_budget_give(&conn->ep->answers, &conn->answer_bytes, cost);
}

void tcp_tx_free(struct tcp_tx *tx)
{
	if (tx->from)
		tx->from->pending--;
	free(tx->kept);
	free(tx);
}

void tcp_tx_complete(struct tcp_tx *tx)
{
	const struct wf_op_report *report = &wf_op_reports[tx->op];

	if (tx->from && wf_likely(tx->from->ep != NULL))
		wf_ep_tx_done(tx->from->ep, report->cntr, tx->context, tx->op_flags,
			report->comp_flags, tx->len);
	tcp_tx_free(tx);
}

void tcp_tx_fail(struct tcp_tx *tx, int err, const union wf_sockaddr *peer)
{
	if (tx->from)
		tx_report_failed(tx->from, tx->op, tx->context, tx->op_flags, tx->addr,
			err, peer);
	tcp_tx_free(tx);
}

void tcp_tx_sent(struct tcp_conn *conn, struct tcp_tx *tx)
{
	tx->done = tx->hdr_len + tx->rec.payload_len;
	if (tx->rec.kind == TCP_REC_ACK ||
		(tx->rec.kind == TCP_REC_ERROR && tx->rec.answer == TCP_ANSWER_ACK))
		conn->acks_ordered--;
	if (tx->from_mr)
		tcp_mr_done(
			conn, &tx->rec, FI_RMA | FI_REMOTE_READ, tx->rec.payload_len);
	switch ((enum tcp_want)tx->want) {
	case TCP_WANT_SENT:
		tcp_tx_complete(tx);
		break;
	case TCP_WANT_ACK:
		wf_list_push(&conn->acks, &tx->link);
		break;
	case TCP_WANT_RESP:
		wf_list_push(&conn->resps, &tx->link);
		break;
	case TCP_WANT_MATCHED:
		wf_list_push(&conn->matches, &tx->link);
		break;
	case TCP_WANT_CTS:
		break; /* the operation is in conn->rts */
	}
}

/* For FI_FENCE: have all earlier operations ended? Messages in the stream that need no
 * answer count as ended, because the peer handles them first. */
static bool tx_settled(const struct tcp_conn *conn)
{
	return wf_list_empty(&conn->acks) && wf_list_empty(&conn->resps) &&
	       wf_list_empty(&conn->matches) && !conn->rts_count && !conn->cleared;
}

/* The payload of a rendezvous may be sent before a fence, because its operation was
 * posted before the fence, and before an operation that waits for an index, which the
 * payload gives back. */
static struct tcp_tx *tx_first_cleared(const struct tcp_conn *conn)
{
	wf_list_foreach(link, &conn->txq)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->rendezvous)
			return tx;
	}
	return NULL;
}

static struct tcp_tx *tx_take_cleared(struct tcp_conn *conn, struct tcp_tx *tx)
{
	wf_list_remove(&tx->link);
	conn->cleared--;
	(void)tcp_slot_set(&conn->rts, tx->rec.index, NULL);
	conn->rts_count--;
	return tx;
}

/* The next operation to send; NULL: none can be sent now. */
static struct tcp_tx *tx_next_op(struct tcp_conn *conn)
{
	while (!wf_list_empty(&conn->txq)) {
		struct tcp_tx *tx = wf_list_entry(conn->txq.next, struct tcp_tx, link);
		int ret;

		if (tx->rendezvous)
			return tx_take_cleared(conn, tx);
		ret = tx->op_flags & FI_FENCE && !tx_settled(conn)
			      ? -FI_EAGAIN
			      : tcp_tx_prepare(conn, tx);
		if (ret == -FI_EAGAIN) {
			tx = conn->cleared ? tx_first_cleared(conn) : NULL;
			return tx ? tx_take_cleared(conn, tx) : NULL;
		}
		wf_list_remove(&tx->link);
		if (!ret)
			return tx;
		tcp_tx_fail(tx, -ret, tcp_conn_addr(conn));
	}
	return NULL;
}

/* A region may have been closed since the read was requested: then the answer is an
 * error. */
static void tx_recheck(struct tcp_conn *conn, struct tcp_tx *tx)
{
	int ret = tcp_mr_check(conn->ep, &tx->rec, FI_REMOTE_READ);

	if (!ret || !(conn->wire.have & TCP_HAVE_ERROR))
		return;
	tx->from_mr = false;
	tx->rec = (struct tcp_record){
		.kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = -ret
	};
}

static struct tcp_tx *tx_next(struct tcp_conn *conn)
{
	struct wf_list *answer = wf_list_pop(&conn->answers);
	struct tcp_tx *tx =
		answer ? wf_list_entry(answer, struct tcp_tx, link) : tx_next_op(conn);

	if (!tx)
		return NULL;
	if (answer)
		tcp_answer_taken(conn, tx);
	if (tx->from_mr)
		tx_recheck(conn, tx);
	tx->hdr_len = (uint8_t)tcp_record_encode(tx->hdr, &conn->wire, &tx->rec);
	tcp_record_stamp(tx->hdr, &conn->number);
	tx->done = 0;
	return tx;
}

static bool tx_stage_acks(struct tcp_conn *conn)
{
	while (conn->acks_due) {
		uint8_t *to = tx_stage_space(conn, TCP_WIRE_BASE);

		if (!to)
			return false;
		tx_stage_add(conn, tcp_put_ack(to, &conn->wire));
		tcp_record_stamp(to, &conn->number);
		conn->acks_due--;
	}
	return true;
}

/* Copy the payload of a read response into the stage. 0, or the error of the region. */
static int tx_stage_mr(struct tcp_conn *conn, struct tcp_tx *tx, uint8_t *to)
{
	struct iovec iov[TCP_IOV_LIMIT];
	uint64_t offset = 0;
	size_t count;
	int ret;

	while (offset < tx->rec.payload_len) {
		ret = tcp_mr_pieces(conn->ep, &tx->rec, offset, FI_REMOTE_READ, iov,
			TCP_IOV_LIMIT, &count);
		if (ret)
			return ret;
		offset += wf_iov_gather(to + offset, iov, count);
		tcp_mr_release(conn->ep);
	}
	return 0;
}

/* Copy a whole record into the stage; false: it does not fit. */
static bool tx_stage_record(struct tcp_conn *conn, struct tcp_tx *tx)
{
	size_t len = tx->hdr_len + tx->rec.payload_len;
	uint8_t *to;

	if (tx->rec.payload_len > TCP_COPY_MAX)
		return false;
	to = tx_stage_space(conn, len);
	if (!to)
		return false;
	memcpy(to, tx->hdr, tx->hdr_len);
	if (!tx->from_mr && tx->rec.payload_len)
		(void)wf_iov_gather(to + tx->hdr_len, tx->iov, tx->iov_count);
	else if (tx->from_mr && tx_stage_mr(conn, tx, to + tx->hdr_len))
		return false;
	tx_stage_add(conn, len);
	return true;
}

void tcp_tx_fill(struct tcp_conn *conn)
{
	struct tcp_tx *tx;

	if (!tx_stage_acks(conn))
		return;
	while ((tx = tx_next(conn))) {
		if (!tx_stage_record(conn, tx)) {
			conn->cur = tx;
			return;
		}
		tcp_tx_sent(conn, tx);
	}
}

bool tcp_tx_take_back(struct tcp_conn *conn, uint64_t before)
{
	struct tcp_stage *stage = conn->stage;

	if (!stage || conn->flushed > before || conn->staged == before)
		return false;
	if (stage->mark_head != stage->mark_tail &&
		stage->marks[(stage->mark_head - 1) & stage->mark_mask].end ==
			conn->staged)
		stage->mark_head--;
	stage->tail -= conn->staged - before;
	conn->staged = before;
	return true;
}

static void tx_mark(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op)
{
	struct tcp_stage *stage = conn->stage;

	stage->marks[stage->mark_head++ & stage->mark_mask] = (struct tcp_mark){
		.from = from,
		.context = op->context,
		.op_flags = op->flags,
		.addr = op->addr,
		.end = conn->staged,
		.len = (uint32_t)op->len,
		.op = (uint8_t)op->kind,
	};
}

static bool tx_marks_full(const struct tcp_stage *stage)
{
	return stage->mark_head - stage->mark_tail == stage->mark_mask + 1;
}

/* Space in the stage for a message and its mark; NULL: none. */
static uint8_t *tx_small_space(struct tcp_conn *conn, size_t len)
{
	uint8_t *to = tx_stage_space(conn, len);

	if (!to || wf_likely(!tx_marks_full(conn->stage)))
		return to;
	return tx_stage_grow(conn) ? tx_stage_space(conn, len) : NULL;
}

bool tcp_tx_small(
	struct tcp_conn *conn, struct tcp_source *from, const struct wf_op *op)
{
	const uint64_t slow = FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
			      FI_MATCH_COMPLETE | FI_FENCE;
	uint16_t flags = op->flags & FI_REMOTE_CQ_DATA ? TCP_FLAG_DATA : 0;
	size_t hdr, capacity = op->len + TCP_WIRE_BASE + 16;
	uint8_t *to;

	if (op->flags & slow || op->addr & conn->ep->context_bits ||
		op->len > TCP_COPY_MAX || conn->cur || !wf_list_empty(&conn->txq))
		return false;
	to = tx_small_space(conn, capacity);
	if (wf_unlikely(!to)) {
		tcp_tx_flush(conn);
		to = conn->cur || conn->err ? NULL : tx_small_space(conn, capacity);
		if (!to)
			return false;
	}
	hdr = op->kind == WF_OP_TSEND
		      ? tcp_put_tagged(
				to, &conn->wire, flags, op->data, op->tag, op->len)
		      : tcp_put_msg(to, &conn->wire, flags, op->data, op->len);
	tcp_record_stamp(to, &conn->number);
	tx_stage_add(conn, hdr + wf_iov_gather(to + hdr, op->iov, op->iov_count));
	if (op->flags & FI_COMPLETION || wf_ep_counts(from->ep, WF_CNTR_SEND) ||
		op->flags & WF_OP_WORK)
		tx_mark(conn, from, op);
	return true;
}
