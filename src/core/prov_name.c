/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include <rdma/fabric.h>

#include "core/prov_name.h"
#include "sys/compiler.h"

/* The longer prefix first: "ofi_hook_" begins with "ofi_". */
static const struct {
	const char *prefix;
	enum wf_prov_kind kind;
} prefixes[] = {
	{ "ofi_hook_", WF_PROV_HOOK },
	{ "ofi_", WF_PROV_UTIL },
	{ "off_", WF_PROV_OFFLOAD },
};

enum wf_prov_kind wf_prov_kind(const char *name)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(prefixes); i++) {
		if (!strncasecmp(name, prefixes[i].prefix, strlen(prefixes[i].prefix)))
			return prefixes[i].kind;
	}
	return WF_PROV_CORE;
}

const char *wf_prov_short_name(const char *name)
{
	return strncasecmp(name, "ofi_", 4) && strncasecmp(name, "off_", 4) ? name
									    : name + 4;
}

bool wf_prov_name_valid(const char *name)
{
	size_t len = name ? strnlen(name, FI_NAME_MAX) : 0;

	if (!len || len == FI_NAME_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c > 0x7f || (!isalnum(c) && !strchr("_-.", c)))
			return false;
	}
	return true;
}

static bool prov_name_same_layer(const struct wf_layer *a, const struct wf_layer *b)
{
	return a->len == b->len && !strncasecmp(a->text, b->text, a->len);
}

bool wf_layer_is(const struct wf_layer *layer, const char *name)
{
	return prov_name_same_layer(layer, &(struct wf_layer){ name, strlen(name) });
}

bool wf_layers_include(const struct wf_layers *layers, const struct wf_layer *layer)
{
	for (unsigned int i = 0; i < layers->count; i++) {
		if (prov_name_same_layer(&layers->layer[i], layer))
			return true;
	}
	return false;
}

bool wf_layers_contain(const struct wf_layers *layers, const char *name)
{
	return wf_layers_include(layers, &(struct wf_layer){ name, strlen(name) });
}

bool wf_layers_begin_with(const struct wf_layers *layers, const struct wf_layers *base)
{
	if (base->count > layers->count)
		return false;
	for (unsigned int i = 0; i < base->count; i++) {
		if (!prov_name_same_layer(&layers->layer[i], &base->layer[i]))
			return false;
	}
	return true;
}

/* Reading beyond a layer is safe: the text it points into ends with a NUL, and no
 * prefix contains the ";" or "," that follows a layer. */
static bool prov_name_in_wrong_order(const struct wf_layers *layers)
{
	return layers->count == 2 &&
	       wf_prov_kind(layers->layer[0].text) == WF_PROV_UTIL &&
	       wf_prov_kind(layers->layer[1].text) == WF_PROV_CORE;
}

bool wf_layers_parse(const char *text, size_t len, struct wf_layers *layers)
{
	const char *end = text + len;

	layers->count = 0;
	for (;;) {
		const char *stop = memchr(text, ';', (size_t)(end - text));

		if (!stop)
			stop = end;
		if (stop == text || layers->count == WF_LAYERS_MAX)
			return false;
		layers->layer[layers->count++] =
			(struct wf_layer){ text, (size_t)(stop - text) };
		if (stop == end)
			break;
		text = stop + 1;
	}
	if (prov_name_in_wrong_order(layers)) {
		struct wf_layer util = layers->layer[0];

		layers->layer[0] = layers->layer[1];
		layers->layer[1] = util;
	}
	return true;
}
