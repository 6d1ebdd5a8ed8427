/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/rxm/below.h"
#include "providers/rxm/conn/credit.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/hold.h"
#include "providers/rxm/local/local.h"
#include "providers/rxm/param.h"
#include "sys/clock.h"

/*
 * Progress: each call reads completions of the queue below. It reads the events of
 * connections only now and then, or in each call while a connection is being made.
 */
enum {
	ENTRIES = 64,
	EVENTS = 64,       /* limit of events that one call handles */
	CM_DATA_MAX = 256, /* limit of a peer's data that is read, in bytes */
	/* Progress calls between two polls of the endpoint for peers on the same
	 * machine, while there are none. */
	QUIET_INTERVAL = 32,
	/* Progress calls between two checks whether an endpoint below moved data. */
	MOVED_INTERVAL = 8,
	/* Number of partial progress calls (struct wf_local_pace) between two full
	 * ones: if all connections use memory; and otherwise, after IDLE full calls
	 * without a packet. */
	PARTIAL_ALL = 2048,
	PARTIAL_MIXED = 16,
	IDLE = 1024,
	/* Progress calls without a sleep after which the endpoint assumes that no
	 * thread sleeps. */
	AWAKE = 256,
};

/* Does @entry end a call? A peer's write with remote CQ data has the context of the
 * buffer that it consumed, or no context if it consumed none; errors of injected
 * packets have no context either. */
static bool progress_is_call(
	const struct rxm_ep *ep, const struct fi_cq_tagged_entry *entry)
{
	return entry->op_context &&
	       (!(entry->flags & FI_REMOTE_WRITE) || ep->domain->rx_cq_data);
}

static void rxm_progress_end_call(
	void *context, int err, const struct fi_cq_tagged_entry *entry)
{
	struct rxm_call *call = context;

	wf_list_remove(&call->link);
	call->done(call, err, entry);
}

static void rxm_progress_failed(struct rxm_ep *ep)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry = { 0 };

	if (fi_cq_readerr(ep->cq.fid, &err, 0) != 1)
		return;
	entry.flags = err.flags;
	entry.len = err.len;
	/* The error may have ended the connection: operations that are started when the
	 * application knows of it use the next one. */
	ep->eq_soon = true;
	if (err.op_context)
		rxm_progress_end_call(
			err.op_context, err.err ? err.err : FI_EIO, &entry);
	else
		rxm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"an injected operation failed below: %s\n",
			fi_strerror(err.err));
}

static __attribute__((noinline)) bool progress_empty_inbox(struct rxm_ep *ep)
{
	const struct wf_inbox_message *packet;
	bool found = false;

	while ((packet = wf_inbox_first(ep->inbox))) {
		if (wf_likely(!ep->data.quiet))
			rxm_data_received(rxm_conn_of_inbox(packet->feed),
				packet->payload, packet->len);
		wf_inbox_pop(ep->inbox, packet);
		found = true;
	}
	return found;
}

/* Read completions. Packets in the inbox that arrived before are handled first. */
static __attribute__((noinline)) bool progress_read_cq(struct rxm_ep *ep)
{
	struct fi_cq_tagged_entry entries[ENTRIES];
	size_t max = WF_MIN(rxm_params.entries, (size_t)ENTRIES);
	ssize_t n = wf_lower_cq_read(&ep->cq, entries, max);

	if (n == -FI_EAGAIN)
		return false;
	if (ep->inbox)
		(void)progress_empty_inbox(ep);
	if (wf_unlikely(n < 0)) {
		if (n == -FI_EAVAIL)
			rxm_progress_failed(ep);
		return n == -FI_EAVAIL;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (wf_likely(progress_is_call(ep, &entries[i])))
			rxm_progress_end_call(entries[i].op_context, 0, &entries[i]);
		else
			rxm_data_event(ep, &entries[i]);
	}
	return n > 0;
}

static inline bool progress_poll_cq(struct rxm_ep *ep)
{
	bool found = wf_lower_cq_poll(&ep->cq) && progress_read_cq(ep);

	if (ep->inbox && !wf_inbox_empty(ep->inbox))
		found = progress_empty_inbox(ep);
	return found;
}

bool rxm_poll_cq(struct rxm_ep *ep)
{
	return progress_poll_cq(ep);
}

static void progress_failed_event(struct rxm_ep *ep)
{
	uint8_t data[CM_DATA_MAX];
	struct fi_eq_err_entry err = { .err_data = data,
		.err_data_size = sizeof(data) };

	if (fi_eq_readerr(ep->eq, &err, 0) > 0)
		rxm_cm_error(ep, &err);
}

static bool progress_read_event(struct rxm_ep *ep)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + CM_DATA_MAX];
	} cm;
	const size_t least = sizeof(cm.entry);
	uint32_t event;
	ssize_t n = fi_eq_read(ep->eq, &event, &cm, sizeof(cm), 0);

	if (n == -FI_EAVAIL) {
		progress_failed_event(ep);
		return true;
	}
	if (n < (ssize_t)least)
		return false;
	rxm_cm_event(ep, event, &cm.entry, (size_t)n - least);
	return true;
}

bool rxm_poll_eq(struct rxm_ep *ep)
{
	int found = 0;

	while (found < EVENTS && progress_read_event(ep))
		found++;
	return found;
}

/* Have events of connections not been read for long? */
static bool progress_is_eq_due(const struct rxm_ep *ep, bool found)
{
	if (ep->eq_soon || ep->polls - ep->eq_polls >= rxm_params.eq_polls)
		return true;
	/* The time is read only in a call without other work. */
	return !found && wf_coarse_ns() - ep->eq_ns >= rxm_params.eq_interval_us * 1000;
}

static unsigned int rxm_progress_memory_conns(const struct rxm_ep *ep)
{
	return atomic_load_explicit(&ep->memory_conns, memory_order_relaxed);
}

/* Without connections by memory, the endpoint for peers on the same machine only has to
 * close ended ones, now and then, and to accept new ones. */
static bool rxm_progress_is_below_due(const struct rxm_ep *ep)
{
	return ep->below &&
	       (rxm_progress_memory_conns(ep) || !wf_list_empty(&ep->reaching) ||
		       ep->polls % QUIET_INTERVAL == 0 ||
		       wf_attempts_first(&ep->peers->remotes.attempts));
}

/* Has a progress call anything to do but to handle packets? */
static bool progress_is_more_due(const struct rxm_ep *ep, bool found)
{
	return wf_remotes_busy(&ep->peers->remotes) || rxm_progress_is_below_due(ep) ||
	       !wf_list_empty(&ep->failed) || !wf_list_empty(&ep->ready) ||
	       ep->data.memory_given || wf_remotes_removed(&ep->peers->remotes) ||
	       progress_is_eq_due(ep, found);
}

/* Have the connections moved data that ends no call of this endpoint, such as a peer's
 * reads? That is checked seldom, because the check takes a lock. */
static bool progress_moved_below(const struct rxm_ep *ep)
{
	return ep->polls % MOVED_INTERVAL == 0 && wf_lower_cq_moved(&ep->cq);
}

/* Handle the events of connections, and the packets that arrived meanwhile. */
static bool progress_poll_conns(struct rxm_ep *ep)
{
	bool found;

	ep->eq_soon = false;
	ep->eq_polls = ep->polls;
	ep->eq_ns = wf_coarse_ns();
	found = rxm_poll_eq(ep);
	if (!wf_list_empty(&ep->idle))
		rxm_bufs_post_idle(ep);
	if (found)
		(void)rxm_poll_cq(ep);
	else if (ep->inbox && !wf_inbox_empty(ep->inbox))
		/* The poll of events made progress below. */
		found = progress_empty_inbox(ep);
	return found;
}

/* Send works that waited for space in a queue below. */
static bool progress_resume(struct rxm_ep *ep)
{
	struct wf_list retried, *link;
	bool any = false;

	wf_list_init(&retried);
	while ((link = wf_list_pop(&ep->ready)))
		wf_list_push(&retried, link);
	while ((link = wf_list_pop(&retried))) {
		struct rxm_conn *conn =
			wf_list_entry(link, struct rxm_conn, ready_link);

		if (wf_unlikely(rxm_credit_due(conn)))
			rxm_credit_give(conn);
		rxm_data_resume(conn);
		any = true;
		if (rxm_data_any_waits(conn))
			rxm_conn_resume(conn);
	}
	return any;
}

/* Poll the endpoint below for peers on the same machine, and connect to them. */
static bool rxm_progress_poll_below(struct rxm_ep *ep)
{
	bool after_partial = ep->below->pace.calls;

	if (wf_local_is_inherited(ep->below))
		return false;
	wf_local_poll(ep->below);
	if (wf_unlikely(!wf_list_empty(&ep->reaching))) {
		rxm_local_tick(ep);
		/* An application that seldom makes progress calls needs fewer. */
		wf_local_poll(ep->below);
	}
	return (after_partial || ep->polls % MOVED_INTERVAL == 0) &&
	       wf_local_moved(ep->below);
}

/* The number of partial calls before the next full one; 0: the next call is full. */
static uint32_t rxm_progress_next_partial_calls(const struct rxm_ep *ep)
{
	unsigned int conns =
		atomic_load_explicit(&ep->conn_count, memory_order_relaxed);

	if (!rxm_progress_memory_conns(ep) || wf_local_is_inherited(ep->below) ||
		ep->ep.domain->progress == FI_PROGRESS_AUTO ||
		ep->polls - ep->armed_polls <= AWAKE || ep->eq_soon ||
		!wf_list_empty(&ep->failed) || !wf_list_empty(&ep->ready) ||
		!wf_list_empty(&ep->reaching) || ep->data.memory_given ||
		wf_attempts_first(&ep->peers->remotes.attempts))
		return 0;
	if (conns == rxm_progress_memory_conns(ep))
		return PARTIAL_ALL;
	return ep->idle_calls > IDLE ? PARTIAL_MIXED : 0;
}

static void rxm_progress_set_partial_calls(struct rxm_ep *ep, bool heard)
{
	ep->idle_calls = heard ? 0 : ep->idle_calls + 1;
	wf_local_set_partial(ep->below, rxm_progress_next_partial_calls(ep));
}

/* The end of a call with an endpoint for peers on the same machine. @heard: the call
 * handled a packet. */
static __attribute__((noinline)) void progress_end_with_below(
	struct rxm_ep *ep, bool found, bool heard)
{
	const struct wf_local_pace *pace = &ep->below->pace;

	wf_progress_found_in(&ep->ep.progress, found, pace->calls - pace->left + 1);
	if (pace->calls || rxm_progress_memory_conns(ep))
		rxm_progress_set_partial_calls(ep, heard);
}

/* The part of a call that progress_is_more_due. Returns whether there was work. */
static __attribute__((noinline)) bool progress_do_more(struct rxm_ep *ep, bool found)
{
	bool any = false;

	if (wf_attempts_first(&ep->peers->remotes.attempts) ||
		progress_is_eq_due(ep, found))
		any |= progress_poll_conns(ep);
	if (rxm_progress_is_below_due(ep))
		any |= rxm_progress_poll_below(ep);
	rxm_peers_tick(ep);
	if (!wf_list_empty(&ep->failed)) {
		rxm_conns_end_failed(ep);
		any = true;
	}
	if (!wf_list_empty(&ep->ready))
		any |= progress_resume(ep);
	if (ep->data.memory_given) {
		rxm_hold_resume(ep);
		any = true;
	}
	return any;
}

void rxm_progress(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	bool found, heard;

	ep->polls++;
	ep->running = true;
	heard = found = progress_poll_cq(ep);
	if (wf_unlikely(progress_is_more_due(ep, found)))
		found |= progress_do_more(ep, found);
	ep->running = false;
	found = found || progress_moved_below(ep);
	if (wf_unlikely(ep->below != NULL))
		progress_end_with_below(ep, found, heard);
	else
		wf_progress_found(&wf->progress, found);
}
