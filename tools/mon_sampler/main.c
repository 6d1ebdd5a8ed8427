/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fi_mon_sampler: take samples of programs that run with FI_HOOK=monitor. Rows go to
 * standard output or to files, everything else to standard error.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "options.h"
#include "targets.h"

static volatile sig_atomic_t interrupted;

static void main_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

static uint64_t main_now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void main_sleep_ms(uint64_t ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* Wait until all targets have answered, or with @until until that time. A note tells
 * which ones take long. */
static void main_wait_for_answers(struct targets *targets, bool limited, uint64_t until)
{
	enum { NOTE_MS = 2000, STEP_MS = 20 };
	uint64_t begin = main_now_ms(), now, step = 1;
	bool noted = false;

	while (targets_poll(targets) && !interrupted) {
		now = main_now_ms();
		if (limited && now >= until)
			return;
		if (!noted && !limited && now - begin >= NOTE_MS) {
			targets_note_waiting(targets);
			noted = true;
		}
		main_sleep_ms(step);
		step = step < STEP_MS ? step + 1 : STEP_MS;
	}
}

static void main_sample_again(struct targets *targets, unsigned int interval_ms)
{
	uint64_t next = main_now_ms();

	while (targets_ask(targets) && !interrupted) {
		uint64_t now;

		next += interval_ms;
		main_wait_for_answers(targets, true, next);
		now = main_now_ms();
		if (now < next)
			main_sleep_ms(next - now);
		else
			next = now;
		/* One sample in a millisecond, if the interval is 0. */
		if (!interval_ms)
			main_sleep_ms(1);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = main_interrupt };
	struct sampler_options options;
	struct targets *targets;
	int status;
	bool good;

	if (!sampler_options(argc, argv, &options, &status))
		return status;
	/* Files are closed with a note after an interrupt. */
	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
	targets = targets_open(&options);
	if (!targets)
		return EXIT_FAILURE;
	if (options.repeat) {
		main_sample_again(targets, options.interval_ms);
	} else {
		(void)targets_ask(targets);
		main_wait_for_answers(targets, false, 0);
	}
	good = targets_close(targets) && (options.repeat || !interrupted);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
