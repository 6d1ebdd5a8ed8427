/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When injected messages leave: no thread has to make progress for them. A message that
 * was sent has arrived at once, because both ends are on one machine; so a message that
 * has not arrived is waiting.
 */
#include "raw_rdm.h"

enum { RECORD = 28, ALONE = 16, MORE = 8 };

/* A peer that has connected and was not sent anything. */
static int connect_peer(struct rdm *rdm, fi_addr_t *ret_addr)
{
	struct sockaddr_in name = rdm->t.name;
	int fd = rdm_connect(rdm, VERSION_1);

	name.sin_port = htons((uint16_t)(rdm->next_port - 1));
	assert_int_equal(fi_av_insert(rdm->t.av, &name, 1, ret_addr, 0, NULL), 1);
	return fd;
}

static void inject(struct rdm *rdm, fi_addr_t addr, int count)
{
	for (int i = 0; i < count; i++)
		assert_int_equal(fi_tinject(rdm->t.ep, "abcd", 4, addr, 1), 0);
}

/* So many messages are there, and not more. */
static void expect_there(int fd, int count)
{
	uint8_t got[RECORD * 4 * ALONE];
	size_t want = (size_t)count * RECORD;

	assert_true(want <= sizeof(got));
	if (want)
		assert_int_equal(recv(fd, got, want, MSG_WAITALL), want);
	assert_int_equal(recv(fd, got, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* An application that never reads its queue need not do so. */
static void all_leave_where_nobody_polls(void **state)
{
	struct rdm *rdm = *state;
	fi_addr_t addr;
	int fd = connect_peer(rdm, &addr);

	inject(rdm, addr, 3 * ALONE);
	expect_there(fd, 3 * ALONE);
	close(fd);
}

/* Nor need an application whose messages are acknowledged: no completion is written. */
static void all_leave_with_a_level(void **state)
{
	uint64_t flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE, none = FI_TRANSMIT;
	struct rdm *rdm = *state;
	fi_addr_t addr;
	int fd = connect_peer(rdm, &addr);

	assert_int_equal(fi_control(&rdm->t.ep->fid, FI_SETOPSFLAG, &flags), 0);
	inject(rdm, addr, ALONE);
	expect_there(fd, ALONE);
	assert_int_equal(fi_control(&rdm->t.ep->fid, FI_SETOPSFLAG, &none), 0);
	close(fd);
}

static void a_stream_leaves_together(void **state)
{
	struct rdm *rdm = *state;
	fi_addr_t addr;
	int fd = connect_peer(rdm, &addr);

	inject(rdm, addr, 1);
	expect_there(fd, 1);
	for (int round = 0; round < 3; round++) {
		drive(&rdm->t);
		inject(rdm, addr, ALONE + MORE);
		expect_there(fd, ALONE);
		drive(&rdm->t);
		expect_there(fd, MORE);
	}
	close(fd);
}

/* However many there were before. */
static void a_lone_one_leaves_at_once(void **state)
{
	struct rdm *rdm = *state;
	fi_addr_t addr;
	int fd = connect_peer(rdm, &addr);

	for (int round = 0; round < 3 * ALONE; round++) {
		inject(rdm, addr, 1);
		expect_there(fd, 1);
		drive(&rdm->t);
	}
	close(fd);
}

/* One with a completion takes its turn behind them, and those behind it wait. */
static void order_is_kept(void **state)
{
	struct rdm *rdm = *state;
	fi_addr_t addr;
	int fd = connect_peer(rdm, &addr);
	uint64_t tag = 0;

	inject(rdm, addr, 1);
	expect_there(fd, 1);
	drive(&rdm->t);
	for (int i = 0; i < 3 * ALONE; i++, tag++) {
		if (i % 5)
			assert_int_equal(
				fi_tinject(rdm->t.ep, "abcd", 4, addr, tag), 0);
		else
			assert_int_equal(
				fi_tsend(rdm->t.ep, "abcd", 4, NULL, addr, tag, NULL),
				0);
	}
	drive(&rdm->t);
	for (tag = 0; tag < 3 * ALONE; tag++) {
		struct bytes got = raw_recv(&rdm->t, fd, RECORD);

		assert_int_equal(got.len, RECORD);
		assert_int_equal(got.at[16], tag);
	}
	close(fd);
}

/* A second endpoint of the same domain, which a case closes itself. */
static void open_second(const struct rdm *rdm, struct rdm *second)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	size_t len = sizeof(second->t.name);

	*second = (struct rdm){ .t = rdm->t, .next_port = 2000 };
	assert_int_equal(
		fi_cq_open(second->t.domain, &cq_attr, &second->t.cq, NULL), 0);
	assert_int_equal(
		fi_av_open(second->t.domain, &av_attr, &second->t.av, NULL), 0);
	assert_int_equal(
		fi_endpoint(second->t.domain, second->t.info, &second->t.ep, NULL), 0);
	assert_int_equal(
		fi_ep_bind(second->t.ep, &second->t.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(second->t.ep, &second->t.av->fid, 0), 0);
	assert_int_equal(fi_enable(second->t.ep), 0);
	assert_int_equal(fi_getname(&second->t.ep->fid, &second->t.name, &len), 0);
}

/* What is left of it behind its endpoint. */
static void close_second(struct rdm *second)
{
	assert_int_equal(fi_close(&second->t.av->fid), 0);
	assert_int_equal(fi_close(&second->t.cq->fid), 0);
}

/* Nor does an endpoint take with it what was injected before it closed. */
static void closing_sends_the_rest(void **state)
{
	uint8_t got[RECORD * MORE + 1];
	struct rdm second;
	fi_addr_t addr;
	int fd;

	open_second(*state, &second);
	fd = connect_peer(&second, &addr);
	inject(&second, addr, 1);
	drive(&second.t);
	inject(&second, addr, ALONE + MORE);
	expect_there(fd, 1 + ALONE);
	assert_int_equal(fi_close(&second.t.ep->fid), 0);
	assert_int_equal(recv(fd, got, sizeof(got), MSG_WAITALL), RECORD * MORE);
	close(fd);
	close_second(&second);
}

/* Bytes that come until the other end closes. */
static size_t count_rest(int fd)
{
	uint8_t got[4096];
	size_t count = 0;
	ssize_t n;

	while ((n = recv(fd, got, sizeof(got), 0)) > 0)
		count += (size_t)n;
	return count;
}

/*
 * The kernel continues sending for a socket that was closed, unless the socket has
 * unread bytes. Here that is the rest of a message that is too long to be kept, and the
 * peer's window is closed: what was injected waits in the kernel.
 */
static void closing_leaves_nothing_unread(void **state)
{
	enum { COUNT = 1200, LEN = 128, EACH_LEN = 24 + LEN };
	static const char text[LEN];
	struct rdm second;
	fi_addr_t addr;
	int fd;

	open_second(*state, &second);
	fd = connect_peer(&second, &addr);
	raw_hex(fd, "03 01 0400 00 00 18 00 1900000400000000 0100000000000000");
	drive(&second.t);
	raw_hex(fd, "6162636465666768");
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(fi_tinject(second.t.ep, text, LEN, addr, 1), 0);
	assert_int_equal(setenv("FI_FLUSH_TIMEOUT", "0", 1), 0);
	assert_int_equal(fi_close(&second.t.ep->fid), 0);
	assert_int_equal(unsetenv("FI_FLUSH_TIMEOUT"), 0);
	assert_int_equal(count_rest(fd), COUNT * EACH_LEN);
	close(fd);
	close_second(&second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(all_leave_where_nobody_polls),
		EACH(all_leave_with_a_level),
		EACH(a_stream_leaves_together),
		EACH(a_lone_one_leaves_at_once),
		EACH(order_is_kept),
		EACH(closing_sends_the_rest),
		EACH(closing_leaves_nothing_unread),
	};

	/* What is held back leaves with the next step of the test. */
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
