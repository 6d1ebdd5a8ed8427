/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/udp.h>

#include "udp_fixture.h"

/*
 * Datagrams that arrive together, as trains of the kernel (UDP_SEGMENT at the sender,
 * which is a bare socket, and UDP_GRO at the endpoint), are delivered one by one, in
 * order and as they were sent: to multi-receive buffers, to plain receives behind them,
 * and to receives that are posted later. On a kernel without trains they arrive one by
 * one.
 */
enum { BUFFER = 300000, BUFFERS = 8, PLAIN = 2000, TRAIN = 40, SIZE = 700 };

struct sender {
	int fd;
	const struct node *to;
	uint32_t sent; /* datagrams */
};

static struct sender sender_open(const struct node *to)
{
	struct sender s = { socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), to, 0 };

	assert_true(s.fd >= 0);
	return s;
}

/* Datagram @number of @len bytes, at least 4. */
static void fill(uint8_t *bytes, uint32_t number, size_t len)
{
	memcpy(bytes, &number, sizeof(number));
	for (size_t i = sizeof(number); i < len; i++)
		bytes[i] = (uint8_t)(number * 31 + i * 7);
}

static void check(const uint8_t *bytes, uint32_t number, size_t len)
{
	uint8_t wanted[SIZE];

	fill(wanted, number, len);
	assert_memory_equal(bytes, wanted, len);
}

/* Length of datagram @number: trains of SIZE bytes, whose last one is shorter. */
static size_t length(uint32_t number)
{
	return number % TRAIN == TRAIN - 1 ? 5 + number % 100 : SIZE;
}

static void send_single(struct sender *s)
{
	size_t len = length(s->sent);
	uint8_t bytes[SIZE];

	fill(bytes, s->sent++, len);
	assert_int_equal(sendto(s->fd, bytes, len, 0, &s->to->name.sa,
				 (socklen_t)s->to->name_len),
		len);
}

/* From a multiple of TRAIN on. */
static void send_train(struct sender *s)
{
	_Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))] = { 0 };
	struct cmsghdr *c = (struct cmsghdr *)control;
	static uint8_t bytes[TRAIN * SIZE];
	struct iovec iov = { bytes, 0 };
	struct msghdr msg = { .msg_name = (void *)(uintptr_t)&s->to->name,
		.msg_namelen = (socklen_t)s->to->name_len,
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	const uint16_t size = SIZE;

	assert_int_equal(s->sent % TRAIN, 0);
	for (uint32_t i = 0; i < TRAIN; i++) {
		fill(bytes + iov.iov_len, s->sent + i, length(s->sent + i));
		iov.iov_len += length(s->sent + i);
	}
	c->cmsg_level = IPPROTO_UDP;
	c->cmsg_type = UDP_SEGMENT;
	c->cmsg_len = CMSG_LEN(sizeof(size));
	memcpy(CMSG_DATA(c), &size, sizeof(size));
	if (sendmsg(s->fd, &msg, 0) == (ssize_t)iov.iov_len) {
		s->sent += TRAIN;
		return;
	}
	print_message("no trains here: %s\n", strerror(errno));
	for (int i = 0; i < TRAIN; i++)
		send_single(s);
}

static void post_slices(struct node *node, uint8_t *buf)
{
	const struct iovec iov = { buf, BUFFER };
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = buf
	};

	assert_int_equal(fi_recvmsg(node->ep, &msg, FI_MULTI_RECV), 0);
}

/* The next datagram is @number, in a multi-receive buffer, which is given back when it
 * has no room for the longest train. Returns whether it was. */
static bool must_slice(struct net *net, uint32_t number)
{
	struct fi_cq_tagged_entry e = must_receive(net, NULL);
	const uint8_t *from = e.op_context, *buf = e.buf;

	assert_int_equal(e.flags & ~FI_MULTI_RECV, FI_MSG | FI_RECV);
	assert_int_equal(e.len, length(number));
	assert_true(buf >= from && buf + e.len <= from + BUFFER);
	check(buf, number, e.len);
	if (e.flags & FI_MULTI_RECV)
		assert_true(buf + e.len > from + BUFFER - 65536);
	return e.flags & FI_MULTI_RECV;
}

/* The next datagram is @number, in a plain buffer of @size bytes. */
static void must_be_plain(struct net *net, uint32_t number, size_t size)
{
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err = { 0 };

	if (length(number) <= size) {
		e = must_receive(net, NULL);
		assert_int_equal(e.flags, FI_MSG | FI_RECV);
		assert_int_equal(e.len, length(number));
		check(e.op_context, number, e.len);
		return;
	}
	must_fail(net, &err);
	assert_int_equal(err.err, FI_ETRUNC);
	assert_int_equal(err.len, size);
	assert_int_equal(err.olen, length(number) - size);
	check(err.op_context, number, size);
}

static void open_all(struct net *net, struct node *node, struct sender *s)
{
	size_t min = 65536;

	net_open(net, (struct net_options){
			      .caps = FI_MSG | FI_MULTI_RECV, .wait_obj = FI_WAIT_FD });
	node_open(node, net);
	assert_int_equal(fi_setopt(&node->ep->fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	*s = sender_open(node);
}

static void close_all(struct net *net, struct node *node, struct sender *s)
{
	close(s->fd);
	node_close(node);
	net_close(net);
}

/* Datagrams in numbers, after which the endpoint asks the kernel for trains. Returns
 * the number of multi-receive buffers that were given back. */
static unsigned int warm_up(struct net *net, struct sender *s)
{
	unsigned int given_back = 0;
	uint32_t next = s->sent;

	for (int i = 0; i < 2 * TRAIN; i++)
		send_single(s);
	while (next < s->sent)
		given_back += must_slice(net, next++);
	return given_back;
}

/* MRV-001, MRV-003, CQ-036: in slices of multi-receive buffers. */
static void trains_in_slices(void **state)
{
	static uint8_t bufs[BUFFERS][BUFFER];
	unsigned int posted = 0, given_back;
	uint32_t next;
	struct sender s;
	struct node node;
	struct net net;

	(void)state;
	open_all(&net, &node, &s);
	while (posted < 2)
		post_slices(&node, bufs[posted++]);
	given_back = warm_up(&net, &s);
	next = s.sent;
	for (int i = 0; i < 60; i++) {
		send_train(&s);
		if (i % 3 == 0)
			for (int k = 0; k < TRAIN; k++)
				send_single(&s);
		while (next < s.sent)
			given_back += must_slice(&net, next++);
		while (posted < given_back + 2) {
			post_slices(&node, bufs[posted % BUFFERS]);
			posted++;
		}
	}
	assert_true(given_back > 3);
	must_be_quiet(&net);
	close_all(&net, &node, &s);
}

/* A train reaches the end of the multi-receive buffers: its datagrams go on in one
 * buffer, and later ones find plain receives, some of them too small, or none until
 * some are posted. */
static void trains_in_plain_receives(void **state)
{
	static uint8_t buf[BUFFER], plain[8 * TRAIN][PLAIN];
	uint32_t next = 0, posted = 0;
	struct fi_cq_tagged_entry e;
	struct sender s;
	struct node node;
	struct net net;
	uint32_t first;

	(void)state;
	open_all(&net, &node, &s);
	post_slices(&node, buf);
	assert_int_equal(warm_up(&net, &s), 0);
	next = s.sent;
	do {
		if (next == s.sent)
			send_train(&s);
	} while (!must_slice(&net, next++));
	/* All of the train is there. */
	assert_int_equal(next, s.sent);
	first = next;
	for (int i = 0; i < 3; i++)
		send_train(&s);
	assert_int_equal(fi_cq_read(net.cq, &e, 1), -FI_EAGAIN);
	for (; next < s.sent; next++) {
		size_t size = next % 7 ? PLAIN : 100;

		/* Some are posted one by one, some in numbers. */
		while (posted <= next - first || posted % 16) {
			must_post(&node, plain[posted],
				(first + posted) % 7 ? PLAIN : 100, plain[posted]);
			posted++;
		}
		must_be_plain(&net, next, size);
	}
	close_all(&net, &node, &s);
}

/* What is left of a train when receives ran out wakes no thread, and is there when a
 * receive is posted. */
static void rest_of_a_train(void **state)
{
	static uint8_t buf[BUFFER], plain[PLAIN];
	uint32_t next;
	struct sender s;
	struct node node;
	struct net net;

	(void)state;
	open_all(&net, &node, &s);
	post_slices(&node, buf);
	assert_int_equal(warm_up(&net, &s), 0);
	assert_int_equal(fi_cancel(&node.ep->fid, buf), 0);
	assert_int_equal(
		next_entry(&net, &(struct fi_cq_tagged_entry){ 0 }, NULL), -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(net.cq, &(struct fi_cq_err_entry){ 0 }, 0), 1);
	next = s.sent;
	send_train(&s);
	for (; next < s.sent; next++) {
		struct fi_cq_tagged_entry e;

		must_post(&node, plain, PLAIN, plain);
		assert_int_equal(fi_cq_sread(net.cq, &e, 1, NULL, PATIENCE_MS), 1);
		assert_int_equal(e.len, length(next));
		check(plain, next, e.len);
	}
	assert_int_equal(
		fi_cq_sread(net.cq, &(struct fi_cq_tagged_entry){ 0 }, 1, NULL, 10),
		-FI_EAGAIN);
	close_all(&net, &node, &s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trains_in_slices),
		cmocka_unit_test(trains_in_plain_receives),
		cmocka_unit_test(rest_of_a_train),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
