/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/domain.h"

#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "providers/hook_monitor/count.h"
#include "providers/hook_monitor/cq.h"
#include "providers/hook_monitor/endpoint.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/tables.h"

/* Domains, and the registrations in them. */

static struct mon_domain *domain_of(struct fid_domain *fid)
{
	return wf_container_of(fid->ops, struct mon_domain, ops);
}

static struct mon_domain *domain_of_mr(struct fid *fid)
{
	struct fid_domain *domain = wf_container_of(fid, struct fid_domain, fid);

	return wf_container_of(domain->mr, struct mon_domain, mr);
}

static int domain_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr,
	struct fid_cq **cq, void *context)
{
	struct mon_domain *domain = domain_of(fid);
	int ret;

	mon_inside_begin();
	ret = domain->below->cq_open(fid, attr, cq, context);
	mon_inside_end();
	/* The application does not read an imported queue. */
	if (!ret && attr && !(attr->flags & FI_PEER))
		mon_cq_put(*cq, attr->format, domain->file);
	return ret;
}

static int mon_domain_endpoint(
	struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	struct mon_domain *domain = domain_of(fid);
	int ret;

	mon_inside_begin();
	ret = domain->below->endpoint(fid, info, ep, context);
	mon_inside_end();
	if (!ret)
		mon_ep_put(*ep, domain);
	return ret;
}

static int mon_domain_endpoint2(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **ep, uint64_t flags, void *context)
{
	struct mon_domain *domain = domain_of(fid);
	int ret;

	mon_inside_begin();
	ret = domain->below->endpoint2(fid, info, ep, flags, context);
	mon_inside_end();
	if (!ret)
		mon_ep_put(*ep, domain);
	return ret;
}

static int mon_domain_scalable_ep(struct fid_domain *fid, struct fi_info *info,
	struct fid_ep **sep, void *context)
{
	struct mon_domain *domain = domain_of(fid);
	int ret;

	mon_inside_begin();
	ret = domain->below->scalable_ep(fid, info, sep, context);
	mon_inside_end();
	if (!ret)
		mon_ep_put(*sep, domain);
	return ret;
}

static int domain_srx_ctx(struct fid_domain *fid, struct fi_rx_attr *attr,
	struct fid_ep **srx, void *context)
{
	struct mon_domain *domain = domain_of(fid);
	int ret;

	mon_inside_begin();
	ret = domain->below->srx_ctx(fid, attr, srx, context);
	mon_inside_end();
	/* No receive is posted to an imported context. */
	if (!ret && attr && !(attr->op_flags & FI_PEER))
		mon_ep_put(*srx, domain);
	return ret;
}

static unsigned int domain_add_opened(struct mon_domain *domain, int n)
{
	unsigned int opened;

	(void)pthread_mutex_lock(&domain->lock);
	opened = domain->opened += (unsigned int)n;
	(void)pthread_mutex_unlock(&domain->lock);
	return opened;
}

static void mon_domain_free(struct mon_domain *domain)
{
	struct wf_list *item;

	while ((item = wf_list_pop(&domain->kept)))
		free(wf_list_entry(item, struct mon_ep, link));
	(void)pthread_mutex_destroy(&domain->lock);
	free(domain);
}

static int mon_domain_close(struct fid *fid)
{
	struct mon_domain *domain =
		wf_container_of(fid->ops, struct mon_domain, fid_ops);
	int ret = domain->below_fid->close(fid);

	if (!ret && !domain_add_opened(domain, -1))
		mon_domain_free(domain);
	return ret;
}

static int domain_mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access,
	uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
	void *context)
{
	struct mon_domain *domain = domain_of_mr(fid);
	int ret = domain->below_mr->reg(
		fid, buf, len, access, offset, requested_key, flags, mr, context);

	mon_count(domain->file, MON_MR_REG, len, ret);
	return ret;
}

static int domain_mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
	uint64_t access, uint64_t offset, uint64_t requested_key, uint64_t flags,
	struct fid_mr **mr, void *context)
{
	struct mon_domain *domain = domain_of_mr(fid);
	int ret = domain->below_mr->regv(
		fid, iov, count, access, offset, requested_key, flags, mr, context);

	if (!ret)
		mon_count(domain->file, MON_MR_REGV, mon_iov_len(iov, count), ret);
	return ret;
}

/* Memory that is given by a descriptor (FI_MR_DMABUF) has no vector. */
static int domain_mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
	uint64_t flags, struct fid_mr **mr)
{
	struct mon_domain *domain = domain_of_mr(fid);
	int ret = domain->below_mr->regattr(fid, attr, flags, mr);
	size_t len = 0;

	if (!ret && !(flags & FI_MR_DMABUF))
		len = mon_iov_len(attr->mr_iov, attr->iov_count);
	mon_count(domain->file, MON_MR_REGATTR, len, ret);
	return ret;
}

static void domain_put_mr(struct mon_domain *domain, struct fid_domain *fid)
{
	domain->below_mr = fid->mr;
	wf_copy_ops(&domain->mr, fid->mr, sizeof(domain->mr));
	MON_REPLACE(&domain->mr, reg, domain_mr_reg);
	MON_REPLACE(&domain->mr, regv, domain_mr_regv);
	MON_REPLACE(&domain->mr, regattr, domain_mr_regattr);
	fid->mr = &domain->mr;
}

static void domain_put(struct mon_domain *domain, struct fid_domain *fid)
{
	domain->below = fid->ops;
	domain->below_fid = fid->fid.ops;
	wf_copy_ops(&domain->ops, fid->ops, sizeof(domain->ops));
	wf_copy_ops(&domain->fid_ops, fid->fid.ops, sizeof(domain->fid_ops));
	MON_REPLACE(&domain->ops, cq_open, domain_cq_open);
	MON_REPLACE(&domain->ops, endpoint, mon_domain_endpoint);
	MON_REPLACE(&domain->ops, endpoint2, mon_domain_endpoint2);
	MON_REPLACE(&domain->ops, scalable_ep, mon_domain_scalable_ep);
	MON_REPLACE(&domain->ops, srx_ctx, domain_srx_ctx);
	domain->fid_ops.close = mon_domain_close;
	fid->ops = &domain->ops;
	fid->fid.ops = &domain->fid_ops;
	if (fid->mr)
		domain_put_mr(domain, fid);
}

void mon_domain_put(struct fid_domain *fid, struct mon_file *file)
{
	struct mon_domain *domain;

	if (fid->fid.ops->close == mon_domain_close) {
		(void)domain_add_opened(domain_of(fid), 1);
		return;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain) {
		FI_WARN(&mon_fi, FI_LOG_DOMAIN,
			"a domain is not monitored: out of memory\n");
		return;
	}
	domain->file = file;
	domain->opened = 1;
	(void)pthread_mutex_init(&domain->lock, NULL);
	wf_list_init(&domain->kept);
	domain_put(domain, fid);
}
