/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/params/conf.h"

/* The problem of a text that is not a number to its end, or NULL. Characters behind a
 * number are ignored and a text without a number is 0, because programs rely on it. */
static const char *parse_odd_number(const char *text, const char *end)
{
	if (end == text)
		return "not a number, 0 is used";
	return *end ? "more than a number, the rest is ignored" : NULL;
}

/* Returns false if *value was not set; *ret_problem is a text for the log, or NULL. */
static bool parse_int(const char *text, int *value, const char **ret_problem)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 0);
	if (errno == ERANGE || number > INT_MAX || number < INT_MIN) {
		*ret_problem = "out of range";
		return false;
	}
	*ret_problem = parse_odd_number(text, end);
	*value = (int)number;
	return true;
}

/* strtoull accepts -1, which many users write for "no limit". */
static bool parse_size(const char *text, size_t *value, const char **ret_problem)
{
	char *end;
	unsigned long long number;

	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno == ERANGE || number > SIZE_MAX) {
		*ret_problem = "out of range";
		return false;
	}
	*ret_problem = parse_odd_number(text, end);
	*value = (size_t)number;
	return true;
}

bool wf_param_parse(enum fi_param_type type, const char *text, void *value,
	const char **ret_problem)
{
	*ret_problem = NULL;
	switch (type) {
	case FI_PARAM_STRING:
		*(const char **)value = text;
		return true;
	case FI_PARAM_INT:
		return parse_int(text, value, ret_problem);
	case FI_PARAM_SIZE_T:
		return parse_size(text, value, ret_problem);
	case FI_PARAM_BOOL:
		if (wf_conf_parse_bool(text, value))
			return true;
		*ret_problem = "not one of 0/1, no/yes, off/on, false/true";
		return false;
	}
	return false;
}
