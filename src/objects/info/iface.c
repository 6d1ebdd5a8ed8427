/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/iface.h"

#include <stdio.h>
#include <string.h>

#include "objects/info/route.h"
#include "objects/notice.h"
#include "objects/provider.h"
#include "sys/nearest.h"
#include "sys/netif.h"

static const char separators[] = ", \t";

static bool iface_has_name(const char *names, const char *name)
{
	size_t width = strlen(name), len;

	for (names += strspn(names, separators); *names;
		names += strspn(names, separators)) {
		len = strcspn(names, separators);
		if (len == width && !memcmp(names, name, len))
			return true;
		names += len;
	}
	return false;
}

static bool iface_has_any(const char *names, const struct wf_netifs *ifs)
{
	for (size_t i = 0; i < ifs->link_count; i++)
		if (iface_has_name(names, ifs->links[i].name))
			return true;
	return false;
}

static void iface_tell_unknown(
	const struct wf_prov *prov, const char *names, const struct wf_netifs *ifs)
{
	char list[256] = "", first[IF_NAMESIZE + 16], hint[64], var[64];
	struct wf_nearest nearest;

	names += strspn(names, separators);
	(void)snprintf(
		first, sizeof(first), "%.*s", (int)strcspn(names, separators), names);
	nearest = wf_nearest_to(first);
	for (size_t i = 0; i < ifs->link_count; i++) {
		wf_route_list_add(list, sizeof(list), ifs->links[i].name);
		wf_nearest_offer(&nearest, ifs->links[i].name);
	}
	wf_notice(prov->fi, "%s is \"%s\": possible %s; all are used%s",
		wf_notice_var(prov->fi, prov->iface_param, var, sizeof(var)), names,
		list, wf_nearest_hint(&nearest, hint, sizeof(hint)));
}

struct wf_ifaces wf_ifaces_read(const struct wf_prov *prov, const struct wf_netifs *ifs)
{
	struct wf_ifaces ifaces = { NULL, false };
	char *text = NULL;

	if (!prov->iface_param ||
		fi_param_get_str(prov->fi, prov->iface_param, &text) || !text)
		return ifaces;
	ifaces.excluded = *text == '^';
	ifaces.names = text + ifaces.excluded;
	if (!ifaces.names[strspn(ifaces.names, separators)]) {
		ifaces.names = NULL;
	} else if (!ifaces.excluded && !iface_has_any(ifaces.names, ifs)) {
		iface_tell_unknown(prov, ifaces.names, ifs);
		ifaces.names = NULL;
	}
	return ifaces;
}

bool wf_ifaces_allow(const struct wf_ifaces *ifaces, const char *name)
{
	return !ifaces->names ||
	       (name && iface_has_name(ifaces->names, name) != ifaces->excluded);
}

bool wf_ifaces_ask_for(const struct wf_ifaces *ifaces, const char *name)
{
	return ifaces->names && !ifaces->excluded && name &&
	       iface_has_name(ifaces->names, name);
}
