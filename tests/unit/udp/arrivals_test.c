/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

#include "../../log_lines.h"

/* Datagrams that arrive: errors of each receive call, sizes in buffers of each shape,
 * and how many one progress call takes from which socket. */

enum { LEN = 100, SIZE = 200 };

static uint8_t buf[SIZE];

/* ---- ways to receive ---- */

static void post_one(struct host *h, size_t len)
{
	assert_int_equal(fi_recv(h->fid, buf, len, NULL, FI_ADDR_UNSPEC, buf), 0);
}

static void post_two(struct host *h, size_t len)
{
	const struct iovec iov[] = { { buf, len / 2 },
		{ buf + len / 2, len - len / 2 } };

	assert_int_equal(fi_recvv(h->fid, iov, NULL, 2, FI_ADDR_UNSPEC, buf), 0);
}

static const struct way {
	uint64_t caps;
	void (*post)(struct host *h, size_t len);
	bool pktinfo; /* the socket has joined a group */
} ways[] = {
	{ FI_MSG, post_one, false },
	{ FI_MSG, post_two, false },
	{ FI_MSG | FI_SOURCE, post_one, false },
	{ FI_MSG | FI_SOURCE, post_two, false },
	{ FI_MSG | FI_SOURCE | FI_SOURCE_ERR, post_one, false },
	{ FI_MSG | FI_SOURCE, post_one, true },
	{ FI_MSG, post_one, true },
};

static void open_way(struct host *h, const struct way *way)
{
	host_open(h, (struct host_options){ .caps = way->caps });
	h->udp->pktinfo = way->pktinfo;
}

/* A receive call that fails is no message, and takes no receive. */
static void errors(void **state)
{
	static const int errnos[] = { EAGAIN, EINTR, ECONNREFUSED, ENOMEM,
		EHOSTUNREACH };
	struct host h;

	(void)state;
	for (size_t w = 0; w < WF_ARRAY_SIZE(ways); w++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(errnos); i++) {
			fi_addr_t src;

			open_way(&h, &ways[w]);
			ways[w].post(&h, SIZE);
			for (unsigned int k = 0; k < 3; k++) {
				arrive((struct arrival){ .err = errnos[i] });
				quiet(&h);
				assert_int_equal(arrivals_left(), 0);
			}
			arrive((struct arrival){
				.len = LEN, .seed = 3, .port = PORT_B });
			assert_int_equal(completed(&h, &src).len, LEN);
			assert_int_equal(
				src, ways[w].caps & FI_SOURCE ? h.b : FI_ADDR_NOTAVAIL);
			check_bytes(buf, 3, 0, LEN);
			host_close(&h);
		}
}

/* Errors are told, but not that nothing is there, which every poll finds. */
static void errors_are_told(void **state)
{
	static const struct {
		int err;
		bool told;
	} rows[] = { { EAGAIN, false }, { EINTR, false }, { ENOMEM, true } };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		log_lines_start();
		udp_receive_failed(rows[i].err);
		assert_int_equal(log_lines_have("socket error ignored"), rows[i].told);
	}
}

/* Lengths around that of the buffer. */
static void lengths(void **state)
{
	static const size_t lens[] = { 0, 1, LEN - 1, LEN, LEN + 1, 65507 };
	struct host h;

	(void)state;
	for (size_t w = 0; w < WF_ARRAY_SIZE(ways); w++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
			size_t fits = WF_MIN(lens[i], (size_t)LEN);

			open_way(&h, &ways[w]);
			memset(buf, 0, sizeof(buf));
			ways[w].post(&h, LEN);
			arrive((struct arrival){
				.len = lens[i], .seed = 9, .port = PORT_A });
			progress(&h);
			if (lens[i] <= LEN) {
				struct fi_cq_tagged_entry e = completed(&h, NULL);

				assert_int_equal(e.len, lens[i]);
				assert_int_equal(e.flags, FI_MSG | FI_RECV);
				assert_ptr_equal(e.op_context, buf);
				assert_null(e.buf);
				assert_int_equal(e.data, 0);
			} else {
				struct fi_cq_err_entry err = failed(&h);

				assert_int_equal(err.err, FI_ETRUNC);
				assert_int_equal(err.prov_errno, FI_ETRUNC);
				assert_int_equal(err.len, LEN);
				assert_int_equal(err.olen, lens[i] - LEN);
				assert_int_equal(err.flags, FI_MSG | FI_RECV);
				assert_ptr_equal(err.op_context, buf);
				assert_int_equal(err.err_data_size, 0);
			}
			check_bytes(buf, 9, 0, fits);
			assert_int_equal(buf[LEN], 0);
			quiet(&h);
			host_close(&h);
		}
}

/* A source that no AV has. */
static void strangers(void **state)
{
	struct host h;

	(void)state;
	for (size_t w = 0; w < WF_ARRAY_SIZE(ways); w++) {
		struct sockaddr_in name = name_of(PORT_STRANGER), got = { 0 };
		struct fi_cq_err_entry err = { .err_data = &got,
			.err_data_size = sizeof(got) };
		fi_addr_t src;

		open_way(&h, &ways[w]);
		ways[w].post(&h, SIZE);
		arrive((struct arrival){ .len = LEN, .port = PORT_STRANGER });
		if (ways[w].caps & FI_SOURCE_ERR) {
			progress(&h);
			assert_int_equal(fi_cq_readerr(h.cq, &err, 0), 1);
			assert_int_equal(err.err, FI_EADDRNOTAVAIL);
			assert_int_equal(err.len, LEN);
			assert_int_equal(err.olen, 0);
			assert_int_equal(err.err_data_size, sizeof(got));
			assert_memory_equal(&got, &name, sizeof(got));
		} else {
			assert_int_equal(completed(&h, &src).len, LEN);
			assert_int_equal(src, FI_ADDR_NOTAVAIL);
		}
		host_close(&h);
	}
}

/* ---- progress ---- */

/* Number of datagrams that a progress call takes. */
static unsigned int taken(struct host *h)
{
	unsigned int before = arrivals_left();

	progress(h);
	return before - arrivals_left();
}

static void arrive_many(unsigned int count, int fd)
{
	while (count--)
		arrive((struct arrival){ .len = 1, .port = PORT_A, .fd = fd });
}

static void post_many(struct host *h, unsigned int count)
{
	while (count--)
		post_one(h, SIZE);
}

/* One, then sixteen while there are as many, then one again. */
static void bursts(void **state)
{
	static const struct {
		unsigned int arrive, take;
	} steps[] = { { 40, 1 }, { 0, 16 }, { 0, 16 }, { 0, 7 }, { 17, 1 }, { 0, 16 },
		{ 16, 16 }, { 0, 0 }, { 3, 1 }, { 0, 2 }, { 0, 0 } };
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	post_many(&h, 200);
	for (size_t i = 0; i < WF_ARRAY_SIZE(steps); i++) {
		arrive_many(steps[i].arrive, 0);
		assert_int_equal(taken(&h), steps[i].take);
	}
	host_close(&h);
}

/* A socket is asked only while a receive is posted. */
static void no_receive_no_call(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	arrive_many(5, 0);
	assert_int_equal(taken(&h), 0);
	assert_int_equal(kernel.poll_count, 0);
	post_many(&h, 2);
	assert_int_equal(taken(&h), 1);
	assert_int_equal(taken(&h), 1);
	assert_int_equal(kernel.poll_count, 2);
	assert_int_equal(taken(&h), 0);
	assert_int_equal(kernel.poll_count, 2);
	host_close(&h);
}

/* Several sockets, as an endpoint in groups has them: each is asked in each call, and
 * each begins in turn. */
static void sockets_in_turn(void **state)
{
	enum { SOCKS = 3 };
	struct udp_sock socks[SOCKS], *own;
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	own = h.udp->socks;
	for (int i = 0; i < SOCKS; i++)
		socks[i] = (struct udp_sock){ i ? 1000 + i : h.udp->fd,
			FI_MSG | FI_RECV | (i ? FI_MULTICAST : 0) };
	h.udp->socks = socks;
	h.udp->sock_count = SOCKS;
	post_many(&h, 100);
	for (unsigned int round = 0; round < 2 * SOCKS; round++) {
		kernel.poll_count = 0;
		progress(&h);
		assert_int_equal(kernel.poll_count, SOCKS);
		for (unsigned int i = 0; i < SOCKS; i++)
			assert_int_equal(
				kernel.polls[i], socks[(round + i) % SOCKS].fd);
	}
	/* What came by which socket; and one that has many is asked more than once. */
	for (int i = 0; i < SOCKS; i++) {
		arrive_many(1, socks[i].fd);
		while (arrivals_left())
			progress(&h);
		assert_int_equal(completed(&h, NULL).flags,
			FI_MSG | FI_RECV | (i ? FI_MULTICAST : 0));
	}
	assert_int_equal(taken(&h), 0);
	arrive_many(20, socks[1].fd);
	assert_int_equal(taken(&h), 1);
	assert_int_equal(taken(&h), 16);
	assert_int_equal(taken(&h), 3);
	h.udp->socks = own;
	h.udp->sock_count = 1;
	host_close(&h);
}

/* ---- sleeping ---- */

static int wait_fd(struct host *h)
{
	int fd;

	wf_lock(&h->udp->ep.lock);
	fd = udp_wait_fd(&h->udp->ep);
	wf_unlock(&h->udp->ep.lock);
	assert_true(fd >= 0);
	return fd;
}

static void arm(struct host *h)
{
	wf_lock(&h->udp->ep.lock);
	assert_true(udp_arm(&h->udp->ep));
	wf_unlock(&h->udp->ep.lock);
}

/* The sockets are watched while a receive is posted, whether that was before or after
 * the descriptor was asked for; without one, until the next thread sleeps. */
static void watched_while_receives_are_posted(void **state)
{
	(void)state;
	for (unsigned int before = 0; before < 2; before++) {
		struct host h;
		int fd;

		host_open(&h, (struct host_options){ .caps = FI_MSG, .no_wait = true });
		assert_int_equal(h.udp->epfd, -1);
		arm(&h);
		if (before)
			post_one(&h, SIZE);
		fd = wait_fd(&h);
		assert_int_equal(wait_fd(&h), fd);
		assert_int_equal(h.udp->watched, before);
		if (!before)
			post_one(&h, SIZE);
		assert_true(h.udp->watched);
		arm(&h);
		assert_true(h.udp->watched);
		arrive_many(1, 0);
		progress(&h);
		assert_true(h.udp->watched);
		arm(&h);
		assert_false(h.udp->watched);
		post_one(&h, SIZE);
		assert_true(h.udp->watched);
		host_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(lengths),
		cmocka_unit_test(strangers),
		cmocka_unit_test(bursts),
		cmocka_unit_test(no_receive_no_call),
		cmocka_unit_test(sockets_in_turn),
		cmocka_unit_test(watched_while_receives_are_posted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
