/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_REMOTE_H
#define WF_OBJECTS_CONN_REMOTE_H

#include <stdint.h>

#include "objects/av/removals.h"
#include "sys/list.h"

/*
 * The endpoints that a connectionless endpoint has connections with: found by their
 * address or name, or by the AV index of what is sent to them. Operations wait for a
 * connection to come up; an attempt that fails is repeated after a while that grows;
 * when that went on for too long, what waits fails. Where a host says that there is no
 * such endpoint, too long is less than where nothing answers.
 *
 * The transport embeds struct wf_remote in its own struct for a peer, and owns that
 * memory. A peer that no AV index leads to, without references and without operations
 * that wait, is freed by the next wf_remotes_tick, and only there.
 * The endpoint's lock (ep->lock) guards everything here, and the caller of each
 * function holds it; wf_remotes_init and wf_remotes_done are called without, before the
 * endpoint is used and after.
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
	uint32_t indices; /* AV indices in remotes.by_index that lead to this peer */
	/* What refers to this peer and keeps it: connections, attempts to connect,
	 * origins of unexpected messages. */
	uint32_t refs;
	int err; /* of the last attempt; a positive FI_E code */
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
	/* Begin an attempt to connect, whose end the transport tells with
	 * wf_remote_failed, wf_remote_refused or wf_remote_connected. */
	void (*connect)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Fail what is pending with the positive @err. */
	void (*give_up)(struct wf_remotes *remotes, struct wf_remote *remote, int err);
	/* An AV index does not lead to @remote any more: forget what was derived from
	 * it. May be NULL. */
	void (*index_lost)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* The same after refusals alone; what may stay in its list waits on. NULL:
	 * nothing may, give_up does it. */
	void (*refused)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Free @remote and the operations in its list. */
	void (*free)(struct wf_remotes *remotes, struct wf_remote *remote);
	uint32_t backoff_min_us, backoff_max_us;
};

/* All of one endpoint. */
struct wf_remotes {
	const struct wf_remote_ops *ops;
	struct wf_remote **buckets;
	size_t bucket_mask, count;
	/* Peers by AV index, as operations found them; NULL: not known. */
	struct wf_remote **by_index;
	size_t index_count;
	struct wf_av_removals removals; /* AV indices that were removed */
	uint32_t removals_seq;          /* removals.seq when they were taken last */
	struct wf_list busy;
	uint64_t seed;     /* random: who failed together does not come back together */
	uint64_t grace_ns; /* for refusals; as the last tick had it */
};

/* 0 or -FI_ENOMEM. */
int wf_remotes_init(
	struct wf_remotes *remotes, const struct wf_remote_ops *ops, uint64_t seed);
/* Free all peers and the tables, and stop listening for removed addresses; accepts what
 * was zeroed and never made. */
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
/* The same for the indices in remotes->removals. */
void wf_remotes_forget_removed(struct wf_remotes *remotes);

static inline struct wf_remote *wf_remotes_at(
	const struct wf_remotes *remotes, size_t index)
{
	return wf_likely(index < remotes->index_count) ? remotes->by_index[index]
						       : NULL;
}

/* Something is to be done for it, now or at its retry_ns. */
static inline void wf_remote_busy(struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (wf_list_empty(&remote->busy_link))
		wf_list_push(&remotes->busy, &remote->busy_link);
}

/* What kept @remote ended: the next tick frees it, unless something else keeps it. */
static inline void wf_remote_let_go(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (!remote->indices)
		wf_remote_busy(remotes, remote);
}

static inline void wf_remote_ref(struct wf_remote *remote)
{
	remote->refs++;
}

static inline void wf_remote_unref(struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (!--remote->refs)
		wf_remote_let_go(remotes, remote);
}

/* Is there something for wf_remotes_tick to do? */
static inline bool wf_remotes_busy(const struct wf_remotes *remotes)
{
	return !wf_list_empty(&remotes->busy);
}

/* An operation begins to wait: connect, unless an attempt is under way or due later. */
void wf_remote_wanted(struct wf_remotes *remotes, struct wf_remote *remote);
/* fi_cancel: take the first waiting operation for which @is(link, @arg) holds out of
 * the list of its peer, *@ret_remote. NULL: none. */
struct wf_list *wf_remotes_withdraw(struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg,
	struct wf_remote **ret_remote);
/* Is there a waiting operation for which @is(link, @arg) holds? */
bool wf_remotes_any_pending(const struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg);
/* A connection is up: move the operations that waited for it to the end of @queue. */
void wf_remote_connected(struct wf_remote *remote, struct wf_list *queue);
/* An attempt failed with the positive @err. */
void wf_remote_failed(
	struct wf_remotes *remotes, struct wf_remote *remote, int err, uint64_t now_ns);
/* It failed because there is no such endpoint: FI_ECONNREFUSED. */
void wf_remote_refused(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t now_ns);

/* Start the attempts that are due, fail what waited for @limit_ns (0: never) or for
 * @grace_ns of refusals, and free peers that nothing keeps. */
void wf_remotes_tick(struct wf_remotes *remotes, uint64_t now_ns, uint64_t limit_ns,
	uint64_t grace_ns);
/* When a tick is due next; UINT64_MAX: not before something happens. */
uint64_t wf_remotes_deadline(const struct wf_remotes *remotes);

#endif
