/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_SEAL_H
#define RXD_FLOW_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/*
 * The checksum of packets between extended peers that both want it: CRC-32C of all
 * bytes of the packet, behind them. What the network below changes is then lost, and
 * sent again, also where a router wrote a right UDP checksum over wrong bytes. RTS and
 * CTS have their hash. Pure functions; any thread.
 */
enum { RXD_SEAL_SIZE = 4 };

/* The seal of the packet in these pieces. */
uint32_t rxd_seal(const struct iovec *iov, size_t count);

/* Is the packet of *@len bytes what was sealed? Then its seal is taken off *@len. */
bool rxd_seal_check(const uint8_t *packet, size_t *len);

#endif
