/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_PATH_H
#define RXD_FLOW_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * How large a packet the path to an extended peer takes: probes of falling sizes, each
 * sent a few times, until the peer's acknowledgement tells that one arrived (packet
 * layer path MTU discovery, RFC 8899, from above). The caller serialises.
 */
struct rxd_path {
	uint16_t probe;     /* bytes of the probe under way; 0: none */
	uint16_t smallest;  /* probes are larger than this */
	unsigned int tries; /* of this size */
	uint64_t at_ns;     /* when the next probe is sent; UINT64_MAX: none */
};

void rxd_path_init(struct rxd_path *path);

/* Probe for @largest bytes, and sizes above @smallest if that is too much. */
void rxd_path_start(
	struct rxd_path *path, uint16_t smallest, size_t largest, uint64_t now_ns);

/* The time has come: the bytes of the probe to be sent; 0: no more. */
uint16_t rxd_path_next(struct rxd_path *path, uint64_t now_ns);

/* The peer received packets of @largest bytes. True: that answers the probe, which has
 * found *@ret_size. */
bool rxd_path_arrived(struct rxd_path *path, uint16_t largest, uint16_t *ret_size);

#endif
