/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/context.h"
#include "providers/tcp/conn/conn.h"
#include "providers/tcp/data/unexp.h"

/* Closing of a receive context: it releases the application's buffers at once; the rest
 * of messages that are arriving is discarded. */

/* Discard the rest of a message that was matched in the context. Unmatched messages
 * were discarded before. */
static void context_close_rx_leave_arriving(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;

	wf_srx_free_entry(rx->entry);
	rx->entry = NULL;
	tcp_recv_matched(conn, rx->rec.flags, rx->rec.id);
	tcp_rx_drop(conn);
}

static void context_close_rx_leave_conn_rx(
	struct tcp_conn *conn, const struct wf_ep *ctx)
{
	struct tcp_rx *rx = &conn->rx;

	if (rx->entry && wf_recv_ep(&conn->ep->ep, rx->entry) == ctx)
		context_close_rx_leave_arriving(conn);
	for (unsigned int i = 0; i < conn->rdv.capacity; i++) {
		struct tcp_rdv *rdv = conn->rdv.at[i];

		if (!rdv || !rdv->entry || wf_recv_ep(&conn->ep->ep, rdv->entry) != ctx)
			continue;
		wf_srx_free_entry(rdv->entry);
		rdv->entry = NULL;
		if (rx->body && rx->rdv == rdv)
			tcp_rx_drop(conn);
	}
}

void tcp_context_close_rx(struct tcp_ep *ep, const struct wf_ep *ctx)
{
	wf_list_foreach(link, &ep->conns)
	{
		context_close_rx_leave_conn_rx(
			wf_list_entry(link, struct tcp_conn, link), ctx);
	}
}
