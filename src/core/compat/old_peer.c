/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_peer.h>

#include "sys/copy_ops.h"
#include "core/compat/old_peer.h"
#include "sys/compiler.h"

/* Replaces the operations of fabrics and domains, down to the objects whose layout
 * changed; see old_peer.h. */

const struct wf_old_peer *wf_old_peer_of(uint32_t fi_version)
{
	const struct wf_old_peer *old = wf_old_peers;

	if (FI_VERSION_LT(fi_version, FI_VERSION(1, 17)))
		return NULL;
	while (old->before && FI_VERSION_GE(fi_version, old->before))
		old++;
	return old->before ? old : NULL;
}

/* Guards the list of the guards of open objects. */
static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list guards = { &guards, &guards };

static bool old_peer_guards_fid(const struct wf_list *item, const void *fid)
{
	return wf_list_entry(item, struct wf_old_guard, link)->fid == fid;
}

static struct wf_old_guard *old_peer_guard_of(const struct fid *fid)
{
	struct wf_list *item;

	(void)pthread_mutex_lock(&guards_lock);
	item = wf_list_find(&guards, old_peer_guards_fid, fid);
	(void)pthread_mutex_unlock(&guards_lock);
	return wf_list_entry(item, struct wf_old_guard, link);
}

static void old_peer_guards_add(struct wf_old_guard *guard)
{
	(void)pthread_mutex_lock(&guards_lock);
	wf_list_insert_after(&guards, &guard->link);
	(void)pthread_mutex_unlock(&guards_lock);
}

static void old_peer_guards_remove(struct wf_old_guard *guard)
{
	(void)pthread_mutex_lock(&guards_lock);
	wf_list_remove(&guard->link);
	(void)pthread_mutex_unlock(&guards_lock);
}

static int old_peer_guard_close(struct fid *fid)
{
	struct wf_old_guard *guard = old_peer_guard_of(fid);
	struct fi_ops *front = fid->ops;
	int ret;

	/* Another object may have the address as soon as this one is closed. */
	old_peer_guards_remove(guard);
	fid->ops = guard->own;
	ret = guard->own->close(fid);
	if (!ret) {
		guard->gone(guard);
		return 0;
	}
	fid->ops = front;
	old_peer_guards_add(guard);
	return ret;
}

void wf_old_guard_set(struct wf_old_guard *guard, struct fid *fid,
	void (*gone)(struct wf_old_guard *guard))
{
	guard->own = fid->ops;
	guard->fid = fid;
	guard->gone = gone;
	wf_copy_ops(&guard->ops, fid->ops, sizeof(guard->ops));
	guard->ops.close = old_peer_guard_close;
	fid->ops = &guard->ops;
	old_peer_guards_add(guard);
}

/* CQs: the error entries of the old provider are shorter than the entries that the
 * owner reads. */

struct old_cq {
	struct wf_old_guard guard;
	struct fid_peer_cq fid;    /* the CQ that the provider sees */
	struct fid_peer_cq *owner; /* the owner's CQ */
};

static struct old_cq *old_cq_of(struct fid_peer_cq *fid)
{
	return wf_container_of(fid, struct old_cq, fid);
}

static ssize_t old_peer_cq_write(struct fid_peer_cq *fid, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct fid_peer_cq *owner = old_cq_of(fid)->owner;

	return owner->owner_ops->write(owner, context, flags, len, buf, data, tag, src);
}

static ssize_t old_peer_cq_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *short_entry)
{
	struct fid_peer_cq *owner = old_cq_of(fid)->owner;
	struct fi_cq_err_entry entry = { .src_addr = FI_ADDR_NOTAVAIL };

	memcpy(&entry, short_entry, offsetof(struct fi_cq_err_entry, src_addr));
	return owner->owner_ops->writeerr(owner, &entry);
}

static struct fi_ops_cq_owner cq_owner_ops = {
	.size = sizeof(cq_owner_ops),
	.write = old_peer_cq_write,
	.writeerr = old_peer_cq_writeerr,
};

static void old_peer_cq_gone(struct wf_old_guard *guard)
{
	free(wf_container_of(guard, struct old_cq, guard));
}

/* The domain. */

struct old_domain {
	struct wf_old_guard guard;
	struct fi_ops_domain ops;      /* replaces @own, and calls it */
	struct fi_ops_domain *own;     /* the provider's operations */
	const struct wf_old_peer *old; /* what the provider's version needs */
};

static struct old_domain *old_domain_of(struct fid_domain *fid)
{
	return wf_container_of(old_peer_guard_of(&fid->fid), struct old_domain, guard);
}

static int old_peer_domain_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	const struct fi_peer_cq_context *given = context;
	struct fi_peer_cq_context adapted = { .size = sizeof(adapted) };
	struct old_domain *domain = old_domain_of(fid);
	struct old_cq *cq;
	int ret;

	/* An invalid call is passed to the provider, which reports the error. */
	if (!domain->old->short_errors || !attr || !(attr->flags & FI_PEER) || !given ||
		given->size < sizeof(*given) || !given->cq)
		return domain->own->cq_open(fid, attr, ret_cq, context);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->owner = given->cq;
	cq->fid.fid = given->cq->fid;
	cq->fid.owner_ops = &cq_owner_ops;
	adapted.cq = &cq->fid;
	ret = domain->own->cq_open(fid, attr, ret_cq, &adapted);
	if (ret)
		free(cq);
	else
		wf_old_guard_set(&cq->guard, &(*ret_cq)->fid, old_peer_cq_gone);
	return ret;
}

static int old_peer_domain_srx_ctx(struct fid_domain *fid, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *context)
{
	struct old_domain *domain = old_domain_of(fid);

	if (!attr || !(attr->op_flags & FI_PEER))
		return domain->own->srx_ctx(fid, attr, ret_srx, context);
	return wf_old_srx_open(
		domain->old, domain->own->srx_ctx, fid, attr, ret_srx, context);
}

static void old_peer_domain_gone(struct wf_old_guard *guard)
{
	free(wf_container_of(guard, struct old_domain, guard));
}

static int old_peer_adapt_domain(const struct wf_old_peer *old, struct fid_domain *fid)
{
	struct old_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return -FI_ENOMEM;
	domain->old = old;
	domain->own = fid->ops;
	wf_copy_ops(&domain->ops, fid->ops, sizeof(domain->ops));
	if (domain->ops.cq_open)
		domain->ops.cq_open = old_peer_domain_cq_open;
	if (domain->ops.srx_ctx)
		domain->ops.srx_ctx = old_peer_domain_srx_ctx;
	fid->ops = &domain->ops;
	wf_old_guard_set(&domain->guard, &fid->fid, old_peer_domain_gone);
	return 0;
}

/* The fabric. */

struct old_fabric {
	struct wf_old_guard guard;
	struct fi_ops_fabric ops;      /* replaces @own, and calls it */
	struct fi_ops_fabric *own;     /* the provider's operations */
	const struct wf_old_peer *old; /* what the provider's version needs */
};

static struct old_fabric *old_fabric_of(struct fid_fabric *fid)
{
	return wf_container_of(old_peer_guard_of(&fid->fid), struct old_fabric, guard);
}

static int old_peer_adapt_opened(
	const struct old_fabric *fabric, struct fid_domain **ret_domain)
{
	int ret = old_peer_adapt_domain(fabric->old, *ret_domain);

	if (ret)
		(void)fi_close(&(*ret_domain)->fid);
	return ret;
}

static int old_peer_fabric_domain(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	struct old_fabric *fabric = old_fabric_of(fid);
	int ret = fabric->own->domain(fid, info, ret_domain, context);

	return ret ? ret : old_peer_adapt_opened(fabric, ret_domain);
}

static int old_peer_fabric_domain2(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, void *context)
{
	struct old_fabric *fabric = old_fabric_of(fid);
	int ret = fabric->own->domain2(fid, info, ret_domain, flags, context);

	return ret ? ret : old_peer_adapt_opened(fabric, ret_domain);
}

static void old_peer_fabric_gone(struct wf_old_guard *guard)
{
	free(wf_container_of(guard, struct old_fabric, guard));
}

int wf_old_peer_adapt(const struct wf_old_peer *old, struct fid_fabric *fid)
{
	struct old_fabric *fabric;

	/* A fabric that opens no domains has no objects to adapt. */
	if (!fid->ops || !fid->fid.ops)
		return 0;
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->old = old;
	fabric->own = fid->ops;
	wf_copy_ops(&fabric->ops, fid->ops, sizeof(fabric->ops));
	if (fabric->ops.domain)
		fabric->ops.domain = old_peer_fabric_domain;
	if (fabric->ops.domain2)
		fabric->ops.domain2 = old_peer_fabric_domain2;
	fid->ops = &fabric->ops;
	wf_old_guard_set(&fabric->guard, &fid->fid, old_peer_fabric_gone);
	return 0;
}
