/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PROV_NAME_H
#define WF_CORE_PROV_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Provider names. A result that several providers produce together names them all,
 * from the transport up: "tcp;ofi_rxm". Names compare without regard to case.
 */

/* The type of a provider, from the prefix of its name. */
enum wf_prov_kind {
	WF_PROV_CORE,
	WF_PROV_UTIL,    /* ofi_: a layer above a transport */
	WF_PROV_HOOK,    /* ofi_hook_: wraps another provider's objects */
	WF_PROV_OFFLOAD, /* off_: works for another provider's objects */
};

enum wf_prov_kind wf_prov_kind(const char *name);

/* The name without the prefix "ofi_" or "off_": "rxm", "hook_monitor". */
const char *wf_prov_short_name(const char *name);

/* Is @name a valid provider name? Letters, digits, "_", "-" and ".", in all fewer than
 * FI_NAME_MAX. */
bool wf_prov_name_valid(const char *name);

/* One name of a layered name; points into the text that was parsed. */
struct wf_layer {
	const char *text;
	size_t len;
};

enum { WF_LAYERS_MAX = 8 };

struct wf_layers {
	unsigned int count;
	struct wf_layer layer[WF_LAYERS_MAX];
};

/* Split @text[0..@len) at each ";", and put the transport first: of two names, @text
 * may have either first. False for an empty name or more than WF_LAYERS_MAX. */
bool wf_layers_parse(const char *text, size_t len, struct wf_layers *layers);

bool wf_layer_is(const struct wf_layer *layer, const char *name);
bool wf_layers_contain(const struct wf_layers *layers, const char *name);

/* Are the first layers of @layers those of @base? */
bool wf_layers_begin_with(const struct wf_layers *layers, const struct wf_layers *base);

bool wf_layers_include(const struct wf_layers *layers, const struct wf_layer *layer);

static inline const struct wf_layer *wf_layers_top(const struct wf_layers *layers)
{
	return &layers->layer[layers->count - 1];
}

#endif
