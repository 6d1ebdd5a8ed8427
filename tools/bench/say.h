/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SAY_H
#define TOOLS_BENCH_SAY_H

#include <stdbool.h>
#include <sys/types.h>

enum {
	FB_EXIT_FAILED = 1,
	FB_EXIT_USAGE,
	FB_EXIT_DAMAGED,
	FB_EXIT_STALLED, /* a row has no times, because a silent target was needed */
};

/* Name of this process in its messages: "client" or "server"; NULL: none. */
extern const char *fb_side_name;

/* One line on the standard error. A progress line there is erased before. */
void fb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fb_say, then the process ends with @status. Other processes notice it by the closed
 * control connection. */
_Noreturn void fb_die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends the process if @ret is a negative error of libfabric. */
void fb_must(ssize_t ret, const char *what);

/* Zeroed memory; the process ends if there is none. */
void *fb_alloc(size_t count, size_t size);

/* Shows on a terminal which part of a size is done: @part from 0 to 1. At most five
 * times a second. */
void fb_progress(const char *what, unsigned long long bytes, double part);
void fb_progress_erase(void);
void fb_progress_off(void);

#endif
