/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/tcp/cm/cm.h"
#include "sys/clock.h"
#include "sys/compiler.h"

struct fi_provider tcp_fi = { .name = "tcp" };

#define ZEROS       "00000000 0000000000000000 0000000000000000 "
#define LITTLE      "0100000000000000"
#define BIG         "0000000000000001"
#define OLD_REQUEST "03 00 0000 " ZEROS LITTLE
#define OLD_REPLY   "03 01 0000 " ZEROS LITTLE

static const struct tcp_cm_own own = {
	.features = TCP_HAVE_ATOMIC | TCP_HAVE_RDV_MSG | TCP_HAVE_PROBE,
	.instance = 0x1122334455667788,
};
static const struct tcp_cm_own other = {
	.features = TCP_HAVE_ATOMIC | TCP_HAVE_RDV_MSG | TCP_HAVE_ERROR,
	.instance = 0xaabbccddeeff0011,
};

/* What the kernel does with bytes that are sent to it: the next call fails with an
 * errno, or takes a few of them. */
static struct {
	int err;      /* of one call; 0: none fails */
	size_t takes; /* at most so many in one call; 0: all */
} kernel;

/* Visible, because the library of a sanitizer has a function with this name as well. */
__attribute__((visibility("default"))) ssize_t __wrap_send(
	int fd, const void *buf, size_t len, int flags);
ssize_t __real_send(int fd, const void *buf, size_t len, int flags);

ssize_t __wrap_send(int fd, const void *buf, size_t len, int flags)
{
	if (kernel.err) {
		errno = kernel.err;
		kernel.err = 0;
		return -1;
	}
	return __real_send(
		fd, buf, kernel.takes ? WF_MIN(len, kernel.takes) : len, flags);
}

/* sv[0] is ours, sv[1] the other end. */
struct pair {
	int sv[2];
	struct tcp_cm cm;
};

static int open_pair(void **state)
{
	struct pair *pair = calloc(1, sizeof(*pair));

	if (!pair || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->sv))
		return -1;
	*state = pair;
	return 0;
}

static int close_pair(void **state)
{
	struct pair *pair = *state;

	close(pair->sv[0]);
	close(pair->sv[1]);
	free(pair);
	return 0;
}

static void put(struct pair *pair, const void *data, size_t len)
{
	assert_int_equal(send(pair->sv[1], data, len, MSG_NOSIGNAL), len);
}

static void put_hex(struct pair *pair, const char *text)
{
	struct bytes bytes = hex(text);

	put(pair, bytes.at, bytes.len);
}

/* All that arrived at @fd. */
static struct bytes take(int fd)
{
	struct bytes bytes = { 0 };
	ssize_t n = recv(fd, bytes.at, sizeof(bytes.at), MSG_DONTWAIT);

	bytes.len = n > 0 ? (size_t)n : 0;
	return bytes;
}

static void assert_bytes(const struct bytes *got, const char *text)
{
	struct bytes want = hex(text);

	assert_int_equal(got->len, want.len);
	assert_memory_equal(got->at, want.at, want.len);
}

static void messages_of_others(void **state)
{
	static const struct {
		const char *text;
		uint8_t type;
		bool same_order;
		uint16_t data_len;
	} rows[] = {
		{ OLD_REQUEST, TCP_CM_REQUEST, true, 0 },
		{ OLD_REPLY, TCP_CM_REPLY, true, 0 },
		{ "03 06 0008 " ZEROS "0000000000000000 30 31 32 33 34 35 36 37",
			TCP_CM_REJECT, false, 8 },
		{ "03 00 0008 " ZEROS LITTLE "01 00 9535 0000318a", TCP_CM_REQUEST,
			true, 8 },
		{ "03 00 0000 " ZEROS BIG, TCP_CM_REQUEST, false, 0 },
		/* Bytes that are no known extension. */
		{ "03 00 0000 ffffffff ffffffffffffffff ffffffffffffffff " LITTLE,
			TCP_CM_REQUEST, true, 0 },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct bytes in = hex(rows[i].text);
		struct tcp_cm_msg msg;

		assert_int_equal(tcp_cm_decode(in.at, in.len, &msg), 0);
		assert_int_equal(msg.type, rows[i].type);
		assert_int_equal(msg.same_order, rows[i].same_order);
		assert_int_equal(msg.data_len, rows[i].data_len);
		assert_int_equal(msg.ext.instance, 0);
		assert_int_equal(msg.ext.features, 0);
		for (size_t len = 0; len < in.len; len++) {
			int need = tcp_cm_decode(in.at, len, &msg);

			assert_int_equal(need, len < 32 ? 32 : in.len);
		}
	}
}

static void our_extension_in_bytes(void **state)
{
	const struct tcp_cm_ext ext = { .features = 0x15,
		.instance = 0x1122334455667788 };
	struct tcp_cm_ext why = ext;
	struct bytes got = { 0 };

	got.len = tcp_cm_encode(got.at, TCP_CM_REQUEST, &ext, "ab", 2);
	assert_bytes(&got, "03 00 0002 5765663f 01 00 0000 00000015"
			   "1122334455667788" LITTLE "6162");
	got.len = tcp_cm_encode(got.at, TCP_CM_REPLY, &ext, NULL, 0);
	assert_bytes(&got, "03 01 0000 57656621 01 00 0000 00000015"
			   "1122334455667788" LITTLE);
	why.reason = TCP_REASON_CROSSED;
	got.len = tcp_cm_encode(got.at, TCP_CM_REJECT, &why, NULL, 0);
	assert_bytes(&got, "03 06 0000 57656621 01 02 0000 00000015"
			   "1122334455667788 0000000000000000");
	got.len = tcp_cm_encode(got.at, TCP_CM_REQUEST, NULL, NULL, 0);
	assert_bytes(&got, OLD_REQUEST);
}

/* A program that echoes a request does not know the extension. */
static void an_echo_is_old(void **state)
{
	struct bytes in = hex("03 01 0000 5765663f 01 00 0000 00000015"
			      "1122334455667788" LITTLE);
	struct tcp_cm_msg msg;

	assert_int_equal(tcp_cm_decode(in.at, in.len, &msg), 0);
	assert_int_equal(msg.ext.instance, 0);
	assert_int_equal(msg.ext.features, 0);
}

/* A later version only adds, an earlier one does not exist. */
static void other_versions_of_the_extension(void **state)
{
	struct bytes later = hex("03 00 0000 5765663f 07 00 abcd ffffffff"
				 "1122334455667788" LITTLE);
	struct bytes zero = hex("03 00 0000 5765663f 00 00 0000 00000015"
				"1122334455667788" LITTLE);
	struct tcp_cm_msg msg;

	assert_int_equal(tcp_cm_decode(later.at, later.len, &msg), 0);
	assert_int_equal(msg.ext.instance, 0x1122334455667788);
	assert_int_equal(msg.ext.features, TCP_HAVE_OFFER);
	assert_int_equal(tcp_cm_decode(zero.at, zero.len, &msg), 0);
	assert_int_equal(msg.ext.instance, 0);
}

static void agreement(void **state)
{
	uint32_t all = TCP_HAVE_OFFER;

	assert_int_equal(tcp_cm_agree(all, 0, true), 0);
	assert_int_equal(tcp_cm_agree(0x15, 0x17, true), 0x15);
	assert_int_equal(
		tcp_cm_agree(all | TCP_HAVE_TAGGED, all | TCP_HAVE_TAGGED, true),
		TCP_HAVE_OFFER);
	/* What computes on payloads needs one byte order. */
	assert_false(tcp_cm_agree(all, all, false) & TCP_HAVE_ATOMIC);
	assert_false(tcp_cm_agree(all, all, false) & TCP_HAVE_LOCAL);
	assert_true(tcp_cm_agree(all, all, false) & TCP_HAVE_ERROR);
}

static void start_active(struct pair *pair, const char *data)
{
	tcp_cm_start_active(&pair->cm, pair->sv[0], &own, data, strlen(data));
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	assert_int_equal(pair->cm.state, TCP_CM_WAITING);
	assert_int_equal(tcp_cm_events(&pair->cm), EPOLLIN);
}

static void connects_to_an_old_peer(void **state)
{
	struct pair *pair = *state;
	struct bytes got;

	start_active(pair, "data");
	got = take(pair->sv[1]);
	assert_bytes(&got, "03 00 0004 5765663f 01 00 0000 00000013"
			   "1122334455667788" LITTLE "64617461");
	put_hex(pair, "03 01 0003 " ZEROS LITTLE "616263");
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.state, TCP_CM_CONNECTED);
	assert_int_equal(pair->cm.peer.have, 0);
	assert_false(pair->cm.peer.swap);
	assert_int_equal(pair->cm.msg.data_len, 3);
	assert_memory_equal(tcp_cm_data(&pair->cm), "abc", 3);
}

/* One byte at a time, and nothing of what follows is touched. */
static void reads_exactly_the_reply(void **state)
{
	struct pair *pair = *state;
	struct bytes reply = hex("03 01 0003 " ZEROS LITTLE "616263");
	struct bytes rest;

	start_active(pair, "");
	(void)take(pair->sv[1]);
	for (size_t i = 0; i + 1 < reply.len; i++) {
		put(pair, reply.at + i, 1);
		assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	}
	put(pair, reply.at + reply.len - 1, 1);
	put(pair, "record", 6);
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	rest = take(pair->sv[0]);
	assert_int_equal(rest.len, 6);
	assert_memory_equal(rest.at, "record", 6);
}

static void header_and_data_apart(void **state)
{
	struct pair *pair = *state;

	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	put_hex(pair, "03 00 0002 " ZEROS LITTLE);
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	assert_int_equal(pair->cm.state, TCP_CM_READING);
	put(pair, "xy", 2);
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.state, TCP_CM_ASKED);
	assert_int_equal(tcp_cm_events(&pair->cm), 0);
	assert_memory_equal(tcp_cm_data(&pair->cm), "xy", 2);
}

/* An old peer gets nothing new; records that it sent early stay in the socket. */
static void accepts_an_old_peer(void **state)
{
	struct pair *pair = *state;
	struct bytes got;

	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	put_hex(pair, OLD_REQUEST "03 00 0000 00 00 10 00 1000000000000000");
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(tcp_cm_accept(&pair->cm, own.features, "ok", 2), 1);
	assert_int_equal(pair->cm.state, TCP_CM_CONNECTED);
	assert_int_equal(pair->cm.peer.have, 0);
	got = take(pair->sv[1]);
	assert_bytes(&got, "03 01 0002 " ZEROS LITTLE "6f6b");
	got = take(pair->sv[0]);
	assert_bytes(&got, "03 00 0000 00 00 10 00 1000000000000000");
}

static void rejects_an_old_peer(void **state)
{
	struct pair *pair = *state;
	struct bytes got;

	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	put_hex(pair, OLD_REQUEST);
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(
		tcp_cm_reject(&pair->cm, TCP_REASON_REFUSED, "01234567", 8), 1);
	assert_int_equal(pair->cm.state, TCP_CM_REJECTED);
	got = take(pair->sv[1]);
	assert_bytes(&got, "03 06 0008 " ZEROS "0000000000000000 3031323334353637");
}

/* Both ends are ours. */
static void two_of_ours_agree(void **state)
{
	struct pair *pair = *state;
	struct tcp_cm there;

	tcp_cm_start_passive(&there, pair->sv[1], &other);
	start_active(pair, "");
	assert_int_equal(tcp_cm_progress(&there), 1);
	assert_int_equal(there.msg.ext.instance, own.instance);
	/* More is known when it is accepted: no atomics. */
	assert_int_equal(
		tcp_cm_accept(&there, TCP_HAVE_RDV_MSG | TCP_HAVE_ERROR, NULL, 0), 1);
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.msg.ext.instance, other.instance);
	assert_int_equal(pair->cm.peer.have, TCP_HAVE_RDV_MSG | TCP_HAVE_RDV);
	assert_int_equal(there.peer.have, pair->cm.peer.have);
}

static void two_of_ours_disagree(void **state)
{
	struct pair *pair = *state;
	struct tcp_cm there;

	tcp_cm_start_passive(&there, pair->sv[1], &other);
	start_active(pair, "");
	assert_int_equal(tcp_cm_progress(&there), 1);
	assert_int_equal(tcp_cm_reject(&there, TCP_REASON_CROSSED, "why", 3), 1);
	assert_int_equal(tcp_cm_progress(&pair->cm), -FI_ECONNREFUSED);
	assert_int_equal(pair->cm.state, TCP_CM_REJECTED);
	assert_int_equal(pair->cm.msg.ext.reason, TCP_REASON_CROSSED);
	assert_int_equal(pair->cm.msg.data_len, 3);
	assert_memory_equal(tcp_cm_data(&pair->cm), "why", 3);
}

static void unlike_machines_use_big_endian(void **state)
{
	struct pair *pair = *state;

	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	put_hex(pair, "03 00 0000 " ZEROS
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			      BIG);
#else
			      LITTLE);
#endif
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.peer.swap, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
}

static void strangers_are_dropped_at_once(void **state)
{
	static const struct {
		const char *text;
		int err;
	} rows[] = {
		{ "47", -FI_ENOPROTOOPT }, /* "GET / HTTP/1.1" */
		{ "02", -FI_ENOPROTOOPT },
		{ "04 00", -FI_ENOPROTOOPT },
		{ "03 02", -FI_EPROTO },
		{ "03 09", -FI_EPROTO },
		{ "03 00 0101", -FI_ENOPROTOOPT }, /* 257 bytes of data */
		{ "03 00 ffff", -FI_ENOPROTOOPT },
		/* well-formed, but no requests */
		{ OLD_REPLY, -FI_EPROTO },
		{ "03 06 0000 " ZEROS LITTLE, -FI_EPROTO },
	};
	struct pair *pair = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
		put_hex(pair, rows[i].text);
		assert_int_equal(tcp_cm_progress(&pair->cm), rows[i].err);
		assert_int_equal(pair->cm.state, TCP_CM_FAILED);
		assert_int_equal(tcp_cm_events(&pair->cm), 0);
		(void)take(pair->sv[0]);
		assert_int_equal(take(pair->sv[1]).len, 0);
	}
}

static void most_data_fits(void **state)
{
	struct pair *pair = *state;
	struct bytes header = hex("03 00 0100 " ZEROS LITTLE);
	uint8_t data[TCP_CM_DATA_MAX];

	memset(data, 0x5a, sizeof(data));
	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	put(pair, header.at, header.len);
	put(pair, data, sizeof(data));
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.msg.data_len, sizeof(data));
	assert_memory_equal(tcp_cm_data(&pair->cm), data, sizeof(data));
	assert_int_equal(tcp_cm_accept(&pair->cm, own.features, data, sizeof(data)), 1);
	assert_int_equal(take(pair->sv[1]).len, 32 + 256);
}

static void a_request_is_no_reply(void **state)
{
	struct pair *pair = *state;

	start_active(pair, "");
	put_hex(pair, OLD_REQUEST);
	assert_int_equal(tcp_cm_progress(&pair->cm), -FI_ECONNREFUSED);
	assert_int_equal(pair->cm.state, TCP_CM_FAILED);
}

static void closing_ends_the_exchange(void **state)
{
	struct pair *pair = *state;

	start_active(pair, "");
	put_hex(pair, "03 01 0000 0000");
	assert_int_equal(shutdown(pair->sv[1], SHUT_RDWR), 0);
	assert_int_equal(tcp_cm_progress(&pair->cm), -FI_ECONNRESET);
	assert_int_equal(pair->cm.state, TCP_CM_FAILED);
}

/* The deadline is moved instead of waited for. */
static void silence_has_an_end(void **state)
{
	struct tcp_cm_own patient = own;
	struct pair *pair = *state;

	tcp_cm_start_passive(&pair->cm, pair->sv[0], &patient);
	assert_int_equal(pair->cm.deadline_ns, UINT64_MAX);

	patient.timeout_ms = 1000000;
	tcp_cm_start_passive(&pair->cm, pair->sv[0], &patient);
	assert_true(pair->cm.deadline_ns > wf_now_ns());
	assert_true(pair->cm.deadline_ns < wf_deadline_ns(1000000) + 1);
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	pair->cm.deadline_ns = 1;
	assert_int_equal(tcp_cm_progress(&pair->cm), -FI_ETIMEDOUT);
	assert_int_equal(pair->cm.state, TCP_CM_FAILED);
	assert_int_equal(pair->cm.deadline_ns, UINT64_MAX);
}

/* A person may be asked before the reply: that has a limit of its own. */
static void replies_have_their_own_limit(void **state)
{
	struct tcp_cm_own patient = own;
	struct pair *pair = *state;

	patient.timeout_ms = 1000000;
	tcp_cm_start_active(&pair->cm, pair->sv[0], &patient, NULL, 0);
	assert_true(pair->cm.deadline_ns != UINT64_MAX);
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	assert_int_equal(pair->cm.deadline_ns, UINT64_MAX);

	patient.reply_ms = 1000000;
	tcp_cm_start_active(&pair->cm, pair->sv[0], &patient, NULL, 0);
	assert_int_equal(tcp_cm_progress(&pair->cm), 0);
	assert_true(pair->cm.deadline_ns != UINT64_MAX);
	pair->cm.deadline_ns = 1;
	assert_int_equal(tcp_cm_progress(&pair->cm), -FI_ETIMEDOUT);
}

/* A socket that takes nothing for the time being. */
static void answers_when_there_is_room(void **state)
{
	struct pair *pair = *state;
	static uint8_t filler[4096];
	size_t filled = 0;
	ssize_t n;

	while ((n = send(pair->sv[0], filler, sizeof(filler), MSG_DONTWAIT)) > 0)
		filled += (size_t)n;
	tcp_cm_start_passive(&pair->cm, pair->sv[0], &own);
	put_hex(pair, OLD_REQUEST);
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(tcp_cm_accept(&pair->cm, own.features, NULL, 0), 0);
	assert_int_equal(pair->cm.state, TCP_CM_ANSWERING);
	assert_int_equal(tcp_cm_events(&pair->cm), EPOLLOUT);
	while (filled) {
		n = recv(pair->sv[1], filler, WF_MIN(filled, sizeof(filler)), 0);
		assert_true(n > 0);
		filled -= (size_t)n;
	}
	assert_int_equal(tcp_cm_progress(&pair->cm), 1);
	assert_int_equal(pair->cm.state, TCP_CM_CONNECTED);
	assert_int_equal(take(pair->sv[1]).len, 32);
}

/* The kernel takes a few bytes in each call, and a signal arrives. */
static void sends_in_pieces(void **state)
{
	struct pair *pair = *state;
	struct bytes got;

	kernel.takes = 7;
	kernel.err = EINTR;
	start_active(pair, "data");
	kernel.takes = 0;
	assert_int_equal(kernel.err, 0);
	got = take(pair->sv[1]);
	assert_bytes(&got, "03 00 0004 5765663f 01 00 0000 00000013"
			   "1122334455667788" LITTLE "64617461");
}

static void sends_no_more(void **state)
{
	struct pair *pair = *state;

	tcp_cm_start_active(&pair->cm, pair->sv[0], &own, NULL, 0);
	kernel.err = EPIPE;
	assert_int_equal(tcp_cm_progress(&pair->cm), -EPIPE);
	assert_int_equal(pair->cm.state, TCP_CM_FAILED);
	assert_int_equal(take(pair->sv[1]).len, 0);
}

static void rdm_data_of_others(void **state)
{
	struct bytes request = hex("01 00 9535 0000318a");
	struct bytes reply = hex("81 00 9535 00003185");
	struct bytes echo = hex("01 00 9c41 00003a63"); /* 1.17 */
	struct tcp_rdm_hello hello;
	uint8_t buf[TCP_RDM_DATA];

	assert_int_equal(tcp_rdm_decode_request(request.at, 8, &hello), 0);
	assert_int_equal(hello.version, 1);
	assert_false(hello.evaluated);
	assert_false(hello.firewall);
	assert_int_equal(hello.port, 0x9535);
	assert_int_equal(hello.id, 0x318a);
	tcp_rdm_encode(buf, &hello);
	assert_memory_equal(buf, request.at, 8);

	assert_int_equal(tcp_rdm_decode_reply(reply.at, 8, 0x9535, &hello), 0);
	assert_true(hello.evaluated);
	assert_int_equal(tcp_rdm_have(&hello), TCP_HAVE_TAGGED | TCP_HAVE_RDV);
	tcp_rdm_encode(buf, &hello);
	assert_memory_equal(buf, reply.at, 8);

	assert_int_equal(tcp_rdm_decode_reply(echo.at, 8, 0x9c41, &hello), 0);
	assert_int_equal(tcp_rdm_have(&hello), TCP_HAVE_TAGGED);
}

static void rdm_data_of_strangers(void **state)
{
	struct bytes rxm = hex("01 02 04 03 3412 02 00 00400000 00100000"
			       "0000000000000000");
	struct bytes longer = hex("01 01 9535 0000318a 0000000000000000");
	struct bytes portless = hex("01 00 0000 0000318a");
	struct tcp_rdm_hello hello;

	assert_int_equal(rxm.len, 24);
	assert_int_equal(tcp_rdm_decode_request(rxm.at, rxm.len, &hello), -FI_EPROTO);
	assert_int_equal(tcp_rdm_decode_request(portless.at, 8, &hello), -FI_EPROTO);
	for (size_t len = 0; len < 8; len++)
		assert_int_equal(
			tcp_rdm_decode_request(longer.at, len, &hello), -FI_EPROTO);
	assert_int_equal(tcp_rdm_decode_request(longer.at, 16, &hello), 0);
	assert_true(hello.firewall);
	assert_int_equal(
		tcp_rdm_decode_reply(longer.at, 16, 0x9536, &hello), -FI_EPROTO);
}

static void rdm_answers(void **state)
{
	static const struct {
		const char *request, *reply;
		bool same_order;
	} rows[] = {
		{ "00 00 9535 0000318a", "00 00 9535 00003185", true },
		{ "01 00 9535 0000318a", "81 00 9535 00003185", true },
		{ "02 00 9535 0000318a", "81 00 9535 00003185", true },
		{ "01 fe 9535 0000318a", "81 00 9535 00003185", true },
		{ "01 01 9535 0000318a", "81 01 9535 00003185", true },
		/* No rendezvous with old ones of the other byte order. */
		{ "01 00 9535 0000318a", "00 00 9535 00003185", false },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct bytes request = hex(rows[i].request);
		struct bytes want = hex(rows[i].reply);
		const struct tcp_cm_msg msg = { .same_order = rows[i].same_order };
		struct tcp_rdm_hello hello, answer;
		uint8_t buf[TCP_RDM_DATA];

		assert_int_equal(tcp_rdm_decode_request(request.at, 8, &hello), 0);
		tcp_rdm_answer(&hello, &msg, 0x3185, &answer);
		tcp_rdm_encode(buf, &answer);
		assert_memory_equal(buf, want.at, 8);
	}
}

static int cross(const char *own_host, uint16_t own_port, const char *peer_host,
	uint16_t peer_port)
{
	union wf_sockaddr a, b;

	assert_int_equal(wf_sockaddr_from_host(own_host, &a), 0);
	assert_int_equal(wf_sockaddr_from_host(peer_host, &b), 0);
	wf_sockaddr_set_port(&a, own_port);
	wf_sockaddr_set_port(&b, peer_port);
	return tcp_rdm_cross(&a, &b);
}

static void crossed_requests(void **state)
{
	/* As seen: 0x95c1 gives way to 0xafc5, 0x9259 to 0xa1d1. */
	assert_true(cross("127.0.0.1", 0xafc5, "127.0.0.1", 0x95c1) > 0);
	assert_true(cross("127.0.0.1", 0x9259, "127.0.0.1", 0xa1d1) < 0);
	assert_int_equal(cross("127.0.0.1", 5, "127.0.0.1", 5), 0);
	/* Hosts come first, and bytes are compared without sign. */
	assert_true(cross("10.0.0.2", 1, "10.0.0.1", 0xffff) > 0);
	assert_true(cross("10.0.0.200", 1, "10.0.0.100", 1) > 0);
	assert_true(cross("10.0.0.1", 0x00ff, "10.0.0.1", 0x0100) < 0);
	assert_true(cross("fd00::2", 1, "fd00::1", 2) > 0);
	assert_true(cross("fd00::1", 1, "fd00::1", 2) < 0);
}

#define WITH_PAIR(test) cmocka_unit_test_setup_teardown(test, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_others),
		cmocka_unit_test(our_extension_in_bytes),
		cmocka_unit_test(an_echo_is_old),
		cmocka_unit_test(other_versions_of_the_extension),
		cmocka_unit_test(agreement),
		WITH_PAIR(connects_to_an_old_peer),
		WITH_PAIR(reads_exactly_the_reply),
		WITH_PAIR(header_and_data_apart),
		WITH_PAIR(accepts_an_old_peer),
		WITH_PAIR(rejects_an_old_peer),
		WITH_PAIR(two_of_ours_agree),
		WITH_PAIR(two_of_ours_disagree),
		WITH_PAIR(unlike_machines_use_big_endian),
		WITH_PAIR(strangers_are_dropped_at_once),
		WITH_PAIR(most_data_fits),
		WITH_PAIR(a_request_is_no_reply),
		WITH_PAIR(closing_ends_the_exchange),
		WITH_PAIR(silence_has_an_end),
		WITH_PAIR(replies_have_their_own_limit),
		WITH_PAIR(answers_when_there_is_room),
		WITH_PAIR(sends_in_pieces),
		WITH_PAIR(sends_no_more),
		cmocka_unit_test(rdm_data_of_others),
		cmocka_unit_test(rdm_data_of_strangers),
		cmocka_unit_test(rdm_answers),
		cmocka_unit_test(crossed_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
