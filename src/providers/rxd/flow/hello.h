/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_HELLO_H
#define RXD_FLOW_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/rxd/wire.h"

/*
 * RTS and CTS, which two endpoints exchange before anything else, and what this library
 * adds to them: in bytes that are undefined on the wire in use, an *extension* that
 * tells the size of packets and the epoch of the sender, with a hash over everything
 * that the packet says. A peer of another library leaves old memory in these bytes,
 * which the hash recognises. Pure functions; any thread.
 */
enum {
	RXD_NAME_SIZE = 64,
	RXD_RTS_SIZE = 88,
	RXD_CTS_SIZE = 32,
};

/* What an extension says. */
struct rxd_ext {
	uint16_t max_packet; /* bytes of the largest packet that the sender receives */
	uint32_t epoch;
	bool wants_seals; /* packets with a checksum (seal.h), if both sides want it */
};

struct rxd_rts {
	uint64_t index; /* what the sender calls the receiver */
	uint8_t name[RXD_NAME_SIZE];
	bool extended;
	struct rxd_ext ext; /* if extended */
};

struct rxd_cts {
	uint64_t echo;  /* the index of the RTS */
	uint64_t index; /* what the sender calls the receiver */
	bool extended;
	struct rxd_ext ext;
};

/* A number for this life of an endpoint: later ones are greater (modulo 2^32, by
 * rxd_epoch_after), also those of a process that is started later on this machine. Any
 * thread. */
uint32_t rxd_epoch_new(void);

static inline bool rxd_epoch_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* @to has room for RXD_RTS_SIZE, RXD_CTS_SIZE bytes. In an extended CTS @to_epoch is
 * the epoch of the RTS that it answers. */
void rxd_rts_write(const struct rxd_rts *rts, uint8_t *to);
void rxd_cts_write(const struct rxd_cts *cts, uint32_t to_epoch, uint8_t *to);

/* False: not one, of another version, or too short. @own_epoch: of this endpoint. */
bool rxd_rts_read(const uint8_t *from, size_t len, struct rxd_rts *ret);
bool rxd_cts_read(
	const uint8_t *from, size_t len, uint32_t own_epoch, struct rxd_cts *ret);

#endif
