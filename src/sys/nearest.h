/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_NEAREST_H
#define WF_SYS_NEAREST_H

/* Misspelt names: the name that was probably meant. */

/* The number of letters that must be inserted, dropped, changed or swapped with their
 * neighbour to turn @a into @b. Only the first 63 letters of either count. */
unsigned int wf_edit_distance(const char *a, const char *b);

/* The most similar of the names that were offered. */
struct wf_nearest {
	const char *word;
	const char *name;      /* NULL: none is similar */
	unsigned int distance; /* of @name; without one, that of names too different */
};

struct wf_nearest wf_nearest_to(const char *word);
void wf_nearest_offer(struct wf_nearest *nearest, const char *name);

/* "; did you mean NAME?", or an empty text, in @buf of @len bytes; returns @buf. */
const char *wf_nearest_hint(
	const struct wf_nearest *nearest, char *buf, unsigned int len);

#endif
