/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/copy.h"

#include "sys/clock.h"
#include "sys/compiler.h"

enum {
	SIZE_MIN =
		128 << 10, /* of the first class; each next one begins at four times */
	SAMPLES = 4,       /* operations measured with one way; the best one counts */
	OPERATIONS = 1000, /* between two measurements */
	/* The other way is preferred if it takes this part less. */
	GAIN = 16,
	/* All members see a choice this many slot uses after it was published: a member
	 * can begin a use only when the first member has ended that of COLL_SLOTS
	 * before (coll_is_free), or takes from one that could. */
	USES_TO_SEE = 2 * COLL_SLOTS,
};

int coll_copy_class(const struct coll_plan *plan)
{
	size_t most = (size_t)SIZE_MIN * 4;
	int size = 0, kind;

	switch (plan->kind) {
	case FI_ALLREDUCE:
		kind = 0;
		break;
	case FI_REDUCE_SCATTER:
		kind = 1;
		break;
	case FI_ALLGATHER:
		kind = 2;
		break;
	case FI_ALLTOALL:
		kind = 3;
		break;
	default:
		return -1;
	}
	for (; size < COLL_COPY_SIZES - 1 && plan->part >= most; most *= 4)
		size++;
	return kind * COLL_COPY_SIZES + size;
}

/* ---- the published choice ---- */

/* In one word: the slot use from which it holds, what held before, what holds. */
static uint64_t choice_of(uint64_t from, enum coll_copy before, enum coll_copy now)
{
	return from << 2 | (uint64_t)before << 1 | (uint64_t)now;
}

static enum coll_copy choice_at(uint64_t choice, uint64_t use)
{
	return (enum coll_copy)(use >= choice >> 2 ? choice & 1 : choice >> 1 & 1);
}

bool coll_copy_is_direct(const struct coll_node *node, int copy_class)
{
	uint64_t choice;

	if (copy_class < 0)
		return true;
	/* Pairs with publish. */
	choice = atomic_load_explicit(
		&node->segment[0]->choice[copy_class], memory_order_acquire);
	return choice_at(choice, node->base) == COLL_COPY_DIRECT;
}

static void publish(struct coll_node *node, int copy_class, enum coll_copy copy)
{
	_Atomic uint64_t *choice = &node->own->choice[copy_class];
	uint64_t before = atomic_load_explicit(choice, memory_order_relaxed);

	atomic_store_explicit(choice,
		choice_of(
			node->next + USES_TO_SEE, choice_at(before, node->next), copy),
		memory_order_release);
}

/* May the choice be replaced? No member needs the one before it any more: all have come
 * to the use from which it holds. */
static bool is_in_force(const struct coll_node *node, int copy_class)
{
	uint64_t from = atomic_load_explicit(
				&node->own->choice[copy_class], memory_order_relaxed) >>
			2;

	for (uint32_t i = 0; i < node->members; i++)
		/* Pairs with coll_set_done. */
		if (atomic_load_explicit(
			    &node->segment[i]->done, memory_order_acquire) < from)
			return false;
	return true;
}

void coll_copy_init(struct coll_node *node)
{
	for (int i = 0; i < COLL_COPY_CLASSES; i++)
		atomic_init(&node->own->choice[i],
			choice_of(0, COLL_COPY_DIRECT,
				node->copy == COLL_COPY_SEGMENT ? COLL_COPY_SEGMENT
								: COLL_COPY_DIRECT));
}

/* ---- measurement ---- */

void coll_copy_start(struct coll_node *node)
{
	const struct coll_plan *plan = &node->plan;
	bool measures =
		plan->copy_class >= 0 && !node->rank && node->copy == COLL_COPY_AUTO;

	node->started_ns = measures ? wf_now_ns() : 0;
}

static void begin(struct coll_copy_sample *sample, enum coll_copy_phase phase)
{
	sample->phase = phase;
	sample->count = 0;
}

/* The choice that follows from one more operation. */
static enum coll_copy next_choice(struct coll_copy_sample *sample, uint64_t cost)
{
	enum coll_copy now = sample->now, other = !now;

	switch (sample->phase) {
	case COLL_COPY_FIRST:
		if (sample->count < SAMPLES)
			break;
		begin(sample, COLL_COPY_OTHER);
		return other;
	case COLL_COPY_OTHER:
		/* A much slower way is not taken more often than needed. */
		if (sample->count < SAMPLES && cost < 2 * sample->best[other])
			break;
		begin(sample, COLL_COPY_SETTLED);
		if (sample->best[now] + sample->best[now] / GAIN > sample->best[other])
			return other;
		break;
	case COLL_COPY_SETTLED:
		if (sample->count < OPERATIONS)
			break;
		begin(sample, COLL_COPY_FIRST);
		break;
	}
	return now;
}

/* The measurements of a class have settled its choice. */
static void tell(struct coll_node *node, struct coll_copy_sample *sample)
{
	if (!node->tell || (sample->is_told && sample->told == sample->now))
		return;
	sample->is_told = true;
	sample->told = sample->now;
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
	/* Otherwise planned before the choice was seen. */
	if (used != sample->now || !is_in_force(node, plan->copy_class))
		return;
	cost = ((wf_now_ns() - node->started_ns) << 10) / plan->part;
	if (!sample->count++ && sample->phase == COLL_COPY_FIRST)
		sample->best[0] = sample->best[1] = UINT64_MAX;
	sample->best[used] = WF_MIN(sample->best[used], cost);
	next = next_choice(sample, cost);
	if (next != used)
		publish(node, plan->copy_class, next);
	sample->now = next;
	/* It was settled now, and not by an operation before. */
	if (sample->phase == COLL_COPY_SETTLED && !sample->count)
		tell(node, sample);
}
