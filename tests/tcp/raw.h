/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TCP_RAW_H
#define TESTS_TCP_RAW_H

/*
 * An endpoint of the tcp provider, opened through the public interface, and peers of it
 * that are plain sockets: the test writes what they send byte by byte, so that it can
 * be wrong in every way (docs/tcp-wire.md).
 *
 * There is one thread: a wait makes the endpoint's progress.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "../hex.h"
#include "../time_limits.h"

/* Upper bound for anything that must happen; no time is measured with it. */
/* Time limit for an event, in seconds. */
#define PATIENCE_S ((time_t)limit_s(20))

enum { REGION = 4096, KEY = 0x5eed };

/* The objects whose progress is made: everything that the test has opened. */
struct target {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct sockaddr_in name;
	uint8_t region[REGION];
	/* Completions that were read and not yet taken. */
	struct fi_cq_tagged_entry done[64];
	unsigned int done_count;
	unsigned int failed_count; /* number of errors that were read */
	int failed_err;            /* error of the last one */
};

static inline struct fi_info *target_info(enum fi_ep_type type, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	assert_non_null(hints);
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = type;
	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup("tcp");
	assert_int_equal(fi_getinfo(FI_VERSION(2, 0), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &info),
		0);
	fi_freeinfo(hints);
	return info;
}

static inline void target_open_domain(
	struct target *t, enum fi_ep_type type, uint64_t caps)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_NONE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };

	memset(t, 0, sizeof(*t));
	t->info = target_info(type, caps);
	assert_int_equal(fi_fabric(t->info->fabric_attr, &t->fabric, NULL), 0);
	assert_int_equal(fi_eq_open(t->fabric, &eq_attr, &t->eq, NULL), 0);
	assert_int_equal(fi_domain(t->fabric, t->info, &t->domain, NULL), 0);
	assert_int_equal(fi_cq_open(t->domain, &cq_attr, &t->cq, NULL), 0);
	assert_int_equal(
		fi_mr_reg(t->domain, t->region, sizeof(t->region),
			FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &t->mr, NULL),
		0);
}

static inline void target_close_domain(struct target *t)
{
	assert_int_equal(fi_close(&t->mr->fid), 0);
	assert_int_equal(fi_close(&t->cq->fid), 0);
	assert_int_equal(fi_close(&t->domain->fid), 0);
	assert_int_equal(fi_close(&t->eq->fid), 0);
	assert_int_equal(fi_close(&t->fabric->fid), 0);
	fi_freeinfo(t->info);
}

static inline void drive(struct target *t)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t n = fi_cq_read(t->cq, &entry, 1);

	if (n == 1) {
		assert_true(t->done_count < 64);
		t->done[t->done_count++] = entry;
	} else if (n == -FI_EAVAIL) {
		assert_int_equal(fi_cq_readerr(t->cq, &err, 0), 1);
		t->failed_count++;
		t->failed_err = err.err;
	}
}

/* The next completion. */
static inline struct fi_cq_tagged_entry completion(struct target *t)
{
	struct fi_cq_tagged_entry entry;
	time_t end = now_s() + PATIENCE_S;

	while (!t->done_count) {
		drive(t);
		assert_true(now_s() < end);
	}
	entry = t->done[0];
	memmove(t->done, t->done + 1, --t->done_count * sizeof(entry));
	return entry;
}

static inline void raw_send(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

static inline void raw_hex(int fd, const char *text)
{
	struct bytes bytes = hex(text);

	raw_send(fd, bytes.at, bytes.len);
}

/* Receive @len bytes, or fewer if the peer closes. */
static inline struct bytes raw_recv(struct target *t, int fd, size_t len)
{
	time_t end = now_s() + PATIENCE_S;
	struct bytes got = { 0 };

	assert_true(len <= sizeof(got.at));
	while (got.len < len) {
		ssize_t n = recv(fd, got.at + got.len, len - got.len, MSG_DONTWAIT);

		if (n > 0)
			got.len += (size_t)n;
		else if (!n || errno == ECONNRESET || errno == EPIPE)
			break;
		else
			assert_int_equal(errno, EAGAIN);
		drive(t);
		assert_true(now_s() < end);
	}
	return got;
}

static inline void raw_expect(struct target *t, int fd, const char *text)
{
	struct bytes want = hex(text), got = raw_recv(t, fd, want.len);

	assert_int_equal(got.len, want.len);
	/* Byte 7 counts the records; other implementations send any value. */
	if (want.len >= 16 && want.at[0] == 3)
		got.at[7] = want.at[7];
	assert_memory_equal(got.at, want.at, want.len);
}

/* The peer closes the connection, whatever it sends before. */
static inline void raw_expect_closed(struct target *t, int fd)
{
	struct bytes got;

	do
		got = raw_recv(t, fd, 64);
	while (got.len == 64);
	close(fd);
}

static inline int raw_connect(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	assert_true(fd >= 0);
	/* The second piece of a record does not wait until the first is
	 * acknowledged. */
	assert_int_equal(
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	assert_int_equal(connect(fd, (const void *)to, sizeof(*to)), 0);
	return fd;
}

#define CM_OLD  "00000000 0000000000000000 0000000000000000 "
#define CM_OURS "5765663f 01 00 0000 0000003f 1122334455667788 "
#define LITTLE  "0100000000000000 "
#define BIG     "0000000000000001 "

#endif
