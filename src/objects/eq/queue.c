/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/eq/queue.h"

/*
 * The events of a queue, errors among them, in the order of their arrival.
 *
 * The library cannot repeat its own events, so the capacity does not apply to them, and
 * there is a spare one for when there is no memory. If one is lost all the same, the
 * queue is overrun: the reader gets FI_EOVERRUN after the events that are queued.
 * Events that the application writes are limited by the capacity, because nothing else
 * keeps the application from filling the memory; it gets -FI_EAGAIN.
 */

struct wf_eq_event {
	struct wf_list link;
	uint32_t event; /* FI_CONNREQ, ...; not used if @is_error */
	bool ours;      /* written by the library: an unread fi_info in it is freed */
	bool is_error;
	struct fi_eq_err_entry error; /* if @is_error; err_data is replaced by @data */
	size_t len;                   /* bytes in @data */
	size_t space;                 /* of @data, in bytes */
	uint8_t data[];               /* the event, or the error data */
};

/* Bytes of data of the spare event: a connection event with what peers send in it. */
enum { SPARE_SPACE = sizeof(struct fi_eq_cm_entry) + 512 };

static struct wf_eq_event *queue_event_alloc(size_t space)
{
	struct wf_eq_event *event = NULL;

	if (space <= SIZE_MAX - sizeof(*event))
		event = malloc(sizeof(*event) + space);
	if (event)
		event->space = space;
	return event;
}

int wf_eq_spare_init(struct wf_eq *eq)
{
	eq->spare = queue_event_alloc(SPARE_SPACE);
	return eq->spare ? 0 : -FI_ENOMEM;
}

static struct wf_eq_event *queue_event_take_spare(struct wf_eq *eq, size_t len)
{
	struct wf_eq_event *spare = NULL;

	wf_lock(&eq->lock);
	if (len <= SPARE_SPACE) {
		spare = eq->spare;
		eq->spare = NULL;
	}
	wf_unlock(&eq->lock);
	return spare;
}

/* An event of the library (@ours) or of the application, with @len bytes of data. */
static struct wf_eq_event *queue_event_new(
	struct wf_eq *eq, bool ours, const void *data, size_t len)
{
	struct wf_eq_event *event = queue_event_alloc(len);

	if (!event && ours)
		event = queue_event_take_spare(eq, len);
	if (!event)
		return NULL;
	*event =
		(struct wf_eq_event){ .ours = ours, .len = len, .space = event->space };
	if (len)
		memcpy(event->data, data, len);
	return event;
}

/* Free the event, or keep it as the spare one. @lock is held. */
static void queue_event_give(struct wf_eq *eq, struct wf_eq_event *event)
{
	if (!eq->spare && event && event->space >= SPARE_SPACE)
		eq->spare = event;
	else
		free(event);
}

static void queue_free_unread(struct wf_eq_event *event)
{
	struct fi_eq_cm_entry cm;

	if (event->ours && !event->is_error && event->event == FI_CONNREQ &&
		event->len >= sizeof(cm)) {
		memcpy(&cm, event->data, sizeof(cm));
		fi_freeinfo(cm.info);
	}
	free(event);
}

/* Queue @event and take ownership of it; NULL: there was no memory for it. Fails when
 * @limit events are queued. */
static int queue_enqueue(struct wf_eq *eq, struct wf_eq_event *event, size_t limit)
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
	if (err)
		queue_event_give(eq, event);
	wf_unlock(&eq->lock);
	if (!err || err == -FI_ENOMEM)
		wf_wait_signal(&eq->wait);
	return err;
}

static ssize_t queue_write_event(struct wf_eq *eq, uint32_t event, const void *buf,
	size_t len, bool ours, size_t limit)
{
	struct wf_eq_event *item;
	int err;

	if (eq->owner)
		return fi_eq_write(eq->owner, event, buf, len, 0);
	item = queue_event_new(eq, ours, buf, len);
	if (item)
		item->event = event;
	err = queue_enqueue(eq, item, limit);
	return err ? err : (ssize_t)len;
}

ssize_t wf_eq_write(struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return queue_write_event(eq, event, buf, len, true, SIZE_MAX);
}

ssize_t wf_eq_insert(struct wf_eq *eq, uint32_t event, const void *buf, size_t len)
{
	return queue_write_event(eq, event, buf, len, false, eq->capacity);
}

/* The interface has no call that writes an error into a foreign queue. */
static int queue_write_err_to_owner(
	struct wf_eq *eq, const struct fi_eq_err_entry *entry)
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
		return queue_write_err_to_owner(eq, entry);
	item = queue_event_new(
		eq, true, entry->err_data, entry->err_data ? entry->err_data_size : 0);
	if (item) {
		item->is_error = true;
		item->error = *entry;
	}
	return queue_enqueue(eq, item, SIZE_MAX);
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
static struct wf_eq_event *queue_head_of(struct wf_eq *eq)
{
	return wf_list_empty(&eq->events)
		       ? NULL
		       : wf_list_entry(eq->events.next, struct wf_eq_event, link);
}

/* @lock is held. */
static void queue_unlink_event(struct wf_eq *eq, struct wf_eq_event *event)
{
	wf_list_remove(&event->link);
	eq->count--;
}

/* Free the error read last, whose err_data the application may use until its next read.
 * @lock is held. */
static void queue_forget_last(struct wf_eq *eq)
{
	queue_event_give(eq, eq->last);
	eq->last = NULL;
}

/* @lock is held. */
static ssize_t queue_take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct wf_eq_event *head = queue_head_of(eq);
	size_t count;

	queue_forget_last(eq);
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
		queue_unlink_event(eq, head);
		queue_event_give(eq, head);
	}
	return (ssize_t)count;
}

/* Since 1.5 the caller may provide a buffer for the error data; otherwise it gets a
 * pointer to the library's copy. */
static void queue_copy_err_data(
	struct wf_eq *eq, struct wf_eq_event *event, struct fi_eq_err_entry *buf)
{
	bool has_space = FI_VERSION_GE(eq->fabric->fid.api_version, FI_VERSION(1, 5)) &&
			 buf->err_data && buf->err_data_size;
	void *given = buf->err_data;
	size_t size = buf->err_data_size;

	*buf = event->error;
	if (!has_space) {
		buf->err_data = event->len ? event->data : NULL;
		buf->err_data_size = event->len;
		return;
	}
	buf->err_data = given;
	buf->err_data_size = WF_MIN(size, event->len);
	if (buf->err_data_size)
		memcpy(given, event->data, buf->err_data_size);
}

/* @lock is held. */
static ssize_t queue_take_err(
	struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct wf_eq_event *head = queue_head_of(eq);

	queue_forget_last(eq);
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
	queue_copy_err_data(eq, head, buf);
	if (!(flags & FI_PEEK)) {
		queue_unlink_event(eq, head);
		eq->last = head;
	}
	return sizeof(*buf);
}

ssize_t wf_eq_take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	ssize_t ret;

	wf_lock(&eq->lock);
	ret = queue_take(eq, event, buf, len, flags);
	wf_unlock(&eq->lock);
	return ret;
}

ssize_t wf_eq_take_err(struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags)
{
	ssize_t ret;

	wf_lock(&eq->lock);
	ret = queue_take_err(eq, buf, flags);
	wf_unlock(&eq->lock);
	return ret;
}

void wf_eq_drop_all(struct wf_eq *eq)
{
	wf_list_foreach_safe(link, &eq->events)
		queue_free_unread(wf_list_entry(link, struct wf_eq_event, link));
	wf_list_init(&eq->events);
	queue_forget_last(eq);
	free(eq->spare);
	eq->spare = NULL;
}
