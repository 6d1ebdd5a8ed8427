/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways into an address vector. */
#include <netinet/in.h>

#include "suites.h"

enum { PORT = 21000 };

static struct fid_av *open_av(struct cf_env *env)
{
	cf_open_domain(env, NULL);
	return cf_new_av(env);
}

static void close_av(struct cf_env *env, struct fid_av *av)
{
	CF_CLOSE(av);
	cf_close(env);
}

static uint16_t port_at(struct fid_av *av, fi_addr_t addr)
{
	char buf[64];
	size_t len = sizeof(buf);

	CHECK_OK(fi_av_lookup(av, addr, buf, &len));
	return cf_addr_number(buf);
}

static void indices_count_up_across_calls(void)
{
	fi_addr_t out[3] = { 9, 9, 9 };
	struct fid_av *av;
	struct cf_env env;
	void *addrs;

	av = open_av(&env);
	addrs = cf_addrs(env.info, PORT, 5);
	CHECK_EQ(fi_av_insert(av, addrs, 2, out, 0, NULL), 2);
	CHECK(out[0] == 0 && out[1] == 1 && out[2] == 9);
	free(addrs);
	addrs = cf_addrs(env.info, PORT + 2, 3);
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, 0, NULL), 3);
	CHECK(out[0] == 2 && out[1] == 3 && out[2] == 4);
	for (fi_addr_t i = 0; i < 5; i++)
		CHECK_EQ(port_at(av, i), PORT + i);
	free(addrs);
	close_av(&env, av);
}

static void inserting_nothing(void)
{
	fi_addr_t out = 9;
	struct fid_av *av;
	struct cf_env env;
	char addr[64];

	av = open_av(&env);
	(void)cf_addr(env.info, addr, PORT);
	CHECK_EQ(fi_av_insert(av, addr, 0, &out, 0, NULL), 0);
	CHECK_EQ(out, 9);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 0);
	close_av(&env, av);
}

static void the_same_address_again(void)
{
	fi_addr_t first = 7, second = 8;
	struct fid_av *av;
	struct cf_env env;
	char addr[64];

	av = open_av(&env);
	(void)cf_addr(env.info, addr, PORT);
	CHECK_EQ(fi_av_insert(av, addr, 1, &first, 0, NULL), 1);
	CHECK_EQ(fi_av_insert(av, addr, 1, &second, 0, NULL), 1);
	CHECK_EQ(first, second);
	close_av(&env, av);
}

/* No. 0 cannot be sent to, so the middle one of three is refused. */
static void *one_bad_of_three(struct cf_env *env)
{
	char *addrs = malloc(3 * 64), *pos = addrs;

	CHECK(addrs);
	pos += cf_addr(env->info, pos, PORT);
	pos += cf_addr(env->info, pos, 0);
	(void)cf_addr(env->info, pos, PORT + 2);
	return addrs;
}

static void a_bad_address_leaves_the_others(void)
{
	fi_addr_t out[3] = { 9, 9, 9 };
	struct fid_av *av;
	struct cf_env env;
	void *addrs;

	av = open_av(&env);
	addrs = one_bad_of_three(&env);
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, 0, NULL), 2);
	CHECK_EQ(port_at(av, out[0]), PORT);
	CHECK(out[1] == FI_ADDR_NOTAVAIL);
	CHECK_EQ(port_at(av, out[2]), PORT + 2);
	free(addrs);
	close_av(&env, av);
}

static void errors_by_address(void)
{
	int errors[3] = { -1, -1, -1 };
	fi_addr_t out[3];
	struct fid_av *av;
	struct cf_env env;
	void *addrs;

	av = open_av(&env);
	addrs = one_bad_of_three(&env);
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, FI_SYNC_ERR, NULL), -FI_EINVAL);
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, FI_SYNC_ERR, errors), 2);
	CHECK_EQ(errors[0], 0);
	CHECK_EQ(errors[1], FI_EADDRNOTAVAIL);
	CHECK_EQ(errors[2], 0);
	free(addrs);
	close_av(&env, av);
}

static void a_foreign_format_is_refused(void)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_APPLETALK,
		.sin6_port = htons(PORT) };
	fi_addr_t out = 9;
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	CHECK_EQ(fi_av_insert(av, &addr, 1, &out, 0, NULL), 0);
	CHECK(out == FI_ADDR_NOTAVAIL);
	close_av(&env, av);
}

static void flags(void)
{
	fi_addr_t out = 9;
	struct fid_av *av;
	struct cf_env env;
	char addr[64];

	av = open_av(&env);
	(void)cf_addr(env.info, addr, PORT);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 1ULL << 3, NULL), -FI_EBADFLAGS);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, FI_MORE, NULL), 1);
	CHECK_EQ(out, 0);
	(void)cf_addr(env.info, addr, PORT + 1);
	CHECK_EQ(fi_av_insert(av, addr, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 1);
	close_av(&env, av);
}

static void a_table_needs_no_output(void)
{
	struct fid_av *av;
	struct cf_env env;
	void *addrs;

	av = open_av(&env);
	addrs = cf_addrs(env.info, PORT, 2);
	CHECK_EQ(fi_av_insert(av, addrs, 2, NULL, 0, NULL), 2);
	CHECK_EQ(port_at(av, 1), PORT + 1);
	free(addrs);
	close_av(&env, av);
}

static void by_node_and_service(void)
{
	fi_addr_t out = 9;
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	(void)cf_ip_addr(env.info, (char[64]){ 0 }, 0);
	CHECK_EQ(fi_av_insertsvc(av, cf_loopback(), "21000", &out, 0, NULL), 1);
	CHECK_EQ(out, 0);
	CHECK_EQ(port_at(av, 0), PORT);
	CHECK(fi_av_insertsvc(av, cf_loopback(), "no-such-service", &out, 0, NULL) < 1);
	CHECK(fi_av_insertsvc(av, NULL, NULL, &out, 0, NULL) < 1);
	close_av(&env, av);
}

static void symmetric_services_vary_fastest(void)
{
	const char *node;
	fi_addr_t out[6];
	struct fid_av *av;
	struct cf_env env;
	char back[64];
	size_t len;

	av = open_av(&env);
	(void)cf_ip_addr(env.info, back, 0);
	if (env.info->addr_format != FI_SOCKADDR_IN)
		SKIP("numbers nodes of IPv4");
	node = "127.0.0.1";
	CHECK_EQ(fi_av_insertsym(av, node, 2, "21000", 3, out, 0, NULL), 6);
	for (size_t i = 0; i < CF_COUNT(out); i++) {
		struct sockaddr_in *in = (void *)back;

		CHECK_EQ(out[i], i);
		len = sizeof(back);
		CHECK_OK(fi_av_lookup(av, out[i], back, &len));
		CHECK_EQ(cf_ip_port(back), PORT + i % 3);
		CHECK_EQ(ntohl(in->sin_addr.s_addr), INADDR_LOOPBACK + i / 3);
	}
	close_av(&env, av);
}

static void symmetric_services_of_one_node(void)
{
	fi_addr_t out[4];
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	(void)cf_ip_addr(env.info, (char[64]){ 0 }, 0);
	CHECK_EQ(fi_av_insertsym(av, cf_loopback(), 1, "21000", 4, out, 0, NULL), 4);
	for (size_t i = 0; i < CF_COUNT(out); i++)
		CHECK_EQ(port_at(av, out[i]), PORT + i);
	close_av(&env, av);
}

static void symmetric_ranges_are_checked(void)
{
	fi_addr_t out[4];
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	(void)cf_ip_addr(env.info, (char[64]){ 0 }, 0);
	CHECK_EQ(fi_av_insertsym(
			 av, cf_loopback(), SIZE_MAX, "21000", SIZE_MAX, out, 0, NULL),
		-FI_EINVAL);
	CHECK(fi_av_insertsym(av, "localhost", 2, "21000", 2, out, 0, NULL) < 1);
	CHECK(fi_av_insertsym(av, cf_loopback(), 1, "http", 2, out, 0, NULL) < 1);
	close_av(&env, av);
}

static void names_are_no_nodes(void)
{
	fi_addr_t out = 9;
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	if (env.info->addr_format != FI_ADDR_STR)
		SKIP("is about names");
	CHECK_EQ(
		fi_av_insertsvc(av, cf_loopback(), "21000", &out, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_av_insertsym(av, cf_loopback(), 1, "21000", 1, &out, 0, NULL),
		-FI_ENOSYS);
	CHECK_EQ(out, 9);
	close_av(&env, av);
}

/* A format in front is no part of a name, nor is it needed. */
static void names_have_one_spelling(void)
{
	static const char *const same[] = { "fi_ns://weft:1", "fi_shm://weft:1",
		"weft:1", "some_thing://weft:1" };
	static const char *const bad[] = { "", "fi_shm://", "fi_ns://", "a\nb" };
	char back[64];
	size_t len = sizeof(back);
	fi_addr_t out;
	struct fid_av *av;
	struct cf_env env;

	av = open_av(&env);
	if (env.info->addr_format != FI_ADDR_STR)
		SKIP("is about names");
	for (size_t i = 0; i < CF_COUNT(same); i++) {
		CHECK_EQ(fi_av_insert(av, same[i], 1, &out, 0, NULL), 1);
		CHECK_EQ(out, 0);
	}
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		CHECK_EQ(fi_av_insert(av, bad[i], 1, &out, 0, NULL), 0);
		CHECK(out == FI_ADDR_NOTAVAIL);
	}
	CHECK_OK(fi_av_lookup(av, 0, back, &len));
	CHECK_EQ(len, strlen(back) + 1);
	CHECK_EQ(fi_av_insert(av, back, 1, &out, 0, NULL), 1);
	CHECK_EQ(out, 0);
	close_av(&env, av);
}

static void event_vectors_complete_or_are_refused(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .flags = FI_EVENT };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_entry entry;
	fi_addr_t out[3];
	struct fid_av *av;
	struct cf_env env;
	uint32_t event;
	void *addrs;
	int context, ret;

	cf_open_domain(&env, NULL);
	ret = fi_av_open(env.domain, &attr, &av, NULL);
	if (ret == -FI_ENOSYS || ret == -FI_EINVAL)
		SKIP("asynchronous insertion is not offered");
	CHECK_OK(ret);
	addrs = one_bad_of_three(&env);
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, 0, &context), -FI_ENOEQ);
	CHECK_OK(fi_eq_open(env.fabric, &eq_attr, &env.eq, NULL));
	CHECK_OK(av->fid.ops->bind(&av->fid, &env.eq->fid, 0));
	CHECK_EQ(fi_av_insert(av, addrs, 3, out, 0, &context), 0);
	/* One error for the bad address, then the number of good ones. */
	CHECK_EQ(fi_eq_sread(env.eq, &event, &entry, sizeof(entry), CF_TIMEOUT_MS, 0),
		-FI_EAVAIL);
	CHECK_EQ(fi_eq_readerr(env.eq, &err, 0), sizeof(err));
	CHECK(err.fid == &av->fid && err.context == &context);
	CHECK_EQ(err.data, 1);
	CHECK_EQ(err.err, FI_EADDRNOTAVAIL);
	CHECK_EQ(fi_eq_sread(env.eq, &event, &entry, sizeof(entry), CF_TIMEOUT_MS, 0),
		sizeof(entry));
	CHECK_EQ(event, FI_AV_COMPLETE);
	CHECK(entry.fid == &av->fid && entry.context == &context);
	CHECK_EQ(entry.data, 2);
	CHECK_EQ(fi_eq_read(env.eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	free(addrs);
	close_av(&env, av);
}

CF_SUITE(av_insert, CF_CASE(indices_count_up_across_calls, "AV-010 AV-012", 0),
	CF_CASE(inserting_nothing, "AV-013", 0),
	CF_CASE(the_same_address_again, "AV-021", 0),
	CF_CASE(a_bad_address_leaves_the_others, "AV-014 AV-020", 0),
	CF_CASE(errors_by_address, "AV-018 AV-020", 0),
	CF_CASE(a_foreign_format_is_refused, "AV-014", 0),
	CF_CASE(flags, "AV-017 AV-019", 0),
	CF_CASE(a_table_needs_no_output, "AV-015", 0),
	CF_CASE(by_node_and_service, "AV-024", 0),
	CF_CASE(symmetric_services_vary_fastest, "AV-026", 0),
	CF_CASE(symmetric_services_of_one_node, "AV-026", 0),
	CF_CASE(symmetric_ranges_are_checked, "AV-027 AV-028", 0),
	CF_CASE(names_are_no_nodes, "AV-025 AV-028", 0),
	CF_CASE(names_have_one_spelling, "AV-016 AV-034", 0),
	CF_CASE(event_vectors_complete_or_are_refused,
		"AV-043 AV-044 AV-045 AV-047 EQ-009 EQ-011 EQ-015 EQ-018", 0));
