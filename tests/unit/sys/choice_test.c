/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <string.h>

#include "sys/choice.h"

enum {
	A,
	B,
	BOTH = 3,
	MANY = 10000,
	ROUND = 8300, /* more than the longest pause */
	GROUPS = WF_CHOICE_GROUPS_MAX,
	/* Operations that measure each method in a round. */
	TRIES = WF_CHOICE_SKIPPED + GROUPS * WF_CHOICE_GROUP,
};

/* An operation from its beginning to its end. */
static bool work_one(struct wf_choice *choice, unsigned int method, uint64_t cost)
{
	assert_int_equal(wf_choice_take(choice), method);
	return wf_choice_add(choice, method, cost);
}

/* The method that the next operation takes. */
static unsigned int next_method(const struct wf_choice *choice)
{
	struct wf_choice copy = *choice;

	return wf_choice_take(&copy);
}

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
		(void)work_one(choice, choice->kept, cost[choice->kept]);
	while (!choice->settled) {
		method = wf_choice_take(choice);
		compared = wf_choice_add(choice, method, cost[method]);
	}
	return compared;
}

/* The best method is found, and taken by nearly all operations from then on. */
static void best_method(void **state)
{
	static const uint64_t costs[][WF_CHOICE_METHODS] = { { 10, 13 }, { 13, 10 } };

	for (unsigned int best = A; best <= B; best++)
		for (unsigned int first = A; first <= B; first++) {
			int went[WF_CHOICE_METHODS] = { 0 };
			struct wf_choice choice = { 0 };

			wf_choice_init(&choice, BOTH, first, GROUPS);
			assert_int_equal(next_method(&choice), first);
			assert_true(work_round(&choice, costs[best]));
			assert_int_equal(next_method(&choice), best);
			work(&choice, costs[best], MANY, went);
			assert_int_equal(choice.kept, best);
			assert_in_range(went[best], MANY - MANY / 25, MANY - 1);
		}
}

/* A method that is a little better replaces another one if it is so in two rounds, one
 * after the other; one that is as good never does. */
static void little_better(void **state)
{
	static const uint64_t little[] = { 1000, 950 }, equal[] = { 1000, 980 };
	struct wf_choice choice = { 0 };

	wf_choice_init(&choice, BOTH, A, GROUPS);
	assert_true(work_round(&choice, little));
	assert_int_equal(next_method(&choice), A);
	assert_true(work_round(&choice, equal));
	assert_true(work_round(&choice, little));
	assert_int_equal(next_method(&choice), A);
	assert_true(work_round(&choice, little));
	assert_int_equal(next_method(&choice), B);
	wf_choice_init(&choice, BOTH, A, GROUPS);
	for (int i = 0; i < 4; i++)
		assert_true(work_round(&choice, equal));
	assert_int_equal(next_method(&choice), A);
}

/* A method that is not in the mask is never taken. */
static void single_method(void **state)
{
	static const uint64_t costs[] = { 1, 1000 };
	int went[WF_CHOICE_METHODS] = { 0 };
	struct wf_choice choice = { 0 };

	wf_choice_init(&choice, 1u << B, B, GROUPS);
	work(&choice, costs, MANY, went);
	assert_int_equal(went[B], MANY);
}

/* The other method becomes better: the next round of measurements notices. */
static void change(void **state)
{
	static const uint64_t before[] = { 10, 20 }, after[] = { 30, 20 };
	int went[WF_CHOICE_METHODS] = { 0 };
	struct wf_choice choice = { 0 };

	wf_choice_init(&choice, BOTH, B, GROUPS);
	assert_true(work_round(&choice, before));
	assert_int_equal(next_method(&choice), A);
	assert_true(work_round(&choice, after));
	assert_int_equal(next_method(&choice), B);
	work(&choice, after, MANY, went);
	work(&choice, before, ROUND, went);
	assert_int_equal(choice.kept, A);
}

static void go_to_round(struct wf_choice *choice, unsigned int groups)
{
	wf_choice_init(choice, BOTH, A, groups);
	while (choice->settled)
		(void)work_one(choice, A, 10);
}

/* Measure a method with these costs; true: the methods were compared then, and only
 * then. */
static bool measure(struct wf_choice *choice, unsigned int method, const uint64_t *cost)
{
	bool compared = false;

	for (int i = 0; i < TRIES; i++) {
		assert_false(compared);
		compared = work_one(choice, method, cost[i]);
	}
	return compared;
}

/* The first operations do not count, nor do groups that were disturbed, if they are not
 * more than half. */
static void disturbed(void **state)
{
	static const uint64_t costs[][TRIES] = {
		{ 99, 98, 97, 96, 10, 500, 10, 10, 10, 10, 10, 10, 900, 10, 10, 10, 10,
			10, 14, 10 },
		{ 1, 1, 1, 1, 18, 19, 18, 19, 1, 1, 1, 1, 20, 20, 20, 20, 18, 18, 18,
			18 },
	};
	struct wf_choice choice = { 0 };

	go_to_round(&choice, GROUPS);
	assert_false(measure(&choice, A, costs[A]));
	assert_true(measure(&choice, B, costs[B]));
	assert_true(choice.settled);
	assert_int_equal(next_method(&choice), A);
	assert_int_equal(choice.median[A], 11);
	assert_int_equal(choice.median[B], 18);
}

/* Operations that end in bursts: the times between most of them say nothing. */
static void bursts(void **state)
{
	static const uint64_t costs[][TRIES] = {
		{ 1, 1, 1, 97, 1, 1, 1, 97, 1, 1, 1, 97, 1, 1, 1, 97, 1, 1, 1, 97 },
		{ 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
			20, 20, 20 },
	};
	struct wf_choice choice = { 0 };

	go_to_round(&choice, GROUPS);
	assert_false(measure(&choice, A, costs[A]));
	assert_true(measure(&choice, B, costs[B]));
	assert_int_equal(choice.median[A], 25);
	assert_int_equal(next_method(&choice), B);
}

/* Many operations under way at a time, of which those of one method overtake the
 * others: none counts while another method is under way. */
static void mixed(void **state)
{
	enum { WINDOW = 50 };
	struct wf_choice choice = { 0 };

	go_to_round(&choice, 1);
	for (int i = 0; i < WINDOW; i++)
		assert_int_equal(wf_choice_take(&choice), A);
	for (int i = 0; i < WF_CHOICE_SKIPPED + WF_CHOICE_GROUP; i++)
		assert_false(wf_choice_add(&choice, A, 10));
	for (int i = 0; i < WINDOW; i++)
		assert_false(work_one(&choice, B, 1));
	for (int i = WF_CHOICE_SKIPPED + WF_CHOICE_GROUP; i < WINDOW; i++)
		assert_false(wf_choice_add(&choice, A, 1));
	for (int i = 1; i < WF_CHOICE_SKIPPED + WF_CHOICE_GROUP; i++)
		assert_false(work_one(&choice, B, 5));
	assert_true(work_one(&choice, B, 5));
	assert_int_equal(choice.median[A], 10);
	assert_int_equal(choice.median[B], 5);
	assert_int_equal(next_method(&choice), B);
}

/* The methods change while operations are under way. */
static void other_methods(void **state)
{
	struct wf_choice choice = { 0 };

	wf_choice_init(&choice, BOTH, B, GROUPS);
	assert_int_equal(wf_choice_take(&choice), B);
	wf_choice_init(&choice, 1u << A, A, GROUPS);
	assert_false(work_one(&choice, A, 5));
	wf_choice_init(&choice, BOTH, A, 1);
	while (choice.settled)
		assert_false(work_one(&choice, A, 5));
	for (int i = 0; i < MANY; i++)
		assert_false(work_one(&choice, A, 5));
	assert_false(wf_choice_add(&choice, B, 1));
	assert_int_equal(next_method(&choice), A);
	assert_true(work_round(&choice, (const uint64_t[]){ 5, 1 }));
	assert_int_equal(next_method(&choice), B);
}

/* Where no costs come of a method, it is not compared, and nothing changes. */
static void no_costs(void **state)
{
	static const uint64_t costs[][WF_CHOICE_METHODS] = { { 0, 0 }, { 20, 0 },
		{ 0, 20 } };
	int went[WF_CHOICE_METHODS];
	struct wf_choice choice = { 0 };

	for (int i = 0; i < 3; i++) {
		memset(went, 0, sizeof(went));
		wf_choice_init(&choice, BOTH, A, GROUPS);
		work(&choice, costs[i], MANY, went);
		assert_int_equal(choice.kept, A);
		assert_in_range(went[B], TRIES, MANY / 25);
	}
}

/* A group with an unknown cost is left out, and one group is too little to replace the
 * method that is kept. */
static void few_costs(void **state)
{
	for (int known = 1; known <= GROUPS; known++) {
		uint64_t first[TRIES], second[TRIES];
		struct wf_choice choice = { 0 };

		for (int i = 0; i < TRIES; i++) {
			first[i] = 10;
			second[i] = i % WF_CHOICE_GROUP ||
				    i >= TRIES - known * WF_CHOICE_GROUP;
		}
		go_to_round(&choice, GROUPS);
		assert_false(measure(&choice, A, first));
		assert_true(measure(&choice, B, second));
		assert_int_equal(choice.kept, known < GROUPS / 2 ? A : B);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_method),
		cmocka_unit_test(little_better),
		cmocka_unit_test(single_method),
		cmocka_unit_test(change),
		cmocka_unit_test(disturbed),
		cmocka_unit_test(bursts),
		cmocka_unit_test(mixed),
		cmocka_unit_test(other_methods),
		cmocka_unit_test(no_costs),
		cmocka_unit_test(few_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
