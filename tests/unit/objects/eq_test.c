/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "../../log_lines.h"

#include <poll.h>
#include <unistd.h>

#include "../../time_limits.h"
#include "objects/eq/eq.h"

enum { WATCHDOG_SECONDS = 100 };

struct env {
	struct fid_fabric *fabric;
	struct fid_eq *eq;
};

static void open_env_as(struct env *env, uint32_t version, enum fi_wait_obj obj)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = obj };

	env->fabric = fake_fabric(version);
	assert_int_equal(fi_eq_open(env->fabric, &attr, &env->eq, env), 0);
}

static void open_env(struct env *env)
{
	open_env_as(env, FI_VERSION(2, 6), FI_WAIT_FD);
}

static void close_env(struct env *env)
{
	assert_closed(env->eq);
	assert_closed(env->fabric);
}

static void open_checks_its_attributes(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fi_eq_attr attr = { .flags = FI_READ };
	struct fid_eq *eq = NULL;

	assert_int_equal(fi_eq_open(fabric, NULL, &eq, NULL), -FI_EINVAL);
	assert_int_equal(fi_eq_open(fabric, &attr, NULL, NULL), -FI_EINVAL);
	/* EQ-002 */
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), -FI_EINVAL);
	/* EQ-003 */
	attr = (struct fi_eq_attr){ .wait_obj = (enum fi_wait_obj)99 };
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), -FI_EINVAL);
	attr = (struct fi_eq_attr){ .wait_obj = FI_WAIT_SET };
	assert_int_equal(fi_eq_open(fabric, &attr, &eq, NULL), -FI_EINVAL);
	assert_null(eq);
	assert_closed(fabric);
}

static void open_keeps_context(void **state)
{
	struct env env;

	open_env(&env);
	/* VER-015 */
	assert_int_equal(env.eq->fid.fclass, FI_CLASS_EQ);
	assert_ptr_equal(env.eq->fid.context, &env);
	close_env(&env);
}

static void events_come_back_in_order(void **state)
{
	struct fi_eq_entry in = { .data = 1 }, out;
	uint32_t event;
	struct env env;

	open_env(&env);
	/* EQ-008 */
	assert_int_equal(fi_eq_read(env.eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
	for (in.data = 1; in.data <= 3; in.data++) {
		/* EQ-005, EQ-015 */
		assert_int_equal(
			fi_eq_write(env.eq, FI_NOTIFY, &in, sizeof(in), 0), sizeof(in));
		assert_int_equal(
			wf_eq_write(wf_eq_of(env.eq), FI_AV_COMPLETE, &in, sizeof(in)),
			sizeof(in));
	}
	/* EQ-007 */
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(
			fi_eq_read(env.eq, &event, &out, sizeof(out), 0), sizeof(out));
		assert_int_equal(event, FI_NOTIFY);
		assert_int_equal(out.data, i);
		assert_int_equal(
			fi_eq_read(env.eq, &event, &out, sizeof(out), 0), sizeof(out));
		assert_int_equal(event, FI_AV_COMPLETE);
		assert_int_equal(out.data, i);
	}
	assert_int_equal(fi_eq_read(env.eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
	close_env(&env);
}

static void short_buffers_and_peeking(void **state)
{
	char in[24] = "abcdefghijklmnopqrstuvw", out[24] = "";
	uint32_t event;
	struct env env;

	open_env(&env);
	/* EQ-006 is shown by an EQ without FI_WRITE elsewhere. */
	assert_int_equal(fi_eq_write(env.eq, 7, in, sizeof(in), 0), sizeof(in));
	/* EQ-012 */
	assert_int_equal(fi_eq_read(env.eq, &event, out, 4, FI_PEEK), 4);
	assert_memory_equal(out, "abcd", 5);
	assert_int_equal(
		fi_eq_read(env.eq, &event, out, sizeof(out), FI_PEEK), sizeof(in));
	/* EQ-007, EQ-017 */
	assert_int_equal(fi_eq_read(env.eq, NULL, out, 8, 0), 8);
	assert_int_equal(fi_eq_read(env.eq, &event, out, 8, 0), -FI_EAGAIN);

	assert_int_equal(fi_eq_read(env.eq, &event, NULL, 8, 0), -FI_EINVAL);
	assert_int_equal(fi_eq_read(env.eq, &event, out, 8, FI_WRITE), -FI_EINVAL);
	assert_int_equal(fi_eq_write(env.eq, 7, NULL, 8, 0), -FI_EINVAL);
	close_env(&env);
}

static void write_err(struct env *env, int err, void *data, size_t size)
{
	const struct fi_eq_err_entry entry = {
		.fid = &env->eq->fid,
		.context = env,
		.data = 5,
		.err = err,
		.prov_errno = -err,
		.err_data = data,
		.err_data_size = size,
	};

	assert_int_equal(wf_eq_write_err(wf_eq_of(env->eq), &entry), 0);
}

static void errors_wait_in_line(void **state)
{
	struct fi_eq_err_entry err = { 0 };
	uint32_t event, value = 3;
	struct env env;

	open_env(&env);
	assert_int_equal(fi_eq_write(env.eq, 1, &value, sizeof(value), 0), 4);
	write_err(&env, FI_ECONNREFUSED, NULL, 0);
	assert_int_equal(fi_eq_write(env.eq, 2, &value, sizeof(value), 0), 4);

	/* EQ-010 */
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), -FI_EAGAIN);
	assert_int_equal(fi_eq_read(env.eq, &event, &value, 4, 0), 4);
	assert_int_equal(event, 1);
	/* EQ-009 */
	assert_int_equal(fi_eq_read(env.eq, &event, &value, 4, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_sread(env.eq, &event, &value, 4, -1, 0), -FI_EAVAIL);
	/* EQ-012 */
	assert_int_equal(fi_eq_readerr(env.eq, &err, FI_PEEK), sizeof(err));
	/* EQ-011, EQ-018 */
	memset(&err, 0, sizeof(err));
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	assert_int_equal(err.err, FI_ECONNREFUSED);
	assert_int_equal(err.prov_errno, -FI_ECONNREFUSED);
	assert_ptr_equal(err.context, &env);
	assert_ptr_equal(err.fid, &env.eq->fid);
	assert_int_equal(err.data, 5);
	assert_null(err.err_data);
	assert_int_equal(err.err_data_size, 0);
	assert_int_equal(fi_eq_read(env.eq, &event, &value, 4, 0), 4);
	assert_int_equal(event, 2);
	assert_int_equal(fi_eq_readerr(env.eq, NULL, 0), -FI_EINVAL);
	close_env(&env);
}

static void error_data_goes_where_there_is_room(void **state)
{
	char room[8] = "-------";
	struct fi_eq_err_entry err = { .err_data = room, .err_data_size = 3 };
	struct env env;

	open_env_as(&env, FI_VERSION(1, 5), FI_WAIT_NONE);
	/* EQ-019 */
	write_err(&env, FI_EIO, (char *)"abcdef", 6);
	assert_int_equal(fi_eq_readerr(env.eq, &err, FI_PEEK), sizeof(err));
	assert_ptr_equal(err.err_data, room);
	assert_int_equal(err.err_data_size, 3);
	assert_memory_equal(room, "abc----", 8);
	err.err_data_size = sizeof(room);
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	assert_int_equal(err.err_data_size, 6);
	assert_memory_equal(room, "abcdef-", 8);

	/* EQ-020 */
	write_err(&env, FI_EIO, (char *)"ghi", 3);
	err.err_data = room;
	err.err_data_size = 0;
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	assert_ptr_not_equal(err.err_data, room);
	assert_int_equal(err.err_data_size, 3);
	assert_memory_equal(err.err_data, "ghi", 3);
	close_env(&env);
}

/* EQ-020: before 1.5 what the caller left in the entry means nothing. */
static void old_callers_see_our_memory(void **state)
{
	char room[8] = "-------";
	struct fi_eq_err_entry err = { .err_data = room, .err_data_size = 8 };
	struct env env;

	open_env_as(&env, FI_VERSION(1, 4), FI_WAIT_NONE);
	write_err(&env, FI_EIO, (char *)"abcdef", 6);
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	assert_ptr_not_equal(err.err_data, room);
	assert_int_equal(err.err_data_size, 6);
	assert_memory_equal(err.err_data, "abcdef", 6);
	assert_memory_equal(room, "-------", 8);
	close_env(&env);
}

/* What the application writes is bounded by what it asked for, ours is not. */
static void the_application_cannot_fill_the_memory(void **state)
{
	struct fi_eq_attr attr = { .size = 3000 };
	uint32_t event;
	struct env env;
	char byte = 'x';

	env.fabric = fake_fabric(FI_VERSION(2, 6));
	assert_int_equal(fi_eq_open(env.fabric, &attr, &env.eq, NULL), 0);
	/* EQ-001, EQ-006 */
	for (int i = 0; i < 3000; i++)
		assert_int_equal(fi_eq_write(env.eq, 1, &byte, 1, 0), 1);
	assert_int_equal(fi_eq_write(env.eq, 1, &byte, 1, 0), -FI_EAGAIN);
	assert_int_equal(wf_eq_write(wf_eq_of(env.eq), 2, &byte, 1), 1);
	for (int i = 0; i < 3001; i++)
		assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), 1);
	assert_int_equal(event, 2);
	assert_int_equal(fi_eq_write(env.eq, 1, &byte, 1, 0), 1);
	close_env(&env);
}

static void an_overrun_is_told_after_the_events(void **state)
{
	struct fi_eq_err_entry err = { 0 };
	uint32_t event;
	struct env env;
	char byte = 'x';

	open_env(&env);
	assert_int_equal(fi_eq_write(env.eq, 1, &byte, 1, 0), 1);
	/* No memory for this one. */
	assert_int_equal(wf_eq_write(wf_eq_of(env.eq), 2, &byte, SIZE_MAX), -FI_ENOMEM);
	/* EQ-023 */
	assert_int_equal(fi_eq_write(env.eq, 1, &byte, 1, 0), -FI_EOVERRUN);
	assert_int_equal(wf_eq_write(wf_eq_of(env.eq), 2, &byte, 1), -FI_EOVERRUN);
	assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), 1);
	assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	assert_int_equal(err.err, FI_EOVERRUN);
	close_env(&env);
}

static void sread_needs_a_wait_object(void **state)
{
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_SET };
	uint32_t event;
	struct env env;
	char byte;

	/* EQ-014 */
	open_env_as(&env, FI_VERSION(2, 6), FI_WAIT_NONE);
	assert_int_equal(fi_eq_sread(env.eq, &event, &byte, 1, 0, 0), -FI_ENOSYS);
	assert_closed(env.eq);
	/* EQ-027 */
	assert_int_equal(
		env.fabric->ops->wait_open(env.fabric, &wait_attr, &attr.wait_set), 0);
	assert_int_equal(fi_eq_open(env.fabric, &attr, &env.eq, NULL), 0);
	assert_int_equal(fi_eq_sread(env.eq, &event, &byte, 1, 0, 0), -FI_ENOSYS);
	assert_busy(attr.wait_set);
	assert_closed(env.eq);
	assert_closed(attr.wait_set);
	assert_closed(env.fabric);
}

static void *write_later(void *arg)
{
	struct env *env = arg;

	for (uint32_t i = 0; i < 500; i++) {
		if (i % 7 == 0)
			(void)usleep(200);
		assert_int_equal(fi_eq_write(env->eq, i, &i, sizeof(i), 0), sizeof(i));
	}
	return NULL;
}

static void sread_waits_with_every_object(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
		FI_WAIT_POLLFD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	uint32_t event, value;
	pthread_t thread;
	struct env env;

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		open_env_as(&env, FI_VERSION(2, 6), objs[i]);
		/* EQ-013 */
		assert_int_equal(
			fi_eq_sread(env.eq, &event, &value, 4, 0, 0), -FI_EAGAIN);
		assert_int_equal(
			fi_eq_sread(env.eq, &event, &value, 4, 3, 0), -FI_EAGAIN);
		(void)alarm(limit_s(WATCHDOG_SECONDS));
		assert_int_equal(pthread_create(&thread, NULL, write_later, &env), 0);
		/* EQ-013, EQ-026 */
		for (uint32_t n = 0; n < 500; n++) {
			assert_int_equal(
				fi_eq_sread(env.eq, &event, &value, 4, -1, 0), 4);
			assert_int_equal(event, n);
			assert_int_equal(value, n);
		}
		(void)alarm(0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		close_env(&env);
	}
}

enum { PASSES = 5000 };

struct pass {
	struct fid_eq *mine, *other;
};

static void *pass_on(void *arg)
{
	struct pass *pass = arg;
	uint32_t event;
	char byte;

	for (int i = 0; i < PASSES; i++) {
		assert_int_equal(fi_eq_sread(pass->mine, &event, &byte, 1, -1, 0), 1);
		assert_int_equal(fi_eq_write(pass->other, event, &byte, 1, 0), 1);
	}
	return NULL;
}

/* Each event is the last one until it was read: no wake-up may be lost. */
static void queues_play_ball(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_FD, FI_WAIT_MUTEX_COND };
	struct fid_eq *second;
	pthread_t threads[2];
	struct env env;

	(void)alarm(limit_s(WATCHDOG_SECONDS));
	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct fi_eq_attr attr = { .wait_obj = objs[i] };
		struct pass passes[2];

		open_env_as(&env, FI_VERSION(2, 6), objs[i]);
		assert_int_equal(fi_eq_open(env.fabric, &attr, &second, NULL), 0);
		passes[0] = (struct pass){ env.eq, second };
		passes[1] = (struct pass){ second, env.eq };
		for (int n = 0; n < 2; n++)
			assert_int_equal(
				pthread_create(&threads[n], NULL, pass_on, &passes[n]),
				0);
		assert_int_equal(fi_eq_write(env.eq, 1, "b", 1, 0), 1);
		for (int n = 0; n < 2; n++)
			assert_int_equal(pthread_join(threads[n], NULL), 0);
		assert_closed(second);
		close_env(&env);
	}
	(void)alarm(0);
}

struct source {
	struct wf_progress base;
	struct wf_eq *eq;
	int runs;
};

static void source_run(struct wf_progress *base)
{
	struct source *source = wf_container_of(base, struct source, base);

	if (++source->runs == 3)
		assert_int_equal(wf_eq_write(source->eq, FI_CONNECTED, "x", 1), 1);
}

/* THR-007 */
static void reading_drives_what_feeds_the_queue(void **state)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_MUTEX_COND, FI_WAIT_YIELD };
	uint32_t event;
	struct env env;
	char byte;

	for (size_t i = 0; i < WF_ARRAY_SIZE(objs); i++) {
		struct source source = { .base.run = source_run };

		open_env_as(&env, FI_VERSION(2, 6), objs[i]);
		source.eq = wf_eq_of(env.eq);
		assert_int_equal(
			wf_progress_list_add(&source.eq->progress, &source.base), 0);
		assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), -FI_EAGAIN);
		assert_int_equal(fi_eq_sread(env.eq, &event, &byte, 1, -1, 0), 1);
		assert_int_equal(event, FI_CONNECTED);
		wf_progress_list_del(&source.eq->progress, &source.base);
		close_env(&env);
	}
}

static void idle_run(struct wf_progress *base)
{
}

/* A thread writes while the reader prepares to sleep. */
static bool late_arm(struct wf_progress *base)
{
	struct source *source = wf_container_of(base, struct source, base);

	if (source->runs++ == 0)
		assert_int_equal(wf_eq_write(source->eq, FI_CONNECTED, "x", 1), 1);
	return true;
}

static void what_comes_late_is_not_missed(void **state)
{
	uint32_t event;
	struct env env;
	char byte;
	struct source source = { .base = { .run = idle_run, .arm = late_arm } };

	open_env(&env);
	(void)alarm(limit_s(WATCHDOG_SECONDS));
	source.eq = wf_eq_of(env.eq);
	assert_int_equal(wf_progress_list_add(&source.eq->progress, &source.base), 0);
	assert_int_equal(fi_eq_sread(env.eq, &event, &byte, 1, -1, 0), 1);
	wf_progress_list_del(&source.eq->progress, &source.base);
	(void)alarm(0);
	close_env(&env);
}

/* EQ-016, EQ-024: the close frees what an unread request owns. */
static void unread_events_are_lost_with_what_they_own(void **state)
{
	struct fi_eq_cm_entry entry = { 0 };
	struct env env;

	open_env(&env);
	entry.info = fi_allocinfo();
	assert_int_equal(
		wf_eq_write(wf_eq_of(env.eq), FI_CONNREQ, &entry, sizeof(entry)),
		sizeof(entry));
	write_err(&env, FI_EIO, (char *)"abc", 3);
	close_env(&env);
}

static void a_peer_passes_events_on(void **state)
{
	struct fi_eq_attr attr = { .flags = FI_PEER, .wait_obj = FI_WAIT_FD };
	struct fi_peer_eq_context context = { .size = sizeof(context) };
	struct fi_eq_err_entry err = { .err = FI_EIO };
	struct fid_eq *peer = NULL;
	uint32_t event;
	struct env env;
	char byte = 'p';

	open_env(&env);
	/* EQ-004 and P-04 */
	assert_int_equal(fi_eq_open(env.fabric, &attr, &peer, NULL), -FI_EINVAL);
	assert_int_equal(fi_eq_open(env.fabric, &attr, &peer, &context), -FI_EINVAL);
	context.eq = env.eq;
	context.size = 8;
	assert_int_equal(fi_eq_open(env.fabric, &attr, &peer, &context), -FI_EINVAL);
	context.size = sizeof(context);
	assert_int_equal(fi_eq_open(env.fabric, &attr, &peer, &context), 0);
	memset(&context, 0, sizeof(context));

	/* P-09 */
	assert_int_equal(fi_eq_read(peer, &event, &byte, 1, 0), -FI_ENOSYS);
	assert_int_equal(fi_eq_sread(peer, &event, &byte, 1, 0, 0), -FI_ENOSYS);
	assert_int_equal(fi_eq_readerr(peer, &err, 0), -FI_ENOSYS);
	/* EQ-025: a text is not part of the queue. */
	assert_string_equal(
		fi_eq_strerror(peer, FI_EIO, NULL, NULL, 0), fi_strerror(FI_EIO));
	/* P-46 */
	assert_int_equal(wf_eq_write(wf_eq_of(peer), 3, &byte, 1), 1);
	assert_int_equal(fi_eq_write(peer, 4, &byte, 1, 0), 1);
	assert_int_equal(wf_eq_write_err(wf_eq_of(peer), &err), 0);
	assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), 1);
	assert_int_equal(event, 3);
	assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), 1);
	assert_int_equal(event, 4);
	assert_int_equal(fi_eq_read(env.eq, &event, &byte, 1, 0), -FI_EAVAIL);
	assert_closed(peer);
	close_env(&env);
}

static ssize_t foreign_write(
	struct fid_eq *eq, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	(void)eq;
	(void)event;
	(void)buf;
	assert_int_equal(flags, 0);
	return (ssize_t)len;
}

/* The owner of another library has no call for errors: the log has the loss. */
static void a_foreign_owner_gets_no_errors(void **state)
{
	struct fi_eq_attr attr = { .flags = FI_PEER };
	struct fi_peer_eq_context context = { .size = sizeof(context) };
	struct fi_eq_err_entry err = { .err = FI_EIO };
	struct fi_ops fid_ops = { .size = sizeof(fid_ops) };
	struct fi_ops_eq ops = { .size = sizeof(ops), .write = foreign_write };
	struct fid_eq foreign = { .fid.ops = &fid_ops, .ops = &ops }, *peer = NULL;
	struct env env;

	(void)state;
	open_env(&env);
	context.eq = &foreign;
	assert_int_equal(fi_eq_open(env.fabric, &attr, &peer, &context), 0);
	assert_int_equal(wf_eq_write(wf_eq_of(peer), 3, "abc", 3), 3);
	log_lines_start();
	assert_int_equal(wf_eq_write_err(wf_eq_of(peer), &err), -FI_ENOSYS);
	assert_true(log_lines_have("error 5 (Input/output error) is lost"));
	assert_closed(peer);
	close_env(&env);
}

static void strerror_writes_where_it_is_told(void **state)
{
	struct env env;
	char buf[4] = "";

	open_env(&env);
	/* EQ-025 */
	assert_string_equal(
		fi_eq_strerror(env.eq, FI_EIO, NULL, NULL, 0), fi_strerror(FI_EIO));
	assert_string_equal(
		fi_eq_strerror(env.eq, -FI_EIO, NULL, NULL, 0), fi_strerror(FI_EIO));
	assert_ptr_equal(fi_eq_strerror(env.eq, FI_EIO, NULL, buf, sizeof(buf)), buf);
	assert_int_equal(strlen(buf), 3);
	close_env(&env);
}

static void bound_queues_stay_open(void **state)
{
	struct env env;

	open_env(&env);
	/* EQ-024 */
	atomic_fetch_add(&wf_eq_of(env.eq)->refs, 1);
	assert_busy(env.eq);
	atomic_fetch_sub(&wf_eq_of(env.eq)->refs, 1);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_checks_its_attributes),
		cmocka_unit_test(open_keeps_context),
		cmocka_unit_test(events_come_back_in_order),
		cmocka_unit_test(short_buffers_and_peeking),
		cmocka_unit_test(errors_wait_in_line),
		cmocka_unit_test(error_data_goes_where_there_is_room),
		cmocka_unit_test(old_callers_see_our_memory),
		cmocka_unit_test(the_application_cannot_fill_the_memory),
		cmocka_unit_test(an_overrun_is_told_after_the_events),
		cmocka_unit_test(sread_needs_a_wait_object),
		cmocka_unit_test(sread_waits_with_every_object),
		cmocka_unit_test(queues_play_ball),
		cmocka_unit_test(reading_drives_what_feeds_the_queue),
		cmocka_unit_test(what_comes_late_is_not_missed),
		cmocka_unit_test(unread_events_are_lost_with_what_they_own),
		cmocka_unit_test(a_peer_passes_events_on),
		cmocka_unit_test(a_foreign_owner_gets_no_errors),
		cmocka_unit_test(strerror_writes_where_it_is_told),
		cmocka_unit_test(bound_queues_stay_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
