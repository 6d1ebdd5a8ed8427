/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CQ_RING_H
#define WF_OBJECTS_CQ_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <rdma/fi_eq.h>

#include "sys/compiler.h"

/* One cache line. Every CQ format is a prefix of @entry. */
struct wf_cq_slot {
	struct fi_cq_tagged_entry entry; /* The entry in the largest format. */
	fi_addr_t src;                   /* Source, for fi_cq_readfrom. */
	uint64_t unused;
};

/*
 * The success entries of one completion queue, in order. A slot holds the largest
 * format, of which each format that an application may choose is a prefix: reading is a
 * copy.
 *
 * A full ring doubles, so no entry is lost while the application does not read; an
 * empty one shrinks to its first size. The counters run free: only their difference has
 * a meaning, and it stays below 2^31.
 *
 * The caller serialises all calls but wf_cq_ring_empty, which is a hint for threads
 * that poll without the lock. Its loads are relaxed, because a thread that acts on the
 * result takes the lock next, or runs after the fence of wf_wait_arm.
 */
struct wf_cq_ring {
	_Atomic uint32_t head; /* Next slot to write; runs free. */
	_Atomic uint32_t tail; /* Next slot to read; runs free. */
	uint32_t mask;         /* Number of slots - 1; that number is a power of two. */
	uint32_t base_mask;    /* @mask at the size given to wf_cq_ring_init. */
	enum fi_cq_format format;
	size_t entry_size; /* Bytes of an entry in @format. */
	struct wf_cq_slot *slots;
};

/* Make a ring with at least @count slots. 0 or -FI_ENOMEM. */
int wf_cq_ring_init(struct wf_cq_ring *ring, enum fi_cq_format format, size_t count);
void wf_cq_ring_done(struct wf_cq_ring *ring);

/* Double the number of slots. -FI_ENOMEM: the ring is unchanged. */
int wf_cq_ring_grow(struct wf_cq_ring *ring);

/* Return to the first size if the ring grew and is empty. */
void wf_cq_ring_shrink(struct wf_cq_ring *ring);

/* Is the ring larger than its first size? */
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

/* @head: wf_cq_ring_head. */
static inline bool wf_cq_ring_full(const struct wf_cq_ring *ring, uint32_t head)
{
	return head - wf_cq_ring_tail(ring) > ring->mask;
}

/* Append one entry at @head, to a ring that is not full. Members that the format lacks
 * are stored but never read. */
WF_INLINE void wf_cq_ring_append(struct wf_cq_ring *ring, uint32_t head, void *context,
	uint64_t flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	struct wf_cq_slot *slot = &ring->slots[head & ring->mask];

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
}

/* wf_cq_ring_append to a ring that may be full. -FI_ENOMEM: it could not grow. */
static inline int wf_cq_ring_put(struct wf_cq_ring *ring, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	uint32_t head = wf_cq_ring_head(ring);
	int ret = wf_unlikely(wf_cq_ring_full(ring, head)) ? wf_cq_ring_grow(ring) : 0;

	if (wf_likely(!ret))
		wf_cq_ring_append(ring, head, context, flags, len, buf, data, tag, src);
	return ret;
}

/* Inlined once per format, so that the compiler knows @size in each copy. */
WF_INLINE void wf_cq_ring_copy(const struct wf_cq_ring *ring, uint8_t *buf,
	uint32_t tail, size_t count, const size_t size)
{
	for (size_t i = 0; i < count; i++)
		memcpy(buf + i * size, &ring->slots[(tail + i) & ring->mask].entry,
			size);
}

/* Copy @count entries to @buf, and their sources to @src unless it is NULL, and remove
 * them. The ring has at least @count entries. */
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
