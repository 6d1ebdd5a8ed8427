/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_QUESTION_H
#define WF_CORE_QUESTION_H

#include <stdbool.h>

#include "core/prov_name.h"
#include "core/registry.h"

/* One call of fi_getinfo(3), on the stack of the calling thread. The pointers are the
 * caller's arguments. */
struct wf_question {
	uint32_t version;
	const char *node;
	const char *service;
	uint64_t flags;
	const struct fi_info *hints;
	bool nested; /* the call comes from within a provider's getinfo */
	/* prov_name of the hints, or NULL; the names in it; and the names in it with a
	 * ^ in front, which a result's prov_name must not have. */
	const char *asked_name;
	struct wf_layers name;
	struct wf_layers without;
	uint32_t prov_version; /* of the hints; 0: any */
};

/* Is @name a transport under which a layer answers only if the hints name both? */
bool wf_question_named_base(const struct wf_layer *name);

/* Log why a provider, or a result of it, is refused: "refused: field: asked ...,
 * possible
 * ...". */
void wf_question_refused(const struct wf_prov_entry *entry, const char *field,
	const char *asked, const char *possible);

#endif
