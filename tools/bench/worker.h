/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_WORKER_H
#define TOOLS_BENCH_WORKER_H

#include "node.h"

/*
 * One thread with its endpoint, and the operations of its side. A slot is one operation
 * that may be under way: its context, and the buffer that it uses next. With more
 * buffers than slots, each slot has some of them in turn, so that no two operations
 * under way share one.
 */
struct fb_slot {
	struct fi_context2 context; /* first: what completions tell */
	bool receives;
	uint32_t buffer;
	uint64_t turn; /* number of the operation that uses or used it */
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
	uint64_t turn;       /* operations started, or receives posted, of this size */
};

struct fb_worker {
	struct fb_node *node;
	struct fb_end end;
	int side; /* 0 measures */
	uint32_t number;

	/* Of this size. */
	enum fb_test test;
	size_t bytes;
	uint32_t window;
	bool touch, verify;
	bool silent;     /* operations that are injected have no completion */
	bool has_result; /* something comes back to the buffer of an operation */
	size_t step;     /* bytes from one word that is touched to the next */
	ssize_t (*start)(struct fb_worker *w, struct fb_slot *slot, char *buf);

	struct fb_lane tx, rx;
	uint64_t remote_addr, remote_key;
	uint64_t turn;
	uint64_t received_bytes_sum; /* so that reads of buffers are not left out */

	uint64_t *stamps; /* member 0: when each turn ended; NULL: not wanted */
	/* Datagrams: the time that the last batch took for its messages (0: the time of
	 * the call), and how many messages of this size were lost. */
	double batch_ns;
	uint64_t lost;

	/* Looks at an empty queue since something came, and since when. */
	uint32_t empty_looks;
	uint64_t quiet_since_ns;
};

struct fb_worker *fb_workers_new(struct fb_node *node);

/* Memory for the largest size of all tests, registered where that is needed, and the
 * peer's. */
void fb_workers_memory(struct fb_node *node);
void fb_worker_memory_close(struct fb_worker *w);

/* Slots and buffers for a size; all that is posted is posted already. */
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
	slot->buffer += lane->slots;
	if (slot->buffer >= lane->buffers)
		slot->buffer = (uint32_t)(slot - lane->slot) % lane->buffers;
	slot->turn = lane->turn++;
	return fb_buffer(lane, slot->buffer);
}

/* What the last byte of the buffer of write @turn becomes: never 0, and never what the
 * write before it to the same place left there. */
static inline char fb_write_mark(const struct fb_worker *w, uint64_t turn)
{
	return (char)(1 + turn / w->rx.buffers % 255);
}

/* What the buffer of operation @turn holds, in words or (at its end) in bytes. */
void fb_fill(const struct fb_worker *w, char *buf, uint64_t turn);
/* Byte @at of it. */
char fb_fill_byte(const struct fb_worker *w, uint64_t turn, size_t at);
/* Reads it; with verification ends the process if it is anything else. */
void fb_read(struct fb_worker *w, const char *buf, uint64_t turn);

#endif
