/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_HELLO_H
#define WF_RXD_FLOW_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/rxd/wire.h"

/*
 * RTS and CTS, which two endpoints exchange before all other packets, and this
 * library's addition to them: in bytes that the wire protocol in use leaves undefined,
 * an *extension* with the sender's packet size and epoch, and a hash over the whole
 * packet. A peer of another library leaves old memory in these bytes, for which the
 * hash is wrong. Pure functions; any thread.
 */
enum {
	RXD_NAME_SIZE = 64,
	RXD_RTS_SIZE = 88,
	RXD_CTS_SIZE = 32,
};

/* The contents of an extension. */
struct rxd_ext {
	/* Bytes of the largest packet that the sender can receive. */
	uint16_t max_packet;
	uint32_t epoch;
	/* The sender wants packets with a checksum (seal.h), used if both ends want
	 * them. */
	bool wants_seals;
};

struct rxd_rts {
	uint64_t index; /* index that the sender gives to the receiver */
	uint8_t name[RXD_NAME_SIZE];
	bool extended;
	struct rxd_ext ext; /* valid if @extended */
};

struct rxd_cts {
	uint64_t echo;  /* index of the RTS that the CTS answers */
	uint64_t index; /* index that the sender gives to the receiver */
	bool extended;
	struct rxd_ext ext;
};

/* A number that identifies this instance of an endpoint: later ones are greater (modulo
 * 2^32, by rxd_epoch_after), also those of a process that is started later on this
 * machine. Any thread. */
uint32_t rxd_epoch_new(void);

static inline bool rxd_epoch_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Encode to @to, which has RXD_RTS_SIZE or RXD_CTS_SIZE bytes. In an extended CTS
 * @to_epoch is the epoch of the RTS that it answers. */
void rxd_rts_write(const struct rxd_rts *rts, uint8_t *to);
void rxd_cts_write(const struct rxd_cts *cts, uint32_t to_epoch, uint8_t *to);

/* Decode. False: another type or version, or too short. @own_epoch: the epoch of this
 * endpoint. */
bool rxd_rts_read(const uint8_t *from, size_t len, struct rxd_rts *ret);
bool rxd_cts_read(
	const uint8_t *from, size_t len, uint32_t own_epoch, struct rxd_cts *ret);

#endif
