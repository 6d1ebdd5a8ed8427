/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <string.h>

#include "sys/choice.h"
#include "sys/compiler.h"

enum { A, B, BOTH = 3, MANY = 10000 };

/* Do @count operations with the costs @cost of each method; *@went: how many used each.
 */
static void work(struct wf_choice *choice, const uint64_t *cost, int count, int *went)
{
	for (int i = 0; i < count; i++) {
		unsigned int method = wf_choice_take(choice);

		went[method]++;
		(void)wf_choice_add(choice, method, cost[method]);
	}
}

/* Work until a round of measurements is over; true: it compared the methods. */
static bool work_round(struct wf_choice *choice, const uint64_t *cost)
{
	bool compared = false;
	unsigned int method;

	while (choice->settled)
		(void)wf_choice_add(choice, choice->kept, cost[choice->kept]);
	while (!choice->settled) {
		method = wf_choice_take(choice);
		compared = wf_choice_add(choice, method, cost[method]);
	}
	return compared;
}

/* The best method is found, and taken by nearly all operations from then on. */
static void best_way(void **state)
{
	static const uint64_t costs[][WF_CHOICE_METHODS] = { { 10, 13 }, { 13, 10 } };

	for (unsigned int best = A; best <= B; best++)
		for (unsigned int first = A; first <= B; first++) {
			int went[WF_CHOICE_METHODS] = { 0 };
			struct wf_choice choice;

			wf_choice_init(&choice, BOTH, first);
			assert_int_equal(wf_choice_take(&choice), first);
			assert_true(work_round(&choice, costs[best]));
			assert_int_equal(wf_choice_take(&choice), best);
			work(&choice, costs[best], MANY, went);
			assert_int_equal(choice.kept, best);
			assert_in_range(went[best], MANY - MANY / 60, MANY - 1);
		}
}

/* A method that is only a little better replaces no other one. */
static void little_better(void **state)
{
	static const struct {
		uint64_t cost;
		unsigned int kept;
	} rows[] = { { 970, A }, { 961, A }, { 950, B }, { 880, B } };

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const uint64_t costs[] = { 1000, rows[i].cost };
		struct wf_choice choice;

		wf_choice_init(&choice, BOTH, A);
		for (int round = 0; round < 4; round++) {
			assert_true(work_round(&choice, costs));
			assert_int_equal(wf_choice_take(&choice), rows[i].kept);
		}
	}
}

/* One round that was disturbed changes nothing: one of three weighs a third. What lasts
 * does, and what is very different does so at once. @first: the better method. */
static void mean_of_rounds_of(unsigned int first)
{
	const unsigned int second = !first;
	uint64_t usual[WF_CHOICE_METHODS], disturbed[WF_CHOICE_METHODS],
		changed[WF_CHOICE_METHODS];
	struct wf_choice choice;

	usual[first] = 1000;
	disturbed[first] = 1400;
	changed[first] = 2500;
	usual[second] = disturbed[second] = changed[second] = 1150;
	wf_choice_init(&choice, BOTH, first);
	for (int i = 0; i < 4; i++)
		assert_true(work_round(&choice, usual));
	assert_true(work_round(&choice, disturbed));
	assert_int_equal(wf_choice_take(&choice), first);
	assert_int_equal(choice.mean[first], (2 * 1000 + 1400) / 3);
	assert_true(work_round(&choice, disturbed));
	assert_int_equal(wf_choice_take(&choice), second);

	for (int i = 0; i < 6; i++)
		assert_true(work_round(&choice, usual));
	assert_int_equal(wf_choice_take(&choice), first);
	assert_true(work_round(&choice, changed));
	assert_int_equal(wf_choice_take(&choice), second);
	assert_int_equal(choice.mean[first], 2500);
	assert_true(work_round(&choice, usual));
	assert_int_equal(choice.mean[first], 1000);
	assert_int_equal(wf_choice_take(&choice), first);
	/* The mean has begun anew: two rounds, of which each weighs a half. */
	assert_true(work_round(&choice, disturbed));
	assert_int_equal(choice.mean[first], (1000 + 1400) / 2);
}

static void mean_of_rounds(void **state)
{
	mean_of_rounds_of(A);
	mean_of_rounds_of(B);
}

/* The second round replaces the first one, and a round in which a method has no median
 * leaves its mean as it was. */
static void first_rounds(void **state)
{
	static const uint64_t cold[] = { 1700, 1000 }, warm[] = { 900, 1000 },
			      unknown[] = { 900, 0 };
	struct wf_choice choice;

	wf_choice_init(&choice, BOTH, A);
	assert_true(work_round(&choice, cold));
	assert_int_equal(wf_choice_take(&choice), B);
	assert_true(work_round(&choice, warm));
	assert_int_equal(choice.mean[A], 900);
	assert_int_equal(wf_choice_take(&choice), A);
	assert_true(work_round(&choice, unknown));
	assert_int_equal(choice.median[B], UINT64_MAX);
	assert_int_equal(choice.mean[B], 1000);
	assert_int_equal(wf_choice_take(&choice), A);
}

/* A method that is not in the mask is never taken. */
static void single_way(void **state)
{
	static const uint64_t costs[] = { 1, 1000 };
	int went[WF_CHOICE_METHODS] = { 0 };
	struct wf_choice choice;

	wf_choice_init(&choice, 1u << B, B);
	work(&choice, costs, MANY, went);
	assert_int_equal(went[B], MANY);
}

/* The other method becomes better: the next round of measurements notices. */
static void change(void **state)
{
	static const uint64_t before[] = { 10, 20 }, after[] = { 30, 20 };
	int went[WF_CHOICE_METHODS] = { 0 };
	struct wf_choice choice;

	wf_choice_init(&choice, BOTH, B);
	assert_true(work_round(&choice, before));
	assert_int_equal(wf_choice_take(&choice), A);
	assert_true(work_round(&choice, after));
	assert_int_equal(wf_choice_take(&choice), B);
	work(&choice, after, MANY, went);
	/* The costs may have changed within a round. */
	(void)work_round(&choice, before);
	assert_true(work_round(&choice, before));
	assert_int_equal(choice.kept, A);
}

static void go_to_round(struct wf_choice *choice)
{
	wf_choice_init(choice, BOTH, A);
	while (choice->settled)
		(void)wf_choice_add(choice, A, 10);
}

/* The first operations do not count, nor do less than half of the others, which were
 * disturbed. */
static void disturbed(void **state)
{
	static const uint64_t costs[][WF_CHOICE_TRIES] = {
		{ 99, 98, 97, 96, 500, 10, 900, 10, 800, 10, 9, 10 },
		{ 1, 1, 1, 1, 18, 19, 1, 2, 20, 3, 19, 18 },
	};
	struct wf_choice choice;

	go_to_round(&choice);
	for (unsigned int method = A; method <= B; method++)
		for (int i = 0; i < WF_CHOICE_TRIES; i++) {
			assert_int_equal(wf_choice_take(&choice), method);
			assert_int_equal(
				wf_choice_add(&choice, method, costs[method][i]),
				method == B && i == WF_CHOICE_TRIES - 1);
		}
	assert_true(choice.settled);
	assert_int_equal(wf_choice_take(&choice), A);
	assert_int_equal(choice.median[A], 10);
	assert_int_equal(choice.median[B], 18);
}

/* The first rounds come soon one after the other, then pauses are longer than a round.
 */
static void early_rounds(void **state)
{
	static const uint64_t costs[] = { 10, 10 };
	uint32_t pause = 0;
	struct wf_choice choice;

	wf_choice_init(&choice, BOTH, A);
	for (int i = 0; i < WF_CHOICE_EARLY; i++) {
		assert_true(choice.settled);
		assert_true(!i || choice.left == pause);
		pause = choice.left;
		assert_true(work_round(&choice, costs));
	}
	assert_int_equal(choice.left, 4 * 2 * WF_CHOICE_TRIES);
}

/* While a method takes less than half of the time of the other one, rounds are rarer.
 */
static void clear_rounds(void **state)
{
	static const uint64_t costs[][2] = { { 10, 30 }, { 10, 19 } };
	struct wf_choice choice;

	for (int i = 0; i < 2; i++) {
		int rounds = 0, round = 2 * WF_CHOICE_TRIES;

		wf_choice_init(&choice, BOTH, A);
		for (; choice.left < (uint32_t)round; rounds++)
			assert_true(work_round(&choice, costs[i]));
		assert_int_equal(rounds, i ? WF_CHOICE_EARLY : WF_CHOICE_EARLY - 1);
		assert_int_equal(choice.left, (i ? 4 : 8) * round);
		for (rounds = 0; rounds < 4; rounds++)
			assert_true(work_round(&choice, costs[i]));
		assert_int_equal(choice.left, (i ? 84 : 2 * 84) * round);
	}
}

/* A round that is interrupted compares nothing, and another one follows. */
static void interrupted(void **state)
{
	static const uint64_t costs[] = { 10, 5 };
	struct wf_choice choice;

	go_to_round(&choice);
	for (int i = 0; i < 2 * WF_CHOICE_TRIES - 1; i++)
		(void)wf_choice_add(&choice, wf_choice_take(&choice), i % 2 + 1);
	wf_choice_interrupt(&choice);
	assert_true(choice.settled);
	assert_int_equal(wf_choice_take(&choice), A);
	assert_false(wf_choice_add(&choice, B, 1));
	assert_int_equal(choice.kept, A);
	assert_true(work_round(&choice, costs));
	assert_int_equal(choice.kept, B);
	wf_choice_interrupt(&choice);
	assert_true(work_round(&choice, costs));
}

/* A window of operations is under way at any time. In a trial all of them take the
 * method that is measured. What ends before a window of them has ended, and what ends
 * with the next two windows, does not count. */
static void many_at_a_time(void **state)
{
	enum { WINDOW = 20, OPERATIONS = 2000 };
	unsigned int method[WINDOW], compared = 0, run = 0;
	struct wf_choice choice;

	wf_choice_init(&choice, BOTH, A);
	for (int i = 0; i < OPERATIONS; i++) {
		unsigned int m = method[i % WINDOW];
		bool was_settled = choice.settled;
		uint64_t cost = m == A ? 10 : 15;

		if (i >= WINDOW) {
			if (!was_settled && choice.method == B) {
				run++;
				/* Those with which the trial begins seem to be better.
				 */
				if (run <= 3 * WINDOW)
					cost = 1;
			} else {
				run = 0;
			}
			compared += wf_choice_add(&choice, m, cost);
			if (!was_settled && choice.settled)
				assert_int_equal(run, 3 * WINDOW + WF_CHOICE_TRIES);
			if (!choice.settled)
				assert_int_equal(choice.span, WINDOW);
		}
		method[i % WINDOW] = wf_choice_take(&choice);
		assert_int_equal(method[i % WINDOW],
			choice.settled ? choice.kept : choice.method);
		assert_int_equal(choice.kept, A);
	}
	assert_in_range(compared, 5, WF_CHOICE_EARLY + 6);
}

/* By B all that are under way end together, so many more of them are under way than
 * while A is measured: what B costs is measured with a window of them. */
static void more_at_a_time(void **state)
{
	enum { WINDOW = 30 };
	unsigned int begun = 0, spans = 0;
	struct wf_choice choice;
	bool compared = false;

	go_to_round(&choice);
	while (!compared) {
		if (wf_choice_method(&choice) == A) {
			(void)wf_choice_take(&choice);
			compared = wf_choice_add(&choice, A, 10);
			continue;
		}
		for (; begun < WINDOW; begun++)
			assert_int_equal(wf_choice_take(&choice), B);
		while (begun--)
			if (!choice.settled) {
				spans |= 1u << choice.span;
				compared = wf_choice_add(
					&choice, B, choice.span < WINDOW ? 1 : 20);
			}
		begun = 0;
	}
	assert_int_equal(spans, 1u << 1 | 1u << WINDOW);
	assert_int_equal(choice.median[B], 20);
	assert_int_equal(choice.kept, A);
}

/* A method that needs a longer way to its steady state: what it costs before does not
 * count, and pauses are longer. */
static void long_way(void **state)
{
	enum { SKIPPED = 40, TRIES = SKIPPED + WF_CHOICE_SAMPLES };
	struct wf_choice choice;
	int went = 0, rounds = 0;

	wf_choice_init(&choice, BOTH, A);
	wf_choice_skip(&choice, B, SKIPPED);
	while (choice.settled)
		(void)wf_choice_add(&choice, A, 10);
	for (int i = 0; i < WF_CHOICE_TRIES; i++)
		(void)wf_choice_add(&choice, wf_choice_take(&choice), 10);
	for (int i = 0; i < TRIES; i++) {
		assert_false(choice.settled);
		assert_int_equal(wf_choice_take(&choice), B);
		(void)wf_choice_add(&choice, B, i < SKIPPED ? 1000 : 5);
	}
	assert_true(choice.settled);
	assert_int_equal(choice.kept, B);
	assert_int_equal(choice.median[B], 5);
	/* The share of the other method stays the same. */
	for (int i = 0; i < 10 * MANY; i++) {
		unsigned int method = wf_choice_take(&choice);

		went += method == A;
		rounds += wf_choice_add(&choice, method, method == A ? 10 : 5);
	}
	assert_true(rounds > 10);
	assert_int_equal(choice.pause, 84 * (WF_CHOICE_TRIES + TRIES));
	assert_in_range(went, rounds * WF_CHOICE_TRIES, (rounds + 1) * WF_CHOICE_TRIES);
	wf_choice_skip(&choice, B, 1000);
	assert_int_equal(choice.skipped[B], WF_CHOICE_SKIPPED_MAX);
}

/* Where no costs come of a method, it is not compared, and nothing changes. */
static void no_costs(void **state)
{
	static const uint64_t costs[][WF_CHOICE_METHODS] = { { 0, 0 }, { 20, 0 },
		{ 0, 20 } };
	int went[WF_CHOICE_METHODS];
	struct wf_choice choice;

	for (int i = 0; i < 3; i++) {
		memset(went, 0, sizeof(went));
		wf_choice_init(&choice, BOTH, A);
		work(&choice, costs[i], MANY, went);
		assert_int_equal(choice.kept, A);
		assert_in_range(went[B], WF_CHOICE_TRIES, MANY / 60);
	}
}

/* One known cost is too little to replace the method that is kept. */
static void few_costs(void **state)
{
	struct wf_choice choice;

	go_to_round(&choice);
	for (int i = 0; i < 2 * WF_CHOICE_TRIES - 1; i++)
		(void)wf_choice_add(
			&choice, wf_choice_take(&choice), i < WF_CHOICE_TRIES ? 10 : 0);
	assert_true(wf_choice_add(&choice, B, 1));
	assert_int_equal(choice.kept, A);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_way),
		cmocka_unit_test(little_better),
		cmocka_unit_test(mean_of_rounds),
		cmocka_unit_test(first_rounds),
		cmocka_unit_test(single_way),
		cmocka_unit_test(change),
		cmocka_unit_test(disturbed),
		cmocka_unit_test(early_rounds),
		cmocka_unit_test(clear_rounds),
		cmocka_unit_test(interrupted),
		cmocka_unit_test(many_at_a_time),
		cmocka_unit_test(more_at_a_time),
		cmocka_unit_test(long_way),
		cmocka_unit_test(no_costs),
		cmocka_unit_test(few_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
