/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_REMOTE_H
#define WF_OBJECTS_REMOTE_H

#include <stdint.h>

#include "sys/list.h"

/*
 * The endpoints that a connectionless endpoint has connections with: found by their
 * address or name, or by the AV index of what is sent to them. Operations wait for a
 * connection to come up; an attempt that fails is repeated after a while that grows;
 * when that went on for too long, what waits fails. Where a host says that there is no
 * such endpoint, too long is less than where nothing answers.
 *
 * The transport embeds struct wf_remote in what it knows of each, and owns that memory.
 * One that no index leads to, without connection and without operations that wait, is
 * freed by the next wf_remotes_tick, and only there.
 * Everything here is guarded by the lock of its endpoint.
 */
struct wf_remotes;

struct wf_remote {
	struct wf_list busy_link; /* remotes.busy while there is something to be done */
	struct wf_list pending;   /* operations that wait for a connection */
	struct wf_remote *hash_next;
	uint64_t hash;
	uint64_t retry_ns;   /* no attempt before; 0: whenever one is wanted */
	uint64_t give_up_ns; /* what is pending fails then */
	uint64_t refused_ns; /* since then every attempt was refused; 0: not the last */
	uint32_t backoff_us;
	uint32_t indices; /* that lead to it */
	int err;          /* of the last attempt */
};

enum wf_remote_state {
	WF_REMOTE_DOWN,
	WF_REMOTE_CHANGING, /* an attempt is under way, or a connection being ended */
	WF_REMOTE_UP,
};

struct wf_remote_ops {
	/* Is @key, of the same hash, what @remote is found by? */
	bool (*is)(const struct wf_remote *remote, const void *key);
	enum wf_remote_state (*state)(const struct wf_remote *remote);
	/* Begin an attempt. wf_remote_failed or wf_remote_connected say how it ends. */
	void (*dial)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Fail what is pending with the positive @err. */
	void (*give_up)(struct wf_remotes *remotes, struct wf_remote *remote, int err);
	/* Does something of the transport's refer to it? May be NULL: then nothing does
	 * while it is WF_REMOTE_DOWN. */
	bool (*held)(const struct wf_remote *remote);
	/* The same after refusals alone; what may stay in its list waits on. NULL:
	 * nothing may, give_up does it. */
	void (*refused)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Free it with what is pending. */
	void (*free)(struct wf_remotes *remotes, struct wf_remote *remote);
	uint32_t backoff_min_us, backoff_max_us;
};

/* All of one endpoint. */
struct wf_remotes {
	const struct wf_remote_ops *ops;
	struct wf_remote **buckets;
	size_t bucket_mask, count;
	struct wf_remote **by_index; /* those that operations found */
	size_t index_room;
	struct wf_list busy;
	uint64_t seed;     /* random: who failed together does not come back together */
	uint64_t grace_ns; /* for refusals; as the last tick had it */
};

/* 0 or -FI_ENOMEM. */
int wf_remotes_init(
	struct wf_remotes *remotes, const struct wf_remote_ops *ops, uint64_t seed);
/* All of them and the tables; accepts what was zeroed and never made. */
void wf_remotes_done(struct wf_remotes *remotes);

/* Every one of them, NULL first and last, in no order. */
struct wf_remote *wf_remotes_next(
	const struct wf_remotes *remotes, const struct wf_remote *after);
struct wf_remote *wf_remotes_find(
	const struct wf_remotes *remotes, uint64_t hash, const void *key);
/* @remote is zeroed but for what the transport keeps in it; it cannot be found yet. */
void wf_remotes_add(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t hash);
/* One that no index leads to. */
void wf_remotes_remove(struct wf_remotes *remotes, struct wf_remote *remote);

/* @index leads to @remote from now on. False: no memory. */
bool wf_remotes_set_index(
	struct wf_remotes *remotes, size_t index, struct wf_remote *remote);
/* @index leads nowhere. */
void wf_remotes_forget_index(struct wf_remotes *remotes, size_t index);
void wf_remotes_forget_indices(struct wf_remotes *remotes);

static inline struct wf_remote *wf_remotes_at(
	const struct wf_remotes *remotes, size_t index)
{
	return wf_likely(index < remotes->index_room) ? remotes->by_index[index] : NULL;
}

/* Something is to be done for it, now or at its retry_ns. */
static inline void wf_remote_busy(struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (wf_list_empty(&remote->busy_link))
		wf_list_push(&remotes->busy, &remote->busy_link);
}

/* A connection ended, or something else that kept it: the next tick frees it, unless an
 * index leads to it. */
static inline void wf_remote_let_go(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (!remote->indices)
		wf_remote_busy(remotes, remote);
}

/* An operation begins to wait: dial, unless that is under way or to be done later. */
void wf_remote_wanted(struct wf_remotes *remotes, struct wf_remote *remote);
/* One that waited was taken out of @remote's list. */
void wf_remote_withdrawn(struct wf_remote *remote);
/* What waited moves to @queue. */
void wf_remote_connected(struct wf_remote *remote, struct wf_list *queue);
/* An attempt failed with the positive @err. */
void wf_remote_failed(
	struct wf_remotes *remotes, struct wf_remote *remote, int err, uint64_t now_ns);
/* It failed because there is no such endpoint: FI_ECONNREFUSED. */
void wf_remote_refused(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t now_ns);

/* Dial again, or give up after @limit_ns (0: never), or after @grace_ns of refusals. */
void wf_remotes_tick(struct wf_remotes *remotes, uint64_t now_ns, uint64_t limit_ns,
	uint64_t grace_ns);
/* When a tick is due next; UINT64_MAX: not before something happens. */
uint64_t wf_remotes_deadline(const struct wf_remotes *remotes);

#endif
