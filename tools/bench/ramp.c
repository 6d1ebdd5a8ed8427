/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long it takes until messages are fast. Pair after pair of endpoints is opened,
 * each with a fabric and a domain of its own, as by programs that just began, and
 * exchanges messages to and fro. The clock is read behind message 1, 10, 100 and so
 * forth, and not between, because reading it takes time as well.
 */
#include "ramp.h"
#include "../clock.h"
#include "median.h"
#include "message.h"
#include "patterns.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LENGTH = 10000,
	EARLY_LAST = 100,
	STEADY_LEAST = 200, /* length with a steady half behind the early messages */
	PAIRS_MIN = 5,
	PAIRS_MAX = 1000,
	RANGES_MAX = 20,
	PS = 1000,
	SETTLE_US = 200,
};

static const uint64_t most_bytes = (uint64_t)1 << 30;

/* Messages of a pair by their numbers, from 1. */
struct range {
	uint64_t first, last;
};

struct ramp {
	struct fb_node *outer; /* names the provider, and has the control connection */
	uint64_t bytes, length;
	struct range range[RANGES_MAX];
	uint32_t ranges;
	/* Numbers of messages behind which the clock is read, ascending from 0. */
	uint64_t mark[RANGES_MAX];
	uint32_t marks;
	double *ns[RANGES_MAX]; /* time of a message in each range, by pair */
	uint32_t pairs;
};

/* ---- what is measured ---- */

static void ramp_add_range(struct ramp *ramp, uint64_t first, uint64_t last)
{
	ramp->range[ramp->ranges++] = (struct range){ first, last };
}

static void ramp_add_mark(struct ramp *ramp, uint64_t after)
{
	uint32_t at = ramp->marks;

	for (uint32_t i = 0; i < ramp->marks; i++)
		if (ramp->mark[i] == after)
			return;
	for (; at && ramp->mark[at - 1] > after; at--)
		ramp->mark[at] = ramp->mark[at - 1];
	ramp->mark[at] = after;
	ramp->marks++;
}

static uint64_t ramp_length_of(const struct fb_config *config, uint64_t bytes)
{
	uint64_t fit = most_bytes / bytes;

	if (config->count)
		return config->count;
	return fit > LENGTH ? LENGTH : fit > EARLY_LAST ? fit : EARLY_LAST;
}

static void ramp_plan(struct ramp *ramp)
{
	ramp->length = ramp_length_of(ramp->outer->config, ramp->bytes);
	for (uint64_t last = 1; last <= ramp->length; last *= 10)
		ramp_add_range(ramp, 1, last);
	if (ramp->length >= STEADY_LEAST) {
		ramp_add_range(ramp, ramp->length / 2 + 1, ramp->length);
		ramp_add_range(ramp, 2, EARLY_LAST);
	}
	for (uint32_t i = 0; i < ramp->ranges; i++) {
		ramp_add_mark(ramp, ramp->range[i].first - 1);
		ramp_add_mark(ramp, ramp->range[i].last);
		ramp->ns[i] = fb_alloc(PAIRS_MAX, sizeof(*ramp->ns[i]));
	}
}

/* ---- one pair ---- */

/* The provider that the other tests have, and this test alone. */
static void ramp_configure(const struct ramp *ramp, struct fb_config *config)
{
	const struct fb_node *outer = ramp->outer;

	*config = *outer->config;
	config->tests = (uint64_t)1 << FB_RAMP;
	config->size[0] = ramp->bytes;
	config->size_count = 1;
	config->call = outer->call;
	config->narrow = false;
	config->idle = 0;
	if (!config->provider[0])
		snprintf(config->provider, sizeof(config->provider), "%s",
			outer->info->fabric_attr->prov_name);
	if (!config->domain[0])
		snprintf(config->domain, sizeof(config->domain), "%s",
			outer->info->domain_attr->name);
}

static void ramp_pause_a_bit(void)
{
	uint64_t until_ns = tool_now_ns() + SETTLE_US * 1000;

	while (tool_now_ns() < until_ns)
		;
}

/* Stores the time from the first message, or from the begin of connecting, to each
 * mark. */
static void ramp_exchange(
	const struct ramp *ramp, struct fb_node *node, double time_ns[RANGES_MAX])
{
	struct fb_worker *w = node->worker;
	const struct fb_pattern *pattern = fb_pattern_of(node->config, FB_LATENCY);
	uint64_t start_ns;

	fb_worker_size(w, FB_RAMP, ramp->bytes);
	fb_control_barrier(node->control);
	/* The other side wakes up from the barrier meanwhile. */
	if (!w->side)
		ramp_pause_a_bit();
	start_ns = tool_now_ns() - node->connect_ns;
	for (uint32_t i = 1; i < ramp->marks; i++) {
		pattern->iterate(w, ramp->mark[i] - ramp->mark[i - 1]);
		time_ns[i] = (double)(tool_now_ns() - start_ns);
	}
}

static double ramp_time_at(
	const struct ramp *ramp, const double time_ns[RANGES_MAX], uint64_t after)
{
	for (uint32_t i = 0; i < ramp->marks; i++)
		if (ramp->mark[i] == after)
			return time_ns[i];
	return 0;
}

static void ramp_one_pair(struct ramp *ramp)
{
	const struct fb_node *outer = ramp->outer;
	double time_ns[RANGES_MAX] = { 0 };
	struct fb_config config;
	struct fb_node node = { .config = &config,
		.control = outer->control,
		.source = outer->source,
		.cores = outer->cores,
		.core_count = outer->core_count };

	ramp_configure(ramp, &config);
	fb_node_open(&node);
	ramp_exchange(ramp, &node, time_ns);
	/* Neither side closes before both have their messages. */
	fb_control_barrier(node.control);
	fb_node_close(&node);
	for (uint32_t i = 0; i < ramp->ranges; i++) {
		struct range r = ramp->range[i];

		ramp->ns[i][ramp->pairs] =
			(ramp_time_at(ramp, time_ns, r.last) -
				ramp_time_at(ramp, time_ns, r.first - 1)) /
			(double)(2 * (r.last - r.first + 1));
	}
	ramp->pairs++;
}

/* ---- all of them ---- */

/* Member 0 decides, the other follows. */
static bool ramp_goes_on(struct ramp *ramp, uint64_t start_ns)
{
	uint64_t ns = tool_now_ns() - start_ns;
	char more = ramp->pairs < PAIRS_MIN ||
		    (ns < ramp->outer->config->duration_ns && ramp->pairs < PAIRS_MAX);

	fb_progress(fb_tests[FB_RAMP].name, ramp->bytes,
		(double)ramp->pairs / (ramp->pairs + 1));
	fb_control_share(ramp->outer->control, &more, sizeof(more));
	return more && ramp->pairs < PAIRS_MAX;
}

static void ramp_fill_row(struct ramp *ramp, uint32_t number, struct fb_row *row)
{
	struct range range = ramp->range[number];
	double *ns = ramp->ns[number];

	memset(row, 0, sizeof(*row));
	row->test = FB_RAMP;
	row->bytes = ramp->bytes;
	row->window = 1;
	row->first = range.first;
	row->last = range.last;
	row->messages = 2 * (range.last - range.first + 1) * ramp->pairs;
	for (uint32_t i = 0; ramp->outer->config->percentiles && i < ramp->pairs; i++)
		fb_histogram_add(&row->hist, (uint64_t)(ns[i] * PS));
	fb_sort_values(ns, ramp->pairs);
	row->best_ns = ns[0];
	row->median_ns = ns[ramp->pairs / 2];
}

void fb_ramp(struct fb_node *node, uint64_t bytes,
	void (*tell)(void *arg, const struct fb_row *row), void *arg)
{
	struct ramp ramp = { .outer = node, .bytes = bytes };
	struct fb_row *row = fb_alloc(1, sizeof(*row));
	uint64_t start_ns = tool_now_ns();

	ramp_plan(&ramp);
	do {
		ramp_one_pair(&ramp);
	} while (ramp_goes_on(&ramp, start_ns));
	for (uint32_t i = 0; i < ramp.ranges; i++) {
		if (!node->control->rank) {
			ramp_fill_row(&ramp, i, row);
			tell(arg, row);
		}
		free(ramp.ns[i]);
	}
	free(row);
}
