/* SPDX-License-Identifier: BSD-2-Clause */
/* What else may talk to the port of an endpoint: scanners, browsers, noise. */
#include "fault.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

static struct node left, right;
static fi_addr_t to_right;

/* Two endpoints in this process; strangers knock at the right one. */
static uint16_t open_both(void)
{
	node_open(&left, 0);
	node_open(&right, 0);
	to_right = node_peer(&left, node_port(&right));
	return node_port(&right);
}

static void drive(void)
{
	(void)fi_cq_read(left.cq, NULL, 0);
	(void)fi_cq_read(right.cq, NULL, 0);
}

/* A message still gets through, and nothing else has come. */
static void exchange(uint32_t value)
{
	struct fi_context2 tx, rx;
	struct fi_cq_tagged_entry entry;
	uint64_t deadline = now_ms() + 10000;
	uint32_t in = 0;
	bool sent = false, received = false;
	ssize_t ret;

	node_receive(&right, &in, sizeof(in), value, &rx);
	while ((ret = fi_tsend(left.ep, &value, sizeof(value), NULL, to_right, value,
			&tx)) == -FI_EAGAIN) {
		drive();
		CHECK(now_ms() < deadline);
	}
	CHECK_OK(ret);
	while (!sent || !received) {
		CHECK(now_ms() < deadline);
		ret = fi_cq_read(left.cq, &entry, 1);
		CHECK(ret == 1 || ret == -FI_EAGAIN);
		if (ret == 1) {
			CHECK(!sent && entry.op_context == &tx);
			sent = true;
		}
		ret = fi_cq_read(right.cq, &entry, 1);
		CHECK(ret == 1 || ret == -FI_EAGAIN);
		if (ret == 1) {
			CHECK(!received && entry.op_context == &rx && in == value);
			received = true;
		}
	}
}

static void close_both(void)
{
	node_close(&left);
	node_close(&right);
}

static int knock(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0);
	CHECK(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)));
	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	return fd;
}

/* Say something and drive the endpoint until it hangs up on us, or for a while. */
static bool say(int fd, const void *bytes, size_t len)
{
	uint64_t deadline = now_ms() + 300;
	char answer[256];

	(void)!send(fd, bytes, len, MSG_NOSIGNAL);
	while (now_ms() < deadline) {
		ssize_t n;

		drive();
		n = recv(fd, answer, sizeof(answer), 0);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return true;
	}
	return false;
}

static void browsers_are_sent_away(void)
{
	static const char request[] =
		"GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: x\r\n\r\n";
	uint16_t port = open_both();

	exchange(1);
	for (uint32_t i = 0; i < 20; i++) {
		int fd = knock(port);

		CHECK(say(fd, request, sizeof(request) - 1));
		close(fd);
		exchange(2 + i);
	}
	close_both();
}

static void scanners_are_endured(void)
{
	uint16_t port = open_both();

	for (uint32_t i = 0; i < 200; i++) {
		int fd = knock(port);
		struct linger hard = { .l_onoff = 1 };

		if (i % 2) /* a reset instead of an end */
			(void)setsockopt(
				fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(fd);
		drive();
		if (i % 20 == 0)
			exchange(i);
	}
	exchange(1000);
	close_both();
}

static void noise_is_endured(void)
{
	uint16_t port = open_both();
	unsigned int seed = 4711;
	uint8_t bytes[2048];

	for (uint32_t i = 0; i < 300; i++) {
		int fd = knock(port);
		size_t len = 1 + (size_t)rand_r(&seed) % sizeof(bytes);

		for (size_t b = 0; b < len; b++)
			bytes[b] = (uint8_t)rand_r(&seed);
		(void)!send(fd, bytes, len, MSG_NOSIGNAL);
		for (int d = 0; d < 20; d++)
			drive();
		close(fd);
		if (i % 25 == 0)
			exchange(i);
	}
	exchange(1000);
	close_both();
}

/* Those who never say anything, or stop in the middle of a word, do not keep others
 * out. */
static void silent_visitors_block_nobody(void)
{
	enum { COUNT = 200 };
	static int fds[COUNT];
	uint16_t port = open_both();

	for (int i = 0; i < COUNT; i++) {
		fds[i] = knock(port);
		if (i % 2)
			(void)!send(
				fds[i], "\0\0\0\1\0", (size_t)(i % 5), MSG_NOSIGNAL);
		drive();
	}
	for (uint32_t i = 0; i < 20; i++)
		exchange(i);
	/* One that is new gets through, too. */
	node_close(&left);
	node_open(&left, 0);
	to_right = node_peer(&left, port);
	exchange(500);
	for (int i = 0; i < COUNT; i++)
		close(fds[i]);
	exchange(501);
	close_both();
}

/* As many strangers as there are descriptors: then they are few again. */
static void descriptors_run_out(void)
{
	enum { COUNT = 4000 };
	static int fds[COUNT];
	uint16_t port = open_both();
	int n = 0;

	exchange(1);
	while (n < COUNT) {
		struct sockaddr_in addr = { .sin_family = AF_INET,
			.sin_port = htons(port) };

		addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fds[n] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (fds[n] < 0)
			break;
		(void)connect(fds[n], (struct sockaddr *)&addr, sizeof(addr));
		n++;
		drive();
	}
	/* The connection that was there works on. */
	exchange(2);
	while (n > 0)
		close(fds[--n]);
	exchange(3);
	node_close(&left);
	node_open(&left, 0);
	to_right = node_peer(&left, port);
	exchange(4);
	close_both();
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "browsers_are_sent_away", browsers_are_sent_away, 60 },
		{ "scanners_are_endured", scanners_are_endured, 60 },
		{ "noise_is_endured", noise_is_endured, 60 },
		{ "silent_visitors_block_nobody", silent_visitors_block_nobody, 60 },
		{ "descriptors_run_out", descriptors_run_out, 60 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
