/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "objects/endpoint/inbox.h"
#include "sys/clock.h"

/* Inboxes of layered providers: order, space, and messages that are passed. */

enum { LIMIT = 600 };

static uint8_t byte_of(unsigned int number, size_t at)
{
	return (uint8_t)(number * 31 + at);
}

static bool put_number(struct wf_inbox_feed *feed, unsigned int number, size_t len)
{
	uint8_t buf[WF_INBOX_LIMIT + 1];

	for (size_t i = 0; i < len; i++)
		buf[i] = byte_of(number, i);
	return wf_inbox_put(feed, buf, len);
}

static void take_number(struct wf_inbox *inbox, const struct wf_inbox_feed *feed,
	unsigned int number, size_t len)
{
	const struct wf_inbox_message *message = wf_inbox_first(inbox);

	assert_non_null(message);
	assert_ptr_equal(message->feed, feed);
	assert_int_equal(message->len, len);
	assert_int_equal((uintptr_t)message->payload % 16, 0);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(message->payload[i], byte_of(number, i));
	/* It stays until it is removed. */
	assert_ptr_equal(wf_inbox_first(inbox), message);
	wf_inbox_pop(inbox, message);
}

/* Messages of all lengths, several of them at a time, over many rounds of the
 * memory. */
static void all_lengths_in_order(void **state)
{
	enum { BEHIND = 7, COUNT = 20000 };
	struct wf_inbox *inbox = wf_inbox_new(NULL, LIMIT, NULL);
	struct wf_inbox_feed feed[2] = { { .inbox = inbox }, { .inbox = inbox } };

	(void)state;
	assert_non_null(inbox);
	for (unsigned int i = 0; i < COUNT + BEHIND; i++) {
		unsigned int old = i - BEHIND;

		if (i < COUNT)
			assert_true(put_number(&feed[i % 2], i, i % (LIMIT + 1)));
		assert_false(wf_inbox_empty(inbox));
		if (i >= BEHIND)
			take_number(inbox, &feed[old % 2], old, old % (LIMIT + 1));
	}
	assert_true(wf_inbox_empty(inbox));
	assert_null(wf_inbox_first(inbox));
	assert_int_equal(feed[0].passed, 0);
	wf_inbox_free(inbox);
	wf_inbox_free(NULL);
}

/* Without space a message is passed, and so are later ones of its feed until the layer
 * has handled all that were; other feeds go on. */
static void passed_until_handled(void **state)
{
	struct wf_inbox *inbox = wf_inbox_new(NULL, LIMIT, NULL);
	struct wf_inbox_feed feed = { .inbox = inbox }, other = { .inbox = inbox };
	unsigned int put = 0;

	(void)state;
	while (put_number(&feed, put, 100))
		put++;
	/* All of the memory is used. */
	assert_int_equal(put, WF_INBOX_BYTES / wf_inbox_size(100));
	assert_int_equal(feed.passed, 1);
	for (unsigned int i = 0; i < put; i++)
		take_number(inbox, &feed, i, 100);
	assert_false(put_number(&feed, 0, 1));
	assert_int_equal(feed.passed, 2);
	assert_true(put_number(&other, 5, 1));
	wf_inbox_handled(&feed);
	assert_false(put_number(&feed, 0, 1));
	wf_inbox_handled(&feed);
	wf_inbox_handled(&feed);
	assert_int_equal(feed.passed, 0);
	/* One more than were passed is no harm. */
	wf_inbox_handled(&feed);
	assert_true(put_number(&feed, 6, 2));
	take_number(inbox, &other, 5, 1);
	take_number(inbox, &feed, 6, 2);
	wf_inbox_free(inbox);
}

static void long_ones_are_passed(void **state)
{
	struct wf_inbox *inbox = wf_inbox_new(NULL, LIMIT, NULL);
	struct wf_inbox *large = wf_inbox_new(NULL, SIZE_MAX, NULL);
	struct wf_inbox_feed feed = { .inbox = inbox }, large_feed = { .inbox = large };

	(void)state;
	assert_true(put_number(&feed, 1, LIMIT));
	assert_false(put_number(&feed, 2, LIMIT + 1));
	wf_inbox_handled(&feed);
	wf_inbox_pass(&feed);
	assert_false(put_number(&feed, 3, 8));
	take_number(inbox, &feed, 1, LIMIT);
	assert_true(wf_inbox_empty(inbox));
	assert_true(put_number(&large_feed, 1, WF_INBOX_LIMIT));
	assert_false(put_number(&large_feed, 1, WF_INBOX_LIMIT + 1));
	wf_inbox_free(inbox);
	wf_inbox_free(large);
}

/* A thread that sleeps is woken by each message, not by one that is passed. */
static void wakes_sleepers(void **state)
{
	struct wf_inbox_feed feed = { .inbox = NULL };
	struct wf_wait wait;
	uint64_t ticket;

	(void)state;
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	feed.inbox = wf_inbox_new(NULL, LIMIT, &wait);
	ticket = wf_wait_arm(&wait);
	assert_false(put_number(&feed, 0, LIMIT + 1));
	assert_true(wf_wait_is_armed(&wait));
	wf_inbox_handled(&feed);
	assert_true(put_number(&feed, 0, 1));
	assert_false(wf_wait_is_armed(&wait));
	assert_int_equal(wf_wait_sleep(&wait, ticket, wf_now_ns()), 0);
	wf_inbox_free(feed.inbox);
	wf_wait_done(&wait);
}

/* ---- threads ---- */

enum { FEEDS = 3, PER_FEED = 30000, PASSED_MAX = 64 };

/* Threads put messages; those that are passed go into @passed, which stands for the
 * receives and completions. The main thread is the layer. */
static struct {
	struct wf_inbox *inbox;
	struct wf_inbox_feed feed[FEEDS];
	unsigned int next[FEEDS]; /* number of the next message of each feed */
	pthread_mutex_t lock;     /* guards the next two */
	unsigned int passed[FEEDS * PASSED_MAX][2]; /* feed, number */
	unsigned int passed_count;
} shared = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void complete(unsigned int feed, unsigned int number)
{
	bool done = false;

	while (!done) {
		(void)pthread_mutex_lock(&shared.lock);
		done = shared.passed_count < FEEDS * PASSED_MAX;
		if (done) {
			shared.passed[shared.passed_count][0] = feed;
			shared.passed[shared.passed_count++][1] = number;
		}
		(void)pthread_mutex_unlock(&shared.lock);
		if (!done)
			(void)sched_yield();
	}
}

static void *put_all(void *arg)
{
	unsigned int feed = (unsigned int)(uintptr_t)arg;

	for (unsigned int i = 0; i < PER_FEED; i++)
		if (!put_number(&shared.feed[feed], i,
			    i % 500 == 499 ? LIMIT + 1 : i % 200))
			complete(feed, i);
	return NULL;
}

static unsigned int take_all(void)
{
	const struct wf_inbox_message *message;
	unsigned int taken = 0;

	while ((message = wf_inbox_first(shared.inbox))) {
		size_t feed = (size_t)(message->feed - shared.feed);
		unsigned int number = shared.next[feed]++;

		take_number(shared.inbox, &shared.feed[feed], number, number % 200);
		taken++;
	}
	return taken;
}

static unsigned int handle_passed(unsigned int (*passed)[2], unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(shared.next[passed[i][0]]++, passed[i][1]);
		wf_inbox_handled(&shared.feed[passed[i][0]]);
	}
	return count;
}

static void threads_keep_the_order(void **state)
{
	unsigned int passed[FEEDS * PASSED_MAX][2], count, all = 0;
	pthread_t thread[FEEDS];

	(void)state;
	shared.inbox = wf_inbox_new(NULL, LIMIT, NULL);
	for (uintptr_t i = 0; i < FEEDS; i++) {
		shared.feed[i].inbox = shared.inbox;
		assert_int_equal(
			pthread_create(&thread[i], NULL, put_all, (void *)i), 0);
	}
	while (all < FEEDS * PER_FEED) {
		(void)pthread_mutex_lock(&shared.lock);
		count = shared.passed_count;
		memcpy(passed, shared.passed, count * sizeof(passed[0]));
		shared.passed_count = 0;
		(void)pthread_mutex_unlock(&shared.lock);
		all += take_all();
		all += handle_passed(passed, count);
	}
	for (int i = 0; i < FEEDS; i++)
		assert_int_equal(pthread_join(thread[i], NULL), 0);
	assert_true(wf_inbox_empty(shared.inbox));
	wf_inbox_free(shared.inbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_lengths_in_order),
		cmocka_unit_test(passed_until_handled),
		cmocka_unit_test(long_ones_are_passed),
		cmocka_unit_test(wakes_sleepers),
		cmocka_unit_test(threads_keep_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
