/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_PARAMS_H
#define TESTS_UNIT_COLL_PARAMS_H

#include "unit.h"

#include "providers/coll/coll.h"

/* Settings of the engines by the parameters of the provider. */
struct fi_provider coll_fi = { .name = "off_coll" };

/* Read the parameters while the variable has that value. */
static inline void params_set(const char *variable, const char *value)
{
	assert_int_equal(setenv(variable, value, 1), 0);
	coll_params_init();
	assert_int_equal(unsetenv(variable), 0);
}

/* The number of @count @settings that differ from @before; *@ret_last: the last one. */
static inline int params_changed(const struct coll_setting *settings,
	const struct coll_setting *before, int count, int *ret_last)
{
	int changed = 0;

	for (int i = 0; i < count; i++)
		if (settings[i].value != before[i].value) {
			changed++;
			*ret_last = i;
		}
	return changed;
}

/* Of a value that is not possible no setting changes. */
static inline void params_check_ignored(const char *variable, const char *value,
	const struct coll_setting *settings, const struct coll_setting *before,
	int count)
{
	int which;

	params_set(variable, value);
	assert_int_equal(params_changed(settings, before, count, &which), 0);
}

#endif
