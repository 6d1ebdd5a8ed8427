/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <rdma/fi_errno.h>

bool pp_debug_wanted;

static void say(const char *prefix, const char *format, va_list args)
{
	fputs(prefix, stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void pp_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say("fi_pingpong: ", format, args);
	va_end(args);
}

void pp_debug(const char *format, ...)
{
	va_list args;

	if (!pp_debug_wanted)
		return;
	va_start(args, format);
	say("[debug] ", format, args);
	va_end(args);
}

int pp_fail(const char *what, int error)
{
	pp_say("%s: %d (%s)", what, error, fi_strerror(error));
	return error;
}
