/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/info/device.h"
#include "objects/info/rule.h"

#include "sys/addrstr.h"
#include "sys/sockaddr.h"

/*
 * Checks the info that an application opens an object with. The application may have
 * narrowed an answer of fi_getinfo, or made the info up: it is valid if a template
 * meets it as hints. A test shows that every answer of this library is valid.
 */

static bool check_is_ip(uint32_t format)
{
	return format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

/* The device of the domain that @info names; NULL: there is none. */
static const struct wf_device *check_device_of(
	const struct wf_prov *prov, const struct fi_info *info)
{
	const struct fi_domain_attr *attr = info->domain_attr;
	const struct wf_devices *devices = prov->devices(false);

	for (size_t i = 0; i < devices->count; i++) {
		const struct wf_device *device = &devices->list[i];
		uint32_t format = device->templates[0]->addr_format;

		if (attr && attr->name && !strcmp(attr->name, device->domain) &&
			wf_info_format_covers(info->addr_format, format))
			return device;
	}
	return NULL;
}

static bool check_addr_ok(const void *addr, size_t len, uint32_t format)
{
	char name[WF_ADDRSTR_MAX];
	union wf_sockaddr sa;

	if (!addr)
		return true;
	if (!len)
		return false;
	if (format == FI_ADDR_STR)
		return wf_addrstr_spell(name, addr, len);
	if (!check_is_ip(format))
		return true;
	return !wf_sockaddr_read(addr, len, &sa) &&
	       sa.sa.sa_family == (format == FI_SOCKADDR_IN ? AF_INET : AF_INET6);
}

/* An address of @info, as its device or its format demands. */
static bool check_end_ok(const struct wf_prov *prov, const struct wf_device *device,
	const struct fi_info *info, const void *addr, size_t len)
{
	if (!device || !addr)
		return check_addr_ok(addr, len, info->addr_format);
	return len && prov->devices(false)->addr_ok(device, addr, len);
}

static bool check_addrs_ok(const struct wf_prov *prov, const struct wf_device *device,
	const struct fi_info *info, struct wf_info_reason *why)
{
	bool src = check_end_ok(prov, device, info, info->src_addr, info->src_addrlen);
	char asked[32], format[64];

	if (src &&
		check_end_ok(prov, device, info, info->dest_addr, info->dest_addrlen))
		return true;
	why->field = src ? "dest_addr" : "src_addr";
	wf_info_show(asked, sizeof(asked), src ? info->dest_addrlen : info->src_addrlen,
		WF_INFO_NUMBER);
	wf_info_show(format, sizeof(format), info->addr_format, FI_TYPE_ADDR_FORMAT);
	return wf_info_deny_text(why, asked, "bytes of an address of %s", format);
}

static bool check_same_type(const struct fi_info *tmpl, const struct fi_info *info)
{
	return !info->ep_attr || !info->ep_attr->type ||
	       tmpl->ep_attr->type == info->ep_attr->type;
}

/* Does one of @tmpls meet @info? -FI_ENODATA, logged: none does. */
static int check_templates(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *const *tmpls, const struct fi_info *info)
{
	struct wf_info_ctx ctx = { .opening = true }, first = { .log = NULL };
	struct wf_info_reason why, first_why;

	for (; *tmpls; tmpls++) {
		wf_info_ctx_init(&ctx, prov, version, *tmpls, info);
		if (wf_info_met(&ctx, &why))
			return 0;
		/* Report the refusal of a template of the same endpoint type. */
		if (!first.prov || check_same_type(*tmpls, info)) {
			first = ctx;
			first_why = why;
		}
	}
	wf_info_refuse(&first, NULL, &first_why);
	return -FI_ENODATA;
}

static int check_no_device(const struct wf_prov *prov, const struct fi_info *info)
{
	const char *name = info->domain_attr ? info->domain_attr->name : NULL;

	FI_INFO(prov->fi, FI_LOG_CORE,
		"refused: domain_attr.name: asked %s, possible a device that is here, "
		"by addresses of its format\n",
		name ? name : "NULL");
	return -FI_ENODATA;
}

int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info)
{
	const struct fi_info *const *tmpls = prov->templates;
	const struct wf_device *device = NULL;
	struct wf_info_ctx ctx = { .opening = true };
	struct wf_info_reason why;

	if (!info) {
		FI_WARN(prov->fi, FI_LOG_CORE,
			"refused: info: asked NULL, possible one of fi_getinfo\n");
		return -FI_EINVAL;
	}
	if (prov->devices) {
		device = check_device_of(prov, info);
		if (!device)
			return check_no_device(prov, info);
		tmpls = device->templates;
	}
	wf_info_ctx_init(&ctx, prov, version, *tmpls, info);
	if (!check_addrs_ok(prov, device, info, &why)) {
		wf_info_refuse(&ctx, NULL, &why);
		return -FI_EINVAL;
	}
	return check_templates(prov, version, tmpls, info);
}
