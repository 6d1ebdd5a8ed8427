/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/endpoint.h"
#include "objects/endpoint/life/life.h"

/*
 * An endpoint that a forked child inherited. Its connections, and memory that it shares
 * with peers, are those of the parent and mostly not even there, so the child may only
 * close it: data transfers are refused with -FI_EOPBADSTATE, and no progress is made.
 * The tables are replaced in the child, so the calls need no check.
 */

static void forked_run(struct wf_progress *item)
{
	(void)item;
}

static bool forked_arm(struct wf_progress *item)
{
	(void)item;
	return true;
}

static int forked_addr(struct fid *fid, void *addr, size_t len)
{
	(void)fid;
	(void)addr;
	(void)len;
	return -FI_EOPBADSTATE;
}

static int forked_getaddr(struct fid *fid, void *addr, size_t *len)
{
	(void)len;
	return forked_addr(fid, addr, 0);
}

static int forked_getpeer(struct fid_ep *ep, void *addr, size_t *len)
{
	(void)len;
	return forked_addr(&ep->fid, addr, 0);
}

static int forked_connect(
	struct fid_ep *ep, const void *addr, const void *param, size_t len)
{
	(void)addr;
	(void)param;
	return forked_addr(&ep->fid, NULL, len);
}

static int forked_accept(struct fid_ep *ep, const void *param, size_t len)
{
	return forked_connect(ep, NULL, param, len);
}

static int forked_shutdown(struct fid_ep *ep, uint64_t flags)
{
	(void)flags;
	return forked_accept(ep, NULL, 0);
}

static int forked_join(struct fid_ep *ep, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context)
{
	(void)addr;
	(void)ret_mc;
	(void)context;
	return forked_shutdown(ep, flags);
}

static struct fi_ops_cm forked_cm_ops = {
	.size = sizeof(forked_cm_ops),
	.setname = forked_addr,
	.getname = forked_getaddr,
	.getpeer = forked_getpeer,
	.connect = forked_connect,
	.listen = wf_absent_cm_listen,
	.accept = forked_accept,
	.reject = wf_absent_cm_reject,
	.shutdown = forked_shutdown,
	.join = forked_join,
};

/* Locks that threads of the parent held are free. Calls that the endpoint does not have
 * stay -FI_ENOSYS. */
static void forked_ep_in_child(struct wf_fork_hook *hook)
{
	struct wf_ep *ep = wf_container_of(hook, struct wf_ep, fork_hook);

	ep->inherited = true;
	ep->fid.cm = &forked_cm_ops;
	if (ep->fid.msg != &wf_absent_msg)
		ep->fid.msg = &wf_disabled_msg;
	if (ep->fid.tagged != &wf_absent_tagged)
		ep->fid.tagged = &wf_disabled_tagged;
	if (ep->fid.rma != &wf_absent_rma)
		ep->fid.rma = &wf_disabled_rma;
	if (ep->fid.atomic != &wf_absent_atomic)
		ep->fid.atomic = &wf_disabled_atomic;
	if (ep->fid.collective != &wf_absent_collective)
		ep->fid.collective = &wf_disabled_collective;
	ep->progress.run = forked_run;
	ep->progress.arm = forked_arm;
	ep->progress.moved = NULL;
	wf_lock_init(&ep->lock, ep->lock.kind);
}

int wf_ep_watch_forks(struct wf_ep *ep)
{
	return wf_fork_hook_add(&ep->fork_hook, forked_ep_in_child);
}
