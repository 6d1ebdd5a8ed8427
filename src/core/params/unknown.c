/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/param.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/params/conf.h"
#include "core/log/log.h"
#include "sys/nearest.h"
#include "core/params/foreign.h"

/*
 * A misspelt variable has no effect and is hard to find. Once all providers have
 * defined their variables, each unknown one gets a log line, even without FI_LOG_LEVEL.
 */

#define MAX_VAR 128

static bool unknown_is_defined(const struct fi_param *params, const char *var)
{
	for (; params->name; params++) {
		if (strcmp(params->name, var) == 0)
			return true;
	}
	return false;
}

static bool unknown_prefix_defined(
	const struct fi_param *params, const char *var, size_t len)
{
	for (; params->name; params++) {
		if (strncmp(params->name, var, len) == 0)
			return true;
	}
	return false;
}

/* Does @var belong to a provider that this library does not have? Then it is no typing
 * error. An unknown variable of a provider that exists is one. */
static bool unknown_belongs_elsewhere(const struct fi_param *params, const char *var)
{
	size_t prefix = wf_foreign_prefix(var);

	if (prefix)
		return !unknown_prefix_defined(params, var, prefix);
	return wf_foreign_core(var);
}

static void unknown_check(const struct fi_param *params, const char *var)
{
	struct wf_nearest nearest = wf_nearest_to(var);
	char hint[2 * MAX_VAR];

	if (unknown_is_defined(params, var))
		return;
	if (unknown_belongs_elsewhere(params, var)) {
		FI_INFO(&wf_core_prov, FI_LOG_CORE,
			"%s is set, nothing in this library reads it\n", var);
		return;
	}
	for (; params->name; params++)
		wf_nearest_offer(&nearest, params->name);
	wf_log_notice(&wf_core_prov, "%s is set, but nothing reads it%s", var,
		wf_nearest_hint(&nearest, hint, sizeof(hint)));
}

static void unknown_check_environment(const struct fi_param *params)
{
	char var[MAX_VAR];
	char **entry;
	size_t len;

	for (entry = environ; entry && *entry; entry++) {
		if (strncmp(*entry, "FI_", 3) != 0)
			continue;
		len = strcspn(*entry, "=");
		if (len >= sizeof(var))
			continue;
		memcpy(var, *entry, len);
		var[len] = '\0';
		unknown_check(params, var);
	}
}

static void unknown_check_file(const struct fi_param *params)
{
	const char *var;
	size_t i;

	for (i = 0; (var = wf_conf_file_var(i)); i++) {
		/* A variable in both the environment and the file gets one line. */
		if (!getenv(var))
			unknown_check(params, var);
	}
}

void wf_params_warn_unknown(void)
{
	static atomic_flag done = ATOMIC_FLAG_INIT;
	struct fi_param *params;
	int count;

	if (atomic_flag_test_and_set(&done))
		return;
	wf_conf_report();
	if (wf_params_list(&params, &count) < 0)
		return;
	unknown_check_environment(params);
	unknown_check_file(params);
	fi_freeparams(params);
}
