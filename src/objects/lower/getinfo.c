/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/getinfo.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "objects/av/format.h"
#include "objects/info/info.h"
#include "objects/lower/find.h"

/* The first version whose hints have all fields that are set here. */
#define OLDEST FI_VERSION(1, 8)

/* Can an AV of the layer hold addresses of the provider below? */
static bool getinfo_has_format(
	const struct wf_lower_kind *kind, const struct fi_info *below)
{
	char text[64];

	if (wf_av_format_of(below))
		return true;
	FI_INFO(kind->prov->fi, FI_LOG_CORE, "not over %s: no address vector for %s\n",
		below->fabric_attr->prov_name,
		fi_tostr_r(
			text, sizeof(text), &below->addr_format, FI_TYPE_ADDR_FORMAT));
	return false;
}

static bool getinfo_same_text(const char *asked, const char *text)
{
	return !asked || (text && !strcasecmp(asked, text));
}

/* Is @below the result of the provider below for @above? Compares provider, fabric and
 * domain names and the address format, as far as @above has them. */
static bool getinfo_is_below(
	const struct fi_info *below, const struct fi_info *above, const char *prov_name)
{
	const struct fi_fabric_attr *fabric = above->fabric_attr;
	const struct fi_domain_attr *domain = above->domain_attr;

	return (!above->addr_format || above->addr_format == below->addr_format) &&
	       getinfo_same_text(prov_name, below->fabric_attr->prov_name) &&
	       (!fabric || getinfo_same_text(fabric->name, below->fabric_attr->name)) &&
	       (!domain || getinfo_same_text(domain->name, below->domain_attr->name));
}

/* The link in the list that points to the result for @above, or the end of the list:
 * *getinfo_find_link() is NULL. The lock is held. */
static struct fi_info **getinfo_find_link(struct wf_lower_found *found,
	const struct fi_info *above, const char *prov_name)
{
	struct fi_info **at = &found->list;

	while (*at && !getinfo_is_below(*at, above, prov_name))
		at = &(*at)->next;
	return at;
}

/* A copy of the kept result for @above. -FI_ENODATA: none is kept. */
static int getinfo_find(const struct wf_lower_kind *kind, const struct fi_info *above,
	struct fi_info **ret_below)
{
	struct wf_lower_found *found = kind->found;
	const char *asked = above->fabric_attr ? above->fabric_attr->prov_name : NULL;
	struct fi_info *below;
	char *name;

	if (!wf_lower_name(&kind->needs, asked, &name))
		return -FI_ENOMEM;
	(void)pthread_mutex_lock(&found->lock);
	below = *getinfo_find_link(found, above, name);
	*ret_below = below ? fi_dupinfo(below) : NULL;
	(void)pthread_mutex_unlock(&found->lock);
	free(name);
	if (*ret_below)
		return 0;
	return below ? -FI_ENOMEM : -FI_ENODATA;
}

/* Keep a copy of @below without addresses. False: no memory. */
static bool getinfo_keep(const struct wf_lower_kind *kind, const struct fi_info *below)
{
	struct wf_lower_found *found = kind->found;
	struct fi_info *copy = fi_dupinfo(below), **at;

	if (!copy)
		return false;
	wf_lower_strip(copy);
	(void)pthread_mutex_lock(&found->lock);
	at = getinfo_find_link(found, below, below->fabric_attr->prov_name);
	if (*at) {
		copy->next = (*at)->next;
		(*at)->next = NULL;
		fi_freeinfo(*at);
	}
	*at = copy;
	(void)pthread_mutex_unlock(&found->lock);
	return true;
}

/* The answer of the layer over @below. */
static int getinfo_answer(const struct wf_lower_kind *kind, uint32_t version,
	const struct fi_info *hints, const struct fi_info *below,
	struct fi_info **ret_info)
{
	const struct wf_prov *prov = kind->prov;
	struct fi_info *info;
	int ret;

	if (!getinfo_has_format(kind, below))
		return -FI_ENODATA;
	ret = wf_info_named(prov, version, prov->templates[0], hints,
		below->fabric_attr->name, below->domain_attr->name, &info);
	if (ret)
		return ret;
	ret = wf_lower_adopt(info, below);
	if (!ret && !getinfo_keep(kind, below))
		ret = -FI_ENOMEM;
	if (ret)
		fi_freeinfo(info);
	else
		*ret_info = info;
	return ret;
}

static int getinfo_answer_all(const struct wf_lower_kind *kind, uint32_t version,
	const struct fi_info *hints, struct fi_info *below, struct fi_info **ret_info)
{
	struct fi_info *list = NULL, **end = &list;
	int ret = 0;

	for (; below && (!ret || ret == -FI_ENODATA); below = below->next) {
		ret = getinfo_answer(kind, version, hints, below, end);
		if (!ret)
			end = &(*end)->next;
	}
	if (ret == -FI_ENODATA || !ret)
		ret = list ? 0 : -FI_ENODATA;
	if (ret) {
		fi_freeinfo(list);
		return ret;
	}
	*ret_info = list;
	return 0;
}

/* Do the hints match the layer's template, but for the names, which the provider below
 * gives? Hints that no answer can meet cost no question below. */
static int getinfo_match(
	const struct wf_lower_kind *kind, uint32_t version, const struct fi_info *hints)
{
	struct fi_fabric_attr fabric;
	struct fi_domain_attr domain;
	struct fi_info nameless;

	if (!hints)
		return 0;
	nameless = *hints;
	if (hints->fabric_attr) {
		fabric = *hints->fabric_attr;
		fabric.name = NULL;
		fabric.fabric = NULL;
		nameless.fabric_attr = &fabric;
	}
	if (hints->domain_attr) {
		domain = *hints->domain_attr;
		domain.name = NULL;
		domain.domain = NULL;
		nameless.domain_attr = &domain;
	}
	return wf_info_match(kind->prov, version, kind->prov->templates[0], &nameless);
}

int wf_lower_getinfo(const struct wf_lower_kind *kind, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	const struct wf_lower_question question = { node, service,
		flags & (FI_SOURCE | FI_NUMERICHOST | FI_RESCAN) };
	struct fi_info *asked, *below;
	int ret;

	ret = getinfo_match(kind, version, hints);
	if (ret)
		return ret;
	asked = wf_lower_hints(&kind->needs, hints);
	if (!asked)
		return -FI_ENOMEM;
	ret = wf_lower_find_for(OLDEST, &question, asked, &below);
	fi_freeinfo(asked);
	if (ret) {
		FI_INFO(kind->prov->fi, FI_LOG_CORE, "nothing below: %s\n",
			fi_strerror(-ret));
		return ret;
	}
	ret = getinfo_answer_all(kind, version, hints, below, ret_info);
	fi_freeinfo(below);
	return ret;
}

static bool getinfo_copy_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

/* Call fi_getinfo for the layer with the names of @above: it keeps the answers. */
static int getinfo_search(const struct wf_lower_kind *kind, const struct fi_info *above)
{
	struct fi_info *hints = fi_allocinfo(), *list;
	bool ok = hints;
	int ret;

	if (ok && above->fabric_attr)
		ok = getinfo_copy_text(
			&hints->fabric_attr->name, above->fabric_attr->name);
	if (ok && above->domain_attr)
		ok = getinfo_copy_text(
			&hints->domain_attr->name, above->domain_attr->name);
	if (ok && above->fabric_attr && above->fabric_attr->prov_name)
		ok = getinfo_copy_text(
			&hints->fabric_attr->prov_name, above->fabric_attr->prov_name);
	else if (ok)
		ok = getinfo_copy_text(
			&hints->fabric_attr->prov_name, kind->prov->fi->name);
	ret = ok ? fi_getinfo(fi_version(), NULL, NULL, 0, hints, &list) : -FI_ENOMEM;
	fi_freeinfo(hints);
	if (!ret)
		fi_freeinfo(list);
	return ret;
}

int wf_lower_getinfo_below(const struct wf_lower_kind *kind,
	const struct fi_info *above, struct fi_info **ret_below)
{
	int ret = getinfo_find(kind, above, ret_below);

	if (ret == -FI_ENODATA) {
		ret = getinfo_search(kind, above);
		if (!ret)
			ret = getinfo_find(kind, above, ret_below);
	}
	if (ret)
		FI_WARN(kind->prov->fi, FI_LOG_DOMAIN, "nothing below domain %s: %s\n",
			above->domain_attr->name ? above->domain_attr->name : "(none)",
			fi_strerror(-ret));
	return ret;
}

void wf_lower_getinfo_done(const struct wf_lower_kind *kind)
{
	fi_freeinfo(kind->found->list);
	kind->found->list = NULL;
}
