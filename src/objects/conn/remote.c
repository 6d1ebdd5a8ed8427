/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/remote.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "objects/conn/verify.h"

enum {
	FIRST_BUCKETS = 64,
	FIRST_INDICES = 64,
	RARE_US = 500000,
	COMMON_NS = 125000000,
	NAME_LEN = 256, /* of a peer in log lines */
};

int wf_remotes_init(struct wf_remotes *remotes, const struct wf_remote_ops *ops,
	uint64_t seed, struct wf_progress *item, struct wf_watches *watches)
{
	struct wf_remote **buckets = calloc(FIRST_BUCKETS, sizeof(struct wf_remote *));

	if (!buckets)
		return -FI_ENOMEM;
	*remotes = (struct wf_remotes){
		.ops = ops,
		.buckets = buckets,
		.bucket_mask = FIRST_BUCKETS - 1,
		.seed = seed,
		.item = item,
		.watches = watches,
	};
	wf_attempts_init(&remotes->attempts);
	wf_list_init(&remotes->busy);
	return 0;
}

struct wf_remote *wf_remotes_next(
	const struct wf_remotes *remotes, const struct wf_remote *after)
{
	size_t slot = after ? (after->hash & remotes->bucket_mask) + 1 : 0;

	if (after && after->hash_next)
		return after->hash_next;
	for (; slot <= remotes->bucket_mask; slot++)
		if (remotes->buckets[slot])
			return remotes->buckets[slot];
	return NULL;
}

static void remote_end_pending(
	struct wf_remotes *remotes, struct wf_remote *remote, int err)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&remote->pending)))
		remotes->ops->end(remotes, remote, link, err);
}

static void remote_free(struct wf_remotes *remotes, struct wf_remote *remote)
{
	remote_end_pending(remotes, remote, 0);
	remotes->ops->free(remotes, remote);
}

void wf_remotes_done(struct wf_remotes *remotes)
{
	struct wf_remote *remote, *next;
	struct wf_attempt *attempt;

	if (!remotes->buckets)
		return;
	while ((attempt = wf_attempts_first(&remotes->attempts)))
		remotes->ops->drop(attempt);
	wf_attempts_free_ended(&remotes->attempts);
	for (remote = wf_remotes_next(remotes, NULL); remote; remote = next) {
		next = wf_remotes_next(remotes, remote);
		remote_free(remotes, remote);
	}
	wf_av_removals_stop(&remotes->removals);
	free(remotes->buckets);
	free(remotes->by_index);
}

struct wf_remote *wf_remotes_find(
	const struct wf_remotes *remotes, uint64_t hash, const void *key)
{
	struct wf_remote *remote = remotes->buckets[hash & remotes->bucket_mask];

	while (remote && (remote->hash != hash || !remotes->ops->is(remote, key)))
		remote = remote->hash_next;
	return remote;
}

static void remote_link_in(
	struct wf_remote **buckets, size_t bucket_mask, struct wf_remote *remote)
{
	struct wf_remote **bucket = &buckets[remote->hash & bucket_mask];

	remote->hash_next = *bucket;
	*bucket = remote;
}

static void remote_grow(struct wf_remotes *remotes)
{
	size_t mask = remotes->bucket_mask * 2 + 1;
	struct wf_remote **buckets = calloc(mask + 1, sizeof(struct wf_remote *));
	struct wf_remote *remote, *next;

	if (!buckets)
		return; /* Keep the table, with longer chains. */
	for (remote = wf_remotes_next(remotes, NULL); remote; remote = next) {
		next = wf_remotes_next(remotes, remote);
		remote_link_in(buckets, mask, remote);
	}
	free(remotes->buckets);
	remotes->buckets = buckets;
	remotes->bucket_mask = mask;
}

void wf_remotes_add(struct wf_remotes *remotes, struct wf_remote *remote, uint64_t hash)
{
	if (remotes->count++ > remotes->bucket_mask)
		remote_grow(remotes);
	remote->hash = hash;
	remote->give_up_ns = UINT64_MAX;
	wf_list_init(&remote->busy_link);
	wf_list_init(&remote->pending);
	remote_link_in(remotes->buckets, remotes->bucket_mask, remote);
}

struct wf_remote *wf_remotes_get(
	struct wf_remotes *remotes, uint64_t hash, const void *key)
{
	struct wf_remote *remote = wf_remotes_find(remotes, hash, key);

	if (remote)
		return remote;
	remote = remotes->ops->make(key);
	if (remote)
		wf_remotes_add(remotes, remote, hash);
	return remote;
}

void wf_remotes_remove(struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct wf_remote **at = &remotes->buckets[remote->hash & remotes->bucket_mask];

	while (*at != remote)
		at = &(*at)->hash_next;
	*at = remote->hash_next;
	remotes->count--;
	wf_list_remove(&remote->busy_link);
}

bool wf_remotes_set_index(
	struct wf_remotes *remotes, size_t index, struct wf_remote *remote)
{
	size_t count = WF_MAX(remotes->index_count, (size_t)FIRST_INDICES);
	struct wf_remote **by_index;

	if (index >= remotes->index_count) {
		while (count <= index)
			count *= 2;
		by_index =
			realloc(remotes->by_index, count * sizeof(struct wf_remote *));
		if (!by_index)
			return false;
		memset(by_index + remotes->index_count, 0,
			(count - remotes->index_count) * sizeof(struct wf_remote *));
		remotes->by_index = by_index;
		remotes->index_count = count;
	}
	if (remotes->by_index[index] == remote)
		return true;
	wf_remotes_forget_index(remotes, index);
	remotes->by_index[index] = remote;
	remote->indices++;
	return true;
}

void wf_remotes_forget_index(struct wf_remotes *remotes, size_t index)
{
	struct wf_remote *remote = wf_remotes_at(remotes, index);

	if (!remote)
		return;
	remotes->by_index[index] = NULL;
	remote->indices--;
	if (remotes->ops->index_lost)
		remotes->ops->index_lost(remotes, remote);
	wf_remote_let_go(remotes, remote);
}

void wf_remotes_forget_indices(struct wf_remotes *remotes)
{
	for (size_t i = 0; i < remotes->index_count; i++)
		wf_remotes_forget_index(remotes, i);
}

void wf_remotes_forget_removed(struct wf_remotes *remotes)
{
	uint64_t index[64];
	bool all;
	size_t n;

	/* Read before the list is taken: indices added meanwhile are taken next
	 * time. */
	remotes->removals_seq = wf_av_removals_seq(&remotes->removals);
	do {
		n = wf_av_removals_take(
			&remotes->removals, index, WF_ARRAY_SIZE(index), &all);
		if (all)
			wf_remotes_forget_indices(remotes);
		for (size_t i = 0; i < n; i++)
			wf_remotes_forget_index(remotes, index[i]);
	} while (n == WF_ARRAY_SIZE(index));
}

void wf_remote_wanted(struct wf_remotes *remotes, struct wf_remote *remote)
{
	if (!remote->retry_ns && remotes->ops->state(remote) == WF_REMOTE_DOWN)
		remotes->ops->connect(remotes, remote);
}

void wf_remote_connected(struct wf_remote *remote, struct wf_list *queue)
{
	struct wf_list *link;

	remote->retry_ns = 0;
	remote->backoff_us = 0;
	remote->refused_ns = 0;
	remote->give_up_ns = UINT64_MAX;
	while ((link = wf_list_pop(&remote->pending)))
		wf_list_push(queue, link);
}

/* The delays double, and from RARE_US on grow by an eighth. */
static uint32_t remote_next_backoff(const struct wf_remote_ops *ops, uint32_t us)
{
	uint32_t next = us < RARE_US ? us * 2 : us + us / 8;

	return WF_MIN(WF_MAX(next, ops->backoff_min_us), ops->backoff_max_us);
}

/* Round @ns up to the next of the times at which this endpoint makes all its rare
 * attempts, so that a sleeper wakes once for many unreachable peers. */
static uint64_t remote_common_moment(const struct wf_remotes *remotes, uint64_t ns)
{
	uint64_t first = remotes->seed % COMMON_NS;

	return ns + (COMMON_NS - 1) - (ns + (COMMON_NS - 1) - first) % COMMON_NS;
}

static void remote_failed(
	struct wf_remotes *remotes, struct wf_remote *remote, int err, uint64_t now_ns)
{
	uint32_t us = remote_next_backoff(remotes->ops, remote->backoff_us);

	remote->err = err;
	remote->backoff_us = us;
	remote->retry_ns = now_ns + us * 1000ull + remotes->seed % (us * 250ull);
	if (us >= RARE_US)
		remote->retry_ns = remote_common_moment(remotes, remote->retry_ns);
	wf_remote_schedule(remotes, remote);
}

void wf_remote_failed(
	struct wf_remotes *remotes, struct wf_remote *remote, int err, uint64_t now_ns)
{
	remote->refused_ns = 0;
	remote_failed(remotes, remote, err, now_ns);
}

void wf_remote_refused(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t now_ns)
{
	if (!remote->refused_ns)
		remote->refused_ns = now_ns;
	remote_failed(remotes, remote, FI_ECONNREFUSED, now_ns);
}

/* No operation waits any more: later ones get the full time limits. */
static void remote_forget_patience(struct wf_remote *remote)
{
	remote->give_up_ns = UINT64_MAX;
	remote->refused_ns = 0;
}

static void remote_withdrawn(struct wf_remote *remote)
{
	if (wf_list_empty(&remote->pending))
		remote_forget_patience(remote);
}

struct wf_list *wf_remotes_withdraw(struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg,
	struct wf_remote **ret_remote)
{
	wf_list_foreach(busy, &remotes->busy)
	{
		struct wf_remote *remote =
			wf_list_entry(busy, struct wf_remote, busy_link);
		struct wf_list *link = wf_list_find(&remote->pending, is, arg);

		if (!link)
			continue;
		wf_list_remove(link);
		remote_withdrawn(remote);
		*ret_remote = remote;
		return link;
	}
	return NULL;
}

bool wf_remotes_any_pending(const struct wf_remotes *remotes,
	bool (*is)(const struct wf_list *link, const void *arg), const void *arg)
{
	wf_list_foreach(busy, &remotes->busy)
	{
		const struct wf_remote *remote =
			wf_list_entry(busy, struct wf_remote, busy_link);

		if (wf_list_find(&remote->pending, is, arg))
			return true;
	}
	return false;
}

/* Do the pending operations wait on beyond their time limit? */
static bool remote_is_patient(struct wf_remotes *remotes, struct wf_remote *remote)
{
	const struct wf_remote_ops *ops = remotes->ops;

	return wf_verify_pending(remotes, remote) ||
	       (ops->give_up && !ops->give_up(remotes, remote));
}

static void remote_fail_pending(struct wf_remotes *remotes, struct wf_remote *remote)
{
	const struct wf_remote_ops *ops = remotes->ops;
	int err = remote->err ? remote->err : FI_ETIMEDOUT;
	char text[NAME_LEN];

	if (remote_is_patient(remotes, remote))
		return;
	FI_LOG(ops->prov, FI_LOG_WARN, FI_LOG_EP_DATA, "cannot reach %s: %s\n",
		ops->name(remote, text, sizeof(text)), fi_strerror(err));
	remote_end_pending(remotes, remote, err);
}

void wf_remote_denied(struct wf_remotes *remotes, struct wf_remote *remote, int err)
{
	remote->err = err;
	remote->retry_ns = 0;
	remote_forget_patience(remote);
	remote_fail_pending(remotes, remote);
}

/* The peer's host has refused all attempts for too long: fail the pending operations,
 * but for those that ops->keeps_waiting names. */
static void remote_fail_refused(struct wf_remotes *remotes, struct wf_remote *remote)
{
	const struct wf_remote_ops *ops = remotes->ops;
	unsigned int count = 0;
	char text[NAME_LEN];

	if (remote_is_patient(remotes, remote)) {
		remote_forget_patience(remote);
		return;
	}
	wf_list_foreach_safe(link, &remote->pending)
	{
		if (ops->keeps_waiting(remotes, remote, link))
			continue;
		wf_list_remove(link);
		ops->end(remotes, remote, link, FI_ECONNREFUSED);
		count++;
	}
	if (count)
		FI_LOG(ops->prov, FI_LOG_WARN, FI_LOG_EP_DATA, "cannot reach %s: %s\n",
			ops->name(remote, text, sizeof(text)),
			fi_strerror(FI_ECONNREFUSED));
	remote->refused_ns = 0;
	remote_withdrawn(remote);
}

static void remote_give_up(
	struct wf_remotes *remotes, struct wf_remote *remote, uint64_t now_ns)
{
	if (now_ns < remote->give_up_ns && remotes->ops->keeps_waiting) {
		remote_fail_refused(remotes, remote);
		return;
	}
	remote_forget_patience(remote);
	remote_fail_pending(remotes, remote);
}

/* Time when the pending operations fail; UINT64_MAX: not known yet, or never. While an
 * attempt is under way, earlier refusals do not count: it may end differently. */
static uint64_t remote_end_of_patience(
	const struct wf_remotes *remotes, const struct wf_remote *remote)
{
	if (wf_list_empty(&remote->pending))
		return UINT64_MAX;
	if (!remote->refused_ns || remotes->ops->state(remote) != WF_REMOTE_DOWN)
		return remote->give_up_ns;
	return WF_MIN(remote->give_up_ns, remote->refused_ns + remotes->grace_ns);
}

/* One tick for one peer. True: nothing is left to be done for it. */
static bool remote_tick(struct wf_remotes *remotes, struct wf_remote *remote,
	uint64_t now_ns, uint64_t limit_ns)
{
	const struct wf_remote_ops *ops = remotes->ops;

	if (ops->state(remote) == WF_REMOTE_UP) {
		remote->give_up_ns = UINT64_MAX;
		return true;
	}
	if (wf_list_empty(&remote->pending))
		remote_forget_patience(remote);
	else if (now_ns >= remote_end_of_patience(remotes, remote))
		remote_give_up(remotes, remote, now_ns);
	else if (remote->give_up_ns == UINT64_MAX && limit_ns)
		remote->give_up_ns = now_ns + limit_ns;
	if (ops->state(remote) != WF_REMOTE_DOWN || now_ns < remote->retry_ns)
		return false;
	remote->retry_ns = 0;
	if (wf_list_empty(&remote->pending) && !wf_verify_pending(remotes, remote))
		return true;
	ops->connect(remotes, remote);
	return false;
}

static bool remote_is_unused(
	const struct wf_remotes *remotes, const struct wf_remote *remote)
{
	return !remote->indices && !remote->refs && wf_list_empty(&remote->pending) &&
	       remotes->ops->state(remote) == WF_REMOTE_DOWN;
}

void wf_remotes_tick(struct wf_remotes *remotes, uint64_t now_ns, uint64_t limit_ns,
	uint64_t grace_ns)
{
	wf_attempts_free_ended(&remotes->attempts);
	wf_attempts_expire(&remotes->attempts, now_ns, remotes->ops->expired);
	remotes->grace_ns = grace_ns;
	wf_list_foreach_safe(link, &remotes->busy)
	{
		struct wf_remote *remote =
			wf_list_entry(link, struct wf_remote, busy_link);

		if (!remote_tick(remotes, remote, now_ns, limit_ns))
			continue;
		wf_list_remove(&remote->busy_link);
		if (!remote_is_unused(remotes, remote))
			continue;
		wf_remotes_remove(remotes, remote);
		remote_free(remotes, remote);
	}
}

uint64_t wf_remotes_deadline(const struct wf_remotes *remotes)
{
	uint64_t deadline = wf_attempts_deadline(&remotes->attempts);

	wf_list_foreach(link, &remotes->busy)
	{
		struct wf_remote *remote =
			wf_list_entry(link, struct wf_remote, busy_link);

		deadline = WF_MIN(deadline, remote_end_of_patience(remotes, remote));
		if (remote->retry_ns)
			deadline = WF_MIN(deadline, remote->retry_ns);
	}
	return deadline;
}
