/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_STRIPE_WIRE_H
#define WF_LNX_STRIPE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "providers/lnx/name.h"

/*
 * Control messages between the private endpoints of two lnx endpoints
 * (docs/design/lnx.md). All have one form, in which a kind leaves the fields that it
 * does not use at 0. Little-endian:
 *
 *   u8 kind, u8 version, u8 has_data, u8 name_len, u32 err,
 *   u64 nonce, u64 id, u64 size, u64 data, u64 key, then name_len bytes: the name
 */
enum lnx_stripe_kind {
	/* Sender to receiver. HELLO: nonce, name. OFFER: id, key, size, data. WITHDRAW:
	 * id, err. ASK_RECEIVER, is the message still known?: nonce, name, id, key. */
	LNX_STRIPE_HELLO = 1,
	LNX_STRIPE_OFFER,
	LNX_STRIPE_WITHDRAW,
	LNX_STRIPE_ASK_RECEIVER,
	/* Receiver to sender. WELCOME: nonce, id without a number. DONE: nonce, id,
	 * key, err. ASK_SENDER, where is the offer?: nonce, id. */
	LNX_STRIPE_WELCOME,
	LNX_STRIPE_DONE,
	LNX_STRIPE_ASK_SENDER,
	/* Of either: it is only delivered. */
	LNX_STRIPE_PROBE,
	LNX_STRIPE_KINDS,
};

enum {
	LNX_STRIPE_HEADER = 48, /* bytes before the name */
	LNX_STRIPE_MSG_MAX = LNX_STRIPE_HEADER + LNX_NAME_LEN,
	LNX_STRIPE_ERR_MAX = 4095, /* greatest error code of a peer that is believed */
};

struct lnx_stripe_msg {
	uint8_t kind;     /* enum lnx_stripe_kind */
	bool has_data;    /* @data is the CQ data of the message */
	uint32_t err;     /* positive FI_E code; 0: success */
	uint64_t nonce;   /* number of the sender; see struct lnx_receiver */
	uint64_t id;      /* token of the receiver and number of the message */
	uint64_t size;    /* length of the message in bytes */
	uint64_t data;    /* CQ data */
	uint64_t key;     /* key of the message's memory at the sender */
	uint8_t name_len; /* bytes in @name; 0: the message has none */
	uint8_t name[LNX_NAME_LEN]; /* the sender's private endpoints, packed */
};

/*
 * An id: the token, which the receiver chose for one sender, and the number of a
 * message of that sender. It is the CQ data of the head. The token holds the index of
 * the sender at the receiver, from 1 on, and random bits.
 */
enum { LNX_STRIPE_OP_BITS = 24, LNX_STRIPE_INDEX_SHIFT = 48 };
#define LNX_STRIPE_OP_MASK ((UINT64_C(1) << LNX_STRIPE_OP_BITS) - 1)

static inline uint64_t lnx_stripe_token_of(uint64_t id)
{
	return id & ~LNX_STRIPE_OP_MASK;
}

static inline uint32_t lnx_stripe_index_of(uint64_t id)
{
	return (uint32_t)(id >> LNX_STRIPE_INDEX_SHIFT);
}

/* Write @msg to @buf, which has LNX_STRIPE_MSG_MAX bytes. Returns the length in
 * bytes. */
size_t lnx_stripe_write(const struct lnx_stripe_msg *msg, uint8_t *buf);

/* Read the @len bytes at @buf, which come from a peer. False: they are no control
 * message of this version. */
bool lnx_stripe_read(const uint8_t *buf, size_t len, struct lnx_stripe_msg *ret);

#endif
