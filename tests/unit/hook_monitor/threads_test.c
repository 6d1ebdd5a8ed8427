/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>

/* Many threads count in one file while samples are taken: no call is lost or counted
 * twice. */

enum { THREADS = 4, GENERATIONS = 3, CALLS = 20000, SIZE = 3 };

static atomic_bool done;

static void *make_calls(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		if (fi_injectdata(fx.ep, NULL, SIZE, 0, 0))
			abort();
	return NULL;
}

/* Asks for one sample after the other, and adds them up. */
static void *take_samples(void *arg)
{
	struct mon_cell *total = arg;
	uint64_t number = 0;

	while (!atomic_load(&done)) {
		read_file();
		if (fx.layout.answered != number)
			continue;
		if (number)
			total->count += newest()->cell[MON_INJECTDATA][0].count;
		want(++number);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, make_calls, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void threads_count_together(void **state)
{
	struct mon_cell total = { 0 };
	pthread_t sampler;

	mon_params.tick_max = 16;
	open_all();
	assert_int_equal(pthread_create(&sampler, NULL, take_samples, &total), 0);
	for (int i = 0; i < GENERATIONS; i++)
		run_threads();
	atomic_store(&done, true);
	assert_int_equal(pthread_join(sampler, NULL), 0);
	/* The last request may have been answered, too. */
	read_file();
	if (fx.layout.answered && fx.layout.answered == fx.layout.wanted)
		total.count += newest()->cell[MON_INJECTDATA][0].count;
	close_all();
	assert_int_equal(newest()->ended, 1);
	total.count += newest()->cell[MON_INJECTDATA][0].count;
	assert_int_equal(total.count, THREADS * GENERATIONS * CALLS);
}

/* Endpoints come and go while another thread's tick asks them for their peers. */
static void *open_and_close(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		struct fid_ep *ep = NULL;

		if (fi_endpoint(fx.domain, NULL, &ep, NULL) || fi_enable(ep) ||
			fi_close(&ep->fid))
			abort();
	}
	atomic_store(&done, true);
	return NULL;
}

static void endpoints_come_and_go(void **state)
{
	uint64_t number = 0;
	pthread_t opener;

	open_all();
	atomic_store(&done, false);
	assert_int_equal(pthread_create(&opener, NULL, open_and_close, NULL), 0);
	while (!atomic_load(&done)) {
		want(++number);
		assert_int_equal(fi_inject(fx.ep, NULL, 0, 0), 0);
	}
	assert_int_equal(pthread_join(opener, NULL), 0);
	assert_int_equal(newest()->number, number);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			threads_count_together, fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			endpoints_come_and_go, fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
