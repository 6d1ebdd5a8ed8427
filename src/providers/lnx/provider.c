/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/open/frame.h"
#include "objects/info/info.h"
#include "providers/lnx/addr.h"
#include "providers/lnx/av.h"
#include "providers/lnx/endpoint.h"
#include "providers/lnx/param.h"
#include "providers/lnx/resolve.h"

/* Description of the provider; its capabilities depend on the links (links.c,
 * template.c). */

static const char fabric_name[] = "lnx";

static const struct wf_prov lnx_prov = {
	.fi = &lnx_fi,
	.templates = lnx_templates,
	.default_fabric = fabric_name,
	.cleanup = lnx_links_done,
	.av_format = lnx_av_format_of,
	.domain_init = lnx_domain_init,
	.domain_done = lnx_domain_done,
	.av_opened = lnx_av_opened,
	.av_closing = lnx_av_closing,
	.av_inserted = lnx_av_inserted,
	.av_removed = lnx_av_removed,
	/* The limits are those of the members: lnx_atomic_valid, lnx_query_atomic. */
	.max_atomic_size = SIZE_MAX,
	.cntr_opened = lnx_cntr_opened,
	.av_sets = true,
	.query_atomic = lnx_query_atomic,
	.mr_register = lnx_mr_register,
	.endpoint = lnx_endpoint,
};

static void provider_append(struct fi_info **list, struct fi_info *info)
{
	while (*list)
		list = &(*list)->next;
	*list = info;
}

/* Get the answer of one link. -FI_ENODATA, with the reason logged: it has none. */
static int lnx_provider_answer(const struct lnx_link *link, const struct wf_prov *prov,
	uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info;
	int ret = wf_info_named(prov, version, link->tmpl, hints, fabric_name,
		link->tmpl->domain_attr->name, &info);

	if (ret)
		return ret;
	ret = lnx_resolve(link, node, service, flags, hints, info);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	*ret_info = info;
	return 0;
}

static int lnx_provider_getinfo(const struct wf_prov *prov, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *list = NULL, *info;
	int ret = lnx_links_init();

	if (ret)
		return ret;
	for (unsigned int i = 0; lnx_templates[i]; i++) {
		ret = lnx_provider_answer(
			lnx_link_find(lnx_templates[i]->domain_attr->name), prov,
			version, node, service, flags, hints, &info);
		if (!ret)
			provider_append(&list, info);
		else if (ret != -FI_ENODATA)
			break;
	}
	if (!ret || ret == -FI_ENODATA)
		ret = list ? 0 : -FI_ENODATA;
	if (ret) {
		fi_freeinfo(list);
		return ret;
	}
	*ret_info = list;
	return 0;
}

WF_PROV_FRAME(lnx, lnx_provider_getinfo, lnx_params_init)
