/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TCP_RAW_FAR_H
#define TESTS_TCP_RAW_FAR_H

/* Peers that an FI_EP_RDM endpoint connects to; each is a listening socket. */

#include "raw_rdm.h"

/* The socket of a peer, and its AV index. */
struct far {
	struct sockaddr_in name;
	fi_addr_t addr;
	int listener;
};

/* Open it at a port of the range that had no connection yet; the ports of the endpoint
 * itself are between the two ranges. */
static inline void open_far(struct rdm *rdm, struct far *far, int low, int high)
{
	static int used;
	int on = 1;

	far->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(far->listener >= 0);
	assert_int_equal(
		setsockopt(far->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)),
		0);
	far->name = rdm->t.name;
	for (int port = low + getpid() % 1000 + used; port < high; port++) {
		used++;
		far->name.sin_port = htons((uint16_t)port);
		if (!bind(far->listener, (void *)&far->name, sizeof(far->name)) &&
			!listen(far->listener, 16))
			break;
	}
	assert_int_equal(
		fi_av_insert(rdm->t.av, &far->name, 1, &far->addr, 0, NULL), 1);
}

static inline void open_lower(struct rdm *rdm, struct far *far)
{
	open_far(rdm, far, 12000, 20000);
	assert_true(ntohs(far->name.sin_port) < ntohs(rdm->t.name.sin_port));
}

static inline void open_higher(struct rdm *rdm, struct far *far)
{
	open_far(rdm, far, 62000, 65535);
	assert_true(ntohs(far->name.sin_port) > ntohs(rdm->t.name.sin_port));
}

/* Keep trying to send until the endpoint connects to @far. */
static inline int accept_from(
	struct rdm *rdm, struct far *far, bool *sent, uint64_t tag)
{
	static const char text[] = "abcd";
	time_t end = now_s() + PATIENCE_S;

	for (;;) {
		int fd = accept4(far->listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			return fd;
		if (!*sent) {
			ssize_t ret = fi_tsend(
				rdm->t.ep, text, 4, NULL, far->addr, tag, NULL);

			assert_true(!ret || ret == -FI_EAGAIN);
			*sent = !ret;
		}
		drive(&rdm->t);
		assert_true(now_s() < end);
	}
}

/* Send the message, if it has not been accepted yet. */
static inline void send_rest(struct rdm *rdm, struct far *far, bool *sent, uint64_t tag)
{
	static const char text[] = "abcd";
	time_t end = now_s() + PATIENCE_S;

	while (!*sent) {
		ssize_t ret = fi_tsend(rdm->t.ep, text, 4, NULL, far->addr, tag, NULL);

		assert_true(!ret || ret == -FI_EAGAIN);
		*sent = !ret;
		drive(&rdm->t);
		assert_true(now_s() < end);
	}
}

/* The request of an endpoint of this library: known bytes, its port, any identity. */
static inline struct bytes take_request(struct rdm *rdm, int fd)
{
	struct bytes want = hex("03 00 0008 5765663f 01");
	struct bytes got = raw_recv(&rdm->t, fd, 40);

	assert_int_equal(got.len, 40);
	assert_memory_equal(got.at, want.at, want.len);
	assert_int_equal(got.at[32], 1);
	assert_int_equal(got.at[33], 0);
	assert_memory_equal(got.at + 34, &rdm->t.name.sin_port, 2);
	return got;
}

/* Reply like an older peer: with @version and the requester's port. */
static inline void reply(int fd, const struct bytes *request, uint8_t version)
{
	struct bytes text = hex("03 01 0008 " CM_OLD LITTLE "00 00 0000 00000202");

	text.at[32] = version;
	memcpy(text.at + 34, request->at + 34, 2);
	raw_send(fd, text.at, text.len);
}

/* A connection to a peer that has version 0 or, with 0x81, version 1. */
static inline int connected(struct rdm *rdm, struct far *far, uint8_t version)
{
	struct bytes request;
	bool sent = false;
	int fd;

	open_lower(rdm, far);
	fd = accept_from(rdm, far, &sent, 1);
	request = take_request(rdm, fd);
	reply(fd, &request, version);
	send_rest(rdm, far, &sent, 1);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	(void)completion(&rdm->t);
	return fd;
}

static inline void close_far(struct far *far, int fd)
{
	close(fd);
	close(far->listener);
}

/* The request of the peer at @far to the endpoint. */
static inline int request_from(
	struct rdm *rdm, const struct far *far, uint8_t id, struct bytes *ret)
{
	struct bytes request = hex("03 00 0008 " CM_OLD LITTLE "01 00 0000 00000300");
	int fd = raw_connect(&rdm->t.name);

	memcpy(request.at + 34, &far->name.sin_port, 2);
	request.at[39] = id;
	raw_send(fd, request.at, request.len);
	*ret = request;
	return fd;
}

static inline void expect_type(struct rdm *rdm, int fd, uint8_t type)
{
	struct bytes got = raw_recv(&rdm->t, fd, 40);

	assert_int_equal(got.len, 40);
	assert_int_equal(got.at[1], type);
}

/* Answer the request by a reject with the extension @ext and the request's data. */
static inline void reject(int fd, const struct bytes *request, const char *ext)
{
	struct bytes head = hex("03 06 0008"), rest = hex(ext);

	memcpy(head.at + head.len, rest.at, rest.len);
	head.len += rest.len;
	memset(head.at + head.len, 0, 8);
	memcpy(head.at + head.len + 8, request->at + 32, 8);
	raw_send(fd, head.at, head.len + 16);
}

/* The endpoint asks at the address of @far whose connection it has, and is told that it
 * is that of the listener. */
static inline void vouch(struct rdm *rdm, struct far *far)
{
	struct bytes request;
	bool sent = true;
	int fd = accept_from(rdm, far, &sent, 1);

	request = take_request(rdm, fd);
	reject(fd, &request, CM_OLD);
	raw_expect_closed(&rdm->t, fd);
}

#endif
