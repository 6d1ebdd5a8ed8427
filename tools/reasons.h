/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REASONS_H
#define TOOLS_REASONS_H

#include <stdio.h>

/*
 * Why a query has no answer. A provider that has nothing to offer logs, at FI_LOG_INFO,
 * one line for each refusal:
 *
 *	refused: <field>: asked <x>, possible <y>
 *
 * and a provider whose endpoints use another one for some peers logs which:
 *
 *	transport: <peers>: <how they are reached>
 *
 * The program imports a logging object into the library, runs the query, and collects
 * these lines. Refusals of questions that a layer asks are no lines of their own: they
 * begin with the layer's name.
 */
#define REASON_REFUSED   "refused: "
#define REASON_TRANSPORT "transport: "
#define REASON_RESULTS   "no results: "

struct reason {
	struct reason *next;
	char *provider; /* "core": the library */
	char *text;     /* without a newline */
};

/* Collect from now on. 0 or a negative FI_E code. */
int reasons_follow(void);
/* The lines, in their order; no two of a provider are equal. NULL: there are none. */
const struct reason *reasons_first(void);
/* Stop, and free the lines. */
void reasons_stop(void);

/* The line for people: of a list of flags, the missing ones instead of all that there
 * are. At most @size bytes; returns @buf. */
const char *reason_text(const struct reason *reason, char *buf, size_t size);

/* Ask again what has failed, by @ask with @arg, and print the most telling reasons, two
 * at most. @asked: name of the provider that was asked for, or NULL. */
void reasons_tell(FILE *out, const char *asked, int (*ask)(void *arg), void *arg);

#endif
