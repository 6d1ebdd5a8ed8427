/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/verdict.h"
#include "providers/shm/proto/withdraw.h"
#include "sys/clock.h"

/*
 * Sleeping threads. A sleep ends by the epoll set with the sockets, or by its timer. A
 * peer sends a byte over its socket when it writes a record while this endpoint is
 * armed, and when it stores its reader's position while this endpoint waits for space.
 */

enum { PULL_NS = 50000 };

int shm_wait_fd(struct wf_ep *wf)
{
	return shm_ep_of(wf)->watches.epfd;
}

static uint64_t shm_wait_next_deadline(struct shm_ep *ep)
{
	uint64_t deadline = shm_peers_deadline(ep);

	if (!wf_list_empty(&ep->pulls))
		deadline = WF_MIN(deadline, wf_now_ns() + PULL_NS);
	if (shm_withdraw_is_due(ep))
		deadline = WF_MIN(deadline, wf_now_ns() + PULL_NS);
	/* Nothing wakes an operation that is held until its peer has taken others. */
	if (!wf_list_empty(&ep->dirty))
		deadline = WF_MIN(deadline, wf_now_ns() + SHM_FULL_NS);
	return deadline;
}

/*
 * A peer sends only one byte for all records until this endpoint arms once more. The
 * progress thread arms at once, so its timer fires at once. Whether another thread
 * sleeps is not known: the timer fires after SHM_FULL_NS, and repeatedly, even in a
 * program that never sleeps.
 */
void shm_wake_sleepers(struct shm_ep *ep)
{
	if (ep->threaded)
		wf_watches_set_timer(&ep->watches, 0);
	else if (ep->watches.sleepers)
		wf_watches_set_timer(&ep->watches,
			WF_MIN(shm_wait_next_deadline(ep), wf_now_ns() + SHM_FULL_NS));
}

static void wait_arm_conn(struct shm_conn *conn)
{
	atomic_store_explicit(&conn->in.lane->reader.armed, 1, memory_order_relaxed);
	/* The unreported space is less than half of the lane, so no writer sleeps for
	 * it; a writer that polls can use it. */
	shm_reader_tell(&conn->in);
}

static struct shm_conn *wait_dirty_conn(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_conn, queue.dirty_link);
}

static bool wait_can(const struct shm_conn *conn)
{
	return conn->queue.full || conn->queue.held == SHM_HELD_ORDER;
}

/* Ask readers to wake this endpoint when there is space for queued records. False: some
 * of them have not been tried yet, or can go on. */
static bool wait_await_space(struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->dirty)
	{
		if (!wait_can(wait_dirty_conn(link)))
			return false;
		shm_writer_await(&wait_dirty_conn(link)->out);
	}
	return true;
}

static bool wait_has_space(struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->dirty)
	{
		if (shm_writer_has_news(&wait_dirty_conn(link)->out))
			return true;
	}
	return false;
}

bool shm_arm(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);

	ep->pace.left = 1;
	if (!wf_list_empty(&ep->failed))
		return false;
	for (uint32_t i = 0; i < ep->conns.count; i++)
		wait_arm_conn(ep->conns.at[i]);
	if (!wait_await_space(ep))
		return false;
	shm_verdict_arm(ep);
	/* Full fence between the stores to armed and waiting and the loads from the
	 * lanes; pairs with that in shm_out_ring. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < ep->conns.count; i++)
		if (shm_reader_head(&ep->conns.at[i]->in))
			return false;
	if (wait_has_space(ep) || shm_verdict_has_news(ep))
		return false;
	wf_watches_set_timer(&ep->watches, shm_wait_next_deadline(ep));
	return true;
}
