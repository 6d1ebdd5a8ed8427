/* SPDX-License-Identifier: BSD-2-Clause */
#include "stripe_fixture.h"

#include <netinet/in.h>

/* The senders that tokens are given to, and their limits (stripe/senders.c). */

/* The time for which a sender that was greeted is not forgotten for another one. */
#define GREETED_NS UINT64_C(10000000000)

static uint64_t next_nonce = 1;

/* A HELLO of a new process with the name of a host and a port. */
static struct lnx_sender *greet(uint32_t host, uint16_t port, uint64_t nonce)
{
	struct sockaddr_in in[RAILS];
	struct lnx_name name = { .count = RAILS };
	struct lnx_stripe_msg msg = { .kind = LNX_STRIPE_HELLO, .nonce = nonce };

	for (unsigned int i = 0; i < RAILS; i++) {
		in[i] = (struct sockaddr_in){ .sin_family = AF_INET,
			.sin_port = htons((uint16_t)(port + i)) };
		in[i].sin_addr.s_addr = htonl(host + (i << 24));
		name.link[i] = (struct lnx_name_link){ .format = FI_SOCKADDR_IN,
			.len = sizeof(in[i]),
			.provider = 3,
			.addr = &in[i] };
	}
	msg.name_len = (uint8_t)lnx_name_pack(&name, msg.name);
	assert_true(msg.name_len > 0);
	return lnx_sender_get(s, &msg);
}

static uint32_t index_of(const struct lnx_sender *sender)
{
	uint32_t index = lnx_stripe_index_of(sender->token) - 1;

	assert_ptr_equal(s->sender[index], sender);
	return index;
}

static void a_list_grows(void **state)
{
	enum { COUNT = 70, NEXT_POWER = 128 };
	int numbers[COUNT];
	int **list = NULL;

	for (uint32_t i = 0; i < COUNT; i++) {
		assert_true(lnx_stripe_grow(&list, i));
		list[i] = &numbers[i];
	}
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ptr_equal(list[i], &numbers[i]);
	allocations_left = 0;
	assert_true(lnx_stripe_grow(&list, COUNT));
	assert_false(lnx_stripe_grow(&list, NEXT_POWER));
	assert_ptr_equal(list[COUNT - 1], &numbers[COUNT - 1]);
	allocations_left = UINT32_MAX;
	free(list);
}

/* A process gets the same token each time, another one another. */
static void a_process_has_one_token(void **state)
{
	struct lnx_sender *first = greet(1, 1, 7), *second = greet(1, 1, 8);

	assert_true(first && second);
	assert_ptr_equal(greet(2, 9, 7), first);
	assert_ptr_not_equal(first, second);
	assert_int_equal(s->sender_count, 2);
	assert_int_equal(s->greeted, 2);
	assert_int_equal(index_of(first), 0);
	assert_int_equal(index_of(second), 1);
	for (int i = 0; i < 2; i++) {
		struct lnx_sender *sender = i ? second : first;

		assert_int_equal(sender->nonce, 7 + i);
		assert_false(sender->proven);
		assert_true(sender->greeted_ns == now_ns);
		assert_int_equal(sender->contact.rails, 7);
		assert_int_equal(below.inserted[i], 2);
		assert_true(lnx_stripe_token_of(sender->token) == sender->token);
	}
	assert_true(first->token << 16 != second->token << 16);
}

/* Who knows the token is proven. */
static void senders_are_found_by_their_tokens(void **state)
{
	struct lnx_sender *sender = greet(1, 1, 7);
	uint64_t token = sender->token;
	const uint64_t wrong[] = {
		0,
		token ^ UINT64_C(1) << LNX_STRIPE_OP_BITS,
		token ^ UINT64_C(1) << (LNX_STRIPE_INDEX_SHIFT - 1),
		token + (UINT64_C(1) << LNX_STRIPE_INDEX_SHIFT),
		token - (UINT64_C(1) << LNX_STRIPE_INDEX_SHIFT),
		UINT64_MAX,
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(wrong); i++)
		assert_null(lnx_sender_find(s, wrong[i]));
	assert_false(sender->proven);
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(
			lnx_sender_find(s, token | LNX_STRIPE_OP_MASK), sender);
		assert_true(sender->proven);
		assert_int_equal(s->greeted, 0);
	}
}

static void senders_are_forgotten(void **state)
{
	struct lnx_sender *sender = greet(1, 1, 7);
	uint64_t token = sender->token;

	sender->contact.pending = 1;
	lnx_sender_forget(s, 0);
	assert_ptr_equal(s->sender[0], sender);
	sender->contact.pending = 0;
	sender->proven = true;
	lnx_sender_forget(s, 0);
	assert_ptr_equal(s->sender[0], sender);
	assert_int_equal(s->greeted, 1);
	sender->proven = false;
	lnx_sender_forget(s, 0);
	assert_null(s->sender[0]);
	assert_int_equal(s->greeted, 0);
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(below.inserted[i], 0);
	assert_null(lnx_sender_find(s, token));
	/* The next one has its number and another token. */
	sender = greet(1, 1, 8);
	assert_int_equal(index_of(sender), 0);
	assert_true(sender->token != token);
	assert_int_equal(s->sender_count, 1);
}

static void senders_that_are_none(void **state)
{
	const struct lnx_stripe_msg nameless = { .nonce = 5, .name_len = 3 };

	assert_null(lnx_sender_get(s, &nameless));
	for (unsigned int i = 0; i < RAILS; i++)
		below.is_unknown[i] = true;
	assert_null(greet(1, 1, 7));
	for (unsigned int i = 0; i < RAILS; i++)
		below.is_unknown[i] = false;
	/* No memory for it, or for the list. */
	for (unsigned int i = 0; i < 2; i++) {
		s->sender_count = 0;
		allocations_left = i;
		assert_null(greet(1, 1, 7));
	}
	allocations_left = UINT32_MAX;
	assert_int_equal(s->greeted, 0);
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(below.inserted[i], 0);
	assert_non_null(greet(1, 1, 7));
}

/* The limits: how many senders with one name, of one host, and not proven. */
static const struct {
	unsigned int max;
	bool one_host, one_name;
	bool counts_proven;
} limits[] = {
	{ LNX_STRIPE_NAME_SENDERS_MAX, true, true, true },
	{ LNX_STRIPE_HOST_SENDERS_MAX, true, false, true },
	{ LNX_STRIPE_GREETED_MAX, false, false, false },
};

static struct lnx_sender *greet_for(unsigned int limit, unsigned int i, uint64_t nonce)
{
	return greet(limits[limit].one_host ? 1 : 1 + i,
		(uint16_t)(limits[limit].one_name ? 1 : 1 + i), nonce);
}

/* Fill a limit with senders. Those of the host's limit are proven, because there may be
 * fewer others. */
static void fill_limit(unsigned int limit)
{
	bool proven = limits[limit].max > LNX_STRIPE_GREETED_MAX;

	for (unsigned int i = 0; i < limits[limit].max; i++) {
		struct lnx_sender *sender = greet_for(limit, i, next_nonce++);

		assert_non_null(sender);
		if (proven)
			(void)lnx_sender_find(s, sender->token);
		now_ns += 1000;
	}
}

/* A limit that is reached: nobody is forgotten that is young, proven or has an answer
 * under way; of the others it is the oldest. */
static void senders_are_limited(void **state)
{
	for (unsigned int limit = 0; limit < WF_ARRAY_SIZE(limits); limit++) {
		unsigned int max = limits[limit].max;
		uint64_t first_ns;

		(void)open_stripe(state);
		first_ns = now_ns;
		fill_limit(limit);
		/* Two of them can be forgotten, the second is older. */
		for (unsigned int i = 0; i < max; i++) {
			s->sender[i]->contact.pending = 1;
			if (i == 5 || i == 8) {
				s->greeted += s->sender[i]->proven;
				s->sender[i]->proven = false;
				s->sender[i]->contact.pending = 0;
			}
		}
		s->sender[5]->greeted_ns = first_ns + 2;
		s->sender[8]->greeted_ns = first_ns + 1;
		now_ns = first_ns + GREETED_NS;
		assert_null(greet_for(limit, max, next_nonce));
		/* Another name, host, or a proven one is not concerned. */
		if (limits[limit].one_host)
			assert_non_null(greet(77, 1, next_nonce++));
		now_ns = first_ns + 1 + GREETED_NS;
		assert_int_equal(index_of(greet_for(limit, max, next_nonce++)), 8);
		/* It is young, and the other one is, too. */
		assert_null(greet_for(limit, max + 1, next_nonce));
		now_ns = first_ns + 2 + GREETED_NS;
		assert_int_equal(index_of(greet_for(limit, max + 1, next_nonce++)), 5);
		now_ns += 2 * GREETED_NS;
		assert_int_equal(index_of(greet_for(limit, max + 2, next_nonce++)), 8);
		(void)close_stripe(state);
	}
	(void)open_stripe(state);
}

/* Proven senders count with their name and host, and not among those that are not. */
static void proven_senders_are_kept(void **state)
{
	for (unsigned int limit = 0; limit < WF_ARRAY_SIZE(limits); limit++) {
		struct lnx_sender *sender;

		(void)open_stripe(state);
		fill_limit(limit);
		for (uint32_t i = 0; i < s->sender_count; i++)
			(void)lnx_sender_find(s, s->sender[i]->token);
		assert_int_equal(s->greeted, 0);
		now_ns += 2 * GREETED_NS;
		sender = greet_for(limit, limits[limit].max, next_nonce++);
		assert_int_equal(sender == NULL, limits[limit].counts_proven);
		assert_int_equal(s->sender_count,
			limits[limit].max + !limits[limit].counts_proven);
		(void)close_stripe(state);
	}
	(void)open_stripe(state);
}

/* A number has 16 bits, and 0 is none. */
static void numbers_are_limited(void **state)
{
	static struct lnx_sender other = { .proven = true, .name_hash = 1 };

	s->sender = calloc(65536, sizeof(*s->sender));
	assert_non_null(s->sender);
	s->sender_count = LNX_STRIPE_SENDERS_MAX;
	for (uint32_t i = 0; i < s->sender_count; i++)
		s->sender[i] = &other;
	assert_null(greet(1, 1, 7));
	s->sender[LNX_STRIPE_SENDERS_MAX - 1] = NULL;
	assert_int_equal(lnx_stripe_index_of(greet(1, 1, 7)->token), 65535);
	free(s->sender[LNX_STRIPE_SENDERS_MAX - 1]);
	s->sender_count = 0;
}

/* Hosts are told by the address of the first private endpoint, of either family. */
static void hosts_are_told_by_their_addresses(void **state)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(5) };
	struct lnx_name name = { 1,
		{ { .format = FI_SOCKADDR_IN6, .len = sizeof(in6), .addr = &in6 } } };
	struct lnx_stripe_msg msg = { .kind = LNX_STRIPE_HELLO };
	uint64_t hash[3];

	assert_true(greet(5, 1, 100)->host_hash == greet(5, 2, 101)->host_hash);
	assert_true(s->sender[0]->host_hash != greet(6, 1, 102)->host_hash);
	assert_true(s->sender[0]->name_hash != s->sender[1]->name_hash);
	assert_true(s->sender[0]->name_hash == greet(5, 1, 103)->name_hash);
	for (int i = 0; i < 3; i++) {
		/* The last byte of the address; the port. */
		in6.sin6_addr.s6_addr[15] = i == 1;
		in6.sin6_port = htons((uint16_t)(5 + i));
		msg.name_len = (uint8_t)lnx_name_pack(&name, msg.name);
		msg.nonce = 200 + (uint64_t)i;
		hash[i] = lnx_sender_get(s, &msg)->host_hash;
	}
	assert_true(hash[0] != hash[1]);
	assert_true(hash[0] == hash[2]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_stripe, close_stripe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_list_grows),
		CASE(a_process_has_one_token),
		CASE(senders_are_found_by_their_tokens),
		CASE(senders_are_forgotten),
		CASE(senders_that_are_none),
		cmocka_unit_test_teardown(senders_are_limited, close_stripe),
		cmocka_unit_test_teardown(proven_senders_are_kept, close_stripe),
		CASE(numbers_are_limited),
		CASE(hosts_are_told_by_their_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
