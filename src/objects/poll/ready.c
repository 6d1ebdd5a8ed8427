/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/eq/eq.h"
#include "objects/poll/ready.h"

static struct wf_eq *eq_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_eq, fid.fid);
}

static struct wf_cq *cq_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_cq, fid.fid);
}

static struct wf_cntr *cntr_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid.fid);
}

static bool eq_readable(struct fid *fid)
{
	return wf_eq_readable(eq_of(fid));
}

static bool cq_readable(struct fid *fid)
{
	return wf_cq_readable(cq_of(fid));
}

/* A counter with @needs_polling set is never safe to sleep on: no descriptor reports
 * its changes. */
static bool cntr_changed(struct fid *fid)
{
	return wf_cntr_changed(cntr_of(fid)) ||
	       atomic_load_explicit(&cntr_of(fid)->needs_polling, memory_order_relaxed);
}

bool wf_ready_of(struct fid *fid, struct wf_ready *ret_ready)
{
	switch (fid->fclass) {
	case FI_CLASS_EQ:
		*ret_ready = (struct wf_ready){ .wait = &eq_of(fid)->wait,
			.progress = &eq_of(fid)->progress,
			.readable = eq_readable };
		return !eq_of(fid)->owner;
	case FI_CLASS_CQ:
		*ret_ready = (struct wf_ready){ .wait = &cq_of(fid)->wait,
			.progress = &cq_of(fid)->progress,
			.readable = cq_readable };
		return cq_of(fid)->owner == &cq_of(fid)->self;
	case FI_CLASS_CNTR:
		*ret_ready = (struct wf_ready){ .wait = &cntr_of(fid)->wait,
			.progress = &cntr_of(fid)->progress,
			.readable = cntr_changed };
		return cntr_of(fid)->owner == &cntr_of(fid)->self;
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
