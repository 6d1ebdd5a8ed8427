/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/uio.h>

#include "providers/shm/data/bulk.h"
#include "providers/shm/data/method.h"
#include "providers/shm/data/proof.h"
#include "providers/shm/data/reuse.h"
#include "sys/clock.h"

/* The sender of a message of which both ends copy pieces; see share.c. */

int shm_recv_share(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	struct shm_share share;

	if (rec->len != sizeof(share))
		return -FI_EPROTO;
	/* Acknowledgements overtake answers that wait for space (shm_out_send_acks):
	 * the receiver has moved the whole payload by itself, and the message is
	 * complete. */
	if (!tx)
		return 0;
	memcpy(&share, rec->blob, sizeof(share));
	if (!tx->asked || !tx->token || tx->begun || tx->is_shared || !share.piece ||
		share.count > SHM_IOV_LIMIT)
		return -FI_EPROTO;
	tx->is_shared = true;
	shm_reuse_interrupt(conn);
	/* The receiver then moves the whole payload. */
	if (!conn->cma)
		return 0;
	tx->piece = share.piece;
	tx->written = 0;
	tx->seg_count = (uint8_t)share.count;
	for (unsigned int i = 0; i < tx->seg_count; i++)
		tx->seg[i] = (struct fi_rma_iov){ .addr = share.iov[i].base,
			.len = share.iov[i].len };
	wf_list_remove(&tx->link);
	wf_list_push(&conn->shares, &tx->link);
	shm_out_dirty(conn);
	return 0;
}

static size_t receiver_iov(const struct shm_tx *tx, struct iovec *iov)
{
	for (unsigned int i = 0; i < tx->seg_count; i++)
		iov[i] = (struct iovec){ (void *)(uintptr_t)tx->seg[i].addr,
			tx->seg[i].len };
	return wf_iov_len(iov, tx->seg_count);
}

static uint64_t pieces_of(const struct shm_tx *tx, uint64_t len)
{
	return len / tx->piece + (len % tx->piece != 0);
}

/* Take a piece from the back; false: none is left. */
static bool take_back(const struct shm_tx *tx, _Atomic uint64_t *word, uint64_t pieces)
{
	uint64_t taken = atomic_load_explicit(word, memory_order_relaxed);

	do {
		if (shm_share_back(taken) != tx->written ||
			shm_share_front(taken) + shm_share_back(taken) >= pieces)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(word, &taken,
		taken + (1ull << 32), memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* Write bytes @at to @end of the payload. False: the kernel does not permit it, or the
 * addresses are wrong. */
static bool write_piece(const struct shm_conn *conn, const struct shm_tx *tx,
	const struct iovec *there, uint64_t at, uint64_t end)
{
	struct iovec from[SHM_IOV_LIMIT], to[SHM_IOV_LIMIT];

	while (at < end) {
		size_t from_count = shm_bulk_rest(
			tx->local.iov, tx->local.count, at, end - at, from);
		size_t to_count = shm_bulk_rest(there, tx->seg_count, at, end - at, to);
		ssize_t ret =
			process_vm_writev(conn->pid, from, from_count, to, to_count, 0);

		if (ret <= 0)
			return false;
		at += (uint64_t)ret;
	}
	return true;
}

static void stop(struct shm_conn *conn, struct shm_tx *tx)
{
	wf_list_remove(&tx->link);
	wf_list_push(&conn->settling, &tx->link);
}

/* Take a piece and write it. */
static void write_next(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_token *token = shm_bulk_token(conn, conn->out_lane, tx->token - 1u);
	struct iovec there[SHM_IOV_LIMIT];
	uint64_t len = WF_MIN((uint64_t)receiver_iov(tx, there), tx->local.len);
	uint64_t pieces = pieces_of(tx, len), at;

	if (!take_back(tx, &token->taken, pieces)) {
		stop(conn, tx);
		return;
	}
	wf_progress_found_some(&conn->ep->ep.progress);
	at = (pieces - 1 - tx->written) * tx->piece;
	if (write_piece(conn, tx, there, at, WF_MIN(at + tx->piece, len))) {
		tx->written++;
		/* release, pairs with the acquire in unwritten. */
		atomic_store_explicit(
			&token->written, tx->written, memory_order_release);
	} else {
		shm_method_no_copies(conn);
		atomic_store_explicit(&token->written, tx->written | SHM_SHARE_STOPPED,
			memory_order_release);
		stop(conn, tx);
	}
	shm_out_wake(conn);
}

/* The receiver reports when a message is complete, also if the sender moved the last
 * piece. */
void shm_share_write(struct shm_conn *conn)
{
	struct shm_tx *tx = wf_list_entry(conn->shares.next, struct shm_tx, link);

	/* The process id of a peer that has died may belong to another process now. */
	if (!shm_proof_is_recent(conn, wf_now_ns())) {
		shm_method_no_copies(conn);
		stop(conn, tx);
		return;
	}
	write_next(conn, tx);
}
