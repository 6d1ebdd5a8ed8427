/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PARAM_H
#define WF_OBJECTS_PARAM_H

#include <stddef.h>
#include <rdma/providers/fi_prov.h>

/*
 * A provider's variables: one row says everything about one. It is registered, read
 * and checked from its row; whoever is out of range is told, and does not count.
 */
struct wf_param {
	const char *name;
	enum fi_param_type type; /* FI_PARAM_SIZE_T or FI_PARAM_BOOL */
	void *value;             /* size_t or int, holding the default */
	size_t min, max;         /* of a size */
	const char *help;
};

#define WF_PARAM_SIZE(name_, value_, min_, max_, help_)                                \
	{                                                                              \
		name_, FI_PARAM_SIZE_T, value_, min_, max_, help_                      \
	}
#define WF_PARAM_BOOL(name_, value_, help_)                                            \
	{                                                                              \
		name_, FI_PARAM_BOOL, value_, 0, 1, help_                              \
	}

/* While the provider is loaded, before the first fi_getinfo. */
void wf_params_read(
	struct fi_provider *prov, const struct wf_param *params, size_t count);

#endif
