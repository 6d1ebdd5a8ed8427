/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/progress/progress.h"
#include "objects/wait/wait.h"

int wf_progress_list_init(
	struct wf_progress_list *list, enum wf_lock_kind kind, struct wf_wait *wait)
{
	memset(list, 0, sizeof(*list));
	list->wait = wait;
	return wf_lock_init(&list->lock, kind);
}

void wf_progress_list_done(struct wf_progress_list *list)
{
	free(list->refs);
	wf_lock_done(&list->lock);
}

static struct wf_progress_ref *find(
	struct wf_progress_list *list, const struct wf_progress *item)
{
	for (unsigned int i = 0; i < list->count; i++) {
		if (list->refs[i].item == item)
			return &list->refs[i];
	}
	return NULL;
}

/* An item's descriptor is asked for only where somebody can sleep on it. */
static int watch(struct wf_wait *wait, struct wf_progress_ref *ref)
{
	int err;

	ref->fd = -1;
	if (!wait || !ref->item->wait_fd || !wf_wait_uses_fds(wait))
		return 0;
	ref->fd = ref->item->wait_fd(ref->item);
	if (ref->fd < 0)
		return ref->fd;
	err = wf_wait_add_fd(wait, ref->fd);
	if (err)
		ref->fd = -1;
	return err;
}

static void unwatch(struct wf_wait *wait, struct wf_progress_ref *ref)
{
	if (ref->fd < 0)
		return;
	wf_wait_del_fd(wait, ref->fd);
	ref->fd = -1;
}

/* @lock is held. */
static int append(struct wf_progress_list *list, struct wf_progress *item)
{
	unsigned int capacity = list->capacity ? 2 * list->capacity : 4;
	struct wf_progress_ref ref = { .item = item, .uses = 1 }, *refs;
	int err;

	if (list->count == list->capacity) {
		refs = realloc(list->refs, capacity * sizeof(*refs));
		if (!refs)
			return -FI_ENOMEM;
		list->refs = refs;
		list->capacity = capacity;
	}
	err = watch(list->wait, &ref);
	if (err)
		return err;
	list->refs[list->count++] = ref;
	return 0;
}

int wf_progress_list_add(struct wf_progress_list *list, struct wf_progress *item)
{
	struct wf_progress_ref *ref;
	int err = 0;

	wf_lock(&list->lock);
	ref = find(list, item);
	if (ref)
		ref->uses++;
	else
		err = append(list, item);
	wf_unlock(&list->lock);
	/* Whoever sleeps armed the other items only. */
	if (!err && list->wait)
		wf_wait_signal(list->wait);
	return err;
}

void wf_progress_list_del(struct wf_progress_list *list, struct wf_progress *item)
{
	struct wf_progress_ref *ref;

	wf_lock(&list->lock);
	ref = find(list, item);
	if (ref && !--ref->uses) {
		unwatch(list->wait, ref);
		*ref = list->refs[--list->count];
	}
	wf_unlock(&list->lock);
}

int wf_progress_list_set_wait(struct wf_progress_list *list, struct wf_wait *wait)
{
	unsigned int i;
	int err = 0;

	wf_lock(&list->lock);
	for (i = 0; i < list->count; i++)
		unwatch(list->wait, &list->refs[i]);
	list->wait = wait;
	for (i = 0; i < list->count && !err; i++)
		err = watch(wait, &list->refs[i]);
	if (err) {
		for (i = 0; i < list->count; i++)
			unwatch(wait, &list->refs[i]);
		list->wait = NULL;
	}
	wf_unlock(&list->lock);
	return err;
}

bool wf_progress_list_arm(struct wf_progress_list *list)
{
	bool idle = true;

	wf_lock(&list->lock);
	for (unsigned int i = 0; i < list->count && idle; i++) {
		struct wf_progress *item = list->refs[i].item;

		idle = !item->arm || item->arm(item);
	}
	wf_unlock(&list->lock);
	return idle;
}
