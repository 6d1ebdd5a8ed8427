/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DATA_FINDER_H
#define WF_VERBS_DATA_FINDER_H

#include <stdint.h>
#include <stdlib.h>

struct verbs_ep;

/*
 * Finds the endpoint of a completion by the number of its queue pair: a hash table with
 * open addressing. All zero: empty. The caller serialises the calls.
 */
struct verbs_finder {
	struct verbs_found {
		struct verbs_ep *ep; /* NULL: the slot is free */
		uint32_t number;
	} * slots;
	uint32_t mask, count;
};

/* Add an endpoint whose number is not in the table. 0 or -FI_ENOMEM. */
int verbs_finder_add(struct verbs_finder *finder, uint32_t number, struct verbs_ep *ep);
/* No-op if the number is not in the table. */
void verbs_finder_remove(struct verbs_finder *finder, uint32_t number);

static inline void verbs_finder_done(struct verbs_finder *finder)
{
	free(finder->slots);
}

static inline uint32_t verbs_finder_home(
	const struct verbs_finder *finder, uint32_t number)
{
	return number & finder->mask;
}

/* The endpoint with the number, or NULL. */
static inline struct verbs_ep *verbs_finder_get(
	const struct verbs_finder *finder, uint32_t number)
{
	uint32_t at = verbs_finder_home(finder, number);

	if (!finder->count)
		return NULL;
	/* Nearly always it is at home. */
	while (finder->slots[at].number != number && finder->slots[at].ep)
		at = (at + 1) & finder->mask;
	return finder->slots[at].ep;
}

#endif
