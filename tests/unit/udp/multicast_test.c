/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <unistd.h>

#include <rdma/fi_eq.h>

#include "objects/eq/eq.h"

/*
 * Joins of a multicast group that fail: each step tells its error, and undoes the ones
 * before, so that the same call succeeds afterwards.
 */

enum { GROUP_PORT = 7100 };

/* The call that fails next, once. */
static enum {
	NONE,
	MALLOC,
	REALLOC_FIRST,
	REALLOC_SECOND,
	SOCKET,
	BIND,
	JOIN,
	EVENT
} step;

VISIBLE void *__wrap_malloc(size_t len);
VISIBLE void *__wrap_realloc(void *at, size_t len);
VISIBLE int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_udp_socket(int family, int *ret_fd);
ssize_t __wrap_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len);
void *__real_malloc(size_t len);
void *__real_realloc(void *at, size_t len);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __real_udp_socket(int family, int *ret_fd);
ssize_t __real_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len);

static bool fails(int now)
{
	if ((int)step != now)
		return false;
	step = NONE;
	return true;
}

void *__wrap_malloc(size_t len)
{
	return fails(MALLOC) ? NULL : __real_malloc(len);
}

void *__wrap_realloc(void *at, size_t len)
{
	if (fails(REALLOC_FIRST))
		return NULL;
	if (step == REALLOC_SECOND)
		step = REALLOC_FIRST;
	return __real_realloc(at, len);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!fails(BIND))
		return __real_bind(fd, addr, len);
	errno = EADDRNOTAVAIL;
	return -1;
}

int __wrap_udp_socket(int family, int *ret_fd)
{
	return fails(SOCKET) ? -FI_EMFILE : __real_udp_socket(family, ret_fd);
}

ssize_t __wrap_wf_eq_write(
	struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return fails(EVENT) ? -FI_EAGAIN : __real_wf_eq_write(eq, event, buf, len);
}

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static struct fid_eq *eq;

static void open_host(struct host *h, uint64_t caps)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };

	host_open(h, (struct host_options){ .caps = FI_MSG | caps });
	assert_int_equal(fi_eq_open(h->fabric, &attr, &eq, NULL), 0);
	assert_int_equal(fi_domain_bind(h->domain, &eq->fid, 0), 0);
}

static void close_host(struct host *h)
{
	assert_int_equal(fi_close(&h->fid->fid), 0);
	assert_int_equal(fi_close(&h->av->fid), 0);
	assert_int_equal(fi_close(&h->cq->fid), 0);
	assert_int_equal(fi_close(&h->domain->fid), 0);
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(fi_close(&h->fabric->fid), 0);
	fi_freeinfo(h->info);
}

static struct sockaddr_in group(void)
{
	struct sockaddr_in ret = name_of(GROUP_PORT);

	ret.sin_addr.s_addr = htonl(0xefff0001); /* 239.255.0.1 */
	return ret;
}

static void assert_joined(struct host *h)
{
	struct sockaddr_in addr = group();
	struct fi_eq_entry event;
	struct fid_mc *mc = NULL;
	uint32_t kind = 0;
	char context;

	assert_int_equal(fi_join(h->fid, &addr, 0, &mc, &context), 0);
	assert_int_equal(
		fi_eq_read(eq, &kind, &event, sizeof(event), 0), sizeof(event));
	assert_int_equal(kind, FI_JOIN_COMPLETE);
	assert_ptr_equal(event.fid, &mc->fid);
	assert_ptr_equal(event.context, &context);
	assert_int_equal(fi_mc_addr(mc), 0);
	assert_int_equal(h->udp->sock_count, 2);
	assert_int_equal(fi_close(&mc->fid), 0);
	assert_int_equal(h->udp->sock_count, 1);
}

static void every_step_fails(void **state)
{
	static const struct {
		int step, ret;
	} rows[] = {
		{ MALLOC, -FI_ENOMEM },
		{ REALLOC_FIRST, -FI_ENOMEM },
		{ REALLOC_SECOND, -FI_ENOMEM },
		{ SOCKET, -FI_EMFILE },
		{ BIND, -EADDRNOTAVAIL },
		{ JOIN, -ENODEV },
		{ EVENT, -FI_EAGAIN },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct sockaddr_in addr = group();
		struct fid_mc *mc = NULL;
		struct host h;
		unsigned int before;

		open_host(&h, FI_MULTICAST);
		before = descriptors();
		step = rows[i].step == JOIN ? NONE : rows[i].step;
		kernel.join_err = rows[i].step == JOIN ? ENODEV : 0;
		if (fi_join(h.fid, &addr, 0, &mc, NULL) != rows[i].ret)
			fail_msg("step %d", rows[i].step);
		assert_int_equal(step, NONE);
		kernel.join_err = 0;
		assert_null(mc);
		assert_int_equal(descriptors(), before);
		assert_int_equal(h.udp->sock_count, 1);
		assert_joined(&h);
		assert_int_equal(descriptors(), before);
		close_host(&h);
	}
}

/* A group's socket may get the descriptor of the standard input, if that is closed. */
static void lowest_descriptor(void **state)
{
	int input = dup(STDIN_FILENO);
	struct sockaddr_in addr = group();
	struct fid_mc *mc = NULL;
	struct host h;
	char byte;

	assert_true(input > STDIN_FILENO);
	open_host(&h, FI_MULTICAST);
	(void)close(STDIN_FILENO);
	assert_int_equal(fi_join(h.fid, &addr, 0, &mc, NULL), 0);
	assert_int_equal(h.udp->socks[1].fd, STDIN_FILENO);
	assert_int_equal(fi_close(&mc->fid), 0);
	assert_int_equal(h.udp->sock_count, 1);
	assert_int_equal(read(STDIN_FILENO, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	(void)close(input);
	close_host(&h);
}

/* What a join may ask for. */
static void refused(void **state)
{
	struct sockaddr_in addr = group();
	struct fid_mc *mc = NULL;
	struct host h;

	open_host(&h, 0);
	assert_int_equal(fi_join(h.fid, &addr, 0, &mc, NULL), -FI_EINVAL);
	close_host(&h);
	open_host(&h, FI_MULTICAST | FI_SEND);
	assert_int_equal(fi_join(h.fid, &addr, FI_COLLECTIVE, &mc, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_join(h.fid, &addr, FI_SEND | FI_MORE, &mc, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_join(h.fid, &addr, FI_RECV, &mc, NULL), -FI_EINVAL);
	assert_int_equal(fi_join(h.fid, NULL, FI_SEND, &mc, NULL), -FI_EINVAL);
	addr.sin_port = 0;
	assert_int_equal(fi_join(h.fid, &addr, FI_SEND, &mc, NULL), -FI_EINVAL);
	addr = name_of(GROUP_PORT);
	assert_int_equal(fi_join(h.fid, &addr, FI_SEND, &mc, NULL), -FI_EINVAL);
	assert_null(mc);
	close_host(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_step_fails),
		cmocka_unit_test(lowest_descriptor),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
