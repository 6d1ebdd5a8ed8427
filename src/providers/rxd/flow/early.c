/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/early.h"

#include <stdlib.h>
#include <string.h>

#include "sys/compiler.h"

enum { CAPACITY_MIN = 16 };

static struct rxd_early_packet *early_slot(
	const struct rxd_early *early, uint64_t number)
{
	return &early->ring[number & (early->capacity - 1)];
}

/* Grow the ring for @span numbers from @next on. */
static bool early_grow(struct rxd_early *early, uint64_t next, size_t span)
{
	struct rxd_early wider = { .capacity = WF_MAX(early->capacity, CAPACITY_MIN),
		.count = early->count,
		.bytes = early->bytes,
		.last = early->last };

	if (span <= early->capacity)
		return true;
	while (wider.capacity < span)
		wider.capacity *= 2;
	wider.ring = calloc(wider.capacity, sizeof(*wider.ring));
	if (!wider.ring)
		return false;
	for (size_t i = 0; i < early->capacity; i++)
		*early_slot(&wider, next + i) = *early_slot(early, next + i);
	free(early->ring);
	*early = wider;
	return true;
}

bool rxd_early_keep(struct rxd_early *early, uint64_t number, uint64_t next,
	const void *bytes, size_t len, size_t *kept, size_t kept_max)
{
	struct rxd_early_packet *packet;

	if (!early_grow(early, next, (size_t)(number - next) + 1))
		return false;
	packet = early_slot(early, number);
	if (packet->bytes)
		return true;
	if (*kept > kept_max || early->bytes + 2 * len > kept_max - *kept)
		return false;
	packet->bytes = malloc(len);
	if (!packet->bytes)
		return false;
	memcpy(packet->bytes, bytes, len);
	packet->len = len;
	early->bytes += len;
	*kept += len;
	if (early->count++ == 0 || number > early->last)
		early->last = number;
	return true;
}

const struct rxd_early_packet *rxd_early_find(
	const struct rxd_early *early, uint64_t number)
{
	const struct rxd_early_packet *packet;

	if (early->count == 0)
		return NULL;
	packet = early_slot(early, number);
	return packet->bytes ? packet : NULL;
}

void rxd_early_drop(struct rxd_early *early, uint64_t number, size_t *kept)
{
	struct rxd_early_packet *packet;

	if (early->count == 0)
		return;
	packet = early_slot(early, number);
	if (!packet->bytes)
		return;
	*kept -= packet->len;
	early->bytes -= packet->len;
	early->count--;
	free(packet->bytes);
	packet->bytes = NULL;
}

size_t rxd_early_bits(
	const struct rxd_early *early, uint64_t next, uint64_t *words, size_t word_max)
{
	size_t bits, used = 0;

	if (early->count == 0 || early->last <= next)
		return 0;
	bits = WF_MIN((size_t)(early->last - next),
		WF_MIN(early->capacity - 1, word_max * 64));
	for (size_t i = 0; i < bits; i++) {
		if (i % 64 == 0)
			words[i / 64] = 0;
		if (!early_slot(early, next + 1 + i)->bytes)
			continue;
		words[i / 64] |= UINT64_C(1) << (i % 64);
		used = i / 64 + 1;
	}
	return used;
}

void rxd_early_done(struct rxd_early *early, size_t *kept)
{
	for (size_t i = 0; early->count > 0; i++)
		rxd_early_drop(early, i, kept);
	free(early->ring);
	*early = (struct rxd_early){ 0 };
}
