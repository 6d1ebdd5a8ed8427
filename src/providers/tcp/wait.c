/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn.h"
#include "providers/tcp/keepalive.h"
#include "providers/tcp/msg_cm.h"
#include "providers/tcp/peer.h"
#include "sys/clock.h"

/*
 * For those who sleep: the epoll set, into which arm() puts hot sockets as well, and a
 * timer for what has a deadline. progress.c takes them out when nobody sleeps any more.
 */

int tcp_wait_fd(struct wf_ep *wf)
{
	return tcp_ep_of(wf)->epfd;
}

static void timer_ready(struct tcp_watch *watch, uint32_t events)
{
	struct tcp_ep *ep = wf_container_of(watch, struct tcp_ep, timer_watch);

	(void)events;
	wf_timer_drain(&ep->timer);
	ep->timer_over = true;
}

static void set_timer(struct tcp_ep *ep, uint64_t deadline_ns)
{
	if (!wf_timer_set(&ep->timer, deadline_ns))
		return;
	ep->timer_watch.ready = timer_ready;
	ep->timer_watch.fd = ep->timer.fd;
	tcp_watch_set(ep, &ep->timer_watch, EPOLLIN);
}

void tcp_expect(struct tcp_ep *ep, uint64_t deadline_ns)
{
	if (ep->sleepers && deadline_ns < ep->timer.deadline_ns)
		set_timer(ep, deadline_ns);
}

void tcp_look_soon(struct tcp_ep *ep)
{
	if (ep->sleepers && !ep->running)
		set_timer(ep, 0);
}

static uint64_t next_deadline(struct tcp_ep *ep)
{
	uint64_t deadline = ep->peers ? tcp_peers_deadline(ep) : tcp_msg_deadline(ep);

	return WF_MIN(deadline, tcp_look_deadline(ep));
}

void tcp_timer_again(struct tcp_ep *ep)
{
	ep->timer_over = false;
	if (ep->sleepers)
		set_timer(ep, next_deadline(ep));
}

bool tcp_arm(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	ep->sleepers = true;
	ep->armed_epoch = ep->epoch;
	if (!wf_list_empty(&ep->failed))
		return false;
	wf_list_foreach_safe(link, &ep->dirty)
	{
		tcp_tx_flush(wf_list_entry(link, struct tcp_conn, dirty_link));
	}
	if (!wf_list_empty(&ep->failed))
		return false;
	wf_list_foreach(link, &ep->hot)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, hot_link);

		if (conn->rx.held && conn->rx.sink != TCP_SINK_HOLD)
			return false;
		tcp_watch_set(ep, &conn->watch, tcp_conn_events(conn));
	}
	wf_list_foreach(dirty, &ep->dirty)
	{
		struct tcp_conn *conn =
			wf_list_entry(dirty, struct tcp_conn, dirty_link);

		tcp_watch_set(ep, &conn->watch, tcp_conn_events(conn));
	}
	set_timer(ep, next_deadline(ep));
	return true;
}
