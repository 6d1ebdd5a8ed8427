/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/small.h"

#include "providers/shm/proto/id.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/request.h"
#include "providers/shm/proto/verdict.h"
#include "providers/shm/proto/withdraw.h"

/*
 * RMA and atomic operations that fit one slot, written by the call that posts them: an
 * 8 byte write is one cache line. A write or atomic without a result has no id, and is
 * complete when the peer has read its record (verdict.h).
 */

static inline size_t small_payload_of(const struct wf_op *op)
{
	return op->kind == WF_OP_READ ? 0 : op->len;
}

static inline size_t small_compare_of(const struct wf_op *op)
{
	return op->kind == WF_OP_COMPARE ? op->atomic->size : 0;
}

/* Does the peer's answer to the operation have no data? */
static inline bool small_is_write(const struct wf_op *op)
{
	return op->kind == WF_OP_WRITE || op->kind == WF_OP_ATOMIC;
}

/* Create the operation's id, which the peer's answer contains; 0: no memory. */
static uint64_t small_settle_later(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_tx *tx = shm_tx_sent(conn->ep, op);

	if (!tx)
		return 0;
	tx->id = shm_id_new(conn, SHM_ID_TX, tx);
	if (!tx->id) {
		shm_tx_free(conn->ep, tx);
		return 0;
	}
	conn->waits.unsettled++;
	wf_list_push(&conn->waits.settling, &tx->link);
	if (op->kind == WF_OP_READ)
		shm_withdraw_begin(conn, tx);
	return tx->id;
}

/* Stored as a word, not as a structure: a later load of the word is then forwarded from
 * the store. */
static inline uint8_t *small_add_word(uint8_t *to, uint64_t word)
{
	*(volatile uint64_t *)(void *)to = word;
	return to + sizeof(word);
}

static inline uint8_t *small_add_iov(
	uint8_t *to, const struct iovec *iov, size_t count, size_t len)
{
	if (wf_likely(count == 1))
		wf_copy_small(to, iov->iov_base, len);
	else
		(void)wf_iov_gather(to, iov, count);
	return to + len;
}

static void small_write_slot(struct shm_conn *conn, const struct wf_op *op, uint64_t id)
{
	struct shm_slot *slot = shm_writer_slot(&conn->out);
	size_t payload = small_payload_of(op), compare = small_compare_of(op);
	uint8_t *to = slot->blob;

	slot->word = op->atomic
			     ? shm_access_word(1, op->atomic->datatype, op->atomic->op)
			     : shm_access_word(1, 0, 0);
	slot->data = op->data;
	to = small_add_word(to, id);
	to = small_add_word(to, op->rma->addr);
	to = small_add_word(to, op->rma->len);
	to = small_add_word(to, op->rma->key);
	if (payload)
		to = small_add_iov(to, op->iov, op->iov_count, payload);
	if (compare)
		(void)small_add_iov(
			to, op->atomic->compare, op->atomic->compare_count, compare);
	shm_writer_commit(&conn->out, slot, shm_access_kinds[op->kind],
		op->flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0,
		SHM_ACCESS_HEAD + payload + compare);
	shm_out_wake(conn);
}

/* Let a fetching operation wait for its answer. False: it has to be queued; or *ret is
 * an error. */
static bool small_begin_fetch(
	struct shm_conn *conn, const struct wf_op *op, uint64_t *ret_id, ssize_t *ret)
{
	struct shm_ep *ep = conn->ep;

	if (ep->tx.pending >= ep->tx.size)
		return false;
	*ret_id = small_settle_later(conn, op);
	*ret = *ret_id ? 0 : -FI_ENOMEM;
	return true;
}

bool shm_small_start(struct shm_conn *conn, const struct wf_op *op, ssize_t *ret)
{
	uint64_t id = SHM_ID_NONE;

	if (!conn->queue.idle || op->flags & FI_FENCE || op->rma_count != 1 ||
		SHM_ACCESS_HEAD + small_payload_of(op) + small_compare_of(op) >
			SHM_INLINE_MAX ||
		!shm_out_has_space(conn))
		return false;
	if (!(small_is_write(op) ? shm_verdict_begin(conn)
				 : small_begin_fetch(conn, op, &id, ret)))
		return false;
	if (wf_unlikely(*ret))
		return true;
	if (small_is_write(op))
		shm_verdict_await(conn, op);
	small_write_slot(conn, op, id);
	return true;
}
