/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "objects/progress/async.h"
#include "sys/clock.h"

/* The thread of the library stays (watchdog.c). */
extern int unit_keeps_threads;
int unit_keeps_threads = 1;

struct fake {
	struct wf_async_item base;
	pthread_mutex_t lock; /* stands for the endpoint's; guards @kept */
	unsigned int kept;    /* operations */
	unsigned int at_once; /* how many of them one run ends */
	bool is_ep;           /* A run is seen like one of the application. */
	atomic_uint runs;
	atomic_bool inside, holds; /* run() is entered, and has to stay inside */
};

static bool fake_run(struct wf_async_item *item)
{
	struct fake *fake = wf_container_of(item, struct fake, base);
	bool left;

	atomic_fetch_add(&fake->runs, 1);
	if (fake->is_ep)
		wf_async_ran(item);
	atomic_store(&fake->inside, true);
	while (atomic_load(&fake->holds))
		(void)sched_yield();
	(void)pthread_mutex_lock(&fake->lock);
	fake->kept -= fake->kept < fake->at_once ? fake->kept : fake->at_once;
	left = fake->kept;
	(void)pthread_mutex_unlock(&fake->lock);
	return left;
}

static void fake_init(struct fake *fake, struct wf_gate *gate)
{
	*fake = (struct fake){ .at_once = 1 };
	(void)pthread_mutex_init(&fake->lock, NULL);
	wf_async_item_init(&fake->base, gate, fake_run);
}

static void keep(struct fake *fake, unsigned int count)
{
	(void)pthread_mutex_lock(&fake->lock);
	fake->kept += count;
	wf_async_want(&fake->base);
	(void)pthread_mutex_unlock(&fake->lock);
}

static unsigned int kept(struct fake *fake)
{
	unsigned int count;

	(void)pthread_mutex_lock(&fake->lock);
	count = fake->kept;
	(void)pthread_mutex_unlock(&fake->lock);
	return count;
}

/* The watchdog of the test ends what never comes. */
static void await_all(struct fake *fake)
{
	while (kept(fake))
		(void)sched_yield();
}

/* Without any other call, all that is kept ends; again and again. */
static void what_is_kept_ends(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	for (int round = 0; round < 20; round++) {
		keep(&fake, 1 + round % 3);
		await_all(&fake);
	}
	assert_true(atomic_load(&fake.runs) >= 20);
	wf_async_forget(&fake.base);
}

/* No operation is lost that is kept while the thread ends the last one. */
static void nothing_is_lost_between_runs(void **state)
{
	enum { COUNT = 20000 };
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	fake.at_once = COUNT;
	for (int i = 0; i < COUNT; i++) {
		keep(&fake, 1);
		if (i % 100 == 0)
			await_all(&fake);
	}
	await_all(&fake);
	wf_async_forget(&fake.base);
}

/* The application makes progress without a pause, and keeps something when it ends
 * that; long enough that the thread has become slow to look. */
static void calls_that_end_leave_nothing(void **state)
{
	struct fake fake;
	uint64_t until;

	(void)state;
	fake_init(&fake, NULL);
	for (int round = 0; round < 3; round++) {
		until = wf_now_ns() + 50000000;
		while (wf_now_ns() < until) {
			keep(&fake, 1);
			wf_async_ran(&fake.base);
			(void)pthread_mutex_lock(&fake.lock);
			fake.kept = 0;
			(void)pthread_mutex_unlock(&fake.lock);
		}
		keep(&fake, 3);
		await_all(&fake);
	}
	wf_async_forget(&fake.base);
}

/* An item that is forgotten is run again when it keeps something again. */
static void forgotten_for_a_while(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	for (int round = 0; round < 20; round++) {
		keep(&fake, 1);
		wf_async_forget(&fake.base);
		keep(&fake, 1);
		await_all(&fake);
	}
	wf_async_forget(&fake.base);
}

static void several_items_are_run(void **state)
{
	struct fake fakes[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		fake_init(&fakes[i], NULL);
		keep(&fakes[i], (unsigned int)i + 1);
	}
	for (int i = 0; i < 5; i++)
		await_all(&fakes[i]);
	for (int i = 0; i < 5; i++)
		wf_async_forget(&fakes[i].base);
}

static void *forget(void *arg)
{
	struct fake *fake = arg;

	wf_async_forget(&fake->base);
	/* The thread has left run(). */
	assert_false(atomic_load(&fake->inside) && atomic_load(&fake->holds));
	return NULL;
}

static void forgetting_waits_for_the_run(void **state)
{
	struct fake fake;
	pthread_t thread;
	unsigned int runs;

	(void)state;
	fake_init(&fake, NULL);
	atomic_store(&fake.holds, true);
	keep(&fake, 1000000);
	while (!atomic_load(&fake.inside))
		(void)sched_yield();
	assert_int_equal(pthread_create(&thread, NULL, forget, &fake), 0);
	atomic_store(&fake.holds, false);
	assert_int_equal(pthread_join(thread, NULL), 0);
	runs = atomic_load(&fake.runs);
	assert_int_equal(atomic_load(&fake.runs), runs);
}

static void await_inside(struct fake *fake)
{
	while (!atomic_load(&fake->inside))
		(void)sched_yield();
}

/* The thread does not take its own runs for some of the application, which would keep it
 * from running the item at the next look. */
static void own_runs_are_not_the_applications(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	fake.is_ep = true;
	for (int round = 0; round < 3; round++) {
		keep(&fake, 3);
		await_all(&fake);
	}
	wf_async_forget(&fake.base);
	assert_int_equal(fake.base.seen, atomic_load(&fake.base.runs));
	assert_int_equal(fake.base.skipped, 0);
}

/* An item counts as busy for as many looks in a row as it kept something. */
static void how_busy_an_item_is(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	atomic_store(&fake.holds, true);
	keep(&fake, 1);
	await_inside(&fake);
	assert_int_equal(fake.base.busy, 1);
	assert_int_equal(fake.base.skipped, 0);
	assert_false(atomic_load(&fake.base.wanted));
	/* Once more: the run itself keeps something. */
	keep(&fake, 1);
	atomic_store(&fake.inside, false);
	atomic_store(&fake.holds, false);
	await_all(&fake);
	wf_async_forget(&fake.base);
	/* It kept nothing since the look before that: it is quiet, and not listed. */
	fake_init(&fake, NULL);
	keep(&fake, 1);
	await_all(&fake);
	while (atomic_load(&fake.runs) < 2)
		(void)sched_yield();
	wf_async_forget(&fake.base);
	assert_int_equal(fake.base.busy, 0);
}

/* The thread does not run anything while the application is inside a call. */
static void the_gate_is_respected(void **state)
{
	uint64_t deadline_ns = wf_deadline_ns(20);
	struct wf_gate gate;
	struct fake fake;

	(void)state;
	if (!wf_gate_supported())
		skip();
	wf_gate_init(&gate);
	fake_init(&fake, &gate);
	wf_gate_enter(&gate);
	keep(&fake, 2);
	while (!wf_expired(deadline_ns))
		assert_int_equal(atomic_load(&fake.runs), 0);
	wf_gate_leave(&gate);
	await_all(&fake);
	wf_async_forget(&fake.base);
}

/* What an endpoint keeps while it is closed does not bring it back. */
static void a_closed_item_stays_away(void **state)
{
	struct fake fake, other;

	(void)state;
	fake_init(&fake, NULL);
	fake_init(&other, NULL);
	keep(&fake, 1);
	await_all(&fake);
	wf_async_close(&fake.base);
	keep(&fake, 1);
	/* The thread has looked once more. */
	keep(&other, 1);
	await_all(&other);
	assert_int_equal(kept(&fake), 1);
	wf_async_close(&other.base);
}

/* An endpoint without such a thread may want, too. */
static void nothing_happens_without_a_thread(void **state)
{
	struct fake fake;

	(void)state;
	fake_init(&fake, NULL);
	wf_async_item_init(&fake.base, NULL, NULL);
	keep(&fake, 1);
	wf_async_forget(&fake.base);
	assert_int_equal(atomic_load(&fake.runs), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_ends),
		cmocka_unit_test(nothing_is_lost_between_runs),
		cmocka_unit_test(calls_that_end_leave_nothing),
		cmocka_unit_test(forgotten_for_a_while),
		cmocka_unit_test(several_items_are_run),
		cmocka_unit_test(forgetting_waits_for_the_run),
		cmocka_unit_test(own_runs_are_not_the_applications),
		cmocka_unit_test(how_busy_an_item_is),
		cmocka_unit_test(the_gate_is_respected),
		cmocka_unit_test(a_closed_item_stays_away),
		cmocka_unit_test(nothing_happens_without_a_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
