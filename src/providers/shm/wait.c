/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "providers/shm/peer.h"
#include "sys/clock.h"

/*
 * For those who sleep: the epoll set with the sockets, which get a byte from whoever
 * writes a record while we are armed, and a timer for what has a deadline.
 */

enum { PULL_NS = 50000, FULL_NS = 200000 };

int shm_wait_fd(struct wf_ep *wf)
{
	return shm_ep_of(wf)->epfd;
}

static void timer_ready(struct shm_watch *watch, uint32_t events)
{
	uint64_t count;

	(void)events;
	(void)!read(watch->fd, &count, sizeof(count));
}

void shm_timer_set(struct shm_ep *ep, uint64_t deadline_ns)
{
	struct itimerspec spec = { 0 };

	if (ep->timer_ns == deadline_ns)
		return;
	if (ep->timer.fd < 0) {
		ep->timer.ready = timer_ready;
		ep->timer.fd =
			timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
		if (ep->timer.fd < 0)
			return;
		(void)shm_watch_add(ep, &ep->timer, EPOLLIN);
	}
	ep->timer_ns = deadline_ns;
	if (deadline_ns != UINT64_MAX) {
		deadline_ns = WF_MAX(deadline_ns, (uint64_t)1);
		spec.it_value.tv_sec = (time_t)(deadline_ns / 1000000000u);
		spec.it_value.tv_nsec = (long)(deadline_ns % 1000000000u);
	}
	(void)timerfd_settime(ep->timer.fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static void arm_conn(struct shm_conn *conn)
{
	atomic_store_explicit(&conn->in.lane->reader.armed, 1, memory_order_relaxed);
	/* A writer that has no room waits for what we tell. */
	shm_reader_tell(&conn->in);
}

bool shm_arm(struct wf_ep *wf)
{
	struct shm_ep *ep = shm_ep_of(wf);
	uint64_t deadline;

	ep->look_left = 1;
	if (!wf_list_empty(&ep->failed))
		return false;
	for (uint32_t i = 0; i < ep->conn_count; i++)
		arm_conn(ep->conns[i]);
	/* A full fence between this and the look at the lanes; the writers' side is in
	 * shm_out_wake_slow. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < ep->conn_count; i++)
		if (shm_reader_head(&ep->conns[i]->in))
			return false;
	deadline = shm_peers_deadline(ep);
	if (!wf_list_empty(&ep->pulls))
		deadline = WF_MIN(deadline, wf_now_ns() + PULL_NS);
	/* Nobody tells that there is room again. */
	if (!wf_list_empty(&ep->dirty))
		deadline = WF_MIN(deadline, wf_now_ns() + FULL_NS);
	shm_timer_set(ep, deadline);
	return true;
}
