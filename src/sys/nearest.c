/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/nearest.h"

#include <stdio.h>
#include <string.h>

#include "sys/compiler.h"

#define MAX_LEN 63

static unsigned int nearest_min3(unsigned int a, unsigned int b, unsigned int c)
{
	return WF_MIN(WF_MIN(a, b), c);
}

/* rows[i % 3][j] is the distance from the first i letters of @a to the first j letters
 * of @b. A swap of neighbours refers to row i - 2, so three rows are kept. */
unsigned int wf_edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][MAX_LEN + 1], *now, *last, *before;
	size_t a_len = strnlen(a, MAX_LEN), b_len = strnlen(b, MAX_LEN), i, j;

	for (j = 0; j <= b_len; j++)
		rows[0][j] = (unsigned int)j;
	for (i = 1; i <= a_len; i++) {
		now = rows[i % 3];
		last = rows[(i - 1) % 3];
		before = rows[(i + 1) % 3];
		now[0] = (unsigned int)i;
		for (j = 1; j <= b_len; j++) {
			now[j] = nearest_min3(now[j - 1] + 1, last[j] + 1,
				last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
				a[i - 2] == b[j - 1])
				now[j] = WF_MIN(now[j], before[j - 2] + 1);
		}
	}
	return rows[a_len % 3][b_len];
}

struct wf_nearest wf_nearest_to(const char *word)
{
	return (struct wf_nearest){
		.word = word,
		.distance = (unsigned int)strlen(word) / 3 + 1,
	};
}

void wf_nearest_offer(struct wf_nearest *nearest, const char *name)
{
	unsigned int distance = wf_edit_distance(nearest->word, name);

	if (distance >= nearest->distance)
		return;
	nearest->distance = distance;
	nearest->name = name;
}

const char *wf_nearest_hint(
	const struct wf_nearest *nearest, char *buf, unsigned int len)
{
	*buf = '\0';
	if (nearest->name)
		(void)snprintf(buf, len, "; did you mean %s?", nearest->name);
	return buf;
}
