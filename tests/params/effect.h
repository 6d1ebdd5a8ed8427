/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PARAMS_EFFECT_H
#define TESTS_PARAMS_EFFECT_H

/*
 * A parameter with two values, and what is seen with each. The library reads parameters
 * once, so each value is a process of its own; the first process of the program has to
 * make no call of the library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

struct effect;

/* What happens in one process, as a number. */
typedef long (*effect_scene)(const struct effect *effect);

struct effect {
	const char *name; /* of the variable */
	struct {
		const char *value; /* NULL: unset */
		long number;
	} seen[2];
	effect_scene scene;
	const void *with; /* what the scene needs to know */
};

/* Is the variable set to that value? */
static inline bool effect_is(const struct effect *effect, const char *value)
{
	const char *set = getenv(effect->name);

	return set && !strcmp(set, value);
}

static inline void effect_child(const struct effect *effect, const char *value, int to)
{
	long number;

	if (value)
		(void)setenv(effect->name, value, 1);
	else
		(void)unsetenv(effect->name);
	number = effect->scene(effect);
	(void)!write(to, &number, sizeof(number));
	_exit(0);
}

static inline long effect_number(const struct effect *effect, const char *value)
{
	long number = 0;
	int fd[2], status;
	pid_t pid;

	assert_int_equal(pipe(fd), 0);
	pid = fork();
	if (!pid)
		effect_child(effect, value, fd[1]);
	close(fd[1]);
	if (read(fd[0], &number, sizeof(number)) != sizeof(number))
		fail_msg("%s=%s: the process ended early", effect->name,
			value ? value : "");
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return number;
}

static inline void effect_check(const struct effect *effect)
{
	for (int i = 0; i < 2; i++) {
		const char *value = effect->seen[i].value;
		long number = effect_number(effect, value);

		if (number != effect->seen[i].number)
			fail_msg("%s=%s: %ld instead of %ld", effect->name,
				value ? value : "", number, effect->seen[i].number);
	}
}

static inline void effect_check_all(const struct effect *effects, size_t count)
{
	for (size_t i = 0; i < count; i++)
		effect_check(&effects[i]);
}

#endif
