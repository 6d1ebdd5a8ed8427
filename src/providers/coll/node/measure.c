/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/copy.h"

#include "sys/clock.h"
#include "sys/compiler.h"

/*
 * Measurement of both methods of copying, which decides the choice of copy.c. One
 * member measures for all members, and its choice takes effect some slot uses after its
 * publication. Operations take up to milliseconds: so a method is tried in few of them,
 * and given up as soon as it is clear that it takes more time than the other one.
 */

enum {
	SAMPLES = 4, /* operations measured with one method; the best one counts */
	OPERATIONS = 1000, /* operations between two measurements */
	/* The other method is preferred if it takes less time by this fraction. */
	GAIN = 16,
};

void coll_copy_start(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	bool measures =
		plan->copy_class >= 0 && !node->rank && node->copy == COLL_COPY_AUTO;

	node->started_ns = measures ? wf_now_ns() : 0;
}

static void measure_begin(struct coll_copy_sample *sample, enum coll_copy_phase phase)
{
	sample->phase = phase;
	sample->count = 0;
}

/* Is it clear that the method that is tried, in sample->now, is slower than the one
 * before?
 * @cost: that of its last operation. */
static bool measure_is_slower(const struct coll_copy_sample *sample, uint64_t cost)
{
	uint64_t best_now = sample->best[sample->now];
	uint64_t best_before = sample->best[!sample->now];

	return cost >= 2 * best_before ||
	       (sample->count > 1 && best_now > best_before + best_before / 4);
}

/* The choice after one more operation. */
static enum coll_copy measure_next_choice(
	struct coll_copy_sample *sample, uint64_t cost)
{
	enum coll_copy now = sample->now, other = !now;

	switch (sample->phase) {
	case COLL_COPY_FIRST:
		if (sample->count < SAMPLES)
			break;
		measure_begin(sample, COLL_COPY_OTHER);
		return other;
	case COLL_COPY_OTHER:
		if (sample->count < SAMPLES && !measure_is_slower(sample, cost))
			break;
		measure_begin(sample, COLL_COPY_SETTLED);
		if (sample->best[now] + sample->best[now] / GAIN > sample->best[other])
			return other;
		break;
	case COLL_COPY_SETTLED:
		if (sample->count < OPERATIONS)
			break;
		measure_begin(sample, COLL_COPY_FIRST);
		break;
	}
	return now;
}

/* Report the choice that the measurements of a class have led to, if it differs from
 * the last one that was reported. */
static void measure_tell(struct coll_node *node, struct coll_copy_sample *sample)
{
	if (!node->tell || (sample->is_reported && sample->reported == sample->now))
		return;
	sample->is_reported = true;
	sample->reported = sample->now;
	node->tell(
		node->tell_arg, &(struct coll_node_choice){
					.kind = node->plan.kind,
					.part = node->plan.part,
					.copy = sample->now,
					.direct_ns = sample->best[COLL_COPY_DIRECT],
					.segment_ns = sample->best[COLL_COPY_SEGMENT],
				});
}

void coll_copy_end(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	struct coll_copy_sample *sample;
	enum coll_copy used = plan->is_direct ? COLL_COPY_DIRECT : COLL_COPY_SEGMENT;
	enum coll_copy next;
	uint64_t cost;

	if (!node->started_ns || plan->copy_class < 0)
		return;
	sample = &node->sample[plan->copy_class];
	/* The operation was planned before the current choice was visible. */
	if (used != sample->now || !coll_copy_is_in_force(node, plan->copy_class))
		return;
	cost = ((wf_now_ns() - node->started_ns) << 10) / plan->part;
	if (!sample->count++ && sample->phase == COLL_COPY_FIRST)
		sample->best[0] = sample->best[1] = UINT64_MAX;
	sample->best[used] = WF_MIN(sample->best[used], cost);
	next = measure_next_choice(sample, cost);
	if (next != used)
		coll_copy_publish(node, plan->copy_class, next);
	sample->now = next;
	/* The choice was made by this operation. */
	if (sample->phase == COLL_COPY_SETTLED && !sample->count)
		measure_tell(node, sample);
}
