/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/target.h"
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/request.h"

/* Writes the payloads of messages that have a clear to send, and of reads that this
 * endpoint answers. */

static void out_stream_end_stream(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	wf_list_remove(&tx->link);
	if (tx->op == WF_OP_COUNT) {
		shm_answer_stream_end(conn, tx);
		if (!err && tx->local.remote)
			wf_target_done(&conn->ep->ep, tx->local.seg, tx->local.count,
				FI_RMA | FI_REMOTE_READ, tx->local.len, 0,
				shm_conn_source(conn));
		if (err)
			shm_answer_error(conn, tx->sink, -err);
		shm_tx_free(conn->ep, tx);
	} else if (shm_tx_wants_ack(tx) || tx->op == WF_OP_WRITE) {
		wf_list_push(&conn->waits.settling, &tx->link);
	} else {
		shm_tx_settle(conn, tx, 0);
	}
}

bool shm_out_send_streams(struct shm_conn *conn)
{
	while (!wf_list_empty(&conn->queue.streams) && !conn->err) {
		struct shm_tx *tx =
			wf_list_entry(conn->queue.streams.next, struct shm_tx, link);
		int err = 0;

		while (tx->done < tx->local.len && !err)
			if (shm_request_piece(conn, tx, tx->sink, &err) != SHM_SENT &&
				!err)
				return false;
		out_stream_end_stream(conn, tx, err);
	}
	return true;
}
