/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/progress/async.h"

#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <rdma/providers/fi_prov.h>

#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/forks.h"

static struct wf_async_item *item_of(struct wf_list *link)
{
	return wf_list_entry(link, struct wf_async_item, link);
}

/* Sleep for one tick, or until the thread has to end or to look sooner. */
static void async_sleep(struct wf_async *async)
{
	uint64_t begun_ns = wf_now_ns();
	struct timespec until;
	uint64_t end_ns;
	int err = 0;

	do {
		end_ns = begun_ns + async->tick_ns;
		until.tv_sec = (time_t)(end_ns / 1000000000);
		until.tv_nsec = (long)(end_ns % 1000000000);
		if (!async->stop)
			err = wf_sys_cond_timedwait(
				&async->changed, &async->lock, &until);
	} while (!err && !async->stop && wf_now_ns() < begun_ns + async->tick_ns);
}

/* Run one item, unless the application makes calls for it. True: operations are left.
 */
static bool async_serve(struct wf_async *async, struct wf_async_item *item)
{
	bool left = true;

	/* seq_cst: before the loads of what is left, under the endpoint's lock. */
	if (atomic_exchange(&item->wanted, false) && !item->spared) {
		item->spared = true;
		async->tick_ns = WF_ASYNC_TICK_NS;
		return true;
	}
	item->spared = false;
	async->running = item;
	(void)pthread_mutex_unlock(&async->lock);
	wf_fork_defer();
	if (!async->gate || wf_gate_close(async->gate)) {
		left = item->run(item);
		if (async->gate)
			wf_gate_open(async->gate);
	}
	wf_fork_allow();
	(void)pthread_mutex_lock(&async->lock);
	async->running = NULL;
	(void)pthread_cond_broadcast(&async->ran);
	return left || atomic_load_explicit(&item->wanted, memory_order_relaxed);
}

/* Serve each item once. An item that is listed meanwhile waits for the next tick. */
static void async_serve_all(struct wf_async *async)
{
	struct wf_list seen;
	struct wf_list *link;

	wf_list_init(&seen);
	while ((link = wf_list_pop(&async->items))) {
		/* Listed while it is run, so that wf_async_forget finds it. */
		wf_list_push(&seen, link);
		if (!async_serve(async, item_of(link)))
			wf_list_remove(link);
	}
	while ((link = wf_list_pop(&seen)))
		wf_list_push(&async->items, link);
}

static void *async_main(void *arg)
{
	struct wf_async *async = arg;

	/* A tick is shorter than the kernel's usual tolerance. */
	(void)prctl(PR_SET_TIMERSLACK, 1000);
	(void)pthread_mutex_lock(&async->lock);
	while (!async->stop) {
		if (wf_list_empty(&async->items)) {
			(void)wf_sys_cond_wait(&async->changed, &async->lock);
			continue;
		}
		async_sleep(async);
		async->tick_ns =
			WF_MIN(async->tick_ns * 2, (uint64_t)WF_ASYNC_TICK_MAX_NS);
		async_serve_all(async);
	}
	(void)pthread_mutex_unlock(&async->lock);
	return NULL;
}

/* Start the thread, with all signals blocked: the application's handlers run in its own
 * threads. */
static void async_start(struct wf_async *async)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return;
	async->has_thread = !pthread_create(&async->thread, NULL, async_main, async);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (async->has_thread)
		(void)pthread_setname_np(async->thread, "fi-async");
}

void wf_async_init(struct wf_async *async)
{
	pthread_condattr_t attr;

	int enabled = 1;

	(void)fi_param_get_bool(NULL, "background_progress", &enabled);
	async->enabled = enabled;
	(void)wf_forks_count();
	async->fork_depth = wf_fork_depth;
	(void)pthread_mutex_init(&async->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&async->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_cond_init(&async->ran, NULL);
	wf_list_init(&async->items);
}

void wf_async_done(struct wf_async *async)
{
	/* A forked child has no such thread, and may find the lock held. */
	if (wf_is_forked_since(async->fork_depth))
		return;
	if (async->has_thread) {
		(void)pthread_mutex_lock(&async->lock);
		async->stop = true;
		(void)pthread_cond_signal(&async->changed);
		(void)pthread_mutex_unlock(&async->lock);
		(void)wf_sys_join(async->thread);
	}
	(void)pthread_cond_destroy(&async->ran);
	(void)pthread_cond_destroy(&async->changed);
	(void)pthread_mutex_destroy(&async->lock);
}

void wf_async_item_init(
	struct wf_async_item *item, bool (*run)(struct wf_async_item *item))
{
	item->run = run;
	item->spared = item->closed = false;
	wf_list_init(&item->link);
	/* An item without a thread always counts as wanted: nothing is to be done. */
	atomic_init(&item->wanted, !item->async);
}

static void async_remove(struct wf_async_item *item, bool closed)
{
	struct wf_async *async = item->async;

	if (!async || wf_is_forked_since(async->fork_depth))
		return;
	(void)pthread_mutex_lock(&async->lock);
	item->closed = closed;
	while (async->running == item)
		(void)wf_sys_cond_wait(&async->ran, &async->lock);
	wf_list_remove(&item->link);
	if (closed)
		atomic_store_explicit(&item->wanted, true, memory_order_relaxed);
	(void)pthread_mutex_unlock(&async->lock);
}

void wf_async_forget(struct wf_async_item *item)
{
	async_remove(item, false);
}

void wf_async_close(struct wf_async_item *item)
{
	async_remove(item, true);
}

void wf_async_want_slow(struct wf_async_item *item)
{
	struct wf_async *async = item->async;

	if (!async)
		return;
	(void)pthread_mutex_lock(&async->lock);
	/* An item that is being run is listed again after its run. */
	atomic_store_explicit(&item->wanted, true, memory_order_relaxed);
	if (item->closed)
		goto out;
	if (!async->has_thread)
		async_start(async);
	if (wf_list_empty(&item->link)) {
		/* The first look is due after one tick without another want. */
		atomic_store_explicit(&item->wanted, false, memory_order_relaxed);
		wf_list_push(&async->items, &item->link);
	}
	if (async->tick_ns != WF_ASYNC_TICK_NS) {
		async->tick_ns = WF_ASYNC_TICK_NS;
		(void)pthread_cond_signal(&async->changed);
	}
out:
	(void)pthread_mutex_unlock(&async->lock);
}
