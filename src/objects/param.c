/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/param.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "objects/notice.h"
#include "sys/nearest.h"

enum { VAR_SIZE = 128 };

/* The whole text as a number, as strtoull reads it: -1 means no limit. */
static bool param_parse_size(const char *text, size_t *ret)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	*ret = (size_t)value;
	return !errno && end != text && !*end && value <= SIZE_MAX;
}

static void param_tell_size(const struct fi_provider *prov,
	const struct wf_param *param, const char *text, bool is_number, size_t value)
{
	char var[VAR_SIZE], range[64], nearest[48] = "";

	if (param->max == SIZE_MAX)
		(void)snprintf(range, sizeof(range), "%zu or more", param->min);
	else
		(void)snprintf(
			range, sizeof(range), "%zu to %zu", param->min, param->max);
	if (is_number)
		(void)snprintf(nearest, sizeof(nearest), ", nearest %zu",
			value < param->min ? param->min : param->max);
	wf_notice(prov, "%s is \"%s\": possible %s%s; the default is used",
		wf_notice_var(prov, param->name, var, sizeof(var)), text, range,
		nearest);
}

static void param_read_size(struct fi_provider *prov, const struct wf_param *param)
{
	const char *text;
	char number[24];
	size_t value;
	bool is_number;

	if (wf_notice_value(prov, param->name, &text)) {
		is_number = param_parse_size(text, &value);
	} else {
		/* This is another library, or the parameter is not set. */
		if (fi_param_get(prov, param->name, &value))
			return;
		is_number = true;
		(void)snprintf(number, sizeof(number), "%zu", value);
		text = number;
	}
	if (is_number && value >= param->min && value <= param->max)
		*(size_t *)param->value = value;
	else
		param_tell_size(prov, param, text, is_number, value);
}

static void param_read_one(struct fi_provider *prov, const struct wf_param *param)
{
	int truth;

	(void)fi_param_define(prov, param->name, param->type, "%s", param->help);
	if (param->type == FI_PARAM_SIZE_T)
		param_read_size(prov, param);
	else if (!fi_param_get(prov, param->name, &truth))
		*(int *)param->value = truth;
}

void wf_params_read(
	struct fi_provider *prov, const struct wf_param *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		param_read_one(prov, &params[i]);
}

/* The value of a number or truth value. False: there is none. */
static bool param_read_number(
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

static bool param_same_number(struct fi_provider *prov,
	const struct wf_param_fixed *param, char *ret_asked, size_t size)
{
	size_t value;

	if (!param_read_number(prov, param, &value))
		return true;
	(void)snprintf(ret_asked, size, "%zu", value);
	return value == strtoul(param->only, NULL, 0);
}

static bool param_same_text(struct fi_provider *prov,
	const struct wf_param_fixed *param, char *ret_asked, size_t size)
{
	char *text;

	if (fi_param_get_str(prov, param->name, &text))
		return true;
	(void)snprintf(ret_asked, size, "%s", text);
	return param->only && !strcasecmp(text, param->only);
}

static void param_read_one_fixed(
	struct fi_provider *prov, const struct wf_param_fixed *param)
{
	char asked[64];
	bool same;

	(void)fi_param_define(prov, param->name, param->type, "%s", param->help);
	same = param->type == FI_PARAM_STRING
		       ? param_same_text(prov, param, asked, sizeof(asked))
		       : param_same_number(prov, param, asked, sizeof(asked));
	if (!same)
		FI_WARN(prov, FI_LOG_CORE,
			"parameter %s: asked %s, possible %s; ignored\n", param->name,
			asked, param->only ? param->only : "none");
}

void wf_params_read_fixed(
	struct fi_provider *prov, const struct wf_param_fixed *params, size_t count)
{
	for (size_t i = 0; i < count; i++)
		param_read_one_fixed(prov, &params[i]);
}

void wf_param_read_name(struct fi_provider *prov, const char *param,
	const char *const *names, size_t count, int *ret_index)
{
	char possible[128] = "", hint[96], var[VAR_SIZE], *text;
	struct wf_nearest nearest;
	size_t used = 0;

	if (fi_param_get_str(prov, param, &text))
		return;
	nearest = wf_nearest_to(text);
	for (size_t i = 0; i < count; i++) {
		if (!strcasecmp(text, names[i])) {
			*ret_index = (int)i;
			return;
		}
		wf_nearest_offer(&nearest, names[i]);
		if (used < sizeof(possible))
			used += (size_t)snprintf(possible + used,
				sizeof(possible) - used, "%s%s", i ? ", " : "",
				names[i]);
	}
	wf_notice(prov, "%s is \"%s\": possible %s; %s is used%s",
		wf_notice_var(prov, param, var, sizeof(var)), text, possible,
		names[*ret_index], wf_nearest_hint(&nearest, hint, sizeof(hint)));
}
