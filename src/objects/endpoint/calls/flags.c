/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/flags.h"
#include "objects/endpoint/log.h"

/*
 * Operation flags and the completion rules, settled once:
 *
 *   call              selective CQ                every other CQ
 *   send, recv, ...   default op flags            default op flags | FI_COMPLETION
 *   sendmsg, ...      flags of the call           flags of the call | FI_COMPLETION
 *   inject, ...       default op flags without FI_COMPLETION
 *
 * so that the success of an operation writes an entry exactly when FI_COMPLETION is
 * set.
 */

/* Flags that are valid in a single call, but not as default flags. */
static const uint64_t never_default = FI_TRIGGER | WF_OP_WORK | FI_PEER_TRANSFER;

static void flags_settle(struct wf_ep_flags *flags, uint64_t op_flags, bool selective)
{
	op_flags &= ~never_default;
	flags->forced = selective ? 0 : FI_COMPLETION;
	atomic_store_explicit(
		&flags->plain, op_flags | flags->forced, memory_order_relaxed);
}

/* Flags for a guarantee that this endpoint cannot give. Other flags without effect are
 * ignored, for compatibility. */
static uint64_t flags_tx_refused(const struct wf_ep *ep)
{
	uint64_t refused = (FI_FENCE | FI_TRIGGER | FI_MULTICAST) & ~ep->caps;

	refused |= WF_OP_WORK;
	if (!(ep->caps & FI_RMA_PMEM))
		refused |= FI_COMMIT_COMPLETE;
	if (!ep->info->domain_attr->cq_data_size)
		refused |= FI_REMOTE_CQ_DATA;
	if (ep->type == FI_EP_DGRAM)
		refused |=
			FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_COMMIT_COMPLETE;
	return refused;
}

/* Do results of peer transfers reach a peer: one of this endpoint, or through the owner
 * of its imported CQ one of the owner? */
static bool flags_routes_transfers(const struct wf_ep *ep, const struct wf_cq *cq)
{
	return ep->transfer || (cq && cq->owner != &cq->self);
}

void wf_ep_settle_tx_flags(struct wf_ep *ep)
{
	flags_settle(&ep->tx, ep->tx_op_flags, ep->tx_selective);
}

void wf_ep_settle_flags(struct wf_ep *ep)
{
	wf_ep_settle_tx_flags(ep);
	flags_settle(&ep->rx, ep->rx_op_flags, ep->rx_selective);
	ep->tx.refused = flags_tx_refused(ep);
	ep->rx.refused = ((FI_MULTI_RECV | FI_TRIGGER) & ~ep->caps) | WF_OP_WORK;
	if (!flags_routes_transfers(ep, ep->tx_cq))
		ep->tx.refused |= FI_PEER_TRANSFER;
	if (!flags_routes_transfers(ep, ep->rx_cq))
		ep->rx.refused |= FI_PEER_TRANSFER;
	ep->trecv_flags = ep->caps & FI_TAGGED_MULTI_RECV ? ~0ULL : ~FI_MULTI_RECV;
}

uint64_t wf_ep_op_direction(const struct wf_ep *ep, uint64_t flags)
{
	uint64_t dir = flags & (FI_TRANSMIT | FI_RECV);

	if (dir == FI_TRANSMIT || dir == FI_RECV)
		return dir;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"op flags: exactly one of FI_TRANSMIT and FI_RECV is needed (%#llx)\n",
		(unsigned long long)flags);
	return 0;
}

int wf_ep_get_op_flags(struct wf_ep *ep, uint64_t *flags)
{
	uint64_t dir = flags ? wf_ep_op_direction(ep, *flags) : 0;

	if (!dir)
		return -FI_EINVAL;
	pthread_mutex_lock(&ep->control);
	*flags = dir == FI_TRANSMIT ? ep->tx_op_flags : ep->rx_op_flags;
	pthread_mutex_unlock(&ep->control);
	return 0;
}

int wf_ep_set_op_flags(struct wf_ep *ep, uint64_t flags)
{
	uint64_t dir = wf_ep_op_direction(ep, flags);

	if (!dir)
		return -FI_EINVAL;
	flags &= ~dir;
	pthread_mutex_lock(&ep->control);
	if (dir == FI_TRANSMIT) {
		ep->tx_op_flags = flags;
		wf_ep_settle_tx_flags(ep);
	} else {
		ep->rx_op_flags = flags;
		flags_settle(&ep->rx, flags, ep->rx_selective);
	}
	pthread_mutex_unlock(&ep->control);
	return 0;
}

int wf_ep_context_control(struct wf_ep *ep, int command, void *arg)
{
	switch (command) {
	case FI_ENABLE:
		/* A shared context is enabled when it is opened. */
		return 0;
	case FI_GETOPSFLAG:
		return wf_ep_get_op_flags(ep, arg);
	case FI_SETOPSFLAG:
		return wf_ep_set_op_flags(ep, arg ? *(uint64_t *)arg : 0);
	default:
		wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"shared contexts know no control command %d\n", command);
		return -FI_ENOSYS;
	}
}
