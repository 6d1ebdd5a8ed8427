/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "providers/tcp/conn.h"

/* Peers' atomic operations on our memory. */

int tcp_atomic_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	struct iovec iov;

	rx->entry = NULL;
	rx->unexp = NULL;
	if (!rx->left)
		return 0;
	rx->buf = malloc(rx->left);
	if (!rx->buf) {
		tcp_conn_fail(conn, FI_ENOMEM);
		return 0;
	}
	iov = (struct iovec){ rx->buf, rx->left };
	tcp_rx_sink(conn, &iov, 1);
	return 0;
}

static uint64_t access_of(const struct tcp_record *rec)
{
	if (rec->kind == TCP_REC_ATOMIC)
		return FI_REMOTE_WRITE;
	if (rec->atomic_op == FI_ATOMIC_READ)
		return FI_REMOTE_READ;
	return FI_REMOTE_READ | FI_REMOTE_WRITE;
}

/* One run of elements. @done: bytes before it. */
static int apply_piece(const struct tcp_record *rec, const struct iovec *piece,
	const uint8_t *buf, size_t done, uint8_t *result)
{
	size_t size = tcp_datatype_size(rec->datatype);
	const uint8_t *src = buf ? buf + done : NULL;

	if (piece->iov_len % size)
		return -FI_EINVAL; /* an element that is split in the region */
	wf_atomic_apply(rec->datatype, rec->atomic_op, piece->iov_base, src,
		rec->kind == TCP_REC_COMPARE ? src + rec->span : NULL,
		result ? result + done : NULL, piece->iov_len / size);
	return 0;
}

static int apply(struct tcp_conn *conn, uint8_t *result)
{
	const struct tcp_record *rec = &conn->rx.rec;
	struct iovec iov[TCP_IOV_LIMIT];
	uint64_t done = 0;
	size_t count;
	int ret = 0;

	while (done < rec->span && !ret) {
		ret = tcp_mr_pieces(conn->ep, rec, done, access_of(rec), iov,
			TCP_IOV_LIMIT, &count);
		if (ret)
			break;
		for (size_t i = 0; i < count && !ret; i++) {
			ret = apply_piece(rec, &iov[i], conn->rx.buf, done, result);
			done += iov[i].iov_len;
		}
		wf_unlock(&conn->ep->ep.domain->mr_map.lock);
	}
	return ret;
}

int tcp_atomic_done(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	const struct tcp_record *rec = &rx->rec;
	bool fetch = rec->kind != TCP_REC_ATOMIC;
	bool ack = rec->flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT);
	struct tcp_tx *tx = NULL;
	int ret = tcp_mr_check(conn->ep, rec, access_of(rec));

	if (!ret && fetch) {
		tx = tcp_tx_answer(conn, TCP_REC_ATOMIC_RESP, rec->span);
		if (!tx)
			goto out;
	}
	if (!ret)
		ret = apply(conn, tx ? tx->copy : NULL);
	if (ret && tx) {
		wf_list_remove(&tx->link);
		conn->answer_count--;
		tcp_tx_free(tx);
	}
	if (!ret)
		tcp_mr_event(conn, rec,
			FI_ATOMIC | (fetch ? FI_REMOTE_READ : FI_REMOTE_WRITE),
			rec->span);
	else if (fetch || ack)
		(void)tcp_answer_error(
			conn, fetch ? TCP_ANSWER_RESP : TCP_ANSWER_ACK, -ret);
	else
		tcp_conn_fail(conn, FI_EACCES);
	if (!ret && ack)
		(void)tcp_answer_ack(conn);
	if (!ret && fetch)
		tcp_tx_dirty(conn);
out:
	free(rx->buf);
	rx->buf = NULL;
	return 0;
}
