/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/local/switch.h"
#include "sys/clock.h"

enum {
	/* A marker that was refused or void is repeated after two progress calls, four,
	 * eight, and at last 2^TRIES_MAX. */
	TRIES_MAX = 16,
	/* Progress calls in which the next marker may go behind a message instead. */
	ALONE_CALLS = 64,
};

/* A peer that has not accepted a connection below by then is reached by its socket. */
#define REACH_NS UINT64_C(30000000000)

static void set_out(struct tcp_way *way, enum tcp_out out)
{
	way->out = (uint8_t)out;
	wf_list_remove(&way->link);
	if (out == TCP_OUT_WAITS)
		wf_list_push(&way->conn->ep->switching, &way->link);
}

void tcp_switch_begin(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	if (!conn->peer || !way->name[0] || !tcp_switch_name(conn->ep))
		return;
	way->next_epoch = conn->ep->epoch;
	set_out(way, TCP_OUT_WAITS);
	wf_progress_wake(&conn->ep->ep.progress);
}

void tcp_switch_end(struct tcp_conn *conn, int err)
{
	struct tcp_way *way = conn->way;

	conn->ep->near -= tcp_switch_rests(conn);
	way->in = false;
	set_out(way, TCP_OUT_SOCKET);
	way->reached = false;
	if (way->below != FI_ADDR_NOTAVAIL)
		conn->ep->below_ops->remove(conn->ep, way->below, err);
	way->below = FI_ADDR_NOTAVAIL;
}

/* Have the endpoint below know the peer, whose messages have the source @index there.
 * 0; -FI_EAGAIN: the peer is not in the AV; other: it cannot be. */
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
	ret = ep->below_ops->insert(
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

/* Has everything ended that was sent to the peer? */
static bool is_idle(const struct tcp_conn *conn)
{
	return tcp_tx_idle(conn) && awaits_nothing(conn);
}

static bool is_due(const struct tcp_way *way)
{
	return (int32_t)(way->conn->ep->epoch - way->next_epoch) >= 0;
}

/* A marker by itself comes later than one behind a message could. */
static bool is_due_alone(const struct tcp_way *way)
{
	uint32_t calls = way->tries ? ALONE_CALLS : 0;

	return (int32_t)(way->conn->ep->epoch - way->next_epoch - calls) >= 0;
}

/* Operations use the connection, or, where it was accepted, will do so when its claim
 * is proven. */
static bool is_used(const struct tcp_conn *conn)
{
	return !conn->err && conn->peer->conn == conn;
}

static void wait_again(struct tcp_way *way)
{
	if (way->tries < TRIES_MAX)
		way->tries++;
	way->next_epoch = way->conn->ep->epoch + (1u << way->tries);
	set_out(way, TCP_OUT_WAITS);
}

static bool ask(struct tcp_conn *conn)
{
	if (!tcp_tx_answer(conn, TCP_REC_MARKER, 0))
		return false;
	conn->peer->route = NULL;
	set_out(conn->way, TCP_OUT_ASKED);
	return true;
}

static void send_marker(struct tcp_conn *conn)
{
	if (!ask(conn))
		return;
	tcp_tx_dirty(conn);
	tcp_tx_flush(conn);
}

void tcp_switch_behind(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;

	if (way->reached && is_due(way) && is_used(conn) && !conn->cur &&
		!conn->acks_due && wf_list_empty(&conn->answers) &&
		wf_list_empty(&conn->txq) && awaits_nothing(conn))
		(void)ask(conn);
}

/* Connect below, so that what is posted later is in the peer's memory at once, whether
 * the peer makes progress then or not. 0; -FI_EAGAIN: not connected yet; other: it
 * takes too long, or cannot be. */
static int reach(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	uint64_t now;
	int ret = 0;

	if (!way->reached)
		ret = conn->ep->below_ops->reach(conn->ep, way->below);
	way->reached = !ret;
	if (ret != -FI_EAGAIN)
		return ret;
	now = wf_coarse_ns();
	if (!way->reach_ns)
		way->reach_ns = now;
	return now - way->reach_ns < REACH_NS ? ret : -FI_ETIMEDOUT;
}

static void try_switch(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	int ret;

	if (!is_due_alone(way) || !is_used(conn))
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
			send_marker(conn);
	} else if (ret != -FI_EAGAIN) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a peer on this machine is reached by its socket: %s\n",
			fi_strerror(-ret));
		set_out(way, TCP_OUT_SOCKET);
	}
}

void tcp_switch_tick(struct tcp_ep *ep)
{
	wf_list_foreach_safe(link, &ep->switching)
	{
		try_switch(wf_list_entry(link, struct tcp_way, link)->conn);
	}
}

/* The sender sends a marker only after both have proven, which this end knows from what
 * came before the marker. */
int tcp_marker_head(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	bool rested = tcp_switch_rests(conn);

	if (!tcp_way_proven(way) || !conn->peer || !way->name[0] ||
		!tcp_switch_name(conn->ep))
		return -FI_EPROTO;
	way->in = !know(conn) || way->in;
	conn->ep->near += tcp_switch_rests(conn) && !rested;
	tcp_way_answer(conn, TCP_REC_MARKER_RESP, way->in);
	return 0;
}

int tcp_marker_resp_head(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	uint64_t yes = conn->rx.rec.id;
	char text[WF_SOCKADDR_STRLEN];

	if (!way || (way->out != TCP_OUT_ASKED && way->out != TCP_OUT_VOID) || yes > 1)
		return -FI_EPROTO;
	if (!yes || way->out == TCP_OUT_VOID) {
		conn->peer->route = conn->peer->conn;
		wait_again(way);
		return 0;
	}
	conn->ep->near += !tcp_switch_rests(conn);
	set_out(way, TCP_OUT_MEMORY);
	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s is reached by shared memory from now on\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)));
	return 0;
}

struct tcp_conn *tcp_switch_route(struct tcp_peer *peer)
{
	struct tcp_way *way = peer->conn->way;

	if (way->out == TCP_OUT_MEMORY)
		return NULL;
	set_out(way, TCP_OUT_VOID);
	peer->route = peer->conn;
	return peer->conn;
}

struct tcp_conn *tcp_switch_conn(struct tcp_ep *ep, fi_addr_t addr)
{
	struct wf_ip_remote *ip = wf_ip_remote_at(&ep->peers->remotes, ep->ep.av, addr);

	return tcp_peer_of_ip(ip)->conn;
}

ssize_t tcp_switch_start(struct tcp_conn *conn, struct wf_op *op)
{
	ssize_t ret;

	/* The peer has one receive context. */
	if (tcp_context_of(conn->ep, op->addr))
		return -FI_EINVAL;
	op->flags |= WF_OP_REACHED;
	ret = conn->ep->below_ops->start(conn->ep, conn->way->below, op);
	op->flags &= ~WF_OP_REACHED;
	if (wf_unlikely(ret == -FI_ENOTCONN))
		tcp_way_failed(conn);
	return ret;
}
