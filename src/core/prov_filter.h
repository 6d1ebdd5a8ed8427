/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PROV_FILTER_H
#define WF_CORE_PROV_FILTER_H

#include <stdbool.h>

#include "core/prov_name.h"

/*
 * The variable FI_PROVIDER: a list of names between commas, each of which may be
 * layered; "^" in front makes it a list of unwanted names.
 *
 * A list of wanted names restricts transports only: layers on top of them stay. A
 * layered name keeps its transport usable underneath, but hides it from the results.
 */
struct wf_prov_filter {
	bool active;  /* the variable is set */
	bool negated; /* a list of unwanted names */
	unsigned int count;
	struct wf_layers *items; /* point into @text */
	char *text;              /* the value of the variable, for the log */
};

/* Empty or NULL @text admits everything. -FI_ENOMEM. A malformed item is left out,
 * with a warning. */
int wf_prov_filter_init(struct wf_prov_filter *filter, const char *text);
void wf_prov_filter_done(struct wf_prov_filter *filter);

/* May the provider @name be used at all? */
bool wf_prov_filter_admits(const struct wf_prov_filter *filter, const char *name);

/* Is @name in a list of wanted names? */
bool wf_prov_filter_names(const struct wf_prov_filter *filter, const char *name);

/* May a result of this (layered) name be returned? */
bool wf_prov_filter_admits_result(
	const struct wf_prov_filter *filter, const struct wf_layers *name);

#endif
