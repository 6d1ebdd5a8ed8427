/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a peer's host is taken for dead. The test provides the kernel's answers, as
 * those of tcp_sock_owes(), and the time.
 */
#include "unit.h"

#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/listen.h"

struct fi_provider tcp_fi = { .name = "tcp" };

enum { KEEPALIVE_MS = 2000, MS = 1000000 };

static struct tcp_sock_debt debt;
static bool owes;
static int failed;

/* Stand-ins of the rest of the provider. */

bool tcp_sock_owes(int fd, struct tcp_sock_debt *ret)
{
	(void)fd;
	*ret = debt;
	return owes;
}

void tcp_conn_fail(struct tcp_conn *conn, int err)
{
	(void)conn;
	failed = err;
}

struct tcp_tx *tcp_tx_answer(struct tcp_conn *conn, uint8_t kind, size_t copy_len)
{
	(void)conn;
	(void)kind;
	(void)copy_len;
	return NULL;
}

void tcp_tx_dirty(struct tcp_conn *conn)
{
	(void)conn;
}

bool tcp_rx_ended(struct tcp_conn *conn)
{
	(void)conn;
	return false;
}

struct fixture {
	struct tcp_ep ep;
	struct tcp_conn conn;
	uint64_t now; /* in nanoseconds */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->ep.conf.keepalive_ms = KEEPALIVE_MS;
	wf_list_init(&f->ep.owing);
	f->conn.ep = &f->ep;
	f->now = (uint64_t)1000 * MS;
	wf_list_init(&f->conn.owing_link);
	tcp_conn_owes(&f->conn);
	owes = true;
	failed = 0;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* So much later the kernel says this of the socket. */
static void look(struct fixture *f, unsigned int ms, struct tcp_sock_debt now)
{
	f->now += (uint64_t)ms * MS;
	debt = now;
	tcp_keepalive_check(&f->ep, f->now);
}

/* Silence proves nothing about a peer that does not read: the kernel probes it at
 * growing intervals. Three probes without an answer are a proof. */
static void three_probes_of_a_closed_window(void **state)
{
	struct fixture *f = *state;

	for (unsigned int probes = 0; probes < 3; probes++) {
		look(f, KEEPALIVE_MS,
			(struct tcp_sock_debt){
				.probes = probes, .silent_ms = 60 * KEEPALIVE_MS });
		assert_int_equal(failed, 0);
	}
	look(f, KEEPALIVE_MS,
		(struct tcp_sock_debt){ .probes = 3, .silent_ms = 60 * KEEPALIVE_MS });
	assert_int_equal(failed, FI_ETIMEDOUT);
}

static void bytes_without_acknowledgement(void **state)
{
	const struct tcp_sock_debt silent = { .unacked = true,
		.silent_ms = 60 * KEEPALIVE_MS };
	struct fixture *f = *state;

	look(f, 0, silent);
	look(f, KEEPALIVE_MS - 1, silent);
	assert_int_equal(failed, 0);
	/* Not before its turn. */
	look(f, 1, silent);
	assert_int_equal(failed, 0);
	look(f, KEEPALIVE_MS, silent);
	assert_int_equal(failed, FI_ETIMEDOUT);
}

/* If it acknowledges anything, it is alive. */
static void an_answer_begins_the_time_anew(void **state)
{
	struct fixture *f = *state;

	look(f, 0, (struct tcp_sock_debt){ .unacked = true });
	for (int i = 0; i < 10; i++)
		look(f, KEEPALIVE_MS,
			(struct tcp_sock_debt){ .unacked = true, .silent_ms = 10 });
	assert_int_equal(failed, 0);
	look(f, KEEPALIVE_MS,
		(struct tcp_sock_debt){
			.unacked = true, .silent_ms = KEEPALIVE_MS + 10 });
	assert_int_equal(failed, FI_ETIMEDOUT);
}

/* What was owed before is no part of the next silence. */
static void all_acknowledged(void **state)
{
	const struct tcp_sock_debt silent = { .unacked = true,
		.silent_ms = 60 * KEEPALIVE_MS };
	struct fixture *f = *state;

	look(f, 0, silent);
	owes = false;
	look(f, KEEPALIVE_MS / 2, silent);
	assert_true(wf_list_empty(&f->ep.owing));
	tcp_conn_owes(&f->conn);
	owes = true;
	look(f, KEEPALIVE_MS, silent);
	assert_int_equal(failed, 0);
	look(f, KEEPALIVE_MS, silent);
	assert_int_equal(failed, FI_ETIMEDOUT);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(three_probes_of_a_closed_window),
		EACH(bytes_without_acknowledgement),
		EACH(an_answer_begins_the_time_anew),
		EACH(all_acknowledged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
