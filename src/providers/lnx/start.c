/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/call.h"
#include "providers/lnx/lnx.h"
#include "sys/compiler.h"

/* Any operation, whatever its kind, goes over the rail that reaches its destination. */

static inline ssize_t send_over(struct lnx_ep *ep, uint32_t index,
	const struct lnx_peer *peer, struct wf_op *op)
{
	struct lnx_rail *rail = &ep->rail[index];

	lnx_rail_wake(ep, rail);
	return wf_lower_start(&rail->below, op, peer->addr[index]);
}

/* The record is the operation's context, and hears of its end. */
static __attribute__((noinline)) ssize_t send_recorded(struct lnx_ep *ep, uint32_t rail,
	const struct lnx_peer *peer, const struct wf_op *op)
{
	struct lnx_op *rec = lnx_op_new(ep, op, rail);
	struct wf_op copy = *op;
	ssize_t ret;

	if (!rec)
		return -FI_ENOMEM;
	copy.context = rec;
	copy.flags = (op->flags & ~WF_OP_WORK) | FI_COMPLETION;
	ret = send_over(ep, rail, peer, &copy);
	if (ret)
		lnx_op_free(ep, rec);
	else
		lnx_rail_count(ep, rail, op->atomic ? op->atomic->size : op->len);
	return ret;
}

/* A member of another library lets go what was injected before it is closed, but not
 * what it has to report. So what is over for the application when the call returns has
 * no record, and is counted here. If it fails later its error is counted, too. */
static ssize_t send_injected(
	struct lnx_ep *ep, uint32_t rail, const struct lnx_peer *peer, struct wf_op *op)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];
	ssize_t ret = send_over(ep, rail, peer, op);

	if (!ret)
		wf_ep_tx_done(&ep->wf, report->cntr, op->context, op->flags,
			report->comp_flags, op->atomic ? op->atomic->size : op->len);
	return ret;
}

static bool needs_record(const struct lnx_ep *ep, const struct wf_op *op)
{
	return ep->tracked || op->flags & WF_OP_WORK || wf_op_is_reported(op->flags);
}

static ssize_t start_over(
	struct lnx_ep *ep, uint32_t rail, const struct lnx_peer *peer, struct wf_op *op)
{
	if (wf_likely(!ep->rail[rail].recorded))
		return send_over(ep, rail, peer, op);
	return needs_record(ep, op) ? send_recorded(ep, rail, peer, op)
				    : send_injected(ep, rail, peer, op);
}

static int no_peer(fi_addr_t addr)
{
	lnx_log(FI_LOG_WARN, FI_LOG_EP_DATA, "nothing is inserted at address %llu\n",
		(unsigned long long)addr);
	return -FI_EINVAL;
}

/* What a rail refuses because it is gone was not taken: it goes over the next. */
ssize_t lnx_start(struct wf_ep *wf, struct wf_op *op)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	struct lnx_peer *peer = lnx_av_peer(ep->av, op->addr);
	uint32_t rail;
	ssize_t ret;

	if (wf_unlikely(!peer))
		return no_peer(op->addr);
	do {
		rail = lnx_rail_next(ep, peer);
		if (wf_unlikely(rail == LNX_NO_RAIL))
			return no_peer(op->addr);
		ret = start_over(ep, rail, peer, op);
	} while (wf_unlikely(ret && ret != -FI_EAGAIN) &&
		 lnx_rail_failed(ep, op->addr, rail, (int)-ret));
	return ret;
}
