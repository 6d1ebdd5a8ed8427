/* SPDX-License-Identifier: BSD-2-Clause */
#include "testpeer.h"

#include <rdma/fi_atomic.h>

#define EXPORTED __attribute__((visibility("default")))

pthread_mutex_t tp_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t moving = PTHREAD_MUTEX_INITIALIZER;
struct tp_ep *tp_net[EP_ROOM];

static bool is_strict(void)
{
	return getenv("TESTPEER_ONE_AT_A_TIME");
}

void tp_begin(void)
{
	if (is_strict())
		pthread_mutex_lock(&moving);
}

void tp_end(void)
{
	if (is_strict())
		pthread_mutex_unlock(&moving);
}

int tp_enosys_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return -FI_ENOSYS;
}

int tp_enosys_control(struct fid *fid, int command, void *arg)
{
	return -FI_ENOSYS;
}

int tp_enosys_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	return -FI_ENOSYS;
}

static int plain_close(struct fid *fid)
{
	free(fid);
	return 0;
}

static struct fi_ops plain_fid_ops =
	FID_OPS(plain_close, tp_enosys_bind, tp_enosys_control, tp_enosys_open);

/* Reports that it does not support them, and does not offer FI_ATOMIC. */
static int query_atomic(struct fid_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags)
{
	*attr = (struct fi_atomic_attr){ .count = 1, .size = 8 };
	return 0;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(domain_ops),
	.av_open = tp_av_open,
	.cq_open = tp_cq_open,
	.endpoint = tp_endpoint,
	.cntr_open = tp_cntr_open,
	.srx_ctx = tp_srx_ctx,
	.query_atomic = query_atomic,
};

/* A registration always succeeds. */
static struct fi_ops mr_fid_ops =
	FID_OPS(plain_close, tp_enosys_bind, tp_enosys_control, tp_enosys_open);

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr)
{
	struct fid_mr *mr = calloc(1, sizeof(*mr));

	if (!mr)
		return -FI_ENOMEM;
	mr->fid = (struct fid){ FI_CLASS_MR, attr->context, &mr_fid_ops };
	mr->key = attr->requested_key;
	*ret_mr = mr;
	return 0;
}

static struct fi_ops_mr mr_ops = {
	.size = sizeof(mr_ops),
	.regattr = mr_regattr,
};

static int tp_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **ret_domain, void *context)
{
	struct fid_domain *domain = calloc(1, sizeof(*domain));

	if (!domain)
		return -FI_ENOMEM;
	domain->fid = (struct fid){ FI_CLASS_DOMAIN, context, &plain_fid_ops };
	domain->ops = &domain_ops;
	domain->mr = &mr_ops;
	*ret_domain = domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(fabric_ops),
	.domain = tp_domain,
};

static int tp_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return -FI_ENOMEM;
	fabric->fid = (struct fid){ FI_CLASS_FABRIC, context, &plain_fid_ops };
	fabric->ops = &fabric_ops;
	*ret_fabric = fabric;
	return 0;
}

static int tp_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return -FI_ENOMEM;
	info->caps = FI_MSG | FI_TAGGED | FI_SEND | FI_RECV | FI_PEER | FI_AV_USER_ID |
		     FI_LOCAL_COMM;
	/* They cost performance, so they have to be asked for. */
	if (hints)
		info->caps |= hints->caps & (FI_SOURCE | FI_DIRECTED_RECV);
	info->addr_format = FI_FORMAT_UNSPEC;
	info->tx_attr->size = info->rx_attr->size = 64;
	info->tx_attr->inject_size = 64;
	info->tx_attr->iov_limit = info->rx_attr->iov_limit = 1;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = 1 << 20;
	info->domain_attr->threading = FI_THREAD_SAFE;
	info->domain_attr->cq_data_size = 8;
	info->domain_attr->cq_cnt = 1024; /* the number of counters is not stated */
	info->domain_attr->ep_cnt = EP_ROOM;
	info->fabric_attr->name = strdup("test");
	info->domain_attr->name = strdup("test");
	*ret_info = info;
	return 0;
}

static struct fi_provider provider = {
	.version = FI_VERSION(1, 0),
	.fi_version = PEER_VERSION,
	.name = PEER_NAME,
	.getinfo = tp_getinfo,
	.fabric = tp_fabric,
};

EXPORTED struct fi_provider *fi_prov_ini(void);

EXPORTED struct fi_provider *fi_prov_ini(void)
{
	return &provider;
}
