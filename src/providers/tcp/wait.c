/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/conn.h"
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/peer.h"
#include "objects/local/local.h"
#include "sys/clock.h"

/*
 * Sleeping threads: the epoll set, to which tcp_arm() adds the hot sockets, and its
 * timer. progress.c removes hot sockets when no thread sleeps any more.
 */

int tcp_wait_fd(struct wf_ep *wf)
{
	return tcp_ep_of(wf)->watches.epfd;
}

void tcp_wake_sleepers(struct tcp_ep *ep)
{
	if (ep->watches.sleepers && !ep->running)
		wf_watches_set_timer(&ep->watches, 0);
}

static uint64_t tcp_wait_next_deadline(struct tcp_ep *ep)
{
	uint64_t deadline = ep->peers ? tcp_peers_deadline(ep) : tcp_msg_deadline(ep);

	return WF_MIN(deadline, tcp_keepalive_deadline(ep));
}

void tcp_rearm_timer(struct tcp_ep *ep)
{
	ep->watches.timer_expired = false;
	if (ep->watches.sleepers)
		wf_watches_set_timer(&ep->watches, tcp_wait_next_deadline(ep));
}

bool tcp_arm(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);

	wf_progress_set_partial(&wf->progress, false);
	ep->watches.sleepers = true;
	ep->armed_epoch = ep->epoch;
	if (!wf_list_empty(&ep->failed) || ep->memory_given)
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

		if (tcp_rx_goes_on(&conn->rx) && !tcp_rx_is_stopped(conn))
			return false;
		tcp_conn_watch(conn, tcp_conn_events(conn));
	}
	wf_list_foreach(dirty, &ep->dirty)
	{
		struct tcp_conn *conn =
			wf_list_entry(dirty, struct tcp_conn, dirty_link);

		tcp_conn_watch(conn, tcp_conn_events(conn));
	}
	wf_watches_set_timer(&ep->watches, tcp_wait_next_deadline(ep));
	return wf_local_arm(ep->below);
}
