/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/eq/queue.h"

/*
 * The events of a queue, errors among them, in the order of their arrival.
 *
 * Our own events cannot be repeated by anybody, so they are never refused for want of
 * room; one that is lost for want of memory puts the queue in the state of overrun,
 * which its reader learns after the events that are there. What the application writes
 * is bounded, because nothing else keeps it from filling the memory; it is told to
 * repeat the call.
 */

struct wf_eq_event {
	struct wf_list link;
	uint32_t event;
	bool ours; /* made here, so that what it points to is ours to free */
	bool is_error;
	struct fi_eq_err_entry error; /* but for err_data, which is @data */
	size_t len;
	uint8_t data[];
};

static struct wf_eq_event *new_event(const void *data, size_t len)
{
	struct wf_eq_event *event = NULL;

	if (len <= SIZE_MAX - sizeof(*event))
		event = malloc(sizeof(*event) + len);
	if (!event)
		return NULL;
	memset(event, 0, sizeof(*event));
	event->len = len;
	if (len)
		memcpy(event->data, data, len);
	return event;
}

static void free_unread(struct wf_eq_event *event)
{
	struct fi_eq_cm_entry cm;

	if (event->ours && !event->is_error && event->event == FI_CONNREQ &&
		event->len >= sizeof(cm)) {
		memcpy(&cm, event->data, sizeof(cm));
		fi_freeinfo(cm.info);
	}
	free(event);
}

/* Takes @event, which is NULL when there was no memory for it. @limit bounds the
 * number of events already there. */
static int enqueue(struct wf_eq *eq, struct wf_eq_event *event, size_t limit)
{
	int err = 0;

	wf_lock(&eq->lock);
	if (eq->overrun)
		err = -FI_EOVERRUN;
	else if (eq->count >= limit)
		err = -FI_EAGAIN;
	else if (!event)
		err = -FI_ENOMEM;
	else
		wf_list_push(&eq->events, &event->link);
	eq->count += !err;
	eq->overrun |= err == -FI_ENOMEM && limit == SIZE_MAX;
	wf_unlock(&eq->lock);
	if (err)
		free(event);
	if (!err || err == -FI_ENOMEM)
		wf_wait_signal(&eq->wait);
	return err;
}

static ssize_t write_event(struct wf_eq *eq, uint32_t event, const void *buf,
	size_t len, bool ours, size_t limit)
{
	struct wf_eq_event *item;
	int err;

	if (eq->owner)
		return fi_eq_write(eq->owner, event, buf, len, 0);
	item = new_event(buf, len);
	if (item) {
		item->event = event;
		item->ours = ours;
	}
	err = enqueue(eq, item, limit);
	return err ? err : (ssize_t)len;
}

ssize_t wf_eq_write(struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return write_event(eq, event, buf, len, true, SIZE_MAX);
}

ssize_t wf_eq_insert(struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return write_event(eq, event, buf, len, false, eq->capacity);
}

/* The interface has no call that writes an error into somebody else's queue. */
static int write_err_to_owner(struct wf_eq *eq, const struct fi_eq_err_entry *entry)
{
	struct fid_eq *owner = eq->owner;

	if (wf_eq_is_ours(owner))
		return wf_eq_write_err(wf_eq_of(owner), entry);
	FI_WARN(eq->fabric->prov->fi, FI_LOG_EQ,
		"error %d (%s) is lost: the imported event queue takes events only\n",
		entry->err, fi_strerror(entry->err));
	return -FI_ENOSYS;
}

int wf_eq_write_err(struct wf_eq *eq, const struct fi_eq_err_entry *entry)
{
	struct wf_eq_event *item;

	if (eq->owner)
		return write_err_to_owner(eq, entry);
	item = new_event(entry->err_data, entry->err_data ? entry->err_data_size : 0);
	if (item) {
		item->is_error = true;
		item->error = *entry;
	}
	return enqueue(eq, item, SIZE_MAX);
}

bool wf_eq_readable(struct wf_eq *eq)
{
	bool readable;

	wf_lock(&eq->lock);
	readable = eq->overrun || !wf_list_empty(&eq->events);
	wf_unlock(&eq->lock);
	return readable;
}

/* @lock is held. */
static struct wf_eq_event *head_of(struct wf_eq *eq)
{
	return wf_list_empty(&eq->events)
		       ? NULL
		       : wf_list_entry(eq->events.next, struct wf_eq_event, link);
}

/* @lock is held. */
static void unlink_event(struct wf_eq *eq, struct wf_eq_event *event)
{
	wf_list_remove(&event->link);
	eq->count--;
}

/* The error data that the application may still look at. @lock is held. */
static void forget_last(struct wf_eq *eq)
{
	free(eq->last);
	eq->last = NULL;
}

/* @lock is held. */
static ssize_t take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct wf_eq_event *head = head_of(eq);
	size_t count;

	forget_last(eq);
	if (!head)
		return eq->overrun ? -FI_EAVAIL : -FI_EAGAIN;
	if (head->is_error)
		return -FI_EAVAIL;
	count = WF_MIN(len, head->len);
	if (count)
		memcpy(buf, head->data, count);
	if (event)
		*event = head->event;
	if (!(flags & FI_PEEK)) {
		unlink_event(eq, head);
		free(head);
	}
	return (ssize_t)count;
}

/* Since 1.5 the caller may offer room for the data; otherwise he sees ours. */
static void copy_err_data(
	struct wf_eq *eq, struct wf_eq_event *event, struct fi_eq_err_entry *buf)
{
	bool has_room = FI_VERSION_GE(eq->fabric->fid.api_version, FI_VERSION(1, 5)) &&
			buf->err_data && buf->err_data_size;
	void *room = buf->err_data;
	size_t size = buf->err_data_size;

	*buf = event->error;
	if (!has_room) {
		buf->err_data = event->len ? event->data : NULL;
		buf->err_data_size = event->len;
		return;
	}
	buf->err_data = room;
	buf->err_data_size = WF_MIN(size, event->len);
	if (buf->err_data_size)
		memcpy(room, event->data, buf->err_data_size);
}

/* @lock is held. */
static ssize_t take_err(struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct wf_eq_event *head = head_of(eq);

	forget_last(eq);
	if (!head && eq->overrun) {
		*buf = (struct fi_eq_err_entry){
			.fid = &eq->fid.fid,
			.context = eq->fid.fid.context,
			.err = FI_EOVERRUN,
			.prov_errno = FI_EOVERRUN,
		};
		return sizeof(*buf);
	}
	if (!head || !head->is_error)
		return -FI_EAGAIN;
	copy_err_data(eq, head, buf);
	if (!(flags & FI_PEEK)) {
		unlink_event(eq, head);
		eq->last = head;
	}
	return sizeof(*buf);
}

ssize_t wf_eq_take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	ssize_t ret;

	wf_lock(&eq->lock);
	ret = take(eq, event, buf, len, flags);
	wf_unlock(&eq->lock);
	return ret;
}

ssize_t wf_eq_take_err(struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	ssize_t ret;

	wf_lock(&eq->lock);
	ret = take_err(eq, buf, flags);
	wf_unlock(&eq->lock);
	return ret;
}

void wf_eq_drop_all(struct wf_eq *eq)
{
	wf_list_foreach_safe(link, &eq->events)
		free_unread(wf_list_entry(link, struct wf_eq_event, link));
	wf_list_init(&eq->events);
	forget_last(eq);
}
