/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of any content: read without harm, and what is understood lies within the
 * packet and within the limits. */
#include <stdlib.h>
#include <string.h>

#include "providers/rxm/data/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t span(const struct rxm_packet *packet)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < packet->seg_count; i++)
		sum += packet->seg[i].len;
	return sum;
}

static void check(const struct rxm_packet *packet, const uint8_t *data, size_t size)
{
	if (packet->kind >= RXM_KINDS || packet->seg_count > RXM_WIRE_SEGS_MAX ||
		packet->size > RXM_WIRE_SIZE_MAX || span(packet) > RXM_WIRE_SIZE_MAX)
		abort();
	if (packet->payload &&
		(packet->payload < data || packet->payload > data + size ||
			packet->payload_len > size - (size_t)(packet->payload - data)))
		abort();
	if (packet->kind == RXM_RDV && span(packet) < packet->size)
		abort();
	if (packet->kind == RXM_EAGER && packet->payload_len != packet->size)
		abort();
	if (packet->kind == RXM_ATOMIC && span(packet) > RXM_WIRE_SEGMENT_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A block of its own: the sanitizer sees each byte beyond the packet. */
	uint8_t *copy = malloc(size ? size : 1);
	struct rxm_packet packet;
	int ret;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	ret = rxm_packet_decode(copy, size, &packet);
	if (ret > 0 || ret <= -RXM_FAULTS)
		abort();
	if (!ret)
		check(&packet, copy, size);
	free(copy);
	return 0;
}
