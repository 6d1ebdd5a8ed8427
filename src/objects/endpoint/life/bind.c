/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/caps.h"
#include "objects/endpoint/life/bind.h"
#include "objects/endpoint/life/srx_attach.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/context.h"
#include "objects/endpoint/scalable/stx.h"

const uint64_t wf_ep_cntr_flags[WF_CNTR_COUNT] = {
	[WF_CNTR_SEND] = FI_SEND,
	[WF_CNTR_RECV] = FI_RECV,
	[WF_CNTR_READ] = FI_READ,
	[WF_CNTR_WRITE] = FI_WRITE,
	[WF_CNTR_REMOTE_READ] = FI_REMOTE_READ,
	[WF_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
};

static int bind_refuse(const struct wf_ep *ep, int err, const char *why, uint64_t flags)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL, "fi_ep_bind: %s (flags %#llx)\n",
		why, (unsigned long long)flags);
	return err;
}

static void bind_ref(atomic_int *refs)
{
	atomic_fetch_add_explicit(refs, 1, memory_order_relaxed);
}

static void bind_unref(atomic_int *refs)
{
	/* release: our use of the object comes before its close. */
	atomic_fetch_sub_explicit(refs, 1, memory_order_release);
}

static int bind_cq(struct wf_ep *ep, struct wf_cq *cq, uint64_t flags)
{
	const uint64_t directions = FI_TRANSMIT | FI_RECV;

	if (flags & ~(directions | FI_SELECTIVE_COMPLETION))
		return bind_refuse(ep, -FI_EBADFLAGS,
			"a CQ takes FI_TRANSMIT, FI_RECV, FI_SELECTIVE_COMPLETION",
			flags);
	if (!(flags & directions))
		return bind_refuse(
			ep, -FI_EINVAL, "a CQ needs FI_TRANSMIT or FI_RECV", flags);
	if (cq->domain != ep->domain)
		return bind_refuse(
			ep, -FI_EDOMAIN, "the CQ is of another domain", flags);
	if ((flags & FI_TRANSMIT && ep->tx_cq) || (flags & FI_RECV && ep->rx_cq))
		return bind_refuse(
			ep, -FI_EINVAL, "that direction has a CQ already", flags);

	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		bind_ref(&cq->refs);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		bind_ref(&cq->refs);
	}
	return 0;
}

static const uint64_t remote_events = FI_REMOTE_READ | FI_REMOTE_WRITE;

/* Drop the remote events of a counter that is bound for local and remote ones, if the
 * endpoint has no FI_RMA_EVENT: other libraries accept such a binding, and programs
 * rely on it. */
static uint64_t bind_countable(struct wf_ep *ep, uint64_t flags)
{
	if (ep->caps & FI_RMA_EVENT || !(flags & remote_events) ||
		!(flags & ~remote_events))
		return flags;
	wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL,
		"a counter counts no remote events without FI_RMA_EVENT\n");
	return flags & ~remote_events;
}

static int bind_check_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	uint64_t known = 0, taken = 0;

	for (int i = 0; i < WF_CNTR_COUNT; i++) {
		known |= wf_ep_cntr_flags[i];
		if (ep->cntr[i])
			taken |= wf_ep_cntr_flags[i];
	}
	if (flags & ~known)
		return bind_refuse(ep, -FI_EBADFLAGS,
			"a counter takes FI_SEND, FI_RECV, FI_READ, FI_WRITE, "
			"FI_REMOTE_READ, FI_REMOTE_WRITE",
			flags);
	if (!flags)
		return bind_refuse(ep, -FI_EINVAL, "a counter needs an event", flags);
	if (cntr->domain != ep->domain)
		return bind_refuse(
			ep, -FI_EDOMAIN, "the counter is of another domain", flags);
	if (flags & taken)
		return bind_refuse(
			ep, -FI_EINVAL, "that event has a counter already", flags);
	if (flags & remote_events && !(ep->caps & FI_RMA_EVENT))
		return bind_refuse(
			ep, -FI_EINVAL, "remote events need FI_RMA_EVENT", flags);
	return 0;
}

void wf_ep_set_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	for (int i = 0; i < WF_CNTR_COUNT; i++) {
		if (!(flags & wf_ep_cntr_flags[i]))
			continue;
		ep->cntr[i] = cntr;
		bind_ref(&cntr->refs);
	}
}

void wf_ep_unset_cntr(struct wf_ep *ep, uint64_t flags)
{
	for (int i = 0; i < WF_CNTR_COUNT; i++) {
		if (!(flags & wf_ep_cntr_flags[i]))
			continue;
		bind_unref(&ep->cntr[i]->refs);
		ep->cntr[i] = NULL;
	}
}

static int bind_cntr(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	int ret;

	flags = bind_countable(ep, flags);
	ret = bind_check_cntr(ep, cntr, flags);
	if (ret)
		return ret;
	if (ep->enabled) {
		ret = wf_ep_bind_cntr_late(ep, cntr, flags);
		return ret ? bind_refuse(ep, ret, "too late for that counter", flags)
			   : 0;
	}
	wf_ep_set_cntr(ep, cntr, flags);
	return 0;
}

static int bind_av(struct wf_ep *ep, struct wf_av *av, uint64_t flags)
{
	if (flags)
		return bind_refuse(ep, -FI_EBADFLAGS, "an AV takes no flags", flags);
	if (ep->type == FI_EP_MSG)
		return bind_refuse(
			ep, -FI_EINVAL, "a connected endpoint has no AV", flags);
	if (wf_av_domain(av) != ep->domain)
		return bind_refuse(
			ep, -FI_EDOMAIN, "the AV is of another domain", flags);
	if (ep->av)
		return bind_refuse(ep, -FI_EINVAL, "an AV is bound already", flags);
	ep->av = av;
	wf_av_ref(av);
	return 0;
}

static int bind_eq(struct wf_ep *ep, struct wf_eq *eq, uint64_t flags)
{
	if (flags)
		return bind_refuse(ep, -FI_EBADFLAGS, "an EQ takes no flags", flags);
	if (eq->fabric != ep->domain->fabric)
		return bind_refuse(
			ep, -FI_EINVAL, "the EQ is of another fabric", flags);
	if (atomic_load_explicit(&ep->eq, memory_order_relaxed))
		return bind_refuse(ep, -FI_EINVAL, "an EQ is bound already", flags);
	wf_eq_ref(eq);
	/* release: pairs with wf_ep_eq. */
	atomic_store_explicit(&ep->eq, eq, memory_order_release);
	return 0;
}

static int bind_context(struct wf_ep *ep, struct fid *fid, uint64_t flags,
	int (*bind)(struct wf_ep *, struct fid *, const char **))
{
	const char *why;
	int ret;

	if (flags)
		return bind_refuse(
			ep, -FI_EBADFLAGS, "a shared context takes no flags", flags);
	ret = bind(ep, fid, &why);
	return ret ? bind_refuse(ep, ret, why, flags) : 0;
}

/* May @fid be bound after fi_enable? Only objects that change nothing which fi_enable
 * settled. */
static bool bind_may_come_late(const struct fid *fid)
{
	return fid->fclass == FI_CLASS_EQ || fid->fclass == FI_CLASS_CNTR ||
	       fid->fclass == FI_CLASS_STX_CTX;
}

static int bind_object(struct wf_ep *ep, struct fid *bfid, uint64_t flags)
{
	const char *why = ep->sep ? wf_sep_refuses(ep, bfid, flags) : NULL;

	if (why)
		return bind_refuse(ep, -FI_EINVAL, why, flags);
	if (ep->enabled && !bind_may_come_late(bfid))
		return bind_refuse(
			ep, -FI_EOPBADSTATE, "the endpoint is enabled already", flags);
	switch (bfid->fclass) {
	case FI_CLASS_EQ:
		return bind_eq(ep, wf_container_of(bfid, struct wf_eq, fid.fid), flags);
	case FI_CLASS_CQ:
		return bind_cq(ep, wf_container_of(bfid, struct wf_cq, fid.fid), flags);
	case FI_CLASS_CNTR:
		return bind_cntr(
			ep, wf_container_of(bfid, struct wf_cntr, fid.fid), flags);
	case FI_CLASS_AV:
		return bind_av(
			ep, wf_av_of(wf_container_of(bfid, struct fid_av, fid)), flags);
	case FI_CLASS_SRX_CTX:
		return bind_context(ep, bfid, flags, wf_ep_srx_bind);
	case FI_CLASS_STX_CTX:
		return bind_context(ep, bfid, flags, wf_stx_bind);
	default:
		return bind_refuse(ep, -FI_EINVAL,
			"only a CQ, counter, AV, EQ or shared context can be bound "
			"here",
			flags);
	}
}

int wf_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	int ret;

	if (!bfid)
		return bind_refuse(ep, -FI_EINVAL, "no object to bind", flags);
	pthread_mutex_lock(&ep->control);
	ret = bind_object(ep, bfid, flags);
	pthread_mutex_unlock(&ep->control);
	return ret;
}

static int bind_missing(const struct wf_ep *ep, int err, const char *what)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_enable: %s must be bound first\n", what);
	return err;
}

static bool bind_ep_has_cntr(const struct wf_ep *ep)
{
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i])
			return true;
	return false;
}

/* Is there an object whose reading makes progress for @ep? A scalable endpoint is run
 * by the objects of all its contexts. */
static bool bind_ep_is_run(const struct wf_ep *ep)
{
	return ep->sep || ep->tx_cq || ep->rx_cq || bind_ep_has_cntr(ep) ||
	       wf_domain_has_thread(ep->domain);
}

int wf_ep_check_bindings(const struct wf_ep *ep)
{
	if (ep->caps & WF_EP_TX_DIRS && !ep->tx_cq)
		return bind_missing(ep, -FI_ENOCQ, "a CQ with FI_TRANSMIT");
	if (wf_ep_receives(ep) && !ep->rx_cq)
		return bind_missing(ep, -FI_ENOCQ, "a CQ with FI_RECV");
	/* RMA completes nothing at its target, whose progress peers need all the
	 * same. */
	if (!bind_ep_is_run(ep))
		return bind_missing(ep, -FI_ENOCQ, "a CQ with FI_RECV, or a counter,");
	if (ep->type != FI_EP_MSG && !ep->av)
		return bind_missing(ep, -FI_ENOAV, "an AV");
	if (ep->caps & WF_EP_TX_DIRS && !ep->stx &&
		ep->info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT)
		return bind_missing(ep, -FI_EINVAL,
			"a shared transmit context, as FI_SHARED_CONTEXT was asked "
			"for,");
	return 0;
}

void wf_ep_unbind_all(struct wf_ep *ep)
{
	struct wf_eq *eq = atomic_load_explicit(&ep->eq, memory_order_relaxed);

	if (ep->tx_cq)
		bind_unref(&ep->tx_cq->refs);
	if (ep->rx_cq)
		bind_unref(&ep->rx_cq->refs);
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i])
			bind_unref(&ep->cntr[i]->refs);
	if (ep->av)
		wf_av_unref(ep->av);
	wf_stx_unbind(ep);
	if (eq)
		wf_eq_unref(eq);
}
