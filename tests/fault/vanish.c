/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host that cannot be reached, and one that vanishes. tests/netns/tcp_vanish.sh makes
 * the hosts, runs `fault_vanish serve` on one of them and the cases on the other, and
 * says in the environment how to break the way between them:
 *
 *   FAULT_HOST       our address           FAULT_LINK_DOWN, FAULT_LINK_UP
 *   FAULT_SERVER     the other's, with     FAULT_ROUTE, to where FAULT_LATER is
 *   FAULT_PORT
 */
#include "fault.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { LEN = 1 << 20 };

static const char *must_have(const char *name)
{
	const char *text = getenv(name);

	if (!text)
		fprintf(stderr, "%s is not set\n", name);
	CHECK(text);
	return text;
}

static void shell(const char *variable)
{
	CHECK(system(must_have(variable)) == 0);
}

static fi_addr_t server_of(struct node *node)
{
	return node_peer_at(
		node, must_have("FAULT_SERVER"), (uint16_t)setting("FAULT_PORT", 0));
}

/* Messages with tag 0 are received, others are not. */
static void serve(void *arg)
{
	static uint8_t buf[LEN];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct fi_context2 rx;
	struct node node;

	(void)arg;
	node_open(&node, (uint16_t)setting("FAULT_PORT", 0));
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		node_receive_exact(&node, buf, sizeof(buf), 0, &rx);
		while (!node_wait(&node, &entry, &err, 60000))
			continue;
	}
}

/* The operation ends in an error that names the peer, in both ways. */
static void expect_failure(
	struct node *node, fi_addr_t peer, const void *context, const char *what)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	struct sockaddr_in addr, want;
	uint64_t deadline = now_ms() + LIMIT_MS;
	size_t len = sizeof(want);
	ssize_t ret;

	do {
		ret = node->sleeps ? fi_cq_sread(node->cq, &entry, 1, NULL, LIMIT_MS)
				   : fi_cq_read(node->cq, &entry, 1);
		CHECK(now_ms() < deadline);
	} while (ret == -FI_EAGAIN);
	if (ret != -FI_EAVAIL)
		fprintf(stderr, "%s: %zd\n", what, ret);
	CHECK(ret == -FI_EAVAIL);
	err.err_data = &addr;
	err.err_data_size = sizeof(addr);
	CHECK(fi_cq_readerr(node->cq, &err, 0) == 1);
	CHECK(err.op_context == context && err.err > 0);
	CHECK(err.src_addr == peer);
	CHECK_OK(fi_av_lookup(node->av, peer, &want, &len));
	CHECK(err.err_data_size == sizeof(addr) && addr.sin_port == want.sin_port &&
		addr.sin_addr.s_addr == want.sin_addr.s_addr);
	printf("# %s: %s\n", what, fi_strerror(err.err));
}

static void expect_sent(struct node *node, const void *context)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(node, &entry, &err, LIMIT_MS);

	if (got != 1)
		fprintf(stderr, "got %d, error %d\n", got, err.err);
	CHECK(got == 1 && entry.op_context == context);
}

/* ---- those that are not there ---- */

static void nobody_can_be_reached(void)
{
	static const struct {
		const char *what, *host;
	} ways[] = {
		{ "no route", "203.0.113.1" },
		{ "an unreachable route", "10.61.0.1" },
		{ "a black hole", "10.62.0.1" },
		{ "a prohibited route", "10.63.0.1" },
		{ "packets lost on their way", "10.64.0.1" },
		{ "nobody with that address", "10.66.0.77" },
	};
	struct fi_context2 tx;
	uint32_t value = 1;
	struct node node;

	CHECK(!setenv("FI_TCP_CONNECT_TIMEOUT", "300", 1));
	node_open(&node, 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		fi_addr_t peer = node_peer_at(&node, ways[i].host, 7777);

		node_send_level(&node, peer, &value, sizeof(value), 0, &tx, 0);
		expect_failure(&node, peer, &tx, ways[i].what);
	}
	node_close(&node);
}

/* 0: there is no limit. The route is found later, and the message arrives. */
static void waiting_for_ever_for_a_route(void)
{
	struct fi_context2 tx;
	uint32_t value = 1;
	struct node node;
	fi_addr_t peer;

	CHECK(!setenv("FI_TCP_CONNECT_TIMEOUT", "0", 1));
	node_open(&node, 0);
	peer = node_peer_at(
		&node, must_have("FAULT_LATER"), (uint16_t)setting("FAULT_PORT", 0));
	node_send_level(&node, peer, &value, sizeof(value), 0, &tx, 0);
	node_idle(&node, 1500);
	shell("FAULT_ROUTE");
	expect_sent(&node, &tx);
	node_close(&node);
}

/* ---- one that vanishes ---- */

static void be_impatient(void)
{
	CHECK(!setenv("FI_TCP_CONNECT_TIMEOUT", "1500", 1));
	CHECK(!setenv("FI_TCP_KEEPALIVE_TIMEOUT", "2000", 1));
}

/* After its return it receives messages at once, although its own end of the connection
 * was not notified that this end's is gone. */
static void come_back(struct node *node, fi_addr_t peer)
{
	struct fi_context2 tx;
	uint32_t value = 1;

	shell("FAULT_LINK_UP");
	node_send_level(
		node, peer, &value, sizeof(value), 0, &tx, FI_TRANSMIT_COMPLETE);
	expect_sent(node, &tx);
}

static bool sleeps;

static void vanish(size_t len, uint64_t tag, uint64_t level, const char *what)
{
	static uint8_t buf[LEN];
	struct fi_context2 tx[2];
	struct node node;
	fi_addr_t peer;

	be_impatient();
	memset(&node, 0, sizeof(node));
	node.sleeps = sleeps;
	node_open_as(&node, 0);
	peer = server_of(&node);
	node_send_level(&node, peer, buf, 8, 0, &tx[0], FI_TRANSMIT_COMPLETE);
	expect_sent(&node, &tx[0]);
	if (tag) { /* it is under way, and unanswered, before */
		node_send_level(&node, peer, buf, len, tag, &tx[1], level);
		node_idle(&node, 300);
		shell("FAULT_LINK_DOWN");
	} else {
		shell("FAULT_LINK_DOWN");
		node_send_level(&node, peer, buf, len, tag, &tx[1], level);
	}
	expect_failure(&node, peer, &tx[1], what);
	/* What comes after finds out as well. */
	node_send_level(&node, peer, buf, 8, 0, &tx[0], 0);
	expect_failure(&node, peer, &tx[0], "and the one after");
	come_back(&node, peer);
	node_close(&node);
}

static void a_host_vanishes_with_data_under_way(void)
{
	vanish(8, 0, FI_TRANSMIT_COMPLETE, "small, unacknowledged");
}

/* No thread makes progress calls meanwhile: the sleeping thread is woken in time. */
static void a_host_vanishes_from_a_sleeper(void)
{
	sleeps = true;
	vanish(8, 0, FI_TRANSMIT_COMPLETE, "small, slept for");
}

static void a_host_vanishes_in_a_large_message(void)
{
	vanish(LEN, 0, 0, "large, wants to be asked for");
}

/* No message is under way: only keep-alive detects it. */
static void a_host_vanishes_before_it_receives(void)
{
	vanish(LEN, 1, 0, "large, waits for its receive");
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "nobody_can_be_reached", nobody_can_be_reached, 60 },
		{ "waiting_for_ever_for_a_route", waiting_for_ever_for_a_route, 60 },
		{ "a_host_vanishes_with_data_under_way",
			a_host_vanishes_with_data_under_way, 60 },
		{ "a_host_vanishes_from_a_sleeper", a_host_vanishes_from_a_sleeper,
			60 },
		{ "a_host_vanishes_in_a_large_message",
			a_host_vanishes_in_a_large_message, 60 },
		{ "a_host_vanishes_before_it_receives",
			a_host_vanishes_before_it_receives, 60 },
	};

	if (argc > 1 && !strcmp(argv[1], "serve")) {
		(void)alarm(limit_s(300));
		serve(NULL);
	}
	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
