/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"

/*
 * Closing of a transmit context: it releases the application's memory at once, but not
 * the connections, which other contexts use. Operations that have not begun are dropped
 * unless they were injected, records that are partly sent continue from a copy, and
 * answers that are still to come are discarded.
 */

static void context_close_tx_disown(struct tcp_ep *ep, struct tcp_tx *tx)
{
	tx->from->pending--;
	tx->from = &ep->closed;
	tx->from->pending++;
}

/* Copy the unsent payload of @tx to heap memory. */
static int context_close_tx_keep_payload(struct tcp_tx *tx)
{
	uint64_t skip = tx->done > tx->hdr_len ? tx->done - tx->hdr_len : 0;
	uint8_t *kept;
	size_t len;

	if (!tx->iov_count || tx->iov[0].iov_base == tx->copy)
		return 0;
	len = wf_iov_len(tx->iov, tx->iov_count);
	kept = malloc(len - skip);
	if (!kept)
		return -FI_ENOMEM;
	tx->kept = kept;
	for (size_t i = 0, at = 0; i < tx->iov_count; i++) {
		const struct iovec *iov = &tx->iov[i];
		size_t from = skip > at ? WF_MIN(skip - at, iov->iov_len) : 0;

		memcpy(kept, (uint8_t *)iov->iov_base + from, iov->iov_len - from);
		kept += iov->iov_len - from;
		at += iov->iov_len;
	}
	tx->iov[0] = (struct iovec){ NULL, skip }; /* the bytes that were sent */
	tx->iov[1] = (struct iovec){ tx->kept, len - skip };
	tx->iov_count = 2;
	return 0;
}

static void context_close_tx_keep(
	struct tcp_conn *conn, struct tcp_source *from, struct tcp_tx *tx)
{
	if (!tx || tx->from != from)
		return;
	context_close_tx_disown(conn->ep, tx);
	if (context_close_tx_keep_payload(tx))
		tcp_conn_fail(conn, FI_ENOMEM);
}

static void context_close_tx_disown_list(
	struct tcp_conn *conn, struct tcp_source *from, struct wf_list *list)
{
	wf_list_foreach(link, list)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from == from)
			context_close_tx_disown(conn->ep, tx);
	}
}

/* Discard the results of answers; the first answer may be arriving. */
static void context_close_tx_drop_results(
	struct tcp_conn *conn, struct tcp_source *from)
{
	const struct tcp_rx *rx = &conn->rx;
	bool first = true, resp = rx->rec.kind == TCP_REC_READ_RESP ||
				  rx->rec.kind == TCP_REC_ATOMIC_RESP;

	wf_list_foreach(link, &conn->resps)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from == from) {
			context_close_tx_disown(conn->ep, tx);
			tx->iov_count = tx->op == WF_OP_READ ? 0 : tx->iov_count;
			tx->result_count = 0;
			if (first && rx->body && resp)
				tcp_rx_drop(conn);
		}
		first = false;
	}
}

/* Drop operations that have not begun. A rendezvous with a clear to send has begun, and
 * injected operations are sent. @conn: NULL for operations that wait for a connection,
 * of which none has begun. */
static void context_close_tx_forget_list(struct tcp_ep *ep, struct tcp_conn *conn,
	struct tcp_source *from, struct wf_list *list)
{
	wf_list_foreach_safe(link, list)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from != from)
			continue;
		if (conn && tx->rendezvous) {
			context_close_tx_keep(conn, from, tx);
			continue;
		}
		if (tx->op_flags & FI_INJECT) {
			context_close_tx_disown(ep, tx);
			continue;
		}
		wf_list_remove(&tx->link);
		tcp_tx_free(tx);
	}
}

static void context_close_tx_leave_conn(struct tcp_conn *conn, struct tcp_source *from)
{
	struct tcp_stage *stage = conn->stage;

	context_close_tx_disown_list(conn, from, &conn->acks);
	context_close_tx_disown_list(conn, from, &conn->matches);
	context_close_tx_drop_results(conn, from);
	/* The header of a read is sent to its end; the read then waits for its
	 * answer. */
	if (conn->cur && conn->cur->from == from) {
		if (conn->cur->op == WF_OP_READ)
			conn->cur->iov_count = 0;
		conn->cur->result_count = 0;
	}
	context_close_tx_keep(conn, from, conn->cur);
	for (unsigned int i = 0; i < conn->rts.capacity; i++)
		context_close_tx_keep(conn, from, conn->rts.at[i]);
	context_close_tx_forget_list(conn->ep, conn, from, &conn->txq);
	for (uint32_t i = stage ? stage->mark_tail : 0; stage && i != stage->mark_head;
		i++)
		if (stage->marks[i & stage->mark_mask].from == from)
			stage->marks[i & stage->mark_mask].from = &conn->ep->closed;
}

void tcp_context_close_tx(struct tcp_ep *ep, struct tcp_source *from)
{
	const struct wf_remotes *remotes = &ep->peers->remotes;

	wf_list_foreach(link, &ep->conns)
	{
		context_close_tx_leave_conn(
			wf_list_entry(link, struct tcp_conn, link), from);
	}
	for (struct wf_remote *remote = wf_remotes_next(remotes, NULL); remote;
		remote = wf_remotes_next(remotes, remote))
		context_close_tx_forget_list(ep, NULL, from, &remote->pending);
	*from = (struct tcp_source){ .ep = NULL };
}
