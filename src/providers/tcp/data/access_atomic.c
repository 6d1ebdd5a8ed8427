/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/tcp/memory.h"

/* Peers' atomic operations on local memory. */

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

static struct wf_target_atomic atomic_of(
	const struct tcp_record *rec, const uint8_t *operands)
{
	return (struct wf_target_atomic){
		.kind = tcp_atomic_kind(rec->kind),
		.datatype = rec->datatype,
		.op = rec->atomic_op,
		.seg = rec->seg,
		.count = rec->seg_count,
		.len = rec->span,
		.src = operands,
		.compare = rec->kind == TCP_REC_COMPARE ? operands + rec->span : NULL,
	};
}

void tcp_atomic_done(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	const struct tcp_record *rec = &rx->rec;
	struct wf_target_atomic atomic = atomic_of(rec, rx->buf);
	bool fetch = rec->kind != TCP_REC_ATOMIC;
	bool ack = rec->flags & (TCP_FLAG_ACK | TCP_FLAG_COMMIT);
	struct tcp_tx *tx = NULL;
	uint64_t access = wf_target_atomic_access(atomic.kind, atomic.op);
	int ret = tcp_mr_check(conn->ep, rec, access);

	if (!ret && fetch) {
		tx = tcp_tx_answer(conn, TCP_REC_ATOMIC_RESP, rec->span);
		if (!tx)
			goto out;
		atomic.result = tx->copy;
	}
	if (!ret)
		ret = wf_target_atomic(wf_ep_mr_map(&conn->ep->ep), &atomic);
	if (ret && tx) {
		wf_list_remove(&tx->link);
		tcp_answer_taken(conn, tx);
		tcp_tx_free(tx);
	}
	if (!ret)
		tcp_mr_done(conn, rec, FI_ATOMIC | access, rec->span);
	else if (fetch || ack)
		tcp_answer_error(conn, fetch ? TCP_ANSWER_RESP : TCP_ANSWER_ACK, -ret);
	else
		tcp_conn_fail(conn, FI_EACCES);
	if (!ret && ack)
		tcp_answer_ack(conn);
	if (!ret && fetch)
		tcp_tx_dirty(conn);
out:
	free(rx->buf);
	rx->buf = NULL;
}
