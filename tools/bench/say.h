/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_SAY_H
#define TOOLS_BENCH_SAY_H

#include <stdbool.h>
#include <sys/types.h>

enum { FB_EXIT_FAILED = 1, FB_EXIT_USAGE = 2, FB_EXIT_DAMAGED = 3 };

/* In messages of this process, "client" or "server"; NULL: nothing. */
extern const char *fb_side_name;

/* One line on the standard error. A progress line there is erased before. */
void fb_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and the process ends. What it had open ends with it, and the others notice
 * that it closed the control connection. */
_Noreturn void fb_die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Ends the process if @ret is a negative error of libfabric. */
void fb_must(ssize_t ret, const char *what);

/* Memory of zeros; the process ends where there is none. */
void *fb_alloc(size_t count, size_t size);

/* Shows how far a size is, on a terminal. @part of @whole, and nothing more often than
 * five times in a second. */
void fb_progress(const char *what, unsigned long long bytes, double part);
void fb_progress_erase(void);
void fb_progress_off(void);

#endif
