/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/alias/alias.h"
#include "objects/endpoint/calls/flags.h"
#include "objects/endpoint/life/bind.h"
#include "objects/endpoint/life/life.h"

static ssize_t alias_recvmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return fi_recvmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t src_addr, void *context)
{
	struct fi_msg msg = { iov, desc, count, src_addr, context, 0 };

	return alias_recvmsg(fid, &msg, wf_alias_rx(fid));
}

static ssize_t alias_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
	fi_addr_t src_addr, void *context)
{
	struct iovec iov = { buf, len };

	return alias_recvv(fid, &iov, &desc, 1, src_addr, context);
}

static ssize_t alias_sendmsg(
	struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return fi_sendmsg(wf_alias_target(fid), msg, flags);
}

static ssize_t alias_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc,
	size_t count, fi_addr_t dest_addr, void *context)
{
	struct fi_msg msg = { iov, desc, count, dest_addr, context, 0 };

	return alias_sendmsg(fid, &msg, wf_alias_tx(fid));
}

static ssize_t alias_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest_addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_sendv(fid, &iov, &desc, 1, dest_addr, context);
}

static ssize_t alias_senddata(struct fid_ep *fid, const void *buf, size_t len,
	void *desc, uint64_t data, fi_addr_t dest_addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = { &iov, &desc, 1, dest_addr, context, data };

	return alias_sendmsg(fid, &msg, wf_alias_tx(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t alias_inject(
	struct fid_ep *fid, const void *buf, size_t len, fi_addr_t dest_addr)
{
	return fi_inject(wf_alias_target(fid), buf, len, dest_addr);
}

static ssize_t alias_injectdata(struct fid_ep *fid, const void *buf, size_t len,
	uint64_t data, fi_addr_t dest_addr)
{
	return fi_injectdata(wf_alias_target(fid), buf, len, data, dest_addr);
}

static struct fi_ops_msg alias_msg_ops = {
	.size = sizeof(alias_msg_ops),
	.recv = alias_recv,
	.recvv = alias_recvv,
	.recvmsg = alias_recvmsg,
	.send = alias_send,
	.sendv = alias_sendv,
	.sendmsg = alias_sendmsg,
	.inject = alias_inject,
	.senddata = alias_senddata,
	.injectdata = alias_injectdata,
};

static int alias_close(struct fid *fid)
{
	struct wf_ep_alias *alias =
		wf_alias_of(wf_container_of(fid, struct fid_ep, fid));
	int ret = wf_ep_put(alias->ep);

	if (!ret)
		free(alias);
	return ret;
}

/* The flags of the direction that @flags names; NULL unless it names exactly one. */
static _Atomic uint64_t *alias_flags_of(struct wf_ep_alias *alias, uint64_t flags)
{
	uint64_t dir = wf_ep_op_direction(alias->ep, flags);

	if (!dir)
		return NULL;
	return dir == FI_TRANSMIT ? &alias->tx_flags : &alias->rx_flags;
}

static int alias_set_flags(struct wf_ep_alias *alias, uint64_t flags)
{
	_Atomic uint64_t *slot = alias_flags_of(alias, flags);

	if (!slot)
		return -FI_EINVAL;
	atomic_store_explicit(
		slot, flags & ~(FI_TRANSMIT | FI_RECV), memory_order_relaxed);
	return 0;
}

static int alias_get_flags(struct wf_ep_alias *alias, uint64_t *flags)
{
	_Atomic uint64_t *slot = flags ? alias_flags_of(alias, *flags) : NULL;

	if (!slot)
		return -FI_EINVAL;
	*flags = atomic_load_explicit(slot, memory_order_relaxed);
	return 0;
}

static int alias_control(struct fid *fid, int command, void *arg)
{
	struct wf_ep_alias *alias =
		wf_alias_of(wf_container_of(fid, struct fid_ep, fid));

	switch (command) {
	case FI_GETOPSFLAG:
		return alias_get_flags(alias, arg);
	case FI_SETOPSFLAG:
		return alias_set_flags(alias, arg ? *(uint64_t *)arg : 0);
	default:
		return fi_control(&alias->ep->fid.fid, command, arg);
	}
}

static struct fi_ops alias_fid_ops = WF_FID_OPS(alias_close, wf_ep_bind, alias_control);

bool wf_ep_is_alias(const struct fid *fid)
{
	return fid->ops == &alias_fid_ops;
}

struct wf_ep *wf_ep_alias_target(struct fid *fid)
{
	return wf_alias_of(wf_container_of(fid, struct fid_ep, fid))->ep;
}

int wf_ep_alias_open(struct wf_ep *ep, const struct fi_alias *arg)
{
	struct wf_ep_alias *alias;

	if (!arg || !arg->fid)
		return -FI_EINVAL;
	alias = calloc(1, sizeof(*alias));
	if (!alias)
		return -FI_ENOMEM;
	alias->fid = ep->fid;
	alias->fid.fid.ops = &alias_fid_ops;
	/* These calls read the endpoint's table when they are made, so it may still
	 * change. */
	alias->fid.msg = &alias_msg_ops;
	if (ep->caps & FI_TAGGED)
		alias->fid.tagged = &wf_alias_tagged_ops;
	if (ep->caps & FI_RMA)
		alias->fid.rma = &wf_alias_rma_ops;
	if (ep->caps & FI_ATOMIC)
		alias->fid.atomic = &wf_alias_atomic_ops;
	alias->ep = ep;

	pthread_mutex_lock(&ep->control);
	atomic_init(&alias->tx_flags, ep->tx_op_flags);
	atomic_init(&alias->rx_flags, ep->rx_op_flags);
	if (alias_set_flags(alias, arg->flags)) {
		pthread_mutex_unlock(&ep->control);
		free(alias);
		return -FI_EINVAL;
	}
	ep->handles++;
	pthread_mutex_unlock(&ep->control);
	*arg->fid = &alias->fid.fid;
	return 0;
}
