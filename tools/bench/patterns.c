/* SPDX-License-Identifier: BSD-2-Clause */
#include "patterns.h"
#include "../clock.h"
#include "message.h"
#include "say.h"
#include "silent.h"

#include <stdatomic.h>
#include <string.h>

static inline void patterns_stamp(struct fb_worker *w, uint64_t iteration)
{
	if (w->stamps)
		w->stamps[iteration] = tool_now_ns();
}

/* ---- messages to and fro ---- */

static void patterns_send_one(struct fb_worker *w)
{
	fb_message_start(w);
	fb_message_finish(w);
}

/* A receive is posted while the answer is on its way, as in applications written for
 * low latency; another posted receive takes a message that arrives meanwhile. */
static void patterns_ping_pong(struct fb_worker *w, uint64_t count)
{
	struct fb_slot *received = NULL;

	for (uint64_t i = 0; i < count; i++) {
		if (w->side)
			received = fb_message_await(w);
		patterns_send_one(w);
		if (received)
			fb_message_post(w, received);
		if (!w->side)
			received = fb_message_await(w);
		patterns_stamp(w, i);
	}
	if (!w->side && received)
		fb_message_post(w, received);
}

/* ---- messages in both directions at once ---- */

/* Receives are posted, then messages sent, as programs do that exchange data with each
 * other, so a message may come before its receive. All receives are complete, and in
 * the fifo, between two exchanges. */
static void patterns_exchange(struct fb_worker *w, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		for (uint32_t n = 0; n < w->rx.slots; n++)
			fb_message_post(w, fb_fifo_take(&w->rx.fifo));
		for (uint32_t n = 0; n < w->tx.slots; n++)
			fb_message_start(w);
		fb_message_finish(w);
		while (fb_fifo_count(&w->rx.fifo) < w->rx.slots)
			fb_poll(w);
		for (uint32_t n = 0; n < w->rx.slots; n++)
			fb_fifo_put(&w->rx.fifo, fb_message_await(w));
		patterns_stamp(w, i);
	}
}

/* ---- writes to and fro ---- */

/* Wait for the peer's write: its last byte becomes the mark. */
static void patterns_await_write(struct fb_worker *w)
{
	char *buf = fb_buffer(&w->rx, fb_buffer_of(&w->rx, w->iteration));
	char mark = fb_write_mark(w, w->iteration);

	while (atomic_load_explicit((_Atomic char *)(buf + w->bytes - 1),
		       memory_order_acquire) != mark)
		fb_poll(w);
	/* Bytes before the last one may come later than it: see
	 * patterns_check_writes. */
	if (w->touch && !w->verify)
		fb_read(w, buf, w->iteration);
	w->iteration++;
}

static void patterns_write_ping_pong(struct fb_worker *w, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (!w->side)
			patterns_send_one(w);
		patterns_await_write(w);
		if (w->side)
			patterns_send_one(w);
		patterns_stamp(w, i);
	}
}

/* Check the mark, and replace it by the byte that the mark replaced. */
static void patterns_check_mark(struct fb_worker *w, char *buf, uint64_t iteration)
{
	if (buf[w->bytes - 1] != fb_write_mark(w, iteration))
		fb_die(FB_EXIT_DAMAGED, "write %llu arrived damaged, at its last byte",
			(unsigned long long)iteration);
	buf[w->bytes - 1] = fb_fill_byte(w, iteration, w->bytes - 1);
}

/* Check the last write to each buffer; all writes were delivered. */
static void patterns_check_writes(struct fb_worker *w)
{
	uint64_t iterations = w->iteration;
	uint64_t first = iterations > w->rx.buffers ? iterations - w->rx.buffers : 0;

	for (uint64_t iteration = first; iteration < iterations; iteration++) {
		char *buf = fb_buffer(&w->rx, fb_buffer_of(&w->rx, iteration));

		if (w->test == FB_WRITE_LATENCY)
			patterns_check_mark(w, buf, iteration);
		fb_read(w, buf, iteration);
	}
}

/* ---- one operation after the other, from side 0 ---- */

/* Results are checked when the completion is read. */
static void patterns_operations(struct fb_worker *w, uint64_t count)
{
	if (w->side) {
		fb_message_await_empty(w);
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		patterns_send_one(w);
		patterns_stamp(w, i);
	}
	fb_message_send_empty(w);
	fb_message_finish(w);
}

/* Fill all buffers that peers read. */
static void patterns_fill_all(struct fb_worker *w)
{
	for (uint32_t i = 0; i < w->rx.buffers; i++)
		fb_fill(w, fb_buffer(&w->rx, i), i);
}

static void patterns_clear_word(struct fb_worker *w)
{
	memset(w->rx.memory, 0, sizeof(uint64_t));
}

/* ---- streams ---- */

static void patterns_send_burst(struct fb_worker *w, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		fb_message_start(w);
	fb_message_finish(w);
}

/* Side 1 sends an empty message when all messages have arrived; side 0 waits for it. */
static void patterns_stream_slide(struct fb_worker *w, uint64_t count)
{
	if (w->side) {
		for (uint64_t i = 0; i < count; i++)
			fb_message_post(w, fb_message_await(w));
		fb_message_send_empty(w);
		fb_message_finish(w);
		return;
	}
	patterns_send_burst(w, count);
	fb_message_await_empty(w);
}

static uint64_t patterns_next_window(const struct fb_worker *w, uint64_t left)
{
	return left < w->window ? left : w->window;
}

static void patterns_stream_burst(struct fb_worker *w, uint64_t count)
{
	if (w->side) {
		patterns_stream_slide(w, count);
		return;
	}
	for (uint64_t done = 0; done < count; done += w->window)
		patterns_send_burst(w, patterns_next_window(w, count - done));
	fb_message_await_empty(w);
}

static void patterns_stream_answer(struct fb_worker *w, uint64_t count)
{
	for (uint64_t done = 0; done < count; done += w->window)
		patterns_stream_slide(w, patterns_next_window(w, count - done));
}

/* Both sides send and receive as fast as they can. */
static void patterns_stream_both(struct fb_worker *w, uint64_t count)
{
	uint64_t sent = 0, received = 0;

	while (sent < count || received < count) {
		while (sent < count && !fb_fifo_empty(&w->tx.fifo)) {
			fb_message_start(w);
			sent++;
		}
		fb_poll(w);
		for (; received < count && !fb_fifo_empty(&w->rx.fifo); received++)
			fb_message_post(w, fb_message_await(w));
	}
	fb_message_finish(w);
}

/* RMA and atomics: side 0 sends an empty message when all operations are complete; side
 * 1 waits for it. */
static void patterns_stream_one_sided(struct fb_worker *w, uint64_t count)
{
	w->iteration += count;
	if (w->side) {
		fb_message_await_empty(w);
		return;
	}
	patterns_send_burst(w, count);
	fb_message_send_empty(w);
	fb_message_finish(w);
}

static void patterns_check_sum(struct fb_worker *w)
{
	uint64_t sum;

	memcpy(&sum, w->rx.memory, sizeof(sum));
	if (sum != w->iteration)
		fb_die(FB_EXIT_DAMAGED, "%llu additions made %llu",
			(unsigned long long)w->iteration, (unsigned long long)sum);
}

/* ---- the table ---- */

static const struct fb_pattern patterns[FB_TEST_COUNT] = {
	[FB_LATENCY] = { patterns_ping_pong, 2 },
	[FB_BANDWIDTH] = { patterns_stream_slide },
	[FB_BIDIRECTIONAL] = { patterns_stream_both },
	[FB_RATE] = { patterns_stream_slide },
	[FB_EXCHANGE] = { patterns_exchange, 1 },
	[FB_BURST] = { patterns_exchange, 1 },
	[FB_WRITE_LATENCY] = { patterns_write_ping_pong, 2,
		.check = patterns_check_writes },
	[FB_WRITE_BANDWIDTH] = { patterns_stream_one_sided,
		.check = patterns_check_writes },
	[FB_READ_LATENCY] = { patterns_operations, 1, .prepare = patterns_fill_all },
	[FB_READ_BANDWIDTH] = { patterns_stream_one_sided,
		.prepare = patterns_fill_all },
	[FB_FETCH_ADD] = { patterns_operations, 1, .prepare = patterns_clear_word },
	[FB_COMPARE_SWAP] = { patterns_operations, 1, .prepare = patterns_clear_word },
	[FB_ADD_RATE] = { patterns_stream_one_sided, .prepare = patterns_clear_word,
		.check = patterns_check_sum },
};

/* With targets that make no calls, writes are complete when they are delivered. */
static const struct fb_pattern silent_patterns[FB_TEST_COUNT] = {
	[FB_WRITE_LATENCY] = { fb_silent_operations, 1,
		.check = patterns_check_writes },
	[FB_WRITE_BANDWIDTH] = { fb_silent_stream, .check = patterns_check_writes },
	[FB_READ_LATENCY] = { fb_silent_operations, 1, .prepare = patterns_fill_all },
	[FB_READ_BANDWIDTH] = { fb_silent_stream, .prepare = patterns_fill_all },
	[FB_FETCH_ADD] = { fb_silent_operations, 1, .prepare = patterns_clear_word },
	[FB_COMPARE_SWAP] = { fb_silent_operations, 1, .prepare = patterns_clear_word },
	[FB_ADD_RATE] = { fb_silent_stream, .prepare = patterns_clear_word,
		.check = patterns_check_sum },
};

const struct fb_pattern *fb_pattern_of(
	const struct fb_config *config, enum fb_test test)
{
	static const struct fb_pattern burst = { patterns_stream_burst };
	static const struct fb_pattern answer = { patterns_stream_answer };

	if (fb_tests[test].need == FB_NEED_COLLECTIVE)
		return &fb_collective;
	if (test == FB_CONNECT)
		return &fb_connect;
	if (config->silent)
		return &silent_patterns[test];
	if (config->type == FI_EP_DGRAM)
		return fb_tests[test].unit == FB_UNIT_TIME ? &fb_lossy_latency
							   : &fb_lossy_stream;
	if (test == FB_BANDWIDTH || test == FB_RATE) {
		if (config->flow == FB_FLOW_BURST)
			return &burst;
		if (config->flow == FB_FLOW_ANSWER)
			return &answer;
	}
	return &patterns[test];
}
