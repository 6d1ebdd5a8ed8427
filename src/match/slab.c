/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/slab.h"

/* Size and alignment, so that a mark's page is found from its address. */
#define SLAB_SIZE  4096
#define SLAB_MARKS ((SLAB_SIZE - sizeof(struct slab)) / sizeof(struct wf_match_mark))

struct slab {
	struct wf_list item;
	struct wf_match_mark *free; /* linked through sibling */
	unsigned int used, fresh;   /* marks from fresh on were never used */
	struct wf_match_mark marks[];
};

static struct slab *slab_of_item(struct wf_list *item)
{
	return wf_list_entry(item, struct slab, item);
}

static struct slab *slab_of_mark(struct wf_match_mark *mark)
{
	return (struct slab *)((char *)mark - ((uintptr_t)mark & (SLAB_SIZE - 1)));
}

static struct slab *slab_with_room(struct wf_list *slabs)
{
	struct slab *slab = slab_of_item(slabs->next);

	if (!wf_list_empty(slabs) && slab->used < SLAB_MARKS)
		return slab;
	slab = aligned_alloc(SLAB_SIZE, SLAB_SIZE);
	if (!slab)
		return NULL;
	slab->free = NULL;
	slab->used = slab->fresh = 0;
	wf_list_insert_after(slabs, &slab->item);
	return slab;
}

struct wf_match_mark *wf_match_mark_alloc(struct wf_list *slabs)
{
	struct slab *slab = slab_with_room(slabs);
	struct wf_match_mark *mark;

	if (wf_unlikely(!slab))
		return NULL;
	mark = slab->free;
	if (mark)
		slab->free = mark->sibling;
	else
		mark = &slab->marks[slab->fresh++];
	if (++slab->used == SLAB_MARKS) {
		wf_list_remove(&slab->item);
		wf_list_push(slabs, &slab->item);
	}
	return mark;
}

void wf_match_mark_free(struct wf_list *slabs, struct wf_match_mark *mark)
{
	struct slab *slab = slab_of_mark(mark);

	mark->sibling = slab->free;
	slab->free = mark;
	if (slab->used-- == SLAB_MARKS) {
		wf_list_remove(&slab->item);
		wf_list_insert_after(slabs, &slab->item);
	}
	if (!slab->used && slabs->next != slabs->prev) {
		wf_list_remove(&slab->item);
		free(slab);
	}
}

void wf_match_slabs_done(struct wf_list *slabs)
{
	wf_list_foreach_safe(item, slabs) free(slab_of_item(item));
	wf_list_init(slabs);
}
