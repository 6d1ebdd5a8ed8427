/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAMS_PARAM_H
#define WF_CORE_PARAMS_PARAM_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

/* The parameters of the core, defined at the first use of any parameter. A test
 * compares this table with the man pages. */
struct wf_core_param {
	const char *name; /* as for fi_param_get(NULL, name, ...) */
	enum fi_param_type type;
	const char *default_text; /* the default, for the help text */
	const char *help;
};

extern const struct wf_core_param wf_core_params[];
extern const size_t wf_core_param_count;

/* Delete the parameters of @prov, before its library is unloaded. Any thread. */
void wf_params_forget(const struct fi_provider *prov);

/* fi_getparams(3), without starting the library: lists the parameters that are defined
 * now. -FI_ENOMEM. Any thread. */
int wf_params_list(struct fi_param **ret_params, int *ret_count);

/* Warn of each FI_ variable that is set and that no provider has defined. Called by
 * wf_core_init after all providers have registered; only the first call warns. */
void wf_params_warn_unknown(void);

/* Free all parameters, at library unload. */
void wf_params_fini(void);

#endif
