/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/hello.h"

#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Offsets of the fields. The extension is in fields of the base header that are
 * undefined in these packets: flags, index, number. */
enum {
	AT_VERSION = offsetof(struct rxd_base, version),
	AT_TYPE = offsetof(struct rxd_base, type),
	AT_MAX_PACKET = offsetof(struct rxd_base, flags),
	AT_EPOCH = offsetof(struct rxd_base, peer),
	AT_HASH = offsetof(struct rxd_base, seq),
	AT_BODY = sizeof(struct rxd_base),
	/* Body of an RTS. */
	AT_INDEX = AT_BODY,
	AT_NAME = AT_INDEX + 8,
	/* Body of a CTS. */
	AT_ECHO = AT_BODY,
	AT_ASSIGNED = AT_ECHO + 8,
};

/* The 8 bytes at AT_HASH: options in the highest bits, the hash in the others. */
enum { OPTIONS_SHIFT = 56, OPTION_SEALS = 1 };
#define HASH_MASK ((UINT64_C(1) << OPTIONS_SHIFT) - 1)

/* The version of the extension: another version has another hash, and is not
 * recognised. */
static const char magic[] = "weft rxd extension 2";

uint32_t rxd_epoch_new(void)
{
	static _Atomic uint32_t last;
	struct timespec ts;
	uint32_t now, old = atomic_load_explicit(&last, memory_order_relaxed);

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	now = (uint32_t)((uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u);
	do {
		if (old != 0 && !rxd_epoch_after(now, old))
			now = old + 1;
	} while (!atomic_compare_exchange_weak_explicit(
		&last, &old, now, memory_order_relaxed, memory_order_relaxed));
	return now;
}

static uint64_t hello_hash_more(uint64_t hash, const void *from, size_t len)
{
	const uint8_t *bytes = from;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* FNV-1a over all other bytes of the packet, @to_epoch and @options. The bits are
 * mixed, so that old memory in these bytes is not a valid hash by accident; @options
 * are above the hash. */
static uint64_t hello_hash_of(
	const uint8_t *packet, size_t len, uint32_t to_epoch, uint8_t options)
{
	uint64_t hash =
		hello_hash_more(UINT64_C(0xcbf29ce484222325), magic, sizeof(magic));

	hash = hello_hash_more(hash, packet, AT_HASH);
	hash = hello_hash_more(hash, packet + AT_BODY, len - AT_BODY);
	hash = hello_hash_more(hash, &to_epoch, sizeof(to_epoch));
	hash = hello_hash_more(hash, &options, sizeof(options));
	hash ^= hash >> 31;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	hash ^= hash >> 29;
	return (hash & HASH_MASK) | (uint64_t)options << OPTIONS_SHIFT;
}

/* Write the extension; the rest of the packet is complete. */
static void hello_write_ext(
	uint8_t *packet, size_t len, uint32_t to_epoch, const struct rxd_ext *ext)
{
	uint8_t options = ext->wants_seals ? OPTION_SEALS : 0;
	uint64_t hash;

	memcpy(packet + AT_MAX_PACKET, &ext->max_packet, sizeof(ext->max_packet));
	memcpy(packet + AT_EPOCH, &ext->epoch, sizeof(ext->epoch));
	hash = hello_hash_of(packet, len, to_epoch, options);
	memcpy(packet + AT_HASH, &hash, sizeof(hash));
}

static bool hello_read_ext(
	const uint8_t *packet, size_t len, uint32_t to_epoch, struct rxd_ext *ret)
{
	uint8_t options;
	uint64_t hash;

	memcpy(&hash, packet + AT_HASH, sizeof(hash));
	options = (uint8_t)(hash >> OPTIONS_SHIFT);
	if (hash != hello_hash_of(packet, len, to_epoch, options))
		return false;
	ret->wants_seals = options & OPTION_SEALS;
	memcpy(&ret->max_packet, packet + AT_MAX_PACKET, sizeof(ret->max_packet));
	memcpy(&ret->epoch, packet + AT_EPOCH, sizeof(ret->epoch));
	return true;
}

void rxd_rts_write(const struct rxd_rts *rts, uint8_t *to)
{
	memset(to, 0, RXD_RTS_SIZE);
	to[AT_VERSION] = RXD_VERSION;
	to[AT_TYPE] = RXD_RTS;
	memcpy(to + AT_INDEX, &rts->index, sizeof(rts->index));
	memcpy(to + AT_NAME, rts->name, sizeof(rts->name));
	if (rts->extended)
		hello_write_ext(to, RXD_RTS_SIZE, 0, &rts->ext);
}

void rxd_cts_write(const struct rxd_cts *cts, uint32_t to_epoch, uint8_t *to)
{
	memset(to, 0, RXD_CTS_SIZE);
	to[AT_VERSION] = RXD_VERSION;
	to[AT_TYPE] = RXD_CTS;
	memcpy(to + AT_ECHO, &cts->echo, sizeof(cts->echo));
	memcpy(to + AT_ASSIGNED, &cts->index, sizeof(cts->index));
	if (cts->extended)
		hello_write_ext(to, RXD_CTS_SIZE, to_epoch, &cts->ext);
}

static bool hello_is(const uint8_t *from, size_t len, uint8_t type, size_t size)
{
	return len >= size && from[AT_VERSION] == RXD_VERSION && from[AT_TYPE] == type;
}

bool rxd_rts_read(const uint8_t *from, size_t len, struct rxd_rts *ret)
{
	if (!hello_is(from, len, RXD_RTS, RXD_RTS_SIZE))
		return false;
	memcpy(&ret->index, from + AT_INDEX, sizeof(ret->index));
	memcpy(ret->name, from + AT_NAME, sizeof(ret->name));
	ret->extended = hello_read_ext(from, RXD_RTS_SIZE, 0, &ret->ext);
	return true;
}

bool rxd_cts_read(
	const uint8_t *from, size_t len, uint32_t own_epoch, struct rxd_cts *ret)
{
	if (!hello_is(from, len, RXD_CTS, RXD_CTS_SIZE))
		return false;
	memcpy(&ret->echo, from + AT_ECHO, sizeof(ret->echo));
	memcpy(&ret->index, from + AT_ASSIGNED, sizeof(ret->index));
	ret->extended = hello_read_ext(from, RXD_CTS_SIZE, own_epoch, &ret->ext);
	return true;
}
