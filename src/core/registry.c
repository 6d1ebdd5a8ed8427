/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "core/log/log.h"
#include "core/params/param.h"
#include "core/registry.h"
#include "core/params/settings.h"

/* Before this version struct fi_provider had another layout. */
#define OLDEST_FI_VERSION FI_VERSION(1, 3)

struct wf_list wf_registry = { &wf_registry, &wf_registry };

const struct wf_known_prov *wf_prov_known(const struct wf_layer *name)
{
	for (const struct wf_known_prov *known = wf_known_provs; known->name; known++) {
		if (wf_layer_is(name, known->name))
			return known;
	}
	return NULL;
}

static unsigned int registry_rank_of(const struct wf_known_prov *known)
{
	return (unsigned int)(known - wf_known_provs);
}

static unsigned int registry_last_rank(void)
{
	const struct wf_known_prov *known = wf_known_provs;

	while (known->name)
		known++;
	return registry_rank_of(known);
}

unsigned int wf_prov_rank(const struct wf_layers *name)
{
	const struct wf_known_prov *known;
	struct wf_layers layers;

	for (known = wf_known_provs; name->count > 1 && known->name; known++) {
		if (wf_layers_parse(known->name, strlen(known->name), &layers) &&
			layers.count == name->count &&
			wf_layers_begin_with(name, &layers))
			return registry_rank_of(known);
	}
	known = wf_prov_known(wf_layers_top(name));
	return known ? registry_rank_of(known) : registry_last_rank();
}

struct wf_prov_entry *wf_registry_find(const struct wf_layer *name)
{
	wf_registry_foreach(entry)
	{
		if (wf_layer_is(name, entry->prov->name))
			return entry;
	}
	return NULL;
}

bool wf_prov_usable_by_name(const struct wf_prov_entry *entry)
{
	return !entry->hidden || !wf_settings.providers.negated;
}

bool wf_registry_has_dl(const void *dl)
{
	wf_registry_foreach(entry)
	{
		if (entry->dl == dl)
			return true;
	}
	return false;
}

/* Delete the parameters before cleanup, after which the provider's memory may be
 * gone. */
static void registry_clean_up(struct fi_provider *prov)
{
	wf_params_forget(prov);
	if (prov->cleanup)
		prov->cleanup();
}

static void registry_release(struct fi_provider *prov, void *dl)
{
	registry_clean_up(prov);
	if (dl)
		(void)dlclose(dl);
}

/* Why @prov cannot be registered, or NULL. */
static const char *registry_defect(const struct fi_provider *prov)
{
	if (!wf_prov_name_valid(prov->name))
		return "its name is not 1 to 63 letters, digits, \"_\", \"-\" or \".\"";
	if (FI_VERSION_LT(prov->fi_version, OLDEST_FI_VERSION))
		return "it was made for an interface older than 1.3";
	if (!prov->fabric)
		return "it has no fabric callback";
	return NULL;
}

static void registry_print_version(char buf[16], uint32_t version)
{
	(void)snprintf(buf, 16, "%u.%u", FI_MAJOR(version), FI_MINOR(version));
}

/* Log which of two providers of one name was kept. */
static void registry_log_choice(const struct fi_provider *kept, const char *kept_origin,
	const struct fi_provider *left, const char *left_origin)
{
	char kept_version[16], left_version[16];

	registry_print_version(kept_version, kept->version);
	registry_print_version(left_version, left->version);
	FI_INFO(&wf_core_prov, FI_LOG_CORE,
		"provider %s: %s from %s is used, %s from %s is not\n", kept->name,
		kept_version, kept_origin, left_version, left_origin);
}

static bool registry_beats(const struct fi_provider *prov,
	const struct wf_prov_source *source, const struct wf_prov_entry *old,
	bool first_wins)
{
	if (source->preferred || old->preferred)
		return !old->preferred;
	return !first_wins && prov->version > old->prov->version;
}

static void registry_insert_in_order(struct wf_prov_entry *entry)
{
	struct wf_list *pos = wf_registry.prev;

	while (pos != &wf_registry &&
		wf_list_entry(pos, struct wf_prov_entry, link)->rank > entry->rank)
		pos = pos->prev;
	wf_list_insert_after(pos, &entry->link);
}

static void registry_free_entry(struct wf_prov_entry *entry)
{
	wf_list_remove(&entry->link);
	registry_release(entry->prov, entry->dl);
	free(entry->origin);
	free(entry);
}

static struct wf_prov_entry *registry_new_entry(
	struct fi_provider *prov, const struct wf_prov_source *source)
{
	struct wf_prov_entry *entry = calloc(1, sizeof(*entry));
	struct wf_layers name = { 1, { { prov->name, strlen(prov->name) } } };
	const struct wf_known_prov *known;

	if (!entry)
		return NULL;
	entry->origin = strdup(source->origin);
	if (!entry->origin) {
		free(entry);
		return NULL;
	}
	entry->prov = prov;
	entry->dl = source->dl;
	entry->preferred = source->preferred;
	entry->hidden = !wf_prov_filter_admits(&wf_settings.providers, prov->name);
	/* The rank in the list of providers; each result has a rank of its own. */
	entry->rank = source->by_name_only ? registry_last_rank() : wf_prov_rank(&name);
	known = wf_prov_known(&name.layer[0]);
	entry->by_name_only = source->by_name_only || (known && known->by_name_only);
	return entry;
}

int wf_registry_add(
	struct fi_provider *prov, const struct wf_prov_source *source, bool first_wins)
{
	struct wf_prov_entry *old, *entry;
	const char *why = registry_defect(prov);
	int err = -FI_EINVAL;

	if (why)
		goto refuse;
	old = wf_registry_find(&(struct wf_layer){ prov->name, strlen(prov->name) });
	if (old && !registry_beats(prov, source, old, first_wins)) {
		registry_log_choice(old->prov, old->origin, prov, source->origin);
		err = -FI_EALREADY;
		goto release;
	}
	entry = registry_new_entry(prov, source);
	if (!entry) {
		why = "out of memory";
		goto refuse;
	}
	if (old) {
		registry_log_choice(prov, source->origin, old->prov, old->origin);
		registry_free_entry(old);
	}
	registry_insert_in_order(entry);
	return 0;

refuse:
	FI_WARN(&wf_core_prov, FI_LOG_CORE, "provider from %s is refused: %s\n",
		source->origin, why);
release:
	registry_release(prov, source->dl);
	return err;
}

/* Clean up all providers before unloading the first: objects of one provider may call
 * code of another, as the NIC in an fi_info does. */
void wf_registry_done(void)
{
	wf_list_foreach(entry_link, &wf_registry) registry_clean_up(
		wf_list_entry(entry_link, struct wf_prov_entry, link)->prov);
	wf_list_foreach_safe(it, &wf_registry)
	{
		struct wf_prov_entry *entry =
			wf_list_entry(it, struct wf_prov_entry, link);

		wf_list_remove(&entry->link);
		if (entry->dl)
			(void)dlclose(entry->dl);
		free(entry->origin);
		free(entry);
	}
}
