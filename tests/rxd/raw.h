/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RXD_RAW_H
#define TESTS_RXD_RAW_H

/* Peers of an endpoint of udp;ofi_rxd that are plain sockets, and speak the packets of
 * other libraries (docs/rxd-wire.md). */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../loopback.h"
#include "../time_limits.h"
#include "providers/rxd/flow/ack.h"
#include "providers/rxd/flow/hello.h"
#include "sys/compiler.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

enum { WAIT_MS = 10000, PACKET_MAX = 1472, SEGMENT = PACKET_MAX - RXD_DATA_HEAD };

static inline void setup(struct rdm_end *env)
{
	loopback_open(env, "udp;ofi_rxd", FI_MSG | FI_TAGGED | FI_RMA);
}

/* A peer that is a socket. */
struct raw {
	int fd;
	struct sockaddr_in addr;
	uint32_t own;     /* index that it gives to the endpoint */
	uint32_t index;   /* index that the endpoint gave to it */
	uint64_t next;    /* number of its next packet */
	uint64_t expects; /* number of the endpoint's next packet */
};

static inline void raw_open(struct raw *raw)
{
	socklen_t len = sizeof(raw->addr);

	*raw = (struct raw){ .fd = socket(AF_INET, SOCK_DGRAM, 0), .own = 7 };
	raw->addr.sin_family = AF_INET;
	raw->addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(raw->fd, (void *)&raw->addr, len), 0);
	assert_int_equal(getsockname(raw->fd, (void *)&raw->addr, &len), 0);
}

static inline void raw_close(struct raw *raw)
{
	close(raw->fd);
}

static inline void raw_send(const struct raw *raw, const struct rdm_end *env,
	const void *packet, size_t len)
{
	assert_int_equal(sendto(raw->fd, packet, len, 0, (const void *)&env->addr,
				 sizeof(env->addr)),
		(ssize_t)len);
}

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

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The next packet from the endpoint, which runs meanwhile and completes nothing. 0:
 * none came within @ms. */
static inline size_t raw_get_within(
	struct raw *raw, struct rdm_end *env, uint8_t *to, unsigned int ms)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + ms;
	ssize_t n;

	do {
		(void)step(env, &entry);
		n = recv(raw->fd, to, PACKET_MAX, MSG_DONTWAIT);
		if (n > 0)
			return (size_t)n;
	} while (now_ms() < end);
	return 0;
}

/* The next packet of @type from the endpoint. */
static inline size_t raw_get(
	struct raw *raw, struct rdm_end *env, unsigned int type, uint8_t *to)
{
	size_t len;

	do {
		len = raw_get_within(raw, env, to, limit_ms(WAIT_MS));
		assert_true(len > 1);
	} while (to[1] != type);
	return len;
}

/* An RTS that names the endpoint at @name. @epoch: 0: without an extension. */
static inline void raw_rts(const struct raw *raw, const struct rdm_end *env,
	const struct sockaddr_in *name, uint32_t epoch)
{
	struct rxd_rts rts = { .index = raw->own, .extended = epoch != 0 };
	uint8_t packet[RXD_RTS_SIZE];

	rts.ext = (struct rxd_ext){ .max_packet = PACKET_MAX, .epoch = epoch };
	memcpy(rts.name, name, sizeof(*name));
	rxd_rts_write(&rts, packet);
	raw_send(raw, env, packet, sizeof(packet));
}

/* Greet the endpoint, and get an index from it. */
static inline void raw_greet(struct raw *raw, struct rdm_end *env)
{
	uint8_t packet[PACKET_MAX];
	struct rxd_cts cts;
	size_t len;

	raw_rts(raw, env, &raw->addr, 0);
	len = raw_get(raw, env, RXD_CTS, packet);
	assert_true(rxd_cts_read(packet, len, 0, &cts));
	assert_int_equal(cts.echo, raw->own);
	raw->index = (uint32_t)cts.index;
}

/* Answer an RTS of the endpoint. */
static inline void raw_answer(
	struct raw *raw, struct rdm_end *env, const uint8_t *packet, size_t len)
{
	struct rxd_cts cts = { .index = raw->own };
	uint8_t answer[RXD_CTS_SIZE];
	struct rxd_rts rts;

	assert_true(rxd_rts_read(packet, len, &rts));
	raw->index = (uint32_t)rts.index;
	cts.echo = rts.index;
	rxd_cts_write(&cts, 0, answer);
	raw_send(raw, env, answer, sizeof(answer));
}

/* The base header of a packet to the endpoint. */
static inline struct rxd_base raw_base(
	const struct raw *raw, uint8_t type, uint64_t seq)
{
	return (struct rxd_base){
		.version = RXD_VERSION, .type = type, .peer = raw->index, .seq = seq
	};
}

/* Send a message of @len bytes in one packet. @number: that of the packet. */
static inline void raw_msg(const struct raw *raw, const struct rdm_end *env,
	uint64_t number, const void *data, size_t len)
{
	struct rxd_base base = raw_base(raw, RXD_MSG, number);
	uint8_t packet[PACKET_MAX];

	base.flags = RXD_FLAG_WHOLE;
	memcpy(packet, &base, sizeof(base));
	memcpy(packet + sizeof(base), data, len);
	raw_send(raw, env, packet, sizeof(base) + len);
}

/* Acknowledge everything below @next. */
static inline void raw_ack(
	const struct raw *raw, const struct rdm_end *env, uint64_t next)
{
	struct rxd_ack ack = { .next = next, .window = 128 };
	uint8_t packet[RXD_ACK_SIZE_MAX];

	raw_send(raw, env, packet, rxd_ack_write(&ack, raw->index, packet));
}

/* The first packet of a message of @size bytes: @len bytes from @data. */
static inline void raw_first(struct raw *raw, const struct rdm_end *env, uint64_t size,
	const uint8_t *data, size_t len)
{
	struct rxd_base base = raw_base(raw, RXD_MSG, raw->next++);
	const struct rxd_segment_head head = { .size = size,
		.packets = 1 + (size - len + SEGMENT - 1) / SEGMENT };
	uint8_t packet[PACKET_MAX];

	memcpy(packet, &base, sizeof(base));
	memcpy(packet + sizeof(base), &head, sizeof(head));
	memcpy(packet + sizeof(base) + sizeof(head), data, len);
	raw_send(raw, env, packet, sizeof(base) + sizeof(head) + len);
}

static inline void raw_more(
	struct raw *raw, const struct rdm_end *env, const uint8_t *data, size_t len)
{
	struct rxd_base base = raw_base(raw, RXD_DATA, raw->next++);
	uint8_t packet[PACKET_MAX] = { 0 };

	memcpy(packet, &base, sizeof(base));
	memcpy(packet + RXD_DATA_HEAD, data, len);
	raw_send(raw, env, packet, RXD_DATA_HEAD + len);
}

/* Run the endpoint for @ms; it completes nothing. */
static inline void idle(struct rdm_end *env, unsigned int ms)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + ms;

	do
		assert_int_equal(step(env, &entry), 0);
	while (now_ms() < end);
}

/* Wait for the completion with @context. */
static inline void await(struct rdm_end *env, const void *context)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = now_ms() + limit_ms(WAIT_MS);
	int ret;

	do {
		ret = step(env, &entry);
		assert_true(ret >= 0);
		assert_true(now_ms() < end);
	} while (ret == 0);
	assert_ptr_equal(entry.op_context, context);
}

#endif
