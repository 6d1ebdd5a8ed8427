/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Node, service, sources and addresses in the formats of the members: names_test LINKS,
 * with tcp over the loopback interface among them (GI-030, AV-001).
 */
#include "lnx_pair.h"

static const char node[] = "127.0.0.1";
static const char *links;

static bool has_shm(void)
{
	return strstr(links, "shm") != NULL;
}

/* Does a socket listen there? */
static bool listens(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool connected = !connect(fd, (void *)&in, sizeof(in));

	(void)close(fd);
	return connected;
}

static void port_text(uint16_t port, char text[8])
{
	(void)snprintf(text, 8, "%u", port);
}

static void source_port_is_bound(void **state)
{
	uint16_t port = free_port();
	struct rdm_end end;
	char service[8];

	(void)state;
	port_text(port, service);
	assert_false(listens(port));
	rdm_end_open(&end, lnx_info(FI_FORMAT_UNSPEC, node, service, FI_SOURCE), 0,
		FI_WAIT_NONE);
	assert_non_null(end.info->src_addr);
	assert_true(listens(port));
	rdm_end_close(&end);
	assert_false(listens(port));
	rdm_end_open(&end, lnx_info(FI_FORMAT_UNSPEC, NULL, service, FI_SOURCE), 0,
		FI_WAIT_NONE);
	assert_true(listens(port));
	rdm_end_close(&end);
}

static void source_of_hints_is_bound(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(free_port()),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const uint32_t formats[] = { FI_FORMAT_UNSPEC, FI_SOCKADDR_IN };
	struct fi_info *hints, *info;
	struct rdm_end end;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		hints = lnx_hints(formats[i]);
		hints->src_addr = malloc(sizeof(in));
		memcpy(hints->src_addr, &in, sizeof(in));
		hints->src_addrlen = sizeof(in);
		assert_int_equal(
			fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), 0);
		fi_freeinfo(hints);
		assert_int_equal(info->addr_format, formats[i]);
		rdm_end_open(&end, info, 0, FI_WAIT_NONE);
		assert_true(listens(ntohs(in.sin_port)));
		rdm_end_close(&end);
	}
}

/* What fi_getinfo answers for a peer is inserted, and reaches it. */
static void named_peer_is_reached(void **state)
{
	struct rdm_end server, client;
	struct fi_info *info;
	fi_addr_t addr, back;
	char service[8];

	(void)state;
	port_text(free_port(), service);
	rdm_end_open(&server, lnx_info(FI_FORMAT_UNSPEC, node, service, FI_SOURCE), 0,
		FI_WAIT_NONE);
	info = lnx_info(FI_FORMAT_UNSPEC, node, service, 0);
	assert_non_null(info);
	assert_non_null(info->dest_addr);
	assert_null(info->src_addr);
	rdm_end_open(&client, fi_dupinfo(info), 0, FI_WAIT_NONE);
	addr = end_insert(&client, info->dest_addr);
	back = end_insert(&server, client.name);
	(void)exchange(&client, addr, &server, 1);
	(void)exchange(&server, back, &client, 2);
	fi_freeinfo(info);
	rdm_end_close(&client);
	rdm_end_close(&server);
}

static void unknown_names_find_nothing(void **state)
{
	struct fi_info *hints, *info;

	(void)state;
	/* An address that this machine does not have; a service that is none. */
	assert_null(lnx_info(FI_FORMAT_UNSPEC, "192.0.2.1", "7471", FI_SOURCE));
	assert_null(lnx_info(FI_FORMAT_UNSPEC, node, "70000", 0));
	/* No member has such addresses. */
	assert_null(lnx_info(FI_ADDR_EFA, NULL, NULL, 0));
	assert_null(lnx_info(FI_SOCKADDR_IN6, NULL, NULL, 0));
	hints = lnx_hints(FI_FORMAT_UNSPEC);
	hints->dest_addr = strdup("garbage");
	hints->dest_addrlen = 8;
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void socket_addresses(void **state)
{
	struct rdm_end a, b;
	struct sockaddr_in *name = (void *)b.name, found;
	size_t len = sizeof(found);
	fi_addr_t to_b, to_a;

	(void)state;
	rdm_end_open(&a, lnx_info(FI_SOCKADDR_IN, NULL, NULL, 0), 0, FI_WAIT_NONE);
	rdm_end_open(
		&b, lnx_info(FI_SOCKADDR_IN, node, NULL, FI_SOURCE), 0, FI_WAIT_NONE);
	assert_int_equal(a.info->addr_format, FI_SOCKADDR_IN);
	assert_int_equal(b.name_len, sizeof(*name));
	assert_int_equal(name->sin_family, AF_INET);
	assert_int_not_equal(name->sin_port, 0);
	to_b = end_insert(&a, b.name);
	to_a = end_insert(&b, a.name);
	assert_int_equal(exchange(&a, to_b, &b, 1), to_a);
	assert_int_equal(exchange(&b, to_a, &a, 2), to_b);
	assert_int_equal(fi_av_lookup(a.av, to_b, &found, &len), 0);
	assert_int_equal(len, sizeof(found));
	assert_int_equal(found.sin_port, name->sin_port);
	rdm_end_close(&a);
	rdm_end_close(&b);
}

static void text_addresses(void **state)
{
	struct fi_info *info;
	struct sockaddr_in *in;
	char text[NAME_ROOM], found[NAME_ROOM];
	size_t len = sizeof(found);
	struct rdm_end a, b, c;
	fi_addr_t to_b, to_c;

	(void)state;
	rdm_end_open(&a, lnx_info(FI_ADDR_STR, NULL, NULL, 0), 0, FI_WAIT_NONE);
	rdm_end_open(&b, lnx_info(FI_ADDR_STR, NULL, NULL, 0), 0, FI_WAIT_NONE);
	/* All of its links, as text. */
	assert_int_equal(strncmp((char *)b.name, "fi_lnx://", 9), 0);
	assert_int_equal(b.name_len, strlen((char *)b.name) + 1);
	to_b = end_insert(&a, b.name);
	(void)exchange(&a, to_b, &b, 1);
	assert_int_equal(fi_av_lookup(a.av, to_b, found, &len), 0);
	assert_string_equal(found, (char *)b.name);
	/* A member's. */
	info = lnx_info(FI_SOCKADDR_IN, node, NULL, FI_SOURCE);
	rdm_end_open(&c, info, 0, FI_WAIT_NONE);
	in = (void *)c.name;
	(void)snprintf(text, sizeof(text), "fi_sockaddr_in://127.0.0.1:%u",
		ntohs(in->sin_port));
	to_c = end_insert(&a, text);
	(void)exchange(&a, to_c, &c, 2);
	/* None. */
	assert_int_equal(
		fi_av_insert(a.av, "fi_sockaddr_in://host", 1, &to_c, 0, NULL), 0);
	assert_int_equal(fi_av_insert(a.av, "fi_lnx://7", 1, &to_c, 0, NULL), 0);
	if (!has_shm())
		assert_int_equal(
			fi_av_insert(a.av, "fi_shm://x", 1, &to_c, 0, NULL), 0);
	rdm_end_close(&a);
	rdm_end_close(&b);
	rdm_end_close(&c);
}

/* Another endpoint with the same source has the same name, and what inserted that
 * before reaches it. */
static void restarted_peer_is_found(void **state)
{
	uint8_t name[NAME_ROOM];
	struct rdm_end server, client;
	struct fi_info *info;
	fi_addr_t by_name, by_port;
	char service[8];
	size_t len;

	(void)state;
	port_text(free_port(), service);
	rdm_end_open(&server, lnx_info(FI_FORMAT_UNSPEC, node, service, FI_SOURCE), 0,
		FI_WAIT_NONE);
	len = server.name_len;
	memcpy(name, server.name, len);
	info = lnx_info(FI_FORMAT_UNSPEC, node, service, 0);
	rdm_end_open(&client, info, 0, FI_WAIT_NONE);
	by_port = end_insert(&client, info->dest_addr);
	by_name = end_insert(&client, name);
	for (uint64_t i = 0; i < 3; i++) {
		(void)exchange(&client, by_name, &server, 10 + i);
		(void)exchange(&client, by_port, &server, 20 + i);
		rdm_end_close(&server);
		rdm_end_open(&server,
			lnx_info(FI_FORMAT_UNSPEC, node, service, FI_SOURCE), 0,
			FI_WAIT_NONE);
		assert_int_equal(server.name_len, len);
		assert_memory_equal(server.name, name, len);
	}
	(void)exchange(&client, by_name, &server, 30);
	rdm_end_close(&client);
	rdm_end_close(&server);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source_port_is_bound),
		cmocka_unit_test(source_of_hints_is_bound),
		cmocka_unit_test(named_peer_is_reached),
		cmocka_unit_test(unknown_names_find_nothing),
		cmocka_unit_test(socket_addresses),
		cmocka_unit_test(text_addresses),
		cmocka_unit_test(restarted_peer_is_found),
	};

	links = argc > 1 ? argv[1] : "shm+tcp:lo";
	(void)setenv("FI_LNX_PROV_LINKS", links, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
