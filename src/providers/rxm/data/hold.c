/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/data/hold.h"

#include <stdlib.h>

#include "providers/rxm/below.h"
#include "providers/rxm/data/recv.h"
#include "providers/rxm/param.h"

/* A packet that is kept. */
struct held {
	struct wf_list link; /* link in conn->data.held */
	size_t len;
	bool raw; /* The message has no header; @entry is valid. */
	struct fi_cq_tagged_entry entry;
	_Alignas(8) uint8_t packet[];
};

static void hold_given(struct rxm_ep *ep)
{
	ep->data.memory_given = true;
	wf_progress_wake(&ep->ep.progress);
	rxm_wake_sleepers(ep);
}

static void hold_unexp_given(struct wf_budget *budget)
{
	hold_given(wf_container_of(budget, struct rxm_ep, unexp.budget));
}

static void hold_answers_given(struct wf_budget *budget)
{
	hold_given(wf_container_of(budget, struct rxm_ep, data.answers));
}

/* Is the endpoint told of memory that is given back? Only while something waits. */
static void hold_watch(struct rxm_ep *ep, bool on)
{
	ep->unexp.budget.given = on ? hold_unexp_given : NULL;
	ep->data.answers.given = on ? hold_answers_given : NULL;
}

void rxm_hold_init(struct rxm_ep *ep)
{
	ep->unexp.budget = (struct wf_budget){
		.limit = rxm_params.unexpected_size,
		.share = WF_BUDGET_UNEXP_SHARE,
	};
	ep->data.answers = (struct wf_budget){
		.limit = rxm_params.answer_size,
		.share = RXM_ANSWER_SHARE,
	};
	wf_list_init(&ep->data.held_conns);
	wf_list_init(&ep->data.held_raw);
}

static bool hold_answers_full(struct rxm_conn *conn)
{
	const struct wf_budget *budget = &conn->ep->data.answers;
	size_t bytes = conn->data.answer_bytes;

	return bytes && !wf_budget_fits(budget, bytes, 0) &&
	       (!wf_budget_shares(budget, bytes, 0) ||
		       rxm_peer_index(conn->ep, conn->peer) == FI_ADDR_NOTAVAIL);
}

static bool hold_is_full(struct rxm_conn *conn)
{
	return hold_answers_full(conn) ||
	       (conn->unexp.bytes && !wf_unexp_admits(&conn->ep->unexp, &conn->unexp,
					     &conn->peer->ip.remote, 0));
}

void rxm_hold_if_full(struct rxm_conn *conn)
{
	if (rxm_conn_is_held(conn) || conn->state == RXM_CONN_DOWN ||
		!hold_is_full(conn))
		return;
	rxm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"a connection is read no further: unexpected messages take %zu bytes, "
		"answers %zu\n",
		conn->unexp.bytes, conn->data.answer_bytes);
	wf_list_push(&conn->ep->data.held_conns, &conn->data.held_link);
	wf_inbox_hold(&conn->inbox, true);
	hold_watch(conn->ep, true);
}

/* Packets that a provider below may have read before it stopped. */
static size_t hold_most_bytes(const struct rxm_ep *ep)
{
	return WF_INBOX_BYTES + (1 << 20) +
	       2 * ep->rx_depth * (RXM_HEADER + ep->buffer_size);
}

static bool hold_is_answer(const void *packet, size_t len)
{
	struct rxm_packet decoded;

	if (rxm_packet_decode(packet, len, &decoded))
		return false;
	switch (decoded.kind) {
	case RXM_CREDIT:
	case RXM_RDV_READ:
	case RXM_RDV_TO:
	case RXM_RDV_WRITTEN:
	case RXM_ATOMIC_RESULT:
		return true;
	default:
		return false;
	}
}

bool rxm_hold_packet(struct rxm_conn *conn, const void *packet, size_t len,
	const struct fi_cq_tagged_entry *entry)
{
	struct held *held;

	if (!entry && hold_is_answer(packet, len))
		return false;
	if (len > hold_most_bytes(conn->ep) - conn->data.held_bytes) {
		rxm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"connection closed: its peer takes too much memory, and the "
			"provider below reads on\n");
		rxm_conn_fail(conn, FI_ENOBUFS);
		return true;
	}
	held = malloc(sizeof(*held) + len);
	if (!held) {
		rxm_conn_fail(conn, FI_ENOMEM);
		return true;
	}
	held->len = len;
	held->raw = entry != NULL;
	if (entry)
		held->entry = *entry;
	memcpy(held->packet, packet, len);
	conn->data.held_bytes += len;
	wf_list_push(&conn->data.held, &held->link);
	return true;
}

static void hold_handle(struct rxm_conn *conn, struct held *held)
{
	conn->data.held_bytes -= held->len;
	if (held->raw)
		rxm_data_handle_raw(conn, held->packet, held->len, &held->entry);
	else
		rxm_data_handle(conn, held->packet, held->len);
	free(held);
}

static void hold_handle_held(struct rxm_conn *conn)
{
	struct wf_list *link;

	while (conn->state != RXM_CONN_DOWN && !hold_is_full(conn) &&
		(link = wf_list_pop(&conn->data.held)))
		hold_handle(conn, wf_list_entry(link, struct held, link));
}

/* Read the connection again. */
static void hold_let_go_on(struct rxm_conn *conn)
{
	wf_list_remove(&conn->data.held_link);
	wf_inbox_hold(&conn->inbox, false);
	if (conn->below.builtin)
		wf_progress_wake(&conn->below.builtin->progress);
	rxm_bufs_post_withheld(conn);
}

void rxm_hold_end(struct rxm_conn *conn)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&conn->data.held))) {
		struct held *held = wf_list_entry(link, struct held, link);

		if (conn->ep->data.quiet)
			free(held);
		else
			hold_handle(conn, held);
	}
	wf_list_remove(&conn->data.held_link);
}

void rxm_hold_resume(struct rxm_ep *ep)
{
	ep->data.memory_given = false;
	wf_list_foreach_safe(link, &ep->data.held_conns)
	{
		struct rxm_conn *conn =
			wf_list_entry(link, struct rxm_conn, data.held_link);

		hold_handle_held(conn);
		if (wf_list_empty(&conn->data.held) && !hold_is_full(conn))
			hold_let_go_on(conn);
	}
	rxm_bufs_deliver_raw(ep);
	if (wf_list_empty(&ep->data.held_conns) && wf_list_empty(&ep->data.held_raw))
		hold_watch(ep, false);
}

bool rxm_hold_raw(struct rxm_ep *ep)
{
	size_t bytes = ep->data.raw.bytes;

	if (!bytes || wf_budget_fits(&ep->unexp.budget, bytes, 0))
		return false;
	hold_watch(ep, true);
	return true;
}
