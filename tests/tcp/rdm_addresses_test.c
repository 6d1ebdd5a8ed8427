/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that is in the AV by two addresses, of one endpoint that listens at all
 * addresses of its host: both reach it.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../rdm_end.h"
#include "../time_limits.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { LEN = 4 };

static void open_at(struct rdm_end *end, const char *host)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->fabric_attr->prov_name = strdup("tcp");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_SOURCE;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 0), host, NULL, FI_SOURCE, hints, &info), 0);
	fi_freeinfo(hints);
	rdm_end_open(end, info, 0, FI_WAIT_NONE);
}

static fi_addr_t insert(struct rdm_end *end, const char *host, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = port };
	fi_addr_t ret;

	assert_int_equal(inet_pton(AF_INET, host, &addr.sin_addr), 1);
	assert_int_equal(fi_av_insert(end->av, &addr, 1, &ret, 0, NULL), 1);
	return ret;
}

/* One completion of @end, if there is one. */
static bool read_one(struct rdm_end *end, fi_addr_t *ret_source)
{
	struct fi_cq_tagged_entry entry;
	ssize_t n = fi_cq_readfrom(end->cq, &entry, 1, ret_source);

	assert_true(n == 1 || n == -FI_EAGAIN);
	return n == 1;
}

/* A message to @addr arrives; returns its source. */
static fi_addr_t deliver(struct rdm_end *from, struct rdm_end *to, fi_addr_t addr)
{
	time_t end = now_s() + (time_t)limit_s(20);
	bool sent = false, received = false;
	char out[LEN] = "abc", in[LEN] = "";
	fi_addr_t source = FI_ADDR_NOTAVAIL, none;
	struct fi_context2 tx, rx;

	assert_int_equal(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 7, 0, &rx), 0);
	assert_int_equal(fi_tsend(from->ep, out, LEN, NULL, addr, 7, &tx), 0);
	while (!sent || !received) {
		sent |= read_one(from, &none);
		received |= read_one(to, &source);
		assert_true(now_s() < end);
	}
	assert_memory_equal(in, out, LEN);
	return source;
}

struct both {
	struct rdm_end host, peer;
	/* The peer's indices of the host's addresses, and the host's of the peer. */
	fi_addr_t one, two, back;
};

static void open_both(struct both *both)
{
	open_at(&both->host, "0.0.0.0");
	open_at(&both->peer, "127.0.0.1");
	both->one = insert(&both->peer, "127.0.0.1", both->host.addr.sin_port);
	both->two = insert(&both->peer, "127.0.0.2", both->host.addr.sin_port);
	both->back = insert(&both->host, "127.0.0.1", both->peer.addr.sin_port);
}

static void close_both(struct both *both)
{
	rdm_end_close(&both->peer);
	rdm_end_close(&both->host);
}

static void both_addresses_reach_it(void **state)
{
	struct both both;

	(void)state;
	open_both(&both);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(deliver(&both.peer, &both.host, both.one), both.back);
		assert_int_equal(deliver(&both.peer, &both.host, both.two), both.back);
	}
	/* Answers come over the first connection. */
	assert_int_equal(deliver(&both.host, &both.peer, both.back), both.one);
	close_both(&both);
}

/* The address that the answers came from is removed, which ends its connection: when
 * the host has noticed that, it uses the other one. */
static void one_address_is_enough(void **state)
{
	time_t end = now_s() + (time_t)limit_s(20);
	struct both both;

	(void)state;
	open_both(&both);
	(void)deliver(&both.peer, &both.host, both.one);
	(void)deliver(&both.peer, &both.host, both.two);
	assert_int_equal(fi_av_remove(both.peer.av, &both.one, 1, 0), 0);
	assert_int_equal(deliver(&both.peer, &both.host, both.two), both.back);
	while (deliver(&both.host, &both.peer, both.back) != both.two)
		assert_true(now_s() < end);
	close_both(&both);
}

/* Known by an address that is not the first of its host. */
static void the_second_address_alone(void **state)
{
	struct both both;

	(void)state;
	open_both(&both);
	assert_int_equal(deliver(&both.peer, &both.host, both.two), both.back);
	assert_int_equal(deliver(&both.host, &both.peer, both.back), both.two);
	close_both(&both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_addresses_reach_it),
		cmocka_unit_test(one_address_is_enough),
		cmocka_unit_test(the_second_address_alone),
	};

	(void)unsetenv("FI_TCP_IFACE");
	(void)setenv("FI_AV_REMOVE_CLEANUP", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
