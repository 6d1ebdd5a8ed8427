/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/atomic/ops.h"
#include "objects/info/info.h"
#include "objects/open/frame.h"
#include "providers/rxm/offer.h"
#include "providers/rxm/param.h"
#include "providers/rxm/rxm.h"

/*
 * What the provider is. It has no network: fi_getinfo asks the providers below, by the
 * same node and service, and makes an answer of each of theirs that it can stand on.
 */

static const char own_name[] = "ofi_rxm";

const struct wf_prov rxm_prov = {
	.fi = &rxm_fi,
	.templates = rxm_templates,
	.default_fabric = "ofi_rxm",
	.default_domain = "ofi_rxm",
	.cleanup = rxm_offers_done,
	.domain_init = rxm_domain_init,
	.domain_done = rxm_domain_done,
	.mr_register = rxm_mr_register,
	.endpoint = rxm_endpoint,
	.srx_ops = &wf_unexp_srx_ops,
	.av_sets = true,
	.max_atomic_size = RXM_ATOMIC_MAX,
	.query_atomic = wf_query_atomic,
};

/* The provider below that @name names: the part that is not ours. False: no memory. */
static bool base_of(const char *name, char **ret_base)
{
	const char *end;
	size_t len;

	*ret_base = NULL;
	while (name && *name) {
		end = strchr(name, ';');
		len = end ? (size_t)(end - name) : strlen(name);
		if (len && *name != '^' &&
			(len != strlen(own_name) || strncasecmp(name, own_name, len))) {
			*ret_base = strndup(name, len);
			return *ret_base;
		}
		name += len + !!end;
	}
	return true;
}

static bool copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

static bool copy_addr(void **to, size_t *to_len, const void *from, size_t len)
{
	if (!from || !len)
		return true;
	*to = malloc(len);
	if (!*to)
		return false;
	memcpy(*to, from, len);
	*to_len = len;
	return true;
}

static bool fill_hints(struct fi_info *below, const struct fi_info *hints)
{
	const struct fi_fabric_attr *fabric = hints->fabric_attr;
	const struct fi_domain_attr *domain = hints->domain_attr;

	below->addr_format = hints->addr_format;
	below->caps |= hints->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM);
	return base_of(fabric ? fabric->prov_name : NULL,
		       &below->fabric_attr->prov_name) &&
	       copy_text(&below->fabric_attr->name, fabric ? fabric->name : NULL) &&
	       copy_text(&below->domain_attr->name, domain ? domain->name : NULL) &&
	       copy_addr(&below->src_addr, &below->src_addrlen, hints->src_addr,
		       hints->src_addrlen) &&
	       copy_addr(&below->dest_addr, &below->dest_addrlen, hints->dest_addr,
		       hints->dest_addrlen);
}

static struct fi_info *hints_below(const struct fi_info *hints)
{
	struct fi_info *below = fi_allocinfo();

	if (!below)
		return NULL;
	below->ep_attr->type = FI_EP_MSG;
	below->caps = RXM_BELOW_CAPS;
	below->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	below->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	if (hints && !fill_hints(below, hints)) {
		fi_freeinfo(below);
		return NULL;
	}
	return below;
}

/* The question of one fi_getinfo call. */
struct question {
	const struct wf_prov *prov;
	uint32_t version;
	const char *node, *service;
	uint64_t flags;
	const struct fi_info *hints;
};

/* Does an application that can register its local buffers have to? */
static bool takes_descs(const struct question *q, const struct fi_info *below)
{
	return q->hints && q->hints->domain_attr &&
	       q->hints->domain_attr->mr_mode & below->domain_attr->mr_mode &
		       FI_MR_LOCAL;
}

/* Give the answer @info what it has of the one below. */
static int finish(
	const struct question *q, struct fi_info *info, const struct fi_info *below)
{
	const uint64_t reach = FI_LOCAL_COMM | FI_REMOTE_COMM;

	if (takes_descs(q, below))
		info->domain_attr->mr_mode |= FI_MR_LOCAL;
	info->caps &= below->caps | ~reach;
	info->domain_attr->caps &= below->caps | ~reach;
	free(info->fabric_attr->prov_name);
	if (!copy_text(&info->fabric_attr->prov_name, below->fabric_attr->prov_name) ||
		!copy_addr(&info->src_addr, &info->src_addrlen, below->src_addr,
			below->src_addrlen) ||
		!copy_addr(&info->dest_addr, &info->dest_addrlen, below->dest_addr,
			below->dest_addrlen))
		return -FI_ENOMEM;
	return below->nic ? fi_control(&below->nic->fid, FI_DUP, &info->nic) : 0;
}

/* Append the answers over @below at *@end, which moves. */
static int answer(
	const struct question *q, const struct fi_info *below, struct fi_info ***end)
{
	const struct rxm_offer *offer = rxm_offer_of(below);
	struct fi_info *info;
	int ret = 0;

	for (int i = 0; offer && i < RXM_TEMPLATES && !ret; i++) {
		ret = wf_info_named(q->prov, q->version, offer->tmpl[i], q->hints,
			below->fabric_attr->name, below->domain_attr->name, &info);
		if (ret == -FI_ENODATA) {
			ret = 0;
			continue;
		}
		if (ret)
			return ret;
		**end = info;
		*end = &info->next;
		ret = finish(q, info, below);
	}
	return ret;
}

static int answer_all(
	const struct question *q, const struct fi_info *below, struct fi_info ***end)
{
	int ret = 0;

	for (; below && !ret; below = below->next)
		ret = answer(q, below, end);
	return ret;
}

/* One question below. Below, the modes of today are spoken; older providers know older
 * ones. The answers are appended at *@end, which moves. */
static int ask(
	const struct question *q, const struct fi_info *below, struct fi_info ***end)
{
	struct fi_info *list = NULL;
	int ret = fi_getinfo(fi_version(), q->node, q->service, q->flags, below, &list);

	if (ret == -FI_ENODATA && FI_VERSION_LT(q->version, fi_version()))
		ret = fi_getinfo(
			q->version, q->node, q->service, q->flags, below, &list);
	if (!ret)
		ret = answer_all(q, list, end);
	fi_freeinfo(list);
	return ret == -FI_ENODATA ? 0 : ret;
}

/* Ask @name, which the hints @below do not name. */
static int ask_named(const struct question *q, struct fi_info *below, const char *name,
	struct fi_info ***end)
{
	int ret;

	if (!copy_text(&below->fabric_attr->prov_name, name))
		return -FI_ENOMEM;
	ret = ask(q, below, end);
	free(below->fabric_attr->prov_name);
	below->fabric_attr->prov_name = NULL;
	return ret;
}

/* Ask all providers below, or the one that the hints name. FI_PROVIDER may hide tcp
 * from those that do not name it, and net answers only by name. */
static int ask_all(
	const struct question *q, struct fi_info *below, struct fi_info **ret_list)
{
	bool named = below->fabric_attr->prov_name;
	struct fi_info **end = ret_list;
	int ret = ask(q, below, &end);

	if (!ret && !named && !*ret_list)
		ret = ask_named(q, below, "tcp", &end);
	if (!ret && !named)
		ret = ask_named(q, below, "net", &end);
	return !ret && !*ret_list ? -FI_ENODATA : ret;
}

static int getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	const struct question q = { prov, version, node, service, flags, hints };
	struct fi_info *below = hints_below(hints), *list = NULL;
	int ret = below ? ask_all(&q, below, &list) : -FI_ENOMEM;

	fi_freeinfo(below);
	if (ret)
		fi_freeinfo(list);
	else
		*ret_info = list;
	return ret;
}

WF_PROV_FRAME_NAMED(rxm, "ofi_rxm", getinfo, rxm_params_init)
