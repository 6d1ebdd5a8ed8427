/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/lower/answer.h"
#include "providers/lnx/links.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

/*
 * The template of a link: the capabilities and limits that all of its members have, and
 * what lnx does itself. lnx matches receives, counts and starts deferred work, so
 * multi-receive buffers and triggers need no support by the members.
 */

#define OWN_CAPS (FI_MULTI_RECV | FI_TRIGGER | FI_AV_USER_ID)
#define COMM     (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_ONLY  (FI_SEND | FI_READ | FI_WRITE | FI_FENCE)
#define RX_ONLY                                                                        \
	(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT | FI_SOURCE |       \
		FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV |  \
		FI_MULTI_RECV)

/* Greatest number of buffers of one operation, for which the long path has arrays. */
enum { IOV_LIMIT_MAX = 8 };

/* Limit of a count if no member states one. */
enum { UNSTATED = 1 << 16 };

static void template_lower_size(size_t *value, size_t other)
{
	*value = WF_MIN(*value, other);
}

/* Lower the limit of a count; 0 means that no limit is stated. */
static void template_lower_count(size_t *value, size_t other)
{
	if (other && (!*value || other < *value))
		*value = other;
}

static void template_lower_tx(struct fi_tx_attr *to, const struct fi_tx_attr *from)
{
	to->msg_order &= from->msg_order;
	template_lower_size(&to->inject_size, from->inject_size);
	template_lower_size(&to->size, from->size);
	template_lower_size(&to->iov_limit, from->iov_limit);
	template_lower_size(&to->rma_iov_limit, from->rma_iov_limit);
}

static void template_lower_rx(struct fi_rx_attr *to, const struct fi_rx_attr *from)
{
	to->msg_order &= from->msg_order;
	template_lower_size(&to->size, from->size);
	template_lower_size(&to->iov_limit, from->iov_limit);
}

static void template_lower_ep(struct fi_ep_attr *to, const struct fi_ep_attr *from)
{
	template_lower_size(&to->max_msg_size, from->max_msg_size);
	template_lower_size(&to->max_order_raw_size, from->max_order_raw_size);
	template_lower_size(&to->max_order_war_size, from->max_order_war_size);
	template_lower_size(&to->max_order_waw_size, from->max_order_waw_size);
}

static void template_lower_domain(
	struct fi_domain_attr *to, const struct fi_domain_attr *from)
{
	if (from->threading != FI_THREAD_SAFE)
		to->threading = FI_THREAD_DOMAIN;
	to->mr_mode |= from->mr_mode;
	if (from->resource_mgmt != FI_RM_ENABLED)
		to->resource_mgmt = FI_RM_DISABLED;
	template_lower_size(&to->cq_data_size, from->cq_data_size);
	template_lower_size(&to->mr_key_size, from->mr_key_size);
	template_lower_count(&to->cq_cnt, from->cq_cnt);
	template_lower_count(&to->ep_cnt, from->ep_cnt);
	template_lower_count(&to->cntr_cnt, from->cntr_cnt);
	template_lower_size(&to->mr_iov_limit, from->mr_iov_limit);
	template_lower_count(&to->mr_cnt, from->mr_cnt);
	template_lower_size(&to->max_err_data, from->max_err_data);
}

static void template_lower(struct fi_info *to, const struct fi_info *from)
{
	uint64_t comm = (to->caps | from->caps) & COMM;

	to->caps = (to->caps & from->caps & ~COMM) | comm;
	to->mode |= from->mode;
	template_lower_tx(to->tx_attr, from->tx_attr);
	template_lower_rx(to->rx_attr, from->rx_attr);
	template_lower_ep(to->ep_attr, from->ep_attr);
	template_lower_domain(to->domain_attr, from->domain_attr);
}

static void template_free_text(char **text)
{
	free(*text);
	*text = NULL;
}

/* Remove names, addresses and opened objects, which a template does not have. */
static void template_strip(struct fi_info *info)
{
	wf_lower_strip(info);
	info->addr_format = FI_FORMAT_UNSPEC;
	if (info->nic)
		(void)fi_close(&info->nic->fid);
	info->nic = NULL;
	free(info->ep_attr->auth_key);
	info->ep_attr->auth_key = NULL;
	info->ep_attr->auth_key_size = 0;
	free(info->domain_attr->auth_key);
	info->domain_attr->auth_key = NULL;
	info->domain_attr->auth_key_size = 0;
	template_free_text(&info->fabric_attr->prov_name);
	template_free_text(&info->fabric_attr->name);
	template_free_text(&info->domain_attr->name);
}

static void template_finish_domain(struct fi_domain_attr *attr)
{
	size_t *const counts[] = { &attr->cq_cnt, &attr->ep_cnt, &attr->cntr_cnt,
		&attr->mr_cnt };
	bool safe = attr->threading == FI_THREAD_SAFE;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!*counts[i])
			*counts[i] = UNSTATED;

	/* A thread of lnx runs all members. */
	attr->progress = safe ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	attr->control_progress = attr->progress;
	attr->av_type = FI_AV_UNSPEC;
	attr->max_ep_tx_ctx = attr->max_ep_rx_ctx = 1;
	attr->max_ep_srx_ctx = 1;
	attr->max_ep_stx_ctx = 0;
	attr->tx_ctx_cnt = attr->rx_ctx_cnt = attr->ep_cnt;
	attr->max_ep_auth_key = 0;
	attr->max_group_id = 0;
	attr->mode = 0;
	attr->tclass = 0;
}

/* Messages to one peer that go over several rails may overtake each other, and a fence
 * would hold only one rail back. */
static void template_drop_order(struct fi_info *info)
{
	info->caps &= ~FI_FENCE;
	info->tx_attr->caps &= ~FI_FENCE;
	info->tx_attr->op_flags &= ~FI_FENCE;
	info->tx_attr->msg_order = info->rx_attr->msg_order = 0;
	info->ep_attr->max_order_raw_size = 0;
	info->ep_attr->max_order_war_size = 0;
	info->ep_attr->max_order_waw_size = 0;
}

static void template_finish(struct fi_info *info, const struct lnx_link *link)
{
	info->caps = (info->caps & (LNX_MEMBER_CAPS | COMM)) | OWN_CAPS;
	/* Collectives are made of tagged messages. */
	if (info->caps & FI_TAGGED)
		info->caps |= FI_COLLECTIVE;
	info->mode &= FI_CONTEXT | FI_CONTEXT2;
	info->tx_attr->mode = info->rx_attr->mode = 0;
	info->tx_attr->caps = info->caps & ~(RX_ONLY | COMM | FI_AV_USER_ID);
	info->rx_attr->caps = info->caps & ~(TX_ONLY | COMM | FI_AV_USER_ID);
	info->tx_attr->op_flags = link->member[0].op_flags;
	for (unsigned int i = 1; i < link->count; i++)
		info->tx_attr->op_flags &= link->member[i].op_flags;
	info->rx_attr->op_flags = FI_COMPLETION | FI_MULTI_RECV | FI_MORE;
	info->domain_attr->caps = (info->caps & COMM) | FI_AV_USER_ID;
	template_lower_size(&info->tx_attr->iov_limit, IOV_LIMIT_MAX);
	template_lower_size(&info->rx_attr->iov_limit, IOV_LIMIT_MAX);
	template_lower_size(&info->tx_attr->rma_iov_limit, IOV_LIMIT_MAX);
	info->tx_attr->tclass = 0;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol = FI_PROTO_LNX;
	info->ep_attr->protocol_version = 1;
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	info->ep_attr->mem_tag_format = 0;
	info->ep_attr->msg_prefix_size = 0;
	template_finish_domain(info->domain_attr);
	if (link->rails > 1 && lnx_params.per_msg)
		template_drop_order(info);
}

struct fi_info *lnx_template(const struct lnx_link *link)
{
	struct fi_info *info = fi_dupinfo(link->member[0].info);

	if (!info)
		return NULL;
	template_strip(info);
	for (unsigned int i = 1; i < link->count; i++)
		template_lower(info, link->member[i].info);
	template_finish(info, link);
	return info;
}
