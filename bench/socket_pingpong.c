/* SPDX-License-Identifier: BSD-2-Clause */
/* socket_pingpong SIZE ITERATIONS: best and median one-way time in ns of bare UDP sockets on
 * the loopback interface, non-blocking and busily polled: the least that any library
 * can take. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "pair.h"

enum { BATCH = 100 };

struct work {
	size_t size, iterations;
	int fd;
	struct sockaddr_in peer;
	char *buf;
};

static void say(const struct work *w)
{
	if (sendto(w->fd, w->buf, w->size, 0, (const struct sockaddr *)&w->peer,
		    sizeof(w->peer)) != (ssize_t)w->size)
		pair_fail("sendto");
}

static void hear(const struct work *w)
{
	ssize_t n;

	do {
		n = recv(w->fd, w->buf, w->size, MSG_TRUNC);
	} while (n < 0 && errno == EAGAIN);
	if (n != (ssize_t)w->size)
		pair_fail("recv");
}

static void iterations(const struct pair *pair, void *arg, size_t count)
{
	const struct work *w = arg;

	for (size_t i = 0; i < count; i++) {
		if (pair->side) {
			hear(w);
			say(w);
		} else {
			say(w);
			hear(w);
		}
	}
}

static void run(const struct pair *pair, void *arg)
{
	struct work *w = arg;
	struct sockaddr_in me = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(me);

	w->buf = calloc(1, w->size + 1);
	w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (!w->buf || w->fd < 0 || bind(w->fd, (struct sockaddr *)&me, sizeof(me)) ||
		getsockname(w->fd, (struct sockaddr *)&me, &len))
		pair_fail("socket");
	pair_swap(pair, &me, &w->peer, sizeof(me));
	pair_time(pair,
		&(struct pair_test){
			iterations, .count = w->iterations, .batch = BATCH, .legs = 2 },
		w);
}

int main(int argc, char **argv)
{
	struct work w = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: %s SIZE ITERATIONS\n", argv[0]);
		return 2;
	}
	w.size = strtoul(argv[1], NULL, 0);
	w.iterations = strtoul(argv[2], NULL, 0);
	return pair_main(run, &w);
}
