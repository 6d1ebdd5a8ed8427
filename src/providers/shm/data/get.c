/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/endpoint/life/target.h"
#include "providers/shm/data/bulk.h"
#include "providers/shm/data/lease.h"
#include "providers/shm/data/method.h"
#include "providers/shm/data/out.h"
#include "providers/shm/data/put.h"

/* Large reads; see put.h. */

/* ---- the target ---- */

static void send_offer(struct shm_conn *conn, struct shm_tx *tx)
{
	struct shm_offer offer = { .piece = tx->piece };
	struct shm_token *token;

	shm_out_fill_rts(conn, tx, &offer.rts);
	token = shm_bulk_token(conn, conn->out_lane, offer.rts.token);
	/* The initiator reads pieces when it has the record, which publishes these. */
	atomic_store_explicit(&token->taken, 0, memory_order_relaxed);
	atomic_store_explicit(&token->written, 0, memory_order_relaxed);
	atomic_store_explicit(&token->read, 0, memory_order_relaxed);
	shm_out_answer(conn, SHM_REC_OFFER, tx->data, &offer,
		SHM_RTS_SIZE(struct shm_offer, tx->local.count));
}

bool shm_get_offer(struct shm_conn *conn, const struct fi_rma_iov *seg, uint64_t id)
{
	struct shm_tx *tx;
	int err;

	if (conn->tokens == UINT64_MAX || seg->len < SHM_PUT_MIN)
		return false;
	tx = shm_tx_blank(conn->ep);
	if (!tx)
		return false;
	tx->lease = shm_lease_new(conn, seg, FI_REMOTE_READ, &tx->local, &err);
	tx->id = tx->lease ? shm_id_new(conn, SHM_ID_TX, tx) : 0;
	if (!tx->id) {
		shm_lease_leave(tx->lease);
		shm_tx_free(conn->ep, tx);
		return false;
	}
	tx->lease->tx = tx;
	tx->data = id;
	tx->piece = shm_share_piece(seg->len);
	shm_answer_begin(conn, tx);
	wf_list_push(&conn->settling, &tx->link);
	send_offer(conn, tx);
	shm_lease_leave(tx->lease);
	return true;
}

void shm_get_forget(struct shm_conn *conn, struct shm_tx *tx)
{
	shm_id_free(conn, tx->id);
	conn->tokens &= ~(1ull << (tx->token - 1));
}

int shm_get_acked(struct shm_conn *conn, struct shm_tx *tx)
{
	struct fi_rma_iov seg = tx->lease ? tx->lease->seg : (struct fi_rma_iov){ 0 };

	if (!tx->lease)
		return -FI_EPROTO;
	if (shm_lease_enter(tx->lease)) {
		shm_lease_leave(tx->lease);
		wf_target_done(&conn->ep->ep, &seg, 1, FI_RMA | FI_REMOTE_READ, seg.len,
			0, shm_conn_source(conn));
	}
	shm_get_forget(conn, tx);
	shm_answer_end(conn, tx);
	wf_list_remove(&tx->link);
	shm_tx_free(conn->ep, tx);
	return 0;
}

void shm_get_stream(struct shm_tx *tx)
{
	struct fi_rma_iov seg = tx->lease->seg;

	shm_lease_end(tx->lease);
	tx->lease = NULL;
	tx->local.remote = true;
	tx->local.count = 1;
	tx->local.seg[0] = seg;
}

/* ---- the initiator ---- */

static int read_offer(
	const struct shm_record *rec, const struct shm_tx *tx, struct shm_offer *offer)
{
	if (!tx || tx->op != WF_OP_READ || !tx->asked || tx->reader || tx->done ||
		rec->len < SHM_RTS_SIZE(struct shm_offer, 0) ||
		rec->len > sizeof(*offer))
		return -FI_EPROTO;
	memset(offer, 0, sizeof(*offer));
	memcpy(offer, rec->blob, rec->len);
	if (offer->rts.count > SHM_IOV_LIMIT ||
		rec->len != SHM_RTS_SIZE(struct shm_offer, offer->rts.count) ||
		!offer->rts.id || offer->rts.token >= SHM_TOKENS ||
		offer->rts.len != tx->local.len || !shm_bulk_is_whole(&offer->rts))
		return -FI_EPROTO;
	return shm_share_is_piece(offer->piece, offer->rts.len) ? 0 : -FI_EPROTO;
}

int shm_recv_offer(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	struct shm_offer offer;
	struct shm_sink *sink;

	if (read_offer(rec, tx, &offer))
		return -FI_EPROTO;
	sink = shm_bulk_write(conn, offer.rts.id);
	if (!sink)
		return 0;
	shm_bulk_set_source(sink, &offer.rts);
	sink->tx = tx;
	sink->to = tx->local;
	sink->how = tx->how;
	tx->reader = sink;
	if (conn->cma &&
		shm_bulk_take_token(shm_bulk_sink_token(sink), sink->request)) {
		shm_share_accept(sink, offer.piece, shm_method_shares(&tx->how));
		shm_bulk_add_pull(sink);
	} else {
		shm_bulk_clear(sink);
	}
	return 0;
}

void shm_get_finish(struct shm_sink *sink, int err)
{
	struct shm_conn *conn = sink->conn;
	struct shm_tx *tx = sink->tx;

	if (sink->pull)
		shm_tx_ack(conn, sink->request);
	shm_bulk_free(sink);
	shm_tx_settle(conn, tx, err);
}

void shm_get_drop(struct shm_tx *tx)
{
	if (tx->reader->shared)
		shm_share_revoke(tx->reader);
	shm_bulk_free(tx->reader);
}
