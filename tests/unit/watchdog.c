/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A case of a unit test that does not end names itself, and one fails that ends with
 * more descriptors, threads or mapped files than it began with. Linked into all of
 * them: the function that runs a group of cases (cmocka) is replaced by one that sets a
 * timer for each case. Its signal is one that no test uses, since some use alarm(2)
 * themselves.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "../left.h"
#include "../time_limits.h"

/* Seconds on an idle machine; WEFT_WATCHDOG_S in the environment replaces them. The
 * longest cases, of random operations, take 8. */
enum { WATCHDOG_S = 20, WATCHDOG_CASES = 256 };

/* A case, and its state while it runs. cmocka gets a pointer to this as the state. */
struct watched {
	const struct CMUnitTest *real;
	void *state;
	struct left before;
};

int __real__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
	size_t count, CMFixtureFunction setup, CMFixtureFunction teardown);
int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
	size_t count, CMFixtureFunction setup, CMFixtureFunction teardown);

/* What a case may leave: a program whose subject is something that lasts, as the log,
 * has a definition of its own. */
__attribute__((weak)) int unit_keeps_fds = 0;
__attribute__((weak)) int unit_keeps_threads = 0;

static struct watched watched[WATCHDOG_CASES];
static const char *volatile running;
static CMFixtureFunction group_setup, group_teardown;
static void *group_state;
static timer_t timer;

static void watchdog_bites(int sig)
{
	static const char text[] = "\nnot ok - does not end: ";
	const char *name = running;

	(void)sig;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	(void)!write(STDOUT_FILENO, name, strlen(name));
	(void)!write(STDOUT_FILENO, "\n", 1);
	_exit(1);
}

static void watchdog_set(unsigned int seconds)
{
	const struct itimerspec at = { .it_value.tv_sec = seconds };

	(void)timer_settime(timer, 0, &at, NULL);
}

static unsigned int watchdog_limit(void)
{
	const char *told = getenv("WEFT_WATCHDOG_S");

	return told && atoi(told) > 0 ? (unsigned int)atoi(told) : limit_s(WATCHDOG_S);
}

static int case_setup(void **state)
{
	struct watched *w = *state;

	running = w->real->name;
	w->before = left_count();
	/* As cmocka does: the state of a group comes before that of a case. */
	w->state = group_state ? group_state : w->real->initial_state;
	watchdog_set(watchdog_limit());
	return w->real->setup_func ? w->real->setup_func(&w->state) : 0;
}

static void case_run(void **state)
{
	struct watched *w = *state;

	w->real->test_func(&w->state);
}

static int case_teardown(void **state)
{
	struct watched *w = *state;
	int ret = w->real->teardown_func ? w->real->teardown_func(&w->state) : 0;
	const struct left kept = { unit_keeps_fds, unit_keeps_threads, 0 };
	char text[256];

	watchdog_set(0);
	if (ret || !left_more(w->before, kept, text, sizeof(text)))
		return ret;
	print_message("# %s: %s\n", w->real->name, text);
	return -1;
}

static int watched_setup(void **state)
{
	int ret = group_setup ? group_setup(state) : 0;

	group_state = *state;
	*state = NULL;
	return ret;
}

static int watched_teardown(void **state)
{
	*state = group_state;
	return group_teardown ? group_teardown(state) : 0;
}

int __wrap__cmocka_run_group_tests(const char *name, const struct CMUnitTest *tests,
	size_t count, CMFixtureFunction setup, CMFixtureFunction teardown)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
		.sigev_signo = SIGRTMAX - 1 };
	struct sigaction action = { .sa_handler = watchdog_bites };
	struct CMUnitTest cases[WATCHDOG_CASES];

	if (count > WATCHDOG_CASES || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
		sigaction(SIGRTMAX - 1, &action, NULL))
		return __real__cmocka_run_group_tests(
			name, tests, count, setup, teardown);
	for (size_t i = 0; i < count; i++) {
		watched[i].real = &tests[i];
		cases[i] = (struct CMUnitTest){ tests[i].name, case_run, case_setup,
			case_teardown, &watched[i] };
	}
	group_setup = setup;
	group_teardown = teardown;
	return __real__cmocka_run_group_tests(
		name, cases, count, watched_setup, watched_teardown);
}
