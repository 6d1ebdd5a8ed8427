/* SPDX-License-Identifier: BSD-2-Clause */
/* The peers of an endpoint with connections: finding them, connecting again, giving
 * up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/conn/remote.h"
#include "../refuse.h"

enum { MANY = 1000, MIN_US = 100, MAX_US = 1000, SEED = 12345, GRACE = 20 };

/* A peer of a transport. */
struct somebody {
	struct wf_remote base;
	int number;
	enum wf_remote_state state;
	int dials, give_ups, given_up_for, freed, lost;
};

static struct somebody *somebody_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct somebody, base);
}

static bool is(const struct wf_remote *remote, const void *key)
{
	return somebody_of(remote)->number == *(const int *)key;
}

static enum wf_remote_state state_of(const struct wf_remote *remote)
{
	return somebody_of(remote)->state;
}

static void dial(struct wf_remotes *remotes, struct wf_remote *remote)
{
	somebody_of(remote)->dials++;
	somebody_of(remote)->state = WF_REMOTE_CHANGING;
}

static void end(struct wf_remotes *remotes, struct wf_remote *remote,
	struct wf_list *link, int err)
{
	if (!err)
		return;
	somebody_of(remote)->give_ups++;
	somebody_of(remote)->given_up_for = err;
}

static const char *name(const struct wf_remote *remote, char *buf, size_t len)
{
	(void)snprintf(buf, len, "number %d", somebody_of(remote)->number);
	return buf;
}

static struct fi_provider test_fi = { .name = "test" };

static void free_somebody(struct wf_remotes *remotes, struct wf_remote *remote)
{
	somebody_of(remote)->freed++;
}

static void index_lost(struct wf_remotes *remotes, struct wf_remote *remote)
{
	somebody_of(remote)->lost++;
}

static const struct wf_remote_ops ops = {
	.index_lost = index_lost,
	.is = is,
	.state = state_of,
	.connect = dial,
	.end = end,
	.prov = &test_fi,
	.name = name,
	.free = free_somebody,
	.backoff_min_us = MIN_US,
	.backoff_max_us = MAX_US,
};

static struct wf_remotes remotes;
static struct wf_progress item;
static struct wf_watches watches;
static struct somebody people[MANY];
static struct wf_list operation;

static int open_remotes(void **state)
{
	memset(people, 0, sizeof(people));
	for (int i = 0; i < MANY; i++)
		people[i].number = i;
	return wf_remotes_init(&remotes, &ops, SEED, &item, &watches);
}

static int close_remotes(void **state)
{
	size_t left = remotes.count;

	for (int i = 0; i < MANY; i++)
		left += (size_t)people[i].freed;
	wf_remotes_done(&remotes);
	for (int i = 0; i < MANY; i++)
		left -= (size_t)people[i].freed;
	return left != 0;
}

/* Seven numbers share a hash: more than one in a bucket, and equal hashes too. */
static uint64_t hash_of(int number)
{
	return (uint64_t)number / 7 * 0x9e3779b97f4a7c15u;
}

static struct wf_remote *find(int number)
{
	return wf_remotes_find(&remotes, hash_of(number), &number);
}

static void add(int number)
{
	wf_remotes_add(&remotes, &people[number].base, hash_of(number));
}

/* Add a peer with an operation that waits. */
static struct somebody *add_with_operation(int number)
{
	add(number);
	wf_list_push(&people[number].base.pending, &operation);
	wf_remote_busy(&remotes, &people[number].base);
	return &people[number];
}

static void each_is_found_and_visited_once(void **state)
{
	int visits = 0;

	for (int i = 0; i < MANY; i++) {
		assert_null(find(i));
		add(i);
	}
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(find(i), &people[i].base);
	assert_true(remotes.bucket_mask > 63); /* it grew */
	for (struct wf_remote *remote = wf_remotes_next(&remotes, NULL); remote;
		remote = wf_remotes_next(&remotes, remote)) {
		assert_int_equal(somebody_of(remote)->give_ups++, 0);
		visits++;
	}
	assert_int_equal(visits, MANY);
}

static void who_was_removed_is_gone(void **state)
{
	for (int i = 0; i < MANY; i++)
		add(i);
	wf_remote_busy(&remotes, &people[3].base);
	for (int i = 0; i < MANY; i += 3)
		wf_remotes_remove(&remotes, &people[i].base);
	for (int i = 0; i < MANY; i++)
		assert_ptr_equal(find(i), i % 3 ? &people[i].base : NULL);
	assert_int_equal(remotes.count, MANY - (MANY + 2) / 3);
	assert_true(wf_list_empty(&remotes.busy));
}

static void indices_lead_to_one_until_forgotten(void **state)
{
	add(1);
	add(2);
	assert_null(wf_remotes_at(&remotes, 0));
	assert_true(wf_remotes_set_index(&remotes, 0, &people[1].base));
	assert_true(wf_remotes_set_index(&remotes, 70000, &people[2].base));
	assert_ptr_equal(wf_remotes_at(&remotes, 0), &people[1].base);
	assert_ptr_equal(wf_remotes_at(&remotes, 70000), &people[2].base);
	assert_null(wf_remotes_at(&remotes, 69999));
	assert_null(wf_remotes_at(&remotes, SIZE_MAX));
	wf_remotes_forget_indices(&remotes);
	assert_null(wf_remotes_at(&remotes, 0));
	assert_null(wf_remotes_at(&remotes, 70000));
}

static void forgetting_no_index_is_nothing(void **state)
{
	wf_remotes_forget_indices(&remotes);
	assert_null(wf_remotes_at(&remotes, 0));
}

/* The waits double, up to the longest; each is a quarter longer at the most. */
/* Without memory for a larger table the chains get longer, and all are found. */
static void a_table_that_cannot_grow_is_kept(void **state)
{
	size_t mask = remotes.bucket_mask;
	int i;

	for (i = 0; i < MANY && remotes.bucket_mask == mask; i++) {
		refuse_one("memory", 1, ENOMEM);
		add(i);
		if (refuse_end())
			break;
	}
	assert_true(refuse_end());
	assert_int_equal(remotes.bucket_mask, mask);
	for (int k = 0; k <= i; k++)
		assert_ptr_equal(find(k), &people[k].base);
	add(i + 1);
	assert_int_equal(remotes.bucket_mask, 2 * mask + 1);
	for (int k = 0; k <= i + 1; k++)
		assert_ptr_equal(find(k), &people[k].base);
}

/* The list of the removed indices was lost: none leads anywhere. */
static void all_indices_may_be_removed(void **state)
{
	uint64_t listed = 5;

	add(1);
	add(2);
	assert_true(wf_remotes_set_index(&remotes, 5, &people[1].base));
	assert_true(wf_remotes_set_index(&remotes, 6, &people[2].base));
	remotes.removals.index = malloc(sizeof(listed));
	assert_non_null(remotes.removals.index);
	*remotes.removals.index = listed;
	remotes.removals.count = 1;
	atomic_store(&remotes.removals.seq, 1);
	wf_remotes_forget_removed(&remotes);
	assert_int_equal(remotes.removals_seq, 1);
	assert_int_equal(people[1].lost, 1);
	assert_int_equal(people[2].lost, 0);
	remotes.removals.all = true;
	wf_remotes_forget_removed(&remotes);
	assert_int_equal(people[1].lost, 1);
	assert_int_equal(people[2].lost, 1);
	assert_false(remotes.removals.all);
}

static void nothing_ends_what_did_not_begin(void **state)
{
	struct wf_remotes none = { .buckets = NULL };

	wf_remotes_done(&none);
}

static void attempts_get_rarer(void **state)
{
	static const uint64_t want_us[] = { 100, 200, 400, 800, 1000, 1000 };
	struct somebody *one = add_with_operation(1);
	uint64_t now = 5000000, after;

	wf_remotes_tick(&remotes, now, 0, GRACE);
	assert_int_equal(one->dials, 1);
	for (int i = 0; i < (int)WF_ARRAY_SIZE(want_us); i++) {
		one->state = WF_REMOTE_DOWN;
		wf_remote_failed(&remotes, &one->base, FI_ECONNREFUSED, now);
		after = one->base.retry_ns - now;
		assert_in_range(after, want_us[i] * 1000, want_us[i] * 1250);
		assert_int_equal(wf_remotes_deadline(&remotes), one->base.retry_ns);
		wf_remotes_tick(&remotes, one->base.retry_ns - 1, 0, GRACE);
		assert_int_equal(one->dials, i + 1);
		now = one->base.retry_ns;
		wf_remotes_tick(&remotes, now, 0, GRACE);
		assert_int_equal(one->dials, i + 2);
	}
}

/* Peers that were lost one after the other are tried again at the same moment. */
static void rare_attempts_are_made_together(void **state)
{
	enum { LOST = 100, EACH_NS = 1000000, BACKOFF_US = 1000000, MOMENTS_MAX = 2 };
	static struct wf_remote_ops patient;
	uint64_t moments[MOMENTS_MAX];
	unsigned int count = 0;

	patient = ops;
	patient.backoff_max_us = 2 * BACKOFF_US;
	remotes.ops = &patient;
	for (int i = 0; i < LOST; i++) {
		struct wf_remote *remote = &people[i].base;
		uint64_t now = 5000000000ull + (uint64_t)i * EACH_NS;
		unsigned int at = 0;

		add(i);
		remote->backoff_us = BACKOFF_US;
		wf_remote_failed(&remotes, remote, FI_ECONNREFUSED, now);
		assert_true(remote->retry_ns >= now + BACKOFF_US * 1000ull);
		while (at < count && moments[at] != remote->retry_ns)
			at++;
		if (at == count) {
			assert_true(count < MOMENTS_MAX);
			moments[count++] = remote->retry_ns;
		}
	}
}

static void two_seeds_come_back_apart(void **state)
{
	uint64_t first;

	add(1);
	wf_remote_failed(&remotes, &people[1].base, FI_ECONNREFUSED, 0);
	first = people[1].base.retry_ns;
	remotes.seed++;
	people[1].base.backoff_us = 0;
	wf_remote_failed(&remotes, &people[1].base, FI_ECONNREFUSED, 0);
	assert_int_not_equal(first, people[1].base.retry_ns);
}

static void a_connection_takes_what_waited(void **state)
{
	struct somebody *one = add_with_operation(1);
	struct wf_list queue;

	wf_list_init(&queue);
	wf_remote_failed(&remotes, &one->base, FI_ECONNREFUSED, 0);
	wf_remotes_tick(&remotes, 0, 1000, GRACE);
	one->state = WF_REMOTE_UP;
	wf_remote_connected(&one->base, &queue);
	assert_ptr_equal(wf_list_pop(&queue), &operation);
	assert_true(wf_list_empty(&one->base.pending));
	assert_int_equal(wf_remotes_deadline(&remotes), UINT64_MAX);
	wf_remotes_tick(&remotes, 1000000000, 1000, GRACE);
	assert_true(wf_list_empty(&remotes.busy));
	assert_int_equal(one->dials, 0);
	assert_int_equal(one->give_ups, 0);
	/* The next failure begins with the shortest wait again. */
	wf_remote_failed(&remotes, &one->base, FI_ECONNREFUSED, 0);
	assert_int_equal(one->base.backoff_us, MIN_US);
}

/* The time limit counts from the first tick with a pending operation, and is reported
 * once. */
static void what_waits_too_long_fails(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remotes_tick(&remotes, 100, 50, GRACE);
	assert_int_equal(wf_remotes_deadline(&remotes), 150);
	one->state = WF_REMOTE_DOWN;
	wf_remote_failed(&remotes, &one->base, FI_EHOSTUNREACH, 110);
	wf_remotes_tick(&remotes, 149, 50, GRACE);
	assert_int_equal(one->give_ups, 0);
	wf_remotes_tick(&remotes, 150, 50, GRACE);
	assert_int_equal(one->give_ups, 1);
	assert_int_equal(one->given_up_for, FI_EHOSTUNREACH);
	wf_remotes_tick(&remotes, one->base.retry_ns, 50, GRACE);
	assert_int_equal(one->give_ups, 1);
	assert_true(wf_list_empty(&remotes.busy));
	assert_int_equal(one->dials, 1);
	/* No index led there. */
	assert_int_equal(one->freed, 1);
}

static bool wait_on(struct wf_remotes *all, struct wf_remote *remote)
{
	return somebody_of(remote)->number != 1;
}

/* A transport may know better than the clock. */
static void a_transport_may_let_operations_wait_on(void **state)
{
	static struct wf_remote_ops patient;
	struct somebody *one = add_with_operation(1);

	patient = ops;
	patient.give_up = wait_on;
	remotes.ops = &patient;
	wf_remotes_tick(&remotes, 100, 50, GRACE);
	wf_remotes_tick(&remotes, 200, 50, GRACE);
	assert_int_equal(one->give_ups, 0);
	assert_false(wf_list_empty(&one->base.pending));
	/* The time begins again. */
	assert_int_equal(one->base.give_up_ns, UINT64_MAX);
	one->number = 2;
	wf_remotes_tick(&remotes, 300, 50, GRACE);
	wf_remotes_tick(&remotes, 400, 50, GRACE);
	assert_int_equal(one->give_ups, 1);
	assert_true(wf_list_empty(&one->base.pending));
	one->number = 1;
}

/* A tick frees what neither an index nor a connection, an operation or the transport
 * keeps; it is found no more. */
static void what_nothing_keeps_is_freed(void **state)
{
	struct somebody *one = &people[1], *two = &people[2];

	add(1);
	add(2);
	assert_true(wf_remotes_set_index(&remotes, 5, &one->base));
	assert_true(wf_remotes_set_index(&remotes, 6, &one->base));
	wf_remote_busy(&remotes, &one->base);
	wf_remote_ref(&two->base);
	wf_remote_let_go(&remotes, &two->base);
	wf_remotes_tick(&remotes, 100, 50, GRACE);
	assert_int_equal(one->freed + two->freed, 0);
	wf_remotes_forget_index(&remotes, 5);
	wf_remotes_forget_index(&remotes, 5);
	wf_remotes_tick(&remotes, 100, 50, GRACE);
	assert_int_equal(one->freed, 0);
	/* The other one takes its last index. */
	assert_true(wf_remotes_set_index(&remotes, 6, &two->base));
	one->state = WF_REMOTE_UP;
	wf_remotes_tick(&remotes, 100, 50, GRACE);
	assert_int_equal(one->freed, 0);
	one->state = WF_REMOTE_DOWN;
	wf_list_push(&one->base.pending, &operation);
	wf_remote_let_go(&remotes, &one->base);
	wf_remotes_tick(&remotes, 100, 50, GRACE);
	assert_int_equal(one->freed, 0);
	assert_ptr_equal(find(1), &one->base);
	(void)wf_list_pop(&one->base.pending);
	one->state = WF_REMOTE_DOWN;
	wf_remotes_tick(&remotes, 200, 50, GRACE);
	assert_int_equal(one->freed, 1);
	assert_null(find(1));
	wf_remotes_forget_indices(&remotes);
	wf_remotes_tick(&remotes, 200, 50, GRACE);
	assert_int_equal(two->freed, 0);
	wf_remote_unref(&remotes, &two->base);
	wf_remotes_tick(&remotes, 200, 50, GRACE);
	assert_int_equal(two->freed, 1);
	assert_int_equal(remotes.count, 0);
}

static void an_attempt_without_an_end_times_out(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remotes_tick(&remotes, 100, 50, GRACE);
	wf_remotes_tick(&remotes, 200, 50, GRACE);
	assert_int_equal(one->given_up_for, FI_ETIMEDOUT);
}

static void no_limit_never_gives_up(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remotes_tick(&remotes, 100, 0, GRACE);
	wf_remotes_tick(&remotes, UINT64_MAX - 1, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
	assert_false(wf_list_empty(&one->base.pending));
}

/* A host that refuses is believed sooner, but not while an attempt is under way. */
static void refusals_shorten_the_wait(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remotes_tick(&remotes, 100, 0, GRACE);
	one->state = WF_REMOTE_DOWN;
	wf_remote_refused(&remotes, &one->base, 110);
	assert_int_equal(wf_remotes_deadline(&remotes), 110 + GRACE);
	wf_remotes_tick(&remotes, 110 + GRACE - 1, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
	one->state = WF_REMOTE_CHANGING;
	wf_remotes_tick(&remotes, 110 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
	one->state = WF_REMOTE_DOWN;
	wf_remote_refused(&remotes, &one->base, 115);
	wf_remotes_tick(&remotes, 110 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 1);
	assert_int_equal(one->given_up_for, FI_ECONNREFUSED);
	/* The next operation has all of it. */
	wf_list_push(&one->base.pending, &operation);
	wf_remotes_tick(&remotes, 120 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 1);
	wf_remote_refused(&remotes, &one->base, 200);
	assert_int_equal(wf_remotes_deadline(&remotes), 200 + GRACE);
}

static bool never(
	struct wf_remotes *all, struct wf_remote *remote, const struct wf_list *link)
{
	return false;
}

/* A transport that waits for the peer's host does not mind its refusals. */
static void refusals_do_not_end_patience(void **state)
{
	static struct wf_remote_ops patient;
	struct somebody *one = add_with_operation(1);

	patient = ops;
	patient.give_up = wait_on;
	patient.keeps_waiting = never;
	remotes.ops = &patient;
	wf_remotes_tick(&remotes, 100, 0, GRACE);
	one->state = WF_REMOTE_DOWN;
	wf_remote_refused(&remotes, &one->base, 110);
	wf_remotes_tick(&remotes, 110 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
	assert_false(wf_list_empty(&one->base.pending));
	/* They count from the next one on. */
	assert_int_equal(one->base.refused_ns, 0);
	wf_remote_refused(&remotes, &one->base, 200);
	one->number = 2;
	one->state = WF_REMOTE_DOWN;
	wf_remotes_tick(&remotes, 199 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
	one->state = WF_REMOTE_DOWN;
	wf_remotes_tick(&remotes, 200 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 1);
	assert_int_equal(one->given_up_for, FI_ECONNREFUSED);
	one->number = 1;
}

static void another_failure_ends_the_refusals(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remote_refused(&remotes, &one->base, 100);
	wf_remote_failed(&remotes, &one->base, FI_EHOSTUNREACH, 105);
	wf_remotes_tick(&remotes, 100 + GRACE, 0, GRACE);
	assert_int_equal(one->give_ups, 0);
}

static bool is_item(const struct wf_list *link, const void *arg)
{
	return link == arg;
}

/* The selected operation is removed, whichever peer it is for; the others keep their
 * order. */
static void one_operation_is_withdrawn(void **state)
{
	struct wf_list first, second, third;
	struct wf_remote *found = NULL;

	add(1);
	add(2);
	wf_list_push(&people[1].base.pending, &first);
	wf_list_push(&people[2].base.pending, &second);
	wf_list_push(&people[2].base.pending, &third);
	for (int i = 1; i <= 2; i++)
		wf_remote_busy(&remotes, &people[i].base);
	assert_true(wf_remotes_any_pending(&remotes, is_item, &second));
	assert_ptr_equal(
		wf_remotes_withdraw(&remotes, is_item, &second, &found), &second);
	assert_ptr_equal(found, &people[2].base);
	assert_false(wf_remotes_any_pending(&remotes, is_item, &second));
	assert_null(wf_remotes_withdraw(&remotes, is_item, &second, &found));
	assert_ptr_equal(wf_list_pop(&people[1].base.pending), &first);
	assert_ptr_equal(wf_list_pop(&people[2].base.pending), &third);
}

/* The transport is called for each index that does not lead to the peer any more. */
static void a_lost_index_is_told(void **state)
{
	struct somebody *one = &people[1], *two = &people[2];

	add(1);
	add(2);
	assert_true(wf_remotes_set_index(&remotes, 5, &one->base));
	assert_true(wf_remotes_set_index(&remotes, 6, &one->base));
	assert_true(wf_remotes_set_index(&remotes, 6, &one->base));
	assert_int_equal(one->lost, 0);
	assert_true(wf_remotes_set_index(&remotes, 6, &two->base));
	assert_int_equal(one->lost, 1);
	wf_remotes_forget_indices(&remotes);
	assert_int_equal(one->lost, 2);
	assert_int_equal(two->lost, 1);
	assert_null(wf_remotes_at(&remotes, 5));
}

/* Without waiting operations there is no time at which to give up, nor is an old one
 * left. */
static void what_was_withdrawn_is_not_waited_for(void **state)
{
	struct somebody *one = add_with_operation(1);
	struct wf_remote *found;

	wf_remotes_tick(&remotes, 100, 50, GRACE);
	one->state = WF_REMOTE_DOWN;
	wf_remote_refused(&remotes, &one->base, 100);
	assert_ptr_equal(
		wf_remotes_withdraw(&remotes, is_item, &operation, &found), &operation);
	assert_ptr_equal(found, &one->base);
	assert_int_equal(wf_remotes_deadline(&remotes), one->base.retry_ns);
	wf_list_push(&one->base.pending, &operation);
	wf_remotes_tick(&remotes, 160, 50, GRACE);
	assert_int_equal(one->give_ups, 0);
}

/* No attempt is made while a connection to the peer is still being ended. */
static void one_attempt_at_a_time(void **state)
{
	struct somebody *one = add_with_operation(1);

	one->state = WF_REMOTE_CHANGING;
	wf_remotes_tick(&remotes, 100, 0, GRACE);
	assert_int_equal(one->dials, 0);
	one->state = WF_REMOTE_DOWN;
	wf_remotes_tick(&remotes, 100, 0, GRACE);
	wf_remotes_tick(&remotes, 100, 0, GRACE);
	assert_int_equal(one->dials, 1);
}

/* An operation dials at once, but neither twice nor before its time. */
static void an_operation_dials(void **state)
{
	struct somebody *one = add_with_operation(1);

	wf_remote_wanted(&remotes, &one->base);
	wf_remote_wanted(&remotes, &one->base);
	assert_int_equal(one->dials, 1);
	one->state = WF_REMOTE_DOWN;
	wf_remote_failed(&remotes, &one->base, FI_ECONNREFUSED, 100);
	wf_remote_wanted(&remotes, &one->base);
	assert_int_equal(one->dials, 1);
}

#define remotes_test(name)                                                             \
	cmocka_unit_test_setup_teardown(name, open_remotes, close_remotes)

static void what_waits_for_a_denied_peer_ends_at_once(void **state)
{
	struct somebody *one = add_with_operation(3);

	wf_remote_failed(&remotes, &one->base, FI_EHOSTUNREACH, 1);
	wf_remote_denied(&remotes, &one->base, FI_ECONNREFUSED);
	assert_true(wf_list_empty(&one->base.pending));
	assert_int_equal(one->given_up_for, FI_ECONNREFUSED);
	/* The next operation asks again, without the delay of the attempts before. */
	wf_remote_wanted(&remotes, &one->base);
	assert_int_equal(one->dials, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		remotes_test(each_is_found_and_visited_once),
		remotes_test(who_was_removed_is_gone),
		remotes_test(indices_lead_to_one_until_forgotten),
		remotes_test(forgetting_no_index_is_nothing),
		remotes_test(a_table_that_cannot_grow_is_kept),
		remotes_test(all_indices_may_be_removed),
		remotes_test(nothing_ends_what_did_not_begin),
		remotes_test(attempts_get_rarer),
		remotes_test(rare_attempts_are_made_together),
		remotes_test(two_seeds_come_back_apart),
		remotes_test(a_connection_takes_what_waited),
		remotes_test(an_operation_dials),
		remotes_test(what_waits_too_long_fails),
		remotes_test(a_transport_may_let_operations_wait_on),
		remotes_test(what_nothing_keeps_is_freed),
		remotes_test(an_attempt_without_an_end_times_out),
		remotes_test(no_limit_never_gives_up),
		remotes_test(refusals_shorten_the_wait),
		remotes_test(refusals_do_not_end_patience),
		remotes_test(another_failure_ends_the_refusals),
		remotes_test(what_was_withdrawn_is_not_waited_for),
		remotes_test(one_operation_is_withdrawn),
		remotes_test(a_lost_index_is_told),
		remotes_test(one_attempt_at_a_time),
		remotes_test(what_waits_for_a_denied_peer_ends_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
