/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include <unistd.h>

#include "../../time_limits.h"
#include "objects/cntr/cntr.h"

enum { WATCHDOG_SECONDS = 100 };

struct env {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cntr *cntr;
};

static void open_env_as(struct env *env, struct fi_cntr_attr attr)
{
	env->fabric = fake_fabric(FI_VERSION(2, 6));
	env->domain = fake_domain(env->fabric);
	assert_int_equal(fi_cntr_open(env->domain, &attr, &env->cntr, env), 0);
}

static void open_env(struct env *env)
{
	open_env_as(env, (struct fi_cntr_attr){ .wait_obj = FI_WAIT_FD });
}

static void close_env(struct env *env)
{
	assert_closed(env->cntr);
	assert_closed(env->domain);
	assert_closed(env->fabric);
}

static void open_checks_its_attributes(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_cntr_attr attr = { .flags = FI_WRITE };
	struct fid_cntr *cntr = NULL;

	/* CNT-003 */
	assert_int_equal(fi_cntr_open(domain, NULL, &cntr, NULL), -FI_EINVAL);
	assert_int_equal(fi_cntr_open(domain, &attr, NULL, NULL), -FI_EINVAL);
	/* CNT-002 */
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_EINVAL);
	attr.flags = FI_XPU;
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_EINVAL);
	/* CNT-007 */
	attr = (struct fi_cntr_attr){ .events = (enum fi_cntr_events)9 };
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_EINVAL);
	attr = (struct fi_cntr_attr){ .wait_obj = (enum fi_wait_obj)99 };
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_EINVAL);
	assert_null(cntr);
	assert_closed(domain);
	assert_closed(fabric);
}

static void values_add_up(void **state)
{
	struct env env;

	/* CNT-001 */
	open_env_as(&env, (struct fi_cntr_attr){ 0 });
	assert_ptr_equal(env.cntr->fid.context, &env);
	/* CNT-008, CNT-009, CNT-010 */
	assert_int_equal(fi_cntr_read(env.cntr), 0);
	assert_int_equal(fi_cntr_add(env.cntr, 5), 0);
	assert_int_equal(fi_cntr_add(env.cntr, 2), 0);
	assert_int_equal(fi_cntr_adderr(env.cntr, 3), 0);
	assert_int_equal(fi_cntr_read(env.cntr), 7);
	assert_int_equal(fi_cntr_readerr(env.cntr), 3);
	assert_int_equal(fi_cntr_set(env.cntr, UINT64_MAX), 0);
	assert_int_equal(fi_cntr_seterr(env.cntr, 1), 0);
	assert_int_equal(fi_cntr_read(env.cntr), UINT64_MAX);
	assert_int_equal(fi_cntr_readerr(env.cntr), 1);
	/* CNT-024 */
	assert_int_equal(fi_cntr_export_xpu(env.cntr, 0, NULL), -FI_ENOSYS);
	close_env(&env);
}

static void operations_are_counted(void **state)
{
	struct env env;

	open_env(&env);
	/* CNT-004, CNT-021 */
	wf_cntr_add(wf_cntr_of(env.cntr), 100);
	wf_cntr_add(wf_cntr_of(env.cntr), 0);
	wf_cntr_add_err(wf_cntr_of(env.cntr));
	assert_int_equal(fi_cntr_read(env.cntr), 2);
	assert_int_equal(fi_cntr_readerr(env.cntr), 1);
	close_env(&env);

	open_env_as(&env, (struct fi_cntr_attr){ .events = FI_CNTR_EVENTS_BYTES });
	/* CNT-005 */
	wf_cntr_add(wf_cntr_of(env.cntr), 100);
	wf_cntr_add(wf_cntr_of(env.cntr), 11);
	wf_cntr_add_err(wf_cntr_of(env.cntr));
	assert_int_equal(fi_cntr_read(env.cntr), 111);
	assert_int_equal(fi_cntr_readerr(env.cntr), 1);
	close_env(&env);
}

static void wait_ends_for_the_right_reason(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_NONE, FI_WAIT_UNSPEC,
		FI_WAIT_FD, FI_WAIT_POLLFD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	struct env env;

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		open_env_as(&env, (struct fi_cntr_attr){ .wait_obj = objs[i] });
		/* CNT-012 */
		assert_int_equal(fi_cntr_wait(env.cntr, 0, 0), 0);
		/* CNT-013, CNT-016 */
		assert_int_equal(fi_cntr_wait(env.cntr, 1, 0), -FI_ETIMEDOUT);
		assert_int_equal(fi_cntr_wait(env.cntr, 1, 3), -FI_ETIMEDOUT);
		/* CNT-015 */
		assert_int_equal(fi_cntr_adderr(env.cntr, 1), 0);
		assert_int_equal(fi_cntr_wait(env.cntr, 1, 3), -FI_ETIMEDOUT);
		assert_int_equal(fi_cntr_add(env.cntr, 4), 0);
		assert_int_equal(fi_cntr_wait(env.cntr, 4, -1), 0);
		close_env(&env);
	}
}

static void *add_slowly(void *arg)
{
	struct env *env = arg;

	for (int i = 0; i < 300; i++) {
		if (i % 5 == 0)
			(void)usleep(200);
		wf_cntr_add(wf_cntr_of(env->cntr), 1);
	}
	return NULL;
}

struct waiter {
	struct env *env;
	uint64_t step;
};

static void *wait_in_steps(void *arg)
{
	struct waiter *waiter = arg;

	for (uint64_t n = waiter->step; n <= 300; n += waiter->step)
		assert_int_equal(fi_cntr_wait(waiter->env->cntr, n, -1), 0);
	return NULL;
}

/* CNT-012: several waiters with thresholds of their own, none is forgotten. */
static void every_waiter_wakes(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_NONE, FI_WAIT_FD,
		FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	struct env env;

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct waiter waiters[] = { { &env, 1 }, { &env, 10 }, { &env, 300 } };
		pthread_t adder, threads[WF_ARRAY_SIZE(waiters)];

		open_env_as(&env, (struct fi_cntr_attr){ .wait_obj = objs[i] });
		(void)alarm(limit_s(WATCHDOG_SECONDS));
		for (size_t n = 0; n < WF_ARRAY_SIZE(waiters); n++)
			assert_int_equal(pthread_create(&threads[n], NULL,
						 wait_in_steps, &waiters[n]),
				0);
		assert_int_equal(pthread_create(&adder, NULL, add_slowly, &env), 0);
		assert_int_equal(pthread_join(adder, NULL), 0);
		for (size_t n = 0; n < WF_ARRAY_SIZE(waiters); n++)
			assert_int_equal(pthread_join(threads[n], NULL), 0);
		(void)alarm(0);
		close_env(&env);
	}
}

enum { PASSES = 5000 };

struct pass {
	struct fid_cntr *mine, *other;
};

static void *pass_on(void *arg)
{
	struct pass *pass = arg;

	for (uint64_t i = 1; i <= PASSES; i++) {
		assert_int_equal(fi_cntr_wait(pass->mine, i, -1), 0);
		wf_cntr_add(wf_cntr_of(pass->other), 1);
	}
	return NULL;
}

/* Each addition is the last one until it was seen: no wake-up may be lost. */
static void counters_play_ball(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_MUTEX_COND };
	struct fid_cntr *second;
	pthread_t threads[2];
	struct env env;

	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct fi_cntr_attr attr = { .wait_obj = objs[i] };
		struct pass passes[2];

		open_env_as(&env, attr);
		assert_int_equal(fi_cntr_open(env.domain, &attr, &second, NULL), 0);
		passes[0] = (struct pass){ env.cntr, second };
		passes[1] = (struct pass){ second, env.cntr };
		for (int n = 0; n < 2; n++)
			assert_int_equal(
				pthread_create(&threads[n], NULL, pass_on, &passes[n]),
				0);
		assert_int_equal(fi_cntr_add(env.cntr, 1), 0);
		for (int n = 0; n < 2; n++)
			assert_int_equal(pthread_join(threads[n], NULL), 0);
		assert_closed(second);
		close_env(&env);
	}
	(void)alarm(0);
}

/* Counts on its own when it is asked to make progress. */
struct source {
	struct wf_progress base;
	struct wf_cntr *cntr;
	int runs;
	bool fails;
};

static void source_run(struct wf_progress *base)
{
	struct source *source = wf_container_of(base, struct source, base);

	if (++source->runs != 4)
		return;
	if (source->fails)
		wf_cntr_add_err(source->cntr);
	else
		wf_cntr_add(source->cntr, 1);
}

static void waiting_and_reading_make_progress(void **state)
{
	struct env env;

	for (int fails = 0; fails < 2; fails++) {
		struct source source = { .base.run = source_run, .fails = fails };

		open_env_as(&env, (struct fi_cntr_attr){ 0 });
		source.cntr = wf_cntr_of(env.cntr);
		assert_int_equal(
			wf_progress_list_add(&source.cntr->progress, &source.base), 0);
		/* CNT-008, THR-007 */
		assert_int_equal(fi_cntr_read(env.cntr), 0);
		assert_int_equal(source.runs, 1);
		/* CNT-014 */
		assert_int_equal(fi_cntr_wait(env.cntr, 1, -1), fails ? -FI_EAVAIL : 0);
		assert_int_equal(source.runs, 4);
		wf_progress_list_del(&source.cntr->progress, &source.base);
		close_env(&env);
	}
}

static void idle_run(struct wf_progress *base)
{
}

/* A thread counts between the waiter's last check and its sleep. */
static bool late_arm(struct wf_progress *base)
{
	wf_cntr_add(wf_container_of(base, struct source, base)->cntr, 1);
	return true;
}

static void what_comes_late_is_not_missed(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_NONE, FI_WAIT_FD,
		FI_WAIT_POLLFD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	struct env env;

	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct source source = { .base = { .run = idle_run, .arm = late_arm } };

		open_env_as(&env, (struct fi_cntr_attr){ .wait_obj = objs[i] });
		source.cntr = wf_cntr_of(env.cntr);
		assert_int_equal(
			wf_progress_list_add(&source.cntr->progress, &source.base), 0);
		assert_int_equal(fi_cntr_wait(env.cntr, 2, -1), 0);
		wf_progress_list_del(&source.cntr->progress, &source.base);
		close_env(&env);
	}
	(void)alarm(0);
}

static void control_answers_for_the_wait_object(void **state)
{
	enum fi_wait_obj obj;
	struct env env;
	int fd = -1;

	/* CNT-017 */
	open_env(&env);
	assert_int_equal(fi_control(&env.cntr->fid, FI_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(fi_control(&env.cntr->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(fi_control(&env.cntr->fid, FI_GETOPSFLAG, &fd), -FI_ENOSYS);
	close_env(&env);
}

/* No other thread makes progress for threads that sleep on a condition. */
static void a_condition_needs_the_thread(void **state)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_MUTEX_COND };
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain =
		fake_domain_of(fabric, fake_info(FI_THREAD_DOMAIN, FI_PROGRESS_MANUAL));
	struct fid_cntr *cntr;

	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), -FI_ENOSYS);
	assert_closed(domain);
	domain = fake_domain(fabric);
	assert_null(wf_domain_of(domain)->thread);
	assert_int_equal(fi_cntr_open(domain, &attr, &cntr, NULL), 0);
	assert_non_null(wf_domain_of(domain)->thread);
	assert_closed(cntr);
	assert_closed(domain);
	assert_closed(fabric);
}

static void bound_counters_stay_open(void **state)
{
	struct env env;

	open_env(&env);
	/* CNT-022 */
	atomic_fetch_add(&wf_cntr_of(env.cntr)->refs, 1);
	assert_busy(env.cntr);
	atomic_fetch_sub(&wf_cntr_of(env.cntr)->refs, 1);
	close_env(&env);
}

static int incs, errs;

static void owner_inc(struct fid_peer_cntr *cntr)
{
	incs++;
}

static void owner_incerr(struct fid_peer_cntr *cntr)
{
	errs++;
}

static void a_peer_counts_at_its_owner(void **state)
{
	static struct fi_ops_cntr_owner ops = { sizeof(ops), owner_inc, owner_incerr };
	struct fid_peer_cntr owner = { .owner_ops = &ops };
	struct fi_peer_cntr_context context = { .size = 8, .cntr = &owner };
	struct fi_cntr_attr attr = { .flags = FI_PEER, .wait_obj = FI_WAIT_FD };
	struct source source = { .base.run = source_run };
	struct fid_cntr *peer;
	struct env env;

	open_env(&env);
	/* P-04 */
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, NULL), -FI_EINVAL);
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, &context), -FI_EINVAL);
	context.size = sizeof(context);
	context.cntr = NULL;
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, &context), -FI_EINVAL);
	context.cntr = &owner;
	for (int missing = 0; missing < 2; missing++) {
		struct fi_ops_cntr_owner lacks = ops;

		if (missing)
			lacks.inc = NULL;
		else
			lacks.incerr = NULL;
		owner.owner_ops = &lacks;
		assert_int_equal(
			fi_cntr_open(env.domain, &attr, &peer, &context), -FI_EINVAL);
	}
	owner.owner_ops = &ops;
	/* CNT-002: exactly FI_PEER. */
	attr.flags |= FI_WRITE;
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, &context), -FI_EINVAL);
	attr.flags = FI_PEER;
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, &context), 0);
	memset(&context, 0, sizeof(context));

	/* P-40 */
	wf_cntr_add(wf_cntr_of(peer), 10);
	wf_cntr_add(wf_cntr_of(peer), 10);
	wf_cntr_add_err(wf_cntr_of(peer));
	assert_int_equal(incs, 2);
	assert_int_equal(errs, 1);
	/* P-41 */
	source.cntr = wf_cntr_of(peer);
	assert_int_equal(wf_progress_list_add(&source.cntr->progress, &source.base), 0);
	(void)fi_cntr_read(peer);
	assert_int_equal(source.runs, 1);
	wf_progress_list_del(&source.cntr->progress, &source.base);
	/* P-09 */
	assert_int_equal(fi_cntr_add(peer, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_set(peer, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_adderr(peer, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_seterr(peer, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_wait(peer, 0, 0), -FI_ENOSYS);
	assert_closed(peer);
	close_env(&env);
}

/* Ours on both sides: bytes are counted as bytes. P-35, P-40. */
static void an_owner_counts_what_its_peers_do(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_BYTES };
	struct fi_peer_cntr_context context = { .size = sizeof(context) };
	struct fid_cntr *own, *peer;
	struct fid_peer_cntr exported;
	struct env env;

	open_env(&env);
	assert_int_equal(fi_cntr_open(env.domain, &attr, &own, NULL), 0);
	wf_cntr_export(wf_cntr_of(own), &exported);
	assert_int_equal(exported.fid.fclass, FI_CLASS_PEER_CNTR);
	context.cntr = &exported;
	attr.flags = FI_PEER;
	assert_int_equal(fi_cntr_open(env.domain, &attr, &peer, &context), 0);
	assert_ptr_equal(peer->fid.context, &exported);
	wf_cntr_add(wf_cntr_of(peer), 10);
	wf_cntr_add_err(wf_cntr_of(peer));
	assert_int_equal(fi_cntr_read(own), 10);
	/* The calls that a peer of another library can make. */
	exported.owner_ops->inc(&exported);
	exported.owner_ops->incerr(&exported);
	assert_int_equal(fi_cntr_read(own), 11);
	assert_int_equal(fi_cntr_readerr(own), 2);
	assert_closed(peer);
	assert_int_equal(fi_close(&own->fid), -FI_EBUSY);
	wf_cntr_unexport(&exported);
	assert_closed(own);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_checks_its_attributes),
		cmocka_unit_test(values_add_up),
		cmocka_unit_test(operations_are_counted),
		cmocka_unit_test(wait_ends_for_the_right_reason),
		cmocka_unit_test(every_waiter_wakes),
		cmocka_unit_test(counters_play_ball),
		cmocka_unit_test(waiting_and_reading_make_progress),
		cmocka_unit_test(what_comes_late_is_not_missed),
		cmocka_unit_test(control_answers_for_the_wait_object),
		cmocka_unit_test(a_condition_needs_the_thread),
		cmocka_unit_test(bound_counters_stay_open),
		cmocka_unit_test(a_peer_counts_at_its_owner),
		cmocka_unit_test(an_owner_counts_what_its_peers_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
