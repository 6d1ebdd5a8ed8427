/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/tcp/conn/conn.h"

/*
 * Chooses the kind of record for an operation that is about to be sent, according to
 * the features that both ends agreed on.
 */

/* The completion level needs an acknowledgement. */
static void prepare_want_ack(struct tcp_tx *tx)
{
	tx->rec.flags |= TCP_FLAG_ACK;
	tx->want = TCP_WANT_ACK;
}

static bool prepare_wants_ack(const struct tcp_tx *tx)
{
	return tx->op_flags & (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE);
}

/* A free index for a request to send, or 0. The table grows before it is nearly
 * full. */
static unsigned int prepare_rts_index(struct tcp_conn *conn)
{
	unsigned int max = tcp_wire_rdv_max(&conn->wire), capacity = conn->rts.capacity;
	unsigned int last = capacity > max ? max : capacity ? capacity - 1 : 0;

	if (conn->rts_count >= max)
		return 0;
	if (conn->rts_count >= last / 4 * 3 && last < max)
		return last + 1;
	do {
		conn->rts_next = conn->rts_next % last + 1;
	} while (conn->rts.at[conn->rts_next]);
	return conn->rts_next;
}

static int prepare_rts(struct tcp_conn *conn, struct tcp_tx *tx)
{
	unsigned int index = prepare_rts_index(conn);

	if (!index)
		return -FI_EAGAIN;
	if (!tcp_slot_set(&conn->rts, index, tx))
		return -FI_ENOMEM;
	/* Without an acknowledgement the completion would only mean that the payload
	 * was sent. */
	if (prepare_wants_ack(tx) || tx->op_flags & FI_MATCH_COMPLETE)
		tx->rec.flags |= TCP_FLAG_ACK;
	tx->rec.kind = tx->op == WF_OP_TSEND ? TCP_REC_RTS : TCP_REC_MSG_RTS;
	tx->rec.index = (uint16_t)index;
	tx->rec.msg_len = tx->len;
	tx->rec.payload_len = 0;
	tx->want = TCP_WANT_CTS;
	tx->rendezvous = true;
	conn->rts_count++;
	return 0;
}

static bool prepare_waits_for_match(
	const struct tcp_conn *conn, const struct tcp_tx *tx)
{
	const struct tcp_params *p = &tcp_params;
	uint32_t need = tx->op == WF_OP_TSEND ? TCP_HAVE_RDV : TCP_HAVE_RDV_MSG;
	bool own = conn->wire.have & TCP_HAVE_ERROR;

	if (!(conn->wire.have & need) || conn->wire.swap || tx->op_flags & FI_INJECT)
		return false;
	return tx->len > (own ? p->rendezvous_size : p->max_saved_size);
}

static int prepare_send(struct tcp_conn *conn, struct tcp_tx *tx)
{
	uint32_t have = conn->wire.have;

	if (tx->op == WF_OP_TSEND && !(have & TCP_HAVE_TAGGED)) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"tagged send refused: the peer does not take tagged "
			"messages\n");
		return -FI_EOPNOTSUPP;
	}
	if (tx->op_flags & FI_REMOTE_CQ_DATA)
		tx->rec.flags |= TCP_FLAG_DATA;
	if (prepare_waits_for_match(conn, tx))
		return prepare_rts(conn, tx);
	tx->rec.kind = tx->op == WF_OP_TSEND ? TCP_REC_TAGGED : TCP_REC_MSG;
	tx->rec.payload_len = tx->len;
	if (tx->op_flags & FI_MATCH_COMPLETE) {
		if (!(have & TCP_HAVE_MATCH)) {
			tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
				"FI_MATCH_COMPLETE: the peer cannot tell\n");
			return -FI_EOPNOTSUPP;
		}
		tx->rec.flags |= TCP_FLAG_MATCH;
		tx->rec.id = ++conn->match_id;
		tx->want = TCP_WANT_MATCHED;
	} else if (prepare_wants_ack(tx)) {
		prepare_want_ack(tx);
	}
	return 0;
}

/* An access to the peer's memory can fail there, so a peer with error records is asked
 * for an answer. */
static int prepare_write(struct tcp_conn *conn, struct tcp_tx *tx)
{
	tx->rec.kind = TCP_REC_WRITE;
	tx->rec.payload_len = tx->len;
	if (tx->op_flags & FI_REMOTE_CQ_DATA)
		tx->rec.flags |= TCP_FLAG_DATA;
	if (tx->op_flags & FI_COMMIT_COMPLETE)
		tx->rec.flags |= TCP_FLAG_COMMIT;
	if (tx->op_flags & (FI_COMMIT_COMPLETE | FI_MATCH_COMPLETE) ||
		prepare_wants_ack(tx) || conn->wire.have & TCP_HAVE_ERROR)
		prepare_want_ack(tx);
	return 0;
}

size_t tcp_asked_cost(const struct tcp_tx *tx)
{
	return TCP_ANSWER_COST + (tx->op == WF_OP_READ ? 0 : tx->len);
}

/* The operation needs a response: it waits until the peer has memory for it. */
static int prepare_want_response(struct tcp_conn *conn, struct tcp_tx *tx)
{
	size_t cost = tcp_asked_cost(tx);

	if (conn->asked_bytes && conn->asked_bytes + cost > TCP_ANSWER_WINDOW)
		return -FI_EAGAIN;
	conn->asked_bytes += cost;
	tx->want = TCP_WANT_RESP;
	return 0;
}

static int prepare_read(struct tcp_conn *conn, struct tcp_tx *tx)
{
	tx->rec.kind = TCP_REC_READ;
	return prepare_want_response(conn, tx);
}

static int prepare_atomic(struct tcp_conn *conn, struct tcp_tx *tx)
{
	static const uint8_t kinds[] = {
		[WF_OP_ATOMIC] = TCP_REC_ATOMIC,
		[WF_OP_FETCH] = TCP_REC_FETCH,
		[WF_OP_COMPARE] = TCP_REC_COMPARE,
	};
	unsigned int type = tx->rec.datatype;
	bool long_double = type == FI_LONG_DOUBLE || type == FI_LONG_DOUBLE_COMPLEX;

	if (!(conn->wire.have & TCP_HAVE_ATOMIC) ||
		(long_double && !(conn->wire.have & TCP_HAVE_LDBL_OWN))) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"atomic operation refused: the peer does not know %s\n",
			long_double ? "our long double" : "atomics");
		return -FI_EOPNOTSUPP;
	}
	tx->rec.kind = kinds[tx->op];
	if (tx->op_flags & FI_REMOTE_CQ_DATA)
		tx->rec.flags |= TCP_FLAG_DATA;
	if (tx->op != WF_OP_ATOMIC)
		return prepare_want_response(conn, tx);
	prepare_want_ack(tx);
	return 0;
}

/* The first receive context is the default; its index is not sent. */
static int prepare_context(const struct tcp_conn *conn, struct tcp_tx *tx)
{
	if (wf_likely(!tx->rec.context))
		return 0;
	if (tx->rec.context >= conn->wire.contexts) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"operation refused: receive context %u was named, the peer has "
			"%u\n",
			tx->rec.context, WF_MAX(conn->wire.contexts, 1));
		return -FI_EINVAL;
	}
	tx->rec.flags |= TCP_FLAG_CONTEXT;
	return 0;
}

int tcp_tx_prepare(struct tcp_conn *conn, struct tcp_tx *tx)
{
	int ret = prepare_context(conn, tx);

	if (ret)
		return ret;
	switch ((enum wf_op_kind)tx->op) {
	case WF_OP_SEND:
	case WF_OP_TSEND:
		return prepare_send(conn, tx);
	case WF_OP_WRITE:
		return prepare_write(conn, tx);
	case WF_OP_READ:
		return prepare_read(conn, tx);
	case WF_OP_ATOMIC:
	case WF_OP_FETCH:
	case WF_OP_COMPARE:
		return prepare_atomic(conn, tx);
	default:
		return -FI_ENOSYS;
	}
}
