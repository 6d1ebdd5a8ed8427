/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "objects/atomic/ops.h"
#include "objects/info/info.h"
#include "objects/local/domain.h"
#include "objects/local/mode.h"
#include "objects/lower/answer.h"
#include "objects/open/frame.h"
#include "providers/rxm/offer.h"
#include "providers/rxm/param.h"
#include "providers/rxm/rxm.h"

/*
 * Description of the provider. It has no network: fi_getinfo asks the providers below,
 * with the same node and service, and makes an answer of each of theirs that is
 * suitable.
 */

static void rxm_provider_cleanup(void)
{
	rxm_offers_done();
	wf_local_forget();
}

const struct wf_prov rxm_prov = {
	.fi = &rxm_fi,
	.templates = rxm_templates,
	.default_fabric = "ofi_rxm",
	.default_domain = "ofi_rxm",
	.cleanup = rxm_provider_cleanup,
	.domain_init = rxm_domain_init,
	.domain_done = rxm_domain_done,
	.mr_register = rxm_mr_register,
	.endpoint = rxm_endpoint,
	.srx_ops = &wf_unexp_srx_ops,
	.av_sets = true,
	/* The limits are those of packets: rxm_atomic_valid. */
	.max_atomic_size = SIZE_MAX,
	.query_atomic = rxm_query_atomic,
};

static const struct wf_lower_needs needs = {
	.layer = "ofi_rxm",
	.type = FI_EP_MSG,
	.caps = RXM_BELOW_CAPS,
	.mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA,
	.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
};

/* The arguments of one fi_getinfo call. */
struct question {
	const struct wf_prov *prov;
	uint32_t version;
	const char *node, *service;
	uint64_t flags;
	const struct fi_info *hints;
};

/* Must an application that is able to register its local buffers do so? The engines of
 * collectives need not. */
static bool provider_takes_descs(const struct question *q, const struct fi_info *below)
{
	return q->hints && q->hints->domain_attr && !(q->hints->caps & FI_COLLECTIVE) &&
	       q->hints->domain_attr->mr_mode & below->domain_attr->mr_mode &
		       FI_MR_LOCAL;
}

/* Append the answers over @below at *@end, which is advanced. */
static int rxm_provider_answer(
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
		if (provider_takes_descs(q, below))
			info->domain_attr->mr_mode |= FI_MR_LOCAL;
		ret = wf_lower_adopt(info, below);
	}
	return ret;
}

static int provider_answer_all(
	const struct question *q, const struct fi_info *below, struct fi_info ***end)
{
	int ret = 0;

	for (; below && !ret; below = below->next)
		ret = rxm_provider_answer(q, below, end);
	return ret;
}

/* Ask the providers below once. The hints use the current mode bits; older providers
 * have older ones. The answers are appended at *@end, which is advanced. */
static int provider_ask(
	const struct question *q, const struct fi_info *below, struct fi_info ***end)
{
	struct fi_info *list = NULL;
	int ret = fi_getinfo(fi_version(), q->node, q->service, q->flags, below, &list);

	if (ret == -FI_ENODATA && FI_VERSION_LT(q->version, fi_version()))
		ret = fi_getinfo(
			q->version, q->node, q->service, q->flags, below, &list);
	if (!ret)
		ret = provider_answer_all(q, list, end);
	fi_freeinfo(list);
	return ret == -FI_ENODATA ? 0 : ret;
}

/* Ask @name, which the hints @below do not contain. */
static int provider_ask_named(const struct question *q, struct fi_info *below,
	const char *name, struct fi_info ***end)
{
	int ret;

	below->fabric_attr->prov_name = strdup(name);
	if (!below->fabric_attr->prov_name)
		return -FI_ENOMEM;
	ret = provider_ask(q, below, end);
	free(below->fabric_attr->prov_name);
	below->fabric_attr->prov_name = NULL;
	return ret;
}

/* Ask all providers below, or the one in the hints. FI_PROVIDER may hide tcp from hints
 * that do not name it, and net answers only if it is named. */
static int provider_ask_all(
	const struct question *q, struct fi_info *below, struct fi_info **ret_list)
{
	bool named = below->fabric_attr->prov_name;
	struct fi_info **end = ret_list;
	int ret = provider_ask(q, below, &end);

	if (!ret && !named && !*ret_list)
		ret = provider_ask_named(q, below, "tcp", &end);
	if (!ret && !named)
		ret = provider_ask_named(q, below, "net", &end);
	return !ret && !*ret_list ? -FI_ENODATA : ret;
}

/* Is any of the answers over tcp? Their names may have that of the layer already. */
static bool provider_any_over_tcp(const struct fi_info *info)
{
	for (; info; info = info->next) {
		const char *name = info->fabric_attr->prov_name;

		if (name && !strncasecmp(name, "tcp", 3) &&
			(!name[3] || name[3] == ';'))
			return true;
	}
	return false;
}

static int rxm_provider_getinfo(const struct wf_prov *prov, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	const struct question q = { prov, version, node, service, flags, hints };
	struct fi_info *below = wf_lower_hints(&needs, hints), *list = NULL;
	int ret = below ? provider_ask_all(&q, below, &list) : -FI_ENOMEM;

	fi_freeinfo(below);
	if (ret) {
		fi_freeinfo(list);
		return ret;
	}
	if (provider_any_over_tcp(list))
		wf_local_log_mode(&rxm_fi);
	*ret_info = list;
	return 0;
}

WF_PROV_FRAME_NAMED(rxm, "ofi_rxm", rxm_provider_getinfo, rxm_params_init)
