/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/flush.h"

#include <limits.h>
#include <rdma/providers/fi_prov.h>
#include <unistd.h>

#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/scalable.h"
#include "objects/notice.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/pause.h"

/*
 * A flush makes progress with pauses that grow: the transport may wait for space in a
 * ring, which no descriptor signals. It runs the other endpoints of the domain as well,
 * since the receiver may be one of them.
 */
enum {
	TIMEOUT_MS = 5000, /* Default of FI_FLUSH_TIMEOUT. */
};

/*
 * Enabled endpoints, for the end of the process. @holder guards the list: it is 0, or
 * the id of the process that holds it, because a forked child may find it held by a
 * thread of its parent. The list belongs to one process: a child ignores the list of
 * its parent.
 */
static atomic_int holder;
static struct wf_list known = { &known, &known };
/* Process id of the owner of @known; 0: no endpoint was enabled. */
static atomic_int known_in;

/* This thread is in flush_all() and holds the list. The progress of a layered provider
 * may open and close endpoints below. */
static _Thread_local bool flushing_all;
/* In flush_all(): the endpoint being flushed, NULL after it was closed, and the link of
 * the next endpoint. Accessed only by the thread that holds the list. */
static struct wf_ep *flushed_ep;
static struct wf_list *next_link;

static bool flush_try_hold(int self)
{
	int expected = 0;

	if (atomic_compare_exchange_strong(&holder, &expected, self))
		return true;
	return expected != self &&
	       atomic_compare_exchange_strong(&holder, &expected, self);
}

static void flush_hold(void)
{
	int self = (int)getpid();

	if (flushing_all)
		return;
	for (unsigned int round = 0; !flush_try_hold(self); round++)
		wf_pause(round);
}

static void flush_let_go(void)
{
	if (!flushing_all)
		atomic_store(&holder, 0);
}

void wf_ep_flush_add(struct wf_ep *ep)
{
	int self = (int)getpid();

	ep->flush_pid = self;
	if (!ep->xfer->flushed)
		return;
	flush_hold();
	if (atomic_load(&known_in) != self)
		wf_list_init(&known);
	atomic_store(&known_in, self);
	wf_list_push(&known, &ep->flush_link);
	flush_let_go();
}

void wf_ep_flush_remove(struct wf_ep *ep)
{
	/* In a forked child the links of the parent's endpoint lead to a list that does
	 * not exist. */
	if (!ep->xfer->flushed || ep->flush_pid != (int)getpid())
		return;
	flush_hold();
	if (next_link == &ep->flush_link)
		next_link = next_link->next;
	if (flushed_ep == ep)
		flushed_ep = NULL;
	wf_list_remove(&ep->flush_link);
	flush_let_go();
}

/* The owner of an imported receive context runs the progress of such an endpoint. */
static bool flush_is_moved_by_owner(const struct wf_ep *ep)
{
	return ep->srx && !ep->srx_lock;
}

/* Does this process wait for @ep? In a forked child the endpoint is the parent's. */
static bool flush_may(const struct wf_ep *ep)
{
	return ep->enabled && ep->xfer->flushed && ep->flush_pid == (int)getpid() &&
	       !flush_is_moved_by_owner(ep);
}

static bool flush_take(struct wf_lock *lock, bool patient)
{
	if (!patient)
		return wf_trylock(lock);
	wf_lock(lock);
	return true;
}

static bool flush_step_locked(struct wf_ep *ep, bool patient)
{
	bool done = false;

	if (ep->srx_lock && !flush_take(ep->srx_lock, patient))
		return false;
	if (flush_take(&ep->lock, patient)) {
		ep->flushing = true;
		done = ep->xfer->flushed(ep);
		if (!done)
			ep->xfer->progress(ep);
		ep->flushing = false;
		wf_unlock(&ep->lock);
	}
	wf_ep_srx_unlock(ep);
	return done;
}

/* One step of a flush. True: all is sent. False: something is left, or, unless
 * @patient, a lock was taken by another thread. Another thread of an application that
 * serialises its calls may be in the middle of one: it is kept out, too. */
static bool flush_step(struct wf_ep *ep, bool patient)
{
	struct wf_gate *gate = patient ? NULL : ep->domain->gate;
	bool done;

	if (gate && !wf_gate_close(gate))
		return false;
	done = flush_step_locked(ep, patient);
	if (gate)
		wf_gate_open(gate);
	return done;
}

bool wf_ep_flushed(struct wf_ep *ep)
{
	bool done;

	if (!ep->xfer->flushed)
		return true;
	if (!wf_trylock(&ep->lock))
		return false;
	ep->flushing = true;
	done = ep->xfer->flushed(ep);
	wf_unlock(&ep->lock);
	return done;
}

static uint64_t flush_deadline(const struct wf_ep *ep)
{
	int usual_ms = ep->xfer->flush_ms ? ep->xfer->flush_ms : TIMEOUT_MS, ms;

	if (fi_param_get_int(NULL, "flush_timeout", &ms))
		ms = usual_ms;
	if (ms < 0) {
		wf_notice(ep->domain->prov->fi,
			"FI_FLUSH_TIMEOUT is %d: possible 0 to %d; %d is used", ms,
			INT_MAX, usual_ms);
		ms = usual_ms;
	}
	return wf_deadline_ns(ms);
}

/*
 * In flush_all(): pause without the list. A progress thread may close an endpoint, and
 * wait for the list while it has the lock of the layer above, which is @ep. False: @ep
 * was closed meanwhile.
 */
static bool flush_pause_without_list(const struct wf_ep *ep, unsigned int round)
{
	flushing_all = false;
	flush_let_go();
	wf_pause(round);
	flush_hold();
	flushing_all = true;
	return flushed_ep == ep;
}

/* Flush @ep, at most until *@end in wf_now_ns time; 0: the first step that leaves
 * something sets it. @patient: wait for locks. */
static void flush_until(struct wf_ep *ep, bool patient, uint64_t *end)
{
	for (unsigned int round = 0; !flush_step(ep, patient); round++) {
		if (!*end)
			*end = flush_deadline(ep);
		if (wf_expired(*end)) {
			wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
				"not all messages that were injected or are complete "
				"were on their way in time (FI_FLUSH_TIMEOUT)\n");
			return;
		}
		wf_progress_list_run(&ep->domain->items);
		if (patient)
			wf_pause(round);
		else if (!flush_pause_without_list(ep, round))
			return;
	}
}

void wf_ep_flush(struct wf_ep *ep)
{
	struct wf_ep *core = ep->sep ? ep->sep->core : ep;
	uint64_t end = 0;

	if (flush_may(core))
		flush_until(core, true, &end);
}

/*
 * At the end of the process, flush the endpoints that the application left open. Other
 * threads may still run, and may hold locks forever: locks are only tried, and the time
 * is limited. A forked child that enabled no endpoint does nothing.
 */
__attribute__((destructor)) static void flush_all(void)
{
	int self = (int)getpid();
	uint64_t end = 0;

	if (atomic_load(&known_in) != self)
		return;
	for (unsigned int round = 0; !flush_try_hold(self); round++) {
		if (round > 2 * WF_PAUSE_YIELDS)
			return;
		wf_pause(round);
	}
	flushing_all = true;
	for (struct wf_list *link = known.next; link != &known; link = next_link) {
		struct wf_ep *ep = wf_list_entry(link, struct wf_ep, flush_link);

		next_link = link->next;
		flushed_ep = ep;
		if (flush_may(ep))
			flush_until(ep, false, &end);
	}
	flushed_ep = NULL;
	flushing_all = false;
	flush_let_go();
}
