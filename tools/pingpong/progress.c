/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"
#include "../clock.h"
#include "report.h"

#include <stdio.h>
#include <unistd.h>

enum { FIRST_MS = 500, EVERY_MS = 200 };

void pp_progress_start(struct pp_progress *p)
{
	p->wanted = isatty(STDERR_FILENO);
	p->shown = false;
	p->next_ns = tool_after_ms(FIRST_MS);
}

void pp_progress_step(struct pp_progress *p, size_t size, int done, int total)
{
	char text[PP_TEXT_LEN];

	/* Without a terminal the clock is not read, so as not to disturb the
	 * measurement. */
	if (!p->wanted || tool_now_ns() < p->next_ns)
		return;
	pp_format_bytes(text, size);
	fprintf(stderr, "\r%s bytes: %d of %d\033[K", text, done, total);
	p->shown = true;
	p->next_ns = tool_after_ms(EVERY_MS);
}

void pp_progress_erase(struct pp_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}
