/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>

#include "sys/clock.h"
#include "sys/lock.h"
#include "unit.h"

static atomic_uint waits, wakes, yields;
static atomic_bool has_limit;

/* Instead of the system's: sleepers look again at once. */
long syscall(long number, ...)
{
	const struct timespec *limit;
	va_list args;
	int op;

	va_start(args, number);
	(void)va_arg(args, void *);
	op = va_arg(args, int);
	(void)va_arg(args, int);
	limit = va_arg(args, const struct timespec *);
	va_end(args);
	assert_int_equal(number, SYS_futex);
	errno = EAGAIN;
	if (op == FUTEX_WAKE_PRIVATE) {
		atomic_fetch_add(&wakes, 1);
		return 1;
	}
	assert_int_equal(op, FUTEX_WAIT_PRIVATE);
	if (limit && !limit->tv_sec && limit->tv_nsec == WF_LOCK_SLEEP_NS)
		atomic_store(&has_limit, true);
	atomic_fetch_add(&waits, 1);
	return -1;
}

int sched_yield(void)
{
	atomic_fetch_add(&yields, 1);
	return 0;
}

static void reset(void)
{
	atomic_store(&waits, 0);
	atomic_store(&wakes, 0);
	atomic_store(&yields, 0);
}

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
	struct wf_lock lock;
	atomic_bool goes;
	unsigned long count; /* guarded by @lock */
	bool inside;
	unsigned int overlaps;
	unsigned int tried; /* rounds in which wf_trylock succeeded */
};

/* Every third round tries first. */
static void *add(void *arg)
{
	struct shared *shared = arg;

	while (!atomic_load(&shared->goes))
		;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		bool tried = i % 3 == 0 && wf_trylock(&shared->lock);

		if (!tried)
			wf_lock(&shared->lock);
		shared->overlaps += shared->inside;
		shared->inside = true;
		shared->count++;
		shared->tried += tried;
		shared->inside = false;
		wf_unlock(&shared->lock);
	}
	return NULL;
}

static void exclude(enum wf_lock_kind kind)
{
	struct shared shared = { 0 };
	pthread_t threads[THREADS];

	wf_lock_init(&shared.lock, kind);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add, &shared), 0);
	atomic_store(&shared.goes, true);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(shared.count, THREADS * ROUNDS);
	assert_int_equal(shared.overlaps, 0);
	assert_true(shared.tried > 0);
	wf_lock_done(&shared.lock);
}

static void a_spin_lock_excludes(void **state)
{
	(void)state;
	exclude(WF_LOCK_SPIN);
}

static void a_mutex_excludes(void **state)
{
	(void)state;
	exclude(WF_LOCK_MUTEX);
}

/* A lock that is held cannot be tried, a gate always can. */
static void tries(void **state)
{
	static const enum wf_lock_kind kinds[] = { WF_LOCK_SPIN, WF_LOCK_MUTEX };
	struct wf_lock lock;
	struct wf_gate gate;

	(void)state;
	reset();
	for (size_t i = 0; i < 2; i++) {
		wf_lock_init(&lock, kinds[i]);
		assert_true(wf_trylock(&lock));
		assert_false(wf_trylock(&lock));
		wf_unlock(&lock);
		wf_lock(&lock);
		assert_false(wf_trylock(&lock));
		assert_false(wf_trylock_inline(&lock));
		wf_unlock(&lock);
		assert_true(wf_trylock_inline(&lock));
		assert_false(wf_trylock(&lock));
		wf_unlock_inline(&lock);
		wf_lock_done(&lock);
	}
	wf_gate_init(&gate);
	wf_lock_init(&lock, WF_LOCK_SPIN);
	wf_lock_set_gate(&lock, &gate);
	wf_lock(&lock);
	assert_true(wf_trylock(&lock));
	assert_true(wf_trylock_inline(&lock));
	wf_unlock_inline(&lock);
	wf_unlock(&lock);
	wf_unlock(&lock);
	assert_int_equal(atomic_load(&gate.inside), 0);
	wf_lock_done(&lock);
	assert_int_equal(waits + wakes + yields, 0);
}

struct waiter {
	struct wf_lock lock;
	atomic_bool got;
	int err;
};

static void *wait_for(void *arg)
{
	struct waiter *waiter = arg;

	errno = EBADMSG;
	wf_lock(&waiter->lock);
	waiter->err = errno;
	atomic_store(&waiter->got, true);
	wf_unlock(&waiter->lock);
	return NULL;
}

static bool come(const atomic_uint *count, unsigned int least)
{
	uint64_t deadline_ns = wf_deadline_ns(60000);

	while (atomic_load(count) < least && !wf_expired(deadline_ns))
		;
	return atomic_load(count) >= least;
}

/* Begin to wait in a thread of its own for a lock that the caller holds. */
static pthread_t begin_to_wait(struct waiter *waiter, enum wf_lock_kind kind)
{
	pthread_t thread;

	reset();
	wf_lock_init(&waiter->lock, kind);
	wf_lock(&waiter->lock);
	assert_int_equal(pthread_create(&thread, NULL, wait_for, waiter), 0);
	return thread;
}

/* A thread that waits for long sleeps, with a limit, and its wake-up is one call, in
 * which errno stays what it was. */
static void a_mutex_sleeps(void **state)
{
	struct waiter waiter = { 0 };
	pthread_t thread;

	(void)state;
	thread = begin_to_wait(&waiter, WF_LOCK_MUTEX);
	assert_true(come(&waits, 3));
	assert_true(atomic_load(&has_limit));
	assert_false(atomic_load(&waiter.got));
	assert_int_equal(wakes, 0);
	errno = ENOTDIR;
	wf_unlock(&waiter.lock);
	assert_int_equal(errno, ENOTDIR);
	assert_int_equal(wakes, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(waiter.got);
	assert_int_equal(waiter.err, EBADMSG);
	/* No thread sleeps any more. */
	assert_int_equal(wakes, 1);
	wf_lock(&waiter.lock);
	wf_unlock(&waiter.lock);
	assert_int_equal(wakes, 1);
	assert_int_equal(yields, 0);
	wf_lock_done(&waiter.lock);
}

/* One that waits for a spin lock yields, and no system call releases it. */
static void a_spin_lock_yields(void **state)
{
	struct waiter waiter = { 0 };
	pthread_t thread;

	(void)state;
	thread = begin_to_wait(&waiter, WF_LOCK_SPIN);
	assert_true(come(&yields, 3));
	assert_false(atomic_load(&waiter.got));
	wf_unlock(&waiter.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(waiter.got);
	assert_int_equal(waits + wakes, 0);
	wf_lock_done(&waiter.lock);
}

/* The inline release wakes no thread, so the inline lock is refused while one
 * sleeps. */
static void inline_leaves_sleepers_alone(void **state)
{
	struct waiter waiter = { 0 };
	pthread_t thread;

	(void)state;
	thread = begin_to_wait(&waiter, WF_LOCK_MUTEX);
	assert_true(come(&waits, 1));
	assert_int_equal(atomic_load(&waiter.lock.sleepers), 1);
	assert_false(wf_trylock_inline(&waiter.lock));
	wf_unlock(&waiter.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	waiter.lock.sleepers = 1;
	assert_false(wf_trylock_inline(&waiter.lock));
	waiter.lock.sleepers = 0;
	assert_true(wf_trylock_inline(&waiter.lock));
	wf_unlock_inline(&waiter.lock);
	assert_int_equal(wakes, 1);
	wf_lock_done(&waiter.lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spin_lock_excludes),
		cmocka_unit_test(a_mutex_excludes),
		cmocka_unit_test(tries),
		cmocka_unit_test(a_mutex_sleeps),
		cmocka_unit_test(a_spin_lock_yields),
		cmocka_unit_test(inline_leaves_sleepers_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
