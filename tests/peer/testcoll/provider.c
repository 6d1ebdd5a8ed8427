/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "testcoll.h"

/* The objects that a main provider opens, in the order of fi_getinfo, fabric, domain,
 * endpoint, and what is bound to that. Only what a main provider calls is there. */

static int simple_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops simple_ops = { .size = sizeof(simple_ops), .close = simple_close };

/* An object of @size bytes that begins with a struct fid. */
static void *new_object(size_t size, size_t fclass)
{
	struct fid *fid = calloc(1, size);

	if (!fid)
		return NULL;
	fid->fclass = fclass;
	fid->ops = &simple_ops;
	return fid;
}

/* ---- AV, CQ, counter, EQ ---- */

static int av_set(struct fid_av *av, struct fi_av_set_attr *attr,
	struct fid_av_set **ret_set, void *context)
{
	struct fi_peer_av_set_context *main = context;
	struct tc_set *set;

	if (!(attr->flags & FI_PEER) || main->size < sizeof(*main))
		return -FI_EINVAL;
	set = new_object(sizeof(*set), FI_CLASS_AV_SET);
	if (!set)
		return -FI_ENOMEM;
	set->owner = (struct fid_peer_av_set *)(void *)main->av_set;
	*ret_set = &set->fid;
	return 0;
}

static int av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	static struct fi_ops_av ops = { .size = sizeof(ops), .av_set = av_set };
	struct fid_av *av;

	if (!(attr->flags & FI_PEER))
		return -FI_EINVAL;
	av = new_object(sizeof(*av), FI_CLASS_AV);
	if (!av)
		return -FI_ENOMEM;
	av->ops = &ops;
	*ret_av = av;
	return 0;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct tc_cq *cq = (struct tc_cq *)(void *)fid;

	if (cq->ep)
		tc_progress(cq->ep);
	return 0;
}

static int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	static struct fi_ops_cq ops = { .size = sizeof(ops), .read = cq_read };
	struct fi_peer_cq_context *main = context;
	struct tc_cq *cq;

	if (!(attr->flags & FI_PEER) || main->size < sizeof(*main))
		return -FI_EINVAL;
	cq = new_object(sizeof(*cq), FI_CLASS_CQ);
	if (!cq)
		return -FI_ENOMEM;
	cq->fid.ops = &ops;
	cq->owner = main->cq;
	*ret_cq = &cq->fid;
	return 0;
}

static int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *context)
{
	struct fi_peer_cntr_context *main = context;
	struct tc_cntr *cntr;

	if (!(attr->flags & FI_PEER) || main->size < sizeof(*main))
		return -FI_EINVAL;
	cntr = new_object(sizeof(*cntr), FI_CLASS_CNTR);
	if (!cntr)
		return -FI_ENOMEM;
	cntr->owner = main->cntr;
	*ret_cntr = &cntr->fid;
	return 0;
}

static int eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
	struct fid_eq **ret_eq, void *context)
{
	struct fid_eq *eq;

	if (!(attr->flags & FI_PEER))
		return -FI_EINVAL;
	eq = new_object(sizeof(*eq), FI_CLASS_EQ);
	if (!eq)
		return -FI_ENOMEM;
	*ret_eq = eq;
	return 0;
}

/* ---- endpoint ---- */

static ssize_t barrier2(
	struct fid_ep *ep, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	return tc_start(ep, coll_addr, NULL, NULL, 0, flags, context);
}

static ssize_t allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
	void *result, void *result_desc, fi_addr_t coll_addr, enum fi_datatype datatype,
	enum fi_op op, uint64_t flags, void *context)
{
	return tc_start(ep, coll_addr, buf, result, count, flags, context);
}

static int ep_close(struct fid *fid)
{
	struct tc_ep *ep = (struct tc_ep *)(void *)fid;

	if (ep->groups)
		return -FI_EBUSY;
	if (ep->cq)
		ep->cq->ep = NULL;
	(void)pthread_mutex_destroy(&ep->lock);
	free(ep);
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct tc_ep *ep = (struct tc_ep *)(void *)fid;

	if (bfid->fclass == FI_CLASS_CQ) {
		ep->cq = (struct tc_cq *)(void *)bfid;
		ep->cq->ep = ep;
	} else if (bfid->fclass == FI_CLASS_CNTR) {
		ep->cntr = (struct tc_cntr *)(void *)bfid;
	}
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
};
static struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops), .join = tc_join };
static struct fi_ops_collective collective_ops = {
	.size = sizeof(collective_ops),
	.allreduce = allreduce,
	.barrier2 = barrier2,
};

static int endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, void *context)
{
	struct tc_ep *ep = new_object(sizeof(*ep), FI_CLASS_EP);

	if (!ep)
		return -FI_ENOMEM;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.collective = &collective_ops;
	(void)pthread_mutex_init(&ep->lock, NULL);
	*ret_ep = &ep->fid;
	return 0;
}

/* ---- domain, fabric, provider ---- */

static int query_collective(struct fid_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	bool sum = coll == FI_ALLREDUCE && attr->op == FI_SUM &&
		   attr->datatype == FI_UINT64;

	if (coll != FI_BARRIER && !sum)
		return -FI_ENOSYS;
	attr->max_members = TC_MEMBERS;
	attr->datatype_attr.size = sizeof(uint64_t);
	attr->datatype_attr.count = SIZE_MAX / sizeof(uint64_t);
	return 0;
}

static int domain2(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, void *context)
{
	static struct fi_ops_domain ops = {
		.size = sizeof(ops),
		.av_open = av_open,
		.cq_open = cq_open,
		.endpoint = endpoint,
		.cntr_open = cntr_open,
		.query_collective = query_collective,
	};
	struct fid_domain *domain;

	if (flags != FI_PEER)
		return -FI_EINVAL;
	domain = new_object(sizeof(*domain), FI_CLASS_DOMAIN);
	if (!domain)
		return -FI_ENOMEM;
	domain->ops = &ops;
	*ret_domain = domain;
	return 0;
}

static int fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	static struct fi_ops_fabric ops = {
		.size = sizeof(ops),
		.eq_open = eq_open,
		.domain2 = domain2,
	};
	struct fid_fabric *fabric = new_object(sizeof(*fabric), FI_CLASS_FABRIC);

	if (!fabric)
		return -FI_ENOMEM;
	fabric->ops = &ops;
	*ret_fabric = fabric;
	return 0;
}

static int getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return -FI_ENOMEM;
	info->caps = FI_COLLECTIVE | FI_PEER;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol = FI_PROTO_COLL;
	info->fabric_attr->name = strdup("testcoll");
	info->domain_attr->name = strdup("testcoll");
	*ret_info = info;
	return 0;
}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(2, 6),
	.name = "off_testcoll",
	.getinfo = getinfo,
	.fabric = fabric,
};

struct fi_provider *fi_prov_ini(void);
FI_EXT_INI
{
	return &provider;
}
