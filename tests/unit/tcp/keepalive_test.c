/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a peer's host is taken for dead. The test provides the kernel's answers, as
 * those of tcp_sock_owes(), and the time.
 */
#include "unit.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/listen.h"

struct fi_provider tcp_fi = { .name = "tcp" };

enum { KEEPALIVE_MS = 2000, MS = 1000000 };

static struct tcp_sock_debt debt;
static bool owes;
static int failed;
static bool ended; /* the peer has closed its end */
/* The record that was queued for the peer, if there is memory for one. */
static struct tcp_tx *answer;
static int answer_kind;
static unsigned int dirty;

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
	assert_int_equal(copy_len, 0);
	answer_kind = kind;
	return answer;
}

void tcp_tx_dirty(struct tcp_conn *conn)
{
	(void)conn;
	dirty++;
}

bool tcp_rx_ended(struct tcp_conn *conn)
{
	(void)conn;
	return ended;
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
	ended = false;
	answer = NULL;
	dirty = 0;
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

/* The limit is exact: for silence, and for probes. */
static void limits(void **state)
{
	static const struct {
		uint32_t silent_ms, unacked, probes;
		bool dead;
	} rows[] = {
		{ KEEPALIVE_MS - 1, 1, 0, false },
		{ KEEPALIVE_MS, 1, 0, true },
		{ KEEPALIVE_MS, 0, 2, false },
		{ KEEPALIVE_MS, 0, 3, true },
		{ KEEPALIVE_MS - 1, 0, 3, false },
		{ KEEPALIVE_MS, 0, 0, false },
		{ 0, 1, 3, false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		failed = 0;
		/* Known to be alive so long ago. */
		f->conn.alive_ns = f->now - (uint64_t)rows[i].silent_ms * MS;
		f->ep.keepalive_ns = 0;
		look(f, 0,
			(struct tcp_sock_debt){ .unacked = rows[i].unacked,
				.probes = rows[i].probes,
				.silent_ms = rows[i].silent_ms });
		assert_int_equal(failed, rows[i].dead ? FI_ETIMEDOUT : 0);
	}
	/* One that has failed already is left alone. */
	failed = 0;
	f->conn.err = FI_EIO;
	f->ep.keepalive_ns = 0;
	look(f, 60 * KEEPALIVE_MS,
		(struct tcp_sock_debt){
			.unacked = true, .silent_ms = 60 * KEEPALIVE_MS });
	assert_int_equal(failed, 0);
}

/* How often is looked: four times within the limit, but neither all the time nor
 * hardly ever. */
static void periods(void **state)
{
	static const struct {
		int keepalive_ms, period_ms;
	} rows[] = { { 1, 10 }, { 40, 10 }, { 43, 10 }, { 44, 11 }, { 2000, 500 },
		{ 4000, 1000 }, { 4004, 1000 }, { 60000, 1000 } };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t period = (uint64_t)rows[i].period_ms * MS;

		f->ep.conf.keepalive_ms = rows[i].keepalive_ms;
		f->ep.keepalive_ns = 0;
		look(f, 1, (struct tcp_sock_debt){ .silent_ms = 0 });
		assert_int_equal(f->ep.keepalive_ns, f->now + period);
		/* Not before its turn. */
		tcp_keepalive_check(&f->ep, f->now + period - 1);
		assert_int_equal(f->ep.keepalive_ns, f->now + period);
		tcp_keepalive_check(&f->ep, f->now + period);
		assert_int_equal(f->ep.keepalive_ns, f->now + 2 * period);
		/* A sleeping thread is woken then. */
		f->ep.keepalive_ns = UINT64_MAX - 1;
		assert_int_equal(tcp_keepalive_deadline(&f->ep), UINT64_MAX - 1);
		f->ep.keepalive_ns = 0;
		assert_true(tcp_keepalive_deadline(&f->ep) >= period);
		assert_true(tcp_keepalive_deadline(&f->ep) < UINT64_MAX);
	}
}

/* Switched off, or nothing owed: no thread wakes for it. */
static void never(void **state)
{
	struct fixture *f = *state;

	f->ep.conf.keepalive_ms = 0;
	for (int i = 0; i < 10; i++)
		look(f, 60 * KEEPALIVE_MS,
			(struct tcp_sock_debt){ .unacked = true,
				.probes = 9,
				.silent_ms = 60 * KEEPALIVE_MS });
	assert_int_equal(failed, 0);
	assert_int_equal(tcp_keepalive_deadline(&f->ep), UINT64_MAX);
	f->ep.conf.keepalive_ms = KEEPALIVE_MS;
	wf_list_remove(&f->conn.owing_link);
	assert_int_equal(tcp_keepalive_deadline(&f->ep), UINT64_MAX);
}

/* ---- has the peer closed? ---- */

static void gone(void **state)
{
	static const struct {
		bool byte, ended, closed, gone;
	} rows[] = {
		{ false, false, false, false },
		{ false, true, false, false },
		{ true, false, false, false },
		{ true, true, false, true },
		{ false, false, true, true },
		{ true, false, true, false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fds[2];

		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		f->conn.watch.fd = fds[0];
		f->conn.checked_ns = 0;
		f->conn.unread = false;
		failed = 0;
		ended = rows[i].ended;
		if (rows[i].byte)
			assert_int_equal(write(fds[1], "x", 1), 1);
		if (rows[i].closed)
			close(fds[1]);
		assert_int_equal(tcp_conn_gone(&f->conn), rows[i].gone);
		assert_int_equal(failed, rows[i].gone ? FI_ECONNRESET : 0);
		assert_int_equal(f->conn.unread, rows[i].gone);
		if (!rows[i].closed)
			close(fds[1]);
		close(fds[0]);
	}
}

/* A byte for the peer, once: as a record where the peer has such records, else by the
 * kernel. */
static void probes(void **state)
{
	struct tcp_tx tx = { .op = 0 };
	struct fixture *f = *state;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), idle = 0, before;
	socklen_t len = sizeof(idle);

	assert_true(fd >= 0);
	f->conn.watch.fd = fd;
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &before, &len), 0);
	assert_true(before > 1);
	f->conn.wire.have = TCP_HAVE_PROBE;
	answer = &tx;
	f->conn.err = FI_EIO;
	tcp_conn_probe(&f->conn);
	assert_int_equal(dirty, 0);
	f->conn.err = 0;
	for (int i = 0; i < 2; i++) {
		tcp_conn_probe(&f->conn);
		assert_int_equal(dirty, 1);
		assert_int_equal(answer_kind, TCP_REC_PROBE);
		assert_int_equal(tx.rec.id, 1);
	}
	f->conn.probing = false;
	answer = NULL;
	tcp_conn_probe(&f->conn);
	assert_int_equal(dirty, 1);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &len), 0);
	assert_int_equal(idle, before);

	f->conn.wire.have = 0;
	f->conn.probing = false;
	tcp_conn_probe(&f->conn);
	assert_true(f->conn.probing);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &len), 0);
	assert_int_equal(idle, 1);
	close(fd);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(three_probes_of_a_closed_window),
		EACH(bytes_without_acknowledgement),
		EACH(an_answer_begins_the_time_anew),
		EACH(all_acknowledged),
		EACH(limits),
		EACH(periods),
		EACH(never),
		EACH(gone),
		EACH(probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
