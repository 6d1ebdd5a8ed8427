/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "core/log/log.h"
#include "core/missing.h"
#include "core/params/settings.h"
#include "core/registry.h"
#include "sys/nearest.h"

enum { TEXT_SIZE = 192, HINT_SIZE = 96 };

/* "; did you mean tcp?", or nothing: the provider whose name is most similar to @name,
 * with its prefix or without it. */
static const char *missing_similar(const struct wf_layer *name, char hint[HINT_SIZE])
{
	char word[FI_NAME_MAX];
	struct wf_nearest nearest, brief;

	(void)snprintf(word, sizeof(word), "%.*s", (int)name->len, name->text);
	nearest = wf_nearest_to(word);
	wf_nearest_offer(&nearest, wf_core_prov.name);
	wf_registry_foreach(entry)
	{
		wf_nearest_offer(&nearest, entry->prov->name);
		brief = nearest;
		wf_nearest_offer(&brief, wf_prov_short_name(entry->prov->name));
		if (brief.distance == nearest.distance)
			continue;
		nearest = brief;
		nearest.name = entry->prov->name;
	}
	return wf_nearest_hint(&nearest, hint, HINT_SIZE);
}

/* The same for hooks, with the names that FI_HOOK accepts. */
static const char *missing_similar_hook(
	const struct wf_layer *name, char hint[HINT_SIZE])
{
	char word[FI_NAME_MAX];
	struct wf_nearest nearest;

	(void)snprintf(word, sizeof(word), "%.*s", (int)name->len, name->text);
	nearest = wf_nearest_to(word);
	wf_registry_foreach(entry)
	{
		if (wf_prov_kind(entry->prov->name) == WF_PROV_HOOK)
			wf_nearest_offer(
				&nearest, wf_prov_short_name(entry->prov->name) +
						  strlen("hook_"));
	}
	return wf_nearest_hint(&nearest, hint, HINT_SIZE);
}

/* The warning that a provider does not exist, or has no device: "there is no @what
 * verbs here; tcp would serve". */
static const char *missing_describe(
	char text[TEXT_SIZE], const char *what, const struct wf_layer *name)
{
	const struct wf_known_prov *known = wf_prov_known(name);
	char hint[HINT_SIZE] = "";

	if (known && known->instead)
		(void)snprintf(hint, sizeof(hint), "; %s would serve", known->instead);
	else if (!known)
		(void)missing_similar(name, hint);
	(void)snprintf(text, TEXT_SIZE, "there is no %s %.*s here%s", what,
		(int)name->len, name->text, hint);
	return text;
}

static bool missing_all_present(const struct wf_layers *names)
{
	for (unsigned int i = 0; i < names->count; i++)
		if (!wf_registry_find(&names->layer[i]))
			return false;
	return true;
}

/* Does an item of the list name a provider that exists? */
static bool missing_names_any(const struct wf_prov_filter *filter)
{
	for (unsigned int i = 0; i < filter->count; i++)
		if (missing_all_present(&filter->items[i]))
			return true;
	return false;
}

static void missing_tell(const char *what, const struct wf_layer *name, bool useless)
{
	char text[TEXT_SIZE];

	(void)missing_describe(text, what, name);
	if (useless || !wf_prov_known(name))
		wf_log_notice(&wf_core_prov, "FI_PROVIDER: %s", text);
	else
		FI_WARN(&wf_core_prov, FI_LOG_CORE, "FI_PROVIDER: %s\n", text);
}

void wf_missing_in_filter(const struct wf_prov_filter *filter)
{
	bool useless = !missing_names_any(filter);

	for (unsigned int i = 0; !filter->negated && i < filter->count; i++)
		for (unsigned int j = 0; j < filter->items[i].count; j++)
			if (!wf_registry_find(&filter->items[i].layer[j]))
				missing_tell("provider", &filter->items[i].layer[j],
					useless);
}

void wf_missing_in_log(void)
{
	char hint[HINT_SIZE];

	for (const char *text = wf_log_next_prov(NULL); text;
		text = wf_log_next_prov(text)) {
		struct wf_layer name = { text, strlen(text) };

		if (wf_registry_find(&name) || wf_prov_known(&name) ||
			wf_layer_is(&name, wf_core_prov.name))
			continue;
		wf_log_notice(&wf_core_prov, "FI_LOG_PROV: no provider is called %s%s",
			text, missing_similar(&name, hint));
	}
}

void wf_missing_hook(const struct wf_layer *name)
{
	char hint[HINT_SIZE];

	wf_log_notice(&wf_core_prov, "FI_HOOK: there is no hook %.*s%s", (int)name->len,
		name->text, missing_similar_hook(name, hint));
}

/* Is this the first message about the provider? Safe for any thread. */
static bool missing_is_news(const struct wf_known_prov *known)
{
	static atomic_bool said[WF_RANKS];

	return !atomic_exchange_explicit(
		&said[known - wf_known_provs], true, memory_order_relaxed);
}

void wf_missing_in_hints(const struct wf_layers *names)
{
	char text[TEXT_SIZE];

	for (unsigned int i = 0; i < names->count; i++) {
		const struct wf_layer *name = &names->layer[i];
		const struct wf_known_prov *known = wf_prov_known(name);

		if (wf_registry_find(name) || (known && !missing_is_news(known)))
			continue;
		FI_INFO(&wf_core_prov, FI_LOG_CORE,
			"refused: prov_name: asked %.*s, possible none: %s\n",
			(int)name->len, name->text,
			memchr(name->text, ',', name->len)
				? "hints have one name, and FI_PROVIDER a list"
				: missing_describe(text, "provider", name));
	}
}

void wf_missing_device(const struct wf_prov_entry *entry)
{
	const struct wf_layer name = { entry->prov->name, strlen(entry->prov->name) };
	const struct wf_prov_filter *filter = &wf_settings.providers;
	const struct wf_known_prov *known = wf_prov_known(&name);
	char text[TEXT_SIZE];

	if (!wf_prov_filter_names(filter, entry->prov->name))
		FI_INFO(entry->prov, FI_LOG_CORE, "refused: %s\n",
			missing_describe(text, "device of", &name));
	else if (known && missing_is_news(known))
		missing_tell("device of", &name, filter->count == 1);
}
