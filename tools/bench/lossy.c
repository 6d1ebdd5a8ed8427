/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Patterns for datagrams, which may get lost: side 0 tells side 1 over the control
 * connection that a batch is over.
 */
#include "../clock.h"
#include "message.h"
#include "patterns.h"

enum { LOST_AFTER_MS = 200, QUIET_MS = 5, POLLS_TO_CHECK = 64, MS = 1000000 };

/* Has side 0 ended the batch? Checked now and then while no message arrives. */
static bool lossy_batch_over(struct fb_worker *w)
{
	return w->empty_polls % POLLS_TO_CHECK == POLLS_TO_CHECK - 1 &&
	       fb_control_talks(w->node->control);
}

/* Polls until a message arrives (true) or @limit_ms are over. */
static bool lossy_came_within(struct fb_worker *w, uint64_t limit_ms)
{
	uint64_t until_ns = 0;

	while (fb_fifo_empty(&w->rx.fifo)) {
		fb_poll(w);
		if (w->empty_polls % POLLS_TO_CHECK != POLLS_TO_CHECK - 1)
			continue;
		if (!until_ns)
			until_ns = tool_now_ns() + limit_ms * MS;
		else if (tool_now_ns() > until_ns)
			return false;
	}
	return true;
}

static void lossy_take_one(struct fb_worker *w)
{
	fb_message_post(w, fb_message_await(w));
}

static void lossy_end_batch(struct fb_worker *w)
{
	char word = 0;

	fb_control_share(w->node->control, &word, sizeof(word));
}

static void lossy_echo(struct fb_worker *w)
{
	while (!lossy_batch_over(w)) {
		if (fb_fifo_empty(&w->rx.fifo)) {
			fb_poll(w);
			continue;
		}
		lossy_take_one(w);
		fb_message_start(w);
		fb_message_finish(w);
	}
	lossy_end_batch(w);
}

static void lossy_ping_pong(struct fb_worker *w, uint64_t count)
{
	uint64_t start_ns;

	if (w->side) {
		lossy_echo(w);
		return;
	}
	/* Take answers that arrived too late. */
	fb_poll(w);
	while (!fb_fifo_empty(&w->rx.fifo))
		lossy_take_one(w);
	start_ns = tool_now_ns();
	for (uint64_t i = 0; i < count; i++) {
		fb_message_start(w);
		fb_message_finish(w);
		if (lossy_came_within(w, LOST_AFTER_MS))
			lossy_take_one(w);
		else
			w->lost++;
		if (w->stamps)
			w->stamps[i] = tool_now_ns();
	}
	w->batch_ns = (double)(tool_now_ns() - start_ns);
	lossy_end_batch(w);
}

/* Receives until no message has arrived for QUIET_MS; returns the number. */
static uint64_t lossy_count_messages(struct fb_worker *w)
{
	uint64_t received = 0;

	while (!lossy_batch_over(w)) {
		if (fb_fifo_empty(&w->rx.fifo)) {
			fb_poll(w);
			continue;
		}
		lossy_take_one(w);
		received++;
	}
	for (; lossy_came_within(w, QUIET_MS); received++)
		lossy_take_one(w);
	return received;
}

/* The time of a batch is divided by the messages that arrived. */
static void lossy_stream(struct fb_worker *w, uint64_t count)
{
	uint64_t received = 0, both[2], start_ns = tool_now_ns();
	double ns = 0;

	if (w->side) {
		received = lossy_count_messages(w);
	} else {
		for (uint64_t i = 0; i < count; i++)
			fb_message_start(w);
		fb_message_finish(w);
		ns = (double)(tool_now_ns() - start_ns);
	}
	lossy_end_batch(w);
	fb_control_gather(w->node->control, &received, both, sizeof(received));
	received = both[1] < count ? both[1] : count;
	w->lost += count - received;
	w->batch_ns = ns * (double)count / (double)(received ? received : 1);
}

const struct fb_pattern fb_lossy_latency = { lossy_ping_pong, 2 };
const struct fb_pattern fb_lossy_stream = { lossy_stream };
