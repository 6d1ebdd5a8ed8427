/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "core/getinfo.h"
#include "core/info.h"
#include "core/log/log.h"
#include "core/registry.h"
#include "core/stand_in.h"
#include "core/stand_in_fabric.h"
#include "sys/compiler.h"

/* The fi_getinfo answers of stand-ins; stand_in_fabric.c opens their fabrics. */

enum { NAMES_MAX = 8 };

/* One for each name in wf_stand_ins that no real provider has. */
static struct fi_provider providers[NAMES_MAX];

static bool stand_in_same_name(const struct wf_stand_in *row, const char *name)
{
	return wf_layer_is(&(struct wf_layer){ row->name, strlen(row->name) }, name);
}

static void stand_in_log_protocol(const char *name, uint32_t asked, uint32_t possible)
{
	char asked_text[64], possible_text[64];

	(void)fi_tostr_r(asked_text, sizeof(asked_text), &asked, FI_TYPE_PROTOCOL);
	(void)fi_tostr_r(
		possible_text, sizeof(possible_text), &possible, FI_TYPE_PROTOCOL);
	FI_INFO(wf_getinfo_asked(), FI_LOG_CORE,
		"refused: ep_attr.protocol: asked %s, possible %s as %s\n", asked_text,
		possible_text, name);
}

/* Do the hints admit the type and the protocol of this row? */
static bool stand_in_fits(const struct wf_stand_in *row, const struct fi_info *hints)
{
	const struct fi_ep_attr *ep = hints ? hints->ep_attr : NULL;

	if (!ep)
		return true;
	if (row->type && ep->type && ep->type != row->type)
		return false;
	if (!row->protocol || !ep->protocol || ep->protocol == row->protocol)
		return true;
	stand_in_log_protocol(row->name, ep->protocol, row->protocol);
	return false;
}

/* Translate the hints for the base: replace names of the stand-in by the base's
 * names. */
static int stand_in_translate(const struct wf_stand_in *row, struct fi_info *hints)
{
	struct fi_fabric_attr *fabric = hints->fabric_attr;
	struct fi_ep_attr *ep = hints->ep_attr;

	if (ep && row->type)
		ep->type = row->type;
	if (ep && row->protocol)
		ep->protocol = FI_PROTO_UNSPEC;
	if (!fabric)
		return 0;
	fabric->fabric = wf_stand_in_fabric_under(fabric->fabric, row->base);
	/* The core has compared the version with the stand-in's. */
	fabric->prov_version = 0;
	free(fabric->prov_name);
	fabric->prov_name = strdup(row->base);
	return fabric->prov_name ? 0 : -FI_ENOMEM;
}

/* Rename @info, which has the base's name. If the stand-in is a layer ("base;layer"),
 * the caller appends the layer's name; any other name replaces the base's. */
static void stand_in_rename_info(const struct wf_stand_in *row, struct fi_info *info)
{
	if (row->protocol)
		info->ep_attr->protocol = row->protocol;
	if (wf_prov_kind(row->name) != WF_PROV_UTIL) {
		free(info->fabric_attr->prov_name);
		info->fabric_attr->prov_name = NULL;
	}
}

/* Append the infos in @found with the row's endpoint type at @end and free the others.
 * Returns the new end. */
static struct fi_info **stand_in_take(
	const struct wf_stand_in *row, struct fi_info *found, struct fi_info **end)
{
	struct fi_info *next;

	for (; found; found = next) {
		next = found->next;
		found->next = NULL;
		if (row->type && found->ep_attr->type != row->type) {
			wf_freeinfo(found);
			continue;
		}
		stand_in_rename_info(row, found);
		*end = found;
		end = &found->next;
	}
	return end;
}

static int stand_in_ask_base(const struct wf_stand_in *row,
	const struct wf_query *query, struct fi_info **ret_list)
{
	struct wf_query below = *query;
	struct fi_info *hints = NULL;
	int err = 0;

	if (query->hints) {
		hints = wf_dupinfo(query->hints);
		err = hints ? stand_in_translate(row, hints) : -FI_ENOMEM;
		below.hints = hints;
	}
	if (!err)
		err = wf_getinfo_from(row->base, &below, ret_list);
	wf_freeinfo(hints);
	return err;
}

static int stand_in_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	const struct wf_query query = { version, node, service, flags, hints };
	const char *name = wf_getinfo_asked()->name;
	struct fi_info *list = NULL, *found, **end = &list;
	int err = 0;

	for (const struct wf_stand_in *row = wf_stand_ins; row->name && !err; row++) {
		if (!stand_in_same_name(row, name) || !stand_in_fits(row, hints))
			continue;
		err = stand_in_ask_base(row, &query, &found);
		if (err == -FI_ENODATA)
			err = 0;
		else if (!err)
			end = stand_in_take(row, found, end);
	}
	if (err) {
		wf_freeinfo(list);
		return err;
	}
	*ret_info = list;
	return list ? 0 : -FI_ENODATA;
}

static bool stand_in_has_base(const char *name)
{
	for (const struct wf_stand_in *row = wf_stand_ins; row->name; row++)
		if (stand_in_same_name(row, name) &&
			wf_registry_find(
				&(struct wf_layer){ row->base, strlen(row->base) }))
			return true;
	return false;
}

void wf_stand_ins_register(void)
{
	static const struct wf_prov_source source = {
		.origin = "the table of stand-ins", .by_name_only = true
	};
	struct fi_provider *prov = providers;

	for (const struct wf_stand_in *row = wf_stand_ins; row->name; row++) {
		struct wf_layer name = { row->name, strlen(row->name) };

		/* The name is taken by a real provider, or by an earlier row. */
		if (wf_registry_find(&name) || !stand_in_has_base(row->name))
			continue;
		assert(prov < providers + NAMES_MAX);
		*prov = (struct fi_provider){
			.name = row->name,
			.version = FI_VERSION(
				FI_MAJOR_VERSION * 100 + FI_MINOR_VERSION, 0),
			.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
			.getinfo = stand_in_getinfo,
			.fabric = wf_stand_in_fabric,
		};
		(void)wf_registry_add(prov++, &source, true);
	}
}
