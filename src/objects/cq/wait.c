/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cq/internal.h"
#include "sys/cancel.h"
#include "sys/clock.h"

/*
 * Blocking reads (fi_cq_sread(3)).
 *
 * A sleeper announces itself (wf_wait_arm), then checks once more for events since its
 * last read (entries, work of the transports, fi_cq_signal), and only then sleeps.
 * Writers store first and check for sleepers afterwards; wait.h explains why one of the
 * two always sees the other.
 *
 * fi_cq_signal leaves one wake-up for each sleeper, and at least one, so that a thread
 * which is about to sleep does not miss it.
 *
 * Thread cancellation is off except during the sleep itself (sys/cancel.h).
 */

static bool wait_take_wakeup(struct wf_cq *cq)
{
	unsigned int left = atomic_load_explicit(&cq->wakeups, memory_order_relaxed);

	do {
		if (wf_likely(!left))
			return false;
		/* acquire: pairs with wf_cq_signal. The woken thread sees what the
		 * signalling thread did before. */
	} while (!atomic_compare_exchange_weak_explicit(&cq->wakeups, &left, left - 1,
		memory_order_acquire, memory_order_relaxed));
	return true;
}

int wf_cq_signal(struct fid_cq *fid)
{
	struct wf_cq *cq = wf_cq_of(fid);
	unsigned int n = atomic_load_explicit(&cq->sleepers, memory_order_relaxed);

	/* release: pairs with wait_take_wakeup. */
	atomic_store_explicit(&cq->wakeups, WF_MAX(n, 1u), memory_order_release);
	wf_wait_signal(&cq->wait);
	return 0;
}

static void wait_stop_sleeping(void *arg)
{
	struct wf_cq *cq = arg;

	atomic_fetch_sub_explicit(&cq->sleepers, 1, memory_order_relaxed);
}

/* Sleep once, with @cancel_state during the sleep. A thread that is cancelled in it
 * leaves the count of sleepers. */
static int wait_sleep_once(
	struct wf_cq *cq, uint64_t ticket, uint64_t deadline_ns, int cancel_state)
{
	int ret;

	pthread_cleanup_push(wait_stop_sleeping, cq);
	wf_cancel_set(cancel_state);
	ret = wf_wait_sleep(&cq->wait, ticket, deadline_ns);
	(void)wf_cancel_off();
	pthread_cleanup_pop(0);
	return ret;
}

/* Sleep until the queue should be read again. -FI_EAGAIN: the time is over, or
 * fi_cq_signal. */
static int wait_once(struct wf_cq *cq, uint64_t deadline_ns, int cancel_state)
{
	uint64_t ticket;

	if (wait_take_wakeup(cq) || wf_expired(deadline_ns))
		return -FI_EAGAIN;
	ticket = wf_wait_arm(&cq->wait);
	if (wf_cq_readable(cq) || !wf_progress_list_arm(&cq->progress))
		return 0;
	if (wait_take_wakeup(cq))
		return -FI_EAGAIN;
	return wait_sleep_once(cq, ticket, deadline_ns, cancel_state);
}

/* The number of entries to wait for. */
static size_t wait_threshold(const struct wf_cq *cq, const void *cond, size_t count)
{
	size_t n = 1;

	if (cq->wait_cond == FI_CQ_COND_THRESHOLD && cond)
		n = *(const size_t *)cond;
	return WF_MAX(WF_MIN(n, count), (size_t)1);
}

ssize_t wf_cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
	const void *cond, int timeout)
{
	struct wf_cq *cq = wf_cq_of(fid);
	size_t want = wait_threshold(cq, cond, count), got = 0;
	uint64_t deadline_ns;
	int cancel_state;
	ssize_t ret;

	if (!count)
		return wf_cq_readfrom(fid, buf, count, src);
	/* If entries can be read already, neither the clock is read nor cancellation
	 * turned off. */
	if (want == 1 && wf_cq_readable(cq)) {
		ret = wf_cq_take(cq, buf, count, src);
		if (ret != -FI_EAGAIN)
			return ret;
	}
	deadline_ns = wf_deadline_ns(timeout);
	cancel_state = wf_cancel_off();
	atomic_fetch_add_explicit(&cq->sleepers, 1, memory_order_relaxed);
	do {
		ret = wf_cq_readfrom(fid, (uint8_t *)buf + got * cq->ring.entry_size,
			count - got, src ? src + got : NULL);
		if (ret > 0) {
			got += (size_t)ret;
			ret = 0;
		} else if (ret == -FI_EAGAIN) {
			ret = wait_once(cq, deadline_ns, cancel_state);
		}
	} while (!ret && got < want);
	atomic_fetch_sub_explicit(&cq->sleepers, 1, memory_order_relaxed);
	if (!got && ret == -FI_EAGAIN)
		/* Entries may have come with the last wake-up. */
		ret = wf_cq_readfrom(fid, buf, count, src);
	wf_cancel_set(cancel_state);
	return got ? (ssize_t)got : ret;
}

ssize_t wf_cq_sread(
	struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return wf_cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}
