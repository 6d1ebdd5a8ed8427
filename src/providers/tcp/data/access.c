/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/memory.h"

/* Peers' reads and writes of local memory. */

void tcp_mr_done(
	struct tcp_conn *conn, const struct tcp_record *rec, uint64_t flags, size_t len)
{
	if (rec->flags & TCP_FLAG_DATA)
		flags |= FI_REMOTE_CQ_DATA;
	wf_target_done(wf_ep_rx_at(&conn->ep->ep, rec->context), rec->seg,
		rec->seg_count, flags, len, rec->data, tcp_conn_source(conn));
}

int tcp_write_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	int ret = tcp_mr_check(conn->ep, &rx->rec, FI_REMOTE_WRITE);

	rx->err = -ret;
	rx->entry = NULL;
	rx->unexp = NULL;
	if (!ret) {
		rx->sink = TCP_SINK_MR;
		rx->offset = 0;
		rx->capacity = WF_MIN(rx->rec.span, rx->left);
	}
	return 0;
}

void tcp_write_done(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	bool ack = rx->rec.flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT);

	if (wf_unlikely(rx->err)) {
		if (ack) {
			tcp_answer_error(conn, TCP_ANSWER_ACK, rx->err);
			return;
		}
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"connection closed: remote write refused: %s\n",
			fi_strerror(rx->err));
		tcp_conn_fail(conn, FI_EACCES);
		return;
	}
	/* A write without a segment is a probe. */
	if (rx->rec.seg_count || rx->rec.flags & TCP_FLAG_DATA)
		tcp_mr_done(
			conn, &rx->rec, FI_RMA | FI_REMOTE_WRITE, rx->rec.payload_len);
	if (ack)
		tcp_answer_ack(conn);
}

int tcp_read_head(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	int ret = tcp_mr_check(conn->ep, rec, FI_REMOTE_READ);
	struct tcp_tx *tx;

	if (ret) {
		tcp_answer_error(conn, TCP_ANSWER_RESP, -ret);
		return 0;
	}
	tx = tcp_tx_answer(conn, TCP_REC_READ_RESP, 0);
	if (!tx)
		return 0;
	tx->from_mr = true;
	tx->rec.payload_len = rec->span;
	tx->rec.context = rec->context;
	tx->rec.seg_count = rec->seg_count;
	memcpy(tx->rec.seg, rec->seg, rec->seg_count * sizeof(rec->seg[0]));
	tcp_tx_dirty(conn);
	return 0;
}
