/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A value of a number or a switch that is none, and one outside of what is possible:
 * one line names the variable and tells. That such a value is ignored is for the tests
 * of the functions that read parameters.
 */
#include <stdio.h>
#include <string.h>

#include "../log_lines.h"
#include "../loopback.h"
#include "effect.h"

enum { VARIABLES_MAX = 256 };

enum { NAME_MAX_LEN = 64 };

/* Not read here: the log and the file of settings are there before this test's log, the
 * cache belongs to devices, a flush to something that is left; the others have no
 * effect. */
static const char *const not_here[] = {
	"FI_FLUSH_TIMEOUT",
	"FI_FORK_UNSAFE",
	"FI_LOG_INTERVAL",
	"FI_LOG_LOCATION_MODE",
	"FI_MR_CACHE_MAX_COUNT",
	"FI_MR_CACHE_MAX_SIZE",
	"FI_PREFER_SYSCONFIG",
	"FI_UNIVERSE_SIZE",
};

/* What the log tells of a variable. */
enum { TOLD = 1, TOLD_RANGE = 2, TOLD_TWICE = 4 };

/* The lines "NAME is VALUE: ..." of the log, and "NAME is VALUE, ...": a line without
 * more tells of a good value. */
static long told(const char *name)
{
	const char *at = log_lines;
	long found = 0;

	for (; (at = strstr(at, name)); at++) {
		const char *rest = at + strlen(name);
		size_t len = strcspn(rest, "\n"), value;

		if (strncmp(rest, " is ", 4))
			continue;
		value = 4 + strcspn(rest + 4, ":,\n");
		if (value >= len)
			continue;
		found |= found ? TOLD_TWICE : TOLD;
		if (memmem(rest, len, " to ", 4))
			found |= TOLD_RANGE;
	}
	return found;
}

/* All parameters are read by an endpoint of tcp with the monitor in front. */
static long what_is_told(const struct effect *effect)
{
	struct rdm_end end;

	(void)setenv("FI_HOOK", "monitor", 1);
	(void)setenv("FI_OFI_HOOK_MONITOR_BASEPATH", "/nonexistent/mon", 1);
	log_lines_start();
	loopback_open(&end, "tcp", FI_MSG | FI_TAGGED);
	rdm_end_close(&end);
	return told(effect->name);
}

struct variable {
	char name[NAME_MAX_LEN];
	enum fi_param_type type;
};

/* The variables, as another process lists them: this one makes no call of the
 * library. */
static size_t list(struct variable *ret)
{
	int fd[2], status;
	size_t count = 0;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid) {
		struct fi_param *params;
		int n;

		if (fi_getparams(&params, &n))
			_exit(1);
		for (int i = 0; i < n; i++) {
			struct variable variable = { .type = params[i].type };

			(void)snprintf(variable.name, sizeof(variable.name), "%s",
				params[i].name);
			(void)!write(fd[1], &variable, sizeof(variable));
		}
		_exit(0);
	}
	close(fd[1]);
	while (count < VARIABLES_MAX &&
		read(fd[0], &ret[count], sizeof(*ret)) == sizeof(*ret))
		count++;
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return count;
}

static bool is_here(const char *name)
{
	for (size_t i = 0; i < sizeof(not_here) / sizeof(not_here[0]); i++)
		if (!strcmp(name, not_here[i]))
			return false;
	return true;
}

/* What is told of the value; it has to be told, or not. */
static long expect_told(const struct effect *effect, const char *value, bool told)
{
	long found = effect_number(effect, value);

	if ((found & ~TOLD_RANGE) != (told ? TOLD : 0))
		fail_msg("%s=%s: %s", effect->name, value,
			found ? "it is told, or told twice" : "it is not told");
	return found;
}

static void each_wrong_value_is_told(void **state)
{
	static struct variable variables[VARIABLES_MAX];
	size_t count = list(variables);

	(void)state;
	assert_true(count > 100);
	for (size_t i = 0; i < count; i++) {
		const struct variable *variable = &variables[i];
		struct effect effect = { .name = variable->name,
			.scene = what_is_told };
		bool limited;

		if (variable->type == FI_PARAM_STRING || !is_here(effect.name))
			continue;
		limited = expect_told(&effect, "twelve", true) & TOLD_RANGE ||
			  variable->type != FI_PARAM_SIZE_T;
		(void)expect_told(&effect, "99999999999999999999999", true);
		/* The largest number of all, where there is no limit. */
		(void)expect_told(&effect, "-1", limited);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wrong_value_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
