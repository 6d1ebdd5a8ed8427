/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>

#include "core/log/log.h"
#include "core/prov_filter.h"

static const char blanks[] = " \t\r\n";

/* The next item of a comma list, without the blanks around it. False at the end. */
static bool prov_filter_next_item(const char **cursor, struct wf_layer *item)
{
	const char *text = *cursor;

	if (!*text)
		return false;
	item->len = strcspn(text, ",");
	*cursor = text + item->len + (text[item->len] == ',');
	while (item->len && strchr(blanks, *text)) {
		text++;
		item->len--;
	}
	while (item->len && strchr(blanks, text[item->len - 1]))
		item->len--;
	item->text = text;
	return true;
}

static void prov_filter_add_item(
	struct wf_prov_filter *filter, const struct wf_layer *item)
{
	struct wf_layers *layers = &filter->items[filter->count];

	if (!item->len)
		return;
	if (memchr(item->text, '^', item->len) ||
		!wf_layers_parse(item->text, item->len, layers)) {
		FI_WARN(&wf_core_prov, FI_LOG_CORE,
			"FI_PROVIDER: \"%.*s\" is ignored: not a name or a;b, and ^ "
			"may stand only in front of the list\n",
			(int)item->len, item->text);
		return;
	}
	filter->count++;
}

int wf_prov_filter_init(struct wf_prov_filter *filter, const char *text)
{
	struct wf_layer item;
	const char *cursor;
	size_t commas = 0;

	*filter = (struct wf_prov_filter){ 0 };
	if (!text)
		return 0;
	text += strspn(text, blanks);
	if (!*text)
		return 0;
	filter->negated = *text == '^';
	for (cursor = text; *cursor; cursor++)
		commas += *cursor == ',';
	filter->text = strdup(text);
	filter->items = calloc(commas + 1, sizeof(*filter->items));
	if (!filter->text || !filter->items) {
		wf_prov_filter_done(filter);
		return -FI_ENOMEM;
	}
	filter->active = true;
	cursor = filter->text + filter->negated;
	while (prov_filter_next_item(&cursor, &item))
		prov_filter_add_item(filter, &item);
	return 0;
}

void wf_prov_filter_done(struct wf_prov_filter *filter)
{
	free(filter->items);
	free(filter->text);
	*filter = (struct wf_prov_filter){ 0 };
}

bool wf_prov_filter_admits(const struct wf_prov_filter *filter, const char *name)
{
	if (!filter->active || (!filter->negated && wf_prov_kind(name) != WF_PROV_CORE))
		return true;
	for (unsigned int i = 0; i < filter->count; i++) {
		const struct wf_layers *item = &filter->items[i];

		/* "^a;b" excludes only the combination of both. */
		if (filter->negated && item->count > 1)
			continue;
		if (wf_layers_contain(item, name))
			return !filter->negated;
	}
	return filter->negated;
}

bool wf_prov_filter_names(const struct wf_prov_filter *filter, const char *name)
{
	for (unsigned int i = 0; !filter->negated && i < filter->count; i++)
		if (wf_layers_contain(&filter->items[i], name))
			return true;
	return false;
}

bool wf_prov_filter_admits_result(
	const struct wf_prov_filter *filter, const struct wf_layers *name)
{
	if (!filter->active ||
		(!filter->negated && wf_prov_kind(name->layer[0].text) != WF_PROV_CORE))
		return true;
	for (unsigned int i = 0; i < filter->count; i++) {
		const struct wf_layers *item = &filter->items[i];
		bool hit = filter->negated && item->count == 1
				   ? wf_layers_include(name, &item->layer[0])
				   : wf_layers_begin_with(name, item);

		if (hit)
			return !filter->negated;
	}
	return filter->negated;
}
