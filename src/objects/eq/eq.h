/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_EQ_H
#define WF_OBJECTS_EQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_eq.h>

#include "objects/fabric.h"
#include "objects/progress/progress.h"
#include "objects/wait/wait.h"
#include "sys/lock.h"

struct wf_eq_event;

/*
 * An event queue. Events wait in a list in arrival order, errors among them, with
 * their data; @lock guards the list. Opened with FI_PEER it holds nothing and
 * passes every event on to @owner with fi_eq_write.
 */
struct wf_eq {
	struct fid_eq fid;
	struct wf_fabric *fabric;
	struct fid_eq *owner; /* imported EQ, or NULL: the events are here */
	uint64_t flags;
	struct wf_lock lock;
	struct wf_list events;
	size_t count;
	size_t capacity; /* bounds what fi_eq_write may add, never our own events */
	bool overrun;    /* an event was refused and its error is not reported yet */
	struct wf_eq_event *last; /* the error last read, kept until the next read */
	atomic_int refs;          /* endpoints, domains, AVs and MRs bound */
	struct wf_wait wait;
	struct wf_progress_list progress;
};

static inline struct wf_eq *wf_eq_of(struct fid_eq *fid)
{
	return wf_container_of(fid, struct wf_eq, fid);
}

int wf_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context);

/* Queue one event or one error with a copy of its data; wakes sleepers. */
ssize_t wf_eq_write(struct wf_eq *eq, uint32_t event, const void *buf, size_t len);
int wf_eq_write_err(struct wf_eq *eq, const struct fi_eq_err_entry *entry);

/* Anything to read (event or error)? For fi_trywait and wait sets. */
bool wf_eq_readable(struct wf_eq *eq);

#endif
