/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_HELLO_H
#define RXM_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The data that two endpoints exchange when they connect: with the request, its
 * acceptance or its rejection (fi_connect, fi_accept, fi_reject). Pure functions.
 * Numbers are in the byte order of the sender, which refuses peers of the other one.
 */
enum {
	RXM_REQUEST_LEN = 24,
	RXM_ACCEPT_LEN = 16,
	RXM_REJECT_LEN = 2,
};

enum rxm_reason {
	RXM_REASON_NONE,
	RXM_REASON_REFUSED,   /* the endpoints do not fit, or the request makes no sense
			       */
	RXM_REASON_CONNECTED, /* they are connected, or the other request survives */
};

/* Whether the sender counts the buffers that its peer has. */
enum rxm_flow {
	RXM_FLOW_UNSTATED,
	RXM_FLOW_ON,
	RXM_FLOW_OFF,
};

struct rxm_hello {
	uint32_t id;         /* of the connection, in packets to the sender of this */
	uint32_t pid;        /* names the process of the sender */
	uint32_t rx_depth;   /* buffers that it has posted */
	uint8_t flow;        /* enum rxm_flow */
	uint16_t port;       /* where it listens; requests only */
	uint32_t eager_size; /* bytes of its buffers; requests only */
};

void rxm_hello_request(uint8_t data[RXM_REQUEST_LEN], const struct rxm_hello *hello);
void rxm_hello_accept(uint8_t data[RXM_ACCEPT_LEN], const struct rxm_hello *hello);
void rxm_hello_reject(uint8_t data[RXM_REJECT_LEN], enum rxm_reason reason);

/* Read a request of @len bytes. NULL: *ret is filled; else why it is refused. */
const char *rxm_hello_read_request(
	const void *data, size_t len, uint32_t eager_size, struct rxm_hello *ret);
/* Read what accepts a request. False: it is too short. */
bool rxm_hello_read_accept(const void *data, size_t len, struct rxm_hello *ret);
/* The reason of a rejection; data that cannot be read counts as RXM_REASON_REFUSED. No
 * data: RXM_REASON_NONE. */
enum rxm_reason rxm_hello_read_reject(const void *data, size_t len);

#endif
