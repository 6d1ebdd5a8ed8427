/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RXM_RAW_H
#define TESTS_RXM_RAW_H

/* Peers of an endpoint of tcp;ofi_rxm that are plain sockets. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../hex.h"
#include "../time_limits.h"
#include "../unheard_port.h"
#include "env.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { CM_LEN = 32, REQUEST_LEN = 24, ACCEPT_LEN = 16, CORE_LEN = 16, HDR_LEN = 64 };

/* One step of the endpoint: 1 and *@ret, 0, or minus the error of a completion. */
static inline int step(struct rdm_end *env, struct fi_cq_tagged_entry *ret)
{
	struct fi_cq_err_entry err = { 0 };
	ssize_t n = fi_cq_read(env->cq, ret, 1);

	if (n == 1)
		return 1;
	if (n == -FI_EAGAIN)
		return 0;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(env->cq, &err, 0), 1);
	return -err.err;
}

static inline void put(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* Read @len bytes, or to the end (then the result is less), while the endpoint runs,
 * which completes nothing. They come within 20 seconds. */
static inline size_t get(struct rdm_end *env, int fd, void *to, size_t len)
{
	struct fi_cq_tagged_entry entry;
	time_t end = time(NULL) + limit_ms(20000) / 1000;
	size_t done = 0;

	while (done < len) {
		ssize_t n = recv(fd, (uint8_t *)to + done, len - done, MSG_DONTWAIT);

		if (!n || (n < 0 && errno == ECONNRESET))
			break;
		if (n > 0)
			done += (size_t)n;
		(void)step(env, &entry);
		assert_true(time(NULL) < end);
	}
	return done;
}

/* The answer to a request: its data, in host byte order of the fields. */
struct reply {
	uint8_t data[256];
	size_t len;
};

enum { EAGER_AT = CM_LEN + 8, EAGER_MAX = 16384 };

/* Connect and send a request with the data of release 1.17, its size of buffers, and
 * @more_len bytes behind it, of a peer at @port. Returns the socket. */
static inline int send_request(struct rdm_end *env, uint32_t buffer_size, uint16_t port,
	const void *more, size_t more_len)
{
	struct bytes request =
		hex("03 00 0018 00000000 0000000000000000 0000000000000000"
		    "0100000000000000"
		    "01 02 04 03 0000 02 00 00400000 00100000 05000000 7f1b0000");
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memcpy(request.at + CM_LEN + 4, &port, sizeof(port));
	memcpy(request.at + EAGER_AT, &buffer_size, sizeof(buffer_size));
	request.at[3] = (uint8_t)(REQUEST_LEN + more_len);
	assert_int_equal(connect(fd, (void *)&env->addr, sizeof(env->addr)), 0);
	put(fd, request.at, request.len);
	if (more_len)
		put(fd, more, more_len);
	return fd;
}

/* The endpoint accepts the request. */
static inline void get_reply(struct rdm_end *env, int fd, struct reply *ret)
{
	uint8_t head[CM_LEN];

	assert_int_equal(get(env, fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(head[1], 1);
	ret->len = (size_t)head[2] << 8 | head[3];
	assert_true(ret->len >= ACCEPT_LEN && ret->len <= sizeof(ret->data));
	assert_int_equal(get(env, fd, ret->data, ret->len), ret->len);
}

/* A connection request that is accepted, with @more_len bytes behind it, from the port
 * *@ret_port, of another peer each time. Returns the socket. */
static inline int request_sized(struct rdm_end *env, uint32_t buffer_size,
	const void *more, size_t more_len, struct reply *ret, uint16_t *ret_port)
{
	static uint16_t port = 1100;
	int fd;

	*ret_port = port = unheard_port(port + 1);
	fd = send_request(env, buffer_size, port, more, more_len);
	get_reply(env, fd, ret);
	return fd;
}

/* The same with the size of buffers that all have by default. */
static inline int request(struct rdm_end *env, const void *more, size_t more_len,
	struct reply *ret, uint16_t *ret_port)
{
	return request_sized(env, EAGER_MAX, more, more_len, ret, ret_port);
}

/* The id of the connection in packets to the endpoint. */
static inline uint64_t id_in(const struct reply *reply)
{
	uint32_t id;

	memcpy(&id, reply->data, sizeof(id));
	return id;
}

/* A connection, as release 1.17 asks for it. */
static inline int join(struct rdm_end *env, uint64_t *ret_id)
{
	struct reply reply;
	uint16_t port;
	int fd = request(env, NULL, 0, &reply, &port);

	assert_int_equal(reply.len, ACCEPT_LEN);
	*ret_id = id_in(&reply);
	return fd;
}

/* The packet of @text, with the connection's id. */
static inline void packet(int fd, uint64_t id, const char *text)
{
	struct bytes core = hex("03 00 0000 00 00 10 00 0000000000000000");
	struct bytes body = hex(text);
	uint64_t total = core.len + body.len;

	memcpy(core.at + 8, &total, sizeof(total));
	if (body.len >= 16)
		memcpy(body.at + 8, &id, sizeof(id));
	put(fd, core.at, core.len);
	put(fd, body.at, body.len);
}

/* Packets, for hex(). */
#define OLD "0101010101010101"
#define ID  "0000000000000000"
#define TAGGED(size, tag)                                                              \
	"04 00 0000 00000000" ID OLD OLD "02 00 01 00 00000000" size OLD tag
#define EAGER(size) TAGGED(size, "0700000000000000")
#define SEGMENT(msg, place, size)                                                      \
	"04 01 0400 00000000" ID msg place "02 00 01 00 00000000" size OLD             \
	"0700000000000000 61626364"
#define RDV(size, len, key)                                                            \
	"04 02 0000 00000000" ID OLD OLD "02 00 01 00 00000000" size OLD               \
	"0700000000000000"                                                             \
	"0000000000000000" len key OLD OLD OLD OLD OLD OLD OLD OLD OLD                 \
	"01 01010101010101"
#define BARE(kind) "04" kind "0000 00000000" ID OLD OLD OLD OLD OLD OLD

#endif
