/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/conf.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "config.h"
#include "core/log/log.h"
#include "sys/compiler.h"

#define CONF_FILE WF_SYSCONFDIR "/libfabric.conf"
/* Bounds the memory that a damaged file can take. */
#define CONF_MAX_VARS 4096

struct conf_var {
	char *name; /* one allocation, which also holds the value */
	const char *value;
};

/* Written once, by the first query (or by wf_conf_use_file), and constant then. */
static struct {
	struct conf_var *vars;       /* in the order of the file */
	size_t count;                /* number of @vars */
	bool preferred;              /* The file comes before the environment. */
	int open_errno;              /* errno of opening the file; 0: it was opened */
	unsigned int first_bad_line; /* number of a line, from 1; 0: none is bad */
	bool bad_preference;         /* FI_PREFER_SYSCONFIG is no truth value */
} conf;

static pthread_once_t conf_once = PTHREAD_ONCE_INIT;

bool wf_conf_parse_bool(const char *text, int *ret_value)
{
	static const char *const words[][2] = {
		{ "0", "1" },
		{ "no", "yes" },
		{ "off", "on" },
		{ "false", "true" },
	};
	size_t i;
	int value;

	for (i = 0; i < WF_ARRAY_SIZE(words); i++) {
		for (value = 0; value <= 1; value++) {
			if (strcasecmp(text, words[i][value]) == 0) {
				*ret_value = value;
				return true;
			}
		}
	}
	return false;
}

/* Strip blanks at both ends of the text, in place. */
static char *conf_trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	return text;
}

static bool conf_valid_name(const char *name)
{
	return *name && !name[strcspn(name, " \t\"'")];
}

static bool conf_add_var(const char *name, const char *value)
{
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	struct conf_var *vars;
	char *text;

	if (conf.count == CONF_MAX_VARS)
		return false;
	vars = realloc(conf.vars, (conf.count + 1) * sizeof(*vars));
	if (!vars)
		return false;
	conf.vars = vars;
	text = malloc(name_size + value_size);
	if (!text)
		return false;
	memcpy(text, name, name_size);
	memcpy(text + name_size, value, value_size);
	vars[conf.count++] = (struct conf_var){ text, text + name_size };
	return true;
}

/* Read one line of the file. False: the line is neither empty, a comment nor
 * VAR=value. */
static bool conf_take_line(char *line)
{
	char *name = conf_trim(line), *equals;

	if (*name == '\0' || *name == '#')
		return true;
	equals = strchr(name, '=');
	if (!equals)
		return false;
	*equals = '\0';
	name = conf_trim(name);
	return conf_valid_name(name) && conf_add_var(name, conf_trim(equals + 1));
}

static const char *conf_file_value(const char *var)
{
	size_t i;

	/* The last line for a variable counts, as in a shell. */
	for (i = conf.count; i > 0; i--) {
		if (strcmp(conf.vars[i - 1].name, var) == 0)
			return conf.vars[i - 1].value;
	}
	return NULL;
}

static void conf_read_file(const char *path)
{
	char *line = NULL;
	size_t size = 0;
	unsigned int number = 0;
	FILE *file = fopen(path, "rce");
	const char *prefer;
	int value;

	if (!file) {
		conf.open_errno = errno;
		return;
	}
	while (number < UINT16_MAX && getline(&line, &size, file) >= 0) {
		number++;
		if (!conf_take_line(line) && !conf.first_bad_line)
			conf.first_bad_line = number;
	}
	free(line);
	(void)fclose(file);

	prefer = getenv("FI_PREFER_SYSCONFIG");
	if (!prefer)
		prefer = conf_file_value("FI_PREFER_SYSCONFIG");
	conf.bad_preference = prefer && !wf_conf_parse_bool(prefer, &value);
	conf.preferred = prefer && !conf.bad_preference && value;
}

static void conf_read_installed_file(void)
{
	conf_read_file(CONF_FILE);
}

void wf_conf_fini(void)
{
	size_t i;

	for (i = 0; i < conf.count; i++)
		free(conf.vars[i].name);
	free(conf.vars);
	memset(&conf, 0, sizeof(conf));
}

void wf_conf_use_file(const char *path)
{
	(void)pthread_once(&conf_once, conf_read_installed_file);
	wf_conf_fini();
	conf_read_file(path);
}

const char *wf_conf_value(const char *var)
{
	const char *env = getenv(var), *file;

	(void)pthread_once(&conf_once, conf_read_installed_file);
	if (env && !conf.preferred)
		return env;
	file = conf_file_value(var);
	return file ? file : env;
}

const char *wf_conf_file_var(size_t index)
{
	(void)pthread_once(&conf_once, conf_read_installed_file);
	return index < conf.count ? conf.vars[index].name : NULL;
}

void wf_conf_report(void)
{
	(void)pthread_once(&conf_once, conf_read_installed_file);
	if (conf.open_errno && conf.open_errno != ENOENT && conf.open_errno != ENOTDIR)
		wf_log_notice(&wf_core_prov, "cannot read %s: %s", CONF_FILE,
			strerror(conf.open_errno));
	if (conf.first_bad_line)
		wf_log_notice(&wf_core_prov, "%s line %u is not VAR=value, ignored",
			CONF_FILE, conf.first_bad_line);
	if (conf.bad_preference)
		wf_log_notice(&wf_core_prov,
			"FI_PREFER_SYSCONFIG is not one of 0/1, no/yes, off/on, "
			"false/true: the environment comes first");
}
