/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "../bare_fabric.h"

/*
 * A provider as another project would write it, using only the public headers. It
 * offers one result, whose domain is LABEL, so that it shows which build of it was
 * chosen. The build chooses what is wrong with it.
 */

#ifndef NAME
#define NAME "testprov"
#endif
#ifndef VERSION
#define VERSION FI_VERSION(1, 0)
#endif
#ifndef API
#define API FI_VERSION(2, 6)
#endif
#ifndef WITH_FABRIC
#define WITH_FABRIC 1
#endif

static int module_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return -FI_ENOMEM;
	info->addr_format = FI_ADDR_STR;
	info->ep_attr->type = FI_EP_RDM;
	info->fabric_attr->name = strdup("testfabric");
	info->domain_attr->name = strdup(LABEL);
	*ret_info = info;
	return 0;
}

static void module_cleanup(void);

static struct fi_provider module = {
	.version = VERSION,
	.fi_version = API,
	.name = NAME,
	.getinfo = module_getinfo,
	.fabric = WITH_FABRIC ? bare_fabric : NULL,
	.cleanup = module_cleanup,
};

/* For the test: what happens, in order, on the standard error. */
static void trace(const char *event, int number)
{
	if (getenv("TRACE_MODULES"))
		(void)fprintf(stderr, "module %s: %s %d\n", LABEL, event, number);
}

static void module_cleanup(void)
{
	char *value;

	trace("cleanup, its parameter is", fi_param_get(&module, "knob", &value));
}

__attribute__((destructor)) static void unloaded(void)
{
	trace("unloaded", 0);
}

#ifndef WITHOUT_INI
struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
#ifdef RETURNS_NULL
	return NULL;
#else
	char *value;

	if (module.name && strlen(module.name) < FI_NAME_MAX)
		(void)fi_param_define(&module, "knob", FI_PARAM_STRING,
			"Turn it as you like (%s)", LABEL);
	trace("started, its parameter is", fi_param_get(&module, "knob", &value));
	return &module;
#endif
}
#else
struct fi_provider *module_without_ini(void);

struct fi_provider *module_without_ini(void)
{
	return &module;
}
#endif
