/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cq/internal.h"

/* The number of entries that can be read now; -FI_EAGAIN: none; -FI_EAVAIL: an error
 * comes first. The lock is held. */
static ssize_t read_entries_ready(const struct wf_cq *cq)
{
	uint32_t tail = wf_cq_ring_tail(&cq->ring);
	uint32_t end = wf_cq_ring_head(&cq->ring);

	if (wf_unlikely(!wf_list_empty(&cq->errors))) {
		end = wf_list_entry(cq->errors.next, struct wf_cq_error, link)->stamp;
		if (end == tail)
			return -FI_EAVAIL;
	}
	return end == tail ? -FI_EAGAIN : (ssize_t)(uint32_t)(end - tail);
}

__attribute__((noinline)) ssize_t wf_cq_take(
	struct wf_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t ready;

	wf_lock(&cq->lock);
	ready = read_entries_ready(cq);
	if (wf_likely(ready > 0)) {
		ready = WF_MIN((size_t)ready, count);
		wf_cq_ring_take(&cq->ring, buf, src, (size_t)ready);
		if (wf_unlikely(wf_cq_ring_grown(&cq->ring)))
			wf_cq_ring_shrink(&cq->ring);
	}
	wf_unlock(&cq->lock);
	return ready;
}

/* The fast path: take one entry if the lock is free, only one entry can be taken, no
 * error is queued, and the ring need not shrink. False: nothing was taken. */
static inline bool read_take_one(struct wf_cq *cq, void *buf, size_t count)
{
	uint32_t ready;
	bool simple;

	if (wf_unlikely(!wf_trylock(&cq->lock)))
		return false;
	ready = wf_cq_ring_head(&cq->ring) - wf_cq_ring_tail(&cq->ring);
	simple = wf_list_empty(&cq->errors) && !wf_cq_ring_grown(&cq->ring) &&
		 (ready == 1 || (ready && count == 1));
	if (wf_likely(simple))
		wf_cq_ring_take(&cq->ring, buf, NULL, 1);
	wf_unlock(&cq->lock);
	return simple;
}

/*
 * Is an entry or error available? Runs progress only if none is: an application that
 * polls for its send completion and then for the answer pays for one poll of the
 * network per message, not two. A read with @count 0 asks for progress alone.
 */
static inline bool read_poll_if_empty(struct wf_cq *cq, size_t count)
{
	if (wf_cq_readable(cq) && count)
		return true;
	wf_progress_list_run(&cq->progress);
	return wf_cq_readable(cq);
}

static __attribute__((noinline)) void read_give_way(struct wf_cq *cq)
{
	wf_give_way(&cq->patience, wf_cq_ring_tail(&cq->ring),
		wf_progress_list_moved(&cq->progress));
}

static inline ssize_t read_nothing(struct wf_cq *cq)
{
	if (wf_patience_ends(&cq->patience))
		read_give_way(cq);
	return -FI_EAGAIN;
}

ssize_t wf_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct wf_cq *cq = wf_cq_of(fid);

	if (!read_poll_if_empty(cq, count))
		return read_nothing(cq);
	return count ? wf_cq_take(cq, buf, count, src) : 0;
}

ssize_t wf_cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct wf_cq *cq = wf_cq_of(fid);

	if (!read_poll_if_empty(cq, count))
		return read_nothing(cq);
	if (wf_unlikely(!count))
		return 0;
	return wf_likely(read_take_one(cq, buf, count))
		       ? 1
		       : wf_cq_take(cq, buf, count, NULL);
}
