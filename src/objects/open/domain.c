/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/av/av.h"
#include "objects/coll/coll.h"
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/open/open.h"
#include "objects/endpoint/scalable/stx.h"
#include "objects/endpoint/calls/trigger.h"
#include "objects/eq/eq.h"
#include "objects/info/info.h"
#include "objects/poll/poll.h"
#include "objects/region/reg.h"
#include "objects/endpoint/scalable/srx_ctx.h"

static struct wf_domain *domain_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct wf_domain, fid.fid);
}

static int domain_bind_eq(struct wf_domain *domain, struct wf_eq *eq)
{
	int err = -FI_EINVAL;

	(void)pthread_mutex_lock(&domain->control);
	if (!domain->eq) {
		domain->eq = eq;
		wf_eq_ref(eq);
		err = 0;
	}
	(void)pthread_mutex_unlock(&domain->control);
	if (err)
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"bind refused: the domain has an event queue already\n");
	return err;
}

static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_domain *domain = domain_of_fid(fid);
	struct wf_eq *eq;

	if (!bfid || bfid->fclass != FI_CLASS_EQ) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"bind refused: only an event queue binds to a domain\n");
		return -FI_EINVAL;
	}
	if (flags) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"bind refused: flags 0x%llx asked for, none possible "
			"(registration is always synchronous)\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	eq = wf_container_of(bfid, struct wf_eq, fid.fid);
	if (eq->fabric != domain->fabric) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"bind refused: the event queue is of another fabric\n");
		return -FI_EINVAL;
	}
	return domain_bind_eq(domain, eq);
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	struct wf_domain *domain = domain_of_fid(fid);

	switch (command) {
	case FI_MAP_RAW_MR:
		return wf_mr_map_raw(domain, arg);
	case FI_UNMAP_KEY:
		/* wf_mr_map_raw allocates nothing. */
		return arg ? 0 : -FI_EINVAL;
	case FI_QUEUE_WORK:
		return domain->inherited ? -FI_EOPBADSTATE : wf_work_queue(domain, arg);
	case FI_CANCEL_WORK:
		return domain->inherited ? -FI_EOPBADSTATE
					 : wf_work_cancel(domain, arg);
	case FI_FLUSH_WORK:
		return domain->inherited ? -FI_EOPBADSTATE : wf_work_flush(domain, arg);
	default:
		return -FI_ENOSYS;
	}
}

static int domain_ops_set(
	struct fid *fid, const char *name, uint64_t flags, void *arg, void *context)
{
	struct wf_domain *domain = domain_of_fid(fid);
	const struct fi_hmem_override_ops *ops = arg;

	if (!name)
		return -FI_EINVAL;
	if (strcmp(name, FI_SET_OPS_HMEM_OVERRIDE)) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"operations \"%s\" asked for, \"%s\" possible\n", name,
			FI_SET_OPS_HMEM_OVERRIDE);
		return -FI_ENOSYS;
	}
	if (flags || !ops || ops->size < sizeof(*ops) || !ops->copy_from_hmem_iov ||
		!ops->copy_to_hmem_iov) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"%s refused: no flags, size and both callbacks needed\n", name);
		return -FI_EINVAL;
	}
	(void)pthread_mutex_lock(&domain->control);
	domain->hmem_override = *ops;
	domain->hmem_override.size = sizeof(*ops);
	(void)pthread_mutex_unlock(&domain->control);
	return 0;
}

/* The engines of collectives are closed first, unless objects are open. */
static int open_domain_close(struct fid *fid)
{
	struct wf_domain *domain = domain_of_fid(fid);

	/* acquire: pairs with wf_domain_unref. */
	if (!atomic_load_explicit(&domain->refs, memory_order_acquire))
		wf_coll_domain_done(domain);
	return wf_domain_close(fid);
}

struct fi_ops wf_domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = open_domain_close,
	.bind = domain_bind,
	.control = domain_control,
	.ops_open = wf_absent_ops_open,
	.tostr = wf_absent_tostr,
	.ops_set = domain_ops_set,
};

static int domain_not_offered(const struct wf_domain *domain, const char *what)
{
	FI_INFO(domain->prov->fi, FI_LOG_DOMAIN, "%s refused: %s has none\n", what,
		domain->prov->fi->name);
	return -FI_ENOSYS;
}

/* Open an endpoint with FI_COLLECTIVE in info->caps. */
static int domain_open_collective(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context)
{
	struct wf_ep *ep;
	struct fid_ep *fid;
	int err = domain->prov->endpoint(domain, info, &fid, flags, context);

	if (err)
		return err;
	ep = wf_ep_from_fid(fid);
	if (ep && !ep->xfer->collective)
		err = wf_coll_attach(ep);
	if (err)
		(void)fi_close(&fid->fid);
	else
		*ret_ep = fid;
	return err;
}

/* The endpoints of a domain that was opened with FI_COLLECTIVE have it, even if the
 * caller removed it from info->caps: existing programs do that and join groups. */
static int domain_open_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	uint64_t caps = info->caps | domain->info->caps;
	struct fi_info *copy;
	int err;

	if (!domain->prov->av_sets || !(caps & FI_COLLECTIVE) ||
		info->ep_attr->type != FI_EP_RDM)
		return domain->prov->endpoint(domain, info, ep, flags, context);
	copy = fi_dupinfo(info);
	if (!copy)
		return -FI_ENOMEM;
	copy->caps |= FI_COLLECTIVE;
	err = domain_open_collective(domain, copy, ep, flags, context);
	fi_freeinfo(copy);
	return err;
}

static int open_domain_endpoint2(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	struct wf_domain *domain = wf_domain_of(fid);
	uint64_t possible = domain->info->caps & FI_XPU;
	int err;

	if (!info || !info->ep_attr || !ep)
		return -FI_EINVAL;
	if (!domain->prov->endpoint)
		return domain_not_offered(domain, "endpoint");
	if (flags & ~possible) {
		FI_WARN(domain->prov->fi, FI_LOG_EP_CTRL,
			"endpoint refused: flags 0x%llx asked for, 0x%llx possible\n",
			(unsigned long long)flags, (unsigned long long)possible);
		return -FI_EINVAL;
	}
	if (flags & FI_XPU && !info->ep_attr->xpu_ctx) {
		FI_WARN(domain->prov->fi, FI_LOG_EP_CTRL,
			"endpoint refused: FI_XPU needs ep_attr.xpu_ctx\n");
		return -FI_EINVAL;
	}
	err = wf_info_check(domain->prov, domain->api_version, info);
	if (err)
		return err;
	return domain_open_endpoint(domain, info, ep, flags, context);
}

static int open_domain_endpoint(
	struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	return open_domain_endpoint2(fid, info, ep, 0, context);
}

static int open_domain_scalable_ep(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **sep, void *context)
{
	struct wf_domain *domain = wf_domain_of(fid);
	int err;

	if (!info || !info->ep_attr || !sep)
		return -FI_EINVAL;
	if (!domain->prov->scalable_ep)
		return domain_not_offered(domain, "scalable endpoint");
	err = wf_info_check(domain->prov, domain->api_version, info);
	if (err)
		return err;
	return domain->prov->scalable_ep(domain, info, sep, context);
}

static int domain_query_atomic(struct fid_domain *fid, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	struct wf_domain *domain = wf_domain_of(fid);

	if (!attr)
		return -FI_EINVAL;
	if (!domain->prov->query_atomic)
		return domain_not_offered(domain, "query of atomics");
	return domain->prov->query_atomic(domain, datatype, op, attr, flags);
}

static int domain_query_collective(struct fid_domain *fid, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	struct wf_domain *domain = wf_domain_of(fid);

	if (!domain->prov->query_collective && domain->prov->av_sets)
		return wf_coll_query(domain, coll, attr, flags);
	if (!domain->prov->query_collective)
		return domain_not_offered(domain, "query of collectives");
	return domain->prov->query_collective(domain, coll, attr, flags);
}

struct fi_ops_domain wf_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = wf_av_open,
	.cq_open = wf_cq_open,
	.endpoint = open_domain_endpoint,
	.scalable_ep = open_domain_scalable_ep,
	.cntr_open = wf_cntr_open,
	.poll_open = wf_poll_open,
	.stx_ctx = wf_stx_open,
	.srx_ctx = wf_srx_open,
	.query_atomic = domain_query_atomic,
	.query_collective = domain_query_collective,
	.endpoint2 = open_domain_endpoint2,
	.xpu_ctx = wf_absent_domain_xpu_ctx,
};

/* An imported domain has calls within those of its owner's. */
static void domain_share_gate(struct wf_domain *domain)
{
	if (wf_domain_is_own(domain->peer))
		wf_domain_share_gate(wf_domain_of(domain->peer), domain);
}

int wf_domain_open2(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, void *context)
{
	static const struct wf_domain_tables tables = {
		.fid = &wf_domain_fid_ops,
		.domain = &wf_domain_ops,
		.mr = &wf_mr_ops,
	};

	int ret = wf_domain_new(
		wf_fabric_of(fabric), info, &tables, ret_domain, flags, context);

	if (!ret && flags & FI_PEER)
		domain_share_gate(wf_domain_of(*ret_domain));
	return ret;
}

int wf_domain_open(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	return wf_domain_open2(fabric, info, ret_domain, 0, context);
}

bool wf_domain_is_own(const struct fid_domain *fid)
{
	/* A hook may have replaced the table, not this call. */
	return fid->ops->av_open == wf_av_open;
}
