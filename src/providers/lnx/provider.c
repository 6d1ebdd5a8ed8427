/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/fabric.h"
#include "objects/info/info.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"
#include "providers/lnx/name.h"

/* What the provider is; what it offers depends on its links (links.c, template.c). */

static const char fabric_name[] = "lnx";

static const struct wf_prov lnx_prov = {
	.fi = &lnx_fi,
	.templates = lnx_templates,
	.default_fabric = fabric_name,
	.cleanup = lnx_links_done,
	.av_format = &lnx_av_format,
	.domain_init = lnx_domain_init,
	.domain_done = lnx_domain_done,
	.av_opened = lnx_av_opened,
	.av_closing = lnx_av_closing,
	.av_inserted = lnx_av_inserted,
	.av_removed = lnx_av_removed,
	/* Members know better: forward.c, domain.c. */
	.max_atomic_size = SIZE_MAX,
	.mr_register = lnx_mr_register,
	.endpoint = lnx_endpoint,
};

static void append(struct fi_info **list, struct fi_info *info)
{
	while (*list)
		list = &(*list)->next;
	*list = info;
}

/* The peer's name, as fi_getname gave it, comes back with each info. */
static int give_dest(struct fi_info *list, const struct fi_info *hints)
{
	size_t len = hints && hints->dest_addr
			     ? lnx_name_len(hints->dest_addr, hints->dest_addrlen)
			     : 0;
	struct lnx_name name;

	if (!hints || !hints->dest_addr)
		return 0;
	if (!len || !lnx_name_unpack(hints->dest_addr, &name)) {
		lnx_log(FI_LOG_INFO, FI_LOG_CORE,
			"refused: dest_addr: %zu bytes that are no address of lnx "
			"(fi_getname gives them)\n",
			hints->dest_addrlen);
		return -FI_ENODATA;
	}
	for (; list; list = list->next) {
		list->dest_addr = malloc(len);
		if (!list->dest_addr)
			return -FI_ENOMEM;
		memcpy(list->dest_addr, hints->dest_addr, len);
		list->dest_addrlen = len;
	}
	return 0;
}

static int getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	struct fi_info *list = NULL, *info;
	int ret = lnx_links_init();

	(void)flags;
	if (ret)
		return ret;
	if (node || service) {
		lnx_log(FI_LOG_INFO, FI_LOG_CORE,
			"refused: node, service: asked %s, %s, possible none "
			"(addresses come from fi_getname)\n",
			node ? node : "none", service ? service : "none");
		return -FI_ENODATA;
	}
	for (unsigned int i = 0; lnx_templates[i]; i++) {
		ret = wf_info_named(prov, version, lnx_templates[i], hints, fabric_name,
			lnx_templates[i]->domain_attr->name, &info);
		if (!ret)
			append(&list, info);
		else if (ret != -FI_ENODATA)
			break;
	}
	if (!ret || ret == -FI_ENODATA)
		ret = list ? give_dest(list, hints) : -FI_ENODATA;
	if (ret) {
		fi_freeinfo(list);
		return ret;
	}
	*ret_info = list;
	return 0;
}

WF_PROV_FRAME(lnx, getinfo, lnx_params_init)
