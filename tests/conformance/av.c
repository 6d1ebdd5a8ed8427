/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors: opening, looking up, removing, printing. */
#include "suites.h"

enum { PORT = 20000 };

/* A vector on a domain, and @count addresses in it as 0, 1, ... */
static struct fid_av *filled_av(struct cf_env *env, size_t count)
{
	struct fid_av *av;
	void *addrs;

	cf_open_domain(env, NULL);
	addrs = cf_addrs(env->info, PORT, count);
	av = cf_new_av(env);
	CHECK_EQ(fi_av_insert(av, addrs, count, NULL, 0, NULL), count);
	free(addrs);
	return av;
}

static void close_av(struct cf_env *env, struct fid_av *av)
{
	CF_CLOSE(av);
	cf_close(env);
}

static void unspecified_type_becomes_table(void)
{
	struct fi_av_attr attr = { .type = FI_AV_UNSPEC };
	struct fid_av *av;
	struct cf_env env;

	NEED_API(2, 0);
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CHECK_EQ(attr.type, FI_AV_TABLE);
	close_av(&env, av);
}

/* A map behaves like a table: the values are what was handed out. */
static void map_is_accepted(void)
{
	struct fi_av_attr attr = { .type = FI_AV_MAP };
	fi_addr_t out[2] = { 77, 77 };
	struct fid_av *av;
	struct cf_env env;
	void *addrs;

	cf_open_domain(&env, NULL);
	addrs = cf_addrs(env.info, PORT, 2);
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, addrs, 2, out, 0, NULL), 2);
	CHECK(out[0] != out[1]);
	for (int i = 0; i < 2; i++) {
		char back[64];
		size_t len = sizeof(back);

		CHECK_OK(fi_av_lookup(av, out[i], back, &len));
		CHECK_EQ(cf_addr_number(back), PORT + i);
	}
	free(addrs);
	close_av(&env, av);
}

static void want_map(struct fi_info *hints)
{
	hints->domain_attr->av_type = FI_AV_MAP;
}

static void conflicting_type_is_refused(void)
{
	struct cf_options options = { .adjust = want_map };
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, &options);
	CHECK_EQ(fi_av_open(env.domain, &attr, &av, NULL), -FI_EINVAL);
	attr.type = (enum fi_av_type)9;
	CHECK_EQ(fi_av_open(env.domain, &attr, &av, NULL), -FI_EINVAL);
	attr.type = FI_AV_MAP;
	CHECK_OK(fi_av_open(env.domain, &attr, &av, NULL));
	close_av(&env, av);
}

static void unknown_flags_are_refused(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = 1ULL << 2 };
	struct fid_av *av;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_EQ(fi_av_open(env.domain, &attr, &av, NULL), -FI_EINVAL);
	cf_close(&env);
}

static void lookup_truncates_and_tells_the_size(void)
{
	unsigned char full[64], part[64];
	size_t len = sizeof(full), short_len = 4, size;
	struct fid_av *av;
	struct cf_env env;
	char want[64];

	av = filled_av(&env, 1);
	size = cf_addr(env.info, want, PORT);
	CHECK_OK(fi_av_lookup(av, 0, full, &len));
	CHECK_EQ(len, size);
	CHECK_EQ(cf_addr_number(full), PORT);
	memset(part, '#', sizeof(part));
	CHECK_OK(fi_av_lookup(av, 0, part, &short_len));
	CHECK_EQ(short_len, size);
	CHECK(!memcmp(part, full, 4) && part[4] == '#');
	close_av(&env, av);
}

static void lookup_of_an_unset_address(void)
{
	static const fi_addr_t unset[] = { 3, 1000000, FI_ADDR_UNSPEC };
	struct fid_av *av;
	struct cf_env env;
	char buf[64];

	NEED_API(2, 0);
	av = filled_av(&env, 3);
	for (size_t i = 0; i < CF_COUNT(unset); i++) {
		size_t len = sizeof(buf);

		CHECK_EQ(fi_av_lookup(av, unset[i], buf, &len), -FI_EINVAL);
	}
	close_av(&env, av);
}

static void lookup2_without_context(void)
{
	size_t len, size;
	struct fid_av *av;
	struct cf_env env;
	char buf[64];
	int ret;

	NEED_API(2, 0);
	av = filled_av(&env, 1);
	size = cf_addr(env.info, buf, PORT);
	len = sizeof(buf);
	ret = fi_av_lookup2(av, 0, buf, &len, 0, NULL);
	if (ret == -FI_ENOSYS)
		SKIP("fi_av_lookup2 is not offered");
	CHECK_OK(ret);
	CHECK_EQ(len, size);
	CHECK_EQ(cf_addr_number(buf), PORT);
	len = sizeof(buf);
	CHECK_EQ(fi_av_lookup2(av, 7, buf, &len, 0, NULL), -FI_EINVAL);
	CHECK_FAILS(fi_av_lookup2(av, 0, buf, &len, FI_XPU, NULL));
	close_av(&env, av);
}

static void removal_frees_the_lowest_index(void)
{
	fi_addr_t gone[] = { 3, 1 }, out = 99;
	struct fid_av *av;
	struct cf_env env;
	char addr[64], buf[64];
	size_t len = sizeof(buf);

	av = filled_av(&env, 5);
	CHECK_OK(fi_av_remove(av, gone, 2, 0));
	if (cf_target.version >= FI_VERSION(2, 0))
		CHECK_EQ(fi_av_lookup(av, 1, buf, &len), -FI_EINVAL);
	(void)cf_addr(env.info, addr, PORT + 100);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 1);
	(void)cf_addr(env.info, addr, PORT + 101);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 3);
	(void)cf_addr(env.info, addr, PORT + 102);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 5);
	close_av(&env, av);
}

static void a_removed_address_can_return(void)
{
	fi_addr_t gone = 0, out = 99;
	struct fid_av *av;
	struct cf_env env;
	char addr[64];

	av = filled_av(&env, 2);
	(void)cf_addr(env.info, addr, PORT);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(fi_av_remove(av, &gone, 1, 0));
		CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
		CHECK_EQ(out, 0);
	}
	close_av(&env, av);
}

static void removal_of_an_unset_address(void)
{
	fi_addr_t mixed[] = { 7, 0, FI_ADDR_NOTAVAIL, 1 }, first = 0;
	char buf[64];
	size_t len = sizeof(buf);
	struct fid_av *av;
	struct cf_env env;

	NEED_API(2, 0);
	av = filled_av(&env, 3);
	CHECK_EQ(fi_av_remove(av, mixed, CF_COUNT(mixed), 0), -FI_EINVAL);
	/* The valid ones went nonetheless. */
	CHECK_EQ(fi_av_lookup(av, 0, buf, &len), -FI_EINVAL);
	CHECK_EQ(fi_av_lookup(av, 1, buf, &len), -FI_EINVAL);
	CHECK_OK(fi_av_lookup(av, 2, buf, &len));
	CHECK_EQ(fi_av_remove(av, &first, 1, 0), -FI_EINVAL);
	close_av(&env, av);
}

static void removal_takes_no_flags(void)
{
	fi_addr_t first = 0;
	struct fid_av *av;
	struct cf_env env;

	av = filled_av(&env, 1);
	CHECK_EQ(fi_av_remove(av, &first, 1, FI_MORE), -FI_EINVAL);
	CHECK_OK(fi_av_remove(av, &first, 1, 0));
	close_av(&env, av);
}

static void addresses_print_as_uris(void)
{
	struct fid_av *av;
	struct cf_env env;
	char addr[64], name[64], text[128], part[8];
	const char *want;
	size_t len = sizeof(text), short_len = sizeof(part);

	av = filled_av(&env, 1);
	(void)cf_addr(env.info, addr, PORT);
	snprintf(name, sizeof(name),
		env.info->addr_format == FI_ADDR_STR ? "fi_shm://%s:20000"
		: env.info->addr_format == FI_SOCKADDR_IN
			? "fi_sockaddr_in://%s:20000"
			: "fi_sockaddr_in6://[%s]:20000",
		cf_loopback());
	want = name;
	CHECK(fi_av_straddr(av, addr, text, &len) == text);
	CHECK_STR(text, want);
	CHECK_EQ(len, strlen(want) + 1);
	memset(part, '#', sizeof(part));
	CHECK(fi_av_straddr(av, addr, part, &short_len) == part);
	CHECK_EQ(short_len, strlen(want) + 1);
	CHECK(!memcmp(part, want, sizeof(part) - 1));
	close_av(&env, av);
}

static void address_arithmetic(void)
{
	CHECK_EQ(fi_rx_addr(5, 3, 4), (3ULL << 60) | 5);
	CHECK_EQ(fi_rx_addr(5, 0, 0), 5);
	CHECK_EQ(fi_group_addr(5, 9), (9ULL << 32) | 5);
}

static void key_calls_need_a_key_domain(void)
{
	size_t len = 8;
	struct fid_av *av;
	struct cf_env env;
	fi_addr_t addr;
	char key[8] = "";

	av = filled_av(&env, 1);
	if (cf_target.version >= FI_VERSION(1, 20)) {
		CHECK_EITHER(fi_av_insert_auth_key(av, key, sizeof(key), &addr, 0),
			-FI_ENOSYS, -FI_EINVAL);
		CHECK_EITHER(fi_av_lookup_auth_key(av, 0, key, &len), -FI_ENOSYS,
			-FI_EINVAL);
	}
	close_av(&env, av);
}

static void many_addresses(void)
{
	enum { COUNT = 3000, BATCH = 100 };
	struct fid_av *av;
	struct cf_env env;
	fi_addr_t out[BATCH];

	cf_open_domain(&env, NULL);
	av = cf_new_av(&env);
	for (size_t at = 0; at < COUNT; at += BATCH) {
		void *addrs = cf_addrs(env.info, (uint16_t)(PORT + at), BATCH);

		CHECK_EQ(fi_av_insert(av, addrs, BATCH, out, 0, NULL), BATCH);
		for (size_t i = 0; i < BATCH; i++)
			CHECK_EQ(out[i], at + i);
		free(addrs);
	}
	for (fi_addr_t i = 0; i < COUNT; i++) {
		char buf[64];
		size_t len = sizeof(buf);

		CHECK_OK(fi_av_lookup(av, i, buf, &len));
		CHECK_EQ(cf_addr_number(buf), PORT + i);
	}
	close_av(&env, av);
}

CF_SUITE(av, CF_CASE(unspecified_type_becomes_table, "AV-001 AV-002", 0),
	CF_CASE(map_is_accepted, "AV-001 AV-009", 0),
	CF_CASE(conflicting_type_is_refused, "AV-003", 0),
	CF_CASE(unknown_flags_are_refused, "AV-004", 0),
	CF_CASE(lookup_truncates_and_tells_the_size, "AV-034", 0),
	CF_CASE(lookup_of_an_unset_address, "AV-035", 0),
	CF_CASE(lookup2_without_context, "AV-036", 0),
	CF_CASE(removal_frees_the_lowest_index, "AV-010 AV-011 AV-029", 0),
	CF_CASE(a_removed_address_can_return, "AV-022", 0),
	CF_CASE(removal_of_an_unset_address, "AV-029 AV-031", 0),
	CF_CASE(removal_takes_no_flags, "AV-030", 0),
	CF_CASE(addresses_print_as_uris, "AV-037 STR-011", 0),
	CF_CASE(address_arithmetic, "AV-038 AV-039", 0),
	CF_CASE(key_calls_need_a_key_domain, "AV-052 AV-055", 0),
	CF_CASE(many_addresses, "AV-010", 0));
