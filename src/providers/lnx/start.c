/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/call.h"
#include "providers/lnx/failover.h"
#include "providers/lnx/progress.h"
#include "providers/lnx/record.h"
#include "providers/lnx/stats.h"
#include "providers/lnx/stripe/stripe.h"
#include "sys/compiler.h"

/* Start any kind of operation at the rail that reaches its destination. */

static inline ssize_t start_send_over(struct lnx_ep *ep, uint32_t index,
	const struct lnx_peer *peer, struct wf_op *op)
{
	struct lnx_rail *rail = &ep->rail[index];

	lnx_rail_wake(ep, rail);
	return wf_lower_start(&rail->below, op, peer->addr[index]);
}

/* Start @op with a record as its context. The member reports the end of every operation
 * with a record, also of injected ones, so that each is counted once, with its result.
 * @head_of: lnx_op.head_of. */
static __attribute__((noinline)) ssize_t start_send_recorded(struct lnx_ep *ep,
	uint32_t rail, const struct lnx_peer *peer, const struct wf_op *op,
	struct lnx_outbound *head_of)
{
	struct lnx_op *rec = lnx_op_new(ep, op, rail);
	struct wf_op copy = *op;
	ssize_t ret;

	if (!rec)
		return -FI_ENOMEM;
	rec->head_of = head_of;
	copy.context = rec;
	copy.flags = (op->flags & ~(WF_OP_WORK | FI_PEER_TRANSFER)) | FI_COMPLETION;
	ret = start_send_over(ep, rail, peer, &copy);
	if (ret)
		lnx_op_free(ep, rec);
	else
		lnx_rail_count(ep, rail, op->atomic ? op->atomic->size : op->len);
	return ret;
}

static ssize_t start_over(struct lnx_ep *ep, uint32_t rail, const struct lnx_peer *peer,
	struct wf_op *op, struct lnx_outbound *head_of)
{
	if (wf_likely(!ep->rail[rail].recorded))
		return start_send_over(ep, rail, peer, op);
	return start_send_recorded(ep, rail, peer, op, head_of);
}

/* If a rail refuses an operation because the peer cannot be reached over it, the
 * operation goes over the next rail. */
static inline ssize_t start_to(struct lnx_ep *ep, struct lnx_peer *peer,
	struct wf_op *op, struct lnx_outbound *head_of)
{
	uint32_t rail;
	ssize_t ret;

	do {
		rail = lnx_rail_next(ep, peer);
		if (wf_unlikely(rail == LNX_NO_RAIL))
			return wf_no_address(&lnx_fi, op->addr);
		ret = start_over(ep, rail, peer, op, head_of);
	} while (wf_unlikely(ret && ret != -FI_EAGAIN) &&
		 lnx_rail_failed(ep, op->addr, rail, (int)-ret));
	return ret;
}

ssize_t lnx_start_head(struct lnx_ep *ep, struct wf_op *op, struct lnx_outbound *out)
{
	return start_to(ep, lnx_av_peer(ep->av, op->addr), op, out);
}

ssize_t lnx_start(struct wf_ep *wf, struct wf_op *op)
{
	struct lnx_ep *ep = lnx_ep_of(wf);
	struct lnx_peer *peer = lnx_av_peer(ep->av, op->addr);
	ssize_t ret;

	if (wf_unlikely(!peer))
		return wf_no_address(&lnx_fi, op->addr);
	if (wf_unlikely(ep->stripe != NULL)) {
		ret = lnx_stripe_start(ep, peer, op);
		if (ret != LNX_UNSTRIPED)
			return ret;
	}
	return start_to(ep, peer, op, NULL);
}
