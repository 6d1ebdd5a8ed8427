/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/shm/proto/access.h"
#include "providers/shm/proto/id.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/pieces.h"
#include "providers/shm/proto/rx.h"

/*
 * Streams of DATA records. A clear to send from the peer begins the stream of a message
 * of this endpoint, which out_stream.c writes. DATA records of the peer are pieces of a
 * message, of a write into this endpoint's memory, or of the answer to a read. ep.lock
 * is held.
 */

int shm_recv_cts(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_tx *tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	uint64_t sink;

	if (rec->len != sizeof(sink))
		return -FI_EPROTO;
	memcpy(&sink, rec->blob, sizeof(sink));
	/* The operation has ended: the receiver had read the payload from the memory of
	 * this process before its clear to send arrived. */
	if (!tx)
		return 0;
	if (!tx->asked)
		return -FI_EPROTO;
	/* No effect if the stream has begun, or if the receiver has taken the token: it
	 * then reads the payload. */
	if (tx->begun ||
		(tx->token && !shm_bulk_take_token(shm_bulk_token(conn, conn->out_lane,
							   tx->token - 1u),
				      tx->id)))
		return 0;
	tx->begun = true;
	tx->sink = sink;
	wf_list_remove(&tx->link);
	wf_list_push(&conn->queue.streams, &tx->link);
	shm_out_dirty(conn);
	return 0;
}

/* Store a piece. True: the payload is complete. */
static bool stream_add(struct shm_sink *sink, const struct shm_record *rec)
{
	if (!sink->err)
		sink->err = shm_span_put(
			sink->conn->ep, &sink->to, sink->done, rec->blob, rec->len);
	sink->done += rec->len;
	return sink->done == sink->len;
}

/* A piece of the peer's write, which began with conn->arriving.writing. 0, or
 * -FI_EPROTO: the record belongs to no write. */
static int bulk_stream_data_for_write(
	struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_sink *sink = conn->arriving.writing;

	if (!sink || rec->len > sink->len - sink->done || !rec->len)
		return -FI_EPROTO;
	if (stream_add(sink, rec))
		shm_access_written(conn, sink);
	return 0;
}

/* A piece of the answer to the read @tx. 0, or -FI_EPROTO: there is more than was asked
 * for. */
static int bulk_stream_data_for_read(
	struct shm_conn *conn, struct shm_tx *tx, const struct shm_record *rec)
{
	if (tx->op != WF_OP_READ || rec->len > tx->local.len - tx->done || !rec->len)
		return -FI_EPROTO;
	(void)shm_span_put(conn->ep, &tx->local, tx->done, rec->blob, rec->len);
	tx->done += rec->len;
	if (tx->done == tx->local.len)
		shm_tx_settle(conn, tx, 0);
	return 0;
}

int shm_recv_data(struct shm_conn *conn, const struct shm_record *rec)
{
	struct shm_sink *sink;
	struct shm_tx *tx;

	wf_progress_found_some(&conn->ep->ep.progress);
	if (!rec->word && shm_pieces_expected(conn))
		return shm_pieces_add(conn, rec);
	if (!rec->word)
		return bulk_stream_data_for_write(conn, rec);
	tx = shm_id_find(conn, rec->word, SHM_ID_TX);
	if (tx)
		return bulk_stream_data_for_read(conn, tx, rec);
	sink = shm_id_find(conn, rec->word, SHM_ID_SINK);
	if (!sink || sink->pull || rec->len > sink->len - sink->done || !rec->len)
		return -FI_EPROTO;
	if (stream_add(sink, rec))
		shm_bulk_finish(sink);
	return 0;
}
