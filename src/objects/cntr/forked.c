/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/cntr/internal.h"

/* A counter that a forked child inherited: it keeps the values that the application
 * read last, and every call is refused but these reads and fi_close. */

static struct wf_cntr *forked_cntr_of(struct fid_cntr *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid);
}

static uint64_t cntr_forked_read(struct fid_cntr *fid)
{
	return atomic_load_explicit(&forked_cntr_of(fid)->seen, memory_order_relaxed);
}

static uint64_t cntr_forked_readerr(struct fid_cntr *fid)
{
	return atomic_load_explicit(
		&forked_cntr_of(fid)->seen_err, memory_order_relaxed);
}

static int forked_change(struct fid_cntr *fid, uint64_t value)
{
	(void)fid;
	(void)value;
	return -FI_EOPBADSTATE;
}

static int forked_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
	(void)timeout;
	return forked_change(fid, threshold);
}

static struct fi_ops_cntr forked_ops = {
	.size = sizeof(forked_ops),
	.read = cntr_forked_read,
	.readerr = cntr_forked_readerr,
	.add = forked_change,
	.set = forked_change,
	.wait = forked_wait,
	.adderr = forked_change,
	.seterr = forked_change,
	.export_xpu = wf_absent_cntr_export_xpu,
};

/* Locks that threads of the parent held are free. An imported counter keeps its table:
 * its owner knows it by that. */
void wf_cntr_in_child(struct wf_fork_hook *hook)
{
	struct wf_cntr *cntr = wf_container_of(hook, struct wf_cntr, fork_hook);

	if (cntr->owner == &cntr->self)
		cntr->fid.ops = &forked_ops;
	wf_lock_init(&cntr->progress.lock, cntr->progress.lock.kind);
}
