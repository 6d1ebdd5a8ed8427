/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "objects/lower/progress.h"
#include "providers/lnx/deferred.h"
#include "providers/lnx/progress.h"
#include "providers/lnx/stripe/stripe.h"
#include "sys/calls.h"
#include "sys/compiler.h"

/*
 * Members move data when their endpoints are polled or their CQs are read (fi_peer(3)).
 * Both happen with the lock of the receive context held, because members call the
 * receive context.
 *
 * A poll of a member that uses sockets may cost a system call, long compared to a
 * message through memory. So a network member that was idle for a while is polled only
 * now and then while another member has work or can be polled without system calls.
 * Operations that end change the endpoint's wf_ep_activity.
 */
enum {
	/* Sleeps that are refused after something moved, before one is allowed. */
	SLEEPS_REFUSED = 1000,
	TIMER_NS = 1000000, /* length of a sleep on the timer; see
			       progress_may_sleep_on_timer */
	/* Polls without work after which a network member counts as idle. */
	IDLE_POLLS = 1024,
	INTERVAL = 16,       /* progress calls between two polls of network members */
	INTERVAL_BUSY = 512, /* the same while members in memory have work */
};

static struct lnx_ep *lnx_progress_ep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct lnx_ep, wf.progress);
}

static inline void progress_poll_rail(struct lnx_rail *rail)
{
	wf_lower_ep_poll(&rail->below);
	if (wf_unlikely(!rail->below.builtin))
		lnx_count_held(rail);
}

static bool lnx_progress_is_idle(const struct lnx_rail *rail)
{
	return atomic_load_explicit(&rail->idle_polls, memory_order_relaxed) >
	       IDLE_POLLS;
}

static bool progress_any_network_moves(const struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].network && !lnx_progress_is_idle(&ep->rail[i]))
			return true;
	return false;
}

static void progress_poll_network_rail(struct lnx_ep *ep, struct lnx_rail *rail)
{
	uint64_t before = wf_ep_activity(&ep->wf);
	uint32_t idle;

	progress_poll_rail(rail);
	idle = atomic_load_explicit(&rail->idle_polls, memory_order_relaxed);
	idle = wf_ep_activity(&ep->wf) != before
		       ? 0
		       : WF_MIN(idle, (uint32_t)IDLE_POLLS) + 1;
	atomic_store_explicit(&rail->idle_polls, idle, memory_order_relaxed);
}

/* Poll the network members. While one of them has work, idle ones are polled only in
 * every INTERVAL-th call. */
static __attribute__((noinline)) void progress_poll_network(struct lnx_ep *ep)
{
	uint32_t round = atomic_load_explicit(&ep->rounds, memory_order_relaxed);
	bool moved = wf_ep_activity(&ep->wf) !=
		     atomic_load_explicit(&ep->activity, memory_order_relaxed);
	bool all = !progress_any_network_moves(ep) || !(round % INTERVAL);
	uint32_t calls = 1;

	atomic_store_explicit(&ep->rounds, round + 1, memory_order_relaxed);
	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].network && (all || !lnx_progress_is_idle(&ep->rail[i])))
			progress_poll_network_rail(ep, &ep->rail[i]);
	if (ep->stripe)
		lnx_stripe_poll(ep);
	if (ep->has_memory && !progress_any_network_moves(ep) &&
		!lnx_stripe_is_busy(ep))
		calls = moved ? INTERVAL_BUSY : INTERVAL;
	atomic_store_explicit(&ep->calls_left, calls, memory_order_relaxed);
	atomic_store_explicit(
		&ep->activity, wf_ep_activity(&ep->wf), memory_order_relaxed);
}

/* Poll the members in memory of other libraries, and all builtin members but the
 * first. */
static __attribute__((noinline)) void progress_poll_more(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->more_count; i++)
		progress_poll_rail(&ep->rail[ep->more[i]]);
}

static inline void progress_poll_all(struct lnx_ep *ep)
{
	uint32_t calls;

	if (wf_likely(ep->first != NULL))
		wf_ep_progress(ep->first);
	calls = atomic_load_explicit(&ep->calls_left, memory_order_relaxed);
	if (wf_likely(calls > 1))
		atomic_store_explicit(&ep->calls_left, calls - 1, memory_order_relaxed);
	else
		progress_poll_network(ep);
	if (wf_unlikely(ep->more_count))
		progress_poll_more(ep);
}

/* The caller holds the locks of the receive context and of the endpoint. */
void lnx_progress(struct wf_ep *wf)
{
	progress_poll_all(lnx_ep_of(wf));
}

static void progress_run(struct wf_progress *item)
{
	struct lnx_ep *ep = lnx_progress_ep_of_item(item);
	struct wf_lock *lock = ep->wf.srx_lock;

	wf_async_ran(&ep->wf.async);
	if (lock && !wf_trylock(lock))
		return;
	progress_poll_all(ep);
	if (lock)
		wf_unlock(lock);
}

/* Run function of an endpoint with a single, builtin member. */
static void progress_run_first(struct wf_progress *item)
{
	struct lnx_ep *ep = lnx_progress_ep_of_item(item);
	struct wf_lock *lock = ep->wf.srx_lock;

	wf_async_ran(&ep->wf.async);
	if (lock && !wf_trylock(lock))
		return;
	wf_ep_progress(ep->first);
	if (lock)
		wf_unlock(lock);
}

static void progress_close_timer(struct lnx_ep *ep)
{
	if (ep->timer_fd >= 0)
		(void)wf_sys_close(ep->timer_fd);
	ep->timer_fd = -1;
}

static int progress_watch_timer(struct lnx_ep *ep)
{
	int ret;

	if (!ep->needs_timer || ep->timer_fd >= 0)
		return 0;
	ep->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (ep->timer_fd < 0)
		return -errno;
	ret = wf_fds_add(&ep->fds, ep->timer_fd);
	if (ret)
		progress_close_timer(ep);
	return ret;
}

int lnx_progress_watch(struct lnx_ep *ep)
{
	int ret = 0;

	for (unsigned int i = 0; i < ep->count && !ret; i++) {
		ret = wf_lower_ep_watch(&ep->rail[i].below, &ep->fds);
		ep->needs_timer |= ep->may_sleep && !ep->rail[i].below.has_fd;
	}
	return ret ? ret : progress_watch_timer(ep);
}

static struct wf_fds *progress_wait_fds(struct wf_progress *item)
{
	return &lnx_progress_ep_of_item(item)->fds;
}

/*
 * A member without a descriptor cannot end a sleep, so a timer ends it after TIMER_NS.
 * Sleeps are allowed only when nothing has moved for SLEEPS_REFUSED calls, so that a
 * thread that waits for an answer does not wait for the timer. A thread calls this
 * again before its next sleep; setting the timer makes its descriptor unreadable again.
 */
static bool progress_may_sleep_on_timer(struct lnx_ep *ep)
{
	const struct itimerspec soon = { .it_value.tv_nsec = TIMER_NS };
	uint64_t now = wf_ep_activity(&ep->wf);

	if (now != ep->sleep_activity)
		ep->sleeps_refused = 0;
	ep->sleep_activity = now;
	if (ep->timer_fd < 0 || ep->sleeps_refused < SLEEPS_REFUSED) {
		ep->sleeps_refused++;
		return false;
	}
	return !timerfd_settime(ep->timer_fd, 0, &soon, NULL);
}

/* If may_sleep is false, the sleeping thread waits for other endpoints than this
 * one. */
static bool progress_arm(struct wf_progress *item)
{
	struct lnx_ep *ep = lnx_progress_ep_of_item(item);
	bool quiet = true;

	if (!ep->may_sleep)
		return true;
	wf_ep_srx_lock(&ep->wf);
	for (unsigned int i = 0; i < ep->count && quiet; i++)
		quiet = wf_lower_ep_may_sleep(&ep->rail[i].below);
	if (quiet && ep->stripe)
		quiet = lnx_stripe_may_sleep(ep);
	if (quiet && ep->needs_timer)
		quiet = progress_may_sleep_on_timer(ep);
	wf_ep_srx_unlock(&ep->wf);
	return quiet;
}

void lnx_progress_enabled(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		rail->network = ep->count > 1 && !ep->domain->link->member[i].memory;
		if (rail->network)
			continue;
		ep->has_memory = true;
		if (rail->below.builtin && !ep->first)
			ep->first = rail->below.builtin;
		else
			ep->more[ep->more_count++] = (uint8_t)i;
	}
	if (ep->count == 1 && !ep->more_count)
		wf_ep_set_run(&ep->wf, progress_run_first);
}

void lnx_progress_done(struct lnx_ep *ep)
{
	progress_close_timer(ep);
	wf_fds_done(&ep->fds);
}

static bool progress_moved(struct wf_progress *item)
{
	struct lnx_ep *ep = lnx_progress_ep_of_item(item);
	bool any = false;

	for (unsigned int i = 0; i < ep->count; i++)
		if (ep->rail[i].below.builtin)
			any |= wf_progress_moved(&ep->rail[i].below.builtin->progress);
	return any || (ep->stripe && lnx_stripe_moved(ep));
}

void lnx_progress_init(struct lnx_ep *ep)
{
	ep->timer_fd = -1;
	wf_fds_init(&ep->fds);
}

const struct wf_progress lnx_progress_item = {
	.run = progress_run,
	.wait_fds = progress_wait_fds,
	.arm = progress_arm,
	.moved = progress_moved,
};
