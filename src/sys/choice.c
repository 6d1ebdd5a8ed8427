/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/choice.h"

#include <assert.h>

#include "sys/compiler.h"

enum {
	/* Operations before the first round, in which pages and caches are filled. Each
	 * pause is PAUSE_GROWTH times as long as the one before. */
	PAUSE_FIRST = 16,
	PAUSE_GROWTH = 4,
	PAUSE_MAX = 8192,
	/* Another method is preferred if the kept one takes over 1/CLEARLY more time,
	 * or over 1/A_LITTLE more in two rounds. */
	CLEARLY = 8,
	A_LITTLE = 32,
};

static void measure(struct wf_choice *choice, unsigned int method)
{
	choice->method = (uint8_t)method;
	choice->ended = 0;
	choice->count = 0;
	choice->sum = 0;
	choice->incomplete = false;
}

static void settle(struct wf_choice *choice)
{
	choice->settled = true;
	choice->left = choice->pause;
	choice->pause = (uint16_t)WF_MIN(choice->pause * PAUSE_GROWTH, (int)PAUSE_MAX);
}

static void begin_round(struct wf_choice *choice)
{
	choice->settled = false;
	measure(choice, (unsigned int)__builtin_ctz(choice->methods));
}

void wf_choice_init(struct wf_choice *choice, unsigned int methods, unsigned int kept,
	unsigned int groups)
{
	assert(groups && groups <= WF_CHOICE_GROUPS_MAX);
	choice->methods = (uint8_t)methods;
	choice->groups = (uint8_t)groups;
	choice->kept = (uint8_t)kept;
	choice->doubt = 0;
	choice->pause = PAUSE_FIRST;
	settle(choice);
}

/* Is an operation under way that did not take @method? */
static bool is_mixed(const struct wf_choice *choice, unsigned int method)
{
	for (unsigned int other = 0; other < WF_CHOICE_METHODS; other++)
		if (other != method && choice->unended[other])
			return true;
	return false;
}

static unsigned int best_method(const struct wf_choice *choice)
{
	const uint64_t *median = choice->median;
	unsigned int best = choice->kept;

	for (unsigned int method = 0; method < WF_CHOICE_METHODS; method++)
		if (choice->methods >> method & 1 && median[method] < median[best])
			best = method;
	return best;
}

/* End of a round. */
static void compare(struct wf_choice *choice)
{
	unsigned int best = best_method(choice);
	uint64_t least = choice->median[best], kept = choice->median[choice->kept];

	if (kept == UINT64_MAX || least + least / A_LITTLE >= kept) {
		choice->doubt = 0;
	} else if (least + least / CLEARLY < kept || choice->doubt == best + 1) {
		choice->kept = (uint8_t)best;
		choice->doubt = 0;
	} else {
		choice->doubt = (uint8_t)(best + 1);
	}
}

/* An operation has ended while no round is under way. */
static void pass(struct wf_choice *choice)
{
	if (choice->methods & (choice->methods - 1) && !--choice->left)
		begin_round(choice);
}

static void end_group(struct wf_choice *choice)
{
	unsigned int at = choice->count;

	if (!choice->incomplete) {
		for (; at && choice->cost[at - 1] > choice->sum; at--)
			choice->cost[at] = choice->cost[at - 1];
		choice->cost[at] = choice->sum;
		choice->count++;
	}
	choice->sum = 0;
	choice->incomplete = false;
}

/* The lower one of the medians, because what disturbs a group makes it longer. */
static uint64_t median_of(const struct wf_choice *choice)
{
	if (!choice->count || choice->count < choice->groups / 2)
		return UINT64_MAX;
	return choice->cost[(choice->count - 1) / 2] / WF_CHOICE_GROUP;
}

/* Count an operation of the method that is measured. True: it was the last one. */
static bool count(struct wf_choice *choice, uint64_t cost)
{
	if (++choice->ended <= WF_CHOICE_SKIPPED)
		return false;
	choice->sum += cost;
	choice->incomplete |= !cost;
	if ((choice->ended - WF_CHOICE_SKIPPED) % WF_CHOICE_GROUP)
		return false;
	end_group(choice);
	return choice->ended == WF_CHOICE_SKIPPED + choice->groups * WF_CHOICE_GROUP;
}

bool wf_choice_add(struct wf_choice *choice, unsigned int method, uint64_t cost)
{
	unsigned int left;

	assert(choice->unended[method]);
	choice->unended[method]--;
	if (choice->settled) {
		pass(choice);
		return false;
	}
	/* An operation that took another method began before this method was measured.
	 */
	if (method != choice->method || is_mixed(choice, method) ||
		!count(choice, cost))
		return false;
	choice->median[method] = median_of(choice);
	left = choice->methods >> (method + 1);
	if (left) {
		measure(choice, method + 1 + (unsigned int)__builtin_ctz(left));
		return false;
	}
	compare(choice);
	settle(choice);
	return true;
}
