/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_PATH_H
#define WF_RXD_FLOW_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The size of the largest packet that passes the path to an extended peer: probes of
 * decreasing sizes, each sent a few times, until the peer's acknowledgement reports
 * that one arrived (packet layer path MTU discovery, RFC 8899, from above). The caller
 * holds the lock of the flow.
 */
struct rxd_path {
	uint16_t probe;     /* bytes of the probe under way; 0: none */
	uint16_t smallest;  /* probes are larger than this, in bytes */
	unsigned int tries; /* probes of this size that were sent */
	uint64_t at_ns;     /* time of the next probe; UINT64_MAX: none */
};

void rxd_path_init(struct rxd_path *path);

/* Probe for packets of @largest bytes, and for smaller ones above @smallest if that is
 * too much. */
void rxd_path_start(
	struct rxd_path *path, uint16_t smallest, size_t largest, uint64_t now_ns);

/* The time of the next probe has come: its size in bytes; 0: there are no more
 * probes. */
uint16_t rxd_path_next(struct rxd_path *path, uint64_t now_ns);

/* The peer received a packet of @largest bytes. True: that is an answer to the probe,
 * and *@ret_size the size that was found. */
bool rxd_path_arrived(struct rxd_path *path, uint16_t largest, uint16_t *ret_size);

#endif
