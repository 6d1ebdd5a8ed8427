/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>

#include "sys/clock.h"
#include "sys/gate.h"
#include "unit.h"

static void the_application_goes_first(void **state)
{
	struct wf_gate gate;

	(void)state;
	wf_gate_init(&gate);
	if (!wf_gate_supported())
		skip();
	wf_gate_enter(&gate);
	assert_false(wf_gate_close(&gate));
	wf_gate_enter(&gate);
	wf_gate_leave(&gate);
	assert_false(wf_gate_close(&gate));
	assert_true(wf_gate_enter_inline(&gate));
	wf_gate_leave_inline(&gate);
	assert_false(wf_gate_close(&gate));
	wf_gate_leave(&gate);
	assert_true(wf_gate_close(&gate));
	wf_gate_open(&gate);
}

/* The thread inside may call what enters; a second one does not get in. */
static void sections_of_the_holder_are_free(void **state)
{
	struct wf_gate gate;

	(void)state;
	wf_gate_init(&gate);
	if (!wf_gate_supported())
		skip();
	assert_true(wf_gate_close(&gate));
	assert_true(wf_gate_is_mine(&gate));
	wf_gate_enter(&gate);
	assert_int_equal(atomic_load(&gate.inside), 0);
	wf_gate_leave(&gate);
	assert_false(wf_gate_enter_inline(&gate));
	assert_int_equal(atomic_load(&gate.inside), 0);
	assert_false(wf_gate_close(&gate));
	wf_gate_open(&gate);
	assert_false(wf_gate_is_mine(&gate));
	assert_true(wf_gate_enter_inline(&gate));
	wf_gate_leave_inline(&gate);
}

enum { ROUNDS = 300000, VISITS = 2000 };

struct shared {
	struct wf_gate gate;
	uint64_t count; /* not atomic: one thread at a time */
	atomic_bool ended;
};

static void *application(void *arg)
{
	struct shared *shared = arg;

	for (int i = 0; i < ROUNDS; i++) {
		wf_gate_enter(&shared->gate);
		shared->count++;
		wf_gate_enter(&shared->gate);
		shared->count++;
		wf_gate_leave(&shared->gate);
		wf_gate_leave(&shared->gate);
		while (!wf_gate_enter_inline(&shared->gate))
			;
		shared->count++;
		wf_gate_leave_inline(&shared->gate);
	}
	atomic_store(&shared->ended, true);
	return NULL;
}

static void one_thread_is_inside(void **state)
{
	struct shared shared = { .count = 0 };
	unsigned int visits = 0;
	pthread_t thread;

	(void)state;
	wf_gate_init(&shared.gate);
	if (!wf_gate_supported())
		skip();
	assert_int_equal(pthread_create(&thread, NULL, application, &shared), 0);
	while (!atomic_load(&shared.ended) && visits < VISITS) {
		if (!wf_gate_close(&shared.gate))
			continue;
		shared.count++;
		visits++;
		wf_gate_open(&shared.gate);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(shared.count, (uint64_t)ROUNDS * 3 + visits);
	assert_true(wf_gate_close(&shared.gate));
	wf_gate_open(&shared.gate);
}

/* A thread that finds the gate closed waits until it is open. */
static void *enter_once(void *arg)
{
	struct shared *shared = arg;

	wf_gate_enter(&shared->gate);
	shared->count++;
	wf_gate_leave(&shared->gate);
	atomic_store(&shared->ended, true);
	return NULL;
}

static void a_closed_gate_is_waited_for(void **state)
{
	struct shared shared = { .count = 0 };
	uint64_t deadline_ns = wf_deadline_ns(20);
	pthread_t thread;

	(void)state;
	wf_gate_init(&shared.gate);
	if (!wf_gate_supported())
		skip();
	assert_true(wf_gate_close(&shared.gate));
	assert_int_equal(pthread_create(&thread, NULL, enter_once, &shared), 0);
	while (!wf_expired(deadline_ns))
		assert_false(atomic_load(&shared.ended));
	assert_int_equal(shared.count, 0);
	wf_gate_open(&shared.gate);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(shared.count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_application_goes_first),
		cmocka_unit_test(sections_of_the_holder_are_free),
		cmocka_unit_test(one_thread_is_inside),
		cmocka_unit_test(a_closed_gate_is_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
