/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/choice.h"

#include "sys/compiler.h"

enum {
	/* Operations before each of the early rounds. Then each pause is PAUSE_GROWTH
	 * times as long as the longer one of the last pause and the last round, and at
	 * most PAUSE_MAX rounds long. (Operations after a trial may be slower, too, so
	 * rounds cost more time than their own.) */
	PAUSE_FIRST = 16,
	PAUSE_GROWTH = 4,
	PAUSE_MAX = 84,
	SAMPLES_MIN = WF_CHOICE_SAMPLES / 2,
	/* Another method is preferred if the kept one takes over 1/GAIN more time in
	 * the mean of MEAN_ROUNDS rounds. */
	GAIN = 24,
	MEAN_ROUNDS = 3,
	/* A median that is CHANGE times as large as the mean, or as small, replaces it:
	 * the work has changed, or pages were populated before. */
	CHANGE = 2,
	/* Rounds come more rarely while the kept method takes less than 1/CLEAR of the
	 * time of another one, which each round costs: pauses grow CLEAR times as fast
	 * and as long, and an early round counts as two. */
	CLEAR = 2,
};

/* Operations of a trial of @method, without those before it. */
static unsigned int tries(const struct wf_choice *choice, unsigned int method)
{
	return choice->skipped[method] + (unsigned int)WF_CHOICE_SAMPLES;
}

static void measure(struct wf_choice *choice, unsigned int method)
{
	choice->method = (uint8_t)method;
	choice->span = choice->most;
	choice->most = choice->pending;
	/* Those that are under way; as many again, of which some work was done
	 * meanwhile; and a whole span. */
	choice->before = choice->span > 1 ? 3 * choice->span : 0;
	choice->round += choice->before + tries(choice, method);
	choice->ended = 0;
	choice->count = 0;
	choice->again = false;
}

static void settle(struct wf_choice *choice, bool is_clear)
{
	unsigned int factor = is_clear ? CLEAR : 1;

	choice->settled = true;
	choice->left = choice->pause;
	choice->rounds = (uint8_t)WF_MIN(choice->rounds + factor, WF_CHOICE_EARLY + 0u);
	if (choice->rounds < WF_CHOICE_EARLY)
		return;
	choice->pause =
		WF_MIN(WF_MAX(choice->pause, choice->round) * PAUSE_GROWTH * factor,
			PAUSE_MAX * choice->round * factor);
}

static void begin_round(struct wf_choice *choice)
{
	choice->settled = false;
	choice->round = 0;
	measure(choice, (unsigned int)__builtin_ctz(choice->methods));
}

void wf_choice_init(struct wf_choice *choice, unsigned int methods, unsigned int kept)
{
	choice->methods = (uint8_t)methods;
	choice->kept = (uint8_t)kept;
	choice->pause = PAUSE_FIRST;
	choice->rounds = 0;
	choice->pending = choice->most = 0;
	choice->span = 0;
	choice->round = 0;
	for (unsigned int method = 0; method < WF_CHOICE_METHODS; method++) {
		choice->skipped[method] = WF_CHOICE_SKIPPED;
		choice->mean[method] = UINT64_MAX;
		choice->averaged[method] = 0;
	}
	settle(choice, false);
}

void wf_choice_skip(struct wf_choice *choice, unsigned int method, unsigned int count)
{
	choice->skipped[method] = (uint8_t)WF_MIN(count, WF_CHOICE_SKIPPED_MAX + 0u);
}

void wf_choice_interrupt(struct wf_choice *choice)
{
	if (choice->settled)
		return;
	choice->settled = true;
	choice->left = choice->pause;
}

unsigned int wf_choice_take(struct wf_choice *choice)
{
	if (choice->pending < WF_CHOICE_SPAN_MAX)
		choice->pending++;
	choice->most = WF_MAX(choice->most, choice->pending);
	return wf_choice_method(choice);
}

static bool is_other(uint64_t mean, uint64_t median)
{
	return median < mean / CHANGE || median / CHANGE > mean;
}

/* Add the median of this round to the mean of @method. The second round replaces the
 * first one, in which pages and caches were filled. */
static void average(struct wf_choice *choice, unsigned int method)
{
	uint64_t median = choice->median[method], *mean = &choice->mean[method];
	uint8_t *rounds = &choice->averaged[method];

	if (median == UINT64_MAX)
		return;
	if (*mean == UINT64_MAX) {
		*mean = median;
	} else if (is_other(*mean, median)) {
		*mean = median;
		*rounds = 1;
	} else {
		*rounds = (uint8_t)WF_MIN(*rounds + 1, MEAN_ROUNDS);
		*mean = (*mean * (*rounds - 1u) + median) / *rounds;
	}
}

/* End of a round: keep the best method, if it is clearly better than the kept one. */
static void compare(struct wf_choice *choice)
{
	const uint64_t *mean = choice->mean;
	unsigned int best = choice->kept;

	for (unsigned int method = 0; method < WF_CHOICE_METHODS; method++)
		if (choice->methods >> method & 1)
			average(choice, method);
	for (unsigned int method = 0; method < WF_CHOICE_METHODS; method++)
		if (choice->methods >> method & 1 && mean[method] < mean[best])
			best = method;
	if (mean[choice->kept] != UINT64_MAX &&
		mean[best] + mean[best] / GAIN < mean[choice->kept])
		choice->kept = (uint8_t)best;
}

/* Does the kept method take much less time than another one? */
static bool is_clear(const struct wf_choice *choice)
{
	uint64_t most = 0;

	for (unsigned int method = 0; method < WF_CHOICE_METHODS; method++)
		if (choice->methods >> method & 1 && choice->mean[method] != UINT64_MAX)
			most = WF_MAX(most, choice->mean[method]);
	return most / CLEAR > choice->mean[choice->kept];
}

static void insert(struct wf_choice *choice, uint64_t cost)
{
	unsigned int at = choice->count++;

	for (; at && choice->cost[at - 1] > cost; at--)
		choice->cost[at] = choice->cost[at - 1];
	choice->cost[at] = cost;
}

/* An operation has ended while no round is under way. */
static void pass(struct wf_choice *choice)
{
	if (choice->methods & (choice->methods - 1) && !--choice->left)
		begin_round(choice);
}

bool wf_choice_add(struct wf_choice *choice, unsigned int method, uint64_t cost)
{
	unsigned int left;

	if (choice->pending)
		choice->pending--;
	if (choice->settled) {
		pass(choice);
		return false;
	}
	if (choice->before) {
		choice->before--;
		return false;
	}
	/* An operation that began before this method was measured has overtaken
	 * another one. */
	if (method != choice->method)
		return false;
	if (++choice->ended > choice->skipped[method] && cost)
		insert(choice, cost);
	if (choice->ended < tries(choice, method))
		return false;
	/* Many more were under way than before: this method lets them end together. */
	if (!choice->again && choice->most > 2 * WF_MAX(choice->span, 1)) {
		measure(choice, method);
		choice->again = true;
		return false;
	}
	choice->median[method] = choice->count < SAMPLES_MIN
					 ? UINT64_MAX
					 : choice->cost[choice->count / 2];
	left = choice->methods >> (method + 1);
	if (left) {
		measure(choice, method + 1 + (unsigned int)__builtin_ctz(left));
		return false;
	}
	compare(choice);
	settle(choice, is_clear(choice));
	return true;
}
