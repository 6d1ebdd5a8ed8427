/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/bulk.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/rx.h"
#include "providers/shm/proto/verdict.h"
#include "providers/shm/proto/withdraw.h"
#include "sys/clock.h"

/*
 * Decides which connections are polled, and when.
 *
 * Connections with traffic are hot: each progress call polls the next slot of each hot
 * connection, and of one of the others, so that any number of idle peers costs one
 * cache line. Sockets, which report new peers and peers that died, are polled about
 * every POLL_NS. The number of progress calls in that time is measured, and a coarse
 * clock notices when an application makes them less often than before.
 */
enum {
	/* This many connections stay hot whether they have traffic or not. */
	HOT_FEW = 4,
	/* If more connections are hot: polls without a record after which one of them
	 * is no longer hot. */
	HOT_QUIET = 512,
	POLL_NS = 50000,
	POLL_BUSY_NS = 5000, /* while a connection is being set up */
	POLL_CALLS_MAX = 4096,
	/* Progress calls between two readings of the coarse clock; a power of two. */
	CLOCK_CALLS = 8,
};

static void progress_poll_sockets(struct shm_ep *ep)
{
	int n = wf_watches_poll(&ep->watches);

	shm_peers_tick(ep);
	if (n > 0)
		shm_wake_sleepers(ep);
}

/* Is a connection attempt under way, or due soon? */
static bool progress_is_connecting(struct shm_ep *ep, uint64_t now)
{
	return wf_attempts_first(&ep->peers->remotes.attempts) ||
	       (!wf_list_empty(&ep->peers->remotes.busy) &&
		       shm_peers_deadline(ep) < now + POLL_NS);
}

static __attribute__((noinline)) void progress_poll_and_measure(struct shm_ep *ep)
{
	uint64_t now = wf_now_ns(), every;
	uint64_t passed = now - ep->pace.ns + 1;

	progress_poll_sockets(ep);
	shm_withdraw_progress(ep, now);
	every = progress_is_connecting(ep, now) ? POLL_BUSY_NS : POLL_NS;
	every = every * ep->pace.calls / passed;
	ep->pace.calls = (uint32_t)WF_MIN(every + 1, (uint64_t)POLL_CALLS_MAX);
	ep->pace.left = ep->pace.calls;
	ep->pace.ns = now;
	ep->pace.coarse_ns = wf_coarse_ns();
}

static inline void progress_poll_conn(struct shm_ep *ep, struct shm_conn *conn)
{
	uint64_t head = shm_reader_head(&conn->in);

	if (wf_likely(!head && ep->conns.hot <= HOT_FEW)) {
		shm_reader_await(&conn->in);
		return;
	}
	if (wf_unlikely(conn->err))
		return;
	if (shm_rx_from(conn, head))
		conn->quiet = 0;
	else if (ep->conns.hot > HOT_FEW && ++conn->quiet > HOT_QUIET)
		shm_conn_make_cold(conn);
}

static inline void shm_progress_poll_hot(struct shm_ep *ep)
{
	/* From the last to the first: shm_conn_make_cold swaps a connection with the
	 * last hot one. */
	for (uint32_t i = ep->conns.hot; i-- > 0;)
		progress_poll_conn(ep, ep->conns.at[i]);
}

static void progress_poll_cold(struct shm_ep *ep)
{
	uint32_t cold = ep->conns.count - ep->conns.hot;
	struct shm_conn *conn;

	if (++ep->conns.next_cold >= cold)
		ep->conns.next_cold = 0;
	conn = ep->conns.at[ep->conns.hot + ep->conns.next_cold];
	if (!conn->err && shm_rx_poll(conn))
		shm_conn_make_hot(conn);
}

static void shm_progress_flush_dirty(struct shm_ep *ep)
{
	wf_list_foreach_safe(link, &ep->dirty)
	{
		shm_out_flush(wf_list_entry(link, struct shm_conn, queue.dirty_link));
	}
}

static void shm_progress_reap(struct shm_ep *ep)
{
	while (!wf_list_empty(&ep->failed)) {
		struct shm_conn *conn =
			wf_list_entry(ep->failed.next, struct shm_conn, failed_link);

		shm_conn_end(conn, conn->err);
	}
}

static bool progress_is_time(const struct shm_ep *ep)
{
	return !ep->pace.left || wf_coarse_ns() != ep->pace.coarse_ns;
}

/* Rare work, out of the hot path. */
static __attribute__((noinline)) void progress_chores(struct shm_ep *ep)
{
	if (!wf_list_empty(&ep->pulls))
		shm_bulk_progress(ep);
	if (!wf_list_empty(&ep->verdicts))
		shm_verdict_progress(ep);
	if (!wf_list_empty(&ep->dirty))
		shm_progress_flush_dirty(ep);
	if (progress_is_time(ep))
		progress_poll_and_measure(ep);
	if (!wf_list_empty(&ep->failed))
		shm_progress_reap(ep);
	if (!wf_list_empty(&ep->dead))
		shm_conn_free_dead(ep);
	ep->chores = !wf_list_empty(&ep->pulls) || !wf_list_empty(&ep->dirty) ||
		     !wf_list_empty(&ep->failed) || !wf_list_empty(&ep->verdicts);
}

/* wf_progress.moved: an endpoint that completes nothing, such as the target of atomics,
 * has made progress if it read records. The count comes from the rings, so a record
 * costs nothing extra. */
bool shm_progress_moved(struct wf_progress *item)
{
	struct shm_ep *ep = shm_ep_of(wf_container_of(item, struct wf_ep, progress));
	uint32_t read = 0;
	bool moved;

	if (!wf_trylock(&ep->ep.lock))
		return false;
	for (uint32_t i = 0; i < ep->conns.hot; i++)
		read += ep->conns.at[i]->in.next;
	moved = read != ep->pace.read_before;
	ep->pace.read_before = read;
	wf_unlock(&ep->ep.lock);
	return moved;
}

void shm_progress(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	shm_progress_poll_hot(ep);
	if (ep->conns.count > ep->conns.hot)
		progress_poll_cold(ep);
	if (wf_unlikely(!(--ep->pace.left % CLOCK_CALLS) && progress_is_time(ep)) ||
		wf_unlikely(ep->chores))
		progress_chores(ep);
}
