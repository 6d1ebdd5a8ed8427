/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_MESSAGE_H
#define TOOLS_BENCH_MESSAGE_H

#include "say.h"
#include "worker.h"

/* Operations and their completions. Whatever waits here looks after the peer as well.
 */

/* Sets w->start and w->silent for w->test. */
void fb_message_choose(struct fb_worker *w);

/* Reads what the queue has, and puts the slots into their fifos. */
void fb_look(struct fb_worker *w);

/* The queue was empty that often: looks whether the peer lives and time is left. */
void fb_look_around(struct fb_worker *w);

void fb_message_post(struct fb_worker *w, struct fb_slot *slot);

/* Starts the operation of the test when a slot is free. */
void fb_message_start(struct fb_worker *w);

/* Waits until all that was started is complete. */
void fb_message_finish(struct fb_worker *w);

/* Waits for a message and reads its buffer; its slot is then to be posted again. */
struct fb_slot *fb_message_await(struct fb_worker *w);

/* A message without payload, and one taken in. */
void fb_message_word(struct fb_worker *w);
void fb_message_hear(struct fb_worker *w);

/* Consumes the receives that are posted on both sides, before the size changes. */
void fb_message_drain(struct fb_worker *w);

/* Repeats a call until there is room. */
#define FB_ASK(w, call, what)                                                          \
	do {                                                                           \
		ssize_t ret_;                                                          \
                                                                                       \
		while ((ret_ = (call)) == -FI_EAGAIN)                                  \
			fb_look(w);                                                    \
		fb_must(ret_, what);                                                   \
	} while (0)

#endif
