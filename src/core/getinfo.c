/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "core/getinfo.h"
#include "core/info.h"
#include "core/init.h"
#include "core/log/line.h"
#include "core/log/log.h"
#include "core/missing.h"
#include "core/question.h"
#include "core/registry.h"
#include "core/result.h"
#include "core/params/settings.h"
#include "sys/compiler.h"

/*
 * fi_getinfo: ask each provider that may have an answer, check and complete its
 * results, and return all of them in the fixed order.
 *
 * Layers. A provider that works on top of others calls fi_getinfo itself, from within
 * its getinfo, to learn which providers it can use. Such a call does not ask providers
 * whose getinfo the thread is in already, so that a layer is never below itself; and
 * FI_PROVIDER and FI_ADDR_FORMAT filter only the answer for the application. The layer
 * returns the prov_name of the provider below, and this file appends the layer's own
 * name. Layers of other libraries put their name with a ^ into the prov_name of hints,
 * possibly behind a transport ("tcp;^ofi_rxm"), to exclude providers below that contain
 * the layer itself.
 *
 * No lock: the registry is constant, and everything else is on the stack of the calling
 * thread.
 */

/* One list for each rank in the fixed order; the second half is for results that the
 * hints rank behind all others. */
enum { RANKS = 2 * WF_RANKS };

#define KNOWN_FLAGS (FI_SOURCE | FI_NUMERICHOST | FI_RESCAN | FI_PROV_ATTR_ONLY)
/* Layers of other libraries use these among themselves. */
#define PRIVATE_FLAGS (~UINT64_C(0) << 58)

struct answer {
	struct fi_info *head[RANKS]; /* first and last element of each list, or NULL */
	struct fi_info *last[RANKS];
};

/* A provider whose getinfo the calling thread is in: a list, the innermost first. */
struct asking {
	const struct wf_question *question; /* what the provider is asked */
	const struct wf_prov_entry *entry;  /* the provider */
	const struct asking *outer;         /* the call around this one; NULL: none */
};

static _Thread_local const struct asking *asking;

static bool getinfo_being_asked(const struct wf_prov_entry *entry)
{
	for (const struct asking *it = asking; it; it = it->outer) {
		if (it->entry == entry)
			return true;
	}
	return false;
}

static void getinfo_append(
	struct answer *answer, unsigned int rank, struct fi_info *info)
{
	assert(rank < RANKS);
	info->next = NULL;
	if (answer->last[rank])
		answer->last[rank]->next = info;
	else
		answer->head[rank] = info;
	answer->last[rank] = info;
}

static struct fi_info *getinfo_joined(const struct answer *answer)
{
	struct fi_info *list = NULL;

	for (unsigned int rank = RANKS; rank-- > 0;) {
		if (!answer->head[rank])
			continue;
		answer->last[rank]->next = list;
		list = answer->head[rank];
	}
	return list;
}

/* FI_PROV_ATTR_ONLY: list all providers, also those that are filtered or unusable. */
static int getinfo_list_providers(struct answer *answer)
{
	wf_registry_foreach(entry)
	{
		struct fi_info *info = wf_dupinfo(NULL);

		if (!info)
			return -FI_ENOMEM;
		getinfo_append(answer, entry->rank, info);
		info->fabric_attr->prov_version = entry->prov->version;
		info->fabric_attr->prov_name = strdup(entry->prov->name);
		if (!info->fabric_attr->prov_name)
			return -FI_ENOMEM;
	}
	return 0;
}

/* Do hints with @name select the provider? The name of a transport selects that
 * provider and every layer that may use it; the name of a layer, or a layered name,
 * selects that layer only. An offload provider has to be named. */
static bool getinfo_name_leads_to(const struct wf_layers *name, const char *prov_name)
{
	enum wf_prov_kind kind = wf_prov_kind(prov_name);

	if (!name->count)
		return kind != WF_PROV_OFFLOAD;
	if (wf_layer_is(wf_layers_top(name), prov_name))
		return true;
	return name->count == 1 && kind == WF_PROV_UTIL &&
	       wf_prov_kind(name->layer[0].text) == WF_PROV_CORE &&
	       !wf_question_named_base(&name->layer[0]);
}

static void getinfo_log_versions(const struct wf_prov_entry *entry, const char *field,
	uint32_t asked, uint32_t possible)
{
	FI_INFO(entry->prov, FI_LOG_CORE, "refused: %s: asked %u.%u, possible %u.%u\n",
		field, FI_MAJOR(asked), FI_MINOR(asked), FI_MAJOR(possible),
		FI_MINOR(possible));
}

/* Has the user set the parameter that counts as a name of the provider
 * (wf_known_prov.named_by)? */
static bool getinfo_asked_by_parameter(const struct wf_prov_entry *entry)
{
	const char *name = entry->prov->name;
	const struct wf_known_prov *known =
		wf_prov_known(&(struct wf_layer){ name, strlen(name) });
	char *text = NULL;

	return known && known->named_by &&
	       !fi_param_get_str(entry->prov, known->named_by, &text) && text && *text;
}

/* Do the hints name the provider, or, if they name none and an application asks, the
 * user? */
static bool getinfo_is_named(
	const struct wf_question *q, const struct wf_prov_entry *entry)
{
	const char *name = entry->prov->name;

	if (wf_layers_contain(&q->name, name))
		return true;
	return !q->nested && !q->name.count &&
	       (wf_prov_filter_names(&wf_settings.providers, name) ||
		       getinfo_asked_by_parameter(entry));
}

/* The row of @entry, whose layer may answer over some transports without being named;
 * NULL: it is none. */
static const struct wf_known_prov *getinfo_known_layer(
	const struct wf_prov_entry *entry)
{
	const char *name = entry->prov->name;
	const struct wf_known_prov *known =
		wf_prov_known(&(struct wf_layer){ name, strlen(name) });

	return known && (known->completes || known->behind) ? known : NULL;
}

static bool getinfo_is_layer(const struct wf_layer *layer, const char *name)
{
	return name && wf_layer_is(layer, name);
}

static bool getinfo_is_there(const char *name)
{
	return name && wf_registry_find(&(struct wf_layer){ name, strlen(name) });
}

/* May the layer @known answer behind a transport? A list of wanted names in FI_PROVIDER
 * names all that may answer. */
static bool getinfo_may_be_behind(const struct wf_known_prov *known)
{
	const struct wf_prov_filter *filter = &wf_settings.providers;

	return getinfo_is_there(known->behind) && (!filter->active || filter->negated);
}

/* Is @transport one over which the layer @known answers without being named? */
static bool getinfo_is_base_of(
	const struct wf_known_prov *known, const struct wf_layer *transport)
{
	return getinfo_is_layer(transport, known->completes) ||
	       (getinfo_is_layer(transport, known->behind) &&
		       getinfo_may_be_behind(known));
}

/* Is @entry asked for the transport that it completes, or behind another one? An
 * application that names none asks for all transports. */
static bool getinfo_is_wanted_over_base(
	const struct wf_question *q, const struct wf_prov_entry *entry)
{
	const struct wf_known_prov *known = getinfo_known_layer(entry);

	if (!known)
		return false;
	if (q->name.count)
		return getinfo_is_layer(&q->name.layer[0], known->completes) &&
		       getinfo_is_there(known->completes);
	return !q->nested &&
	       (getinfo_is_there(known->completes) || getinfo_may_be_behind(known));
}

/* Is this a call of a layer that was not named, and @entry another transport than those
 * that it answers over then? */
static bool getinfo_is_not_base(const struct wf_prov_entry *entry)
{
	const struct wf_prov_entry *layer = asking ? asking->entry : NULL;
	const struct wf_known_prov *known;
	const char *name = entry->prov->name;

	if (!layer || !layer->by_name_only || getinfo_is_named(asking->question, layer))
		return false;
	known = getinfo_known_layer(layer);
	return known &&
	       !getinfo_is_base_of(known, &(struct wf_layer){ name, strlen(name) });
}

/* Does FI_PROVIDER hide the provider from this call? Layers may still use some hidden
 * providers by name, as may the provider that an offload provider works for. */
static bool getinfo_out_of_reach(
	const struct wf_question *q, const struct wf_prov_entry *entry)
{
	bool inside = q->nested || wf_prov_kind(entry->prov->name) == WF_PROV_OFFLOAD;
	bool by_name = inside && q->name.count;

	return entry->hidden && !(by_name && wf_prov_usable_by_name(entry));
}

/* Is this a call of a layer without a name in the hints, for a transport that answers
 * layers only if the application's hints name it? */
static bool getinfo_useless_below(const struct wf_question *q, const char *prov_name)
{
	return q->nested && !q->name.count &&
	       !wf_layers_contain(&asking->question->name, prov_name) &&
	       wf_question_named_base(
		       &(struct wf_layer){ prov_name, strlen(prov_name) });
}

/* Does a transport ask, for itself? The application has not asked what is refused. */
static bool getinfo_is_from_transport(const struct wf_question *q)
{
	return q->nested && !asking->entry->by_name_only;
}

static bool getinfo_worth_asking(
	const struct wf_question *q, const struct wf_prov_entry *entry)
{
	const struct fi_provider *prov = entry->prov;

	/* Hooks have no results; fi_fabric puts them in front of fabrics. */
	if (!prov->getinfo || getinfo_being_asked(entry) ||
		getinfo_is_not_base(entry) || getinfo_useless_below(q, prov->name))
		return false;
	if (getinfo_out_of_reach(q, entry)) {
		wf_question_refused(
			entry, "FI_PROVIDER", wf_settings.providers.text, prov->name);
		return false;
	}
	if (!getinfo_name_leads_to(&q->name, prov->name) ||
		wf_layers_contain(&q->without, prov->name)) {
		if (!getinfo_is_from_transport(q))
			wf_question_refused(entry, "prov_name",
				q->asked_name ? q->asked_name : "none",
				q->asked_name ? prov->name : "only by name");
		return false;
	}
	if (entry->by_name_only && !getinfo_is_named(q, entry) &&
		!getinfo_is_wanted_over_base(q, entry)) {
		wf_question_refused(entry, "prov_name",
			q->asked_name ? q->asked_name : "none", "only by name");
		return false;
	}
	if (FI_VERSION_LT(prov->fi_version, q->version)) {
		getinfo_log_versions(entry, "version", q->version, prov->fi_version);
		return false;
	}
	if (q->prov_version > prov->version) {
		getinfo_log_versions(
			entry, "prov_version", q->prov_version, prov->version);
		return false;
	}
	return true;
}

static struct fi_info *getinfo_call_provider(
	const struct wf_question *q, const struct wf_prov_entry *entry)
{
	struct asking here = { .question = q, .entry = entry, .outer = asking };
	struct fi_info *list = NULL;
	int err;

	asking = &here;
	err = entry->prov->getinfo(
		q->version, q->node, q->service, q->flags, q->hints, &list);
	asking = here.outer;
	if (!err)
		return list;
	if (err == -FI_ENODEV) {
		wf_missing_device(entry);
		return NULL;
	}
	FI_LOG(entry->prov, err == -FI_ENODATA ? FI_LOG_INFO : FI_LOG_WARN, FI_LOG_CORE,
		"no results: %s (%d)\n", fi_strerror(-err), err);
	return NULL;
}

/* Is @info the answer of a layer that was not named, over another transport than those
 * of getinfo_is_base_of()? Layers of other libraries return such answers. */
static bool getinfo_is_unasked(const struct wf_question *q,
	const struct wf_prov_entry *entry, const struct fi_info *info)
{
	const struct fi_fabric_attr *attr = info->fabric_attr;
	struct wf_layers name;

	if (!entry->by_name_only || getinfo_is_named(q, entry))
		return false;
	return !attr || !attr->prov_name ||
	       !wf_layers_parse(attr->prov_name, strlen(attr->prov_name), &name) ||
	       !getinfo_is_base_of(getinfo_known_layer(entry), &name.layer[0]);
}

static void getinfo_ask(const struct wf_question *q, const struct wf_prov_entry *entry,
	struct answer *answer)
{
	struct fi_info *info, *next;
	unsigned int rank;

	for (info = getinfo_call_provider(q, entry); info; info = next) {
		next = info->next;
		info->next = NULL;
		if (!getinfo_is_unasked(q, entry, info) &&
			wf_result_accept(q, entry, info, &rank))
			getinfo_append(answer, rank, info);
		else
			wf_freeinfo(info);
	}
}

static void getinfo_take_exclusions(struct wf_question *q)
{
	struct wf_layers all = q->name;

	q->name.count = 0;
	for (unsigned int i = 0; i < all.count; i++) {
		struct wf_layer layer = all.layer[i];

		if (*layer.text != '^') {
			q->name.layer[q->name.count++] = layer;
		} else {
			layer.text++;
			layer.len--;
			q->without.layer[q->without.count++] = layer;
		}
	}
}

/* Read prov_name and prov_version of the hints. -FI_ENODATA: prov_name is malformed. */
static int getinfo_parse_hints(struct wf_question *q)
{
	const struct fi_fabric_attr *attr = q->hints ? q->hints->fabric_attr : NULL;

	if (!attr)
		return 0;
	q->prov_version = attr->prov_version;
	if (!attr->prov_name || !*attr->prov_name)
		return 0;
	q->asked_name = attr->prov_name;
	if (wf_layers_parse(attr->prov_name, strlen(attr->prov_name), &q->name)) {
		getinfo_take_exclusions(q);
		wf_missing_in_hints(&q->name);
		return 0;
	}
	FI_INFO(&wf_core_prov, FI_LOG_CORE,
		"refused: prov_name: asked %s, possible at most %d names with one ; "
		"between them\n",
		attr->prov_name, WF_LAYERS_MAX);
	return -FI_ENODATA;
}

/* For API versions before 2.0 unknown flags are ignored. */
static int getinfo_check_flags(const struct wf_question *q)
{
	uint64_t unknown = q->flags & ~(KNOWN_FLAGS | PRIVATE_FLAGS);

	if (!unknown || q->nested || FI_VERSION_LT(q->version, FI_VERSION(2, 0)))
		return 0;
	FI_WARN(&wf_core_prov, FI_LOG_CORE,
		"refused: flags: asked 0x%llx, possible FI_SOURCE, FI_NUMERICHOST, "
		"FI_RESCAN, FI_PROV_ATTR_ONLY\n",
		(unsigned long long)unknown);
	return -FI_EBADFLAGS;
}

int wf_getinfo_from(
	const char *name, const struct wf_query *query, struct fi_info **ret_info)
{
	struct wf_question q = { .version = query->version,
		.node = query->node,
		.service = query->service,
		.flags = query->flags,
		.hints = query->hints,
		.nested = true,
		.asked_name = name,
		.name = { 1, { { name, strlen(name) } } } };
	const struct wf_prov_entry *entry = wf_registry_find(&q.name.layer[0]);
	struct answer answer = { 0 };

	if (entry && getinfo_worth_asking(&q, entry))
		getinfo_ask(&q, entry, &answer);
	*ret_info = getinfo_joined(&answer);
	return *ret_info ? 0 : -FI_ENODATA;
}

const struct fi_provider *wf_getinfo_asked(void)
{
	return asking->entry->prov;
}

static int getinfo_answer_question(struct wf_question *q, struct fi_info **ret_info)
{
	struct answer answer = { 0 };
	struct fi_info *list;
	int err = 0;

	if (FI_VERSION_LT(fi_version(), q->version)) {
		wf_log_notice(&wf_core_prov,
			"refused: version: asked %u.%u, possible up to %u.%u",
			FI_MAJOR(q->version), FI_MINOR(q->version),
			FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
		return -FI_ENOSYS;
	}
	wf_core_init();
	if (q->flags == FI_PROV_ATTR_ONLY) {
		err = getinfo_list_providers(&answer);
	} else {
		err = getinfo_check_flags(q);
		if (!err)
			err = getinfo_parse_hints(q);
		if (err)
			return err;
		wf_registry_foreach(entry)
		{
			if (getinfo_worth_asking(q, entry))
				getinfo_ask(q, entry, &answer);
		}
	}
	list = getinfo_joined(&answer);
	if (err) {
		wf_freeinfo(list);
		return err;
	}
	*ret_info = list;
	return list ? 0 : -FI_ENODATA;
}

int wf_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	struct wf_question q = { .version = version,
		.node = node,
		.service = service,
		.flags = flags,
		.hints = hints,
		.nested = asking != NULL };
	const char *asker = wf_log_asker;
	int ret;

	if (!ret_info)
		return -FI_EINVAL;
	*ret_info = NULL;
	if (asking)
		wf_log_asker = asking->entry->prov->name;
	ret = getinfo_answer_question(&q, ret_info);
	wf_log_asker = asker;
	return ret;
}
