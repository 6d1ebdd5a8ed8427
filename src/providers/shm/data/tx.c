/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "providers/shm/conn/conn.h"
#include "providers/shm/data/parts.h"
#include "providers/shm/data/withdraw.h"

/* Operations that could not end in the call that posted them, and answers to peers'
 * operations. */

/* Bytes for counters of bytes: the length of an atomic is that of its segments, also if
 * it has no operands. */
static size_t length_of(const struct shm_tx *tx)
{
	size_t len = 0;

	if (tx->op < WF_OP_ATOMIC)
		return tx->local.len;
	for (unsigned int i = 0; i < tx->seg_count; i++)
		len += tx->seg[i].len;
	return len;
}

struct shm_tx *shm_tx_blank(struct shm_ep *ep)
{
	struct shm_tx *tx = wf_pool_get(&ep->tx_pool);

	if (tx) {
		memset(tx, 0, offsetof(struct shm_tx, local.iov));
		tx->op = WF_OP_COUNT;
	}
	return tx;
}

static void keep_local(struct shm_span *local, const struct wf_op *op)
{
	local->count = (uint8_t)op->iov_count;
	for (size_t i = 0; i < op->iov_count; i++)
		local->iov[i] = op->iov[i];
}

/* Copy what an injected operation sends. The comparands of an atomic operation are
 * behind its operands. */
static bool keep_buffers(struct shm_tx *tx, const struct wf_op *op)
{
	struct shm_span *local = &tx->local;
	size_t comparands =
		op->atomic ? wf_iov_len(op->atomic->compare, op->atomic->compare_count)
			   : 0;

	if (op->flags & FI_INJECT && op->len) {
		tx->copy = malloc(op->len + comparands);
		if (!tx->copy)
			return false;
		tx->copy_len = wf_iov_gather(tx->copy, op->iov, op->iov_count);
		if (comparands)
			(void)wf_iov_gather(tx->copy + tx->copy_len,
				op->atomic->compare, op->atomic->compare_count);
		local->iov[0] = (struct iovec){ tx->copy, tx->copy_len };
		local->count = 1;
		return true;
	}
	keep_local(local, op);
	return true;
}

static void keep_atomic(struct shm_tx *tx, const struct wf_op_atomic *atomic)
{
	tx->datatype = (uint8_t)atomic->datatype;
	tx->atomic_op = (uint8_t)atomic->op;
	tx->result_count = (uint8_t)atomic->result_count;
	tx->compare_count = (uint8_t)atomic->compare_count;
	for (size_t i = 0; i < atomic->result_count; i++)
		tx->result[i] = atomic->result[i];
	for (size_t i = 0; i < atomic->compare_count; i++)
		tx->compare[i] = atomic->compare[i];
	if (tx->copy && tx->compare_count) {
		tx->compare_count = 1;
		tx->compare[0] =
			(struct iovec){ tx->copy + tx->copy_len, atomic->size };
	}
}

static void keep_op(struct shm_ep *ep, struct shm_tx *tx, const struct wf_op *op)
{
	tx->local.len = op->len;
	tx->local.past = shm_is_past(op->len);
	tx->op_flags = op->flags;
	tx->context = op->context;
	tx->addr = op->addr;
	tx->op = (uint8_t)op->kind;
	tx->tag = op->tag;
	tx->data = op->data;
	tx->seg_count = (uint8_t)op->rma_count;
	for (size_t i = 0; i < op->rma_count; i++)
		tx->seg[i] = op->rma[i];
	if (op->atomic)
		keep_atomic(tx, op->atomic);
	ep->tx_pending++;
}

struct shm_tx *shm_tx_new(struct shm_ep *ep, const struct wf_op *op)
{
	struct shm_tx *tx = shm_tx_blank(ep);

	if (!tx)
		return NULL;
	if (!keep_buffers(tx, op)) {
		wf_pool_put(&ep->tx_pool, tx);
		return NULL;
	}
	keep_op(ep, tx, op);
	return tx;
}

void shm_tx_describe(
	const struct shm_tx *tx, struct wf_op *op, struct wf_op_atomic *atomic)
{
	*op = (struct wf_op){
		.kind = (enum wf_op_kind)tx->op,
		.flags = tx->op_flags,
		.iov = tx->local.iov,
		.iov_count = tx->local.count,
		.len = tx->local.len,
		.addr = tx->addr,
		.context = tx->context,
		.data = tx->data,
		.rma = tx->seg,
		.rma_count = tx->seg_count,
	};
	if (tx->op < WF_OP_ATOMIC)
		return;
	*atomic = (struct wf_op_atomic){
		.datatype = (enum fi_datatype)tx->datatype,
		.op = (enum fi_op)tx->atomic_op,
		.size = length_of(tx),
		.count = length_of(tx) / wf_atomic_size((enum fi_datatype)tx->datatype),
		.result = tx->result,
		.result_count = tx->result_count,
		.compare = tx->compare,
		.compare_count = tx->compare_count,
	};
	op->atomic = atomic;
}

struct shm_tx *shm_tx_sent(struct shm_ep *ep, const struct wf_op *op)
{
	struct shm_tx *tx = shm_tx_blank(ep);

	if (!tx)
		return NULL;
	if (op->kind == WF_OP_READ)
		keep_local(&tx->local, op);
	keep_op(ep, tx, op);
	return tx;
}

/* Is the end of @tx not reported to the application? */
static bool is_silent(const struct shm_tx *tx)
{
	return tx->op == WF_OP_COUNT || tx->is_completed || tx->whole;
}

void shm_tx_free(struct shm_ep *ep, struct shm_tx *tx)
{
	if (!is_silent(tx))
		ep->tx_pending--;
	free(tx->copy);
	wf_pool_put(&ep->tx_pool, tx);
}

void shm_tx_complete(struct shm_ep *ep, struct shm_tx *tx)
{
	const struct wf_op_report *report = &wf_op_reports[tx->op];

	if (!is_silent(tx))
		wf_ep_tx_done(&ep->ep, report->cntr, tx->context, tx->op_flags,
			report->comp_flags, length_of(tx));
	shm_tx_free(ep, tx);
}

void shm_tx_report_failure(struct shm_ep *ep, const struct shm_failure *failure)
{
	const struct wf_op_report *report = &wf_op_reports[failure->kind];
	char name[SHM_NAME_MAX];
	struct fi_cq_err_entry entry = {
		.op_context = failure->context,
		.flags = report->comp_flags,
		.err = failure->err,
		.prov_errno = failure->err,
		.src_addr = failure->addr,
		.err_data = name,
		.err_data_size = strlen(failure->peer) + 1,
	};

	memcpy(name, failure->peer, entry.err_data_size);
	wf_ep_tx_fail(&ep->ep, report->cntr, failure->op_flags, &entry);
}

void shm_tx_fail(struct shm_ep *ep, struct shm_tx *tx, int err, const char *peer)
{
	if (!is_silent(tx))
		shm_tx_report_failure(
			ep, &(struct shm_failure){ .kind = (enum wf_op_kind)tx->op,
				    .err = err,
				    .op_flags = tx->op_flags,
				    .context = tx->context,
				    .addr = tx->addr,
				    .peer = peer });
	shm_tx_free(ep, tx);
}

void shm_tx_drop_id(struct shm_conn *conn, struct shm_tx *tx)
{
	if (!tx->id)
		return;
	shm_id_free(conn, tx->id);
	conn->unsettled--;
	tx->id = 0;
}

void shm_tx_settle(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	struct shm_tx *whole = tx->whole;
	struct shm_ep *ep = conn->ep;

	if (wf_unlikely(tx->parts)) {
		shm_parts_await(conn, tx, err);
		return;
	}
	if (tx->in_record)
		shm_withdraw_end(conn, tx);
	shm_tx_drop_id(conn, tx);
	if (tx->token)
		conn->tokens &= ~(1ull << (tx->token - 1));
	wf_list_remove(&tx->link);
	if (err)
		shm_tx_fail(ep, tx, err, shm_conn_name(conn));
	else
		shm_tx_complete(ep, tx);
	if (whole)
		shm_parts_ended(conn, whole, err);
	/* Operations behind a fence may be sent now. */
	if (!wf_list_empty(&conn->txq))
		shm_out_dirty(conn);
}

void shm_tx_answer(struct shm_conn *conn, uint8_t kind, uint64_t word, const void *blob,
	size_t len)
{
	struct shm_tx *tx = shm_tx_blank(conn->ep);

	if (tx && len)
		tx->copy = malloc(len);
	if (!tx || (len && !tx->copy)) {
		if (tx)
			wf_pool_put(&conn->ep->tx_pool, tx);
		shm_conn_fail(conn, FI_ENOMEM);
		return;
	}
	tx->kind = kind;
	tx->tag = word;
	tx->copy_len = len;
	if (len)
		memcpy(tx->copy, blob, len);
	wf_list_push(&conn->answers, &tx->link);
	shm_answer_begin(conn, tx);
	shm_out_dirty(conn);
}

struct shm_tx *shm_tx_stream(struct shm_conn *conn, uint64_t sink)
{
	struct shm_tx *tx = shm_tx_blank(conn->ep);

	if (!tx) {
		shm_conn_fail(conn, FI_ENOMEM);
		return NULL;
	}
	tx->sink = sink;
	shm_answer_begin(conn, tx);
	wf_list_push(&conn->streams, &tx->link);
	shm_out_dirty(conn);
	return tx;
}

void shm_tx_error(struct shm_conn *conn, uint64_t id, int err)
{
	uint32_t code = (uint32_t)err;

	shm_out_answer(conn, SHM_REC_ERROR, id, &code, sizeof(code));
}

void shm_tx_ack(struct shm_conn *conn, uint64_t id)
{
	uint32_t capacity = conn->ack_capacity ? conn->ack_capacity * 2 : 64;
	uint64_t *acks;

	if (conn->ack_count == conn->ack_capacity) {
		acks = realloc(conn->acks, capacity * sizeof(*acks));
		if (!acks) {
			shm_conn_fail(conn, FI_ENOMEM);
			return;
		}
		conn->acks = acks;
		conn->ack_capacity = capacity;
	}
	conn->acks[conn->ack_count++] = id;
	if (!conn->polling)
		shm_out_dirty(conn);
}
