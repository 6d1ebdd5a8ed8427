/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "objects/coll/internal.h"
#include "sys/calls.h"

/*
 * Progress of the engines. The endpoint's item runs them only while one may have work,
 * so that an endpoint without collectives under way pays for one load.
 *
 * Some work has no descriptor that becomes readable: a flag in memory that another
 * process sets, an engine of another library. A thread that goes to sleep meanwhile is
 * refused a few times, because most collectives are short, and then sleeps until a
 * timer ends.
 *
 * Applications wait for a join at the EQ only, so its readers run the endpoint, too,
 * while a join is under way.
 */

enum {
	IDLE_CHECK = 16, /* runs from one check whether engines are idle to the next */
	REFUSED_MAX = 1024,    /* sleeps that are refused before the timer is used */
	SLICE_NS = 1000 * 1000 /* nanoseconds until the timer ends a sleep */
};

static struct wf_coll_timer *progress_timer_of(struct wf_progress *item)
{
	return wf_container_of(item, struct wf_coll_timer, progress);
}

static struct wf_coll *coll_of(struct wf_progress *item)
{
	return wf_container_of(progress_timer_of(item), struct wf_coll, timer);
}

static struct wf_coll *coll_of_join(struct wf_progress *item)
{
	return wf_container_of(progress_timer_of(item), struct wf_coll, join_timer);
}

static int progress_timer_fd(struct wf_progress *item)
{
	struct wf_coll_timer *timer = progress_timer_of(item);
	int none = -1, fd = atomic_load(&timer->fd);

	if (fd >= 0)
		return fd;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (atomic_compare_exchange_strong(&timer->fd, &none, fd))
		return fd;
	(void)wf_sys_close(fd); /* another thread has made one meanwhile */
	return none;
}

/* Start the timer to expire in @ns; 0 stops it. This also clears an expiration that no
 * thread has read. */
static void progress_timer_start(struct wf_coll_timer *timer, long ns)
{
	const struct itimerspec spec = { .it_value.tv_nsec = ns };
	int fd = atomic_load(&timer->fd);

	if (fd >= 0)
		(void)timerfd_settime(fd, 0, &spec, NULL);
}

void wf_coll_wake_slow(struct wf_coll *coll)
{
	/* Release, pairs with coll_run: the thread that runs the engine sees the work.
	 * Sequentially consistent, pairs with coll_arm, which stores @armed, then reads
	 * @busy: either it sees this store, or this function sees @armed. */
	atomic_store(&coll->busy, true);
	if (atomic_exchange(&coll->armed, false))
		progress_timer_start(&coll->timer, 1);
}

static void progress_run_port(const struct wf_coll_port *port)
{
	if (port->builtin)
		wf_progress_list_run(&wf_cq_of(port->cq)->progress);
	else
		(void)port->cq->ops->read(port->cq, NULL, 0);
}

/* Are all engines idle? An engine of another library cannot be asked: from the first
 * join on it may have work, also for operations of groups that are closed. */
static bool coll_progress_is_idle(const struct wf_coll *coll)
{
	if (atomic_load(&coll->boots.is_ready))
		return false;
	for (unsigned int i = 0; i < coll->port_count; i++) {
		const struct wf_coll_port *port = &coll->port[i];

		if (port->builtin ? !wf_progress_list_arm(&wf_cq_of(port->cq)->progress)
				  : atomic_load(&coll->is_used))
			return false;
	}
	return true;
}

/* Clear @busy if all engines are idle; returns whether they are. Another thread may
 * call an engine meanwhile, and sets @busy after that; so the engines are checked once
 * more after @busy was cleared. */
static bool progress_stop_if_idle(struct wf_coll *coll)
{
	if (!coll_progress_is_idle(coll))
		return false;
	atomic_store(&coll->busy, false);
	if (coll_progress_is_idle(coll))
		return true;
	atomic_store(&coll->busy, true);
	return false;
}

static void coll_run(struct wf_progress *item)
{
	struct wf_coll *coll = coll_of(item);
	unsigned int runs;

	/* acquire: pairs with wf_coll_wake. */
	if (wf_likely(!atomic_load_explicit(&coll->busy, memory_order_acquire)))
		return;
	for (unsigned int i = 0; i < coll->port_count; i++)
		progress_run_port(&coll->port[i]);
	wf_coll_left_engine(coll);
	wf_later_run(&coll->boots);
	/* relaxed: an estimate; runs of several threads may count as one. */
	runs = atomic_load_explicit(&coll->runs, memory_order_relaxed);
	atomic_store_explicit(&coll->runs, runs + 1, memory_order_relaxed);
	if (runs % IDLE_CHECK == IDLE_CHECK - 1 && progress_stop_if_idle(coll))
		atomic_store_explicit(&coll->refused, 0, memory_order_relaxed);
}

static bool coll_arm(struct wf_progress *item)
{
	struct wf_coll *coll = coll_of(item);

	atomic_store(&coll->armed, true);
	if (!atomic_load(&coll->busy) || progress_stop_if_idle(coll)) {
		atomic_store_explicit(&coll->refused, 0, memory_order_relaxed);
		return true;
	}
	if (atomic_fetch_add_explicit(&coll->refused, 1, memory_order_relaxed) <
		REFUSED_MAX)
		return false;
	progress_timer_start(&coll->timer, SLICE_NS);
	return true;
}

static void progress_join_run(struct wf_progress *item)
{
	struct wf_coll *coll = coll_of_join(item);

	if (atomic_load_explicit(&coll->joining, memory_order_relaxed))
		wf_ep_run(coll->ep);
}

static bool progress_join_arm(struct wf_progress *item)
{
	struct wf_coll *coll = coll_of_join(item);

	progress_timer_start(
		&coll->join_timer, atomic_load(&coll->joining) ? SLICE_NS : 0);
	return true;
}

static void progress_timer_init(struct wf_coll_timer *timer,
	void (*run)(struct wf_progress *), bool (*arm)(struct wf_progress *))
{
	timer->progress = (struct wf_progress){
		.run = run,
		.wait_fd = progress_timer_fd,
		.arm = arm,
	};
	atomic_init(&timer->fd, -1);
}

static void progress_timer_done(struct wf_coll_timer *timer)
{
	int fd = atomic_load(&timer->fd);

	if (fd >= 0)
		(void)wf_sys_close(fd);
}

void wf_coll_progress_init(struct wf_coll *coll)
{
	progress_timer_init(&coll->timer, coll_run, coll_arm);
	progress_timer_init(&coll->join_timer, progress_join_run, progress_join_arm);
}

void wf_coll_progress_done(struct wf_coll *coll)
{
	progress_timer_done(&coll->timer);
	progress_timer_done(&coll->join_timer);
}
