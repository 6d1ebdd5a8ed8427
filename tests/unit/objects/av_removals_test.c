/* SPDX-License-Identifier: BSD-2-Clause */
/* The indices that an endpoint gets when addresses are removed from its AV: those and
 * no others. */
#include "av_fixture.h"

#include "objects/av/removals.h"

enum { MANY = 70000 };

static void fill(struct fid_av *av, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		struct sockaddr_in addr = {
			.sin_family = AF_INET,
			.sin_port = htons(7),
			.sin_addr.s_addr = htonl(0x0a000000 + i),
		};
		fi_addr_t index;

		assert_int_equal(fi_av_insert(av, &addr, 1, &index, 0, NULL), 1);
		assert_int_equal(index, i);
	}
}

static void removed(struct fid_av *av, fi_addr_t index)
{
	assert_int_equal(fi_av_remove(av, &index, 1, 0), 0);
}

static void only_what_left_is_listed(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av_removals removals = { .av = NULL };
	uint64_t index[4], sum = 0;
	uint32_t seq;
	bool all;

	fill(av, 1000);
	removed(av, 5);
	wf_av_removals_start(&removals, wf_av_of(av));
	wf_av_removals_start(&removals, wf_av_of(av));
	seq = wf_av_removals_seq(&removals);
	assert_int_equal(wf_av_removals_take(&removals, index, 4, &all), 0);
	assert_false(all);
	for (fi_addr_t i = 100; i < 106; i++)
		removed(av, i);
	assert_true(wf_av_removals_seq(&removals) != seq);
	assert_int_equal(wf_av_removals_take(&removals, index, 4, &all), 4);
	for (int i = 0; i < 4; i++)
		sum += index[i];
	assert_int_equal(wf_av_removals_take(&removals, index, 4, &all), 2);
	assert_int_equal(sum + index[0] + index[1], 100 + 101 + 102 + 103 + 104 + 105);
	assert_false(all);
	assert_int_equal(wf_av_removals_take(&removals, index, 4, &all), 0);
	wf_av_removals_stop(&removals);
	removed(av, 200);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* The list of an endpoint that never asks does not grow for ever. */
static void too_many_are_all(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	struct wf_av_removals removals = { .av = NULL };
	uint64_t index[4];
	bool all;

	fill(av, MANY);
	wf_av_removals_start(&removals, wf_av_of(av));
	for (fi_addr_t i = 0; i < MANY; i++)
		removed(av, i);
	(void)wf_av_removals_take(&removals, index, 4, &all);
	assert_true(all);
	while (wf_av_removals_take(&removals, index, 4, &all))
		assert_false(all);
	fill(av, 10);
	removed(av, 9);
	assert_int_equal(wf_av_removals_take(&removals, index, 4, &all), 1);
	assert_int_equal(index[0], 9);
	assert_false(all);
	wf_av_removals_stop(&removals);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(only_what_left_is_listed),
		AV_TEST(too_many_are_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
