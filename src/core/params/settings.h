/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAMS_SETTINGS_H
#define WF_CORE_PARAMS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/prov_filter.h"

/* The user's settings for discovery. wf_core_init reads them once; they are constant
 * afterwards, so no lock guards them. */
struct wf_settings {
	struct wf_prov_filter providers; /* FI_PROVIDER */
	bool has_addr_format;
	uint32_t addr_format; /* FI_ADDR_FORMAT */
	char *hooks;          /* FI_HOOK; NULL: none */
};

extern struct wf_settings wf_settings;

void wf_settings_load(void);
void wf_settings_done(void);

#endif
