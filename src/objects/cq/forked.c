/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/cq/internal.h"

/* A queue that a forked child inherited: its endpoints' memory and connections are
 * those of the parent, so every call is refused but fi_close. */

static ssize_t cq_forked_read(struct fid_cq *fid, void *buf, size_t count)
{
	(void)fid;
	(void)buf;
	(void)count;
	return -FI_EOPBADSTATE;
}

static ssize_t forked_readfrom(
	struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	(void)src;
	return cq_forked_read(fid, buf, count);
}

static ssize_t cq_forked_readerr(
	struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	(void)flags;
	return cq_forked_read(fid, buf, 1);
}

static ssize_t forked_sread(
	struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	(void)cond;
	(void)timeout;
	return cq_forked_read(fid, buf, count);
}

static ssize_t forked_sreadfrom(struct fid_cq *fid, void *buf, size_t count,
	fi_addr_t *src, const void *cond, int timeout)
{
	(void)src;
	return forked_sread(fid, buf, count, cond, timeout);
}

static int forked_signal(struct fid_cq *fid)
{
	(void)fid;
	return -FI_EOPBADSTATE;
}

static struct fi_ops_cq forked_ops = {
	.size = sizeof(forked_ops),
	.read = cq_forked_read,
	.readfrom = forked_readfrom,
	.readerr = cq_forked_readerr,
	.sread = forked_sread,
	.sreadfrom = forked_sreadfrom,
	.signal = forked_signal,
	.strerror = wf_cq_strerror,
	.export_xpu = wf_absent_cq_export_xpu,
};

/* Locks that threads of the parent held are free. An imported queue, which has no
 * readers, keeps its table: its owner knows it by that. */
void wf_cq_in_child(struct wf_fork_hook *hook)
{
	struct wf_cq *cq = wf_container_of(hook, struct wf_cq, fork_hook);

	if (cq->owner == &cq->self)
		cq->fid.ops = &forked_ops;
	wf_lock_init(&cq->lock, cq->lock.kind);
	wf_lock_init(&cq->progress.lock, cq->progress.lock.kind);
}
