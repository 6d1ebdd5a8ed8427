/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_WAIT_H
#define WF_OBJECTS_WAIT_H

#include <stdatomic.h>
#include <rdma/fi_eq.h>

#include "sys/compiler.h"
#include "sys/list.h"

struct wf_wait_set;

/*
 * What one CQ, EQ, counter or wait set sleeps on.
 *
 * A sleeper first arms the wait, then looks once more whether its object has
 * something to read, then sleeps. A writer first stores its entry, then calls
 * wf_wait_signal. Both sides put a full fence between their two steps, so at
 * least one of them sees the other: no wake-up is lost, and while nobody sleeps a
 * signal costs one load.
 *
 * FI_WAIT_FD and FI_WAIT_POLLFD: @epfd is an epoll descriptor that holds @signal_fd
 * and the descriptors of the transports that feed the object, so that a manual
 * progress application wakes up for network data too.
 * FI_WAIT_MUTEX_COND: @mutex and @cond are the application's to wait on; nothing in
 * the kernel signals them, so such an object needs the domain's progress thread.
 * FI_WAIT_YIELD: the reader spins with sched_yield.
 * FI_WAIT_SET: signals go to @set.
 */
struct wf_wait {
	enum fi_wait_obj obj; /* never FI_WAIT_UNSPEC: resolved to FI_WAIT_FD */
	atomic_bool armed;
	int epfd;
	int signal_fd;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct wf_wait_set *set;
	uint64_t change_index; /* FI_WAIT_POLLFD: grows with each fd change */
};

/* -FI_EINVAL for an unknown object, or FI_WAIT_SET without @set. */
int wf_wait_init(struct wf_wait *wait, enum fi_wait_obj obj, struct fid_wait *set);
void wf_wait_done(struct wf_wait *wait);

/* @fd wakes the sleeper while it is readable. No-op (0) for objects without fd. */
int wf_wait_add_fd(struct wf_wait *wait, int fd);
void wf_wait_del_fd(struct wf_wait *wait, int fd);

/* From now on the next wf_wait_signal wakes; drains earlier signals. */
void wf_wait_arm(struct wf_wait *wait);

/* Sleep until signalled, until a transport's fd is readable or until
 * @deadline_ns. 0: look again; -FI_EAGAIN: time is up or a signal handler ran. */
int wf_wait_sleep(struct wf_wait *wait, uint64_t deadline_ns);

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
