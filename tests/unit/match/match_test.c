/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "match/mark.h"

#define ANY  WF_MATCH_ANY
#define MANY 3000

static struct wf_match m;
static struct wf_match_entry r[MANY];
static uint32_t u[MANY];
static struct wf_handles handles;
static struct wf_pool messages;

static int setup(void **state)
{
	struct wf_match_message *message;

	memset(r, 0x5a, sizeof(r));
	messages.own = 0;
	wf_pool_init_handles(&messages, sizeof(*message), &messages.own, &handles);
	for (int i = 0; i < MANY; i++) {
		message = wf_pool_get(&messages);
		assert_non_null(message);
		memset(message, 0x5a, sizeof(*message));
		u[i] = wf_pool_handle(&handles, message);
	}
	wf_match_init(&m, &handles);
	return 0;
}

static int teardown(void **state)
{
	wf_match_done(&m);
	wf_pool_done(&messages);
	assert_int_equal(handles.slabs, 0);
	return 0;
}

/* TAG-001: the receiver's ignore is applied to both tags, and no other bit is. */
static void test_rule(void **state)
{
	wf_match_post(&m, &r[0], 0xab12, 0x00ff, ANY);
	assert_null(wf_match_find_posted(&m, 0xac12, 1));
	assert_null(wf_match_find_posted(&m, UINT64_C(1) << 63 | 0xab12, 1));
	assert_ptr_equal(wf_match_take_posted(&m, 0xab00, 1), &r[0]);

	wf_match_queue(&m, u[0], 0xab12, 1);
	assert_int_equal(0, wf_match_find_unexpected(&m, 0xab13, 0, ANY));
	assert_int_equal(0, wf_match_find_unexpected(&m, 0xab13, 0xff00, ANY));
	assert_int_equal(wf_match_take_unexpected(&m, 0xff13, 0xff01, ANY), u[0]);
}

/* TAG-002 MSG-010: the oldest receive wins, whatever its mask and source. */
static void test_posting_order(void **state)
{
	wf_match_post(&m, &r[0], 7, 0, 1);
	wf_match_post(&m, &r[1], 0, UINT64_MAX, ANY);
	wf_match_post(&m, &r[2], 7, 0, ANY);
	wf_match_post(&m, &r[3], 7, 0xf0, 1);
	wf_match_post(&m, &r[4], 7, 0, 1);
	for (int i = 0; i < 5; i++)
		assert_ptr_equal(wf_match_take_posted(&m, 7, 1), &r[i]);
	assert_null(wf_match_take_posted(&m, 7, 1));
}

/* TAG-002: unexpected messages are tried in order of arrival. */
static void test_arrival_order(void **state)
{
	for (int i = 0; i < MANY; i++)
		wf_match_queue(&m, u[i], i % 3, (uint64_t)i % 2);
	assert_int_equal(wf_match_take_unexpected(&m, 1, 0, 0), u[4]);
	assert_int_equal(wf_match_take_unexpected(&m, 1, 0, ANY), u[1]);
	assert_int_equal(wf_match_take_unexpected(&m, 2, 0, ANY), u[2]);
	assert_int_equal(wf_match_take_unexpected(&m, 0, UINT64_MAX, ANY), u[0]);
	assert_int_equal(wf_match_take_unexpected(&m, 1, 0, ANY), u[7]);
	assert_int_equal(wf_match_take_unexpected(&m, 0, 3, 1), u[3]);
}

/* MSG-012: one tag, no mask, a queue. */
static void test_untagged(void **state)
{
	for (int i = 0; i < MANY; i++)
		wf_match_post(&m, &r[i], 0, 0, ANY);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(wf_match_take_posted(&m, 0, 5), &r[i]);
	for (int i = 0; i < MANY; i++)
		wf_match_queue(&m, u[i], 0, 5);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(wf_match_take_unexpected(&m, 0, 0, ANY), u[i]);
}

/* TAG-002: the key that was used lately has a way of its own: receives of two keys,
 * taken and withdrawn in turn, from the beginning, the middle and the end. */
static void test_key_used_lately(void **state)
{
	enum { KEYS = 2, EACH = 12 };

	for (int i = 0; i < KEYS * EACH; i++)
		wf_match_post(&m, &r[i], (uint64_t)i % KEYS, 0, ANY);
	for (int i = 0; i < KEYS; i++)
		wf_match_unpost(&m, &r[KEYS * 5 + i]);
	wf_match_unpost(&m, &r[KEYS * 4 + 1]);
	wf_match_unpost(&m, &r[KEYS * (EACH - 1)]);
	for (int i = 0; i < KEYS * EACH; i++) {
		if (i / KEYS == 5 || i == KEYS * 4 + 1 || i == KEYS * (EACH - 1))
			continue;
		assert_ptr_equal(
			wf_match_take_posted(&m, (uint64_t)i % KEYS, 0), &r[i]);
	}
	assert_null(wf_match_find_posted(&m, 0, 0));
	assert_null(wf_match_find_posted(&m, 1, 0));
	/* The last of a key has left: it is posted anew, with another key beside. */
	for (int i = 0; i < KEYS * EACH; i++)
		wf_match_post(&m, &r[i], (uint64_t)i / EACH, 0, ANY);
	for (int i = KEYS * EACH; i-- > EACH;)
		wf_match_unpost(&m, &r[i]);
	assert_null(wf_match_find_posted(&m, 1, 0));
	assert_ptr_equal(wf_match_take_posted(&m, 0, 0), &r[0]);
}

/* MSG-009 TAG-015: a source that is asked for is the message's. */
static void test_directed(void **state)
{
	wf_match_post(&m, &r[0], 7, 0, 1);
	assert_null(wf_match_find_posted(&m, 7, 2));
	assert_ptr_equal(wf_match_take_posted(&m, 7, 1), &r[0]);
	wf_match_queue(&m, u[0], 7, 2);
	assert_int_equal(0, wf_match_find_unexpected(&m, 7, 0, 1));
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, ANY), u[0]);
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, 2), u[0]);
	wf_match_unqueue(&m, u[0]);
}

/* MSG-011: without a source only undirected receives match, until it is known; then
 * the message stands where it arrived, also where an index has long passed it. */
static void test_unknown_source(void **state)
{
	wf_match_post(&m, &r[0], 7, 0, 1);
	assert_null(wf_match_find_posted(&m, 7, ANY));
	wf_match_post(&m, &r[1], 7, 0, ANY);
	assert_ptr_equal(wf_match_find_posted(&m, 7, ANY), &r[1]);

	for (int i = 0; i < 20; i++)
		wf_match_queue(&m, u[i], 7, i % 2 ? 1 : ANY);
	assert_int_equal(
		0, wf_match_find_unexpected(&m, 8, 0, 1)); /* passes all of them */
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, 1), u[1]);
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, ANY), u[0]);
	wf_match_foreach_unspec(e, &m) if (e != u[0]) wf_match_resolve(&m, e, 1);
	for (int i = 1; i < 20; i++)
		assert_int_equal(wf_match_take_unexpected(&m, 7, 0, 1), u[i]);
	assert_int_equal(0, wf_match_find_unexpected(&m, 7, 0, 1));
	wf_match_foreach_unspec(e, &m) wf_match_resolve(&m, e, 1);
	assert_int_equal(wf_match_take_unexpected(&m, 7, 0, 1), u[0]);
}

/* A message of unknown source leaves while an index ends at it. */
static void test_unknown_source_leaves(void **state)
{
	for (int i = 0; i < 10; i++)
		wf_match_queue(&m, u[i], 7, i == 9 ? ANY : 1);
	assert_int_equal(0, wf_match_find_unexpected(&m, 8, 0, 1));
	wf_match_unqueue(&m, u[9]);
	memset(wf_match_message_at(&m, u[9]), 0xa5, sizeof(struct wf_match_message));
	wf_match_queue(&m, u[10], 8, 1);
	assert_int_equal(wf_match_find_unexpected(&m, 8, 0, 1), u[10]);
}

/* TAG-005 TAG-008 TAG-010: a peek leaves the message, a claim takes it from all
 * others. */
static void test_peek_claim(void **state)
{
	for (int i = 0; i < 10; i++)
		wf_match_queue(&m, u[i], 7, 1);
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, ANY), u[0]);
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, ANY), u[0]);
	wf_match_unqueue(&m, u[0]);
	assert_int_equal(wf_match_find_unexpected(&m, 0, UINT64_MAX, ANY), u[1]);
	assert_int_equal(wf_match_find_unexpected(&m, 7, 0, 1), u[1]);
}

/* MRV-008: a multi-receive buffer stays first, with its tag and ignore, until full. */
static void test_multi_receive(void **state)
{
	wf_match_post(&m, &r[0], 0x70, 0xf, ANY);
	wf_match_post(&m, &r[1], 0x71, 0, ANY);
	for (uint64_t i = 0; i < 10; i++)
		assert_ptr_equal(wf_match_find_posted(&m, 0x70 + i, 1), &r[0]);
	wf_match_unpost(&m, &r[0]);
	assert_null(wf_match_find_posted(&m, 0x70, 1));
	assert_ptr_equal(wf_match_find_posted(&m, 0x71, 1), &r[1]);
}

/* EP-032 EP-034: what a cancel walks is in posting order, and one leaves alone. */
static void test_cancel(void **state)
{
	struct wf_list list;
	int at = 0;

	for (int i = 0; i < 100; i++)
		wf_match_post(&m, &r[i], 7, i % 20, i % 3 ? ANY : 1);
	wf_match_list_posted(&m, &list);
	wf_match_foreach_listed(e, &list) assert_ptr_equal(e, &r[at++]);
	assert_int_equal(at, 100);
	wf_match_unpost(&m, &r[50]);
	at = 0;
	wf_match_list_posted(&m, &list);
	wf_match_foreach_listed(e, &list)
	{
		assert_ptr_equal(e, &r[at + (at >= 50)]);
		wf_match_unpost(&m, e);
		at++;
	}
	assert_int_equal(at, 99);
	assert_null(wf_match_find_posted(&m, 7, 1));
}

/* Beyond WF_MATCH_MAX_PAIRS masks at one time the order still holds, on both sides. */
static void test_many_masks(void **state)
{
	enum { masks = 3 * WF_MATCH_MAX_PAIRS };

	for (int i = 0; i < masks; i++)
		wf_match_post(&m, &r[i], 0, (uint64_t)i << 8, i % 2 ? ANY : 1);
	for (int i = 0; i < masks; i++)
		assert_ptr_equal(wf_match_take_posted(&m, 0, 1), &r[i]);
	assert_int_equal(m.live, 0);
	/* The groups serve other masks now. */
	for (int i = 0; i < masks; i++)
		wf_match_post(&m, &r[i], 0, (uint64_t)i << 16, ANY);
	for (int i = 0; i < masks; i++)
		assert_ptr_equal(wf_match_take_posted(&m, 0, 1), &r[i]);

	for (int i = 0; i < masks; i++)
		wf_match_queue(&m, u[i], (uint64_t)i, 1);
	for (int i = masks - 1; i >= 0; i--)
		assert_int_equal(wf_match_find_unexpected(
					 &m, (uint64_t)i, (uint64_t)i << 8, ANY),
			u[i]);
}

/* In how many indexes a message is. */
static unsigned int place_count(uint32_t msg)
{
	unsigned int n = wf_match_message_at(&m, msg)->node.after != 0;

	wf_list_foreach(item, &m.indexes)
	{
		n += wf_match_mark_find(&m,
			     wf_list_entry(item, struct wf_match_index, item),
			     msg) != NULL;
	}
	return n;
}

/* Indexes of masks that are not used any more make room for others and are given
 * back. */
static void test_idle_indexes(void **state)
{
	const uint64_t new_mask = UINT64_C(1) << 60;

	for (uint64_t i = 0; i < 1000; i++)
		wf_match_queue(&m, u[i], i, 1);
	for (uint64_t i = 0; i < WF_MATCH_MAX_PAIRS; i++)
		assert_int_equal(0, wf_match_find_unexpected(&m, 5000, i << 32, ANY));
	assert_int_equal(place_count(u[999]), WF_MATCH_MAX_PAIRS);
	assert_int_equal(0, wf_match_find_unexpected(&m, 5000, new_mask, ANY));
	assert_int_equal(place_count(u[999]), WF_MATCH_MAX_PAIRS);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(0, wf_match_find_unexpected(&m, 5000, new_mask, ANY));
	assert_int_equal(wf_match_find_unexpected(&m, 999, new_mask, ANY), u[999]);
	assert_in_range(place_count(u[999]), 1, WF_MATCH_MAX_PAIRS);
	/* The one in use grows by every message, the others go. */
	for (int i = 0; i < 20000; i++) {
		wf_match_queue(&m, u[1000], 4000, 1);
		assert_int_equal(0, wf_match_find_unexpected(&m, 5000, new_mask, ANY));
		wf_match_unqueue(&m, u[1000]);
	}
	assert_int_equal(place_count(u[0]), 1);
	assert_int_equal(m.index_count, 1);
}

static unsigned int longest_chain(const struct wf_match_table *t)
{
	unsigned int longest = 0, n;

	for (uint32_t i = 0; i <= t->mask; i++) {
		n = 0;
		for (struct wf_match_node *node = t->buckets[i]; node;
			node = node->next)
			n++;
		longest = WF_MAX(longest, n);
	}
	return longest;
}

/* No family of tags that one would write down falls into one bucket. */
static void test_tag_families(void **state)
{
	for (unsigned int shift = 0; shift < 52; shift++) {
		for (int i = 0; i < MANY; i++)
			wf_match_post(&m, &r[i], (uint64_t)i << shift, 0, ANY);
		assert_in_range(longest_chain(&m.exact.table), 1, 24);
		for (int i = 0; i < MANY; i++)
			wf_match_unpost(&m, &r[i]);
	}
}

/* What a burst took is given back when it has gone. */
static void test_shrinks(void **state)
{
	for (int i = 0; i < MANY; i++) {
		wf_match_post(&m, &r[i], (uint64_t)i, 0, ANY);
		wf_match_queue(&m, u[i], (uint64_t)i, 1);
	}
	assert_int_equal(0, wf_match_find_unexpected(&m, MANY, 0, ANY));
	assert_int_equal(0, wf_match_find_unexpected(&m, MANY, 1, ANY));
	assert_true(m.exact.table.mask >= MANY);
	assert_true(m.first.table.mask >= MANY);
	assert_non_null(m.marks);
	for (int i = 0; i < MANY; i++) {
		assert_ptr_equal(wf_match_take_posted(&m, (uint64_t)i, 1), &r[i]);
		assert_int_equal(
			wf_match_take_unexpected(&m, (uint64_t)i, 0, ANY), u[i]);
	}
	assert_true(m.exact.table.buckets == m.exact.table.few);
	assert_true(m.first.table.buckets == m.first.table.few);
}

/* A removed address: its messages match any undirected receive, in order, and no
 * receive from the next peer with the same index. AV-032 MSG-011 */
static void test_forget(void **state)
{
	for (int i = 0; i < 20; i++)
		wf_match_queue(&m, u[i], 7, i % 2 ? 1 : 2);
	assert_int_equal(
		0, wf_match_find_unexpected(&m, 8, 0, 1)); /* passes all of them */
	assert_int_equal(0, wf_match_find_unexpected(&m, 8, 1, 1));
	wf_match_foreach_unexpected(
		e, &m) if (wf_match_addr(wf_match_message_at(&m, e)) == 1)
		wf_match_forget(&m, e);
	assert_int_equal(0, wf_match_find_unexpected(&m, 7, 0, 1));
	assert_int_equal(0, wf_match_find_unexpected(&m, 7, 1, 1));
	assert_int_equal(wf_match_unspec_first(&m), u[1]);
	for (int i = 0; i < 4; i++)
		assert_int_equal(wf_match_take_unexpected(&m, 7, 0, ANY), u[i]);
	assert_int_equal(wf_match_take_unexpected(&m, 7, 0, 2), u[4]);
	wf_match_foreach_unspec(e, &m) if (e == u[5] || e == u[7])
		wf_match_resolve(&m, e, 1);
	assert_int_equal(wf_match_unspec_first(&m), u[9]);
	assert_int_equal(wf_match_take_unexpected(&m, 7, 0, 1), u[5]);
	assert_int_equal(wf_match_take_unexpected(&m, 7, 1, 1), u[7]);
	assert_int_equal(0, wf_match_find_unexpected(&m, 7, 0, 1));
	for (int i = 6; i < 20; i += 2)
		assert_int_equal(wf_match_take_unexpected(&m, 7, 0, 2), u[i]);
	for (int i = 9; i < 20; i += 2)
		assert_int_equal(wf_match_take_unexpected(&m, 7, 0, ANY), u[i]);
	assert_int_equal(m.unspec_count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rule),
		TEST(test_posting_order),
		TEST(test_arrival_order),
		TEST(test_untagged),
		TEST(test_key_used_lately),
		TEST(test_directed),
		TEST(test_unknown_source),
		TEST(test_unknown_source_leaves),
		TEST(test_peek_claim),
		TEST(test_multi_receive),
		TEST(test_cancel),
		TEST(test_many_masks),
		TEST(test_idle_indexes),
		TEST(test_tag_families),
		TEST(test_shrinks),
		TEST(test_forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
