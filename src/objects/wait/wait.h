/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_H
#define WF_OBJECTS_WAIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>

#include "sys/compiler.h"
#include "sys/list.h"

struct wf_wait_set;

struct wf_wait_fd {
	int fd;
	unsigned int uses; /* one endpoint may feed several members of a set */
};

/*
 * What one CQ, EQ, counter or wait set sleeps on.
 *
 * A sleeper first arms the wait and keeps the ticket, then looks once more whether
 * its object has something to read, then sleeps with the ticket. A writer first
 * stores its entry, then calls wf_wait_signal. Both sides put a full fence between
 * their two steps, so at least one of them sees the other: no wake-up is lost, and
 * while nobody sleeps a signal costs one load. The ticket is what makes this hold
 * for several sleepers: a signal outdates every ticket drawn before it.
 *
 * Signal with no lock of the object held: with FI_WAIT_MUTEX_COND the application
 * may hold @mutex while it calls fi_trywait, which looks at the object.
 *
 * FI_WAIT_FD and FI_WAIT_POLLFD: @epfd is an epoll descriptor that holds @signal_fd
 * and the descriptors of the transports that feed the object, so that a manual
 * progress application wakes up for network data too.
 * FI_WAIT_MUTEX_COND: @mutex and @cond are the application's to wait on; nothing in
 * the kernel signals them, so such an object needs the domain's progress thread.
 * FI_WAIT_YIELD, FI_WAIT_NONE: sleeping is one sched_yield.
 * FI_WAIT_SET: signals go to @set; a sleep is one sched_yield here too.
 *
 * @mutex guards every plain field below it; see wait.c.
 */
struct wf_wait {
	enum fi_wait_obj obj; /* never FI_WAIT_UNSPEC: resolved to FI_WAIT_FD */
	atomic_bool armed;
	atomic_bool unread;           /* signal_fd was written and not drained yet */
	atomic_uint_fast64_t signals; /* tickets are values of this */
	int epfd;
	int signal_fd;
	struct wf_wait_set *set;
	struct fid *owner; /* guarded by the set's lock, as is link */
	struct wf_list link;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool polling; /* one sleeper is in epoll_wait, the others wait on cond */
	uint64_t change_index;  /* FI_WAIT_POLLFD: grows with each fd change */
	struct wf_wait_fd *fds; /* of the transports */
	size_t fd_count, fd_capacity;
};

/* -FI_EINVAL for an unknown object, or FI_WAIT_SET without @set. */
int wf_wait_init(struct wf_wait *wait, enum fi_wait_obj obj, struct fid_wait *set);
void wf_wait_done(struct wf_wait *wait);

/* The object @owner (CQ, EQ or counter) is complete: from now on the wait set may
 * ask it, as fi_trywait does, whether it has something to read. No-op unless
 * FI_WAIT_SET; undone by wf_wait_done. */
void wf_wait_attach(struct wf_wait *wait, struct fid *owner);

/* Nothing in the kernel wakes a sleeper: somebody has to make progress for him. */
bool wf_wait_needs_thread(const struct wf_wait *wait);

/* @fd wakes the sleeper while it is readable. No-op (0) for objects without fd. */
int wf_wait_add_fd(struct wf_wait *wait, int fd);
void wf_wait_del_fd(struct wf_wait *wait, int fd);

/* Do the two calls above do anything? */
bool wf_wait_uses_fds(const struct wf_wait *wait);

/* From now on the next wf_wait_signal wakes; drains earlier signals. Returns the
 * ticket for wf_wait_sleep. */
uint64_t wf_wait_arm(struct wf_wait *wait);

/* Sleep until signalled after @ticket was drawn, until a transport's fd is readable
 * or until @deadline_ns. 0: look again; -FI_EAGAIN: time is up or a signal handler
 * ran. A cancellation point: a thread that is cancelled here leaves the wait usable.
 * The caller holds no lock and keeps cancellation off around its other steps
 * (sys/cancel.h). */
int wf_wait_sleep(struct wf_wait *wait, uint64_t ticket, uint64_t deadline_ns);

void wf_wait_signal_slow(struct wf_wait *wait);

static inline void wf_wait_signal(struct wf_wait *wait)
{
	if (wf_likely(wait->obj == FI_WAIT_NONE))
		return;
	/* Full fence: our entry is stored before we look for a sleeper. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&wait->armed, memory_order_relaxed))
		wf_wait_signal_slow(wait);
}

/* The fi_control commands FI_GETWAIT and FI_GETWAITOBJ. */
int wf_wait_control(struct wf_wait *wait, int command, void *arg);

#endif
