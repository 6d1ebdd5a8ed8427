/* SPDX-License-Identifier: BSD-2-Clause */
/* What else may talk to the port of an endpoint: scanners, browsers, noise. */
#include "fault.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "../sanitizer.h"

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

/* Programs that connect and send nothing, or stop in the middle of a message, do not
 * keep others out. */
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

/* ---- thousands that say nothing ---- */

struct host {
	struct signal_pipe ready, over;
	uint16_t port;
	unsigned int fd_limit; /* 0: all that there are */
};

static void limit_descriptors(rlim_t count)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	/* The hard one, too: the library raises the other. */
	if (count)
		limit.rlim_max = count;
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void host(void *arg)
{
	struct host *host = arg;
	struct fi_context2 rx[2];
	uint32_t in[2];
	struct node node;

	node_open(&node, host->port);
	for (int i = 0; i < 2; i++)
		node_receive(&node, &in[i], sizeof(in[i]), 0, &rx[i]);
	limit_descriptors(host->fd_limit);
	pipe_tell(&host->ready);
	node_drive_until(&node, &host->over);
	node_close(&node);
}

static unsigned int descriptors_of(pid_t pid)
{
	unsigned int count = 0;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The most memory that it ever had. */
static long kilobytes_of(pid_t pid)
{
	char line[256];
	long kb = -1;
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	file = fopen(line, "r");
	CHECK(file);
	while (kb < 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "VmHWM: %ld", &kb);
	(void)fclose(file);
	CHECK(kb > 0);
	return kb;
}

/* A process with a valid request gets a connection, and its message arrives. */
static void get_in(uint16_t port)
{
	struct fi_context2 tx;
	uint32_t value = 1;
	struct iovec iov = { &value, sizeof(value) };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .context = &tx };
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	struct node node;

	node_open(&node, 0);
	msg.addr = node_peer(&node, port);
	CHECK_OK(fi_tsendmsg(node.ep, &msg, FI_TRANSMIT_COMPLETE));
	CHECK(node_wait(&node, &entry, &err, 25000) == 1);
	node_close(&node);
}

static int open_silent(uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0);
	CHECK(!connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
		errno == EINPROGRESS);
	return fd;
}

static bool hung_up(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, 0);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

static void many_silent(unsigned int fd_limit, unsigned int most)
{
	enum { COUNT = 5000, SPARE = 200 };
	static int fds[COUNT];
	struct host *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t deadline = now_ms() + 40000;
	struct rlimit limit;
	int count, open;
	long before;
	pid_t pid;

	CHECK(shared != MAP_FAILED);
	pipe_open(&shared->ready);
	pipe_open(&shared->over);
	shared->port = free_port();
	shared->fd_limit = fd_limit;
	pid = child(host, shared, 120);
	pipe_wait(&shared->ready);
	before = kilobytes_of(pid);
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit_descriptors(0);
	count = limit.rlim_max < COUNT + SPARE ? (int)limit.rlim_max - SPARE : COUNT;
	CHECK(count > 0);
	for (int i = 0; i < count; i++)
		fds[i] = open_silent(shared->port);
	get_in(shared->port);
	do {
		(void)usleep(50000);
		open = 0;
		for (int i = 0; i < count; i++)
			open += !hung_up(fds[i]);
		CHECK(now_ms() < deadline);
	} while (open > (int)most);
	CHECK(descriptors_of(pid) < most + 64);
	get_in(shared->port);
	/* Freed memory waits in quarantine. */
	if (!ADDRESS_SANITIZER)
		CHECK(kilobytes_of(pid) - before < 16 << 10);
	printf("# %d came, %d stayed, %u descriptors, %ld KB more\n", count, open,
		descriptors_of(pid), kilobytes_of(pid) - before);
	pipe_tell(&shared->over);
	join(pid);
}

static void thousands_are_silent(void)
{
	many_silent(0, 1100);
}

static void thousands_are_silent_and_descriptors_few(void)
{
	many_silent(200, 200);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "browsers_are_sent_away", browsers_are_sent_away, 60 },
		{ "scanners_are_endured", scanners_are_endured, 60 },
		{ "noise_is_endured", noise_is_endured, 60 },
		{ "silent_visitors_block_nobody", silent_visitors_block_nobody, 60 },
		{ "descriptors_run_out", descriptors_run_out, 60 },
		{ "thousands_are_silent", thousands_are_silent, 120 },
		{ "thousands_are_silent_and_descriptors_few",
			thousands_are_silent_and_descriptors_few, 120 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
