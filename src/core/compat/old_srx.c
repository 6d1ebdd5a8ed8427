/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>

#include "core/log/log.h"
#include "core/compat/old_entry.h"
#include "core/compat/old_peer.h"
#include "sys/compiler.h"
#include "sys/list.h"

/* Receive contexts for providers with an older layout; old_entry.h has the entries. */

static struct wf_old_srx *old_srx_of(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct wf_old_srx, fid);
}

static int get(struct fid_peer_srx *fid, bool tagged, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	struct wf_old_srx *srx = old_srx_of(fid);
	struct fi_ops_srx_owner *ops = srx->owner->owner_ops;
	struct wf_old_entry *copy = calloc(1, sizeof(*copy));
	int ret;

	/* Before the match: the owner cannot take a matched receive back. */
	if (!copy)
		return -FI_ENOMEM;
	ret = tagged ? ops->get_tag(srx->owner, attr, &copy->entry)
		     : ops->get_msg(srx->owner, attr, &copy->entry);
	if (ret && ret != -FI_ENOENT) {
		free(copy);
		return ret;
	}
	copy->srx = srx;
	wf_list_push(&srx->copies, &copy->link);
	copy->entry->peer_context = copy;
	wf_old_entry_show(copy, NULL);
	*ret_entry = wf_old_entry_seen(copy);
	return ret;
}

static int plain_get_msg(struct fid_peer_srx *fid, fi_addr_t addr, size_t size,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(
		fid, false, &(struct fi_peer_match_attr){ addr, size, 0 }, ret_entry);
}

/* get_tag of versions without the message size as an argument: the provider sets the
 * size in the entry before it queues the entry. */
static int plain_get_tag(struct fid_peer_srx *fid, fi_addr_t addr, uint64_t tag,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(fid, true, &(struct fi_peer_match_attr){ addr, 0, tag }, ret_entry);
}

static int linked_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(fid, false, attr, ret_entry);
}

static int linked_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(fid, true, attr, ret_entry);
}

static int queue_msg(struct fi_peer_rx_entry *seen)
{
	struct fi_peer_rx_entry *entry = wf_old_entry_complete(seen);

	return wf_old_entry_of(seen)->srx->owner->owner_ops->queue_msg(entry);
}

static int queue_tag(struct fi_peer_rx_entry *seen)
{
	struct fi_peer_rx_entry *entry = wf_old_entry_complete(seen);

	return wf_old_entry_of(seen)->srx->owner->owner_ops->queue_tag(entry);
}

static void free_entry(struct fi_peer_rx_entry *seen)
{
	struct wf_old_entry *copy = wf_old_entry_of(seen);
	struct fi_peer_rx_entry *entry = copy->entry;
	struct fid_peer_srx *owner = copy->srx->owner;

	wf_list_remove(&copy->link);
	free(copy);
	owner->owner_ops->free_entry(entry);
}

static fi_addr_t get_addr(struct fi_peer_rx_entry *entry)
{
	struct wf_old_entry *copy = entry->peer_context;

	/* acquire: pairs with foreach_unspec_addr. */
	return atomic_load_explicit(&copy->srx->get_addr, memory_order_acquire)(
		wf_old_entry_seen(copy));
}

/* A provider passes the same function in every call, so the context keeps one. */
static void foreach_unspec_addr(
	struct fid_peer_srx *fid, fi_addr_t (*its_own)(struct fi_peer_rx_entry *))
{
	struct wf_old_srx *srx = old_srx_of(fid);

	atomic_store_explicit(&srx->get_addr, its_own, memory_order_release);
	srx->owner->owner_ops->foreach_unspec_addr(srx->owner, get_addr);
}

#define OWNER_CALL(name)                                                               \
	static int name(struct fi_peer_rx_entry *entry)                                \
	{                                                                              \
		struct wf_old_entry *copy = wf_old_entry_refresh(entry);               \
                                                                                       \
		return copy->srx->fid.peer_ops->name(wf_old_entry_seen(copy));         \
	}

OWNER_CALL(start_msg)
OWNER_CALL(start_tag)
OWNER_CALL(discard_msg)
OWNER_CALL(discard_tag)

static struct fi_ops_srx_peer peer_ops = {
	.size = sizeof(peer_ops),
	.start_msg = start_msg,
	.start_tag = start_tag,
	.discard_msg = discard_msg,
	.discard_tag = discard_tag,
};

/* The operations that providers of 1.17 to 2.2 call, with the signatures of their
 * version. */
struct plain_calls {
	size_t size; /* of the whole table, in bytes */
	int (*get_msg)(
		struct fid_peer_srx *, fi_addr_t, size_t, struct fi_peer_rx_entry **);
	int (*get_tag)(
		struct fid_peer_srx *, fi_addr_t, uint64_t, struct fi_peer_rx_entry **);
	int (*queue_msg)(struct fi_peer_rx_entry *);
	int (*queue_tag)(struct fi_peer_rx_entry *);
};

#define PLAIN_CALLS(table)                                                             \
	{                                                                              \
		sizeof(table), plain_get_msg, plain_get_tag, queue_msg, queue_tag,     \
	}

static struct {
	struct plain_calls plain;
	void (*free_entry)(struct fi_peer_rx_entry *);
} ops_1_17 = { PLAIN_CALLS(ops_1_17), free_entry };

static struct {
	struct plain_calls plain;
	void (*foreach_unspec_addr)(
		struct fid_peer_srx *, fi_addr_t (*)(struct fi_peer_rx_entry *));
	void (*free_entry)(struct fi_peer_rx_entry *);
} ops_1_19 = { PLAIN_CALLS(ops_1_19), foreach_unspec_addr, free_entry };

static struct fi_ops_srx_owner ops_2_0 = {
	.size = sizeof(ops_2_0),
	.get_msg = linked_get_msg,
	.get_tag = linked_get_tag,
	.queue_msg = queue_msg,
	.queue_tag = queue_tag,
	.foreach_unspec_addr = foreach_unspec_addr,
	.free_entry = free_entry,
};

const struct wf_old_peer wf_old_peers[] = {
	{ FI_VERSION(1, 19), false, true, &ops_1_17 },
	{ FI_VERSION(1, 20), true, true, &ops_1_19 },
	{ FI_VERSION(2, 0), true, false, &ops_1_19 },
	{ FI_VERSION(2, 3), true, false, &ops_2_0 },
	{ 0 },
};

static void srx_gone(struct wf_old_guard *guard)
{
	struct wf_old_srx *srx = wf_container_of(guard, struct wf_old_srx, guard);

	/* Copies of entries that the owner freed without telling the provider. */
	wf_list_foreach_safe(link, &srx->copies)
		free(wf_list_entry(link, struct wf_old_entry, link));
	free(srx);
}

static bool is_owner(const struct fid_peer_srx *srx)
{
	const struct fi_ops_srx_owner *ops = srx->owner_ops;

	return FI_CHECK_OP(ops, struct fi_ops_srx_owner, get_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_owner, get_tag) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_owner, queue_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_owner, queue_tag) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_owner, foreach_unspec_addr) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_owner, free_entry);
}

/* Did the provider set all its operations, in the given table or one of its own? */
static bool is_peer(const struct fid_peer_srx *srx)
{
	const struct fi_ops_srx_peer *ops = srx->peer_ops;

	return FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_tag) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_tag);
}

static struct wf_old_srx *new_srx(
	const struct wf_old_peer *old, struct fid_peer_srx *owner)
{
	struct wf_old_srx *srx = calloc(1, sizeof(*srx));

	if (!srx)
		return NULL;
	srx->old = old;
	srx->owner = owner;
	srx->fid.ep_fid = owner->ep_fid;
	srx->fid.owner_ops = old->srx_owner_ops;
	srx->fid.peer_ops = &srx->peer_ops;
	srx->peer_ops.size = sizeof(srx->peer_ops);
	wf_list_init(&srx->copies);
	return srx;
}

/* Set the operations that the owner calls: in its table if there is one, as fi_peer(3)
 * says. */
static void give_ops(struct fid_peer_srx *owner)
{
	if (owner->peer_ops && owner->peer_ops->size >= sizeof(peer_ops))
		*owner->peer_ops = peer_ops;
	else
		owner->peer_ops = &peer_ops;
}

int wf_old_srx_open(const struct wf_old_peer *old,
	int (*open)(struct fid_domain *, struct fi_rx_attr *, struct fid_ep **, void *),
	struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ret_srx,
	void *context)
{
	const struct fi_peer_srx_context *given = context;
	struct fi_peer_srx_context adapted = { .size = sizeof(adapted) };
	struct wf_old_srx *srx;
	int ret;

	if (!given || given->size < sizeof(*given) || !given->srx ||
		!is_owner(given->srx)) {
		FI_WARN(&wf_core_prov, FI_LOG_EP_CTRL,
			"fi_srx_context: FI_PEER needs a struct fi_peer_srx_context "
			"with all operations of an owner\n");
		return -FI_EINVAL;
	}
	srx = new_srx(old, given->srx);
	if (!srx)
		return -FI_ENOMEM;
	adapted.srx = &srx->fid;
	ret = open(domain, attr, ret_srx, &adapted);
	if (!ret && !is_peer(&srx->fid)) {
		(void)fi_close(&(*ret_srx)->fid);
		ret = -FI_EINVAL;
	}
	if (ret) {
		free(srx);
		return ret;
	}
	give_ops(given->srx);
	wf_old_guard_set(&srx->guard, &(*ret_srx)->fid, srx_gone);
	return 0;
}
