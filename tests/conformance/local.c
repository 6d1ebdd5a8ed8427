/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Local memory registration for cases that know nothing of it.
 *
 * With FI_MR_LOCAL every buffer of a data transfer is registered and its descriptor
 * passed. The cases pass NULL. Here the operations of a domain and of the endpoints
 * opened from it are replaced by ones that fill in the descriptors: of the pages that
 * hold the buffer, registered when they are first used and until the domain is closed.
 * That is right while no memory goes back to the system, which keep_memory sees
 * to.
 *
 * Descriptors that a case passes, and those of buffers that cannot be registered, are
 * left as they are. The endpoint's operations are taken again when it has been enabled,
 * because a provider may choose them then.
 */
#include <malloc.h>
#include <unistd.h>

#include "local.h"

/* Freed memory stays mapped, and what is allocated is the heap. */
static void keep_memory(void)
{
	(void)mallopt(M_MMAP_MAX, 0);
	(void)mallopt(M_TRIM_THRESHOLD, INT32_MAX);
	(void)mallopt(M_ARENA_MAX, 1);
}

static struct range *find(
	const struct local_domain *d, uintptr_t begin, uintptr_t end, bool written)
{
	for (size_t i = 0; i < d->count; i++) {
		struct range *r = &d->ranges[i];

		if (r->begin <= begin && end <= r->end && r->written >= written)
			return r;
	}
	return NULL;
}

static struct range *add(
	struct local_domain *d, uintptr_t begin, uintptr_t end, bool written)
{
	static uint64_t last_key = 1ULL << 20; /* far from those of the cases */
	uint64_t access = FI_SEND | FI_WRITE | (written ? FI_RECV | FI_READ : 0);
	struct range *ranges = realloc(d->ranges, (d->count + 1) * sizeof(*d->ranges));
	struct fid_mr *mr;

	CHECK(ranges);
	d->ranges = ranges;
	if (fi_mr_reg(d->domain, (const void *)begin, end - begin, access, 0,
		    ++last_key, 0, &mr, NULL))
		return NULL;
	ranges[d->count] = (struct range){ begin, end, written, mr };
	return &ranges[d->count++];
}

/* A buffer that is only read may be of a constant: then it is registered for reads. */
static void *describe(struct local_domain *d, const void *buf, size_t len, bool written)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (uintptr_t)buf / page * page;
	uintptr_t end = ((uintptr_t)buf + len + page - 1) / page * page;
	struct range *r;
	void *desc;

	if (!buf || !len || end <= begin)
		return NULL;
	pthread_mutex_lock(&d->lock);
	r = find(d, begin, end, written);
	if (!r)
		r = add(d, begin, end, true);
	if (!r && !written)
		r = add(d, begin, end, false);
	desc = r ? fi_mr_desc(r->mr) : NULL;
	pthread_mutex_unlock(&d->lock);
	return desc;
}

void *cf_local_one(
	struct local_ep *l, const void *buf, size_t len, void *desc, bool written)
{
	return desc ? desc : describe(l->domain, buf, len, written);
}

void **cf_local_many(struct local_ep *l, const struct iovec *iov, void **descs,
	size_t count, bool written, void **room)
{
	if (!iov || count > VECTOR_MAX)
		return descs;
	for (size_t i = 0; i < count; i++)
		room[i] = cf_local_one(l, iov[i].iov_base, iov[i].iov_len,
			descs ? descs[i] : NULL, written);
	return room;
}

static void take(struct local_ep *l, struct fid_ep *ep)
{
	cf_local_msg(l, ep);
	cf_local_tagged(l, ep);
	cf_local_rma(l, ep);
	cf_local_atomic(l, ep);
}

static int local_ep_control(struct fid *fid, int command, void *arg)
{
	struct fid_ep *ep = (struct fid_ep *)fid;
	struct local_ep *l = OWNER(fid->ops, local_ep, ops);
	int ret = l->under->control(fid, command, arg);

	take(l, ep);
	return ret;
}

static int local_ep_close(struct fid *fid)
{
	struct local_ep *l = OWNER(fid->ops, local_ep, ops);
	int ret = l->under->close(fid);

	if (!ret)
		free(l);
	return ret;
}

static void wrap_ep(struct local_domain *d, struct fid_ep *ep)
{
	struct local_ep *l = calloc(1, sizeof(*l));

	CHECK(l);
	l->domain = d;
	l->under = ep->fid.ops;
	COPY_TABLE(l->ops, ep->fid.ops);
	l->ops.control = local_ep_control;
	l->ops.close = local_ep_close;
	ep->fid.ops = &l->ops;
	take(l, ep);
}

/* A provider knows its own contexts by their operations, which stay; this part is freed
 * with the domain. */
static void wrap_srx(struct local_domain *d, struct fid_ep *srx)
{
	struct local_ep *l = calloc(1, sizeof(*l));

	CHECK(l);
	l->domain = d;
	l->next = d->srxs;
	d->srxs = l;
	cf_local_msg(l, srx);
	cf_local_tagged(l, srx);
}

static int local_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, void *context)
{
	struct local_domain *d = OWNER(domain->ops, local_domain, domain_ops);
	int ret = d->domain_under->endpoint(domain, info, ep, context);

	if (!ret)
		wrap_ep(d, *ep);
	return ret;
}

static int local_endpoint2(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	struct local_domain *d = OWNER(domain->ops, local_domain, domain_ops);
	int ret = d->domain_under->endpoint2(domain, info, ep, flags, context);

	if (!ret)
		wrap_ep(d, *ep);
	return ret;
}

static int local_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr,
	struct fid_ep **ep, void *context)
{
	struct local_domain *d = OWNER(domain->ops, local_domain, domain_ops);
	int ret = d->domain_under->srx_ctx(domain, attr, ep, context);

	if (!ret)
		wrap_srx(d, *ep);
	return ret;
}

static int local_domain_control(struct fid *fid, int command, void *arg)
{
	struct local_domain *d = OWNER(fid->ops, local_domain, ops);

	if (command == FI_QUEUE_WORK && arg)
		cf_local_work(d, arg);
	return d->under->control(fid, command, arg);
}

static int local_domain_close(struct fid *fid)
{
	struct local_domain *d = OWNER(fid->ops, local_domain, ops);
	int ret;

	for (size_t i = 0; i < d->count; i++)
		CHECK_OK(fi_close(&d->ranges[i].mr->fid));
	free(d->ranges);
	d->ranges = NULL;
	d->count = 0;
	ret = d->under->close(fid);
	if (!ret) {
		while (d->srxs) {
			struct local_ep *l = d->srxs;

			d->srxs = l->next;
			free(l);
		}
		while (d->rooms) {
			struct room *room = d->rooms;

			d->rooms = room->next;
			free(room);
		}
		(void)pthread_mutex_destroy(&d->lock);
		free(d);
	}
	return ret;
}

void cf_local_domain(const struct fi_info *info, struct fid_domain *domain)
{
	struct local_domain *d;

	if (!cf_target.local && !(info->domain_attr->mr_mode & FI_MR_LOCAL) &&
		!(info->mode & CF_LOCAL_MR))
		return;
	keep_memory();
	d = calloc(1, sizeof(*d));
	CHECK(d && !pthread_mutex_init(&d->lock, NULL));
	d->domain = domain;
	d->under = domain->fid.ops;
	COPY_TABLE(d->ops, domain->fid.ops);
	d->ops.close = local_domain_close;
	d->ops.control = local_domain_control;
	d->domain_under = domain->ops;
	COPY_TABLE(d->domain_ops, domain->ops);
	d->domain_ops.endpoint = local_endpoint;
	d->domain_ops.endpoint2 = local_endpoint2;
	d->domain_ops.srx_ctx = local_srx_ctx;
	domain->fid.ops = &d->ops;
	domain->ops = &d->domain_ops;
}
