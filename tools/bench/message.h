/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_MESSAGE_H
#define TOOLS_BENCH_MESSAGE_H

#include "say.h"
#include "worker.h"

/* Operations and their completions. Functions that wait also check that the peer
 * lives. */

/* Sets w->start and w->injects for w->test. */
void fb_message_choose(struct fb_worker *w);

/* Polls the queue: reads all its entries, and puts their slots into the fifos. */
void fb_poll(struct fb_worker *w);

/* Called while the queue is empty: after a number of polls, checks that the peer lives
 * and that the time limit is not over. */
void fb_check_peer(struct fb_worker *w);

void fb_message_post(struct fb_worker *w, struct fb_slot *slot);

/* Starts the operation of the test when a slot is free. */
void fb_message_start(struct fb_worker *w);

/* Waits until all operations are complete. */
void fb_message_finish(struct fb_worker *w);

/* Waits for a message and reads its buffer; its slot is then to be posted again. */
struct fb_slot *fb_message_await(struct fb_worker *w);

/* Sends an empty message; waits for one. */
void fb_message_send_empty(struct fb_worker *w);
void fb_message_await_empty(struct fb_worker *w);

/* Consumes the receives that are posted on both sides, before the size changes. */
void fb_message_drain(struct fb_worker *w);

/* Repeats a call until it does not return -FI_EAGAIN. */
#define FB_ASK(w, call, what)                                                          \
	do {                                                                           \
		ssize_t ret_;                                                          \
                                                                                       \
		while ((ret_ = (call)) == -FI_EAGAIN)                                  \
			fb_poll(w);                                                    \
		fb_must(ret_, what);                                                   \
	} while (0)

#endif
