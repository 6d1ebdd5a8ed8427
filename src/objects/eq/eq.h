/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_EQ_EQ_H
#define WF_OBJECTS_EQ_EQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>

#include "objects/fabric.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/forks.h"
#include "sys/lock.h"

struct wf_eq_event;

/*
 * An event queue (fi_eq(3)). Events and errors wait in one list in the order of
 * arrival, with their data; @lock guards the list. A queue opened with FI_PEER holds no
 * events and passes every event on to @owner with fi_eq_write.
 */
struct wf_eq {
	struct fid_eq fid;
	struct wf_fabric *fabric;
	struct fid_eq *owner; /* the owner's EQ of an imported one, or NULL */
	uint64_t flags;       /* fi_eq_attr.flags */
	struct wf_lock lock;
	struct wf_list events; /* struct wf_eq_event */
	size_t count;          /* events in @events */
	size_t capacity; /* limit of @count for fi_eq_write, not for library events */
	bool overrun;    /* an event was refused and its error is not reported yet */
	struct wf_eq_event *last;  /* the error last read, kept until the next read */
	struct wf_eq_event *spare; /* for an event when there is no memory */
	atomic_int refs;           /* endpoints, domains, AVs and MRs bound */
	struct wf_wait wait;       /* signalled when an event is queued */
	struct wf_progress_list progress; /* items that readers run */
	struct wf_fork_hook fork_hook;    /* a child cannot read the queue */
};

static inline struct wf_eq *wf_eq_of(struct fid_eq *fid)
{
	return wf_container_of(fid, struct wf_eq, fid);
}

/* Count a user of the queue (endpoint, domain, AV); fi_close returns -FI_EBUSY while
 * there are any. */
static inline void wf_eq_ref(struct wf_eq *eq)
{
	atomic_fetch_add_explicit(&eq->refs, 1, memory_order_relaxed);
}

static inline void wf_eq_unref(struct wf_eq *eq)
{
	/* release: the user's accesses happen before fi_close frees the queue. */
	atomic_fetch_sub_explicit(&eq->refs, 1, memory_order_release);
}

/* Have the readers of the queue run @item, and stop that; as wf_progress_list_add and
 * wf_progress_list_del. */
static inline int wf_eq_progress_add(struct wf_eq *eq, struct wf_progress *item)
{
	return wf_progress_list_add(&eq->progress, item);
}

static inline void wf_eq_progress_del(struct wf_eq *eq, struct wf_progress *item)
{
	wf_progress_list_del(&eq->progress, item);
}

/* May a thread sleep on the queue? See wf_wait_is_armed. */
static inline bool wf_eq_is_armed(const struct wf_eq *eq)
{
	return wf_wait_is_armed(&eq->wait);
}

/* fi_ops_fabric.eq_open; see fi_eq(3). */
int wf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context);

/* Queue one event of the library, or one error, with a copy of its data, and wake the
 * sleepers. Return the event's length or 0; -FI_ENOMEM and -FI_EOVERRUN: the event is
 * lost. The caller does not hold the EQ's lock. */
ssize_t wf_eq_write(struct wf_eq *eq, uint32_t event, const void *buf, size_t len);
int wf_eq_write_err(struct wf_eq *eq, const struct fi_eq_err_entry *entry);

/* True if an event or an error can be read. For fi_trywait and wait sets. */
bool wf_eq_readable(struct wf_eq *eq);

#endif
