/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/conn.h"

/*
 * Peers' answers to operations of this endpoint.
 *
 * Answers have no identifier: the n-th acknowledgement belongs to the n-th record that
 * asked for one, the n-th response to the n-th request. An answer that no operation
 * waits for is a protocol error. An error record can replace either.
 */

static struct tcp_tx *answer_pop(struct wf_list *list)
{
	struct wf_list *link = wf_list_pop(list);

	return link ? wf_list_entry(link, struct tcp_tx, link) : NULL;
}

/* An operation ended: operations behind a fence may be sent now. */
static void answer_ended(struct tcp_conn *conn)
{
	if (!wf_list_empty(&conn->txq))
		tcp_tx_dirty(conn);
}

/* Acknowledgements are only counted, unless one must be sent after an error in the
 * queue. */
void tcp_answer_ack(struct tcp_conn *conn)
{
	if (wf_likely(!conn->acks_ordered))
		conn->acks_due++;
	else if (tcp_tx_answer(conn, TCP_REC_ACK, 0))
		conn->acks_ordered++;
	tcp_tx_dirty(conn);
}

/* A peer that does not know error records: the connection is closed, which fails the
 * operation. */
void tcp_answer_error(struct tcp_conn *conn, enum tcp_answer row, int err)
{
	struct tcp_tx *tx;

	if (!(conn->wire.have & TCP_HAVE_ERROR)) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"connection closed: remote access refused: %s\n",
			fi_strerror(err));
		tcp_conn_fail(conn, FI_EACCES);
		return;
	}
	tx = tcp_tx_answer(conn, TCP_REC_ERROR, 0);
	if (!tx)
		return;
	tx->rec.answer = (uint8_t)row;
	tx->rec.err = err;
	if (row == TCP_ANSWER_ACK)
		conn->acks_ordered++;
	tcp_tx_dirty(conn);
}

int tcp_ack_head(struct tcp_conn *conn)
{
	struct tcp_tx *tx = answer_pop(&conn->acks);

	if (!tx)
		return -FI_EPROTO;
	tcp_tx_complete(tx);
	answer_ended(conn);
	return 0;
}

int tcp_error_head(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	bool ack = rec->answer == TCP_ANSWER_ACK;
	struct tcp_tx *tx = answer_pop(ack ? &conn->acks : &conn->resps);

	if (!tx)
		return -FI_EPROTO;
	if (!ack)
		conn->asked_bytes -= tcp_asked_cost(tx);
	tcp_tx_fail(tx, rec->err, tcp_conn_addr(conn));
	answer_ended(conn);
	return 0;
}

int tcp_matched_head(struct tcp_conn *conn)
{
	wf_list_foreach(link, &conn->matches)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->rec.id != conn->rx.rec.id)
			continue;
		wf_list_remove(&tx->link);
		tcp_tx_complete(tx);
		answer_ended(conn);
		return 0;
	}
	return -FI_EPROTO;
}

/* The payload is queued behind operations that were posted meanwhile, except operations
 * that wait for a fence (next_op). */
int tcp_cts_head(struct tcp_conn *conn)
{
	const struct tcp_record *rec = &conn->rx.rec;
	struct tcp_tx *tx = tcp_slot(&conn->rts, rec->index);

	if (!tx || tx->want != TCP_WANT_CTS || tx->done != tx->hdr_len ||
		tx == conn->cur)
		return -FI_EPROTO;
	tx->want = tx->rec.flags & TCP_FLAG_ACK ? TCP_WANT_ACK : TCP_WANT_SENT;
	tx->rec.kind = TCP_REC_RDV_DATA;
	tx->rec.flags = 0;
	tx->rec.payload_len = tx->len;
	wf_list_push(&conn->txq, &tx->link);
	conn->cleared++;
	tcp_tx_dirty(conn);
	return 0;
}

int tcp_probe_head(struct tcp_conn *conn)
{
	struct tcp_tx *tx;

	if (conn->rx.rec.kind == TCP_REC_PROBE_RESP) {
		conn->probing = false;
		return 0;
	}
	tx = tcp_tx_answer(conn, TCP_REC_PROBE_RESP, 0);
	if (tx)
		tx->rec.id = conn->rx.rec.id;
	tcp_tx_dirty(conn);
	return 0;
}

/* The answer to the oldest read or fetching atomic. */
int tcp_resp_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	bool read = rx->rec.kind == TCP_REC_READ_RESP;
	struct tcp_tx *tx;

	if (wf_list_empty(&conn->resps))
		return -FI_EPROTO;
	tx = wf_list_entry(conn->resps.next, struct tcp_tx, link);
	if ((tx->op == WF_OP_READ) != read || rx->rec.payload_len != tx->len)
		return -FI_EPROTO;
	rx->entry = NULL;
	rx->unexp = NULL;
	if (read)
		tcp_rx_sink(conn, tx->iov, tx->iov_count);
	else
		tcp_rx_sink(conn, tx->result, tx->result_count);
	return 0;
}

void tcp_resp_done(struct tcp_conn *conn)
{
	struct wf_list *link = wf_list_pop(&conn->resps);
	struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

	conn->asked_bytes -= tcp_asked_cost(tx);
	tcp_tx_complete(tx);
	answer_ended(conn);
}
