/* SPDX-License-Identifier: BSD-2-Clause */
#include "say.h"
#include "../clock.h"

#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROGRESS_EVERY_MS = 200 };

const char *fb_side_name;

static bool progress_shown, progress_unwanted;
static uint64_t progress_next_ns;

static void bench_say(const char *format, va_list args)
{
	fb_progress_erase();
	flockfile(stderr);
	fprintf(stderr, "fi_bench: %s%s", fb_side_name ? fb_side_name : "",
		fb_side_name ? ": " : "");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void fb_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bench_say(format, args);
	va_end(args);
}

_Noreturn void fb_die(int status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	bench_say(format, args);
	va_end(args);
	fflush(stdout);
	/* Other threads may be in calls of the library, whose destructors would
	 * wait. */
	_exit(status);
}

void fb_must(ssize_t ret, const char *what)
{
	if (ret < 0)
		fb_die(FB_EXIT_FAILED, "%s: %s", what, fi_strerror((int)-ret));
}

void *fb_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		fb_die(FB_EXIT_FAILED, "no memory for %zu times %zu bytes", count,
			size);
	return memory;
}

void fb_progress(const char *what, unsigned long long bytes, double part)
{
	/* Asked once: this is called between messages that are timed one by one. */
	static int is_terminal = -1;
	uint64_t now;

	if (is_terminal < 0)
		is_terminal = isatty(STDERR_FILENO);
	if (progress_unwanted || !is_terminal)
		return;
	now = tool_now_ns();
	if (now < progress_next_ns)
		return;
	fprintf(stderr, "\r%s, %llu bytes: %.0f %%\033[K", what, bytes, part * 100);
	progress_shown = true;
	progress_next_ns = now + PROGRESS_EVERY_MS * UINT64_C(1000000);
}

void fb_progress_erase(void)
{
	if (progress_shown)
		fputs("\r\033[K", stderr);
	progress_shown = false;
}

void fb_progress_off(void)
{
	progress_unwanted = true;
}
