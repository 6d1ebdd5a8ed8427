/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "objects/endpoint/life/flush.h"
#include "providers/lnx/param.h"
#include "providers/lnx/stats.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/calls.h"
#include "sys/clock.h"

/* Progress of the private endpoints, and sleeping. */

enum {
	ENTRIES = 16,
	BATCHES = 8, /* reads of a queue in one poll */
	/* Polls of the rails from one poll of the private endpoints to the next while
	 * no message is under way: at first, and after QUIET polls that found
	 * nothing. */
	INTERVAL = 8,
	INTERVAL_QUIET = 256,
	QUIET = 8192,
	CLOCK_INTERVAL = 64, /* polls from one look at the clock to the next */
};

static void lnx_progress_end_call(
	struct lnx_stripe *s, void *context, int err, size_t len)
{
	struct lnx_call *call = context;

	call->done(s, call, err, len);
}

static bool lnx_progress_failed(struct lnx_stripe *s, struct lnx_stripe_rail *rail)
{
	struct fi_cq_err_entry err = { 0 };

	if (fi_cq_readerr(rail->cq.fid, &err, 0) != 1)
		return false;
	if (err.op_context)
		lnx_progress_end_call(
			s, err.op_context, err.err ? err.err : FI_EIO, err.len);
	return true;
}

static bool progress_read_some(struct lnx_stripe *s, struct lnx_stripe_rail *rail)
{
	struct fi_cq_msg_entry entries[ENTRIES];
	ssize_t n = fi_cq_read(rail->cq.fid, entries, ENTRIES);

	if (n == -FI_EAVAIL)
		return lnx_progress_failed(s, rail);
	for (ssize_t i = 0; i < n; i++)
		if (entries[i].op_context)
			lnx_progress_end_call(
				s, entries[i].op_context, 0, entries[i].len);
	return n > 0;
}

static void progress_poll_rails(struct lnx_stripe *s)
{
	for (unsigned int i = 0; i < s->count; i++)
		for (int k = 0; k < BATCHES && progress_read_some(s, &s->rail[i]); k++)
			s->quiet = 0;
}

static bool progress_is_due(struct lnx_stripe *s)
{
	unsigned int interval = s->quiet < QUIET ? INTERVAL : INTERVAL_QUIET;

	if (lnx_stripe_is_busy(s->ep))
		s->quiet = 0;
	else if (s->quiet < QUIET)
		s->quiet++;
	return !s->quiet || s->slept || s->polls % interval == 0;
}

static void progress_fail_lost(struct lnx_stripe *s)
{
	s->any_lost = false;
	for (uint32_t i = 0; i < s->receiver_count; i++) {
		int err = s->receiver[i]->contact.lost_err;

		s->receiver[i]->contact.lost_err = 0;
		if (err)
			lnx_receiver_fail(s, s->receiver[i], err);
	}
	for (uint32_t i = 0; i < s->sender_count; i++) {
		struct lnx_sender *sender = s->sender[i];
		int err = sender ? sender->contact.lost_err : 0;

		if (!err)
			continue;
		sender->contact.lost_err = 0;
		lnx_sender_fail(s, sender, err);
		lnx_sender_forget(s, i);
	}
}

/* Ask the other ends of messages of which nothing was heard for long. */
static void progress_ask(struct lnx_stripe *s)
{
	uint64_t now = wf_coarse_ns();

	if (now - s->asked_ns < LNX_STRIPE_ASK_NS / 4)
		return;
	s->asked_ns = now;
	lnx_stripe_ask_receivers(s, now);
	lnx_stripe_ask_senders(s, now);
}

bool lnx_stripe_is_busy(const struct lnx_ep *ep)
{
	const struct lnx_stripe *s = ep->stripe;

	return s && atomic_load_explicit(&s->busy, memory_order_relaxed);
}

void lnx_stripe_poll(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;

	if (!wf_trylock(&s->lock))
		return;
	s->polls++;
	if (progress_is_due(s))
		progress_poll_rails(s);
	if (s->stalled)
		lnx_stripe_fetch_again(s);
	if (!wf_list_empty(&s->waiting))
		lnx_control_retry(s);
	if (s->any_lost)
		progress_fail_lost(s);
	if (s->polls % CLOCK_INTERVAL == 0 || s->slept)
		progress_ask(s);
	s->slept = false;
	wf_unlock(&s->lock);
}

bool lnx_stripe_flushed(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;
	bool done;

	wf_lock(&s->lock);
	done = !s->injected && wf_list_empty(&s->waiting);
	for (unsigned int i = 0; i < s->count && done; i++)
		done = wf_ep_flushed(s->rail[i].below.builtin);
	wf_unlock(&s->lock);
	return done;
}

bool lnx_stripe_moved(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;
	bool any = false;

	for (unsigned int i = 0; i < s->count; i++)
		any |= wf_progress_moved(&s->rail[i].below.builtin->progress);
	return any;
}

static int progress_open_timer(struct lnx_stripe *s)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	int ret;

	if (fd < 0)
		return -errno;
	ret = wf_fds_add(&s->ep->fds, fd);
	if (ret)
		(void)wf_sys_close(fd);
	else
		s->timer_fd = fd;
	return ret;
}

int lnx_stripe_watch(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;
	int ret = 0;

	if (!s || !ep->may_sleep || s->timer_fd >= 0)
		return 0;
	for (unsigned int i = 0; i < s->count && !ret; i++)
		ret = wf_lower_wait_add(
			&s->rail[i].wait, &s->rail[i].cq.fid->fid, &ep->fds);
	return ret ? ret : progress_open_timer(s);
}

void lnx_stripe_set_timer(struct lnx_stripe *s, uint64_t ns)
{
	const struct itimerspec at = {
		.it_value.tv_sec = (time_t)(ns / 1000000000u),
		.it_value.tv_nsec = (long)(ns % 1000000000u),
	};

	if (s->timer_fd >= 0)
		(void)timerfd_settime(s->timer_fd, 0, &at, NULL);
}

/* Setting the timer makes its descriptor unreadable again. */
bool lnx_stripe_may_sleep(struct lnx_ep *ep)
{
	struct lnx_stripe *s = ep->stripe;
	bool quiet;

	wf_lock(&s->lock);
	quiet = !s->any_lost && !s->stalled && wf_list_empty(&s->waiting);
	for (unsigned int i = 0; i < s->count && quiet; i++) {
		struct fid *fid = &s->rail[i].cq.fid->fid;

		quiet = !fi_trywait(s->rail[i].below.domain->fabric, &fid, 1);
	}
	/* The next poll is a full one: the thread may wake because of the rails. */
	s->slept = true;
	if (quiet)
		lnx_stripe_set_timer(s, lnx_stripe_is_busy(ep) ? LNX_STRIPE_ASK_NS : 0);
	wf_unlock(&s->lock);
	return quiet;
}

void lnx_stripe_dump_stats(const struct lnx_ep *ep)
{
	const struct lnx_stripe *s = ep->stripe;

	for (unsigned int i = 0; s && lnx_params.stats && i < s->count; i++)
		lnx_stats_write("lnx %s: %s: %" PRIu64 " bytes fetched in chunks\n",
			ep->domain->wf->name,
			ep->domain->link->member[s->rail[i].member].name,
			s->rail[i].fetched);
}
