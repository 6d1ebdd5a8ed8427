/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/param.h"

#include <ctype.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "core/params/conf.h"
#include "core/params/parse.h"
#include "core/init.h"
#include "core/log/log.h"
#include "sys/list.h"

/*
 * Parameters in the order of their definition, those of the core first. An entry
 * belongs to the struct fi_provider that defined it, not to the name: two providers of
 * one name may both be loaded until the registry has chosen.
 *
 * One mutex guards the list. Nothing logs while it is held, because an imported logger
 * may ask for parameters.
 */

struct param {
	struct wf_list link;
	const struct fi_provider *prov; /* NULL: the core */
	enum fi_param_type type;
	char *name;
	char *var; /* name of the variable that sets it: FI_... */
	char *help;
};

static struct wf_list params = { &params, &params };
static pthread_mutex_t params_lock = PTHREAD_MUTEX_INITIALIZER;
static bool core_defined; /* guarded by params_lock */

static struct param *param_of(struct wf_list *item)
{
	return wf_list_entry(item, struct param, link);
}

static void param_free(struct param *param)
{
	if (!param)
		return;
	free(param->name);
	free(param->var);
	free(param->help);
	free(param);
}

static char *param_variable_name(const struct fi_provider *prov, const char *name)
{
	char *var, *c;
	int len;

	len = prov ? asprintf(&var, "FI_%s_%s", prov->name, name)
		   : asprintf(&var, "FI_%s", name);
	if (len < 0)
		return NULL;
	for (c = var; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return var;
}

/* Takes ownership of @help, also on failure. */
static struct param *param_new_consume_help(const struct fi_provider *prov,
	const char *name, enum fi_param_type type, char *help)
{
	struct param *param = calloc(1, sizeof(*param));

	if (!param) {
		free(help);
		return NULL;
	}
	param->prov = prov;
	param->type = type;
	param->help = help;
	param->name = strdup(name);
	param->var = param_variable_name(prov, name);
	if (!help || !param->name || !param->var) {
		param_free(param);
		return NULL;
	}
	return param;
}

static struct param *param_find(const struct fi_provider *prov, const char *name)
{
	struct param *param;

	wf_list_foreach(item, &params)
	{
		param = param_of(item);
		if (param->prov == prov && strcmp(param->name, name) == 0)
			return param;
	}
	return NULL;
}

/* Add @param; it replaces an older definition by the same provider. params_lock
 * held. */
static void param_insert(struct param *param)
{
	struct param *old = param_find(param->prov, param->name);

	wf_list_push(&params, &param->link);
	if (old) {
		wf_list_remove(&old->link);
		param_free(old);
	}
}

static void param_lock(void)
{
	const struct wf_core_param *row;
	struct param *param;
	size_t i;
	char *help;

	(void)pthread_mutex_lock(&params_lock);
	if (core_defined)
		return;
	core_defined = true;
	for (i = 0; i < wf_core_param_count; i++) {
		row = &wf_core_params[i];
		if (asprintf(&help, "%s (default: %s)", row->help, row->default_text) <
			0)
			continue;
		param = param_new_consume_help(NULL, row->name, row->type, help);
		if (param)
			param_insert(param);
	}
}

static void param_unlock(void)
{
	(void)pthread_mutex_unlock(&params_lock);
}

WF_PRINTF(2, 0)
static char *param_help_text(
	const struct fi_provider *prov, const char *fmt, va_list args)
{
	char *text, *prefixed;
	int len;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	if (!prov)
		return text;
	len = asprintf(&prefixed, "%s: %s", prov->name, text);
	free(text);
	return len < 0 ? NULL : prefixed;
}

WF_EXPORT int fi_param_define(const struct fi_provider *provider,
	const char *param_name, enum fi_param_type type, const char *help_string_fmt,
	...)
{
	struct param *param;
	va_list args;
	char *help;

	if (!param_name || !*param_name || !help_string_fmt || !*help_string_fmt ||
		(provider && !provider->name) || (unsigned int)type > FI_PARAM_SIZE_T) {
		FI_WARN(provider ? provider : &wf_core_prov, FI_LOG_CORE,
			"parameter %s refused: it needs a name, a help text and a "
			"known type\n",
			param_name ? param_name : "without name");
		return -FI_EINVAL;
	}
	va_start(args, help_string_fmt);
	help = param_help_text(provider, help_string_fmt, args);
	va_end(args);
	param = param_new_consume_help(provider, param_name, type, help);
	if (!param)
		return -FI_ENOMEM;
	param_lock();
	param_insert(param);
	param_unlock();
	return 0;
}

WF_EXPORT int fi_param_get(
	struct fi_provider *provider, const char *param_name, void *value)
{
	const struct fi_provider *speaker = provider ? provider : &wf_core_prov;
	const char *text = NULL, *problem = NULL;
	struct param *param;
	char var[128];
	int ret = 0;

	if (!param_name || !value)
		return -FI_EINVAL;
	if (!provider && !strcmp(param_name, WF_NOTICE)) {
		*(const struct wf_notice_ops **)value = &wf_log_notice_ops;
		return 0;
	}
	param_lock();
	param = param_find(provider, param_name);
	if (param) {
		(void)snprintf(var, sizeof(var), "%s", param->var);
		text = wf_conf_value(param->var);
		if (!text)
			ret = -FI_ENODATA;
		else if (!wf_param_parse(param->type, text, value, &problem))
			ret = -FI_EINVAL;
	} else {
		ret = -FI_ENOENT;
	}
	param_unlock();

	if (ret == -FI_ENOENT)
		FI_INFO(speaker, FI_LOG_CORE, "parameter %s was never defined\n",
			param_name);
	else if (problem)
		wf_log_notice(speaker, "%s is \"%s\": %s", var, text, problem);
	else if (ret == 0)
		FI_INFO(speaker, FI_LOG_CORE, "%s is \"%s\"\n", var, text);
	return ret;
}

void wf_params_forget(const struct fi_provider *prov)
{
	struct param *param;

	param_lock();
	wf_list_foreach_safe(item, &params)
	{
		param = param_of(item);
		if (param->prov == prov) {
			wf_list_remove(&param->link);
			param_free(param);
		}
	}
	param_unlock();
}

void wf_params_fini(void)
{
	struct wf_list *item;

	(void)pthread_mutex_lock(&params_lock);
	while ((item = wf_list_pop(&params)))
		param_free(param_of(item));
	core_defined = false;
	param_unlock();
}

/* The array and all its strings are one allocation: fi_freeparams is free, and a later
 * setenv or unloaded provider does not change the caller's copy. */
struct snapshot {
	struct fi_param *rows; /* the array */
	int count;             /* number of @rows */
	size_t text_size;      /* bytes of all strings, with their NULs */
	char *text, *end;      /* memory for strings that is not used yet */
};

static const char *param_keep(struct snapshot *snap, const char *text)
{
	size_t size;
	char *copy = snap->text;

	if (!text)
		return NULL;
	size = strlen(text) + 1;
	if (size > (size_t)(snap->end - snap->text))
		return NULL;
	snap->text += size;
	return memcpy(copy, text, size);
}

static void param_measure(struct snapshot *snap)
{
	const struct param *param;
	const char *value;

	wf_list_foreach(item, &params)
	{
		param = param_of(item);
		value = wf_conf_value(param->var);
		snap->text_size += strlen(param->var) + strlen(param->help) + 2 +
				   (value ? strlen(value) + 1 : 0);
		snap->count++;
	}
}

/* Copy the values last: if the environment has grown since param_measure(), a value is
 * left out and not a name. */
static void param_fill(struct snapshot *snap)
{
	struct fi_param *row = snap->rows;

	wf_list_foreach(item, &params)
	{
		row->name = param_keep(snap, param_of(item)->var);
		row->type = param_of(item)->type;
		row->help_string = param_keep(snap, param_of(item)->help);
		row++;
	}
	for (row = snap->rows; row->name; row++)
		row->value = param_keep(snap, wf_conf_value(row->name));
}

int wf_params_list(struct fi_param **ret_params, int *ret_count)
{
	struct snapshot snap = { 0 };
	size_t rows_size;
	int ret = -FI_ENOMEM;

	param_lock();
	param_measure(&snap);
	/* One row more, zeroed, ends the array. */
	rows_size = (size_t)(snap.count + 1) * sizeof(*snap.rows);
	snap.rows = calloc(1, rows_size + snap.text_size);
	if (!snap.rows)
		goto unlock;
	snap.text = (char *)snap.rows + rows_size;
	snap.end = snap.text + snap.text_size;
	param_fill(&snap);
	*ret_params = snap.rows;
	*ret_count = snap.count;
	ret = 0;

unlock:
	param_unlock();
	return ret;
}

WF_EXPORT int fi_getparams(struct fi_param **params_out, int *count)
{
	if (!params_out || !count)
		return -FI_EINVAL;
	wf_core_init();
	return wf_params_list(params_out, count);
}

WF_EXPORT void fi_freeparams(struct fi_param *params_in)
{
	free(params_in);
}
