/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/local/below.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/unread.h"
#include "sys/clock.h"

enum {
	/* After a marker that was refused or void, the next one is sent after two
	 * progress calls, then four, eight, and at last 2^TRIES_MAX. */
	TRIES_MAX = 16,
	/* Progress calls in which the next marker may be put behind a message instead.
	 */
	ALONE_CALLS = 64,
};

/* A peer that has not accepted a connection below after this time is reached through
 * its socket. */
#define REACH_NS UINT64_C(30000000000)
/* A peer that has closed the socket, and not its end of the memory, has so long. */
#define LINGER_NS UINT64_C(1000000000)

/* Decide the own direction for good, or let it wait for the next marker. */
static void set_out(struct tcp_way *way, enum tcp_out out)
{
	way->out = (uint8_t)out;
	if (out == TCP_OUT_SOCKET || out == TCP_OUT_MEMORY)
		tcp_page_mark(way->proof.own, TCP_PAGE_OVER, 0);
}

/* The pages are not needed any more. */
static void stop_polling(struct tcp_way *way)
{
	wf_list_remove(&way->link);
	tcp_proof_done(&way->proof);
}

void tcp_switch_begin(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	if (!conn->peer || !way->name[0] || !tcp_below_name(conn->ep)) {
		stop_polling(way);
		return;
	}
	way->next_epoch = conn->ep->epoch;
	set_out(way, TCP_OUT_WAITS);
	wf_progress_wake(&conn->ep->ep.progress);
}

void tcp_switch_end(struct tcp_conn *conn, int err)
{
	struct tcp_way *way = conn->way;

	conn->ep->near -= tcp_switch_rests(conn);
	way->in = false;
	way->out = TCP_OUT_SOCKET;
	way->reached = false;
	if (way->below != FI_ADDR_NOTAVAIL)
		tcp_unread_take_over(conn, way->below, err);
	way->below = FI_ADDR_NOTAVAIL;
}

/* Has the peer closed the socket? */
static bool is_closed(const struct tcp_conn *conn)
{
	return conn->err == FI_ECONNRESET || conn->err == EPIPE;
}

bool tcp_switch_lingers(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	uint64_t now;

	if (!way || way->out != TCP_OUT_MEMORY || !is_closed(conn) ||
		!tcp_below_is_reached(conn->ep, way->below))
		return false;
	now = wf_now_ns();
	if (!way->linger_ns)
		way->linger_ns = now;
	return now - way->linger_ns < LINGER_NS;
}

/* Make the endpoint below know the peer, whose messages get the source @index. 0;
 * -FI_EAGAIN: the peer is not in the AV; another negative fi_errno: it is not possible.
 */
static int know(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;
	struct tcp_way *way = conn->way;
	fi_addr_t index;
	int ret;

	if (way->below != FI_ADDR_NOTAVAIL)
		return 0;
	index = tcp_peer_index(ep, conn->peer);
	if (index == FI_ADDR_NOTAVAIL)
		return -FI_EAGAIN;
	ret = tcp_below_insert(
		ep, index, way->name, strlen(way->name) + 1, &way->below);
	if (ret)
		way->below = FI_ADDR_NOTAVAIL;
	return ret;
}

static bool awaits_nothing(const struct tcp_conn *conn)
{
	return wf_list_empty(&conn->acks) && wf_list_empty(&conn->resps) &&
	       wf_list_empty(&conn->matches) && !conn->rts_count && !conn->cleared;
}

/* Have all operations ended that were sent to the peer? */
static bool is_idle(const struct tcp_conn *conn)
{
	return tcp_tx_idle(conn) && awaits_nothing(conn);
}

static bool is_due(const struct tcp_way *way)
{
	return (int32_t)(way->conn->ep->epoch - way->next_epoch) >= 0;
}

/* A marker without a message comes later than one behind a message could. */
static bool is_due_alone(const struct tcp_way *way)
{
	uint32_t calls = way->tries ? ALONE_CALLS : 0;

	return (int32_t)(way->conn->ep->epoch - way->next_epoch - calls) >= 0;
}

/* Operations use the connection or, if it was accepted, will use it when the identity
 * of the peer is proven. */
static bool is_used(const struct tcp_conn *conn)
{
	return !conn->err && conn->peer->conn == conn;
}

/* The last marker was refused, or is void: its answer is ignored. */
static void wait_again(struct tcp_way *way)
{
	struct tcp_conn *conn = way->conn;

	if (conn->peer->conn == conn)
		conn->peer->route = conn;
	if (way->tries < TRIES_MAX)
		way->tries++;
	way->next_epoch = conn->ep->epoch + (1u << way->tries);
	set_out(way, TCP_OUT_WAITS);
}

/* Send a marker behind all operations that were posted. */
static void ask(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	tcp_page_mark(way->proof.own, ++way->asked,
		conn->sent + conn->staged - conn->flushed);
	conn->peer->route = NULL;
	set_out(way, TCP_OUT_ASKED);
}

void tcp_switch_behind(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	if (way->reached && !tcp_below_is_inherited(conn->ep) && is_due(way) &&
		is_used(conn) && !conn->cur && !conn->acks_due &&
		wf_list_empty(&conn->answers) && wf_list_empty(&conn->txq) &&
		awaits_nothing(conn))
		ask(conn);
}

/* Connect below, so that later operations are in the peer's memory at once, whether or
 * not the peer makes progress then. 0; -FI_EAGAIN: not connected yet; another negative
 * fi_errno: it takes too long, or is not possible. */
static int reach(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	uint64_t now;
	int ret = 0;

	if (!way->reached)
		ret = tcp_below_reach(conn->ep, way->below);
	way->reached = !ret;
	if (ret != -FI_EAGAIN)
		return ret;
	now = wf_coarse_ns();
	if (!way->reach_ns)
		way->reach_ns = now;
	return now - way->reach_ns < REACH_NS ? ret : -FI_ETIMEDOUT;
}

void tcp_switch_tick(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	int ret;

	if (way->out != TCP_OUT_WAITS || !is_due_alone(way) || !is_used(conn))
		return;
	ret = know(conn);
	if (ret == -FI_EAGAIN) {
		wait_again(way);
		return;
	}
	if (!ret)
		ret = reach(conn);
	if (!ret) {
		if (is_idle(conn))
			ask(conn);
	} else if (ret != -FI_EAGAIN) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a peer on this machine is reached by its socket: %s\n",
			fi_strerror(-ret));
		set_out(way, TCP_OUT_SOCKET);
	}
}

/* Have all bytes before the offset @at, the end of a record, been handled? A message
 * that waits for its receive is a body that has not ended, with everything behind it.
 */
static bool has_handled(const struct tcp_conn *conn, uint64_t at)
{
	return !conn->rx.body && conn->received >= at;
}

/* The sender of a marker has got all answers to its earlier operations. */
static void poll_marker(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	bool rested = tcp_switch_rests(conn);
	uint64_t at, marker = tcp_page_marker(way->proof.peer, &at);

	if (marker == way->answered || !has_handled(conn, at))
		return;
	way->answered = marker;
	if (marker == TCP_PAGE_OVER)
		return;
	way->in = !know(conn) || way->in;
	conn->ep->near += tcp_switch_rests(conn) && !rested;
	tcp_page_answer(way->proof.own, marker, way->in);
}

static void go_below(struct tcp_conn *conn)
{
	char text[WF_SOCKADDR_STRLEN];

	conn->ep->near += !tcp_switch_rests(conn);
	set_out(conn->way, TCP_OUT_MEMORY);
	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s is reached by shared memory from now on\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)));
}

static void poll_answer(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	bool yes;

	if (way->out != TCP_OUT_ASKED ||
		!tcp_page_answers(way->proof.peer, way->asked, &yes))
		return;
	if (yes)
		go_below(conn);
	else
		wait_again(way);
}

void tcp_switch_poll(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	poll_marker(conn);
	poll_answer(conn);
	if (way->answered == TCP_PAGE_OVER &&
		(way->out == TCP_OUT_MEMORY || way->out == TCP_OUT_SOCKET))
		stop_polling(way);
}

bool tcp_switch_goes_below(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	/* In a forked child tcp_switch_start says that it cannot. */
	if (wf_likely(way->out == TCP_OUT_MEMORY) || tcp_below_is_inherited(conn->ep))
		return true;
	poll_answer(conn);
	if (way->out == TCP_OUT_ASKED)
		wait_again(way);
	return way->out == TCP_OUT_MEMORY;
}

ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op)
{
	ssize_t ret;

	/* The peer has one receive context. */
	if (tcp_context_of(conn->ep, op->addr))
		return -FI_EINVAL;
	op->flags |= WF_OP_REACHED;
	ret = tcp_below_start(conn->ep, conn->way->below, op);
	op->flags &= ~WF_OP_REACHED;
	if (wf_unlikely(ret == -FI_ENOTCONN))
		tcp_way_failed(conn);
	return ret;
}
