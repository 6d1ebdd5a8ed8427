/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a size is measured. A batch is so many iterations that the clock, which is read
 * before and after it, costs nothing; short enough that other work of the machine
 * spoils few of them. Single iterations are timed in batches of their own, because a
 * clock that is read after each iteration costs as much as a small message does.
 */
#include "run.h"
#include "../clock.h"
#include "idle.h"
#include "median.h"
#include "message.h"
#include "say.h"
#include "patterns.h"
#include "ramp.h"
#include "silent.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	BATCHES_MIN = 5,
	BATCHES_MAX = 100000,
	TRIALS = 3,
	WARM_MESSAGES = 100,
	PS = 1000,
};

static const double batch_ns = 1e6;
static const uint64_t batch_max = 1 << 22, warm_bytes = 64 << 20;

/* The numbers that member 0 chooses, and shares with all members. */
struct plan {
	uint64_t count;   /* iterations of a batch */
	uint64_t batches; /* 0: one, to find out how long it takes */
	uint64_t single;  /* whether batches with single iterations alternate with the
			   * others */
};

/* The work of one thread in a plan. */
struct task {
	pthread_t thread;
	struct fb_worker *w;
	const struct fb_pattern *pattern;
	const struct plan *plan;
	pthread_barrier_t *start;
	double *ns;               /* of each batch */
	struct fb_histogram hist; /* single iterations */
	uint64_t clock_ns;        /* time of reading the clock */
};

/* ---- batches ---- */

static void run_pin(const struct fb_node *node, uint32_t number)
{
	cpu_set_t set;

	if (!node->core_count)
		return;
	CPU_ZERO(&set);
	CPU_SET(node->cores[number % node->core_count], &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fb_die(FB_EXIT_FAILED, "no pinning to core %u",
			node->cores[number % node->core_count]);
}

/* The shortest time of reading the clock, in ns. */
static uint64_t run_clock_cost(void)
{
	uint64_t least = UINT64_MAX, last = tool_now_ns();

	for (int i = 0; i < 1000; i++) {
		uint64_t now = tool_now_ns();

		if (now - last < least)
			least = now - last;
		last = now;
	}
	return least;
}

/* The time of a batch, from this member's time: for collectives the slowest
 * member's. */
static double run_of_all(struct fb_worker *w, double mine)
{
	double all[FB_MEMBERS_MAX];

	if (fb_tests[w->test].need != FB_NEED_COLLECTIVE)
		return mine;
	fb_control_gather(w->node->control, &mine, all, sizeof(mine));
	for (int i = 0; i < w->node->control->members; i++)
		if (all[i] > mine)
			mine = all[i];
	return mine;
}

static double run_batch(struct task *task)
{
	struct fb_worker *w = task->w;
	uint64_t start = tool_now_ns();
	double ns;

	w->batch_ns = 0;
	task->pattern->iterate(w, task->plan->count);
	ns = (double)(tool_now_ns() - start);
	return run_of_all(w, w->batch_ns > 0 ? w->batch_ns : ns);
}

static void run_add_iteration(struct task *task, uint64_t ns)
{
	ns = ns > task->clock_ns ? ns - task->clock_ns : 0;
	fb_histogram_add(&task->hist, ns * PS / task->pattern->legs);
}

/* Each page is written once, so that no page fault is measured. */
static uint64_t *run_stamps_new(uint64_t count)
{
	uint64_t *stamps = fb_alloc(count, sizeof(*stamps));

	memset(stamps, UINT8_MAX, count * sizeof(*stamps));
	return stamps;
}

static void run_single_batch(struct task *task)
{
	struct fb_worker *w = task->w;
	uint64_t last;

	if (!w->side)
		w->stamps = run_stamps_new(task->plan->count);
	last = tool_now_ns();
	task->pattern->iterate(w, task->plan->count);
	if (!w->stamps)
		return;
	for (uint64_t i = 0; i < task->plan->count; i++) {
		run_add_iteration(task, w->stamps[i] - last);
		last = w->stamps[i];
	}
	free(w->stamps);
	w->stamps = NULL;
}

static void *run_task(void *arg)
{
	struct task *task = arg;
	const struct plan *plan = task->plan;
	uint64_t batches = plan->batches ? plan->batches : 1;

	run_pin(task->w->node, task->w->number);
	if (plan->single)
		task->clock_ns = run_clock_cost();
	pthread_barrier_wait(task->start);
	for (uint64_t i = 0; i < batches; i++) {
		task->ns[i] = run_batch(task);
		if (plan->single)
			run_single_batch(task);
		if (plan->batches && !task->w->number)
			fb_progress(fb_tests[task->w->test].name, task->w->bytes,
				(double)i / (double)batches);
	}
	return NULL;
}

/* Runs the tasks of all threads; the first task in the calling thread. */
static void run_tasks(struct task *tasks, uint32_t threads)
{
	pthread_barrier_t start;

	if (pthread_barrier_init(&start, NULL, threads))
		fb_die(FB_EXIT_FAILED, "no memory for threads");
	for (uint32_t i = threads; i--;) {
		tasks[i].start = &start;
		if (i && pthread_create(&tasks[i].thread, NULL, run_task, &tasks[i]))
			fb_die(FB_EXIT_FAILED, "no thread could be started");
		if (!i)
			run_task(&tasks[i]);
	}
	for (uint32_t i = 1; i < threads; i++)
		pthread_join(tasks[i].thread, NULL);
	pthread_barrier_destroy(&start);
}

/* ---- one size ---- */

struct size {
	struct fb_node *node;
	const struct fb_pattern *pattern;
	enum fb_test test;
	uint64_t bytes;
	struct task *tasks;
};

/* Checks a plan that came from member 0. */
static void run_check_plan(const struct plan *plan)
{
	if (!plan->count || plan->count > FB_COUNT_MAX || plan->batches > BATCHES_MAX)
		fb_die(FB_EXIT_FAILED, "the client asks for too many messages");
}

static double run_plan(struct size *size, const struct plan *plan)
{
	uint32_t threads = size->node->config->threads;
	uint64_t batches = plan->batches ? plan->batches : 1;
	double longest = 0;

	for (uint32_t i = 0; i < threads; i++) {
		struct task *task = &size->tasks[i];

		task->w = &size->node->worker[i];
		task->pattern = size->pattern;
		task->plan = plan;
		free(task->ns);
		task->ns = fb_alloc(batches, sizeof(*task->ns));
	}
	run_tasks(size->tasks, threads);
	for (uint32_t i = 0; i < threads; i++)
		if (size->tasks[i].ns[0] > longest)
			longest = size->tasks[i].ns[0];
	return longest;
}

/* The iterations for a number of messages: in a stream, whole windows. */
static uint64_t run_iterations_for(const struct size *size, uint64_t messages)
{
	uint32_t window = fb_config_window(size->node->config, size->bytes);

	if (size->pattern->legs)
		return messages ? messages : 1;
	return messages > window ? (messages + window - 1) / window * window : window;
}

static uint64_t run_warm_up(const struct size *size)
{
	uint64_t fit = size->bytes ? warm_bytes / size->bytes : WARM_MESSAGES;

	if (size->node->config->warmup)
		return size->node->config->warmup;
	return fit < WARM_MESSAGES ? fit : WARM_MESSAGES;
}

/* The time of a batch: the shortest of several, because other work of the machine only
 * makes a batch longer. */
static double run_try_plan(struct size *size, const struct plan *plan)
{
	double least = run_plan(size, plan), ns;

	for (int i = 1; i < TRIALS; i++) {
		ns = run_plan(size, plan);
		least = ns < least ? ns : least;
	}
	return least;
}

/* Member 0 tries batches until one is long enough; the others follow. */
static void run_find_plan(struct size *size, struct plan *plan)
{
	const struct fb_config *c = size->node->config;
	struct fb_control *control = size->node->control;
	double ns = 0;

	*plan = (struct plan){ .count = run_iterations_for(size, run_warm_up(size)) };
	(void)run_plan(size, plan);
	plan->count = run_iterations_for(size, c->batch);
	while (!plan->batches) {
		ns = run_try_plan(size, plan);
		if (!c->batch && ns < batch_ns && plan->count < batch_max)
			plan->count *= 2;
		else
			plan->batches = 1;
		fb_control_share(control, plan, sizeof(*plan));
		run_check_plan(plan);
	}
	plan->single = c->percentiles && size->pattern->legs;
	if (c->count)
		plan->batches = c->count / plan->count;
	else
		plan->batches = (uint64_t)((double)c->duration_ns / ns /
					   (plan->single ? 2 : 1));
	if (plan->batches < (c->count ? 1 : BATCHES_MIN))
		plan->batches = c->count ? 1 : BATCHES_MIN;
	if (plan->batches > BATCHES_MAX)
		plan->batches = BATCHES_MAX;
	fb_control_share(control, plan, sizeof(*plan));
	run_check_plan(plan);
}

/* Time of a message in batch @i, over all threads: streams of threads add up, each
 * thread has a ping-pong of its own. */
static double run_of_threads(const struct size *size, uint64_t i, uint64_t messages)
{
	uint32_t threads = size->node->config->threads;
	double rate = 0, sum = 0;

	for (uint32_t t = 0; t < threads; t++) {
		double ns = size->tasks[t].ns[i] / (double)messages;

		sum += ns;
		rate += 1 / ns;
	}
	return size->pattern->legs ? sum / threads : 1 / rate;
}

static void run_fill_row(
	const struct size *size, const struct plan *plan, struct fb_row *row)
{
	uint32_t legs = size->pattern->legs ? size->pattern->legs : 1;
	uint64_t messages = plan->count * legs;
	double *ns;

	row->test = size->test;
	row->bytes = size->bytes;
	row->window = size->pattern->legs && size->test != FB_BURST
			      ? 1
			      : size->node->worker->window;
	row->messages = messages * plan->batches * size->node->config->threads *
			(plan->single ? 2 : 1) *
			(size->test == FB_BURST ? row->window : 1);
	row->failed = size->node->worker->stalled;
	if (row->failed)
		return;
	ns = fb_alloc(plan->batches, sizeof(*ns));
	for (uint32_t t = 0; t < size->node->config->threads; t++) {
		row->lost += size->node->worker[t].lost;
		fb_histogram_merge(&row->hist, &size->tasks[t].hist);
	}
	for (uint64_t i = 0; i < plan->batches; i++) {
		ns[i] = run_of_threads(size, i, messages);
		if (!plan->single && size->node->config->percentiles)
			fb_histogram_add(&row->hist, (uint64_t)(ns[i] * PS));
	}
	fb_sort_values(ns, plan->batches);
	row->best_ns = ns[0];
	row->median_ns = ns[plan->batches / 2];
	free(ns);
}

static void run_check(struct size *size)
{
	if (!size->node->config->verify || !size->pattern->check)
		return;
	fb_control_barrier(size->node->control);
	for (uint32_t i = 0; i < size->node->config->threads; i++)
		if (size->node->worker[i].side)
			size->pattern->check(&size->node->worker[i]);
}

static void run_begin_size(struct size *size)
{
	for (uint32_t i = 0; i < size->node->config->threads; i++) {
		struct fb_worker *w = &size->node->worker[i];

		fb_worker_size(w, size->test, size->bytes);
		if (size->pattern->prepare)
			size->pattern->prepare(w);
		if (size->node->config->silent)
			fb_silent_meet(w);
	}
	fb_control_barrier(size->node->control);
}

static void run_end_size(struct size *size)
{
	for (uint32_t i = 0; i < size->node->config->threads; i++) {
		fb_message_drain(&size->node->worker[i]);
		free(size->tasks[i].ns);
	}
	free(size->tasks);
	fb_control_barrier(size->node->control);
}

static void run_size(struct size *size, struct fb_row *row)
{
	struct plan plan;

	size->tasks = fb_alloc(size->node->config->threads, sizeof(*size->tasks));
	memset(row, 0, sizeof(*row));
	run_begin_size(size);
	run_find_plan(size, &plan);
	for (uint32_t i = 0; i < size->node->config->threads; i++)
		size->node->worker[i].lost = 0;
	(void)run_plan(size, &plan);
	if (!size->node->control->rank)
		run_fill_row(size, &plan, row);
	run_check(size);
	run_end_size(size);
}

/* ---- all of them ---- */

/* Can the endpoint send this size? If not, a message says that it is left out. */
static bool run_possible(const struct fb_node *node, enum fb_test test, uint64_t bytes)
{
	uint64_t most = node->size_max;

	if (fb_tests[test].need == FB_NEED_COLLECTIVE)
		return true;
	if (node->config->inject && node->inject_max < most)
		most = node->inject_max;
	if (bytes <= most)
		return true;
	if (!node->control->rank && node->config->size_count)
		fb_say("%s, %llu bytes: left out, at most %llu are possible",
			fb_tests[test].name, (unsigned long long)bytes,
			(unsigned long long)most);
	return false;
}

void fb_run(struct fb_node *node, void (*tell)(void *arg, const struct fb_row *row),
	void *arg)
{
	struct fb_row *row = fb_alloc(1, sizeof(*row));

	if (node->config->idle) {
		fb_worker_size(&node->worker[0], FB_CONNECT, 1);
		fb_control_barrier(node->control);
		fb_idle_add(&node->worker[0]);
		fb_message_drain(&node->worker[0]);
	}
	for (int test = 0; test < FB_TEST_COUNT; test++) {
		uint64_t sizes[FB_SIZES_MAX];
		uint32_t n = fb_config_has(node->config, test)
				     ? fb_config_sizes(node->config, test, sizes)
				     : 0;

		for (uint32_t i = 0; i < n; i++) {
			struct size size = { .node = node,
				.pattern = fb_pattern_of(node->config, test),
				.test = test,
				.bytes = sizes[i] };

			if (!run_possible(node, test, sizes[i]))
				continue;
			if (test == FB_RAMP) {
				run_pin(node, 0);
				fb_ramp(node, sizes[i], tell, arg);
				continue;
			}
			run_size(&size, row);
			if (!node->control->rank)
				tell(arg, row);
		}
	}
	free(row);
}
