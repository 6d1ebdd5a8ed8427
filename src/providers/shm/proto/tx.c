/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/tx.h"

#include <stdlib.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "providers/shm/proto/id.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/withdraw.h"

/* Operations that could not end in the call that posted them, and answers to peers'
 * operations. */

/* Bytes for counters of bytes: the length of an atomic is that of its segments, also if
 * it has no operands. */
static size_t tx_length_of(const struct shm_tx *tx)
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
	struct shm_tx *tx = wf_pool_get(&ep->tx.pool);

	if (tx) {
		memset(tx, 0, offsetof(struct shm_tx, local.iov));
		tx->op = WF_OP_COUNT;
	}
	return tx;
}

static void tx_keep_local(struct shm_span *local, const struct wf_op *op)
{
	local->count = (uint8_t)op->iov_count;
	for (size_t i = 0; i < op->iov_count; i++)
		local->iov[i] = op->iov[i];
}

/* Copy what an injected operation sends. The comparands of an atomic operation are
 * behind its operands. */
static bool tx_keep_buffers(struct shm_tx *tx, const struct wf_op *op)
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
	tx_keep_local(local, op);
	return true;
}

static void tx_keep_atomic(struct shm_tx *tx, const struct wf_op_atomic *atomic)
{
	tx->atomic.datatype = (uint8_t)atomic->datatype;
	tx->atomic.op = (uint8_t)atomic->op;
	tx->atomic.result_count = (uint8_t)atomic->result_count;
	tx->atomic.compare_count = (uint8_t)atomic->compare_count;
	for (size_t i = 0; i < atomic->result_count; i++)
		tx->result[i] = atomic->result[i];
	for (size_t i = 0; i < atomic->compare_count; i++)
		tx->compare[i] = atomic->compare[i];
	if (tx->copy && tx->atomic.compare_count) {
		tx->atomic.compare_count = 1;
		tx->compare[0] =
			(struct iovec){ tx->copy + tx->copy_len, atomic->size };
	}
}

static void tx_keep_op(struct shm_ep *ep, struct shm_tx *tx, const struct wf_op *op)
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
		tx_keep_atomic(tx, op->atomic);
	ep->tx.pending++;
}

struct shm_tx *shm_tx_new(struct shm_ep *ep, const struct wf_op *op)
{
	struct shm_tx *tx = shm_tx_blank(ep);

	if (!tx)
		return NULL;
	if (!tx_keep_buffers(tx, op)) {
		wf_pool_put(&ep->tx.pool, tx);
		return NULL;
	}
	tx_keep_op(ep, tx, op);
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
		.datatype = (enum fi_datatype)tx->atomic.datatype,
		.op = (enum fi_op)tx->atomic.op,
		.size = tx_length_of(tx),
		.count = tx_length_of(tx) /
			 wf_atomic_size((enum fi_datatype)tx->atomic.datatype),
		.result = tx->result,
		.result_count = tx->atomic.result_count,
		.compare = tx->compare,
		.compare_count = tx->atomic.compare_count,
	};
	op->atomic = atomic;
}

struct shm_tx *shm_tx_sent(struct shm_ep *ep, const struct wf_op *op)
{
	struct shm_tx *tx = shm_tx_blank(ep);

	if (!tx)
		return NULL;
	if (op->kind == WF_OP_READ)
		tx_keep_local(&tx->local, op);
	tx_keep_op(ep, tx, op);
	return tx;
}

/* Is the end of @tx not reported to the application? */
static bool tx_is_silent(const struct shm_tx *tx)
{
	return tx->op == WF_OP_COUNT || tx->is_completed || tx->parts.whole;
}

void shm_tx_free(struct shm_ep *ep, struct shm_tx *tx)
{
	if (!tx_is_silent(tx))
		ep->tx.pending--;
	free(tx->copy);
	wf_pool_put(&ep->tx.pool, tx);
}

void shm_tx_complete(struct shm_ep *ep, struct shm_tx *tx)
{
	const struct wf_op_report *report = &wf_op_reports[tx->op];

	if (!tx_is_silent(tx))
		wf_ep_tx_done(&ep->ep, report->cntr, tx->context, tx->op_flags,
			report->comp_flags, tx_length_of(tx));
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
	if (!tx_is_silent(tx))
		shm_tx_report_failure(
			ep, &(struct shm_failure){ .kind = (enum wf_op_kind)tx->op,
				    .err = err,
				    .op_flags = tx->op_flags,
				    .context = tx->context,
				    .addr = tx->addr,
				    .peer = peer });
	shm_tx_free(ep, tx);
}

bool shm_tx_need_id(struct shm_conn *conn, struct shm_tx *tx)
{
	if (tx->id)
		return true;
	tx->id = shm_id_new(conn, SHM_ID_TX, tx);
	if (tx->id)
		conn->waits.unsettled++;
	else
		shm_conn_fail(conn, FI_ENOMEM);
	return tx->id != 0;
}

void shm_tx_drop_id(struct shm_conn *conn, struct shm_tx *tx)
{
	if (!tx->id)
		return;
	shm_id_free(conn, tx->id);
	conn->waits.unsettled--;
	tx->id = 0;
}

void shm_tx_settle_later(struct shm_conn *conn, struct shm_tx *tx)
{
	wf_list_remove(&tx->link);
	wf_list_push(&conn->waits.settling, &tx->link);
}

static void tx_note_part(struct shm_tx *whole, int err)
{
	if (!whole->parts.err)
		whole->parts.err = err;
}

/* @tx would end with @err, but has parts that have not ended. */
static void tx_await_parts(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	shm_tx_drop_id(conn, tx);
	tx_note_part(tx, err);
	tx->parts.are_ended = true;
	shm_tx_settle_later(conn, tx);
}

static void tx_end(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	struct shm_ep *ep = conn->ep;

	if (tx->request.in_record)
		shm_withdraw_end(conn, tx);
	shm_tx_drop_id(conn, tx);
	if (tx->token)
		conn->waits.tokens &= ~(1ull << (tx->token - 1));
	wf_list_remove(&tx->link);
	if (err)
		shm_tx_fail(ep, tx, err, shm_conn_name(conn));
	else
		shm_tx_complete(ep, tx);
}

/* A part of @whole has ended with @err. */
static void tx_part_ended(struct shm_conn *conn, struct shm_tx *whole, int err)
{
	tx_note_part(whole, err);
	if (!--whole->parts.count && whole->parts.are_ended)
		tx_end(conn, whole, whole->parts.err);
}

void shm_tx_settle(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	struct shm_tx *whole = tx->parts.whole;

	if (wf_unlikely(tx->parts.count)) {
		tx_await_parts(conn, tx, err);
		return;
	}
	tx_end(conn, tx, err);
	if (whole)
		tx_part_ended(conn, whole, err);
	/* Operations behind a fence may be sent now. */
	if (!wf_list_empty(&conn->queue.txq))
		shm_out_dirty(conn);
}
