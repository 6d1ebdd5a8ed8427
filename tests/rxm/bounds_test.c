/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EPA-034. Peers of an endpoint of tcp;ofi_rxm that send too much, or do not read what
 * they asked for: the memory that all of them together make the endpoint use is
 * bounded, and nobody else is affected.
 */
#include "raw.h"

#include "../resident.h"
#include "../sanitizer.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

enum {
	LIMIT = 1 << 20,
	ENOUGH = 2 << 20,
	/* Sockets, packets that were read before a connection was held, and one message
	 * for each peer. */
	SLACK = 20 << 20,
	STRANGERS = 24,
	KEY = 0x5eed,
	REGION = 8192,
	PACKET_MAX = CORE_LEN + HDR_LEN + 16384,
};

struct flood {
	const char *text; /* A packet, or with @raw a message of tcp. */
	size_t payload_len;
	bool raw, numbered; /* Each packet has a message id of its own. */
	size_t enough;      /* Bytes of one stranger. */
};

/* Write the next packet or message. Returns its length. */
static size_t write_raw(uint8_t *to, const struct flood *flood)
{
	struct bytes head = hex(flood->text);

	memcpy(to, head.at, head.len);
	memset(to + head.len, 'x', flood->payload_len);
	return head.len + flood->payload_len;
}

/* Write the packet @text with the connection's id and @payload_len bytes behind it.
 * Returns its length. */
static size_t write_packet(
	uint8_t *to, uint64_t id, const char *text, size_t payload_len, uint64_t number)
{
	enum { ID_AT = 8, MSG_AT = 16 };
	struct bytes core = hex("03 00 0000 00 00 10 00 0000000000000000");
	struct bytes body = hex(text);
	uint64_t total = core.len + body.len + payload_len;

	memcpy(core.at + 8, &total, sizeof(total));
	memcpy(body.at + ID_AT, &id, sizeof(id));
	if (number)
		memcpy(body.at + MSG_AT, &number, sizeof(number));
	memcpy(to, core.at, core.len);
	memcpy(to + core.len, body.at, body.len);
	memset(to + core.len + body.len, 'x', payload_len);
	return total;
}

/* Packets, until the endpoint reads no more of them. */
static void send_flood(
	struct rdm_end *env, int fd, uint64_t id, const struct flood *flood)
{
	enum { IDLE = 30 };
	static uint8_t packet[PACKET_MAX];
	struct fi_cq_tagged_entry entry;
	size_t len = 0, at = 0, sent = 0;
	uint64_t number = 0;

	for (int idle = 0; idle < IDLE && sent < flood->enough;) {
		ssize_t n;

		if (at == len) {
			number++;
			len = flood->raw ? write_raw(packet, flood)
					 : write_packet(packet, id, flood->text,
						   flood->payload_len,
						   flood->numbered ? number : 0);
			at = 0;
		}
		n = send(fd, packet + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			idle++;
			assert_int_equal(step(env, &entry), 0);
		} else {
			idle = 0;
			at += (size_t)n;
			sent += (size_t)n;
		}
	}
	for (int i = 0; i < IDLE; i++)
		assert_int_equal(step(env, &entry), 0);
}

/* A message of 4 bytes gets through. */
static void good_message(struct rdm_end *env)
{
	struct fi_cq_tagged_entry entry;
	char buf[8] = { 0 };
	uint64_t id;
	int fd = join(env, &id), ret;

	assert_int_equal(
		fi_trecv(env->ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 9, 0, buf),
		0);
	packet(fd, id, TAGGED("0400000000000000", "0900000000000000") "61626364");
	while (!(ret = step(env, &entry)))
		;
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, buf);
	assert_memory_equal(buf, "abcd", 4);
	close(fd);
}

static void set_small(int fd)
{
	int small = 65536;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
}

static void check(const struct flood *flood)
{
	static uint8_t region[REGION];
	struct rdm_end env;
	struct fid_mr *mr;
	size_t before;
	int fd[STRANGERS];
	uint64_t id[STRANGERS];

	setup(&env);
	assert_int_equal(fi_mr_reg(env.domain, region, REGION, FI_REMOTE_READ, 0, KEY,
				 0, &mr, NULL),
		0);
	for (int i = 0; i < STRANGERS; i++) {
		fd[i] = join(&env, &id[i]);
		set_small(fd[i]);
	}
	before = resident();
	for (int i = 0; i < STRANGERS; i++)
		send_flood(&env, fd[i], id[i], flood);
	/* Sanitizers use several times the memory. */
	if (!SANITIZED)
		assert_true(resident() < before + LIMIT + SLACK);
	good_message(&env);
	for (int i = 0; i < STRANGERS; i++)
		close(fd[i]);
	good_message(&env);
	assert_int_equal(fi_close(&mr->fid), 0);
	rdm_end_close(&env);
}

static void test_messages_without_receives(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = EAGER("0002000000000000"),
		.payload_len = 512,
		.enough = ENOUGH,
	});
}

static void test_long_messages_without_receives(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = EAGER("0040000000000000"),
		.payload_len = 16384,
		.enough = ENOUGH,
	});
}

static void test_announcements(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = RDV("0000100000000000", "0000100000000000", OLD),
		.numbered = true,
		.enough = ENOUGH,
	});
}

/* The first segments of messages of 16 MiB, 4 bytes each. */
static void test_first_segments(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = SEGMENT(
			"0000000000000000", "0100000000000000", "0000000100000000"),
		.numbered = true,
		.enough = ENOUGH,
	});
}

/* Messages in the form of release 1.17. Their connections are not known. */
static void test_messages_without_headers(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = "03 00 8000 00 00 18 00 1802000000000000 0700000000000000",
		.payload_len = 512,
		.raw = true,
		.enough = ENOUGH,
	});
}

#define FETCH                                                                          \
	"04 04 0000 00000000" ID OLD OLD "02 00 07 00 00000000 6000000000000000" OLD   \
	"01 0a 01 00 00000000"                                                         \
	"0000000000000000 0020000000000000 ed5e000000000000" OLD OLD OLD OLD OLD OLD   \
		OLD OLD OLD

/* Fetching atomics of 8 KiB, whose results are not read. */
static void test_fetches(void **state)
{
	(void)state;
	check(&(struct flood){
		.text = FETCH,
		.numbered = true,
		.enough = ENOUGH,
	});
}

/* More messages than a peer may have unreceived: it goes on when receives are posted,
 * and all arrive in order. */
static void check_goes_on(const struct flood *flood)
{
	enum { LEN = 8192, COUNT = 3 * LIMIT / LEN };
	static uint8_t out[PACKET_MAX], in[LEN];
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	size_t len = 0, at = 0;
	uint32_t sent = 0, came = 0, posted = 0;
	int fd, ret, idle = 0;
	uint64_t id;

	setup(&env);
	fd = join(&env, &id);
	set_small(fd);
	while (came < COUNT) {
		ssize_t n = 0;

		if (at == len && sent < COUNT) {
			len = flood->raw ? write_raw(out, flood)
					 : write_packet(out, id, flood->text, LEN, 0);
			memcpy(out + len - LEN, &sent, sizeof(sent));
			sent++;
			at = 0;
		}
		if (at < len)
			n = send(fd, out + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0)
			at += (size_t)n;
		idle = n > 0 ? 0 : idle + 1;
		/* Nothing is received before the endpoint reads no more. */
		if (posted == came && idle > 200) {
			assert_true(posted || sent < COUNT);
			assert_int_equal(fi_trecv(env.ep, in, LEN, NULL, FI_ADDR_UNSPEC,
						 7, 0, in),
				0);
			posted++;
			idle = 200;
		}
		ret = step(&env, &entry);
		assert_true(ret >= 0);
		if (!ret)
			continue;
		assert_memory_equal(in, &came, sizeof(came));
		came++;
	}
	close(fd);
	rdm_end_close(&env);
}

static void test_a_held_peer_goes_on(void **state)
{
	(void)state;
	check_goes_on(&(struct flood){ .text = EAGER("0020000000000000") });
}

/* In the form of release 1.17. */
static void test_messages_without_headers_go_on(void **state)
{
	(void)state;
	check_goes_on(&(struct flood){
		.text = "03 00 8000 00 00 18 00 1820000000000000 0700000000000000",
		.payload_len = 8192,
		.raw = true,
	});
}

/* A message in segments is matched when some of them have come, or all. */
static void test_segments_are_put_together(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct rdm_end env;
	char whole[16] = { 0 };
	uint64_t id;
	int fd, ret;

	(void)state;
	setup(&env);
	fd = join(&env, &id);
	for (int before = 1; before <= 3; before++) {
		static const char *const segment[] = {
			SEGMENT(OLD, "0100000000000000", "0c00000000000000"),
			SEGMENT(OLD, "0200000000000000", "0c00000000000000"),
			SEGMENT(OLD, "0300000000000000", "0c00000000000000"),
		};
		char buf[16] = { 0 };

		for (int i = 0; i < before; i++)
			packet(fd, id, segment[i]);
		for (int i = 0; i < 200; i++)
			assert_int_equal(step(&env, &entry), 0);
		assert_int_equal(fi_trecv(env.ep, buf, sizeof(buf), NULL,
					 FI_ADDR_UNSPEC, 7, 0, buf),
			0);
		for (int i = before; i < 3; i++)
			packet(fd, id, segment[i]);
		while (!(ret = step(&env, &entry)))
			;
		assert_int_equal(ret, 1);
		assert_int_equal(entry.len, 12);
		assert_memory_equal(buf, "abcdabcdabcd", 12);
	}
	/* What is whole outlives the connection. */
	for (int i = 0; i < 2; i++)
		packet(fd, id,
			i ? SEGMENT(OLD, "0300000000000000", "0800000000000000")
			  : SEGMENT(OLD, "0100000000000000", "0800000000000000"));
	for (int i = 0; i < 200; i++)
		assert_int_equal(step(&env, &entry), 0);
	/* The connection is lost, or the endpoint closed, before it is whole. */
	packet(fd, id, SEGMENT(OLD, "0100000000000000", "0800000000000000"));
	for (int i = 0; i < 200; i++)
		assert_int_equal(step(&env, &entry), 0);
	close(fd);
	for (int i = 0; i < 200; i++)
		assert_int_equal(step(&env, &entry), 0);
	assert_int_equal(fi_trecv(env.ep, whole, sizeof(whole), NULL, FI_ADDR_UNSPEC, 7,
				 0, whole),
		0);
	while (!(ret = step(&env, &entry)))
		;
	assert_int_equal(ret, 1);
	assert_memory_equal(whole, "abcdabcd", 8);
	rdm_end_close(&env);
}

/* ---- two endpoints that ask each other for more than either may have ---- */

enum { FETCHES = 2000, FETCHED = 16000 };

struct side {
	struct rdm_end end;
	struct fid_mr *mr;
	uint8_t region[FETCHED], result[FETCHED];
	fi_addr_t peer;
	int posted, done;
};

static void side_open(struct side *side)
{
	setup(&side->end);
	memset(side->region, 'r', FETCHED);
	assert_int_equal(fi_mr_reg(side->end.domain, side->region, FETCHED,
				 FI_REMOTE_READ, 0, KEY, 0, &side->mr, NULL),
		0);
}

/* Post requests, up to @count of them in all. */
static void side_post(struct side *side, int count)
{
	while (side->posted < count) {
		ssize_t n = fi_fetch_atomic(side->end.ep, NULL, FETCHED, NULL,
			side->result, NULL, side->peer, 0, KEY, FI_UINT8,
			FI_ATOMIC_READ, NULL);

		if (n) {
			assert_int_equal(n, -FI_EAGAIN);
			return;
		}
		side->posted++;
	}
}

/* Both sides have @count requests under way, until all of them end. */
static void fetch(struct side side[2], int count)
{
	time_t end = time(NULL) + limit_ms(20000) / 1000;
	struct fi_cq_tagged_entry entry;

	while (side[0].done < count || side[1].done < count) {
		for (int i = 0; i < 2; i++)
			side_post(&side[i], count);
		for (int i = 0; i < 2; i++) {
			int ret = step(&side[i].end, &entry);

			assert_true(ret >= 0);
			side[i].done += ret;
		}
		assert_true(time(NULL) < end);
	}
}

static void test_two_that_fetch_from_each_other(void **state)
{
	static struct side side[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		side_open(&side[i]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fi_av_insert(side[i].end.av, &side[!i].end.addr, 1,
					 &side[i].peer, 0, NULL),
			1);
	/* The first ones make the connection. */
	fetch(side, 1);
	fetch(side, FETCHES);
	for (int i = 0; i < 2; i++) {
		assert_memory_equal(side[i].result, side[!i].region, FETCHED);
		assert_int_equal(fi_close(&side[i].mr->fid), 0);
		rdm_end_close(&side[i].end);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_messages_without_headers),
		cmocka_unit_test(test_messages_without_receives),
		cmocka_unit_test(test_long_messages_without_receives),
		cmocka_unit_test(test_announcements),
		cmocka_unit_test(test_first_segments),
		cmocka_unit_test(test_fetches),
		cmocka_unit_test(test_a_held_peer_goes_on),
		cmocka_unit_test(test_messages_without_headers_go_on),
		cmocka_unit_test(test_segments_are_put_together),
		cmocka_unit_test(test_two_that_fetch_from_each_other),
	};
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", LIMIT);
	(void)setenv("FI_OFI_RXM_UNEXPECTED_SIZE", text, 1);
	(void)setenv("FI_OFI_RXM_ANSWER_SIZE", text, 1);
	/* All by sockets. */
	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
