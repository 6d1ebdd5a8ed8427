/* SPDX-License-Identifier: BSD-2-Clause */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <rdma/fi_errno.h>

bool pp_debug_wanted;

void pp_say(const char *format, ...)
{
	va_list args;

	fputs("fi_pingpong: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void pp_debug(const char *format, ...)
{
	va_list args;

	if (!pp_debug_wanted)
		return;
	fputs("[debug] ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int pp_fail(const char *what, int error)
{
	pp_say("%s: %d (%s)", what, error, fi_strerror(error));
	return error;
}
