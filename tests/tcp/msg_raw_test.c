/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_EP_MSG among peers that are nothing but sockets: setting up and refusing, and what
 * a connected endpoint does not take.
 */
#include <netinet/tcp.h>

#include "raw.h"

struct msg {
	struct target t;
	struct fid_pep *pep;
};

/* The next event of that kind; fails on any other. */
static struct fi_info *event(
	struct msg *msg, uint32_t want, fid_t fid, const void *data, size_t data_len)
{
	uint8_t buf[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *entry = (void *)buf;
	time_t end = now_s() + PATIENCE_S;
	uint32_t kind;
	ssize_t n;

	do {
		drive(&msg->t);
		n = fi_eq_read(msg->t.eq, &kind, buf, sizeof(buf), 0);
		assert_true(now_s() < end);
	} while (n == -FI_EAGAIN);
	assert_int_equal(n, sizeof(*entry) + data_len);
	assert_int_equal(kind, want);
	assert_ptr_equal(entry->fid, fid);
	if (data_len)
		assert_memory_equal(entry->data, data, data_len);
	return want == FI_CONNREQ ? entry->info : NULL;
}

static int open_msg(void **state)
{
	struct msg *msg = calloc(1, sizeof(*msg));
	struct target *t = &msg->t;
	size_t len = sizeof(t->name);

	target_open_domain(t, FI_EP_MSG, FI_MSG | FI_RMA);
	assert_int_equal(fi_passive_ep(t->fabric, t->info, &msg->pep, NULL), 0);
	assert_int_equal(fi_pep_bind(msg->pep, &t->eq->fid, 0), 0);
	assert_int_equal(fi_listen(msg->pep), 0);
	assert_int_equal(fi_getname(&msg->pep->fid, &t->name, &len), 0);
	*state = msg;
	return 0;
}

static int close_msg(void **state)
{
	struct msg *msg = *state;

	assert_int_equal(fi_close(&msg->pep->fid), 0);
	target_close_domain(&msg->t);
	free(msg);
	return 0;
}

static struct fid_ep *accept_with(
	struct msg *msg, struct fi_info *info, const void *data, size_t data_len)
{
	struct target *t = &msg->t;
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(t->domain, info, &ep, NULL), 0);
	fi_freeinfo(info);
	assert_int_equal(fi_ep_bind(ep, &t->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &t->eq->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_accept(ep, data, data_len), 0);
	return ep;
}

/* A connected endpoint, and the socket at its other end. */
static struct fid_ep *connected(struct msg *msg, int *ret_fd)
{
	int fd = raw_connect(&msg->t.name);
	struct fid_ep *ep;

	raw_hex(fd, "03 00 0000 " CM_OLD LITTLE);
	ep = accept_with(msg, event(msg, FI_CONNREQ, &msg->pep->fid, NULL, 0), NULL, 0);
	raw_expect(&msg->t, fd, "03 01 0000 " CM_OLD LITTLE);
	(void)event(msg, FI_CONNECTED, &ep->fid, NULL, 0);
	*ret_fd = fd;
	return ep;
}

static void data_of_the_application(void **state)
{
	struct msg *msg = *state;
	int fd = raw_connect(&msg->t.name);
	struct fi_info *info;
	struct fid_ep *ep;
	char buf[8] = { 0 };

	/* A record right behind the request, which others let pass as well. */
	raw_hex(fd, "03 00 0003 " CM_OLD LITTLE "616263"
		    "03 00 0400 00 00 10 00 1400000000000000 66696e00");
	info = event(msg, FI_CONNREQ, &msg->pep->fid, "abc", 3);
	ep = accept_with(msg, info, "welcome", 7);
	raw_expect(&msg->t, fd, "03 01 0007 " CM_OLD LITTLE "77656c636f6d65");
	(void)event(msg, FI_CONNECTED, &ep->fid, NULL, 0);
	assert_int_equal(fi_recv(ep, buf, sizeof(buf), NULL, 0, NULL), 0);
	raw_expect(&msg->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	assert_int_equal(completion(&msg->t).len, 4);
	assert_string_equal(buf, "fin");
	assert_int_equal(fi_close(&ep->fid), 0);
	raw_expect_closed(&msg->t, fd);
}

static void rejection_carries_data(void **state)
{
	struct msg *msg = *state;
	int fd = raw_connect(&msg->t.name);
	struct fi_info *info;

	raw_hex(fd, "03 00 0000 " CM_OLD LITTLE);
	info = event(msg, FI_CONNREQ, &msg->pep->fid, NULL, 0);
	assert_int_equal(fi_reject(msg->pep, info->handle, "01234567", 8), 0);
	fi_freeinfo(info);
	raw_expect(
		&msg->t, fd, "03 06 0008 " CM_OLD "0000000000000000 3031323334353637");
	raw_expect_closed(&msg->t, fd);
}

static void broken_records_shut_down(void **state)
{
	static const char *const texts[] = {
		"03 01 0000 00 00 18 00 1c00000000000000 0700000000000000 61626364",
		"03 00 0000 02 00 10 00 1000000000000000",
		"03 03 0000 00 00 10 00 1000000000000000",
		("03 05 0000 01 00 20 00 2000000000000000"
		 "0100000000000000 0000100000000000"),
		"03 06 0000 01 00 10 00 1000000000000000",
		"03 07 0000 01 00 10 00 1000000000000000",
		"03 02 0000 00 05 78 00 7800000000000000",
		"03 00 0000 00 00 80 00 8000000000000000",
		"47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a",
	};
	struct msg *msg = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct fid_ep *ep;
		char buf[8];
		int fd;

		ep = connected(msg, &fd);
		assert_int_equal(fi_recv(ep, buf, sizeof(buf), NULL, 0, NULL), 0);
		raw_hex(fd, texts[i]);
		raw_expect_closed(&msg->t, fd);
		(void)event(msg, FI_SHUTDOWN, &ep->fid, NULL, 0);
		assert_int_equal(fi_close(&ep->fid), 0);
	}
}

static ssize_t send_byte(struct fid_ep *ep)
{
	return fi_send(ep, "x", 1, NULL, FI_ADDR_UNSPEC, NULL);
}

/* While the connection comes up a message is to be posted again; before, and after its
 * end, it cannot be sent. */
static void messages_wait_for_the_connection(void **state)
{
	struct msg *msg = *state;
	struct target *t = &msg->t;
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;
	struct fid_ep *ep;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listener, (void *)&addr, len), 0);
	assert_int_equal(getsockname(listener, (void *)&addr, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(fi_endpoint(t->domain, t->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &t->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &t->eq->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(send_byte(ep), -FI_ENOTCONN);
	assert_int_equal(fi_connect(ep, &addr, NULL, 0), 0);
	assert_int_equal(send_byte(ep), -FI_EAGAIN);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(send_byte(ep), -FI_EAGAIN);
	raw_hex(fd, "03 01 0000 " CM_OLD LITTLE);
	(void)event(msg, FI_CONNECTED, &ep->fid, NULL, 0);
	assert_int_equal(send_byte(ep), 0);
	close(fd);
	(void)event(msg, FI_SHUTDOWN, &ep->fid, NULL, 0);
	assert_int_equal(send_byte(ep), -FI_ENOTCONN);
	assert_int_equal(fi_close(&ep->fid), 0);
	close(listener);
}

/* The endpoint closes the connection, or answers it, and the EQ stays empty. */
static void ends_without_event(struct msg *msg, int fd)
{
	time_t end = now_s() + PATIENCE_S;
	uint8_t buf[512];
	uint32_t kind;

	while (recv(fd, buf, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
		assert_int_equal(
			fi_eq_read(msg->t.eq, &kind, buf, sizeof(buf), 0), -FI_EAGAIN);
		assert_true(now_s() < end);
	}
	close(fd);
}

static void strangers_raise_no_event(void **state)
{
	static const char *const texts[] = {
		"47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a 0d 0a",
		"02 00 0000 " CM_OLD LITTLE,
		"03 01 0000 " CM_OLD LITTLE,
		"03 06 0000 " CM_OLD LITTLE,
		"03 00 0101 " CM_OLD LITTLE,
	};
	struct msg *msg = *state;
	struct fid_ep *ep;
	int fd;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = raw_connect(&msg->t.name);
		raw_hex(fd, texts[i]);
		ends_without_event(msg, fd);
	}
	ep = connected(msg, &fd);
	assert_int_equal(fi_close(&ep->fid), 0);
	close(fd);
}

static int open_impatient(void **state)
{
	int ret;

	assert_int_equal(setenv("FI_TCP_CONNECT_TIMEOUT", "200", 1), 0);
	ret = open_msg(state);
	assert_int_equal(unsetenv("FI_TCP_CONNECT_TIMEOUT"), 0);
	return ret;
}

/* A connection whose request does not come, or not all of it, ends after
 * FI_TCP_CONNECT_TIMEOUT, and without an event. */
static void silent_requests_are_dropped(void **state)
{
	static const char *const begun[] = { "", "03 00 0000" };
	struct msg *msg = *state;

	for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
		int fd = raw_connect(&msg->t.name);

		raw_hex(fd, begun[i]);
		ends_without_event(msg, fd);
	}
}

/* The longest queue of the socket that listens at @name, as the kernel has it. */
static unsigned int queue_limit(const struct sockaddr_in *name)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct tcp_info info = { 0 };
		struct sockaddr_in sin;
		int listens = 0;
		socklen_t len = sizeof(listens);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) ||
			!listens)
			continue;
		len = sizeof(sin);
		if (getsockname(fd, (struct sockaddr *)&sin, &len) ||
			sin.sin_port != name->sin_port)
			continue;
		len = sizeof(info);
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
		return info.tcpi_sacked; /* of a listening socket, tcp(7) */
	}
	fail_msg("no socket listens");
	return 0;
}

/* CM-004 */
static void the_backlog_is_the_queues(void **state)
{
	struct msg *msg = *state;
	struct target *t = &msg->t;
	struct fid_pep *early;
	struct sockaddr_in name;
	size_t len = sizeof(name);
	int backlog = 3, negative = -1;

	assert_int_equal(fi_control(&msg->pep->fid, FI_BACKLOG, &negative), -FI_EINVAL);
	assert_true(queue_limit((struct sockaddr_in *)&t->name) > 3);
	assert_int_equal(fi_control(&msg->pep->fid, FI_BACKLOG, &backlog), 0);
	assert_int_equal(queue_limit((struct sockaddr_in *)&t->name), 3);
	/* Set before it listens. */
	assert_int_equal(fi_passive_ep(t->fabric, t->info, &early, NULL), 0);
	assert_int_equal(fi_pep_bind(early, &t->eq->fid, 0), 0);
	assert_int_equal(fi_control(&early->fid, FI_BACKLOG, &backlog), 0);
	assert_int_equal(fi_listen(early), 0);
	assert_int_equal(fi_getname(&early->fid, &name, &len), 0);
	assert_int_equal(queue_limit(&name), 3);
	assert_int_equal(fi_close(&early->fid), 0);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_msg, close_msg)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(data_of_the_application),
		EACH(rejection_carries_data),
		EACH(broken_records_shut_down),
		EACH(messages_wait_for_the_connection),
		EACH(strangers_raise_no_event),
		EACH(the_backlog_is_the_queues),
		cmocka_unit_test_setup_teardown(
			silent_requests_are_dropped, open_impatient, close_msg),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
