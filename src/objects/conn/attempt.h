/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_ATTEMPT_H
#define WF_OBJECTS_CONN_ATTEMPT_H

#include "objects/conn/watch.h"
#include "sys/list.h"

/*
 * Attempts to connect, of a connectionless endpoint to a peer (active) or of a peer to
 * the endpoint (passive). The transport embeds struct wf_attempt first in a struct of
 * its own, which it allocates with calloc.
 *
 * An attempt that ends is freed later, because its own event handler may end it:
 * wf_watches_poll allows no other.
 *
 * The endpoint's lock (ep->lock) guards everything here, and the caller of each
 * function holds it.
 */
struct wf_attempt {
	struct wf_watch watch; /* The socket of the exchange. */
	struct wf_list link;   /* In attempts.live or attempts.ended. */
	/* Time in wf_now_ns when @expired of wf_attempts_expire is called; UINT64_MAX:
	 * never. */
	uint64_t deadline_ns;
};

/* All attempts of one endpoint. */
struct wf_attempts {
	struct wf_list live;  /* Oldest first. */
	struct wf_list ended; /* Waiting for wf_attempts_free_ended. */
};

void wf_attempts_init(struct wf_attempts *attempts);

/* Add @attempt, which has no deadline yet. */
void wf_attempts_add(struct wf_attempts *attempts, struct wf_attempt *attempt);

/* @attempt has ended; the transport has released all that it holds. */
void wf_attempts_end(struct wf_attempts *attempts, struct wf_attempt *attempt);
/* Free the memory of attempts that have ended. Not called from an event handler. */
void wf_attempts_free_ended(struct wf_attempts *attempts);

/* Call @expired for each attempt whose deadline is @now_ns (wf_now_ns) or earlier. It
 * may end that attempt and others. */
void wf_attempts_expire(struct wf_attempts *attempts, uint64_t now_ns,
	void (*expired)(struct wf_attempt *attempt));
/* The earliest deadline in wf_now_ns; UINT64_MAX: there is none. */
uint64_t wf_attempts_deadline(const struct wf_attempts *attempts);

/* The oldest attempt; NULL: none is under way. */
static inline struct wf_attempt *wf_attempts_first(const struct wf_attempts *attempts)
{
	return wf_list_empty(&attempts->live)
		       ? NULL
		       : wf_list_entry(attempts->live.next, struct wf_attempt, link);
}

#endif
