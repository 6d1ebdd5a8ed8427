/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_LIST_H
#define WF_SYS_LIST_H

#include <stdbool.h>

#include "sys/compiler.h"

/* Intrusive circular doubly linked list; the head is a link of its own. */
struct wf_list {
	struct wf_list *next, *prev;
};

static inline void wf_list_init(struct wf_list *head)
{
	head->next = head->prev = head;
}

static inline bool wf_list_empty(const struct wf_list *head)
{
	return head->next == head;
}

static inline void wf_list_insert_after(struct wf_list *pos, struct wf_list *item)
{
	item->prev = pos;
	item->next = pos->next;
	pos->next->prev = item;
	pos->next = item;
}

static inline void wf_list_push(struct wf_list *head, struct wf_list *item)
{
	wf_list_insert_after(head->prev, item);
}

/* The first item of @head for which @is(item, @arg) holds; NULL: none. */
static inline struct wf_list *wf_list_find(const struct wf_list *head,
	bool (*is)(const struct wf_list *item, const void *arg), const void *arg)
{
	struct wf_list *item = head->next;

	while (item != head && !is(item, arg))
		item = item->next;
	return item == head ? NULL : item;
}

/* The links of the item stay as they are. */
static inline void wf_list_unlink(struct wf_list *item)
{
	struct wf_list *prev = item->prev, *next = item->next;

	prev->next = next;
	next->prev = prev;
}

/* The item may be removed twice: it is left linked to itself. */
static inline void wf_list_remove(struct wf_list *item)
{
	wf_list_unlink(item);
	wf_list_init(item);
}

static inline struct wf_list *wf_list_pop(struct wf_list *head)
{
	struct wf_list *item = head->next;

	if (item == head)
		return NULL;
	wf_list_remove(item);
	return item;
}

#define wf_list_entry(item, type, member) wf_container_of(item, type, member)

#define wf_list_foreach(it, head)                                                      \
	for (struct wf_list *it = (head)->next; it != (head); it = it->next)

/* The body may remove and free the current item. */
#define wf_list_foreach_safe(it, head)                                                 \
	for (struct wf_list *it = (head)->next, *it##_next = it->next; it != (head);   \
		it = it##_next, it##_next = it->next)

#endif
