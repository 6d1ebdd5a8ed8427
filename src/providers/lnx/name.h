/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_NAME_H
#define LNX_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/av/format.h"

/*
 * The address of an lnx endpoint: those of its links, in the order of the links, each
 * with what tells which link of a peer can reach it. Little-endian, LNX_NAME_LEN bytes:
 *
 *   u32 magic, u8 version, u8 links, u16 bytes in use
 *   per link: u32 provider, u16 address format, u16 length, u64 place, address
 *
 * addresses padded to four bytes, what is behind them zero. @provider and @place are
 * hashes; the latter is of the fabric's name, and for links that do not leave the
 * machine also of the machine and of what part of it they see (place.h).
 */
enum {
	LNX_NAME_LEN = 240,
	LNX_MAX_LINKS = 8,
};

struct lnx_name_link {
	uint32_t provider;
	uint16_t format;
	uint16_t len;
	uint64_t place;
	const void *addr; /* 4-aligned if the name is */
};

struct lnx_name {
	unsigned int count;
	struct lnx_name_link link[LNX_MAX_LINKS];
};

/* False: it does not fit. @buf has LNX_NAME_LEN bytes. */
bool lnx_name_pack(const struct lnx_name *name, void *buf);

/* False: @buf, LNX_NAME_LEN bytes from anywhere, is no such address. The result points
 * into it. */
bool lnx_name_unpack(const void *buf, struct lnx_name *ret_name);

/* Which links of @mine and @theirs meet: ret_peer[i] is the one of @theirs that link i
 * of @mine talks to, or -1. Both sides come to the same result. */
void lnx_name_pair(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, int ret_peer[LNX_MAX_LINKS]);

extern const struct wf_av_format lnx_av_format;

#endif
