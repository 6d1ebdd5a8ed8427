/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include "say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

int (*fb_control_why_left)(void);

void fb_control_init(struct fb_control *c, int rank, int members)
{
	*c = (struct fb_control){ .rank = rank, .members = members };
	c->fd = fb_alloc((size_t)members, sizeof(*c->fd));
	for (int i = 0; i < members; i++)
		c->fd[i] = -1;
}

void fb_control_add(struct fb_control *c, int member, int fd, uint32_t timeout_s)
{
	struct timeval limit = { .tv_sec = timeout_s };

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		fb_die(FB_EXIT_FAILED, "control connection: %s", strerror(errno));
	c->fd[member] = fd;
}

void fb_control_close(struct fb_control *c)
{
	for (int i = 0; i < c->members; i++)
		if (c->fd[i] >= 0)
			close(c->fd[i]);
	free(c->fd);
	c->fd = NULL;
}

static _Noreturn void control_left(void)
{
	fb_die(fb_control_why_left ? fb_control_why_left() : FB_EXIT_FAILED,
		"the peer left");
}

static void bench_control_send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			control_left();
		if (n < 0)
			fb_die(FB_EXIT_FAILED, "telling the peer: %s", strerror(errno));
		at += n;
		len -= (size_t)n;
	}
}

static void bench_control_recv_all(int fd, void *data, size_t len)
{
	char *at = data;

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (!n || (n < 0 && errno == ECONNRESET))
			control_left();
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			fb_die(FB_EXIT_FAILED,
				"no word of the peer within the timeout");
		if (n < 0)
			fb_die(FB_EXIT_FAILED, "hearing the peer: %s", strerror(errno));
		at += n;
		len -= (size_t)n;
	}
}

void fb_control_share(struct fb_control *c, void *data, size_t len)
{
	if (c->rank) {
		bench_control_recv_all(c->fd[0], data, len);
		return;
	}
	for (int i = 1; i < c->members; i++)
		bench_control_send_all(c->fd[i], data, len);
}

void fb_control_gather(struct fb_control *c, const void *mine, void *all, size_t len)
{
	if (c->rank) {
		bench_control_send_all(c->fd[0], mine, len);
	} else {
		memcpy(all, mine, len);
		for (int i = 1; i < c->members; i++)
			bench_control_recv_all(
				c->fd[i], (char *)all + (size_t)i * len, len);
	}
	fb_control_share(c, all, len * (size_t)c->members);
}

void fb_control_barrier(struct fb_control *c)
{
	char mine = 0, all[FB_MEMBERS_MAX];

	fb_control_gather(c, &mine, all, sizeof(mine));
}

/* 1: something to read, 0: nothing, -1: the member left. */
static int control_state(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n > 0)
		return 1;
	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
		       ? 0
		       : -1;
}

void fb_control_check(struct fb_control *c)
{
	for (int i = 0; i < c->members; i++)
		if (c->fd[i] >= 0 && control_state(c->fd[i]) < 0)
			control_left();
}

bool fb_control_talks(struct fb_control *c)
{
	int now = control_state(c->fd[0]);

	if (now < 0)
		control_left();
	return now > 0;
}
