/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_REMOTE_H
#define WF_OBJECTS_CONN_REMOTE_H

#include <stdint.h>

#include "objects/av/removals.h"
#include "objects/conn/attempt.h"
#include "objects/progress/progress.h"
#include "sys/list.h"

/*
 * The peers that a connectionless endpoint connects to, found by their address or name,
 * or by the AV index of operations to them. Operations wait for a connection to come
 * up. An attempt that fails is repeated after a delay, which grows with each failure.
 * When operations have waited for too long, they fail. Where the host refuses the
 * connection, the limit is shorter than where nothing answers.
 *
 * The transport embeds struct wf_remote in its own struct for a peer, and owns that
 * memory. The next wf_remotes_tick, and only that function, frees a peer to which no AV
 * index leads, which has no references, and for which no operations wait.
 *
 * The endpoint's lock (ep->lock) guards everything here, and the caller of each
 * function holds it. wf_remotes_init and wf_remotes_done are called without it, before
 * the endpoint is used and after.
 */
struct wf_remotes;
struct wf_verify_ops;

struct wf_remote {
	/* In remotes.busy while wf_remotes_tick has work to do for the peer. */
	struct wf_list busy_link;
	struct wf_list pending;      /* Operations that wait for a connection. */
	struct wf_remote *hash_next; /* Next peer in the same bucket. */
	uint64_t hash; /* Hash of its address or name, given by the transport. */
	/* Earliest time of the next attempt, in wf_now_ns time; 0: at once. */
	uint64_t retry_ns;
	/* Time in wf_now_ns when pending operations fail; UINT64_MAX: not set. */
	uint64_t give_up_ns;
	/* Time in wf_now_ns since when every attempt was refused; 0: the last attempt
	 * was not refused. */
	uint64_t refused_ns;
	/* Last delay after a failed attempt, in microseconds; 0: none. */
	uint32_t backoff_us;
	uint32_t indices; /* AV indices in remotes.by_index that lead to this peer */
	/* References that keep this peer: connections, attempts to connect, origins of
	 * unexpected messages. */
	uint32_t refs;
	/* Several requests named the address of the unverified connection; verify.h. */
	bool contested;
	int err; /* Positive FI_E code of the last failed attempt; 0: none failed. */
};

enum wf_remote_state {
	WF_REMOTE_DOWN,
	/* An attempt is under way, or a connection is being ended. */
	WF_REMOTE_CHANGING,
	WF_REMOTE_UP,
};

struct wf_remote_ops {
	/* Is @key the address or name of @remote? Their hashes are equal. */
	bool (*is)(const struct wf_remote *remote, const void *key);
	/* A new peer with the address or name @key, for wf_remotes_get; zeroed except
	 * for the transport's own members. NULL: no memory. */
	struct wf_remote *(*make)(const void *key);
	/* State of the connection to @remote. */
	enum wf_remote_state (*state)(const struct wf_remote *remote);
	/* Begin an attempt to connect. The transport reports its end with
	 * wf_remote_failed, wf_remote_refused or wf_remote_connected. */
	void (*connect)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* The pending operations have waited for the time limit, and fail if this
	 * returns true. False: they go on waiting. NULL: they fail. With an unverified
	 * connection they go on waiting: the peer is connected, and too busy to answer
	 * the attempt that verifies it. */
	bool (*give_up)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* End the operation @link, which was pending, with the positive FI_E code @err;
	 * 0: free it without a report. May be NULL if no operations wait. */
	void (*end)(struct wf_remotes *remotes, struct wf_remote *remote,
		struct wf_list *link, int err);
	/* An AV index does not lead to @remote any more: forget what was derived from
	 * the index. May be NULL. */
	void (*index_lost)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* All attempts were refused for remotes.grace_ns: does the pending operation
	 * @link wait on all the same, as long as connecting may take? The others fail.
	 * NULL: all pending operations wait on or fail together, as give_up says. */
	bool (*keeps_waiting)(struct wf_remotes *remotes, struct wf_remote *remote,
		const struct wf_list *link);
	/* End @attempt without a result; called by wf_remotes_done. */
	void (*drop)(struct wf_attempt *attempt);
	/* The deadline of @attempt is over: end it, or set another. */
	void (*expired)(struct wf_attempt *attempt);
	/* Free @remote; no operation is pending. */
	void (*free)(struct wf_remotes *remotes, struct wf_remote *remote);
	/* Verification of peers that ask for connections (verify.h); NULL: none is
	 * needed. */
	const struct wf_verify_ops *verify;
	/* For log lines: the provider, and the address or name of @remote, which may be
	 * written to @buf of @len bytes. */
	const struct fi_provider *prov;
	const char *(*name)(const struct wf_remote *remote, char *buf, size_t len);
	/* Limits of the delay after a failed attempt, in microseconds. */
	uint32_t backoff_min_us, backoff_max_us;
};

/* All peers of one endpoint. */
struct wf_remotes {
	const struct wf_remote_ops *ops;
	struct wf_remote **buckets; /* Hash table of all peers, by address or name. */
	/* Number of buckets (a power of two) - 1; number of peers. */
	size_t bucket_mask, count;
	/* Peers by AV index, filled in by operations; NULL: not known. */
	struct wf_remote **by_index;
	size_t index_count;             /* Members of by_index. */
	struct wf_av_removals removals; /* AV indices that were removed. */
	uint32_t removals_seq;       /* removals.seq when they were last processed. */
	struct wf_list busy;         /* Peers by busy_link: work for wf_remotes_tick. */
	struct wf_attempts attempts; /* Attempts to connect, active and passive. */
	/* The item whose run() calls wf_remotes_tick, and the descriptors that threads
	 * sleep on until it has work. */
	struct wf_progress *item;
	struct wf_watches *watches;
	/* Random number: endpoints that failed at the same time do not retry at the
	 * same time. */
	uint64_t seed;
	uint64_t grace_ns; /* @grace_ns of the last wf_remotes_tick */
};

/* @item and @watches: the endpoint's progress item and its descriptors for sleepers. 0
 * or -FI_ENOMEM. */
int wf_remotes_init(struct wf_remotes *remotes, const struct wf_remote_ops *ops,
	uint64_t seed, struct wf_progress *item, struct wf_watches *watches);
/* Drop all attempts, free all peers and the tables, and stop watching for removed
 * addresses. Accepts a zeroed @remotes that was never initialised. */
void wf_remotes_done(struct wf_remotes *remotes);

/* Iterate over all peers in no order: NULL gives the first, and NULL is the end. */
struct wf_remote *wf_remotes_next(
	const struct wf_remotes *remotes, const struct wf_remote *after);
struct wf_remote *wf_remotes_find(
	const struct wf_remotes *remotes, uint64_t hash, const void *key);
/* The peer with the address or name @key, of hash @hash; ops->make makes it if it is
 * not in the table. NULL: no memory. */
struct wf_remote *wf_remotes_get(
	struct wf_remotes *remotes, uint64_t hash, const void *key);
/* Add @remote, which is zeroed except for the transport's own members, and which is not
 * in the table yet. */
void wf_remotes_add(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t hash);
/* Remove a peer that no AV index leads to. Does not free it. */
void wf_remotes_remove(struct wf_remotes *remotes, struct wf_remote *remote);

/* Let AV index @index lead to @remote. False: no memory. */
bool wf_remotes_set_index(
	struct wf_remotes *remotes, size_t index, struct wf_remote *remote);
/* Let AV index @index lead to no peer. */
void wf_remotes_forget_index(struct wf_remotes *remotes, size_t index);
void wf_remotes_forget_indices(struct wf_remotes *remotes);
/* wf_remotes_forget_index for the indices in remotes->removals; empties that list. */
void wf_remotes_forget_removed(struct wf_remotes *remotes);

static inline struct wf_remote *wf_remotes_at(
	const struct wf_remotes *remotes, size_t index)
{
	return wf_likely(index < remotes->index_count) ? remotes->by_index[index]
						       : NULL;
}

/* Have wf_remotes_tick process @remote, now or at its retry_ns. */
static inline void wf_remote_busy(struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (wf_list_empty(&remote->busy_link))
		wf_list_push(&remotes->busy, &remote->busy_link);
}

/* The same, and wake the endpoint, or its sleepers at retry_ns. */
static inline void wf_remote_schedule(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	wf_remote_busy(remotes, remote);
	wf_progress_wake(remotes->item);
	if (remote->retry_ns)
		wf_watches_expect(remotes->watches, remote->retry_ns);
}

/* @remote has lost an AV index or a reference: the next tick frees it if it has neither
 * any more. */
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

/* Does wf_remotes_tick have work, now or at a later time? */
static inline bool wf_remotes_busy(const struct wf_remotes *remotes)
{
	return !wf_list_empty(&remotes->busy) ||
	       wf_attempts_first(&remotes->attempts) ||
	       !wf_list_empty(&remotes->attempts.ended);
}

/* The state of a peer. @up: its connection is up. @any: it has a connection or an
 * attempt to connect. */
static inline enum wf_remote_state wf_remote_state_of(bool up, bool any)
{
	if (up)
		return WF_REMOTE_UP;
	return any ? WF_REMOTE_CHANGING : WF_REMOTE_DOWN;
}

/* Were indices removed from the AV since the last call of wf_remotes_check_removed? */
static inline bool wf_remotes_removed(const struct wf_remotes *remotes)
{
	return wf_av_removals_seq(&remotes->removals) != remotes->removals_seq;
}

/* Forget the indices that were removed from the AV since the last call. */
static inline void wf_remotes_check_removed(struct wf_remotes *remotes)
{
	if (wf_unlikely(wf_remotes_removed(remotes)))
		wf_remotes_forget_removed(remotes);
}

/* A connection to @remote is wanted, for example by an operation: connect, unless an
 * attempt is under way or due later. */
void wf_remote_wanted(struct wf_remotes *remotes, struct wf_remote *remote);
/* fi_cancel(3): remove the first pending operation for which @is(link, @arg) holds.
 * *@ret_remote is its peer. NULL: there is none. */
struct wf_list *wf_remotes_withdraw(struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg,
	struct wf_remote **ret_remote);
/* Is there a pending operation for which @is(link, @arg) holds? */
bool wf_remotes_any_pending(const struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg);
/* A connection is up: move the pending operations to the end of @queue. */
void wf_remote_connected(struct wf_remote *remote, struct wf_list *queue);
/* An attempt failed with the positive FI_E code @err. @now_ns: wf_now_ns. */
void wf_remote_failed(
	struct wf_remotes *remotes, struct wf_remote *remote, int err, uint64_t now_ns);
/* An attempt failed because the host has no such endpoint: FI_ECONNREFUSED. */
void wf_remote_refused(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t now_ns);

/* No connection is possible, now or later: the pending operations end with the positive
 * FI_E code @err. */
void wf_remote_denied(struct wf_remotes *remotes, struct wf_remote *remote, int err);

/* Free attempts that ended, tell the transport of those whose deadline is over, start
 * the attempts that are due, fail operations that waited for @limit_ns (0: never)
 * or for @grace_ns of refusals, and free unused peers. */
void wf_remotes_tick(struct wf_remotes *remotes, uint64_t now_ns, uint64_t limit_ns,
	uint64_t grace_ns);
/* Time in wf_now_ns when the next tick is due; UINT64_MAX: only after another event. */
uint64_t wf_remotes_deadline(const struct wf_remotes *remotes);

#endif
