/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/life/opt.h"
#include "objects/endpoint/log.h"

/* Addresses and multicast groups of connectionless endpoints (fi_cm(3)). */

static int cm_state_error(const struct wf_ep *ep, const char *call, const char *rule)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL, "%s: the endpoint %s\n", call, rule);
	return -FI_EOPBADSTATE;
}

static int cm_setname(fid_t fid, void *addr, size_t len)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	int ret;

	if (!ep->xfer->setname)
		return -FI_ENOSYS;
	pthread_mutex_lock(&ep->control);
	ret = ep->enabled ? cm_state_error(ep, "fi_setname", "is enabled already")
			  : ep->xfer->setname(ep, addr, len);
	pthread_mutex_unlock(&ep->control);
	return ret;
}

static int cm_getname(fid_t fid, void *addr, size_t *len)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	int ret;

	if (!ep->xfer->getname)
		return -FI_ENOSYS;
	if (!len)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->control);
	ret = ep->xfer->getname(ep, addr, len);
	pthread_mutex_unlock(&ep->control);
	return ret;
}

/* fi_join_collective(3), done by engines, or by a transport with collectives of its
 * own. Both call fi_getname of the endpoint, which takes ep->control, so it is not
 * held. */
static int cm_join_collective(struct wf_ep *ep, const void *addr, uint64_t flags,
	struct fid_mc **mc, void *context)
{
	bool enabled;

	if (!ep->coll_ops && !(ep->xfer->collective && ep->xfer->join))
		return -FI_ENOSYS;
	pthread_mutex_lock(&ep->control);
	enabled = ep->enabled;
	pthread_mutex_unlock(&ep->control);
	if (!enabled)
		return cm_state_error(ep, "fi_join_collective", "is not enabled");
	if (!ep->coll_ops)
		return ep->xfer->join(ep, addr, flags, mc, context);
	return ep->coll_ops->join(ep, addr, flags & ~FI_COLLECTIVE, mc, context);
}

static int cm_join(struct fid_ep *fid, const void *addr, uint64_t flags,
	struct fid_mc **mc, void *context)
{
	struct wf_ep *ep = wf_ep_resolve(&fid->fid);
	int ret;

	if (flags & FI_COLLECTIVE)
		return cm_join_collective(ep, addr, flags, mc, context);
	if (!ep->xfer->join)
		return -FI_ENOSYS;
	pthread_mutex_lock(&ep->control);
	ret = ep->enabled ? ep->xfer->join(ep, addr, flags, mc, context)
			  : cm_state_error(ep, "fi_join", "is not enabled");
	pthread_mutex_unlock(&ep->control);
	return ret;
}

struct fi_ops_cm wf_ep_cm_ops = WF_CM_OPS(cm_setname, cm_getname, cm_join);
