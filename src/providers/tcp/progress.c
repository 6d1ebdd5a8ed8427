/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/conn.h"
#include "providers/tcp/context.h"
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"
#include "objects/local/local.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/local.h"
#include "sys/clock.h"

/*
 * Decides which sockets are polled, and when.
 *
 * Connections with traffic are hot: each progress call reads them directly, because a
 * read that finds nothing costs less than a poll of the epoll set and a read. All other
 * connections, listeners and connection attempts are in one epoll set, which is polled
 * now and then, and in each call while no connection is hot. So any number of idle
 * peers costs a fraction of one system call.
 *
 * If many peers are busy, only TCP_HOT_MAX of them are hot, because most reads would
 * find nothing, and the set is polled more often while it reports others.
 */
enum {
	/* This many connections stay hot whether they have traffic or not. */
	HOT_FEW = 4,
	/* If more connections are hot: reads of all of them without bytes, after which
	 * one is no longer hot. */
	HOT_QUIET = 2048,
	/* Reads without bytes, after which a connection that uses memory is no longer
	 * hot, however few are. */
	MEMORY_QUIET = 512,
	/* Reads of hot connections between two polls of the set, and progress calls
	 * between two checks of slow events. */
	EPOLL_INTERVAL = 32,
	/* Full progress calls without bytes from any hot connection, after which there
	 * may be partial calls although connections are hot. */
	HOT_IDLE = 1024,
	/* Number of partial progress calls (struct wf_local_pace) between two full
	 * ones: with hot connections; without; and where all sockets of the set but the
	 * listener are those of peers that are reached through memory. */
	PARTIAL_HOT = 16,
	PARTIAL_MIXED = 32,
	PARTIAL_ALL = 2048,
	/* Number of progress calls that all poll the set, after a poll that found
	 * something. */
	EPOLL_AGAIN = 16,
	/* Progress calls between two checks whether messages came through memory. */
	MOVED_INTERVAL = 8,
	/* Progress calls without a sleep after which the endpoint assumes that no
	 * thread sleeps. */
	AWAKE = 256,
};

int tcp_watch_set(struct tcp_ep *ep, struct wf_watch *watch, uint32_t events)
{
	int ret = wf_watch_set(&ep->watches, watch, events);

	if (ret)
		tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA, "cannot watch a socket: %s\n",
			fi_strerror(-ret));
	return ret;
}

static void tcp_progress_flush_dirty(struct tcp_ep *ep)
{
	wf_list_foreach_safe(link, &ep->dirty)
	{
		tcp_tx_flush(wf_list_entry(link, struct tcp_conn, dirty_link));
	}
}

/* A read found no bytes: is the connection no longer hot? */
static bool progress_is_quiet(const struct tcp_ep *ep, struct tcp_conn *conn)
{
	conn->quiet++;
	return (ep->hot_count > HOT_FEW && conn->quiet > HOT_QUIET / ep->hot_count) ||
	       (tcp_switch_uses_memory(conn) && conn->quiet > MEMORY_QUIET);
}

static bool tcp_progress_poll_hot(struct tcp_ep *ep)
{
	bool found = false;

	wf_list_foreach_safe(link, &ep->hot)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, hot_link);

		if (wf_unlikely(conn->err))
			continue;
		if (tcp_rx_poll(conn)) {
			conn->quiet = 0;
			found = true;
		} else if (progress_is_quiet(ep, conn) && !conn->rx.held) {
			tcp_conn_make_cold(conn);
		}
	}
	return found;
}

static void tcp_progress_reap(struct tcp_ep *ep)
{
	struct wf_list later, *link;

	wf_list_init(&later);
	while ((link = wf_list_pop(&ep->failed))) {
		struct tcp_conn *conn =
			wf_list_entry(link, struct tcp_conn, failed_link);

		tcp_rx_last_words(conn);
		if (tcp_switch_lingers(conn)) {
			/* It may have failed once more. */
			wf_list_remove(link);
			wf_list_push(&later, link);
		} else if (ep->peers) {
			tcp_conn_end(conn, FI_ECANCELED);
		} else {
			tcp_msg_lost(ep, conn);
		}
	}
	while ((link = wf_list_pop(&later)))
		wf_list_push(&ep->failed, link);
}

static bool progress_any_context_armed(struct tcp_ep *ep)
{
	for (size_t i = 0; i < wf_sep_tx_count(&ep->ep); i++)
		if (ep->contexts[i].ep && wf_ep_is_armed(ep->contexts[i].ep))
			return true;
	for (size_t i = 0; i < wf_sep_rx_count(&ep->ep); i++)
		if (wf_ep_is_armed(wf_ep_rx_at(&ep->ep, i)))
			return true;
	return false;
}

/* May a thread sleep on a queue or counter of this endpoint, or rely on its descriptor
 * instead of making progress calls? */
static bool progress_may_sleep(struct tcp_ep *ep)
{
	if (wf_progress_is_parked(&ep->ep.progress))
		return true;
	if (ep->cm && ep->cm->base.eq && wf_eq_is_armed(ep->cm->base.eq))
		return true;
	return wf_ep_is_sep(&ep->ep) ? progress_any_context_armed(ep)
				     : wf_ep_is_armed(&ep->ep);
}

/* No thread slept for AWAKE progress calls: hot sockets leave the epoll set. */
static void progress_forget_sleepers(struct tcp_ep *ep)
{
	if (!ep->manual || progress_may_sleep(ep)) {
		ep->armed_epoch = ep->epoch;
		return;
	}
	ep->watches.sleepers = false;
	wf_list_foreach(link, &ep->hot)
	{
		struct tcp_conn *conn = wf_list_entry(link, struct tcp_conn, hot_link);

		(void)tcp_watch_set(ep, &conn->watch, 0);
	}
}

/* Is a poll of the epoll set due? The first progress call after a thread prepared to
 * sleep probably comes because of an event. And an application that seldom makes
 * progress calls should not need EPOLL_INTERVAL of them. */
static bool progress_is_poll_due(struct tcp_ep *ep)
{
	uint64_t tick;

	if (!ep->watches.count)
		return false;
	ep->set_reads += WF_MAX(ep->hot_count, 1u);
	if (wf_list_empty(&ep->hot) || ep->set_reads >= EPOLL_INTERVAL ||
		ep->set_again || ep->epoch == ep->armed_epoch + 1)
		return true;
	tick = wf_coarse_ns();
	if (tick == ep->set_tick)
		return false;
	ep->set_tick = tick;
	return true;
}

static bool progress_poll_set(struct tcp_ep *ep)
{
	bool found = wf_watches_poll(&ep->watches) > 0;

	ep->set_reads = 0;
	if (found)
		ep->set_again = EPOLL_AGAIN;
	else if (ep->set_again)
		ep->set_again--;
	return found;
}

static unsigned int tcp_progress_memory_conns(const struct tcp_ep *ep)
{
	return atomic_load_explicit(&ep->memory_conns, memory_order_relaxed);
}

/* Is the endpoint below polled in this progress call? It always is while connections
 * use memory or may soon do. Otherwise it only has to close ended connections, now and
 * then. */
static bool tcp_progress_is_below_due(const struct tcp_ep *ep)
{
	return ep->below &&
	       (tcp_progress_memory_conns(ep) || !wf_list_empty(&ep->switching) ||
		       ep->epoch % EPOLL_INTERVAL == 0);
}

/* Poll the endpoint below; has it moved data? That is checked seldom, because the check
 * takes the lock of the endpoint below once more. No data are missed: wf_local_arm
 * checks again before the endpoint is parked or a thread sleeps. */
static bool tcp_progress_poll_below(struct tcp_ep *ep)
{
	if (wf_local_is_inherited(ep->below))
		return false;
	wf_local_poll(ep->below);
	return (ep->after_partial || ep->epoch % MOVED_INTERVAL == 0) &&
	       wf_local_moved(ep->below);
}

/* The number of partial calls before the next full one; 0: the next call is full. */
static uint32_t tcp_progress_next_partial_calls(const struct tcp_ep *ep)
{
	if (!tcp_progress_memory_conns(ep) || wf_local_is_inherited(ep->below) ||
		ep->watches.sleepers || ep->set_again || !wf_list_empty(&ep->dirty) ||
		!wf_list_empty(&ep->failed) || !wf_list_empty(&ep->switching))
		return 0;
	if (!wf_list_empty(&ep->hot))
		return ep->hot_idle > HOT_IDLE ? PARTIAL_HOT : 0;
	return ep->watches.count > tcp_progress_memory_conns(ep) + 1 ? PARTIAL_MIXED
								     : PARTIAL_ALL;
}

static void tcp_progress_set_partial_calls(struct tcp_ep *ep)
{
	wf_local_set_partial(ep->below, tcp_progress_next_partial_calls(ep));
	if (ep->below->pace.calls)
		ep->set_tick = ep->below->pace.tick;
}

/* Number of partial progress calls since the last full one. */
static uint32_t progress_partial_calls_made(const struct tcp_ep *ep)
{
	return ep->below ? ep->below->pace.calls - ep->below->pace.left : 0;
}

void tcp_progress(struct wf_ep *wf)
{
	struct tcp_ep *ep = tcp_ep_of(wf);
	bool found = !wf_list_empty(&ep->dirty), heard;

	ep->epoch++;
	ep->running = true;
	ep->after_partial = ep->below && ep->below->pace.calls;
	if (wf_unlikely(ep->watches.sleepers && ep->epoch - ep->armed_epoch > AWAKE))
		progress_forget_sleepers(ep);
	if (found)
		tcp_progress_flush_dirty(ep);
	if (wf_unlikely(ep->memory_given))
		tcp_held_resume(ep);
	if (wf_unlikely(tcp_progress_is_below_due(ep)))
		found |= tcp_progress_poll_below(ep);
	heard = tcp_progress_poll_hot(ep);
	found |= heard;
	if (wf_unlikely((ep->epoch % EPOLL_INTERVAL == 0 || ep->after_partial ||
				ep->watches.sleepers || !ep->manual) &&
			!wf_list_empty(&ep->owing)))
		tcp_keepalive_check(ep, wf_now_ns());
	if (progress_is_poll_due(ep)) {
		found |= progress_poll_set(ep);
		if (ep->peers)
			tcp_peers_tick(ep);
		else
			tcp_msg_tick(ep);
	}
	if (!wf_list_empty(&ep->dirty))
		tcp_progress_flush_dirty(ep);
	if (wf_unlikely(!wf_list_empty(&ep->switching)))
		tcp_local_tick(ep);
	if (wf_unlikely(!wf_list_empty(&ep->failed)))
		tcp_progress_reap(ep);
	if (wf_unlikely(!wf_list_empty(&ep->dead)))
		tcp_conn_free_dead(ep);
	ep->running = false;
	if (wf_unlikely(ep->watches.timer_expired))
		tcp_rearm_timer(ep);
	wf_progress_found_in(&wf->progress, found, progress_partial_calls_made(ep) + 1);
	if (wf_unlikely(tcp_progress_memory_conns(ep) || ep->after_partial)) {
		ep->hot_idle = heard ? 0 : ep->hot_idle + 1;
		tcp_progress_set_partial_calls(ep);
	}
}
