/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <poll.h>
#include <unistd.h>

#include "../../time_limits.h"
#include "objects/cntr/cntr.h"
#include "objects/eq/eq.h"

/* The calls of poll and wait sets are deprecated, and work. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { WATCHDOG_SECONDS = 100 };

struct env {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
};

static void open_env(struct env *env)
{
	env->fabric = fake_fabric(FI_VERSION(2, 6));
	env->domain = fake_domain(env->fabric);
}

static void close_env(struct env *env)
{
	assert_closed(env->domain);
	assert_closed(env->fabric);
}

static struct fid_cntr *open_cntr(
	struct env *env, enum fi_wait_obj obj, struct fid_wait *set, void *context)
{
	struct fi_cntr_attr attr = { .wait_obj = obj, .wait_set = set };
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(env->domain, &attr, &cntr, context), 0);
	return cntr;
}

static struct fid_eq *open_eq(
	struct env *env, enum fi_wait_obj obj, struct fid_wait *set)
{
	struct fi_eq_attr attr = { .wait_obj = obj, .wait_set = set };
	struct fid_eq *eq;

	assert_int_equal(fi_eq_open(env->fabric, &attr, &eq, NULL), 0);
	return eq;
}

/* The fields of a completion queue that a poll set uses. */
static void init_cq(struct wf_cq *cq, enum fi_wait_obj obj, void *context)
{
	memset(cq, 0, sizeof(*cq));
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->owner = &cq->self;
	assert_int_equal(wf_wait_init(&cq->wait, obj, NULL), 0);
	wf_progress_list_init(&cq->progress, WF_LOCK_SPIN, &cq->wait);
}

static void done_cq(struct wf_cq *cq)
{
	wf_progress_list_done(&cq->progress);
	wf_wait_done(&cq->wait);
}

static void poll_set_checks_its_arguments(void **state)
{
	struct fi_poll_attr attr = { .flags = 1 };
	struct fid_poll *poll = NULL;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct env env;

	open_env(&env);
	/* POL-002 */
	assert_int_equal(fi_poll_open(env.domain, &attr, &poll), -FI_EINVAL);
	assert_int_equal(fi_poll_open(env.domain, NULL, &poll), -FI_EINVAL);
	assert_null(poll);
	attr.flags = 0;
	assert_int_equal(fi_poll_open(env.domain, &attr, &poll), 0);
	/* POL-003 */
	eq = open_eq(&env, FI_WAIT_NONE, NULL);
	cntr = open_cntr(&env, FI_WAIT_NONE, NULL, NULL);
	assert_int_equal(fi_poll_add(poll, &eq->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(poll, &env.domain->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(poll, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 1), -FI_EINVAL);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 0), 0);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 0), 0);
	/* POL-008, CNT-022 */
	assert_busy(poll);
	assert_busy(cntr);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 1), -FI_EINVAL);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 0), 0);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 0), -FI_EINVAL);
	assert_closed(poll);
	assert_closed(cntr);
	assert_closed(eq);
	close_env(&env);
}

static void poll_reports_what_has_news(void **state)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *poll;
	struct fid_cntr *cntr;
	struct wf_cq cq;
	struct env env;
	void *found[3];
	int a, b;

	open_env(&env);
	init_cq(&cq, FI_WAIT_NONE, &a);
	cntr = open_cntr(&env, FI_WAIT_NONE, NULL, &b);
	assert_int_equal(fi_poll_open(env.domain, &attr, &poll), 0);
	assert_int_equal(fi_poll_add(poll, &cq.fid.fid, 0), 0);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 0), 0);
	/* POL-001, POL-004 */
	assert_int_equal(fi_poll(poll, found, 3), 0);
	cq.ring.head = 1;
	assert_int_equal(fi_poll(poll, found, 3), 1);
	assert_ptr_equal(found[0], &a);
	/* POL-005: it is still there. */
	assert_int_equal(fi_poll(poll, found, 3), 1);
	cq.ring.tail = 1;
	assert_int_equal(fi_poll(poll, found, 3), 0);
	assert_int_equal(fi_cntr_add(cntr, 1), 0);
	/* POL-005: read or not, it changed since the last fi_poll. */
	assert_int_equal(fi_cntr_read(cntr), 1);
	assert_int_equal(fi_poll(poll, found, 3), 1);
	assert_ptr_equal(found[0], &b);
	assert_int_equal(fi_poll(poll, found, 3), 0);
	assert_int_equal(fi_cntr_adderr(cntr, 1), 0);
	assert_int_equal(fi_poll(poll, found, 3), 1);
	/* A short array starves no member, whichever was reported last. */
	cq.ring.head = 2;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_cntr_add(cntr, 1), 0);
		assert_int_equal(fi_poll(poll, found, 1), 1);
		assert_int_equal(fi_poll(poll, found + 1, 1), 1);
		assert_ptr_not_equal(found[0], found[1]);
	}
	assert_int_equal(fi_poll(poll, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_poll(poll, found, -1), -FI_EINVAL);
	assert_int_equal(fi_poll_del(poll, &cq.fid.fid, 0), 0);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 0), 0);
	assert_closed(poll);
	assert_closed(cntr);
	done_cq(&cq);
	close_env(&env);
}

static int progress_runs;

static void count_run(struct wf_progress *base)
{
	progress_runs++;
}

static bool arm_answer;

static bool say_answer(struct wf_progress *base)
{
	return arm_answer;
}

static void poll_and_trywait_make_progress(void **state)
{
	struct wf_progress item = { .run = count_run, .arm = say_answer };
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *poll;
	struct fid_cntr *cntr;
	struct env env;
	void *found;

	open_env(&env);
	cntr = open_cntr(&env, FI_WAIT_FD, NULL, NULL);
	assert_int_equal(wf_progress_list_add(&wf_cntr_of(cntr)->progress, &item), 0);
	assert_int_equal(fi_poll_open(env.domain, &attr, &poll), 0);
	assert_int_equal(fi_poll_add(poll, &cntr->fid, 0), 0);
	progress_runs = 0;
	/* POL-004 */
	assert_int_equal(fi_poll(poll, &found, 1), 0);
	assert_int_equal(progress_runs, 1);
	/* POL-009: there is work, so sleeping could hang. */
	assert_int_equal(
		fi_trywait(env.fabric, (struct fid *[]){ &cntr->fid }, 1), -FI_EAGAIN);
	assert_int_equal(progress_runs, 2);
	arm_answer = true;
	assert_int_equal(fi_trywait(env.fabric, (struct fid *[]){ &cntr->fid }, 1), 0);
	wf_progress_list_del(&wf_cntr_of(cntr)->progress, &item);
	assert_int_equal(fi_poll_del(poll, &cntr->fid, 0), 0);
	assert_closed(poll);
	assert_closed(cntr);
	close_env(&env);
}

static void trywait_tells_when_to_read(void **state)
{
	struct fid *fids[3], *other;
	struct fid_cntr *cntr;
	struct fid_eq *eq, *none;
	struct wf_cq cq;
	struct env env;
	uint32_t event;
	char byte = 'x';

	open_env(&env);
	init_cq(&cq, FI_WAIT_FD, NULL);
	cntr = open_cntr(&env, FI_WAIT_FD, NULL, NULL);
	eq = open_eq(&env, FI_WAIT_FD, NULL);
	fids[0] = &eq->fid;
	fids[1] = &cq.fid.fid;
	fids[2] = &cntr->fid;
	/* POL-009 */
	assert_int_equal(fi_trywait(env.fabric, fids, 3), 0);
	assert_int_equal(fi_trywait(env.fabric, NULL, 0), 0);
	assert_int_equal(fi_eq_write(eq, 1, &byte, 1, 0), 1);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), -FI_EAGAIN);
	/* POL-011 */
	assert_int_equal(fi_eq_read(eq, &event, &byte, 1, 0), 1);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), 0);
	cq.ring.head = 1;
	assert_int_equal(fi_trywait(env.fabric, fids, 3), -FI_EAGAIN);
	cq.ring.tail = 1;
	assert_int_equal(fi_cntr_add(cntr, 1), 0);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), -FI_EAGAIN);
	assert_int_equal(fi_cntr_read(cntr), 1);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), 0);
	assert_int_equal(fi_cntr_adderr(cntr, 1), 0);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), -FI_EAGAIN);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	assert_int_equal(fi_trywait(env.fabric, fids, 3), 0);
	/* POL-010 */
	other = &env.domain->fid;
	assert_int_equal(fi_trywait(env.fabric, &other, 1), -FI_EINVAL);
	other = NULL;
	assert_int_equal(fi_trywait(env.fabric, &other, 1), -FI_EINVAL);
	assert_int_equal(fi_trywait(env.fabric, fids, -1), -FI_EINVAL);
	none = open_eq(&env, FI_WAIT_NONE, NULL);
	other = &none->fid;
	assert_int_equal(fi_trywait(env.fabric, &other, 1), -FI_EINVAL);
	assert_closed(none);
	assert_closed(eq);
	assert_closed(cntr);
	done_cq(&cq);
	close_env(&env);
}

static struct fid_wait *open_set(struct env *env, enum fi_wait_obj obj)
{
	struct fi_wait_attr attr = { .wait_obj = obj };
	struct fid_wait *set;

	assert_int_equal(fi_wait_open(env->fabric, &attr, &set), 0);
	return set;
}

static void wait_set_checks_its_arguments(void **state)
{
	static const enum fi_wait_obj bad[] = { FI_WAIT_NONE, FI_WAIT_SET,
		(enum fi_wait_obj)50 };
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD, .flags = 1 };
	enum fi_wait_obj obj;
	struct fid_wait *set = NULL;
	struct env env;
	int fd = -1;

	open_env(&env);
	/* POL-006 */
	assert_int_equal(fi_wait_open(env.fabric, &attr, &set), -FI_EINVAL);
	assert_int_equal(fi_wait_open(env.fabric, NULL, &set), -FI_EINVAL);
	attr.flags = 0;
	assert_int_equal(fi_wait_open(env.fabric, &attr, NULL), -FI_EINVAL);
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++) {
		attr.wait_obj = bad[i];
		assert_int_equal(fi_wait_open(env.fabric, &attr, &set), -FI_EINVAL);
	}
	assert_null(set);
	set = open_set(&env, FI_WAIT_UNSPEC);
	assert_int_equal(fi_control(&set->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	assert_closed(set);
	close_env(&env);
}

static void wait_set_waits_for_its_members(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
		FI_WAIT_POLLFD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	struct fid_wait *set;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct env env;
	uint32_t event;
	char byte = 'x';

	open_env(&env);
	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		set = open_set(&env, objs[i]);
		cntr = open_cntr(&env, FI_WAIT_SET, set, NULL);
		eq = open_eq(&env, FI_WAIT_SET, set);
		/* POL-007 */
		assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
		assert_int_equal(fi_wait(set, 2), -FI_ETIMEDOUT);
		assert_int_equal(fi_cntr_add(cntr, 1), 0);
		assert_int_equal(fi_wait(set, -1), 0);
		/* What was not read ends the next wait too. */
		assert_int_equal(fi_wait(set, -1), 0);
		assert_int_equal(fi_cntr_read(cntr), 1);
		assert_int_equal(fi_wait(set, 1), -FI_ETIMEDOUT);
		assert_int_equal(fi_eq_write(eq, 1, &byte, 1, 0), 1);
		assert_int_equal(fi_wait(set, -1), 0);
		assert_int_equal(
			fi_trywait(env.fabric, (struct fid *[]){ &set->fid }, 1),
			-FI_EAGAIN);
		assert_int_equal(
			fi_trywait(env.fabric, (struct fid *[]){ &cntr->fid }, 1),
			-FI_EAGAIN);
		assert_int_equal(fi_eq_read(eq, &event, &byte, 1, 0), 1);
		assert_int_equal(
			fi_trywait(env.fabric, (struct fid *[]){ &set->fid }, 1), 0);
		/* POL-008 */
		assert_busy(set);
		assert_closed(cntr);
		assert_busy(set);
		assert_closed(eq);
		assert_closed(set);
	}
	close_env(&env);
}

/* One endpoint feeds several members: its descriptor is known once. */
static int shared_fd;

static int get_shared_fd(struct wf_progress *base)
{
	return shared_fd;
}

static void members_may_share_a_descriptor(void **state)
{
	struct wf_progress item = { .run = count_run, .wait_fd = get_shared_fd };
	struct fid_cntr *one, *two;
	struct fid_wait *set;
	struct env env;
	int fds[2], fd;

	assert_int_equal(pipe(fds), 0);
	shared_fd = fds[0];
	open_env(&env);
	set = open_set(&env, FI_WAIT_FD);
	one = open_cntr(&env, FI_WAIT_SET, set, NULL);
	two = open_cntr(&env, FI_WAIT_SET, set, NULL);
	assert_int_equal(wf_progress_list_add(&wf_cntr_of(one)->progress, &item), 0);
	assert_int_equal(wf_progress_list_add(&wf_cntr_of(two)->progress, &item), 0);
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &fd), 0);
	wf_progress_list_del(&wf_cntr_of(one)->progress, &item);
	assert_int_equal(fi_trywait(env.fabric, (struct fid *[]){ &set->fid }, 1), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 1);
	wf_progress_list_del(&wf_cntr_of(two)->progress, &item);
	assert_int_equal(fi_trywait(env.fabric, &(struct fid *){ &set->fid }, 1), 0);
	assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0), 0);
	assert_closed(one);
	assert_closed(two);
	assert_closed(set);
	close_env(&env);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

enum { ROUNDS = 3000 };

static void *write_events(void *arg)
{
	char byte = 'x';

	for (int i = 0; i < ROUNDS; i++) {
		while (fi_eq_write(arg, 1, &byte, 1, 0) == -FI_EAGAIN)
			(void)sched_yield();
		if (i % 64 == 0)
			(void)usleep(100);
	}
	return NULL;
}

static int drain(struct fid_eq *eq)
{
	uint32_t event;
	char byte;
	int n = 0;

	while (fi_eq_read(eq, &event, &byte, 1, 0) == 1)
		n++;
	return n;
}

/* POL-012 with each native object, as fi_poll(3) has it done. */
static void native_wait(struct env *env, struct fid *fid, enum fi_wait_obj obj)
{
	struct pollfd fds[4] = { { .events = POLLIN } };
	struct fi_wait_pollfd list = { .nfds = 4, .fd = fds };
	struct fi_mutex_cond pair;

	if (obj == FI_WAIT_MUTEX_COND) {
		assert_int_equal(fi_control(fid, FI_GETWAIT, &pair), 0);
		(void)pthread_mutex_lock(pair.mutex);
		if (fi_trywait(env->fabric, &fid, 1) == 0)
			(void)pthread_cond_wait(pair.cond, pair.mutex);
		(void)pthread_mutex_unlock(pair.mutex);
		return;
	}
	if (obj == FI_WAIT_POLLFD) {
		assert_int_equal(fi_control(fid, FI_GETWAIT, &list), 0);
	} else {
		assert_int_equal(fi_control(fid, FI_GETWAIT, &fds[0].fd), 0);
		list.nfds = 1;
	}
	if (fi_trywait(env->fabric, &fid, 1) == 0)
		(void)poll(fds, list.nfds, -1);
}

static void native_objects_lose_no_wake_up(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_POLLFD,
		FI_WAIT_MUTEX_COND };
	struct fid_wait *set;
	struct fid_eq *eq;
	pthread_t thread;
	struct env env;
	int n;

	open_env(&env);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(objs); i++) {
		enum fi_wait_obj obj = objs[i / 2];

		set = i % 2 ? open_set(&env, obj) : NULL;
		eq = open_eq(&env, set ? FI_WAIT_SET : obj, set);
		assert_int_equal(pthread_create(&thread, NULL, write_events, eq), 0);
		for (n = drain(eq); n < ROUNDS; n += drain(eq))
			native_wait(&env, set ? &set->fid : &eq->fid, obj);
		assert_int_equal(n, ROUNDS);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_closed(eq);
		if (set)
			assert_closed(set);
	}
	(void)alarm(0);
	close_env(&env);
}

static void fi_wait_loses_no_wake_up(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_MUTEX_COND };
	struct fid_wait *set;
	struct fid_eq *one, *two;
	pthread_t threads[2];
	struct env env;
	int n;

	open_env(&env);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		set = open_set(&env, objs[i]);
		one = open_eq(&env, FI_WAIT_SET, set);
		two = open_eq(&env, FI_WAIT_SET, set);
		assert_int_equal(
			pthread_create(&threads[0], NULL, write_events, one), 0);
		assert_int_equal(
			pthread_create(&threads[1], NULL, write_events, two), 0);
		for (n = 0; n < 2 * ROUNDS; n += drain(one) + drain(two))
			assert_int_equal(fi_wait(set, -1), 0);
		assert_int_equal(pthread_join(threads[0], NULL), 0);
		assert_int_equal(pthread_join(threads[1], NULL), 0);
		assert_closed(one);
		assert_closed(two);
		assert_closed(set);
	}
	(void)alarm(0);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll_set_checks_its_arguments),
		cmocka_unit_test(poll_reports_what_has_news),
		cmocka_unit_test(poll_and_trywait_make_progress),
		cmocka_unit_test(trywait_tells_when_to_read),
		cmocka_unit_test(wait_set_checks_its_arguments),
		cmocka_unit_test(wait_set_waits_for_its_members),
		cmocka_unit_test(members_may_share_a_descriptor),
		cmocka_unit_test(native_objects_lose_no_wake_up),
		cmocka_unit_test(fi_wait_loses_no_wake_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
