/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/param.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

static bool in_range(
	const struct fi_provider *prov, const struct wf_param *param, size_t value)
{
	if (value >= param->min && value <= param->max)
		return true;
	FI_WARN(prov, FI_LOG_CORE,
		"parameter %s: asked %zu, possible %zu to %zu; ignored\n", param->name,
		value, param->min, param->max);
	return false;
}

static void read_one(struct fi_provider *prov, const struct wf_param *param)
{
	size_t size;
	int number;

	(void)fi_param_define(prov, param->name, param->type, "%s", param->help);
	if (param->type == FI_PARAM_SIZE_T) {
		if (!fi_param_get(prov, param->name, &size) &&
			in_range(prov, param, size))
			*(size_t *)param->value = size;
	} else if (!fi_param_get(prov, param->name, &number) &&
		   in_range(prov, param, number < 0 ? SIZE_MAX : (size_t)number)) {
		*(int *)param->value = number;
	}
}

void wf_params_read(
	struct fi_provider *prov, const struct wf_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		read_one(prov, &params[i]);
}

/* The value of a number or truth value. False: there is none. */
static bool read_number(
	struct fi_provider *prov, const struct wf_param_fixed *param, size_t *ret)
{
	int truth = 0;

	if (param->type == FI_PARAM_SIZE_T)
		return !fi_param_get(prov, param->name, ret);
	if (fi_param_get(prov, param->name, &truth))
		return false;
	*ret = (size_t)truth;
	return true;
}

static bool same_number(struct fi_provider *prov, const struct wf_param_fixed *param,
	char *ret_asked, size_t size)
{
	size_t value;

	if (!read_number(prov, param, &value))
		return true;
	(void)snprintf(ret_asked, size, "%zu", value);
	return value == strtoul(param->only, NULL, 0);
}

static bool same_text(struct fi_provider *prov, const struct wf_param_fixed *param,
	char *ret_asked, size_t size)
{
	char *text;

	if (fi_param_get_str(prov, param->name, &text))
		return true;
	(void)snprintf(ret_asked, size, "%s", text);
	return param->only && !strcasecmp(text, param->only);
}

static void read_one_fixed(struct fi_provider *prov, const struct wf_param_fixed *param)
{
	char asked[64];
	bool same;

	(void)fi_param_define(prov, param->name, param->type, "%s", param->help);
	same = param->type == FI_PARAM_STRING
		       ? same_text(prov, param, asked, sizeof(asked))
		       : same_number(prov, param, asked, sizeof(asked));
	if (!same)
		FI_WARN(prov, FI_LOG_CORE,
			"parameter %s: asked %s, possible %s; ignored\n", param->name,
			asked, param->only ? param->only : "none");
}

void wf_params_read_fixed(
	struct fi_provider *prov, const struct wf_param_fixed *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		read_one_fixed(prov, &params[i]);
}

void wf_param_read_name(struct fi_provider *prov, const char *param,
	const char *const *names, size_t count, int *ret_index)
{
	char possible[64], *text;
	size_t used = 0;

	if (fi_param_get_str(prov, param, &text))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!strcasecmp(text, names[i])) {
			*ret_index = (int)i;
			return;
		}
		if (used < sizeof(possible))
			used += (size_t)snprintf(possible + used,
				sizeof(possible) - used, "%s%s", i ? ", " : "",
				names[i]);
	}
	FI_WARN(prov, FI_LOG_CORE, "parameter %s: asked %s, possible %s; ignored\n",
		param, text, possible);
}
