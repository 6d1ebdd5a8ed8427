/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cq/internal.h"

/* How many entries may be read now; -FI_EAVAIL when an error comes first. The
 * caller holds the lock. */
static ssize_t entries_ready(const struct wf_cq *cq)
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

/*
 * Network and memory are looked at only when there is nothing to hand out: an
 * application that polls for its send completion and then for the answer pays for
 * one look per message, not two. Asking for no entries asks for progress alone.
 */
ssize_t wf_cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct wf_cq *cq = wf_cq_of(fid);
	ssize_t ready;

	if (!wf_cq_readable(cq) || !count) {
		wf_progress_list_run(&cq->progress);
		if (!wf_cq_readable(cq))
			return -FI_EAGAIN;
		if (!count)
			return 0;
	}
	wf_lock(&cq->lock);
	ready = entries_ready(cq);
	if (wf_likely(ready > 0)) {
		ready = WF_MIN((size_t)ready, count);
		wf_cq_ring_take(&cq->ring, buf, src, (size_t)ready);
		if (wf_unlikely(wf_cq_ring_grown(&cq->ring)))
			wf_cq_ring_shrink(&cq->ring);
	}
	wf_unlock(&cq->lock);
	return ready;
}

ssize_t wf_cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return wf_cq_readfrom(fid, buf, count, NULL);
}
