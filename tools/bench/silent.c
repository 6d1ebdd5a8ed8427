/* SPDX-License-Identifier: BSD-2-Clause */
#include "silent.h"
#include "../clock.h"
#include "message.h"
#include "say.h"

enum { SETTLE_MS = 100 };

/* Words of side 0 to the target. */
enum { OVER, HELP };

static void silent_say_word(struct fb_worker *w, char word)
{
	fb_control_share(w->node->control, &word, sizeof(word));
}

static char silent_hear_word(struct fb_worker *w)
{
	char word;

	fb_control_share(w->node->control, &word, sizeof(word));
	return word;
}

/* The target makes calls until side 0 says a word. */
static void silent_help(struct fb_worker *w)
{
	/* The time of silence is not one in which nothing moves. */
	w->quiet_since_ns = 0;
	while (!fb_control_talks(w->node->control))
		fb_poll(w);
	(void)silent_hear_word(w);
}

/* The target's part of a batch. */
static void silent_stay(struct fb_worker *w)
{
	if (silent_hear_word(w) == HELP)
		silent_help(w);
}

static void silent_begin_batch(struct fb_worker *w)
{
	w->is_silent = !w->stalled;
	if (w->stalled)
		silent_say_word(w, HELP);
}

static void silent_end_batch(struct fb_worker *w)
{
	w->is_silent = false;
	silent_say_word(w, OVER);
}

double fb_silent_limit_s(const struct fb_config *config)
{
	static const double most = 5;
	double limit = config->timeout_s / 2.0;

	/* Less than the timeout, after which the target would end the run. */
	return limit < most ? limit : most;
}

void fb_silent_check(struct fb_worker *w, uint64_t quiet_ns)
{
	double limit_s = fb_silent_limit_s(w->node->config);

	if ((double)quiet_ns < limit_s * 1e9)
		return;
	fb_say("%s, %zu bytes: not complete within %g s, because its target makes no "
	       "calls",
		fb_tests[w->test].name, w->bytes, limit_s);
	w->is_silent = false;
	w->stalled = true;
	silent_say_word(w, HELP);
}

void fb_silent_meet(struct fb_worker *w)
{
	uint64_t until_ns;

	if (w->met)
		return;
	w->met = true;
	w->iteration++;
	fb_control_barrier(w->node->control);
	if (w->side) {
		silent_help(w);
		return;
	}
	fb_message_start(w);
	fb_message_finish(w);
	/* Both sides end what a connection does after its first operation. */
	until_ns = tool_after_ms(SETTLE_MS);
	while (tool_now_ns() < until_ns)
		fb_poll(w);
	silent_say_word(w, OVER);
}

/* Begin a batch of the initiator: its time. 0: this is the target, and the batch is
 * over. */
static uint64_t silent_begin(struct fb_worker *w, uint64_t count)
{
	w->iteration += count;
	if (w->side) {
		silent_stay(w);
		return 0;
	}
	silent_begin_batch(w);
	return tool_now_ns();
}

static void silent_end(struct fb_worker *w, uint64_t start_ns)
{
	w->batch_ns = (double)(tool_now_ns() - start_ns);
	silent_end_batch(w);
}

void fb_silent_operations(struct fb_worker *w, uint64_t count)
{
	uint64_t start_ns = silent_begin(w, count);

	if (!start_ns)
		return;
	for (uint64_t i = 0; i < count; i++) {
		fb_message_start(w);
		fb_message_finish(w);
		if (w->stamps)
			w->stamps[i] = tool_now_ns();
	}
	silent_end(w, start_ns);
}

void fb_silent_stream(struct fb_worker *w, uint64_t count)
{
	uint64_t start_ns = silent_begin(w, count);

	if (!start_ns)
		return;
	for (uint64_t i = 0; i < count; i++)
		fb_message_start(w);
	fb_message_finish(w);
	silent_end(w, start_ns);
}
