/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "objects/local/local.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/unread.h"
#include "sys/clock.h"

enum {
	/* After a marker that was refused or void, the next one is sent after two
	 * progress calls, then four, eight, and at last 2^TRIES_MAX. */
	TRIES_MAX = 16,
	/* Progress calls in which the next marker may be put behind a message
	 * instead. */
	ALONE_CALLS = 64,
};

/* A peer that has not accepted a connection below after this time is reached through
 * its socket. */
#define REACH_NS UINT64_C(30000000000)

/* Decide the own direction for good, or let it wait for the next marker. */
static void switch_set_out(struct tcp_local *local, enum tcp_out out)
{
	local->out = (uint8_t)out;
	if (out == TCP_OUT_SOCKET || out == TCP_OUT_MEMORY)
		wf_page_mark(local->proof.own, WF_PAGE_OVER, 0);
}

/* The pages are not needed any more. */
static void switch_stop_polling(struct tcp_local *local)
{
	wf_list_remove(&local->link);
	wf_proof_done(&local->proof);
}

void tcp_switch_begin(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	if (!conn->peer || !local->name[0] || !wf_local_name(conn->ep->below)) {
		switch_stop_polling(local);
		return;
	}
	local->next_epoch = conn->ep->epoch;
	switch_set_out(local, TCP_OUT_WAITS);
	wf_progress_wake(&conn->ep->ep.progress);
}

void tcp_switch_end(struct tcp_conn *conn, int err)
{
	struct tcp_local *local = conn->local;

	conn->ep->memory_conns -= tcp_switch_uses_memory(conn);
	local->in = false;
	local->out = TCP_OUT_SOCKET;
	local->reached = false;
	if (local->below != FI_ADDR_NOTAVAIL)
		tcp_unread_take_over(conn, local->below, err);
	local->below = FI_ADDR_NOTAVAIL;
}

/* Has the peer closed the socket? */
static bool switch_is_closed(const struct tcp_conn *conn)
{
	return conn->err == FI_ECONNRESET || conn->err == EPIPE;
}

bool tcp_switch_lingers(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	return local && local->out == TCP_OUT_MEMORY && switch_is_closed(conn) &&
	       wf_local_lingers(conn->ep->below, local->below, &local->linger_ns);
}

/* Make the endpoint below know the peer, whose messages get the source @index. 0;
 * -FI_EAGAIN: the peer is not in the AV; another negative fi_errno: it is not
 * possible. */
static int switch_know(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;
	struct tcp_local *local = conn->local;
	fi_addr_t index;
	int ret;

	if (local->below != FI_ADDR_NOTAVAIL)
		return 0;
	index = tcp_peer_index(ep, conn->peer);
	if (index == FI_ADDR_NOTAVAIL)
		return -FI_EAGAIN;
	ret = wf_local_insert(ep->below, &conn->peer->ip.addr, local->name,
		strlen(local->name) + 1, &local->below);
	if (ret)
		local->below = FI_ADDR_NOTAVAIL;
	return ret;
}

static bool switch_awaits_nothing(const struct tcp_conn *conn)
{
	return wf_list_empty(&conn->acks) && wf_list_empty(&conn->resps) &&
	       wf_list_empty(&conn->matches) && !conn->rts_count && !conn->cleared;
}

/* Have all operations ended that were sent to the peer? */
static bool switch_is_idle(const struct tcp_conn *conn)
{
	return tcp_tx_idle(conn) && switch_awaits_nothing(conn);
}

static bool switch_is_due(const struct tcp_local *local)
{
	return (int32_t)(local->conn->ep->epoch - local->next_epoch) >= 0;
}

/* A marker without a message comes later than one behind a message could. */
static bool switch_is_due_alone(const struct tcp_local *local)
{
	uint32_t calls = local->tries ? ALONE_CALLS : 0;

	return (int32_t)(local->conn->ep->epoch - local->next_epoch - calls) >= 0;
}

/* Operations use the connection or, if it was accepted, will use it when the identity
 * of the peer is proven. */
static bool switch_is_used(const struct tcp_conn *conn)
{
	return !conn->err && conn->peer->conn == conn;
}

/* The last marker was refused, or is void: its answer is ignored. */
static void switch_wait_again(struct tcp_local *local)
{
	struct tcp_conn *conn = local->conn;

	if (conn->peer->conn == conn)
		conn->peer->route = conn;
	if (local->tries < TRIES_MAX)
		local->tries++;
	local->next_epoch = conn->ep->epoch + (1u << local->tries);
	switch_set_out(local, TCP_OUT_WAITS);
}

/* Send a marker behind all operations that were posted. */
static void switch_ask(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	wf_page_mark(local->proof.own, ++local->asked,
		conn->sent + conn->staged - conn->flushed);
	conn->peer->route = NULL;
	switch_set_out(local, TCP_OUT_ASKED);
}

void tcp_switch_behind(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	if (local->reached && !wf_local_is_inherited(conn->ep->below) &&
		switch_is_due(local) && switch_is_used(conn) && !conn->cur &&
		!conn->acks_due && wf_list_empty(&conn->answers) &&
		wf_list_empty(&conn->txq) && switch_awaits_nothing(conn))
		switch_ask(conn);
}

/* Connect below, so that later operations are in the peer's memory at once, whether or
 * not the peer makes progress then. 0; -FI_EAGAIN: not connected yet; another negative
 * fi_errno: it takes too long, or is not possible. */
static int switch_reach(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	uint64_t now;
	int ret = 0;

	if (!local->reached)
		ret = wf_local_reach(conn->ep->below, local->below);
	local->reached = !ret;
	if (ret != -FI_EAGAIN)
		return ret;
	now = wf_coarse_ns();
	if (!local->reach_ns)
		local->reach_ns = now;
	return now - local->reach_ns < REACH_NS ? ret : -FI_ETIMEDOUT;
}

void tcp_switch_tick(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	int ret;

	if (local->out != TCP_OUT_WAITS || !switch_is_due_alone(local) ||
		!switch_is_used(conn))
		return;
	ret = switch_know(conn);
	if (ret == -FI_EAGAIN) {
		switch_wait_again(local);
		return;
	}
	if (!ret)
		ret = switch_reach(conn);
	if (!ret) {
		if (switch_is_idle(conn))
			switch_ask(conn);
	} else if (ret != -FI_EAGAIN) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a peer on this machine is reached by its socket: %s\n",
			fi_strerror(-ret));
		switch_set_out(local, TCP_OUT_SOCKET);
	}
}

/* Have all bytes before the offset @at, the end of a record, been handled? A message
 * that waits for its receive is a body that has not ended, with everything behind
 * it. */
static bool switch_has_handled(const struct tcp_conn *conn, uint64_t at)
{
	return !conn->rx.body && conn->received >= at;
}

/* The sender of a marker has got all answers to its earlier operations. */
static void switch_poll_marker(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	bool used_memory = tcp_switch_uses_memory(conn);
	uint64_t at, marker = wf_page_marker(local->proof.peer, &at);

	if (marker == local->answered || !switch_has_handled(conn, at))
		return;
	local->answered = marker;
	if (marker == WF_PAGE_OVER)
		return;
	local->in = !switch_know(conn) || local->in;
	conn->ep->memory_conns += tcp_switch_uses_memory(conn) && !used_memory;
	wf_page_answer(local->proof.own, marker, local->in);
}

static void switch_go_below(struct tcp_conn *conn)
{
	char text[WF_SOCKADDR_STRLEN];

	conn->ep->memory_conns += !tcp_switch_uses_memory(conn);
	switch_set_out(conn->local, TCP_OUT_MEMORY);
	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s is reached by shared memory from now on\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)));
}

static void switch_poll_answer(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	bool yes;

	if (local->out != TCP_OUT_ASKED ||
		!wf_page_answers(local->proof.peer, local->asked, &yes))
		return;
	if (yes)
		switch_go_below(conn);
	else
		switch_wait_again(local);
}

void tcp_switch_poll(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	switch_poll_marker(conn);
	switch_poll_answer(conn);
	if (local->answered == WF_PAGE_OVER &&
		(local->out == TCP_OUT_MEMORY || local->out == TCP_OUT_SOCKET))
		switch_stop_polling(local);
}

bool tcp_switch_goes_below(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	/* In a forked child tcp_switch_start says that it cannot. */
	if (wf_likely(local->out == TCP_OUT_MEMORY) ||
		wf_local_is_inherited(conn->ep->below))
		return true;
	switch_poll_answer(conn);
	if (local->out == TCP_OUT_ASKED)
		switch_wait_again(local);
	return local->out == TCP_OUT_MEMORY;
}

ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op)
{
	ssize_t ret;

	/* The peer has one receive context. */
	if (tcp_context_of(conn->ep, op->addr))
		return -FI_EINVAL;
	op->flags |= WF_OP_REACHED;
	ret = wf_local_start(conn->ep->below, conn->local->below, op);
	op->flags &= ~WF_OP_REACHED;
	if (wf_unlikely(ret == -FI_ENOTCONN))
		tcp_local_failed(conn);
	return ret;
}
