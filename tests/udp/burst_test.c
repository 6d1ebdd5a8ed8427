/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>

#include "udp_fixture.h"

/*
 * Messages with FI_MORE wait for those that follow and leave together, as they are and
 * in their order; each completes. None is lost if nothing follows. The receivers are
 * bare sockets.
 */
enum { MANY = 400, LONGEST = 3000, PEERS = 2 };

/* Message by message: what the application has, and its context. */
static uint8_t bufs[MANY][LONGEST];

struct target {
	int fd;
	struct sockaddr_in name;
	fi_addr_t addr;
};

static struct target target_open(struct net *net)
{
	struct target t = { .fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
		.name = { .sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(t.name);
	int size = 4 << 20;

	assert_true(t.fd >= 0);
	(void)setsockopt(t.fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	assert_int_equal(bind(t.fd, (struct sockaddr *)&t.name, len), 0);
	assert_int_equal(getsockname(t.fd, (struct sockaddr *)&t.name, &len), 0);
	assert_int_equal(fi_av_insert(net->av, &t.name, 1, &t.addr, 0, NULL), 1);
	return t;
}

static void open_all(
	struct net *net, struct node *node, struct target *t, enum fi_progress progress)
{
	net_open(net,
		(struct net_options){
			.caps = FI_MSG, .progress = progress, .wait_obj = FI_WAIT_FD });
	node_open(node, net);
	*t = target_open(net);
}

static void close_all(struct net *net, struct node *node, struct target *t)
{
	close(t->fd);
	if (node)
		node_close(node);
	net_close(net);
}

static uint8_t byte_of(uint32_t number, size_t at)
{
	return (uint8_t)(number * 31 + at * 7);
}

/* Post message @number; its buffer is overwritten afterwards where it is injected. */
static void post(struct node *node, const struct target *to, uint32_t number,
	size_t len, uint64_t flags)
{
	uint8_t *buf = bufs[number];
	const struct iovec iov[] = { { buf, len / 3 },
		{ buf + len / 3, len - len / 3 } };
	const struct fi_msg msg = {
		.msg_iov = iov, .iov_count = 2, .addr = to->addr, .context = buf
	};

	for (size_t i = 0; i < len; i++)
		buf[i] = byte_of(number, i);
	assert_int_equal(fi_sendmsg(node->ep, &msg, flags), 0);
	if (flags & FI_INJECT)
		memset(buf, 0, len);
}

static bool has_arrived(const struct target *t)
{
	char byte;

	return recv(t->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0;
}

static void must_arrive(const struct target *t, uint32_t number, size_t len)
{
	struct pollfd fd = { t->fd, POLLIN, 0 };
	uint8_t bytes[LONGEST + 1];

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	assert_int_equal(recv(t->fd, bytes, sizeof(bytes), 0), len);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], byte_of(number, i));
}

/* The next completion is that of a message; returns its context. */
static void *must_complete(struct net *net)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct fi_cq_tagged_entry e;
	ssize_t ret;

	do {
		ret = fi_cq_read(net->cq, &e, 1);
	} while (ret == -FI_EAGAIN && now_ms() < end);
	assert_int_equal(ret, 1);
	assert_int_equal(e.flags, FI_SEND | FI_MSG);
	return e.op_context;
}

/* CS-027: they leave with the first message that announces no other, in its call, and
 * as one train where the kernel has trains. */
static void together(void **state)
{
	int on = 1, segment = 0;
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(segment))];
	uint8_t bytes[8 * 100];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct target t;
	struct node node;
	struct net net;
	bool trains;

	(void)state;
	open_all(&net, &node, &t, FI_PROGRESS_MANUAL);
	trains = !setsockopt(t.fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
	for (uint32_t i = 0; i < 7; i++)
		post(&node, &t, i, 100,
			FI_COMPLETION | FI_MORE | (i % 2 ? FI_INJECT : 0));
	assert_false(has_arrived(&t));
	post(&node, &t, 7, 40, FI_COMPLETION);
	assert_true(has_arrived(&t));
	if (!trains)
		print_message("no trains here: %s\n", strerror(errno));
	assert_int_equal(recvmsg(t.fd, &msg, 0), trains ? 740 : 100);
	for (size_t i = 0; i < (trains ? 740 : 100); i++)
		assert_int_equal(bytes[i], byte_of((uint32_t)(i / 100), i % 100));
	for (int i = 0; i < 8; i++)
		assert_ptr_equal(must_complete(&net), bufs[i]);
	close_all(&net, &node, &t);
}

/* CS-028: they are sent without a following message, when the queue is read, before a
 * thread sleeps, or when the endpoint is closed. */
static void without_a_follow_up(void **state)
{
	struct fi_cq_tagged_entry e;
	struct fid *fid;
	struct target t;
	struct node node;
	struct net net;

	(void)state;
	open_all(&net, &node, &t, FI_PROGRESS_MANUAL);
	post(&node, &t, 0, 64, FI_COMPLETION | FI_MORE);
	(void)must_complete(&net);
	must_arrive(&t, 0, 64);
	post(&node, &t, 1, 64, FI_COMPLETION | FI_MORE);
	assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
	must_arrive(&t, 1, 64);
	fid = &net.cq->fid;
	post(&node, &t, 5, 64, FI_INJECT | FI_MORE);
	(void)fi_trywait(net.fabric, &fid, 1);
	must_arrive(&t, 5, 64);
	for (uint32_t i = 2; i < 5; i++)
		post(&node, &t, i, 64, FI_INJECT | FI_MORE);
	node_close(&node);
	for (uint32_t i = 2; i < 5; i++)
		must_arrive(&t, i, 64);
	close_all(&net, NULL, &t);
}

/* With automatic progress the application need not call again. */
static void automatic_progress(void **state)
{
	struct target t;
	struct node node;
	struct net net;

	(void)state;
	open_all(&net, &node, &t, FI_PROGRESS_AUTO);
	post(&node, &t, 0, 64, FI_INJECT | FI_MORE);
	must_arrive(&t, 0, 64);
	close_all(&net, &node, &t);
}

/* Any lengths, with two peers in turn: longer than a train takes, empty, more than one
 * train has. */
static void in_order(void **state)
{
	static const size_t lengths[] = { 64, 64, 64, 10, 64, 900, 900, 1452, 1453, 0,
		LONGEST, 1, 1 };
	struct target t[PEERS];
	struct node node;
	struct net net;
	uint32_t seed = 1;

	(void)state;
	open_all(&net, &node, &t[0], FI_PROGRESS_MANUAL);
	t[1] = target_open(&net);
	for (uint32_t i = 0; i < MANY; i++) {
		size_t len = i < 150 ? 64 : lengths[i % 13];

		seed = seed * 1103515245 + 12345;
		post(&node, &t[i / 80 % PEERS], i, len,
			FI_COMPLETION | (i < 150 || seed >> 20 & 7 ? FI_MORE : 0));
	}
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(must_complete(&net), bufs[i]);
		must_arrive(&t[i / 80 % PEERS], i, i < 150 ? 64 : lengths[i % 13]);
	}
	must_be_quiet(&net);
	close(t[1].fd);
	close_all(&net, &node, &t[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(together),
		cmocka_unit_test(without_a_follow_up),
		cmocka_unit_test(automatic_progress),
		cmocka_unit_test(in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
