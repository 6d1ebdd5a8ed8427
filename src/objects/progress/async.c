/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/progress/async.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <rdma/providers/fi_prov.h>

#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/forks.h"

/*
 * The thread and its list, initialised by async_prepare. @lock guards everything, and
 * the links of items; it is taken with any lock of an endpoint held, and not held while
 * an item is run.
 */
static struct {
	pthread_mutex_t lock;
	/* Something changed for the thread: there is an item, or it has to end. */
	pthread_cond_t changed;
	pthread_cond_t ran;            /* the thread has run an item */
	struct wf_list items;          /* items that keep operations */
	struct wf_async_item *running; /* the item that the thread runs; NULL: none */
	pthread_t thread;
	bool has_thread, stop;
	uint64_t tick_ns; /* nanoseconds until the next look */
} async = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct wf_async_item *async_item_of(struct wf_list *link)
{
	return wf_list_entry(link, struct wf_async_item, link);
}

/* Sleep for one tick, or until the thread has to end or to look sooner. */
static void async_sleep(void)
{
	uint64_t begun_ns = wf_now_ns();
	struct timespec until;
	uint64_t end_ns;
	int err = 0;

	do {
		end_ns = begun_ns + async.tick_ns;
		until.tv_sec = (time_t)(end_ns / 1000000000);
		until.tv_nsec = (long)(end_ns % 1000000000);
		if (!async.stop)
			err = wf_sys_cond_timedwait(
				&async.changed, &async.lock, &until);
	} while (!err && !async.stop && wf_now_ns() < begun_ns + async.tick_ns);
}

/* Has the application run the item since the last look? */
static bool async_is_active(struct wf_async_item *item)
{
	uint32_t runs = atomic_load_explicit(&item->runs, memory_order_relaxed);
	bool active = runs != item->seen;

	item->seen = runs;
	return active;
}

static bool async_is_wanted(const struct wf_async_item *item)
{
	/* relaxed: @lock orders it with the list. */
	return atomic_load_explicit(&item->wanted, memory_order_relaxed);
}

static bool progress_async_run(struct wf_async_item *item)
{
	bool left = true;

	wf_fork_defer();
	if (!item->gate || wf_gate_close(item->gate)) {
		left = item->run(item);
		if (item->gate)
			wf_gate_open(item->gate);
	}
	wf_fork_allow();
	(void)async_is_active(item);
	return left;
}

/* The application keeps operations, or makes progress, since the last look: look soon,
 * unless it has done so for several looks in a row. Each look may take a processor from
 * it. */
static void async_limit_tick(const struct wf_async_item *item)
{
	uint64_t limit_ns = item->busy > 1 ? WF_ASYNC_TICK_ACTIVE_NS : WF_ASYNC_TICK_NS;

	async.tick_ns = WF_MIN(async.tick_ns, limit_ns);
}

/* Run one item, unless the application does. True: operations may be left. */
static bool async_serve(struct wf_async_item *item)
{
	bool active = async_is_active(item), left;

	/* Each time that @wanted is cleared the application sets it again, by a call
	 * that takes the lock. */
	if (active && async_is_wanted(item) && item->skipped < WF_ASYNC_SKIPS) {
		item->skipped++;
		item->busy++;
		async_limit_tick(item);
		return true;
	}
	item->skipped = 0;
	/* seq_cst: before the loads of what is left, under the endpoint's lock. */
	item->busy = atomic_exchange(&item->wanted, false) ? item->busy + 1 : 0;
	if (item->busy)
		async_limit_tick(item);
	if (active)
		return true;
	async.running = item;
	(void)pthread_mutex_unlock(&async.lock);
	left = progress_async_run(item);
	(void)pthread_mutex_lock(&async.lock);
	async.running = NULL;
	(void)pthread_cond_broadcast(&async.ran);
	/* The run itself keeps operations, too. */
	if (atomic_exchange(&item->wanted, false)) {
		async_limit_tick(item);
		return true;
	}
	/* One that is busy is likely to keep something again soon. */
	return left || item->busy;
}

/* Serve each item once. An item that is listed meanwhile waits for the next tick. */
static void async_serve_all(void)
{
	struct wf_list seen;
	struct wf_list *link;

	wf_list_init(&seen);
	while ((link = wf_list_pop(&async.items))) {
		/* Listed while it is run, so that wf_async_forget finds it. */
		wf_list_push(&seen, link);
		if (!async_serve(async_item_of(link)))
			wf_list_remove(link);
	}
	while ((link = wf_list_pop(&seen)))
		wf_list_push(&async.items, link);
}

static void *async_main(void *arg)
{
	(void)arg;
	wf_fork_allow(); /* async_start's section */
	/* A tick is shorter than the kernel's usual tolerance. */
	(void)prctl(PR_SET_TIMERSLACK, 1000);
	(void)pthread_mutex_lock(&async.lock);
	while (!async.stop) {
		if (wf_list_empty(&async.items)) {
			(void)wf_sys_cond_wait(&async.changed, &async.lock);
			continue;
		}
		async_sleep();
		async.tick_ns =
			WF_MIN(async.tick_ns * 2, (uint64_t)WF_ASYNC_TICK_MAX_NS);
		async_serve_all();
	}
	(void)pthread_mutex_unlock(&async.lock);
	return NULL;
}

/* Start the thread, with all signals blocked: the application's handlers run in its own
 * threads. No process is forked until the thread runs: while it starts it holds locks
 * of the C library, or of a sanitizer, which a child would find taken. */
static void async_start(void)
{
	sigset_t all, before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	wf_fork_defer();
	async.has_thread = !pthread_create(&async.thread, NULL, async_main, NULL);
	if (!async.has_thread)
		wf_fork_allow();
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (async.has_thread)
		(void)pthread_setname_np(async.thread, "fi-async");
}

static void async_begin(void)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&async.changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_cond_init(&async.ran, NULL);
	wf_list_init(&async.items);
}

/* A forked child begins anew: the thread and the items are the parent's. */
static void async_forked(struct wf_fork_hook *hook)
{
	(void)hook;
	(void)pthread_mutex_init(&async.lock, NULL);
	async.running = NULL;
	async.has_thread = async.stop = false;
	async_begin();
}

static void async_prepare(void)
{
	static struct wf_fork_hook hook;

	async_begin();
	(void)wf_fork_hook_add(&hook, async_forked);
}

bool wf_async_is_enabled(void)
{
	int enabled = 1;

	(void)fi_param_get_bool(NULL, "background_progress", &enabled);
	return enabled;
}

void wf_async_item_init(struct wf_async_item *item, struct wf_gate *gate,
	bool (*run)(struct wf_async_item *item))
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (run)
		(void)pthread_once(&once, async_prepare);
	item->run = run;
	item->fork_depth = wf_fork_depth;
	item->gate = gate;
	item->closed = false;
	item->seen = item->skipped = item->busy = 0;
	atomic_init(&item->runs, 0);
	wf_list_init(&item->link);
	/* An item without the thread always counts as wanted: nothing is to be done. */
	atomic_init(&item->wanted, !run);
}

static void async_remove(struct wf_async_item *item, bool closed)
{
	if (!item->run || wf_is_forked_since(item->fork_depth))
		return;
	(void)pthread_mutex_lock(&async.lock);
	item->closed = closed;
	while (async.running == item)
		(void)wf_sys_cond_wait(&async.ran, &async.lock);
	wf_list_remove(&item->link);
	/* The next wf_async_want lists it again, or none does. */
	atomic_store_explicit(&item->wanted, closed, memory_order_relaxed);
	(void)pthread_mutex_unlock(&async.lock);
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
	bool wakes;

	if (!item->run || wf_is_forked_since(item->fork_depth))
		return;
	(void)pthread_mutex_lock(&async.lock);
	/* An item that is being run is listed again after its run. */
	atomic_store_explicit(&item->wanted, true, memory_order_relaxed);
	if (item->closed || async.stop)
		goto out;
	if (!async.has_thread)
		async_start();
	/* The thread looks soon enough at one that does this all the time. */
	wakes = wf_list_empty(&item->link) || !item->busy;
	wakes = wakes &&
		(wf_list_empty(&async.items) || async.tick_ns != WF_ASYNC_TICK_NS);
	if (wf_list_empty(&item->link)) {
		item->busy = 0;
		wf_list_push(&async.items, &item->link);
	}
	if (wakes) {
		async.tick_ns = WF_ASYNC_TICK_NS;
		(void)pthread_cond_signal(&async.changed);
	}
out:
	(void)pthread_mutex_unlock(&async.lock);
}

/* The library is unloaded, or the process ends: no other thread is started. */
__attribute__((destructor)) static void async_end(void)
{
	bool has_thread;

	(void)pthread_mutex_lock(&async.lock);
	async.stop = true;
	has_thread = async.has_thread;
	if (has_thread)
		(void)pthread_cond_signal(&async.changed);
	(void)pthread_mutex_unlock(&async.lock);
	if (has_thread)
		(void)wf_sys_join(async.thread);
}
