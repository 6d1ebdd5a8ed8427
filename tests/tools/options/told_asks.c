/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A loadable provider "told" that says on the standard error what it is asked for: one
 * line "told: <field>: <value>" for each argument of fi_getinfo and each field of the
 * hints that an option of fi_info sets. It offers the domain "easy", which needs no
 * mode, and the domain "strict", which needs FI_CONTEXT.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "../../bare_fabric.h"

static void say(const char *field, const char *value)
{
	(void)fprintf(
		stderr, "told: %s: %s\n", field, value && *value ? value : "nothing");
}

static void say_flags(const char *field, uint64_t value, enum fi_type type)
{
	say(field, value == ~0ULL ? "all" : fi_tostr(&value, type));
}

static void say_hints(const struct fi_info *hints)
{
	say_flags("caps", hints->caps, FI_TYPE_CAPS);
	say_flags("mode", hints->mode, FI_TYPE_MODE);
	say_flags("domain mode", hints->domain_attr->mode, FI_TYPE_MODE);
	(void)fprintf(stderr, "told: mr_mode: %#x\n", hints->domain_attr->mr_mode);
	say("type", fi_tostr(&hints->ep_attr->type, FI_TYPE_EP_TYPE));
	say("format", fi_tostr(&hints->addr_format, FI_TYPE_ADDR_FORMAT));
	say("domain", hints->domain_attr->name);
	say("fabric", hints->fabric_attr->name);
	say("provider", hints->fabric_attr->prov_name);
}

static struct fi_info *offer(const char *name, uint64_t mode)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	info->mode = mode;
	info->addr_format = FI_ADDR_STR;
	info->ep_attr->type = FI_EP_RDM;
	info->fabric_attr->name = strdup("told");
	info->domain_attr->name = strdup(name);
	return info;
}

static int told_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info = offer("easy", 0);

	(void)fprintf(
		stderr, "told: version: %u.%u\n", FI_MAJOR(version), FI_MINOR(version));
	say("node", node);
	say("service", service);
	say("source", flags & FI_SOURCE ? "yes" : "no");
	say("hints", hints ? "some" : NULL);
	if (hints)
		say_hints(hints);
	if (info && (!hints || hints->mode & FI_CONTEXT))
		info->next = offer("strict", FI_CONTEXT);
	*ret_info = info;
	return info ? 0 : -FI_ENOMEM;
}

static struct fi_provider told = {
	.version = FI_VERSION(7, 3),
	.fi_version = FI_VERSION(2, 6),
	.name = "told",
	.getinfo = told_getinfo,
	.fabric = bare_fabric,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	return &told;
}
