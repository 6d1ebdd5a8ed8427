/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/wait/set.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * Why no wake-up is lost.
 *
 *   sleeper                             writer
 *   S1 ticket = signals                 W1 store the entry
 *   S2 armed = true                     W2 full fence
 *   S3 full fence                       W3 armed?
 *   S4 anything to read?                W4 armed = false, ++signals, wake
 *   S5 sleep while signals == ticket
 *
 * S3 and W2: if W3 does not see S2, then S4 sees W1. If W3 sees S2, W4 follows. W4
 * clears @armed by an exchange that acquires what the last S2 released, and S2 is an
 * exchange too. So every S1 whose S2 this W4 clears comes before the ++signals, and its
 * sleeper holds an outdated ticket; S5 compares under @mutex, which W4 holds. An S2
 * that comes later leaves @armed set. So each sleeper gets a signal, also if several
 * threads arm at the same time and only some of them sleep.
 *
 * Descriptors. One sleeper polls: it is in epoll_wait (@polling); the others wait on
 * @cond. While it polls, only this sleeper reads @signal_fd: a thread that drained it
 * while arming would take away the poller's wake-up. When the poller leaves epoll_wait
 * it wakes the others, and one of them polls next. So each signal is read exactly once
 * and no sleeper finds an old one again and again.
 *
 * An application that sleeps on the descriptor itself arms it with fi_trywait, which
 * drains earlier signals, and sleeps only if the object is empty after that.
 */

static bool wait_has_fds(enum fi_wait_obj obj)
{
	return obj == FI_WAIT_FD || obj == FI_WAIT_POLLFD;
}

static int wait_open_fds(struct wf_wait *wait)
{
	int ret;

	wait->signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wait->signal_fd < 0)
		return -errno;
	wf_fds_init(&wait->fds);
	ret = wf_fds_open(&wait->fds);
	if (ret >= 0)
		ret = wf_fds_add(&wait->fds, wait->signal_fd);
	if (!ret)
		return 0;
	wf_fds_done(&wait->fds);
	(void)wf_sys_close(wait->signal_fd);
	return ret;
}

static void wait_init_mutex(struct wf_wait *wait)
{
	pthread_mutexattr_t attr;

	(void)pthread_mutexattr_init(&attr);
	/* Recursive: the application may add to a counter while it holds the mutex
	 * that FI_GETWAIT gave it. */
	if (wait->obj == FI_WAIT_MUTEX_COND)
		(void)pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	(void)pthread_mutex_init(&wait->mutex, &attr);
	(void)pthread_mutexattr_destroy(&attr);
}

int wf_wait_init(struct wf_wait *wait, enum fi_wait_obj obj, struct fid_wait *set)
{
	int err;

	if (obj == FI_WAIT_UNSPEC)
		obj = FI_WAIT_FD;
	if ((unsigned int)obj > FI_WAIT_POLLFD)
		return -FI_EINVAL;
	if (obj == FI_WAIT_SET && (!set || set->fid.fclass != FI_CLASS_WAIT))
		return -FI_EINVAL;

	memset(wait, 0, sizeof(*wait));
	wait->obj = obj;
	/* A member of a set always passes signals on: the sleepers arm the set only. A
	 * descriptor may be polled by an application that never calls fi_trywait: the
	 * first signal then stays readable. */
	atomic_init(&wait->armed, obj == FI_WAIT_SET || wait_has_fds(obj));
	atomic_init(&wait->unread, false);
	atomic_init(&wait->signals, 0);
	wait->signal_fd = -1;
	wf_list_init(&wait->link);

	wait_init_mutex(wait);
	(void)pthread_cond_init(&wait->cond, NULL);
	if (wait_has_fds(obj)) {
		err = wait_open_fds(wait);
		if (err) {
			(void)pthread_cond_destroy(&wait->cond);
			(void)pthread_mutex_destroy(&wait->mutex);
			return err;
		}
	}
	if (obj == FI_WAIT_SET) {
		wait->set = wf_wait_set_of(set);
		atomic_fetch_add_explicit(&wait->set->refs, 1, memory_order_relaxed);
	}
	return 0;
}

void wf_wait_done(struct wf_wait *wait)
{
	if (wait->set) {
		(void)pthread_mutex_lock(&wait->set->lock);
		wf_list_remove(&wait->link);
		(void)pthread_mutex_unlock(&wait->set->lock);
		/* release: pairs with the acquire in the closing of the set. */
		atomic_fetch_sub_explicit(&wait->set->refs, 1, memory_order_release);
	}
	if (wait->signal_fd >= 0) {
		wf_fds_done(&wait->fds);
		(void)wf_sys_close(wait->signal_fd);
	}
	(void)pthread_cond_destroy(&wait->cond);
	(void)pthread_mutex_destroy(&wait->mutex);
}

void wf_wait_attach(struct wf_wait *wait, struct fid *owner)
{
	if (!wait->set)
		return;
	(void)pthread_mutex_lock(&wait->set->lock);
	wait->owner = owner;
	wf_list_push(&wait->set->members, &wait->link);
	(void)pthread_mutex_unlock(&wait->set->lock);
}

bool wf_wait_needs_thread(const struct wf_wait *wait)
{
	if (wait->obj == FI_WAIT_SET)
		wait = &wait->set->wait;
	return wait->obj == FI_WAIT_MUTEX_COND;
}

struct wf_fds *wf_wait_fds(struct wf_wait *wait)
{
	if (wait->obj == FI_WAIT_SET)
		wait = &wait->set->wait;
	return wait_has_fds(wait->obj) ? &wait->fds : NULL;
}

/* @mutex is held. */
static void wait_drain(struct wf_wait *wait)
{
	uint64_t value;

	if (!atomic_load_explicit(&wait->unread, memory_order_relaxed))
		return;
	(void)!wf_sys_read(wait->signal_fd, &value, sizeof(value));
	atomic_store_explicit(&wait->unread, false, memory_order_relaxed);
}

uint64_t wf_wait_arm(struct wf_wait *wait)
{
	uint64_t ticket;

	if (!wait_has_fds(wait->obj) && wait->obj != FI_WAIT_MUTEX_COND)
		return 0;
	/* A signal that this load misses only makes the next sleep return at once. */
	if (atomic_load_explicit(&wait->unread, memory_order_relaxed)) {
		(void)pthread_mutex_lock(&wait->mutex);
		if (!wait->polling)
			wait_drain(wait);
		(void)pthread_mutex_unlock(&wait->mutex);
	}
	ticket = atomic_load_explicit(&wait->signals, memory_order_relaxed); /* S1 */
	(void)atomic_exchange_explicit(
		&wait->armed, true, memory_order_acq_rel); /* S2 */
	atomic_thread_fence(memory_order_seq_cst);         /* S3 */
	return ticket;
}

void wf_wait_signal_slow(struct wf_wait *wait)
{
	static const uint64_t one = 1;

	if (wait->obj == FI_WAIT_SET) {
		wf_wait_signal(&wait->set->wait);
		return;
	}
	(void)pthread_mutex_lock(&wait->mutex);
	/* Another writer may have woken the sleepers already. */
	if (!atomic_exchange_explicit(&wait->armed, false, memory_order_acq_rel))
		goto out;
	atomic_fetch_add_explicit(&wait->signals, 1, memory_order_relaxed);
	if (wait->signal_fd >= 0) {
		(void)!wf_sys_write(wait->signal_fd, &one, sizeof(one));
		atomic_store_explicit(&wait->unread, true, memory_order_relaxed);
	}
	(void)pthread_cond_broadcast(&wait->cond);
out:
	(void)pthread_mutex_unlock(&wait->mutex);
}

static void wait_unlock(void *arg)
{
	struct wf_wait *wait = arg;

	(void)pthread_mutex_unlock(&wait->mutex);
}

/* @mutex is held; a thread that is cancelled releases it. */
static void wait_cond(struct wf_wait *wait, uint64_t deadline_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / 1000000000u),
		.tv_nsec = (long)(deadline_ns % 1000000000u),
	};

	pthread_cleanup_push(wait_unlock, wait);
	/* The condition keeps the default clock, which an application expects. */
	if (deadline_ns == UINT64_MAX)
		(void)pthread_cond_wait(&wait->cond, &wait->mutex);
	else
		(void)pthread_cond_clockwait(
			&wait->cond, &wait->mutex, CLOCK_MONOTONIC, &until);
	pthread_cleanup_pop(0);
}

/* Returns with @mutex held. One of the woken sleepers polls next. */
static void wait_stop_polling(struct wf_wait *wait)
{
	(void)pthread_mutex_lock(&wait->mutex);
	wait->polling = false;
	wait_drain(wait);
	(void)pthread_cond_broadcast(&wait->cond);
}

static void wait_cancel_polling(void *arg)
{
	wait_stop_polling(arg);
	wait_unlock(arg);
}

/* @mutex is held, but not while asleep. True: a descriptor is readable. */
static bool wait_fds(struct wf_wait *wait, uint64_t deadline_ns)
{
	struct epoll_event event;
	int n;

	wait->polling = true;
	(void)pthread_mutex_unlock(&wait->mutex);
	pthread_cleanup_push(wait_cancel_polling, wait);
	n = epoll_wait(wait->fds.epfd, &event, 1, wf_remaining_ms(deadline_ns));
	pthread_cleanup_pop(0);
	wait_stop_polling(wait);
	return n > 0;
}

static bool wait_outdated(struct wf_wait *wait, uint64_t ticket)
{
	return atomic_load_explicit(&wait->signals, memory_order_relaxed) != ticket;
}

int wf_wait_sleep(struct wf_wait *wait, uint64_t ticket, uint64_t deadline_ns)
{
	bool readable = false, polled = false;

	if (!wait_has_fds(wait->obj) && wait->obj != FI_WAIT_MUTEX_COND) {
		pthread_testcancel();
		(void)sched_yield();
		return wf_expired(deadline_ns) ? -FI_EAGAIN : 0;
	}
	(void)pthread_mutex_lock(&wait->mutex);
	while (!polled && !wait_outdated(wait, ticket) && !wf_expired(deadline_ns)) {
		if (wait->polling || wait->obj == FI_WAIT_MUTEX_COND) {
			wait_cond(wait, deadline_ns);
		} else {
			readable = wait_fds(wait, deadline_ns);
			polled = true;
		}
	}
	readable |= wait_outdated(wait, ticket);
	(void)pthread_mutex_unlock(&wait->mutex);
	return readable ? 0 : -FI_EAGAIN;
}
