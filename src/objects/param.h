/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PARAM_H
#define WF_OBJECTS_PARAM_H

#include <stddef.h>
#include <rdma/providers/fi_prov.h>

/*
 * A provider's parameters, read from the environment as FI_<PROVIDER>_<NAME>: one row
 * for each. A value that is not in the range is told to the user and ignored.
 */
struct wf_param {
	const char *name;
	enum fi_param_type type; /* FI_PARAM_SIZE_T or FI_PARAM_BOOL */
	void *value;             /* size_t * or int *: the default, then the value */
	size_t min, max;         /* the allowed range, inclusive */
	const char *help;        /* what the parameter does, for the user */
};

#define WF_PARAM_SIZE(name_, value_, min_, max_, help_)                                \
	{                                                                              \
		name_, FI_PARAM_SIZE_T, value_, min_, max_, help_                      \
	}
#define WF_PARAM_BOOL(name_, value_, help_)                                            \
	{                                                                              \
		name_, FI_PARAM_BOOL, value_, 0, 1, help_                              \
	}

/* Register and read @count parameters. Called while the provider is loaded, before the
 * first fi_getinfo. */
void wf_params_read(
	struct fi_provider *prov, const struct wf_param *params, size_t count);

/* A parameter of other implementations for which this one has a single behaviour. */
struct wf_param_fixed {
	const char *name;
	enum fi_param_type type; /* FI_PARAM_SIZE_T, FI_PARAM_BOOL or FI_PARAM_STRING */
	/* The value of this behaviour. NULL, for strings: none. */
	const char *only;
	const char *help;
};

/* Register @count such parameters, and log each that has another value, one line
 * each. */
void wf_params_read_fixed(
	struct fi_provider *prov, const struct wf_param_fixed *params, size_t count);

/* Read the parameter @param, which is defined and whose value is one of @count @names,
 * in upper or lower case: *@ret_index, at first that of the default, becomes the index
 * of the name. Other values are told to the user and ignored. */
void wf_param_read_name(struct fi_provider *prov, const char *param,
	const char *const *names, size_t count, int *ret_index);

#endif
