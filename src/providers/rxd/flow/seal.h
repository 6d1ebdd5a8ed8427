/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_SEAL_H
#define WF_RXD_FLOW_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/*
 * The seal: a checksum of packets between extended peers that both want it. It is the
 * CRC-32C of all bytes of the packet, and follows them. A packet that the network below
 * has changed is then dropped and sent again, also if a router wrote a correct UDP
 * checksum over wrong bytes. RTS and CTS have a hash instead. Pure functions; any
 * thread.
 */
enum { RXD_SEAL_SIZE = 4 };

/* The seal of the packet in @iov. */
uint32_t rxd_seal(const struct iovec *iov, size_t count);

/* Is the seal of the packet of *@len bytes right? Then its length is subtracted from
 * *@len. */
bool rxd_seal_check(const uint8_t *packet, size_t *len);

#endif
