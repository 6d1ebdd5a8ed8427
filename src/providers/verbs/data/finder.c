/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/data/finder.h"

#include <rdma/fi_errno.h>

#include "sys/compiler.h"

enum { SMALLEST = 16 };

static void finder_put(
	struct verbs_finder *finder, uint32_t number, struct verbs_ep *ep)
{
	uint32_t at = verbs_finder_home(finder, number);

	while (finder->slots[at].ep)
		at = (at + 1) & finder->mask;
	finder->slots[at] = (struct verbs_found){ .ep = ep, .number = number };
	finder->count++;
}

/* At most half of the slots are used, so that searches are short. */
static int finder_grow(struct verbs_finder *finder)
{
	struct verbs_finder old = *finder;
	uint32_t size = old.slots ? 2 * (old.mask + 1) : SMALLEST;
	struct verbs_found *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -FI_ENOMEM;
	*finder = (struct verbs_finder){ .slots = slots, .mask = size - 1 };
	for (uint32_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].ep)
			finder_put(finder, old.slots[i].number, old.slots[i].ep);
	free(old.slots);
	return 0;
}

int verbs_finder_add(struct verbs_finder *finder, uint32_t number, struct verbs_ep *ep)
{
	if (!finder->slots || 2 * (finder->count + 1) > finder->mask) {
		int err = finder_grow(finder);

		if (err)
			return err;
	}
	finder_put(finder, number, ep);
	return 0;
}

void verbs_finder_remove(struct verbs_finder *finder, uint32_t number)
{
	uint32_t at = verbs_finder_home(finder, number);

	if (!finder->count)
		return;
	while (finder->slots[at].ep && finder->slots[at].number != number)
		at = (at + 1) & finder->mask;
	if (!finder->slots[at].ep)
		return;
	finder->slots[at].ep = NULL;
	finder->count--;
	/* Entries behind the gap might not be found any more: insert them again. */
	for (at = (at + 1) & finder->mask; finder->slots[at].ep;
		at = (at + 1) & finder->mask) {
		struct verbs_found moved = finder->slots[at];

		finder->slots[at].ep = NULL;
		finder->count--;
		finder_put(finder, moved.number, moved.ep);
	}
}
