/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_WORKER_H
#define TOOLS_BENCH_WORKER_H

#include "node.h"

/*
 * One thread with its endpoint, and the operations of its side. A slot is one operation
 * that may be under way: its context, and the buffer that it uses next. If there
 * are more buffers than slots, a slot uses several buffers one after the other; no two
 * operations under way share a buffer.
 */
struct fb_slot {
	struct fi_context2 context; /* first: completions return its address */
	bool receives;
	/* Its first buffer, and, if it has several, the one that it uses now. */
	uint32_t first, buffer;
	char *memory;       /* of the buffer that it uses now */
	uint64_t iteration; /* number of the operation that uses or used it */
};

/* Slots in the order in which they became free, or have something to read. */
struct fb_fifo {
	struct fb_slot **at;
	uint32_t mask, head, tail;
};

/* Buffers and slots of one direction. */
struct fb_lane {
	char *memory;
	size_t len; /* bytes of memory */
	struct fid_mr *mr;
	void *desc;

	size_t stride;    /* from one buffer to the next */
	uint32_t buffers; /* in use with this size */
	struct fb_slot *slot;
	uint32_t slots;
	struct fb_fifo fifo; /* tx: free slots; rx: received ones */
	uint64_t iteration;  /* operations started, or receives posted, of this size */
};

struct fb_worker {
	struct fb_node *node;
	struct fb_end end;
	int side; /* 0 measures */
	uint32_t number;

	/* The test and size that are measured now. */
	enum fb_test test;
	size_t bytes;
	uint32_t window;
	bool touch, verify;
	bool tagged;     /* messages are tagged */
	bool fills;      /* buffers are written before they are sent */
	size_t rx_bytes; /* length of receives */
	bool injects;    /* operations have no completion */
	bool posts;      /* receives are posted before the messages of a size */
	bool has_result; /* operations fetch data into their buffers */
	size_t step;     /* bytes from one word that is touched to the next */
	ssize_t (*start)(struct fb_worker *w, struct fb_slot *slot, char *buf);

	struct fb_lane tx, rx;
	uint64_t remote_addr, remote_key;
	uint64_t iteration;
	uint64_t received_bytes_sum; /* sum of bytes read, so that they are read */

	uint64_t *stamps; /* side 0: end of each iteration in ns; NULL: not wanted */
	/* Datagrams: time of the last batch in ns (0: the time of the call), and number
	 * of messages of this size that were lost. */
	double batch_ns;
	uint64_t lost;

	/* Operations of a target that makes no calls (silent.c). */
	bool met;       /* one operation has reached the target */
	bool is_silent; /* side 0: the target makes no calls now */
	bool stalled;   /* an operation of this size needed calls of its target */

	/* Polls of an empty queue since the last completion, and the time of the first
	 * of them in ns. */
	uint32_t empty_polls;
	uint64_t quiet_since_ns;
};

struct fb_worker *fb_workers_new(struct fb_node *node);

/* Allocates memory for the largest size of all tests, registers it if that is needed,
 * and exchanges addresses and keys with the peer. */
void fb_workers_memory(struct fb_node *node);
void fb_worker_memory_close(struct fb_worker *w);

/* Prepares slots and buffers for a size, and posts the receives. */
void fb_worker_size(struct fb_worker *w, enum fb_test test, size_t bytes);

/* ---- slots and buffers ---- */

static inline void fb_fifo_put(struct fb_fifo *fifo, struct fb_slot *slot)
{
	fifo->at[fifo->tail++ & fifo->mask] = slot;
}

static inline bool fb_fifo_empty(const struct fb_fifo *fifo)
{
	return fifo->head == fifo->tail;
}

static inline uint32_t fb_fifo_count(const struct fb_fifo *fifo)
{
	return fifo->tail - fifo->head;
}

static inline struct fb_slot *fb_fifo_take(struct fb_fifo *fifo)
{
	return fifo->at[fifo->head++ & fifo->mask];
}

static inline char *fb_buffer(const struct fb_lane *lane, uint32_t buffer)
{
	return lane->memory + buffer * lane->stride;
}

/* The buffer for the next operation of @slot. */
static inline char *fb_next_buffer(struct fb_lane *lane, struct fb_slot *slot)
{
	slot->iteration = lane->iteration++;
	if (lane->buffers > lane->slots) {
		slot->buffer += lane->slots;
		if (slot->buffer >= lane->buffers)
			slot->buffer = slot->first;
		slot->memory = fb_buffer(lane, slot->buffer);
	}
	return slot->memory;
}

/* Operations take the buffers of a lane in turn: the buffer of operation @iteration,
 * and how often it was used before. The number of buffers is nearly always a power of
 * two, and a division takes a tenth of a write's time. */
static inline uint32_t fb_buffer_of(const struct fb_lane *lane, uint64_t iteration)
{
	uint32_t mask = lane->buffers - 1;

	return (uint32_t)(lane->buffers & mask ? iteration % lane->buffers
					       : iteration & mask);
}

static inline uint64_t fb_lap_of(const struct fb_lane *lane, uint64_t iteration)
{
	return lane->buffers & (lane->buffers - 1)
		       ? iteration / lane->buffers
		       : iteration >> __builtin_ctz(lane->buffers);
}

/* The last byte of write @iteration: never 0, and different from that of the write
 * before to the same buffer. */
static inline char fb_write_mark(const struct fb_worker *w, uint64_t iteration)
{
	return (char)(1 + fb_lap_of(&w->rx, iteration) % 255);
}

/* Fills the buffer of operation @iteration, in words and, at its end, in bytes. */
void fb_fill(const struct fb_worker *w, char *buf, uint64_t iteration);
/* Byte @at of the buffer that fb_fill filled. */
char fb_fill_byte(const struct fb_worker *w, uint64_t iteration, size_t at);
/* Reads a buffer; with verification, the process ends if it differs from fb_fill's. */
void fb_read(struct fb_worker *w, const char *buf, uint64_t iteration);

#endif
