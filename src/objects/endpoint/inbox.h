/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_INBOX_H
#define WF_OBJECTS_ENDPOINT_INBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/wait/wait.h"
#include "sys/compiler.h"
#include "sys/copy.h"
#include "sys/lock.h"

/*
 * An inbox: small messages for a layered provider, which are neither matched with
 * receives nor completed.
 *
 * The layer gives each of its endpoints below a feed (wf_lower_ep_use_inbox). When a
 * message of FI_MSG arrives there, the transport below copies it into the inbox if it
 * is small, complete and without special flags. Other messages, and those that find no
 * space, are *passed*: they are matched with the receives that the layer has posted,
 * and counted in the feed. While messages of a feed are passed, later ones are passed,
 * too, so that the layer gets the messages of a feed in order, if it
 *
 *   - takes completions of passed messages first, then empties the inbox, then handles
 *     these completions;
 *   - calls wf_inbox_handled for each passed message, after it was handled.
 *
 * The endpoints below put messages with their own locks held, several threads at once;
 * @lock serialises them. One thread at a time takes messages, which the lock of the
 * layer ensures; it may run the endpoints below meanwhile. The counters run free: only
 * their difference has a meaning.
 */
struct wf_inbox {
	struct wf_lock lock;
	uint32_t limit;       /* length of the longest message in bytes */
	struct wf_wait *wait; /* signalled for each message; NULL: nothing sleeps */
	/* End of the newest message, and the number of bytes that were put. */
	_Alignas(WF_CACHELINE) _Atomic uint32_t head;
	/* Begin of the oldest message, and the number of bytes that were taken. */
	_Alignas(WF_CACHELINE) _Atomic uint32_t tail;
	_Alignas(WF_CACHELINE) uint8_t bytes[];
};

enum {
	WF_INBOX_BYTES = 1 << 16, /* size of the memory for messages */
	WF_INBOX_LIMIT = 2048,    /* the largest value of wf_inbox.limit */
	WF_INBOX_SMALL = 256,     /* wf_copy_small copies up to so many bytes */
};

/* The source of messages in an inbox: one endpoint below. Zeroed but for @inbox. */
struct wf_inbox_feed {
	struct wf_inbox *inbox;
	/* Messages that were passed and that the layer has not handled. */
	atomic_uint passed;
	/* The layer wants no more messages: the transport leaves what arrives in its
	 * socket. When the layer unsets this it runs the endpoint, or wakes its
	 * progress item. */
	atomic_bool held;
};

/* A message in an inbox. The payload begins at a multiple of 16 bytes, and so does the
 * next message. */
struct wf_inbox_message {
	/* Where it came from; NULL: no message, the space up to the end of the
	 * memory. */
	struct wf_inbox_feed *feed;
	uint32_t len; /* bytes of @payload */
	_Alignas(16) uint8_t payload[];
};

/* Make an inbox for messages of up to @limit bytes, with a lock or, unless it is NULL,
 * with @gate instead of it. NULL: no memory. */
struct wf_inbox *wf_inbox_new(struct wf_gate *gate, size_t limit, struct wf_wait *wait);
/* No endpoint below has a feed of the inbox any more. NULL: no-op. */
void wf_inbox_free(struct wf_inbox *inbox);

static inline uint32_t wf_inbox_size(uint32_t len)
{
	return (uint32_t)sizeof(struct wf_inbox_message) + ((len + 15) & ~15u);
}

static inline struct wf_inbox_message *wf_inbox_at(
	struct wf_inbox *inbox, uint32_t counter)
{
	return (void *)(inbox->bytes + (counter & (WF_INBOX_BYTES - 1)));
}

/* Copy a message into the inbox, whose @lock is held. False: there is no space. */
WF_INLINE bool wf_inbox_add(struct wf_inbox *inbox, struct wf_inbox_feed *feed,
	const void *buf, uint32_t len)
{
	uint32_t head = atomic_load_explicit(&inbox->head, memory_order_relaxed);
	/* I1: acquire, pairs with I4. The layer is done with the memory. */
	uint32_t tail = atomic_load_explicit(&inbox->tail, memory_order_acquire);
	uint32_t to_end = WF_INBOX_BYTES - (head & (WF_INBOX_BYTES - 1));
	uint32_t size = wf_inbox_size(len), skip = size > to_end ? to_end : 0;
	struct wf_inbox_message *message;

	if (wf_unlikely(head - tail + skip + size > WF_INBOX_BYTES))
		return false;
	if (wf_unlikely(skip)) {
		wf_inbox_at(inbox, head)->feed = NULL;
		head += skip;
	}
	message = wf_inbox_at(inbox, head);
	message->feed = feed;
	message->len = len;
	if (wf_likely(len <= WF_INBOX_SMALL))
		wf_copy_small(message->payload, buf, len);
	else
		memcpy(message->payload, buf, len);
	/* I2: release, pairs with I3. The message is whole before it is counted. */
	atomic_store_explicit(&inbox->head, head + size, memory_order_release);
	return true;
}

/* A message of @feed arrives that is not for the inbox. */
static inline void wf_inbox_pass(struct wf_inbox_feed *feed)
{
	/* relaxed, as the next load and wf_inbox_handled: a transport that reads that
	 * no message is passed puts the next one behind those that the layer has
	 * handled. */
	atomic_fetch_add_explicit(&feed->passed, 1, memory_order_relaxed);
}

/* A complete message of @feed arrives: copy it into the inbox. False: it is passed. */
WF_INLINE bool wf_inbox_put(struct wf_inbox_feed *feed, const void *buf, size_t len)
{
	struct wf_inbox *inbox = feed->inbox;
	bool added = false;

	if (wf_likely(len <= inbox->limit &&
		      !atomic_load_explicit(&feed->passed, memory_order_relaxed))) {
		wf_lock(&inbox->lock);
		added = wf_inbox_add(inbox, feed, buf, (uint32_t)len);
		wf_unlock(&inbox->lock);
	}
	if (wf_unlikely(!added))
		wf_inbox_pass(feed);
	else if (inbox->wait)
		wf_wait_signal(inbox->wait);
	return added;
}

/* relaxed: a transport that reads the flag late receives a little more. */
static inline bool wf_inbox_is_held(const struct wf_inbox_feed *feed)
{
	return atomic_load_explicit(&feed->held, memory_order_relaxed);
}

static inline void wf_inbox_hold(struct wf_inbox_feed *feed, bool held)
{
	atomic_store_explicit(&feed->held, held, memory_order_relaxed);
}

/* The layer has handled a message of @feed that was passed. */
static inline void wf_inbox_handled(struct wf_inbox_feed *feed)
{
	if (atomic_load_explicit(&feed->passed, memory_order_relaxed))
		atomic_fetch_sub_explicit(&feed->passed, 1, memory_order_relaxed);
}

/* Is there no message? Before a sleep the caller arms @wait first. */
static inline bool wf_inbox_empty(const struct wf_inbox *inbox)
{
	return atomic_load_explicit(&inbox->head, memory_order_relaxed) ==
	       atomic_load_explicit(&inbox->tail, memory_order_relaxed);
}

/* The oldest message, valid until wf_inbox_pop; NULL: there is none. */
static inline const struct wf_inbox_message *wf_inbox_first(struct wf_inbox *inbox)
{
	uint32_t tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);
	const struct wf_inbox_message *message;

	/* I3: acquire, pairs with I2. */
	if (atomic_load_explicit(&inbox->head, memory_order_acquire) == tail)
		return NULL;
	message = wf_inbox_at(inbox, tail);
	if (wf_likely(message->feed != NULL))
		return message;
	/* The message behind the end of the memory was counted with that space. */
	tail += WF_INBOX_BYTES - (tail & (WF_INBOX_BYTES - 1));
	/* I4: release, pairs with I1: @feed of that space was read. */
	atomic_store_explicit(&inbox->tail, tail, memory_order_release);
	return wf_inbox_at(inbox, tail);
}

/* Remove @message, the oldest one. */
static inline void wf_inbox_pop(
	struct wf_inbox *inbox, const struct wf_inbox_message *message)
{
	uint32_t tail = atomic_load_explicit(&inbox->tail, memory_order_relaxed);

	/* I4: release, pairs with I1. */
	atomic_store_explicit(
		&inbox->tail, tail + wf_inbox_size(message->len), memory_order_release);
}

#endif
