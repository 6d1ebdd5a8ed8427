/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/withdraw.h"

#include <string.h>

#include "providers/shm/copy/remote.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/verdict.h"
#include "sys/membarrier.h"

static uint32_t withdraw_load_taken(const struct shm_conn *conn)
{
	/* W3 */
	return atomic_load_explicit(&conn->out.lane->taken, memory_order_acquire);
}

/* ---- operations ---- */

static struct shm_tx *withdraw_tx_of(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_tx, link);
}

/* Is record @number behind @from? Numbers run free. */
static bool withdraw_is_behind(uint32_t number, uint32_t from)
{
	return (int32_t)(number - from) > 0;
}

/* The first request with an id that can be withdrawn, or was if @gone, and whose record
 * is not before @first. */
static struct shm_tx *withdraw_first_tx(
	struct shm_conn *conn, bool gone, uint32_t first)
{
	wf_list_foreach(link, &conn->waits.settling)
	{
		struct shm_tx *tx = withdraw_tx_of(link);

		if (tx->request.in_record && (!gone || tx->request.is_gone) &&
			!withdraw_is_behind(first, tx->request.number))
			return tx;
	}
	return NULL;
}

/* Make an operation of the request in the lane, which has no other description. */
static struct shm_tx *withdraw_tx_of_record(
	struct shm_conn *conn, const struct shm_verdict_op *verdict)
{
	const struct shm_slot *slot = shm_slot_at(conn->out.lane, verdict->number);
	const uint8_t *blob = slot->blob + sizeof(uint64_t);
	struct fi_rma_iov seg;
	struct wf_op op = {
		.kind = WF_OP_WRITE,
		.flags = verdict->flags | FI_INJECT,
		.iov = &op.one,
		.iov_count = 1,
		.len = verdict->len,
		.addr = verdict->addr,
		.context = verdict->context,
		.data = slot->data,
		.rma = &seg,
		.rma_count = 1,
		.one = { (void *)(uintptr_t)(slot->blob + SHM_ACCESS_HEAD),
			verdict->len },
	};
	struct shm_tx *tx;

	memcpy(&seg, blob, sizeof(seg));
	/* The peer may have written there. */
	seg.len = verdict->len;
	tx = shm_tx_new(conn->ep, &op);
	if (tx)
		tx->op_flags = verdict->flags;
	return tx;
}

static struct shm_tx *withdraw_take_verdict(struct shm_conn *conn)
{
	struct shm_tx *tx = withdraw_tx_of_record(conn, shm_verdict_at(conn, 0));

	if (tx)
		shm_verdict_drop(conn);
	else
		shm_conn_fail(conn, FI_ENOMEM);
	return tx;
}

static struct shm_tx *withdraw_take_tx(struct shm_conn *conn, struct shm_tx *tx)
{
	shm_withdraw_end(conn, tx);
	shm_tx_drop_id(conn, tx);
	tx->request.by_lane = false;
	wf_list_remove(&tx->link);
	return tx;
}

/* Take the first operation that was withdrawn from those that wait; NULL: none is left,
 * or there is no memory. */
static struct shm_tx *withdraw_take_gone(struct shm_conn *conn, uint32_t first)
{
	const struct shm_verdict_op *verdict = shm_verdict_at(conn, 0);
	struct shm_tx *tx = withdraw_first_tx(conn, true, first);

	if (verdict &&
		(!verdict->is_gone || withdraw_is_behind(first, verdict->number)))
		verdict = NULL;
	if (verdict && (!tx || withdraw_is_behind(tx->request.number, verdict->number)))
		return withdraw_take_verdict(conn);
	return tx ? withdraw_take_tx(conn, tx) : NULL;
}

void shm_withdraw_from(struct shm_conn *conn, uint32_t number)
{
	struct wf_list *last = &conn->queue.txq;
	struct shm_tx *tx;

	conn->patience.is_silent = true;
	conn->patience.is_asking = false;
	conn->patience.taken = withdraw_load_taken(conn);
	while ((tx = withdraw_take_gone(conn, number))) {
		wf_list_insert_after(last, &tx->link);
		last = &tx->link;
	}
	shm_out_dirty(conn);
}

int shm_withdraw_confirm(struct shm_conn *conn, struct shm_tx *tx)
{
	if (!tx)
		return 0;
	if (!tx->request.is_gone)
		return -FI_EPROTO;
	shm_withdraw_from(conn, tx->request.number);
	return 0;
}

/* ---- records ---- */

static uint64_t withdraw_head_at(const struct shm_conn *conn, uint32_t number)
{
	return shm_slot_head(shm_slot_at(conn->out.lane, number));
}

static bool withdraw_is_request(uint64_t head)
{
	uint8_t kind = shm_head_kind(head);

	return kind == SHM_REC_WRITE || kind == SHM_REC_READ;
}

static bool withdraw_may_be_gone(uint64_t head)
{
	return withdraw_is_request(head) || shm_head_kind(head) == SHM_REC_GONE;
}

/* Is nothing that is withdrawn ordered behind the record? */
static bool withdraw_is_passed(const struct shm_conn *conn, uint32_t number)
{
	const struct shm_slot *slot = shm_slot_at(conn->out.lane, number);
	uint64_t head = withdraw_head_at(conn, number);

	switch (shm_head_kind(head)) {
	case SHM_REC_WRITE:
	case SHM_REC_READ:
		return !(shm_head_flags(head) & SHM_FLAG_MORE) &&
		       (uint8_t)slot->word == 1;
	case SHM_REC_MSG:
	case SHM_REC_TAGGED:
	case SHM_REC_RTS:
	case SHM_REC_TAGGED_RTS:
	case SHM_REC_ATOMIC:
	case SHM_REC_FETCH:
	case SHM_REC_COMPARE:
		return false;
	default:
		return true;
	}
}

static void withdraw_store_gone(struct shm_conn *conn, uint32_t number)
{
	uint64_t head = withdraw_head_at(conn, number);
	const uint64_t kind = UINT64_C(0xff) << 32;

	/* W2: release, so that earlier records are stored later. */
	if (withdraw_is_request(head))
		atomic_store_explicit(&shm_slot_at(conn->out.lane, number)->head,
			(head & ~kind) | (uint64_t)SHM_REC_GONE << 32,
			memory_order_release);
}

/* The operations of records behind @taken, up to @end, are withdrawn. */
static void withdraw_mark(struct shm_conn *conn, uint32_t taken, uint32_t end)
{
	struct shm_verdict_op *verdict;

	for (uint32_t i = 0; (verdict = shm_verdict_at(conn, i)); i++)
		if (withdraw_is_behind(verdict->number, taken) &&
			!withdraw_is_behind(verdict->number, end))
			verdict->is_gone = true;
	wf_list_foreach(link, &conn->waits.settling)
	{
		struct shm_tx *tx = withdraw_tx_of(link);

		if (tx->request.in_record &&
			withdraw_is_behind(tx->request.number, taken) &&
			!withdraw_is_behind(tx->request.number, end))
			tx->request.is_gone = true;
	}
}

/* Has the peer taken any of the requests that wait? */
static bool withdraw_is_any_taken(struct shm_conn *conn, uint32_t taken)
{
	const struct shm_verdict_op *verdict = shm_verdict_at(conn, 0);
	const struct shm_tx *tx = withdraw_first_tx(conn, false, taken + 1 - SHM_SLOTS);

	return (verdict && !withdraw_is_behind(verdict->number, taken)) ||
	       (tx && !withdraw_is_behind(tx->request.number, taken));
}

/* Can a barrier for both ends be executed? */
static bool withdraw_has_barrier(const struct shm_conn *conn)
{
	return wf_membarrier() || conn->access.remote->table->flags & SHM_TABLE_FENCE;
}

static void shm_withdraw(struct shm_conn *conn, uint32_t taken)
{
	uint32_t last = conn->out.next - 1, end = taken, count = 0;

	while (end != last && withdraw_is_passed(conn, end + 1))
		count += withdraw_may_be_gone(withdraw_head_at(conn, ++end));
	/* The peer may take what is behind them before they are performed. */
	if (!count || end != last || !withdraw_has_barrier(conn))
		return;
	conn->patience.has_withdrawn = true;
	for (uint32_t number = end; number != taken; number--)
		withdraw_store_gone(conn, number);
	withdraw_mark(conn, taken, end);
	(void)wf_membarrier();
	taken = withdraw_load_taken(conn);
	if (!withdraw_is_any_taken(conn, taken)) {
		shm_withdraw_from(conn, taken + 1);
		return;
	}
	/* The peer tells of those that it took. Until then nothing is sent that it
	 * could take before what it left is performed. */
	conn->patience.is_asking = true;
	shm_out_dirty(conn);
}

bool shm_withdraw_is_asking_slow(struct shm_conn *conn)
{
	const struct shm_verdict_op *verdict;
	bool asks = withdraw_first_tx(
		conn, true, withdraw_load_taken(conn) + 1 - SHM_SLOTS);

	for (uint32_t i = 0; !asks && (verdict = shm_verdict_at(conn, i)); i++)
		asks = verdict->is_gone;
	conn->patience.is_asking = asks;
	return asks;
}

/* ---- patience ---- */

static struct shm_conn *withdraw_conn_of(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_conn, patience.link);
}

/* Is there a request that may be withdrawn? */
static bool withdraw_is_waiting(struct shm_conn *conn)
{
	const struct shm_verdict_op *verdict = shm_verdict_at(conn, 0);

	return conn->patience.waiting || (verdict && verdict->kind == WF_OP_WRITE);
}

static bool withdraw_is_possible(const struct shm_conn *conn)
{
	return conn->access.remote && conn->process.cma && conn->access.copied &&
	       !conn->err;
}

bool shm_withdraw_is_due(struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->impatient)
	{
		if (withdraw_is_waiting(withdraw_conn_of(link)) &&
			withdraw_is_possible(withdraw_conn_of(link)))
			return true;
	}
	return false;
}

bool shm_withdraw_is_still_silent(struct shm_conn *conn)
{
	uint32_t taken = withdraw_load_taken(conn);

	conn->patience.is_silent =
		taken == conn->patience.taken && taken != conn->out.next - 1;
	return conn->patience.is_silent;
}

static void withdraw_examine(struct shm_conn *conn, uint64_t now)
{
	struct shm_patience *patience = &conn->patience;
	uint32_t taken = withdraw_load_taken(conn);
	/* It acts on the first request, or its answer has come. */
	bool moves = !patience->since_ns || taken != patience->taken ||
		     withdraw_is_any_taken(conn, taken);

	if (!moves && now - patience->since_ns < SHM_PATIENCE_NS)
		return;
	if (!moves && withdraw_is_possible(conn))
		shm_withdraw(conn, taken);
	patience->since_ns = now;
	patience->taken = taken;
}

void shm_withdraw_progress(struct shm_ep *ep, uint64_t now)
{
	wf_list_foreach_safe(link, &ep->impatient)
	{
		struct shm_conn *conn = withdraw_conn_of(link);

		if (withdraw_is_waiting(conn)) {
			withdraw_examine(conn, now);
			continue;
		}
		conn->patience.since_ns = 0;
		wf_list_remove(link);
	}
}
