/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/verdict.h"

#include <stdlib.h>

#include "providers/shm/proto/out.h"
#include "providers/shm/proto/withdraw.h"

static struct shm_verdict_op *verdict_first(struct shm_verdicts *v)
{
	return &v->op[v->first % SHM_SLOTS];
}

/* Has the peer read the record of the first operation? */
static bool verdict_is_here(const struct shm_conn *conn)
{
	return (int32_t)(conn->out.seen_slots -
			 verdict_first(conn->waits.verdicts)->number) >= 0 ||
	       shm_writer_has_news(&conn->out);
}

static void verdict_fail(
	struct shm_conn *conn, const struct shm_verdict_op *op, int err)
{
	shm_tx_report_failure(
		conn->ep, &(struct shm_failure){ .kind = (enum wf_op_kind)op->kind,
				  .op_flags = op->flags,
				  .context = op->context,
				  .addr = op->addr,
				  .err = err,
				  .peer = shm_conn_name(conn) });
}

/* Take the error of the record with @number out of the segment; 0: it was executed. */
static int verdict_take_error(struct shm_conn *conn, uint32_t number)
{
	_Atomic uint16_t *at = &conn->out.lane->refused[number % SHM_SLOTS];
	/* relaxed: the position was loaded with acquire (V2). */
	uint16_t err = atomic_load_explicit(at, memory_order_relaxed);

	if (wf_likely(!err))
		return 0;
	/* relaxed: the peer stores here again when it has read a later record. */
	atomic_store_explicit(at, 0, memory_order_relaxed);
	return err;
}

struct shm_verdict_op *shm_verdict_at(struct shm_conn *conn, uint32_t i)
{
	struct shm_verdicts *v = conn->waits.verdicts;

	return v && i < v->count ? &v->op[(v->first + i) % SHM_SLOTS] : NULL;
}

void shm_verdict_drop(struct shm_conn *conn)
{
	conn->waits.verdicts->first++;
	conn->waits.verdicts->count--;
	conn->ep->tx.pending--;
	if (!conn->waits.verdicts->count)
		wf_list_remove(&conn->waits.verdict_link);
}

/* End the operations whose records the peer has read. */
static void verdict_settle(struct shm_conn *conn)
{
	struct shm_verdicts *v = conn->waits.verdicts;
	struct shm_ep *ep = conn->ep;

	/* V2: the load of the position with acquire (L4); pairs with V1. */
	if (!shm_out_refresh(conn))
		return;
	while (v->count) {
		struct shm_verdict_op op = *verdict_first(v);
		int err;

		if ((int32_t)(op.number - conn->out.seen_slots) > 0)
			break;
		err = verdict_take_error(conn, op.number);
		if (wf_unlikely(err == SHM_WITHDRAWN && op.is_gone)) {
			shm_withdraw_from(conn, op.number);
			break;
		}
		shm_verdict_drop(conn);
		if (wf_unlikely(err))
			verdict_fail(conn, &op, err < FI_ERRNO_MAX ? err : FI_EIO);
		else
			wf_ep_tx_done(&ep->ep, wf_op_reports[op.kind].cntr, op.context,
				op.flags, wf_op_reports[op.kind].comp_flags, op.len);
	}
	/* Operations behind a fence may be sent now. */
	if (!wf_list_empty(&conn->queue.txq))
		shm_out_dirty(conn);
}

/* Is the entry in refused[] of the next record that of a waiting operation? */
static bool verdict_is_far(const struct shm_conn *conn)
{
	return conn->waits.verdicts->count &&
	       conn->out.next - verdict_first(conn->waits.verdicts)->number >=
		       SHM_SLOTS;
}

bool shm_verdict_begin(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	if (wf_unlikely(!conn->waits.verdicts)) {
		conn->waits.verdicts = malloc(sizeof(*conn->waits.verdicts));
		if (!conn->waits.verdicts)
			return false;
		conn->waits.verdicts->first = conn->waits.verdicts->count = 0;
	}
	if (wf_likely(ep->tx.pending < ep->tx.size && !verdict_is_far(conn)))
		return true;
	if (conn->waits.verdicts->count)
		verdict_settle(conn);
	return ep->tx.pending < ep->tx.size && !verdict_is_far(conn) && !conn->err;
}

/* Clear the entry of the next record: the peer may have stored there that it found an
 * earlier one withdrawn. (Not before that is possible: to load the entry may move its
 * line between the processes.) */
static __attribute__((noinline)) void verdict_clear(
	struct shm_conn *conn, uint32_t number)
{
	/* relaxed: the position was loaded with acquire since. */
	atomic_store_explicit(
		&conn->out.lane->refused[number % SHM_SLOTS], 0, memory_order_relaxed);
}

void shm_verdict_await(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_verdicts *v = conn->waits.verdicts;
	/* Loaded as a word, as the caller stored it: a load of two words at once would
	 * wait until all stores before it are visible to the peer. */
	uint64_t flags = *(const volatile uint64_t *)&op->flags;

	if (wf_unlikely(conn->patience.has_withdrawn))
		verdict_clear(conn, conn->out.next);
	v->op[(v->first + v->count) % SHM_SLOTS] =
		(struct shm_verdict_op){ .context = op->context,
			.flags = flags,
			.addr = op->addr,
			.number = conn->out.next,
			.kind = (uint8_t)op->kind,
			.len = (uint8_t)op->rma->len };
	conn->ep->tx.pending++;
	conn->ep->chores = true;
	v->count++;
	if (wf_list_empty(&conn->waits.verdict_link))
		wf_list_push(&conn->ep->verdicts, &conn->waits.verdict_link);
	shm_withdraw_watch(conn);
}

static struct shm_conn *verdict_conn(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_conn, waits.verdict_link);
}

void shm_verdict_poll(struct shm_conn *conn)
{
	if (!conn->err && shm_verdict_is_due(conn) && verdict_is_here(conn))
		verdict_settle(conn);
}

void shm_verdict_progress(struct shm_ep *ep)
{
	wf_list_foreach_safe(link, &ep->verdicts)
	{
		shm_verdict_poll(verdict_conn(link));
	}
}

void shm_verdict_end(struct shm_conn *conn, int err)
{
	struct shm_verdicts *v = conn->waits.verdicts;

	wf_list_remove(&conn->waits.verdict_link);
	if (!v)
		return;
	if (v->count && err)
		verdict_settle(conn);
	while (v->count) {
		struct shm_verdict_op *op = verdict_first(v);

		v->first++;
		v->count--;
		conn->ep->tx.pending--;
		if (err)
			verdict_fail(conn, op, err);
	}
	free(v);
	conn->waits.verdicts = NULL;
}

void shm_verdict_arm(struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->verdicts)
	{
		shm_writer_await(&verdict_conn(link)->out);
	}
}

bool shm_verdict_has_news(const struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->verdicts)
	{
		if (verdict_is_here(verdict_conn(link)))
			return true;
	}
	return false;
}

void shm_verdict_refuse(struct shm_conn *conn, int err)
{
	/* V1: relaxed; the store of the position with release (L3) follows; pairs with
	 * V2. */
	atomic_store_explicit(&conn->in.lane->refused[conn->in.next % SHM_SLOTS],
		(uint16_t)err, memory_order_relaxed);
}
