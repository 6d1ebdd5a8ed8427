/* SPDX-License-Identifier: BSD-2-Clause */
/* EPA-034. The memory that peers make an endpoint use: what all of them can have, and
 * what is left for one more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "objects/conn/budget.h"

enum { LIMIT = 1 << 20, RECORD = 100, PEERS = 60, SHARE = 4096 };

/* Records of @peer, until it may have no more. */
static void fill(struct wf_budget *budget, size_t *peer)
{
	while (wf_budget_fits(budget, *peer, RECORD))
		wf_budget_take(budget, peer, RECORD);
}

static void one_alone_gets_half(void **state)
{
	struct wf_budget budget = { .limit = LIMIT };
	size_t peer = 0;

	(void)state;
	fill(&budget, &peer);
	assert_in_range(peer, LIMIT / 2, LIMIT / 2 + RECORD);
	assert_int_equal(budget.used, peer);
}

/* However many strangers there are, they have no more than the limit, and there is
 * memory for one more peer. */
static void many_stay_within_the_limit(void **state)
{
	struct wf_budget budget = { .limit = LIMIT };
	size_t peer[PEERS] = { 0 }, one_more = 0;

	(void)state;
	for (int i = 0; i < PEERS; i++)
		fill(&budget, &peer[i]);
	assert_true(budget.used <= LIMIT);
	for (int i = 0; i < PEERS; i++)
		assert_false(wf_budget_fits(&budget, peer[i], RECORD));
	/* The later ones had less, since the first ones had filled more. */
	assert_true(peer[0] > peer[1]);
	wf_budget_give(&budget, &peer[0], peer[0]);
	fill(&budget, &one_more);
	assert_true(one_more >= LIMIT / 8);
	assert_true(budget.used <= LIMIT);
}

static void a_share_is_there_in_any_case(void **state)
{
	struct wf_budget budget = { .used = 2 * LIMIT, .limit = LIMIT, .share = SHARE };

	(void)state;
	assert_false(wf_budget_fits(&budget, 0, 1));
	assert_false(wf_budget_fits(&budget, 1, 0));
	assert_true(wf_budget_shares(&budget, 0, SHARE));
	assert_true(wf_budget_shares(&budget, SHARE, 0));
	assert_false(wf_budget_shares(&budget, 1, SHARE));
	assert_false(wf_budget_shares(&budget, SHARE + 1, 0));
}

/* Lengths that peers announce may be any number. */
static void immense_lengths(void **state)
{
	struct wf_budget budget = { .limit = LIMIT, .share = SHARE };

	(void)state;
	assert_false(wf_budget_fits(&budget, RECORD, SIZE_MAX));
	assert_false(wf_budget_shares(&budget, RECORD, SIZE_MAX));
	budget.limit = budget.share = SIZE_MAX;
	assert_false(wf_budget_fits(&budget, RECORD, SIZE_MAX));
	assert_false(wf_budget_shares(&budget, RECORD, SIZE_MAX));
}

static int calls;

static void note(struct wf_budget *budget)
{
	assert_int_equal(budget->used, RECORD);
	calls++;
}

/* Also memory of a peer that is gone. */
static void what_waits_is_told(void **state)
{
	struct wf_budget budget = { .limit = LIMIT };
	size_t peer = 0;

	(void)state;
	wf_budget_take(&budget, &peer, 3 * RECORD);
	wf_budget_give(&budget, &peer, RECORD);
	budget.given = note;
	wf_budget_give(&budget, NULL, RECORD);
	assert_int_equal(calls, 1);
	assert_int_equal(peer, 2 * RECORD);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alone_gets_half),
		cmocka_unit_test(many_stay_within_the_limit),
		cmocka_unit_test(a_share_is_there_in_any_case),
		cmocka_unit_test(immense_lengths),
		cmocka_unit_test(what_waits_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
