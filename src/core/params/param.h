/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAM_H
#define WF_CORE_PARAM_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

/* The variables that the core itself honours. Defined at the first use of any
 * parameter; docs/ and this table are compared by a test. */
struct wf_core_param {
	const char *name; /* as for fi_param_get(NULL, name, ...) */
	enum fi_param_type type;
	const char *default_text;
	const char *help;
};

extern const struct wf_core_param wf_core_params[];
extern const size_t wf_core_param_count;

/* At the unload of @prov: its struct may vanish with its library. */
void wf_params_forget(const struct fi_provider *prov);

/* As fi_getparams(3), of the parameters that are defined by now; does not start the
 * library. */
int wf_params_list(struct fi_param **ret_params, int *ret_count);

/* After all providers have registered: one warning for each FI_ variable that is set
 * and that nothing has defined. Does its work once per process. */
void wf_params_warn_unknown(void);

/* At library unload. */
void wf_params_fini(void);

#endif
