/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_RING_H
#define WF_OBJECTS_CQ_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <rdma/fi_eq.h>

#include "sys/compiler.h"

/* A cache line: whichever the format, the beginning of @entry is what it has. */
struct wf_cq_slot {
	struct fi_cq_tagged_entry entry;
	fi_addr_t src;
	uint64_t unused;
};

/*
 * The successes of one completion queue, in order, each in a form of which every format
 * that an application may choose is the beginning: reading is a copy.
 *
 * When it is full it doubles, so nothing is lost while the application does not read;
 * when it runs empty it returns to the size that was asked for. The counters run
 * free: only their difference means anything, and it stays below 2^31.
 *
 * The caller serialises all calls but wf_cq_ring_empty, which is a hint for those
 * who poll without lock: relaxed, because whoever acts on it takes the lock next (or
 * stands behind the fence of wf_wait_arm).
 */
struct wf_cq_ring {
	_Atomic uint32_t head; /* next slot to write */
	_Atomic uint32_t tail; /* next slot to read */
	uint32_t mask;         /* slots - 1, slots is a power of two */
	uint32_t base_mask;    /* mask at the size asked for */
	enum fi_cq_format format;
	size_t entry_size; /* of that */
	struct wf_cq_slot *slots;
};

/* Room for at least @count entries. -FI_ENOMEM. */
int wf_cq_ring_init(struct wf_cq_ring *ring, enum fi_cq_format format, size_t count);
void wf_cq_ring_done(struct wf_cq_ring *ring);

/* Double it; -FI_ENOMEM leaves it as it was. */
int wf_cq_ring_grow(struct wf_cq_ring *ring);

/* Back to the size asked for, if it grew and is empty. */
void wf_cq_ring_shrink(struct wf_cq_ring *ring);

/* Is there memory to be given back? */
static inline bool wf_cq_ring_grown(const struct wf_cq_ring *ring)
{
	return ring->mask > ring->base_mask;
}

static inline uint32_t wf_cq_ring_head(const struct wf_cq_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_relaxed);
}

static inline uint32_t wf_cq_ring_tail(const struct wf_cq_ring *ring)
{
	return atomic_load_explicit(&ring->tail, memory_order_relaxed);
}

static inline bool wf_cq_ring_empty(const struct wf_cq_ring *ring)
{
	return wf_cq_ring_head(ring) == wf_cq_ring_tail(ring);
}

/* Append one entry; what the format has no room for is never read. -FI_ENOMEM. */
static inline int wf_cq_ring_put(struct wf_cq_ring *ring, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	uint32_t head = wf_cq_ring_head(ring);
	struct wf_cq_slot *slot;

	if (wf_unlikely(head - wf_cq_ring_tail(ring) > ring->mask)) {
		int ret = wf_cq_ring_grow(ring);

		if (ret)
			return ret;
	}
	slot = &ring->slots[head & ring->mask];
	slot->entry = (struct fi_cq_tagged_entry){
		.op_context = context,
		.flags = flags,
		.len = len,
		.buf = buf,
		.data = data,
		.tag = tag,
	};
	slot->src = src;
	atomic_store_explicit(&ring->head, head + 1, memory_order_relaxed);
	return 0;
}

/* Inlined once per format, so that each copy has a size that the compiler knows. */
WF_INLINE void wf_cq_ring_copy(const struct wf_cq_ring *ring, uint8_t *buf,
	uint32_t tail, size_t count, const size_t size)
{
	for (size_t i = 0; i < count; i++)
		memcpy(buf + i * size, &ring->slots[(tail + i) & ring->mask].entry,
			size);
}

/* Copy out @count entries, of which there are that many, and their sources unless
 * @src is NULL. */
WF_INLINE void wf_cq_ring_take(
	struct wf_cq_ring *ring, void *buf, fi_addr_t *src, size_t count)
{
	uint32_t tail = wf_cq_ring_tail(ring);

	switch (ring->format) {
	case FI_CQ_FORMAT_TAGGED:
		wf_cq_ring_copy(
			ring, buf, tail, count, sizeof(struct fi_cq_tagged_entry));
		break;
	case FI_CQ_FORMAT_DATA:
		wf_cq_ring_copy(
			ring, buf, tail, count, sizeof(struct fi_cq_data_entry));
		break;
	case FI_CQ_FORMAT_MSG:
		wf_cq_ring_copy(ring, buf, tail, count, sizeof(struct fi_cq_msg_entry));
		break;
	default:
		wf_cq_ring_copy(ring, buf, tail, count, sizeof(struct fi_cq_entry));
	}
	for (size_t i = 0; src && i < count; i++)
		src[i] = ring->slots[(tail + i) & ring->mask].src;
	atomic_store_explicit(
		&ring->tail, tail + (uint32_t)count, memory_order_relaxed);
}

#endif
