/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>

#include "core/log/log.h"
#include "core/compat/old_peer.h"
#include "sys/compiler.h"
#include "sys/list.h"

/*
 * Receive contexts for providers with an older layout; see old_peer.h.
 *
 * Each entry of the owner has a copy that the provider sees, from the provider's
 * request for a receive until free_entry. It has two unused links, then the members of
 * today's entry, for some versions without cq_data. The owner's entry refers to the
 * copy by peer_context. Fields that the provider may write before it queues an entry
 * are copied back at that time; fields that the owner writes before it starts an entry
 * are copied at that time.
 *
 * All calls but foreach_unspec_addr are made with the owner's lock held, which thereby
 * guards @copies.
 */

struct old_srx {
	struct wf_old_guard guard;
	struct fid_peer_srx fid; /* the receive context that the provider sees */
	struct fi_ops_srx_peer peer_ops;
	struct fid_peer_srx *owner;
	const struct wf_old_peer *old;
	struct wf_list copies;
	_Atomic(fi_addr_t (*)(struct fi_peer_rx_entry *)) get_addr;
};

struct copy {
	struct wf_list link;
	struct old_srx *srx;
	struct fi_peer_rx_entry *entry; /* the owner's */
	struct old_entry {
		void *links[2];
		/* The members of today's entry, without cq_data for versions that had
		 * none. */
		uint8_t members[sizeof(struct fi_peer_rx_entry)];
	} seen;
};

enum {
	HEAD = offsetof(struct fi_peer_rx_entry, cq_data),
	DATA = sizeof(((struct fi_peer_rx_entry *)0)->cq_data),
	TAIL = sizeof(struct fi_peer_rx_entry) - HEAD - DATA,
};
_Static_assert(offsetof(struct fi_peer_rx_entry, flags) == HEAD + DATA,
	"cq_data is between the parts");

static void read_members(const struct copy *copy, struct fi_peer_rx_entry *ret)
{
	const uint8_t *from = copy->seen.members;

	ret->cq_data = 0;
	memcpy(ret, from, HEAD);
	from += HEAD;
	if (copy->srx->old->has_cq_data) {
		memcpy(&ret->cq_data, from, DATA);
		from += DATA;
	}
	memcpy(&ret->flags, from, TAIL);
}

static void write_members(struct copy *copy, const struct fi_peer_rx_entry *entry)
{
	uint8_t *to = copy->seen.members;

	memcpy(to, entry, HEAD);
	to += HEAD;
	if (copy->srx->old->has_cq_data) {
		memcpy(to, &entry->cq_data, DATA);
		to += DATA;
	}
	memcpy(to, &entry->flags, TAIL);
}

/* Copy the owner's fields; @peer_context is the provider's. */
static void show(struct copy *copy, void *peer_context)
{
	struct fi_peer_rx_entry entry = *copy->entry;

	entry.srx = &copy->srx->fid;
	entry.peer_context = peer_context;
	write_members(copy, &entry);
}

static struct fi_peer_rx_entry *seen_of(struct copy *copy)
{
	return (void *)&copy->seen;
}

static struct copy *copy_of(struct fi_peer_rx_entry *seen)
{
	return wf_container_of((struct old_entry *)(void *)seen, struct copy, seen);
}

static struct old_srx *old_srx_of(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct old_srx, fid);
}

/* Calls of the provider. */

static int get(struct fid_peer_srx *fid, bool tagged, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	struct old_srx *srx = old_srx_of(fid);
	struct fi_ops_srx_owner *ops = srx->owner->owner_ops;
	struct copy *copy = calloc(1, sizeof(*copy));
	int ret;

	/* First: a receive that was matched could not be given back. */
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
	show(copy, NULL);
	*ret_entry = seen_of(copy);
	return ret;
}

static int plain_get_msg(struct fid_peer_srx *fid, fi_addr_t addr, size_t size,
	struct fi_peer_rx_entry **ret_entry)
{
	return get(
		fid, false, &(struct fi_peer_match_attr){ addr, size, 0 }, ret_entry);
}

/* The size of a tagged message is not said before it is queued. */
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

/* The provider's additions become the owner's. */
static struct fi_peer_rx_entry *complete(struct fi_peer_rx_entry *seen)
{
	struct copy *copy = copy_of(seen);
	struct fi_peer_rx_entry members;

	read_members(copy, &members);
	if (members.msg_size)
		copy->entry->msg_size = members.msg_size;
	copy->entry->cq_data = members.cq_data;
	copy->entry->flags = members.flags;
	return copy->entry;
}

static int queue_msg(struct fi_peer_rx_entry *seen)
{
	struct fi_peer_rx_entry *entry = complete(seen);

	return copy_of(seen)->srx->owner->owner_ops->queue_msg(entry);
}

static int queue_tag(struct fi_peer_rx_entry *seen)
{
	struct fi_peer_rx_entry *entry = complete(seen);

	return copy_of(seen)->srx->owner->owner_ops->queue_tag(entry);
}

static void free_entry(struct fi_peer_rx_entry *seen)
{
	struct copy *copy = copy_of(seen);
	struct fi_peer_rx_entry *entry = copy->entry;
	struct fid_peer_srx *owner = copy->srx->owner;

	wf_list_remove(&copy->link);
	free(copy);
	owner->owner_ops->free_entry(entry);
}

static fi_addr_t get_addr(struct fi_peer_rx_entry *entry)
{
	struct copy *copy = entry->peer_context;

	/* acquire: pairs with foreach_unspec_addr. */
	return atomic_load_explicit(&copy->srx->get_addr, memory_order_acquire)(
		seen_of(copy));
}

/* A provider has one such function. */
static void foreach_unspec_addr(
	struct fid_peer_srx *fid, fi_addr_t (*its_own)(struct fi_peer_rx_entry *))
{
	struct old_srx *srx = old_srx_of(fid);

	atomic_store_explicit(&srx->get_addr, its_own, memory_order_release);
	srx->owner->owner_ops->foreach_unspec_addr(srx->owner, get_addr);
}

/* Calls of the owner. */

static struct copy *show_again(struct fi_peer_rx_entry *entry)
{
	struct copy *copy = entry->peer_context;
	struct fi_peer_rx_entry members;

	read_members(copy, &members);
	show(copy, members.peer_context);
	return copy;
}

#define OWNER_CALL(name)                                                               \
	static int name(struct fi_peer_rx_entry *entry)                                \
	{                                                                              \
		struct copy *copy = show_again(entry);                                 \
                                                                                       \
		return copy->srx->fid.peer_ops->name(seen_of(copy));                   \
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

/* The operations that the provider calls, with the signatures of its version. */

static struct {
	size_t size;
	int (*get_msg)(
		struct fid_peer_srx *, fi_addr_t, size_t, struct fi_peer_rx_entry **);
	int (*get_tag)(
		struct fid_peer_srx *, fi_addr_t, uint64_t, struct fi_peer_rx_entry **);
	int (*queue_msg)(struct fi_peer_rx_entry *);
	int (*queue_tag)(struct fi_peer_rx_entry *);
	void (*free_entry)(struct fi_peer_rx_entry *);
} ops_1_17 = {
	sizeof(ops_1_17),
	plain_get_msg,
	plain_get_tag,
	queue_msg,
	queue_tag,
	free_entry,
};

static struct {
	size_t size;
	int (*get_msg)(
		struct fid_peer_srx *, fi_addr_t, size_t, struct fi_peer_rx_entry **);
	int (*get_tag)(
		struct fid_peer_srx *, fi_addr_t, uint64_t, struct fi_peer_rx_entry **);
	int (*queue_msg)(struct fi_peer_rx_entry *);
	int (*queue_tag)(struct fi_peer_rx_entry *);
	void (*foreach_unspec_addr)(
		struct fid_peer_srx *, fi_addr_t (*)(struct fi_peer_rx_entry *));
	void (*free_entry)(struct fi_peer_rx_entry *);
} ops_1_19 = {
	sizeof(ops_1_19),
	plain_get_msg,
	plain_get_tag,
	queue_msg,
	queue_tag,
	foreach_unspec_addr,
	free_entry,
};

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

/* Opening and closing. */

static void srx_gone(struct wf_old_guard *guard)
{
	struct old_srx *srx = wf_container_of(guard, struct old_srx, guard);

	/* Of entries that the owner took back without a call. */
	wf_list_foreach_safe(link, &srx->copies)
		free(wf_list_entry(link, struct copy, link));
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

/* Did the provider set its operations? It may have set another table. */
static bool is_peer(const struct fid_peer_srx *srx)
{
	const struct fi_ops_srx_peer *ops = srx->peer_ops;

	return FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, start_tag) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_msg) &&
	       FI_CHECK_OP(ops, struct fi_ops_srx_peer, discard_tag);
}

static struct old_srx *new_srx(
	const struct wf_old_peer *old, struct fid_peer_srx *owner)
{
	struct old_srx *srx = calloc(1, sizeof(*srx));

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

/* Into the owner's table, if it has one. */
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
	struct old_srx *srx;
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
