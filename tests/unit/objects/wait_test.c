/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../time_limits.h"
#include "objects/poll/poll.h"
#include "sys/clock.h"

/* A lost wake-up hangs a test for ever; this ends it. */
enum { WATCHDOG_SECONDS = 100 };

static void unknown_objects_are_refused(void **state)
{
	struct wf_wait wait;

	/* EQ-003 */
	assert_int_equal(wf_wait_init(&wait, (enum fi_wait_obj)77, NULL), -FI_EINVAL);
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_SET, NULL), -FI_EINVAL);
}

static void control_hands_out_the_object(void **state)
{
	struct fi_mutex_cond pair = { 0 };
	enum fi_wait_obj obj;
	struct wf_wait wait;
	int fd = -1;

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_UNSPEC, NULL), 0);
	/* EQ-021, OPT-019 */
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, NULL), -FI_EINVAL);
	assert_int_equal(wf_wait_control(&wait, FI_ALIAS, &fd), -FI_ENOSYS);
	wf_wait_done(&wait);

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_MUTEX_COND, NULL), 0);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &pair), 0);
	assert_ptr_equal(pair.mutex, &wait.mutex);
	assert_ptr_equal(pair.cond, &wait.cond);
	wf_wait_done(&wait);

	/* EQ-022 */
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_NONE, NULL), 0);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &fd), -FI_ENODATA);
	wf_wait_done(&wait);
}

static void pollfd_lists_the_descriptors(void **state)
{
	struct pollfd fds[2] = { 0 };
	struct fi_wait_pollfd list = { .nfds = 0 };
	struct wf_wait wait;
	uint64_t index;
	int fd = eventfd(1, 0);

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_POLLFD, NULL), 0);
	/* POL-013 */
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &list), -FI_ETOOSMALL);
	assert_int_equal(list.nfds, 1);
	index = list.change_index;
	/* POL-014 */
	assert_int_equal(wf_fds_add(wf_wait_fds(&wait), fd), 0);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &list), -FI_ETOOSMALL);
	assert_int_equal(list.nfds, 2);
	assert_true(list.change_index > index);
	index = list.change_index;
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &list), -FI_EINVAL);
	list.fd = fds;
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &list), 0);
	assert_int_equal(list.change_index, index);
	assert_int_equal(fds[1].fd, fd);
	assert_int_equal(poll(fds, 2, 0), 1);
	assert_int_equal(fds[1].revents, POLLIN);
	wf_fds_del(wf_wait_fds(&wait), fd);
	assert_int_equal(wf_wait_control(&wait, FI_GETWAIT, &list), 0);
	assert_int_equal(list.nfds, 1);
	assert_true(list.change_index > index);
	wf_wait_done(&wait);
	(void)close(fd);
}

static void a_signal_outdates_earlier_tickets_only(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_POLLFD,
		FI_WAIT_MUTEX_COND };
	struct wf_wait wait;
	uint64_t ticket;

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		assert_int_equal(wf_wait_init(&wait, objs[i], NULL), 0);
		/* No thread sleeps: the signal is not kept. */
		wf_wait_signal(&wait);
		ticket = wf_wait_arm(&wait);
		assert_int_equal(
			wf_wait_sleep(&wait, ticket, wf_deadline_ns(0)), -FI_EAGAIN);
		assert_int_equal(
			wf_wait_sleep(&wait, ticket, wf_deadline_ns(2)), -FI_EAGAIN);
		wf_wait_signal(&wait);
		/* However many arm in between. */
		(void)wf_wait_arm(&wait);
		assert_int_equal(wf_wait_sleep(&wait, ticket, UINT64_MAX), 0);
		ticket = wf_wait_arm(&wait);
		assert_int_equal(
			wf_wait_sleep(&wait, ticket, wf_deadline_ns(2)), -FI_EAGAIN);
		wf_wait_done(&wait);
	}
}

static void a_readable_descriptor_wakes(void **state)
{
	struct wf_wait wait;
	int fd = eventfd(0, 0);
	uint64_t ticket;

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	assert_int_equal(wf_fds_add(wf_wait_fds(&wait), fd), 0);
	ticket = wf_wait_arm(&wait);
	assert_int_equal(wf_wait_sleep(&wait, ticket, wf_deadline_ns(1)), -FI_EAGAIN);
	assert_int_equal(eventfd_write(fd, 1), 0);
	assert_int_equal(wf_wait_sleep(&wait, ticket, UINT64_MAX), 0);
	wf_fds_del(wf_wait_fds(&wait), fd);
	assert_int_equal(wf_wait_sleep(&wait, ticket, wf_deadline_ns(1)), -FI_EAGAIN);
	wf_wait_done(&wait);
	(void)close(fd);
}

static bool is_readable(struct wf_wait *wait)
{
	struct pollfd fd = { .fd = wait->fds.epfd, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

/* The one in epoll_wait may not have got there yet. */
static void arming_leaves_the_sleepers_signal_alone(void **state)
{
	struct wf_wait wait;

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	(void)wf_wait_arm(&wait);
	wait.polling = true;
	wf_wait_signal(&wait);
	(void)wf_wait_arm(&wait);
	assert_true(is_readable(&wait));
	wait.polling = false;
	(void)wf_wait_arm(&wait);
	assert_false(is_readable(&wait));
	wf_wait_done(&wait);
}

struct sleeper {
	struct wf_wait *wait;
	int timeout_ms;
	int result;
};

static void *sleep_once(void *arg)
{
	struct sleeper *sleeper = arg;

	sleeper->result = wf_wait_sleep(sleeper->wait, wf_wait_arm(sleeper->wait),
		wf_deadline_ns(sleeper->timeout_ms));
	return NULL;
}

static bool somebody_polls(struct wf_wait *wait)
{
	bool polling;

	(void)pthread_mutex_lock(&wait->mutex);
	polling = wait->polling;
	(void)pthread_mutex_unlock(&wait->mutex);
	return polling;
}

/* When the one in epoll_wait leaves, another one watches the descriptors. */
static void the_next_sleeper_takes_over(void **state)
{
	struct wf_wait wait;
	struct sleeper first = { &wait, 50, 1 }, second = { &wait, -1, 1 };
	pthread_t threads[2];
	int fd = eventfd(0, 0);

	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	assert_int_equal(wf_fds_add(wf_wait_fds(&wait), fd), 0);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(pthread_create(&threads[0], NULL, sleep_once, &first), 0);
	while (!somebody_polls(&wait))
		(void)sched_yield();
	assert_int_equal(pthread_create(&threads[1], NULL, sleep_once, &second), 0);
	assert_int_equal(pthread_join(threads[0], NULL), 0);
	assert_int_equal(first.result, -FI_EAGAIN);
	assert_int_equal(eventfd_write(fd, 1), 0);
	assert_int_equal(pthread_join(threads[1], NULL), 0);
	assert_int_equal(second.result, 0);
	(void)alarm(0);
	wf_fds_del(wf_wait_fds(&wait), fd);
	wf_wait_done(&wait);
	(void)close(fd);
}

static void ignore_signal(int number)
{
}

static void *send_signals(void *arg)
{
	atomic_bool *done = ((void **)arg)[1];

	while (!atomic_load(done)) {
		(void)pthread_kill(*(pthread_t *)((void **)arg)[0], SIGUSR1);
		(void)usleep(1000);
	}
	return NULL;
}

/* EQ-013: a signal handler ends the sleep. */
static void a_signal_handler_interrupts(void **state)
{
	struct sigaction action = { .sa_handler = ignore_signal };
	pthread_t self = pthread_self(), sender;
	atomic_bool done = false;
	void *arg[] = { &self, &done };
	struct wf_wait wait;

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	assert_int_equal(wf_wait_init(&wait, FI_WAIT_FD, NULL), 0);
	assert_int_equal(pthread_create(&sender, NULL, send_signals, arg), 0);
	assert_int_equal(
		wf_wait_sleep(&wait, wf_wait_arm(&wait), UINT64_MAX), -FI_EAGAIN);
	atomic_store(&done, true);
	assert_int_equal(pthread_join(sender, NULL), 0);
	wf_wait_done(&wait);
}

/*
 * Writers add to a number, takers subtract one at a time and sleep while it is 0. If a
 * wake-up were lost, a taker would sleep although there is work.
 */
enum { WRITERS = 2, TAKERS = 3, ROUNDS = 2000 };

struct stress {
	struct wf_wait wait;
	atomic_int stock;
	atomic_int taken;
	int in_flight; /* most that writers leave in the stock */
};

static bool take_one(struct stress *stress)
{
	int stock = atomic_load(&stress->stock);

	while (stock > 0) {
		if (atomic_compare_exchange_weak(&stress->stock, &stock, stock - 1)) {
			(void)atomic_fetch_add(&stress->taken, 1);
			return true;
		}
	}
	return false;
}

static bool finished(struct stress *stress)
{
	return atomic_load(&stress->taken) >= WRITERS * ROUNDS;
}

static void *taker(void *arg)
{
	struct stress *stress = arg;
	uint64_t ticket;

	while (!finished(stress)) {
		if (take_one(stress))
			continue;
		ticket = wf_wait_arm(&stress->wait);
		if (atomic_load(&stress->stock) <= 0 && !finished(stress))
			(void)wf_wait_sleep(&stress->wait, ticket, UINT64_MAX);
	}
	/* The others may be asleep for an entry that will not come. */
	wf_wait_signal(&stress->wait);
	return NULL;
}

/* Takes as the application does that sleeps on the native object. */
static void *native_taker(void *arg)
{
	struct stress *stress = arg;
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(wf_wait_control(&stress->wait, FI_GETWAIT, &fd.fd), 0);
	while (!finished(stress)) {
		if (take_one(stress))
			continue;
		(void)wf_wait_arm(&stress->wait);
		if (atomic_load(&stress->stock) <= 0 && !finished(stress))
			(void)poll(&fd, 1, -1);
	}
	return NULL;
}

static void *writer(void *arg)
{
	struct stress *stress = arg;

	for (int i = 0; i < ROUNDS; i++) {
		while (atomic_load(&stress->stock) >= stress->in_flight)
			(void)sched_yield();
		(void)atomic_fetch_add(&stress->stock, 1);
		wf_wait_signal(&stress->wait);
	}
	return NULL;
}

static void run_stress(
	enum fi_wait_obj obj, int in_flight, int takers, void *(*take)(void *))
{
	struct stress stress = { .in_flight = in_flight };
	pthread_t threads[WRITERS + TAKERS];

	assert_int_equal(wf_wait_init(&stress.wait, obj, NULL), 0);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (int i = 0; i < takers; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take, &stress), 0);
	for (int i = takers; i < takers + WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, &stress), 0);
	for (int i = 0; i < takers + WRITERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	(void)alarm(0);
	assert_int_equal(atomic_load(&stress.taken), WRITERS * ROUNDS);
	wf_wait_done(&stress.wait);
}

/* POL-012, and the same for blocking reads. */
static void no_wake_up_is_lost(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_MUTEX_COND,
		FI_WAIT_YIELD };

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		run_stress(objs[i], 1, 1, taker);
		run_stress(objs[i], 1, TAKERS, taker);
		run_stress(objs[i], 64, TAKERS, taker);
	}
	run_stress(FI_WAIT_FD, 1, 1, native_taker);
	run_stress(FI_WAIT_FD, 64, 1, native_taker);
}

/*
 * Both threads store and check in every round: the later one finds the other's store,
 * if both have their fences. The rounds start at nearly the same time, with a
 * difference of a few nanoseconds that varies.
 */
enum { DUELS = 50000, JITTER = 64 };

struct duel {
	struct wf_wait wait;
	atomic_int stored; /* round of the writer */
	atomic_int round;  /* last one that both sides may start */
	atomic_int ready;  /* sides that did not start it yet */
};

static void meet(struct duel *duel, int round)
{
	if (atomic_fetch_sub(&duel->ready, 1) == 1) {
		atomic_store(&duel->ready, 2);
		atomic_store(&duel->round, round);
		return;
	}
	for (int spins = 0; atomic_load(&duel->round) < round; spins++) {
		if (spins > 1000)
			(void)sched_yield();
	}
}

static void *duel_writer(void *arg)
{
	struct duel *duel = arg;

	for (int round = 1; round <= DUELS; round++) {
		meet(duel, round);
		for (int i = round % JITTER; i; i--)
			wf_cpu_relax();
		atomic_store_explicit(&duel->stored, round, memory_order_relaxed);
		wf_wait_signal(&duel->wait);
	}
	return NULL;
}

static void duel_sleeper(struct duel *duel)
{
	uint64_t ticket;

	for (int round = 1; round <= DUELS; round++) {
		meet(duel, round);
		for (int i = round / JITTER % JITTER; i; i--)
			wf_cpu_relax();
		for (;;) {
			ticket = wf_wait_arm(&duel->wait);
			if (atomic_load_explicit(&duel->stored, memory_order_relaxed) ==
				round)
				break;
			(void)wf_wait_sleep(&duel->wait, ticket, UINT64_MAX);
		}
	}
}

static void one_of_two_sees_the_other(void **state)
{
	struct duel duel = { .ready = 2 };
	pthread_t thread;

	assert_int_equal(wf_wait_init(&duel.wait, FI_WAIT_FD, NULL), 0);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	assert_int_equal(pthread_create(&thread, NULL, duel_writer, &duel), 0);
	duel_sleeper(&duel);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)alarm(0);
	wf_wait_done(&duel.wait);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_objects_are_refused),
		cmocka_unit_test(control_hands_out_the_object),
		cmocka_unit_test(pollfd_lists_the_descriptors),
		cmocka_unit_test(a_signal_outdates_earlier_tickets_only),
		cmocka_unit_test(a_readable_descriptor_wakes),
		cmocka_unit_test(arming_leaves_the_sleepers_signal_alone),
		cmocka_unit_test(the_next_sleeper_takes_over),
		cmocka_unit_test(a_signal_handler_interrupts),
		cmocka_unit_test(no_wake_up_is_lost),
		cmocka_unit_test(one_of_two_sees_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
