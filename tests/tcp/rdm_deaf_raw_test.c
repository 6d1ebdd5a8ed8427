/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A host that answers nothing, and an application of which one thread sleeps while
 * another one sends: the sleeper hears when time is up, though it fell asleep when
 * there was nothing to wait for.
 */
#include <pthread.h>

#include "raw_rdm.h"

#define CONNECT_MS  300
#define TO_TEXT(n)  TO_TEXT_(n)
#define TO_TEXT_(n) #n

struct deaf {
	struct rdm *rdm;
	struct fid_cq *cq, *rx_cq; /* for transmissions, which can be waited for */
	struct fid_ep *ep;
	struct sockaddr_in name;
	fi_addr_t addr;
	int listener, callers[4];
	ssize_t woken_by;
};

/* The queue of a listener is full: its kernel drops further connections. */
static void open_listener(struct deaf *deaf)
{
	socklen_t len = sizeof(deaf->name);

	deaf->name = deaf->rdm->t.name;
	deaf->name.sin_port = 0;
	deaf->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(deaf->listener, (void *)&deaf->name, sizeof(deaf->name)), 0);
	assert_int_equal(listen(deaf->listener, 0), 0);
	assert_int_equal(getsockname(deaf->listener, (void *)&deaf->name, &len), 0);
	for (int i = 0; i < 4; i++) {
		deaf->callers[i] =
			socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(
			deaf->callers[i], (void *)&deaf->name, sizeof(deaf->name));
	}
}

static void close_listener(struct deaf *deaf)
{
	for (int i = 0; i < 4; i++)
		close(deaf->callers[i]);
	close(deaf->listener);
}

static void open_endpoint(struct deaf *deaf)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };
	struct target *t = &deaf->rdm->t;

	assert_int_equal(fi_cq_open(t->domain, &attr, &deaf->cq, NULL), 0);
	attr.wait_obj = FI_WAIT_NONE;
	assert_int_equal(fi_cq_open(t->domain, &attr, &deaf->rx_cq, NULL), 0);
	assert_int_equal(fi_endpoint(t->domain, t->info, &deaf->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(deaf->ep, &deaf->cq->fid,
				 FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
		0);
	assert_int_equal(fi_ep_bind(deaf->ep, &deaf->rx_cq->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(deaf->ep, &t->av->fid, 0), 0);
	assert_int_equal(fi_enable(deaf->ep), 0);
	assert_int_equal(fi_av_insert(t->av, &deaf->name, 1, &deaf->addr, 0, NULL), 1);
}

static void close_endpoint(struct deaf *deaf)
{
	assert_int_equal(fi_close(&deaf->ep->fid), 0);
	assert_int_equal(fi_close(&deaf->cq->fid), 0);
	assert_int_equal(fi_close(&deaf->rx_cq->fid), 0);
}

static void expect_error(struct deaf *deaf, int wanted)
{
	struct fi_cq_err_entry err = { 0 };

	assert_int_equal(fi_cq_readerr(deaf->cq, &err, 0), 1);
	assert_int_equal(err.err, wanted);
}

static void *sleep_until_told(void *arg)
{
	struct deaf *deaf = arg;
	struct fi_cq_tagged_entry entry;

	deaf->woken_by = fi_cq_sread(deaf->cq, &entry, 1, NULL, PATIENCE_S * 1000);
	return NULL;
}

static void a_sleeper_is_told(void **state)
{
	struct deaf deaf = { .rdm = *state };
	pthread_t thread;

	open_listener(&deaf);
	open_endpoint(&deaf);
	assert_int_equal(pthread_create(&thread, NULL, sleep_until_told, &deaf), 0);
	(void)usleep(20000);
	assert_int_equal(fi_tsend(deaf.ep, "abcd", 4, NULL, deaf.addr, 1, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(deaf.woken_by, -FI_EAVAIL);
	expect_error(&deaf, FI_ETIMEDOUT);
	close_endpoint(&deaf);
	close_listener(&deaf);
}

/* Sleep on the descriptor of the queue, which was asked for leave to. */
static void sleep_on(struct fid_cq *cq)
{
	struct pollfd pollfd = { .events = POLLIN };

	assert_int_equal(fi_control(&cq->fid, FI_GETWAIT, &pollfd.fd), 0);
	assert_int_equal(poll(&pollfd, 1, PATIENCE_S * 1000), 1);
}

/* A peer that connects to the endpoint, claims to listen at @port and receives
 * everything. */
static int connect_peer(struct deaf *deaf, uint16_t port)
{
	struct rdm side = { .t = deaf->rdm->t };
	size_t len = sizeof(side.t.name);

	side.t.cq = deaf->rx_cq;
	assert_int_equal(fi_getname(&deaf->ep->fid, &side.t.name, &len), 0);
	return rdm_connect_as(&side, VERSION_1, port);
}

static fi_addr_t insert_port(struct deaf *deaf, uint16_t port)
{
	struct sockaddr_in name = deaf->rdm->t.name;
	fi_addr_t addr;

	name.sin_port = htons(port);
	assert_int_equal(fi_av_insert(deaf->rdm->t.av, &name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* A message that the next progress call is to send, which sleepers are woken for. */
static void send_later(struct deaf *deaf, fi_addr_t addr)
{
	char text[] = "abcd";
	struct iovec iov = { text, 4 };
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = addr
	};

	assert_int_equal(fi_tsendmsg(deaf->ep, &msg, FI_INJECT | FI_MORE), 0);
}

/*
 * The timer that wakes sleepers is over, for another reason than time, and a read of
 * the other queue takes note of that while one is asleep: it is set again.
 */
static void a_sleeper_is_told_though_another_one_read(void **state)
{
	enum { LOOKS = 100 };
	struct deaf deaf = { .rdm = *state };
	uint16_t port = unheard_port(2000);
	struct fi_cq_tagged_entry entry;
	struct fid *fid;
	fi_addr_t addr;
	ssize_t ret;
	int fd;

	open_listener(&deaf);
	open_endpoint(&deaf);
	fid = &deaf.cq->fid;
	fd = connect_peer(&deaf, port);
	addr = insert_port(&deaf, port);
	assert_int_equal(fi_tsend(deaf.ep, "abcd", 4, NULL, deaf.addr, 1, NULL), 0);
	while ((ret = fi_cq_read(deaf.cq, &entry, 1)) == -FI_EAGAIN) {
		if (fi_trywait(deaf.rdm->t.fabric, &fid, 1))
			continue;
		send_later(&deaf, addr);
		for (int i = 0; i < LOOKS; i++)
			assert_int_equal(fi_cq_read(deaf.rx_cq, &entry, 1), -FI_EAGAIN);
		sleep_on(deaf.cq);
	}
	assert_int_equal(ret, -FI_EAVAIL);
	expect_error(&deaf, FI_ETIMEDOUT);
	close(fd);
	close_endpoint(&deaf);
	close_listener(&deaf);
}

/* Between two attempts at a peer there is nothing but time to wait for. */
static void a_sleeper_is_told_of_refusals(void **state)
{
	struct deaf deaf = { .rdm = *state };
	socklen_t len = sizeof(deaf.name);
	struct fi_cq_tagged_entry entry;

	deaf.name = deaf.rdm->t.name;
	deaf.name.sin_port = 0;
	deaf.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(deaf.listener, (void *)&deaf.name, sizeof(deaf.name)), 0);
	assert_int_equal(getsockname(deaf.listener, (void *)&deaf.name, &len), 0);
	open_endpoint(&deaf);
	assert_int_equal(fi_tsend(deaf.ep, "abcd", 4, NULL, deaf.addr, 1, NULL), 0);
	assert_int_equal(
		fi_cq_sread(deaf.cq, &entry, 1, NULL, PATIENCE_S * 1000), -FI_EAVAIL);
	expect_error(&deaf, FI_ECONNREFUSED);
	close_endpoint(&deaf);
	close(deaf.listener);
}

/* Nothing comes over @fd for longer than an attempt to connect takes. */
static void expect_no_message(struct target *side, int fd)
{
	enum { ATTEMPTS_NS = 3 * CONNECT_MS * 1000000 };
	struct timespec begin, now;
	char byte;

	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		drive(side);
		assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
		(void)clock_gettime(CLOCK_MONOTONIC, &now);
	} while (
		(now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec <
		ATTEMPTS_NS);
	assert_int_equal(side->failed_count, 0);
}

/* Make room in the queue of the listener, until a request of the endpoint comes. */
static int accept_endpoint(struct deaf *deaf, struct target *side)
{
	for (int i = 0; i < 4; i++)
		(void)shutdown(deaf->callers[i], SHUT_RDWR);
	for (;;) {
		struct pollfd pollfd = { .fd = deaf->listener, .events = POLLIN };
		int fd;

		while (poll(&pollfd, 1, 0) < 1)
			drive(side);
		fd = accept4(deaf->listener, NULL, NULL, SOCK_CLOEXEC);
		assert_true(fd >= 0);
		if (raw_recv(side, fd, 40).len == 40)
			return fd;
		close(fd);
	}
}

/* A listener of this machine whose queue is full is there: the connection that claims
 * its port is not used until it has answered. */
static void a_full_queue_proves_nothing(void **state)
{
	struct deaf deaf = { .rdm = *state };
	struct target side;
	int fd, asked;

	open_listener(&deaf);
	open_endpoint(&deaf);
	fd = connect_peer(&deaf, ntohs(deaf.name.sin_port));
	side = deaf.rdm->t;
	side.cq = deaf.rx_cq;
	assert_int_equal(fi_tsend(deaf.ep, "abcd", 4, NULL, deaf.addr, 1, NULL), 0);
	expect_no_message(&side, fd);
	asked = accept_endpoint(&deaf, &side);
	raw_hex(asked, "03 06 0008 " CM_OLD "0000000000000000 0000000000000000");
	raw_expect(&side, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close(asked);
	close(fd);
	close_endpoint(&deaf);
	close_listener(&deaf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_sleeper_is_told),
		EACH(a_sleeper_is_told_though_another_one_read),
		EACH(a_sleeper_is_told_of_refusals),
		EACH(a_full_queue_proves_nothing),
	};

	(void)setenv("FI_TCP_CONNECT_TIMEOUT", TO_TEXT(CONNECT_MS), 1);
	(void)setenv("FI_TCP_REFUSED_TIMEOUT", "50", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
