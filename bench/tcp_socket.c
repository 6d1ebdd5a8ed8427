/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_socket latency|stream SIZE COUNT [ALGORITHM]: bare TCP sockets on the loopback
 * interface, non-blocking and busily polled, as fi_bench measures endpoints; with the
 * congestion control that is named, or the system's. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>

#include "pair.h"

enum { BATCH = 100, STREAM_BATCH = 4096, LARGE_BATCH = 256 };

struct work {
	size_t size;
	struct pair_test test;
	const char *algorithm; /* NULL: as the system has it */
	int fd;
	char *buf;
};

static void put(const struct work *w, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = send(w->fd, w->buf + done, size - done, MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			pair_fail("send");
		done += n < 0 ? 0 : (size_t)n;
	}
}

static void get(const struct work *w, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size) {
		n = recv(w->fd, w->buf + done, size - done, MSG_DONTWAIT);
		if (!n || (n < 0 && errno != EAGAIN))
			pair_fail("recv");
		done += n < 0 ? 0 : (size_t)n;
	}
}

static void iterations(const struct pair *pair, void *arg, size_t count)
{
	const struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		if (pair->side) {
			get(w, w->size);
			put(w, w->size);
		} else {
			put(w, w->size);
			get(w, w->size);
		}
	}
}

static void stream(const struct pair *pair, void *arg, size_t count)
{
	const struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		if (pair->side)
			get(w, w->size);
		else
			put(w, w->size);
	}
	if (pair->side)
		put(w, 1);
	else
		get(w, 1);
}

static void run(const struct pair *pair, void *arg)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in theirs;
	socklen_t len = sizeof(addr);
	struct work *w = arg;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

	w->buf = calloc(1, w->size + 1);
	if (!w->buf || fd < 0)
		pair_fail("socket");
	if (w->algorithm && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, w->algorithm,
				    strlen(w->algorithm)))
		pair_fail(w->algorithm);
	if (pair->side && (bind(fd, (struct sockaddr *)&addr, len) || listen(fd, 1) ||
				  getsockname(fd, (struct sockaddr *)&addr, &len)))
		pair_fail("listen");
	pair_swap(pair, &addr, &theirs, sizeof(addr));
	if (pair->side)
		w->fd = accept(fd, NULL, NULL);
	else if (!connect(fd, (struct sockaddr *)&theirs, len))
		w->fd = fd;
	if (w->fd <= 0 ||
		setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		pair_fail("connect");
	pair_time(pair, &w->test, w);
}

int main(int argc, char **argv)
{
	struct work w = { 0 };

	if (argc != 4 && argc != 5) {
		fprintf(stderr, "usage: %s latency|stream SIZE COUNT [ALGORITHM]\n",
			argv[0]);
		return 2;
	}
	w.size = strtoul(argv[2], NULL, 0);
	w.algorithm = argc == 5 ? argv[4] : NULL;
	w.test = strcmp(argv[1], "stream")
			 ? (struct pair_test){ iterations, .batch = BATCH, .legs = 2 }
			 : (struct pair_test){ stream, .batch = STREAM_BATCH,
				   .legs = 1 };
	if (w.test.legs == 1 && w.size > 65536)
		w.test.batch = LARGE_BATCH;
	w.test.count = strtoul(argv[3], NULL, 0);
	return pair_main(run, &w);
}
