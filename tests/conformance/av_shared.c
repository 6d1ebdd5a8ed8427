/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors with a name, shared between processes. */
#include <sys/wait.h>
#include <unistd.h>

#include "suites.h"

enum { PORT = 22000, COUNT = 40 };

static char name[64];

static struct fi_av_attr named(uint64_t flags)
{
	struct fi_av_attr attr = {
		.type = FI_AV_TABLE, .count = COUNT, .flags = flags
	};

	snprintf(name, sizeof(name), "/weft-conformance-%d", (int)getpid());
	attr.name = name;
	return attr;
}

static void want_shared(struct fi_info *hints)
{
	hints->domain_attr->caps = FI_SHARED_AV;
}

static const struct cf_options shared = { .caps = FI_SHARED_AV, .adjust = want_shared };

static void a_name_is_refused_where_not_offered(void)
{
	struct fi_av_attr attr = named(0);
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	if (env.info->domain_attr->caps & FI_SHARED_AV)
		SKIP("the provider has shared vectors");
	CHECK_FAILS(fi_av_open(env.domain, &attr, &av, NULL));
	cf_close(&env);
}

static void reading_needs_an_existing_one(void)
{
	struct fi_av_attr attr = named(FI_READ);
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, &shared);
	CHECK_FAILS(fi_av_open(env.domain, &attr, &av, NULL));
	attr.name = NULL;
	CHECK_FAILS(fi_av_open(env.domain, &attr, &av, NULL));
	cf_close(&env);
}

static void check_contents(struct fid_av *av)
{
	for (fi_addr_t i = 0; i < COUNT; i++) {
		char buf[64];
		size_t len = sizeof(buf);

		CHECK_OK(fi_av_lookup(av, i, buf, &len));
		CHECK_EQ(cf_addr_number(buf), PORT + i);
	}
}

static void two_openings_see_the_same(void)
{
	struct fi_av_attr attr = named(0), reader = named(FI_READ);
	struct fid_av *av, *other;
	struct cf_env env;
	void *addrs;

	cf_open_domain(&env, &shared);
	addrs = cf_addrs(env.info, PORT, COUNT);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CHECK(attr.map_addr != NULL);
	CHECK_OK(fi_av_open(env.domain, &reader, &other, NULL));
	CHECK_EQ(fi_av_insert(av, addrs, COUNT, NULL, 0, NULL), COUNT);
	check_contents(other);
	CHECK(fi_av_insert(other, addrs, 1, NULL, 0, NULL) != 1);
	free(addrs);
	CF_CLOSE(other);
	check_contents(av);
	CF_CLOSE(av);
	cf_close(&env);
}

/* In a process of its own: opens what the parent made, by name. */
static void read_in_child(void)
{
	struct fi_av_attr attr = {
		.type = FI_AV_TABLE, .name = name, .flags = FI_READ
	};
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, &shared);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	check_contents(av);
	CF_CLOSE(av);
	cf_close(&env);
}

static void another_process_sees_the_same(void)
{
	struct fi_av_attr attr = named(0);
	struct fid_av *av;
	struct cf_env env;
	int fds[2], status;
	char go = 1;
	void *addrs;
	pid_t child;

	/* Forked before the library is used: objects do not survive a fork. */
	CHECK_OK(pipe(fds));
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		close(fds[1]);
		if (read(fds[0], &go, 1) != 1)
			_exit(1);
		read_in_child();
		_exit(0);
	}
	close(fds[0]);
	cf_open_domain(&env, &shared);
	addrs = cf_addrs(env.info, PORT, COUNT);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, addrs, COUNT, NULL, 0, NULL), COUNT);
	CHECK_EQ(write(fds[1], &go, 1), 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	close(fds[1]);
	free(addrs);
	CF_CLOSE(av);
	cf_close(&env);
}

static void closing_the_last_one_removes_it(void)
{
	struct fi_av_attr attr = named(0), reader = named(FI_READ);
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, &shared);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CF_CLOSE(av);
	CHECK_FAILS(fi_av_open(env.domain, &reader, &av, NULL));
	cf_close(&env);
}

CF_SUITE(av_shared, CF_CASE(a_name_is_refused_where_not_offered, "AV-005 DAT-032", 0),
	CF_CASE(reading_needs_an_existing_one, "AV-007", FI_SHARED_AV),
	CF_CASE(two_openings_see_the_same, "AV-006", FI_SHARED_AV),
	CF_CASE(another_process_sees_the_same, "AV-006", FI_SHARED_AV),
	CF_CASE(closing_the_last_one_removes_it, "AV-007", FI_SHARED_AV));
