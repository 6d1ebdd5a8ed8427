/* SPDX-License-Identifier: BSD-2-Clause */
#include "control.h"
#include "message.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEFAULT_PORT "47592"

enum { RECV_TIMEOUT_S = 10, NAME_MAX_LEN = 4096, COUNT_LEN = 10 };

static const char sync_ask[] = "q";
static const char sync_answer[] = "a";
static const char count_answer[] = "cnt ok";

static int control_resolve(const struct pp_options *o, const char *node,
	const char *port, struct addrinfo **ret_list)
{
	struct addrinfo hints = {
		.ai_family = o->ipv6 ? AF_INET6 : AF_INET,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = node ? 0 : AI_PASSIVE,
	};
	int ret = getaddrinfo(node, port, &hints, ret_list);

	if (!ret)
		return 0;
	pp_say("%s port %s: %s", node ? node : "any address", port, gai_strerror(ret));
	return ret == EAI_SYSTEM ? -errno : -EADDRNOTAVAIL;
}

static int control_bind_port(int fd, const struct pp_options *o, const char *port)
{
	struct addrinfo *list;
	int one = 1;
	int ret;

	ret = control_resolve(o, NULL, port, &list);
	if (ret)
		return ret;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, list->ai_addr, list->ai_addrlen)) {
		ret = -errno;
		pp_say("port %s: %s", port, strerror(-ret));
	}
	freeaddrinfo(list);
	return ret;
}

static int control_open_socket(const struct pp_options *o, int *ret_fd)
{
	int fd = socket(o->ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return pp_fail("socket", -errno);
	*ret_fd = fd;
	return 0;
}

static int control_wait_for_client(const struct pp_options *o, int *ret_fd)
{
	const char *port = o->src_port ? o->src_port : DEFAULT_PORT;
	int listener = -1, fd, ret;

	ret = control_open_socket(o, &listener);
	if (ret)
		return ret;
	ret = control_bind_port(listener, o, port);
	if (ret)
		goto close_listener;
	if (listen(listener, 1)) {
		ret = pp_fail("listen", -errno);
		goto close_listener;
	}
	pp_debug("waiting for a client at port %s", port);
	do {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	} while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
	if (fd < 0)
		ret = pp_fail("accept", -errno);
	else
		*ret_fd = fd;

close_listener:
	close(listener);
	return ret;
}

static int control_try_connect(
	const struct pp_options *o, const struct addrinfo *server, int *ret_fd)
{
	int fd = -1, ret;

	ret = control_open_socket(o, &fd);
	if (ret)
		return ret;
	if (o->src_port)
		ret = control_bind_port(fd, o, o->src_port);
	if (!ret && connect(fd, server->ai_addr, server->ai_addrlen))
		ret = -errno;
	if (ret)
		close(fd);
	else
		*ret_fd = fd;
	return ret;
}

static int control_connect_to_server(const struct pp_options *o, int *ret_fd)
{
	const char *port = o->dst_port ? o->dst_port : DEFAULT_PORT;
	struct addrinfo *list, *server;
	int ret;

	ret = control_resolve(o, o->server, port, &list);
	if (ret)
		return ret;
	pp_debug("connecting to %s port %s", o->server, port);
	ret = -EADDRNOTAVAIL;
	for (server = list; server && ret; server = server->ai_next)
		ret = control_try_connect(o, server, ret_fd);
	freeaddrinfo(list);
	if (ret)
		pp_say("connecting to %s port %s: %s", o->server, port, strerror(-ret));
	return ret;
}

int pp_control_open(const struct pp_options *o, int *ret_fd)
{
	struct timeval timeout = { .tv_sec = RECV_TIMEOUT_S };
	int fd = -1, ret;

	ret = pp_is_server(o) ? control_wait_for_client(o, &fd)
			      : control_connect_to_server(o, &fd);
	if (ret)
		return ret;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout))) {
		ret = pp_fail("setsockopt", -errno);
		close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

static int pp_control_send_all(int fd, const void *buf, size_t len)
{
	const char *at = buf;
	ssize_t n;

	while (len) {
		n = send(fd, at, len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return pp_fail("sending to the peer", -errno);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int pp_control_recv_all(int fd, void *buf, size_t len)
{
	char *at = buf;
	ssize_t n;

	while (len) {
		n = recv(fd, at, len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return pp_fail("waiting for the peer", -ETIMEDOUT);
		if (n < 0)
			return pp_fail("receiving from the peer", -errno);
		if (!n)
			return pp_fail("the peer left", -ECONNRESET);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Receives @text, which the protocol has at this point; any other text is an error. */
static int control_expect(int fd, const char *text, size_t len)
{
	char got[16];
	int ret;

	ret = pp_control_recv_all(fd, got, len);
	if (!ret && memcmp(got, text, len)) {
		pp_say("the peer is not at the same place: do all options agree?");
		ret = -EPROTO;
	}
	return ret;
}

int pp_control_send_name(int fd, const struct pp_name *name)
{
	uint32_t len = htonl((uint32_t)name->len);
	int ret;

	ret = pp_control_send_all(fd, &len, sizeof(len));
	if (!ret)
		ret = pp_control_send_all(fd, &name->format, sizeof(name->format));
	if (!ret)
		ret = pp_control_send_all(fd, name->addr, name->len);
	return ret;
}

int pp_control_recv_name(int fd, struct pp_name *ret_name)
{
	uint32_t len, format;
	void *addr;
	int ret;

	ret = pp_control_recv_all(fd, &len, sizeof(len));
	if (!ret)
		ret = pp_control_recv_all(fd, &format, sizeof(format));
	if (ret)
		return ret;
	len = ntohl(len);
	if (!len || len > NAME_MAX_LEN) {
		pp_say("the peer has an address of %" PRIu32 " bytes", len);
		return -EPROTO;
	}
	addr = malloc(len);
	if (!addr)
		return -ENOMEM;
	ret = pp_control_recv_all(fd, addr, len);
	if (ret) {
		free(addr);
		return ret;
	}
	*ret_name = (struct pp_name){ .format = format, .len = len, .addr = addr };
	return 0;
}

int pp_control_sync_send(int fd, bool server)
{
	return server ? pp_control_send_all(fd, sync_answer, sizeof(sync_answer))
		      : pp_control_send_all(fd, sync_ask, sizeof(sync_ask));
}

int pp_control_sync_recv(int fd, bool server)
{
	return server ? control_expect(fd, sync_ask, sizeof(sync_ask))
		      : control_expect(fd, sync_answer, sizeof(sync_answer));
}

int pp_control_count_recv(int fd, uint64_t *ret_count)
{
	char text[COUNT_LEN + 1] = "";
	int ret;

	ret = pp_control_recv_all(fd, text, COUNT_LEN);
	if (ret)
		return ret;
	*ret_count = strtoull(text, NULL, 10);
	return pp_control_send_all(fd, count_answer, sizeof(count_answer));
}

int pp_control_count_send(int fd, uint64_t count)
{
	char text[COUNT_LEN + 16] = "";

	snprintf(text, sizeof(text), "%" PRIu64, count);
	return pp_control_send_all(fd, text, COUNT_LEN);
}

int pp_control_count_taken(int fd)
{
	return control_expect(fd, count_answer, sizeof(count_answer));
}

enum pp_control_state pp_control_state(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n > 0)
		return PP_CONTROL_TALKS;
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return PP_CONTROL_QUIET;
	return PP_CONTROL_GONE;
}
