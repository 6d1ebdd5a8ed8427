/* SPDX-License-Identifier: BSD-2-Clause */
/* Event queues, with events that the cases write themselves. */
#include <poll.h>
#include <pthread.h>

#include "suites.h"

enum { EVENT = FI_NOTIFY };

static struct fid_eq *open_eq(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = wait_obj };

	CHECK_OK(fi_eq_open(env->fabric, &attr, &env->eq, NULL));
	return env->eq;
}

static void write_event(struct fid_eq *eq, uint64_t data)
{
	struct fi_eq_entry entry = { .fid = &eq->fid, .context = eq, .data = data };

	CHECK_EQ(fi_eq_write(eq, EVENT, &entry, sizeof(entry), 0), sizeof(entry));
}

static void events_come_in_order_one_at_a_time(void)
{
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	struct cf_env env;
	uint32_t event;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	for (uint64_t i = 0; i < 3; i++)
		write_event(eq, i);
	for (uint64_t i = 0; i < 3; i++) {
		event = 77;
		CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0),
			sizeof(entry));
		CHECK_EQ(event, EVENT);
		CHECK_EQ(entry.data, i);
		CHECK(entry.context == eq && entry.fid == &eq->fid);
	}
	CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	cf_close(&env);
}

static void a_read_copies_what_fits(void)
{
	char text[] = "some event data", buf[64];
	struct fid_eq *eq;
	struct cf_env env;
	uint32_t event;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_eq_write(eq, FI_SHUTDOWN, text, sizeof(text), 0), sizeof(text));
	CHECK_EQ(fi_eq_write(eq, FI_SHUTDOWN, text, sizeof(text), 0), sizeof(text));
	memset(buf, '#', sizeof(buf));
	CHECK_EQ(fi_eq_read(eq, &event, buf, 4, 0), 4);
	CHECK_EQ(event, FI_SHUTDOWN);
	CHECK(!memcmp(buf, text, 4) && buf[4] == '#');
	CHECK_EQ(fi_eq_read(eq, &event, buf, sizeof(buf), 0), sizeof(text));
	CHECK(!strcmp(buf, text));
	cf_close(&env);
}

static void a_peek_leaves_the_event(void)
{
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	struct cf_env env;
	uint32_t event;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	write_event(eq, 5);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), FI_PEEK),
			sizeof(entry));
		CHECK_EQ(entry.data, 5);
	}
	CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), FI_PEEK), -FI_EAGAIN);
	cf_close(&env);
}

static void no_error_to_read(void)
{
	struct fi_eq_err_entry err = { 0 };
	struct fid_eq *eq;
	struct cf_env env;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_eq_readerr(eq, &err, 0), -FI_EAGAIN);
	write_event(eq, 1);
	CHECK_EQ(fi_eq_readerr(eq, &err, 0), -FI_EAGAIN);
	cf_close(&env);
}

static void more_events_than_the_size_fit(void)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .size = 2 };
	struct fi_eq_entry entry;
	struct cf_env env;
	uint32_t event;

	cf_open_fabric(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	write_event(env.eq, 0);
	write_event(env.eq, 1);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK_EQ(fi_eq_read(env.eq, &event, &entry, sizeof(entry), 0),
			sizeof(entry));
		CHECK_EQ(entry.data, i);
	}
	cf_close(&env);
}

static void bad_attributes_are_refused(void)
{
	static const struct fi_eq_attr bad[] = {
		{ .flags = 1ULL << 3 },
		{ .wait_obj = (enum fi_wait_obj)99 },
		{ .wait_obj = FI_WAIT_SET },
	};
	struct cf_env env;
	struct fid_eq *eq;

	cf_open_fabric(&env, NULL);
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		struct fi_eq_attr attr = bad[i];

		CHECK_EQ(fi_eq_open(env.fabric, &attr, &eq, NULL), -FI_EINVAL);
	}
	cf_close(&env);
}

static void waiting_needs_a_wait_object(void)
{
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	struct cf_env env;
	uint32_t event;
	int fd;

	NEED_API(2, 0);
	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0), -FI_ENOSYS);
	CHECK_EQ(fi_control(&eq->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	cf_close(&env);
}

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
	FI_WAIT_YIELD };

static void waits_return_events_or_time_out(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_eq_entry entry;
		struct fid_eq *eq;
		struct cf_env env;
		uint32_t event;

		cf_open_fabric(&env, NULL);
		eq = open_eq(&env, wait_objs[i]);
		CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0),
			-FI_EAGAIN);
		CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof(entry), 5, 0),
			-FI_EAGAIN);
		write_event(eq, 9);
		CHECK_EQ(fi_eq_sread(
				 eq, &event, &entry, sizeof(entry), CF_TIMEOUT_MS, 0),
			sizeof(entry));
		CHECK_EQ(entry.data, 9);
		cf_close(&env);
	}
}

static void *write_later(void *arg)
{
	write_event(arg, 11);
	return NULL;
}

static void a_write_wakes_a_waiter(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_eq_entry entry;
		pthread_t thread;
		struct fid_eq *eq;
		struct cf_env env;
		uint32_t event;

		cf_open_fabric(&env, NULL);
		eq = open_eq(&env, wait_objs[i]);
		CHECK_OK(pthread_create(&thread, NULL, write_later, eq));
		CHECK_EQ(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, 0),
			sizeof(entry));
		CHECK_EQ(entry.data, 11);
		CHECK_OK(pthread_join(thread, NULL));
		cf_close(&env);
	}
}

static void the_descriptor_becomes_readable(void)
{
	struct fi_eq_entry entry;
	struct pollfd poll_fd = { .events = POLLIN };
	enum fi_wait_obj wait_obj;
	struct fid *fids[1];
	struct fid_eq *eq;
	struct cf_env env;
	uint32_t event;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_FD);
	CHECK_OK(fi_control(&eq->fid, FI_GETWAIT, &poll_fd.fd));
	CHECK_OK(fi_control(&eq->fid, FI_GETWAITOBJ, &wait_obj));
	CHECK_EQ(wait_obj, FI_WAIT_FD);
	fids[0] = &eq->fid;
	CHECK_OK(fi_trywait(env.fabric, fids, 1));
	CHECK_EQ(poll(&poll_fd, 1, 0), 0);
	write_event(eq, 1);
	CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
	CHECK_EQ(fi_trywait(env.fabric, fids, 1), -FI_EAGAIN);
	CHECK_EQ(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	CHECK_OK(fi_trywait(env.fabric, fids, 1));
	CHECK_EQ(poll(&poll_fd, 1, 0), 0);
	cf_close(&env);
}

static void errors_have_text(void)
{
	struct fid_eq *eq;
	struct cf_env env;
	char buf[64] = "";
	const char *text;

	cf_open_fabric(&env, NULL);
	eq = open_eq(&env, FI_WAIT_NONE);
	text = fi_eq_strerror(eq, FI_ECONNREFUSED, NULL, buf, sizeof(buf));
	CHECK(text && *text);
	CHECK(buf[0] && strlen(buf) < sizeof(buf));
	CHECK(fi_eq_strerror(eq, FI_ECONNREFUSED, NULL, NULL, 0) != NULL);
	cf_close(&env);
}

CF_SUITE(eq,
	CF_CASE(events_come_in_order_one_at_a_time, "EQ-001 EQ-005 EQ-007 EQ-008", 0),
	CF_CASE(a_read_copies_what_fits, "EQ-007", 0),
	CF_CASE(a_peek_leaves_the_event, "EQ-012", 0),
	CF_CASE(no_error_to_read, "EQ-010", 0),
	CF_CASE(more_events_than_the_size_fit, "EQ-001", 0),
	CF_CASE(bad_attributes_are_refused, "EQ-002 EQ-003", 0),
	CF_CASE(waiting_needs_a_wait_object, "EQ-014 EQ-022", 0),
	CF_CASE(waits_return_events_or_time_out, "EQ-013 EQ-026", 0),
	CF_CASE(a_write_wakes_a_waiter, "EQ-013 EQ-026", 0),
	CF_CASE(the_descriptor_becomes_readable, "EQ-021 OPT-019 POL-009 POL-012", 0),
	CF_CASE(errors_have_text, "EQ-025", 0));
