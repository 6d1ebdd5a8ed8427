/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/eq/eq.h"
#include "objects/poll/ready.h"

static struct wf_eq *ready_eq_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_eq, fid.fid);
}

static struct wf_cq *ready_cq_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_cq, fid.fid);
}

static struct wf_cntr *ready_cntr_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid.fid);
}

static bool ready_eq_readable(struct fid *fid)
{
	return wf_eq_readable(ready_eq_of(fid));
}

static bool ready_cq_readable(struct fid *fid)
{
	return wf_cq_readable(ready_cq_of(fid));
}

/* A counter with @needs_polling set is never safe to sleep on: no descriptor reports
 * its changes. */
static bool ready_cntr_changed(struct fid *fid)
{
	return wf_cntr_changed(ready_cntr_of(fid)) ||
	       atomic_load_explicit(
		       &ready_cntr_of(fid)->needs_polling, memory_order_relaxed);
}

bool wf_ready_of(struct fid *fid, struct wf_ready *ret_ready)
{
	switch (fid->fclass) {
	case FI_CLASS_EQ:
		*ret_ready = (struct wf_ready){ .wait = &ready_eq_of(fid)->wait,
			.progress = &ready_eq_of(fid)->progress,
			.readable = ready_eq_readable };
		return !ready_eq_of(fid)->owner;
	case FI_CLASS_CQ:
		*ret_ready = (struct wf_ready){ .wait = &ready_cq_of(fid)->wait,
			.progress = &ready_cq_of(fid)->progress,
			.readable = ready_cq_readable };
		return ready_cq_of(fid)->owner == &ready_cq_of(fid)->self;
	case FI_CLASS_CNTR:
		*ret_ready = (struct wf_ready){ .wait = &ready_cntr_of(fid)->wait,
			.progress = &ready_cntr_of(fid)->progress,
			.readable = ready_cntr_changed };
		return ready_cntr_of(fid)->owner == &ready_cntr_of(fid)->self;
	default:
		return false;
	}
}

bool wf_ready_try(struct fid *fid, const struct wf_ready *ready)
{
	/* With FI_WAIT_MUTEX_COND the application may hold the mutex now, which a
	 * signal takes; the progress thread makes progress. */
	bool by_thread = wf_wait_needs_thread(ready->wait);

	if (!by_thread)
		wf_progress_list_run(ready->progress);
	(void)wf_wait_arm(ready->wait);
	if (!by_thread && !wf_progress_list_arm(ready->progress))
		return false;
	return !ready->readable(fid);
}
