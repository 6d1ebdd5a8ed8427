/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_WAIT_H
#define WF_OBJECTS_WAIT_WAIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>

#include "objects/wait/fds.h"
#include "sys/compiler.h"

struct wf_wait_set;

/*
 * The wait object of one CQ, EQ, counter or wait set.
 *
 * A sleeper first arms the wait and keeps the ticket, then checks once more whether
 * its object has something to read, then sleeps with the ticket. A writer first
 * stores its entry, then calls wf_wait_signal. Sleeper and writer each put a full fence
 * between their two steps, so at least one of them sees the other: no wake-up is lost,
 * and while no thread sleeps a signal costs one load. The ticket makes this hold for
 * several sleepers: a signal outdates every ticket drawn before it.
 *
 * The caller of wf_wait_signal holds no lock of the object: with FI_WAIT_MUTEX_COND the
 * application may hold @mutex while it calls fi_trywait, which takes the object's lock.
 *
 * FI_WAIT_FD and FI_WAIT_POLLFD: @fds holds @signal_fd and the descriptors of the
 * transports that feed the object, so that an application with manual progress wakes up
 * for network data too.
 * FI_WAIT_MUTEX_COND: the application waits on @mutex and @cond. The kernel never
 * signals them, so such an object needs the domain's progress thread.
 * FI_WAIT_YIELD, FI_WAIT_NONE: a sleep is one sched_yield.
 * FI_WAIT_SET: signals go to @set; a sleep is one sched_yield.
 *
 * @mutex guards every plain field below it; see wait.c. The fields above it are
 * constant, unless their comment says otherwise.
 */
struct wf_wait {
	enum fi_wait_obj obj; /* never FI_WAIT_UNSPEC: resolved to FI_WAIT_FD */
	atomic_bool armed;  /* a thread may be asleep: the next signal has to wake it */
	atomic_bool unread; /* signal_fd was written and not drained yet */
	atomic_uint_fast64_t signals; /* number of signals; a ticket is its value */
	int signal_fd; /* eventfd, with FI_WAIT_FD and FI_WAIT_POLLFD; otherwise -1 */
	struct wf_fds fds;       /* initialised where @signal_fd is not -1; own lock */
	struct wf_wait_set *set; /* FI_WAIT_SET; otherwise NULL */
	struct fid *owner;       /* the CQ, EQ or counter; guarded by the set's lock */
	struct wf_list link;     /* in set->members; guarded by the set's lock */
	pthread_mutex_t mutex;
	pthread_cond_t cond; /* sleepers that do not poll wait on it */
	bool polling;        /* one sleeper is in epoll_wait, the others wait on cond */
};

/* -FI_EINVAL for an unknown object, or FI_WAIT_SET without @set. */
int wf_wait_init(struct wf_wait *wait, enum fi_wait_obj obj, struct fid_wait *set);
void wf_wait_done(struct wf_wait *wait);

/* Add @wait to its wait set: @owner (CQ, EQ or counter) is complete, and from now on
 * the set may ask it, as fi_trywait does, whether it has something to read. No-op
 * unless FI_WAIT_SET; undone by wf_wait_done. */
void wf_wait_attach(struct wf_wait *wait, struct fid *owner);

/* True if no descriptor wakes a sleeper (FI_WAIT_MUTEX_COND): the progress thread has
 * to make progress for it. */
bool wf_wait_needs_thread(const struct wf_wait *wait);

/* The descriptors that wake a sleeper while they are readable: those of the wait object
 * or, with FI_WAIT_SET, of its set. NULL: it has none. */
struct wf_fds *wf_wait_fds(struct wf_wait *wait);

/* Drain earlier signals and make the next wf_wait_signal wake the caller. Returns the
 * ticket for wf_wait_sleep. */
uint64_t wf_wait_arm(struct wf_wait *wait);

/* Sleep until a signal after @ticket was drawn, until a transport's descriptor is
 * readable or until @deadline_ns (monotonic clock; UINT64_MAX: never). 0: read the
 * object again; -FI_EAGAIN: the deadline is over or a signal handler ran. A
 * cancellation point: a cancelled thread leaves the wait usable. The caller holds no
 * lock and keeps cancellation off around its other steps (sys/cancel.h). */
int wf_wait_sleep(struct wf_wait *wait, uint64_t ticket, uint64_t deadline_ns);

void wf_wait_signal_slow(struct wf_wait *wait);

/* May a thread be asleep? True from wf_wait_arm until the next signal. An estimate
 * without fences, unless the caller adds them. No lock. */
static inline bool wf_wait_is_armed(const struct wf_wait *wait)
{
	return atomic_load_explicit(&wait->armed, memory_order_relaxed);
}

/* Wake the sleepers, after the caller stored an entry. The caller holds no lock of the
 * object. */
static inline void wf_wait_signal(struct wf_wait *wait)
{
	if (wf_likely(wait->obj == FI_WAIT_NONE))
		return;
	/* Full fence: the entry is stored before @armed is read (W2 in wait.c). */
	atomic_thread_fence(memory_order_seq_cst);
	if (wf_wait_is_armed(wait))
		wf_wait_signal_slow(wait);
}

/* The fi_control(3) commands FI_GETWAIT and FI_GETWAITOBJ; -FI_ENOSYS for others. */
int wf_wait_control(struct wf_wait *wait, int command, void *arg);

#endif
