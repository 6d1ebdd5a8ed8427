/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/cq/ring.h"

enum { MIN_SLOTS = 8 };
static const uint32_t max_slots = UINT32_C(1) << 31;

static const size_t entry_sizes[] = {
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};

/* Move the queued entries to a new array of @slots, which must be enough for them. */
static int ring_resize(struct wf_cq_ring *ring, uint32_t slots)
{
	uint32_t head = wf_cq_ring_head(ring), mask = slots - 1;
	struct wf_cq_slot *array = aligned_alloc(WF_CACHELINE, slots * sizeof(*array));

	if (!array)
		return -FI_ENOMEM;
	for (uint32_t i = wf_cq_ring_tail(ring); i != head; i++)
		array[i & mask] = ring->slots[i & ring->mask];
	free(ring->slots);
	ring->slots = array;
	ring->mask = mask;
	return 0;
}

int wf_cq_ring_init(struct wf_cq_ring *ring, enum fi_cq_format format, size_t count)
{
	uint32_t slots = MIN_SLOTS;
	int ret;

	if (count > max_slots)
		return -FI_ENOMEM;
	while (slots < count)
		slots *= 2;
	*ring = (struct wf_cq_ring){
		.format = format,
		.entry_size = entry_sizes[format],
	};
	ret = ring_resize(ring, slots);
	if (!ret)
		ring->base_mask = ring->mask;
	return ret;
}

void wf_cq_ring_done(struct wf_cq_ring *ring)
{
	free(ring->slots);
	ring->slots = NULL;
}

int wf_cq_ring_grow(struct wf_cq_ring *ring)
{
	uint32_t slots = ring->mask + 1;

	return slots < max_slots ? ring_resize(ring, slots * 2) : -FI_ENOMEM;
}

void wf_cq_ring_shrink(struct wf_cq_ring *ring)
{
	/* Out of memory: the ring stays large and works as before. */
	if (ring->mask > ring->base_mask && wf_cq_ring_empty(ring))
		(void)ring_resize(ring, ring->base_mask + 1);
}
