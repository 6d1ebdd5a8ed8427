/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"
#include "../clock.h"
#include "silent.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sched.h>
#include <string.h>

enum { TAG = 7, POLLS_TO_CHECK = 1 << 14, POLLS_TO_YIELD = 64, SLEEP_MS = 100 };

/* ---- the calls ---- */

static ssize_t message_start_tagged(
	struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	return fi_tsend(
		w->end.ep, buf, w->bytes, w->tx.desc, w->end.peer, TAG, &slot->context);
}

static ssize_t message_inject_tagged(
	struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	(void)slot;
	return fi_tinject(w->end.ep, buf, w->bytes, w->end.peer, TAG);
}

static ssize_t message_start_msg(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	return fi_send(
		w->end.ep, buf, w->bytes, w->tx.desc, w->end.peer, &slot->context);
}

static ssize_t message_inject_msg(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	(void)slot;
	return fi_inject(w->end.ep, buf, w->bytes, w->end.peer);
}

/* The remote address of operation @iteration. */
static uint64_t message_remote(const struct fb_worker *w, uint64_t iteration)
{
	return w->remote_addr + fb_buffer_of(&w->rx, iteration) * w->rx.stride;
}

static ssize_t message_start_write(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	return fi_write(w->end.ep, buf, w->bytes, w->tx.desc, w->end.peer,
		message_remote(w, slot->iteration), w->remote_key, &slot->context);
}

static ssize_t message_inject_write(
	struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	return fi_inject_write(w->end.ep, buf, w->bytes, w->end.peer,
		message_remote(w, slot->iteration), w->remote_key);
}

static ssize_t message_start_read(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	return fi_read(w->end.ep, buf, w->bytes, w->tx.desc, w->end.peer,
		message_remote(w, slot->iteration), w->remote_key, &slot->context);
}

/* Words of a buffer of an atomic operation. */
enum { OPERAND, COMPARAND, RESULT };

static ssize_t message_start_fetch_add(
	struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	uint64_t *word = (uint64_t *)(void *)buf;

	word[OPERAND] = 1;
	return fi_fetch_atomic(w->end.ep, &word[OPERAND], 1, w->tx.desc, &word[RESULT],
		w->tx.desc, w->end.peer, w->remote_addr, w->remote_key, FI_UINT64,
		FI_SUM, &slot->context);
}

static ssize_t message_start_compare_swap(
	struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	uint64_t *word = (uint64_t *)(void *)buf;

	word[COMPARAND] = slot->iteration;
	word[OPERAND] = slot->iteration + 1;
	return fi_compare_atomic(w->end.ep, &word[OPERAND], 1, w->tx.desc,
		&word[COMPARAND], w->tx.desc, &word[RESULT], w->tx.desc, w->end.peer,
		w->remote_addr, w->remote_key, FI_UINT64, FI_CSWAP, &slot->context);
}

static ssize_t message_start_add(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	uint64_t *word = (uint64_t *)(void *)buf;

	word[OPERAND] = 1;
	return fi_atomic(w->end.ep, &word[OPERAND], 1, w->tx.desc, w->end.peer,
		w->remote_addr, w->remote_key, FI_UINT64, FI_SUM, &slot->context);
}

static ssize_t message_inject_add(struct fb_worker *w, struct fb_slot *slot, char *buf)
{
	static uint64_t one = 1;

	(void)slot;
	(void)buf;
	return fi_inject_atomic(w->end.ep, &one, 1, w->end.peer, w->remote_addr,
		w->remote_key, FI_UINT64, FI_SUM);
}

void fb_message_choose(struct fb_worker *w)
{
	bool inject = w->node->config->inject;

	w->tagged = w->node->call == FB_CALL_TAGGED;
	w->injects = inject;
	w->has_result = w->test == FB_READ_LATENCY || w->test == FB_READ_BANDWIDTH ||
			w->test == FB_FETCH_ADD || w->test == FB_COMPARE_SWAP;
	w->fills =
		w->touch && !w->has_result && fb_tests[w->test].need != FB_NEED_ATOMIC;
	switch (w->test) {
	case FB_WRITE_LATENCY:
	case FB_WRITE_BANDWIDTH:
		w->start = inject ? message_inject_write : message_start_write;
		return;
	case FB_READ_LATENCY:
	case FB_READ_BANDWIDTH:
		w->start = message_start_read;
		w->injects = false;
		return;
	case FB_FETCH_ADD:
		w->start = message_start_fetch_add;
		w->injects = false;
		return;
	case FB_COMPARE_SWAP:
		w->start = message_start_compare_swap;
		w->injects = false;
		return;
	case FB_ADD_RATE:
		w->start = inject ? message_inject_add : message_start_add;
		return;
	default:
		if (w->tagged)
			w->start =
				inject ? message_inject_tagged : message_start_tagged;
		else
			w->start = inject ? message_inject_msg : message_start_msg;
	}
}

/* ---- completions ---- */

static _Noreturn void message_fail_with_entry(struct fb_worker *w)
{
	struct fi_cq_err_entry err = { 0 };

	fb_must(fi_cq_readerr(w->end.cq, &err, 0), "fi_cq_readerr");
	/* If the peer has ended, that is the reason. */
	fb_control_check(w->node->control);
	fb_die(FB_EXIT_FAILED, "%s, %zu bytes: %s", fb_tests[w->test].name, w->bytes,
		fi_strerror(err.err));
}

void fb_check_peer(struct fb_worker *w)
{
	uint64_t now;

	if (w->node->yields && !(w->empty_polls % POLLS_TO_YIELD))
		sched_yield();
	if (!w->node->config->sleep && w->empty_polls % POLLS_TO_CHECK)
		return;
	fb_control_check(w->node->control);
	now = tool_now_ns();
	if (!w->quiet_since_ns)
		w->quiet_since_ns = now;
	if (w->is_silent)
		fb_silent_check(w, now - w->quiet_since_ns);
	if (now - w->quiet_since_ns > w->node->config->timeout_s * UINT64_C(1000000000))
		fb_die(FB_EXIT_FAILED, "%s, %zu bytes: nothing moves any more",
			fb_tests[w->test].name, w->bytes);
}

/* Check the result of an atomic operation: the value before it, which each operation
 * increments by one. */
static void message_read_word(struct fb_worker *w, const char *buf, uint64_t iteration)
{
	uint64_t result = ((const uint64_t *)(const void *)buf)[RESULT];

	if (w->verify && result != iteration)
		fb_die(FB_EXIT_DAMAGED, "%s: operation %llu found %llu",
			fb_tests[w->test].name, (unsigned long long)iteration,
			(unsigned long long)result);
}

/* Read the data that a completed operation fetched. */
static void message_read_result(struct fb_worker *w, const struct fb_slot *slot)
{
	const char *buf = slot->memory;

	if (w->start != message_start_read)
		message_read_word(w, buf, slot->iteration);
	else if (w->touch)
		fb_read(w, buf, fb_buffer_of(&w->rx, slot->iteration));
}

static void message_take_entry(struct fb_worker *w, const struct fi_cq_msg_entry *entry)
{
	struct fb_slot *slot = entry->op_context;

	if (slot->receives) {
		fb_fifo_put(&w->rx.fifo, slot);
		return;
	}
	if (w->has_result && entry->flags & (FI_READ | FI_ATOMIC))
		message_read_result(w, slot);
	fb_fifo_put(&w->tx.fifo, slot);
}

void fb_poll(struct fb_worker *w)
{
	enum { BATCH = 16 };
	struct fi_cq_msg_entry entries[BATCH];
	ssize_t n = w->node->config->sleep
			    ? fi_cq_sread(w->end.cq, entries, BATCH, NULL, SLEEP_MS)
			    : fi_cq_read(w->end.cq, entries, BATCH);

	if (n > 0) {
		for (ssize_t i = 0; i < n; i++)
			message_take_entry(w, &entries[i]);
		w->empty_polls = 0;
		w->quiet_since_ns = 0;
		return;
	}
	if (n == -FI_EAGAIN || n == -FI_EINTR || !n) {
		w->empty_polls++;
		if (w->node->config->sleep || !(w->empty_polls % POLLS_TO_YIELD))
			fb_check_peer(w);
		return;
	}
	if (n == -FI_EAVAIL)
		message_fail_with_entry(w);
	fb_must(n, "reading the completion queue");
}

/* ---- steps of the tests ---- */

void fb_message_post(struct fb_worker *w, struct fb_slot *slot)
{
	char *buf = fb_next_buffer(&w->rx, slot);

	if (w->tagged)
		FB_ASK(w,
			fi_trecv(w->end.ep, buf, w->rx_bytes, w->rx.desc,
				FI_ADDR_UNSPEC, TAG, 0, &slot->context),
			"fi_trecv");
	else
		FB_ASK(w,
			fi_recv(w->end.ep, buf, w->rx_bytes, w->rx.desc, FI_ADDR_UNSPEC,
				&slot->context),
			"fi_recv");
}

void fb_message_start(struct fb_worker *w)
{
	struct fb_slot *slot;
	char *buf;

	while (fb_fifo_empty(&w->tx.fifo))
		fb_poll(w);
	slot = fb_fifo_take(&w->tx.fifo);
	buf = fb_next_buffer(&w->tx, slot);
	if (w->fills)
		fb_fill(w, buf, slot->iteration);
	if (w->test == FB_WRITE_LATENCY)
		buf[w->bytes - 1] = fb_write_mark(w, slot->iteration);
	FB_ASK(w, w->start(w, slot, buf), fb_tests[w->test].name);
	if (w->injects)
		fb_fifo_put(&w->tx.fifo, slot);
}

void fb_message_send_empty(struct fb_worker *w)
{
	struct fb_slot *slot;

	while (fb_fifo_empty(&w->tx.fifo))
		fb_poll(w);
	slot = fb_fifo_take(&w->tx.fifo);
	if (w->tagged)
		FB_ASK(w,
			fi_tsend(w->end.ep, w->tx.memory, 0, w->tx.desc, w->end.peer,
				TAG, &slot->context),
			"fi_tsend");
	else
		FB_ASK(w,
			fi_send(w->end.ep, w->tx.memory, 0, w->tx.desc, w->end.peer,
				&slot->context),
			"fi_send");
}

void fb_message_await_empty(struct fb_worker *w)
{
	while (fb_fifo_empty(&w->rx.fifo))
		fb_poll(w);
	fb_message_post(w, fb_fifo_take(&w->rx.fifo));
}

void fb_message_drain(struct fb_worker *w)
{
	if (w->node->config->type == FI_EP_DGRAM || !w->posts)
		return;
	for (uint32_t i = 0; i < w->rx.slots; i++)
		fb_message_send_empty(w);
	while (fb_fifo_count(&w->rx.fifo) < w->rx.slots)
		fb_poll(w);
	fb_message_finish(w);
}

void fb_message_finish(struct fb_worker *w)
{
	while (fb_fifo_count(&w->tx.fifo) < w->tx.slots)
		fb_poll(w);
}

struct fb_slot *fb_message_await(struct fb_worker *w)
{
	struct fb_slot *slot;

	while (fb_fifo_empty(&w->rx.fifo))
		fb_poll(w);
	slot = fb_fifo_take(&w->rx.fifo);
	if (w->touch)
		fb_read(w, slot->memory, slot->iteration);
	return slot;
}
