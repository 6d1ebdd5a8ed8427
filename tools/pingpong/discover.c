/* SPDX-License-Identifier: BSD-2-Clause */
#include "link.h"
#include "message.h"

#include <string.h>

/* What this program knows how to do for a provider that needs it. */
#define MODES (FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX)
#define MR_MODES                                                                       \
	(FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |            \
		FI_MR_ENDPOINT)

static int copy_name(const char *name, char **field)
{
	if (!name)
		return 0;
	*field = strdup(name);
	return *field ? 0 : -FI_ENOMEM;
}

static int copy_names(const struct pp_options *o, struct fi_info *hints)
{
	int ret;

	ret = copy_name(o->provider, &hints->fabric_attr->prov_name);
	if (!ret)
		ret = copy_name(o->fabric, &hints->fabric_attr->name);
	if (!ret)
		ret = copy_name(o->domain, &hints->domain_attr->name);
	return ret;
}

struct fi_info *pp_hints_new(const struct pp_options *o)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->caps = o->tagged ? FI_TAGGED : FI_MSG;
	hints->mode = MODES;
	hints->domain_attr->mode = MODES;
	hints->domain_attr->mr_mode = MR_MODES;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->ep_attr->type = o->ep_type;
	/* A datagram must fit; others are told when the size list is cut. */
	if (o->ep_type == FI_EP_DGRAM && o->size.choice == PP_SIZES_ONE)
		hints->ep_attr->max_msg_size = o->size.one;
	if (copy_names(o, hints)) {
		fi_freeinfo(hints);
		return NULL;
	}
	return hints;
}

int pp_link_getinfo(struct pp_link *link, struct fi_info *hints)
{
	const char *src = link->options->src_addr;
	int ret;

	ret = fi_getinfo(
		fi_version(), src, NULL, src ? FI_SOURCE : 0, hints, &link->info);
	if (ret) {
		link->info = NULL;
		return pp_fail("fi_getinfo", ret);
	}
	pp_debug("using this interface:\n%s", fi_tostr(link->info, FI_TYPE_INFO));
	return 0;
}
