/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/life.h"

#include "providers/shm/copy/remote.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/pieces.h"
#include "providers/shm/proto/replay.h"
#include "providers/shm/proto/rx.h"
#include "providers/shm/proto/verdict.h"

/* What becomes of operations when a connection begins and ends. */

static void life_end_tx(struct shm_ep *ep, struct shm_tx *tx, int err, const char *peer)
{
	if (err)
		shm_tx_fail(ep, tx, err, peer);
	else
		shm_tx_free(ep, tx);
}

static void life_end_list(struct shm_conn *conn, struct wf_list *list, int err)
{
	struct wf_list *link;

	while ((link = wf_list_pop(list)))
		life_end_tx(conn->ep, shm_tx_of(link), err, shm_conn_name(conn));
}

/* End the operations that were not written into the lane. */
static void life_end_txq(struct shm_conn *conn, int err, bool keep)
{
	wf_list_foreach_safe(link, &conn->queue.txq)
	{
		if (keep && shm_tx_of(link)->is_completed)
			continue;
		wf_list_remove(link);
		life_end_tx(conn->ep, shm_tx_of(link), err, shm_conn_name(conn));
	}
}

static void life_end(struct shm_conn *conn, int err, bool keep)
{
	int bulk_err = err ? err : FI_ECANCELED;

	shm_regions_leave(conn);
	shm_remote_done(conn);
	shm_bulk_end(conn, bulk_err, !err);
	shm_pieces_end(conn, bulk_err, !err);
	wf_unexp_break(&conn->unexp, FI_ECONNRESET);
	shm_verdict_end(conn, err);
	life_end_list(conn, &conn->waits.settling, err);
	life_end_list(conn, &conn->queue.answers, 0);
	life_end_list(conn, &conn->queue.streams, err);
	wf_budget_give(&conn->ep->answers, &conn->queue.answer_bytes,
		conn->queue.answer_bytes);
	life_end_txq(conn, err, keep);
}

static void life_end_waiting(
	struct shm_ep *ep, struct wf_list *link, int err, const char *peer)
{
	life_end_tx(ep, shm_tx_of(link), err, peer);
}

static bool life_is_replayed(const struct wf_list *link)
{
	return shm_tx_of(link)->is_completed;
}

static void life_hand_over(
	struct shm_ep *ep, struct wf_list *link, struct wf_unread *unread)
{
	struct shm_tx *tx = shm_tx_of(link);
	const struct wf_op op = {
		.kind = (enum wf_op_kind)tx->op,
		.flags = tx->op_flags,
		.iov = tx->local.iov,
		.iov_count = tx->local.count,
		.len = tx->copy_len,
		.addr = FI_ADDR_NOTAVAIL,
		.data = tx->data,
		.tag = tx->tag,
	};

	unread->take(unread, &op);
	shm_tx_free(ep, tx);
}

const struct shm_conn_ops shm_life_ops = {
	.begin = shm_regions_enter,
	.dirty = shm_out_dirty,
	.flush = shm_out_flush,
	.read = shm_rx_poll,
	.end = life_end,
	.replay = shm_replay,
	.end_waiting = life_end_waiting,
	.is_replayed = life_is_replayed,
	.hand_over = life_hand_over,
};
