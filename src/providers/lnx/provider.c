/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/fabric.h"
#include "objects/info/info.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/param.h"

/* What the provider is; what it offers depends on its links (links.c, template.c). */

static const char fabric_name[] = "lnx";

const struct wf_prov lnx_prov = {
	.fi = &lnx_fi,
	.templates = lnx_templates,
	.default_fabric = fabric_name,
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

static int lnx_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
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
		ret = wf_info_named(&lnx_prov, version, lnx_templates[i], hints,
			fabric_name, lnx_templates[i]->domain_attr->name, &info);
		if (!ret)
			append(&list, info);
		else if (ret != -FI_ENODATA)
			break;
	}
	if (ret && ret != -FI_ENODATA) {
		fi_freeinfo(list);
		return ret;
	}
	*ret_info = list;
	return list ? 0 : -FI_ENODATA;
}

static int lnx_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return wf_fabric_open(&lnx_prov, attr, ret_fabric, context);
}

struct fi_provider lnx_fi = {
	.version = FI_VERSION(FI_MAJOR_VERSION * 100 + FI_MINOR_VERSION, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.name = "lnx",
	.getinfo = lnx_getinfo,
	.fabric = lnx_fabric,
	.cleanup = lnx_links_done,
};

#ifdef WF_LOADABLE
struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
#else
struct fi_provider *lnx_prov_ini(void);

struct fi_provider *lnx_prov_ini(void)
#endif
{
	lnx_params_init();
	return &lnx_fi;
}
