/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "core/params/settings.h"

/* Append the provider's name to the prov_name of its result: "udp" from the layer
 * ofi_rxd becomes "udp;ofi_rxd". Without a prov_name the result gets the provider's.
 * False: out of memory. */
static bool result_complete_name(struct fi_fabric_attr *attr, const char *prov_name)
{
	struct wf_layers name;
	char *full;

	if (attr->prov_name && *attr->prov_name &&
		wf_layers_parse(attr->prov_name, strlen(attr->prov_name), &name)) {
		if (wf_layer_is(wf_layers_top(&name), prov_name))
			return true;
		if (asprintf(&full, "%s;%s", attr->prov_name, prov_name) < 0)
			return false;
	} else {
		full = strdup(prov_name);
		if (!full)
			return false;
	}
	free(attr->prov_name);
	attr->prov_name = full;
	return true;
}

/* Does the name of a result match the prov_name of the hints? */
static bool result_name_matches(
	const struct wf_question *q, const struct wf_layers *name)
{
	if (name->count > 1 && q->name.count < 2 &&
		wf_question_named_base(&name->layer[0]))
		return false;
	for (unsigned int i = 0; i < q->without.count; i++)
		if (wf_layers_include(name, &q->without.layer[i]))
			return false;
	if (q->name.count == 1)
		return wf_layers_include(name, &q->name.layer[0]);
	return wf_layers_begin_with(name, &q->name);
}

static bool result_format_wanted(const struct fi_info *info)
{
	return !wf_settings.has_addr_format ||
	       info->addr_format == wf_settings.addr_format;
}

static void result_log_format(const struct wf_prov_entry *entry, uint32_t possible)
{
	char asked[64], offered[64];

	(void)fi_tostr_r(
		asked, sizeof(asked), &wf_settings.addr_format, FI_TYPE_ADDR_FORMAT);
	(void)fi_tostr_r(offered, sizeof(offered), &possible, FI_TYPE_ADDR_FORMAT);
	wf_question_refused(entry, "FI_ADDR_FORMAT", asked, offered);
}

static bool result_named_as_asked(const struct wf_prov_entry *entry, const char *field,
	const char *asked, const char *name)
{
	if (!asked || (name && !strcasecmp(asked, name)))
		return true;
	wf_question_refused(entry, field, asked, name ? name : "(none)");
	return false;
}

/* Does the result have the fabric and domain names of the hints? Checked here because
 * loaded providers may ignore them. */
static bool result_names_match(const struct wf_question *q,
	const struct wf_prov_entry *entry, const struct fi_info *info)
{
	const struct fi_fabric_attr *fabric = q->hints ? q->hints->fabric_attr : NULL;
	const struct fi_domain_attr *domain = q->hints ? q->hints->domain_attr : NULL;

	return result_named_as_asked(entry, "fabric_attr.name",
		       fabric ? fabric->name : NULL, info->fabric_attr->name) &&
	       result_named_as_asked(entry, "domain_attr.name",
		       domain ? domain->name : NULL, info->domain_attr->name);
}

/* The rank of a result. If the hints ask only for peers on this machine, providers that
 * reach no others rank before all others. */
static unsigned int result_rank_of(
	const struct wf_question *q, const struct wf_layers *name)
{
	const struct wf_known_prov *known = wf_prov_known(&name->layer[0]);
	uint64_t reach =
		q->hints ? q->hints->caps & (FI_LOCAL_COMM | FI_REMOTE_COMM) : 0;
	bool first = reach != FI_LOCAL_COMM || (known && known->one_machine);

	return wf_prov_rank(name) + (first ? 0 : WF_RANKS);
}

bool wf_result_accept(const struct wf_question *q, const struct wf_prov_entry *entry,
	struct fi_info *info, unsigned int *ret_rank)
{
	struct fi_fabric_attr *attr = info->fabric_attr;
	struct wf_layers name;

	if (!attr || !info->domain_attr || !info->ep_attr || !info->tx_attr ||
		!info->rx_attr) {
		FI_WARN(entry->prov, FI_LOG_CORE,
			"a result without all attribute structs is left out\n");
		return false;
	}
	if (!result_complete_name(attr, entry->prov->name) ||
		!wf_layers_parse(attr->prov_name, strlen(attr->prov_name), &name)) {
		FI_WARN(entry->prov, FI_LOG_CORE,
			"a result is left out: no memory for its name, or more than %d "
			"layers\n",
			WF_LAYERS_MAX);
		return false;
	}
	attr->prov_version = entry->prov->version;
	attr->api_version = q->version;
	if (!result_names_match(q, entry, info))
		return false;
	if (!result_name_matches(q, &name)) {
		wf_question_refused(entry, "prov_name",
			q->name.count || q->without.count ? q->asked_name
							  : "no layer by name",
			attr->prov_name);
		return false;
	}
	if (!q->nested &&
		!wf_prov_filter_admits_result(&wf_settings.providers, &name)) {
		wf_question_refused(entry, "FI_PROVIDER", wf_settings.providers.text,
			attr->prov_name);
		return false;
	}
	if (!q->nested && !result_format_wanted(info)) {
		result_log_format(entry, info->addr_format);
		return false;
	}
	*ret_rank = result_rank_of(q, &name);
	return true;
}
