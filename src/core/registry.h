/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_REGISTRY_H
#define WF_CORE_REGISTRY_H

#include <stdbool.h>
#include <rdma/providers/fi_prov.h>

#include "sys/list.h"

/* A provider that fi_getinfo may ask, built in or loaded. */
struct wf_prov_entry {
	struct wf_list link; /* in the order of desirability */
	struct fi_provider *prov;
	void *dl; /* dlopen handle, NULL when built in */
	bool preferred; /* "+/abs/path" of FI_PROVIDER_PATH: beats all of its name */
	bool hidden; /* ruled out by FI_PROVIDER as a whole */
	unsigned int rank; /* place in the fixed order, lower is better */
};

/* Built-in providers: one row each in builtin.c, the only place of the core that
 * names providers. */
typedef struct fi_provider *(*wf_prov_ini_fn)(void);
extern const wf_prov_ini_fn wf_builtin_providers[]; /* NULL-terminated */

/* -FI_EINVAL: the provider is refused, with a log line saying why; then its cleanup
 * was called and @dl closed. */
int wf_registry_add(struct fi_provider *prov, void *dl, bool preferred);

#endif
