/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/build.h"
#include "providers/lnx/lnx.h"
#include "sys/compiler.h"

/*
 * One operation, whichever it is, becomes the member's: a builtin member starts it as
 * it is, another gets its call with flags. Both complete only what has FI_COMPLETION,
 * which is settled already.
 */

enum { PIECES = WF_OP_ATOMIC_IOV };

static ssize_t send_msg(
	struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr, uint64_t flags)
{
	struct fi_msg msg = { op->iov, NULL, op->iov_count, addr, op->context,
		op->data };

	return fi_sendmsg(ep, &msg, flags);
}

static ssize_t send_tagged(
	struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr, uint64_t flags)
{
	struct fi_msg_tagged msg = { op->iov, NULL, op->iov_count, addr, op->tag, 0,
		op->context, op->data };

	return fi_tsendmsg(ep, &msg, flags);
}

static ssize_t send_rma(
	struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr, uint64_t flags)
{
	struct fi_msg_rma msg = { op->iov, NULL, op->iov_count, addr, op->rma,
		op->rma_count, op->context, op->data };

	return op->kind == WF_OP_READ ? fi_readmsg(ep, &msg, flags)
				      : fi_writemsg(ep, &msg, flags);
}

/* Bytes become elements again. */
static void count_elements(const struct wf_op_atomic *atomic, const struct iovec *iov,
	size_t count, struct fi_ioc *ret)
{
	size_t size = atomic->size / atomic->count;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct fi_ioc){ iov[i].iov_base, iov[i].iov_len / size };
}

static ssize_t send_atomic(
	struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr, uint64_t flags)
{
	const struct wf_op_atomic *atomic = op->atomic;
	struct fi_ioc iov[PIECES], result[PIECES], compare[PIECES];
	struct fi_rma_ioc rma[PIECES];
	struct fi_msg_atomic msg = { iov, NULL, op->iov_count, addr, rma, op->rma_count,
		atomic->datatype, atomic->op, op->context, op->data };

	count_elements(atomic, op->iov, op->iov_count, iov);
	for (size_t i = 0; i < op->rma_count; i++)
		rma[i] = (struct fi_rma_ioc){ op->rma[i].addr,
			op->rma[i].len * atomic->count / atomic->size, op->rma[i].key };
	if (op->kind == WF_OP_ATOMIC)
		return fi_atomicmsg(ep, &msg, flags);
	count_elements(atomic, atomic->result, atomic->result_count, result);
	if (op->kind == WF_OP_FETCH)
		return fi_fetch_atomicmsg(
			ep, &msg, result, NULL, atomic->result_count, flags);
	count_elements(atomic, atomic->compare, atomic->compare_count, compare);
	return fi_compare_atomicmsg(ep, &msg, compare, NULL, atomic->compare_count,
		result, NULL, atomic->result_count, flags);
}

static ssize_t (*const senders[WF_OP_COUNT])(
	struct fid_ep *ep, const struct wf_op *op, fi_addr_t addr, uint64_t flags) = {
	[WF_OP_SEND] = send_msg,
	[WF_OP_TSEND] = send_tagged,
	[WF_OP_READ] = send_rma,
	[WF_OP_WRITE] = send_rma,
	[WF_OP_ATOMIC] = send_atomic,
	[WF_OP_FETCH] = send_atomic,
	[WF_OP_COMPARE] = send_atomic,
};

/* A member's own call refuses what it is too large for. */
static bool fits(const struct wf_ep *member, const struct wf_op *op)
{
	return !op->atomic || op->atomic->size <= wf_op_max_atomic(member);
}

/* To a builtin member it is the same operation, but for the address. */
static inline ssize_t send_over(struct lnx_ep *ep, uint32_t index,
	const struct lnx_peer *peer, struct wf_op *op)
{
	struct lnx_rail *rail = &ep->rail[index];
	struct wf_ep *member = rail->builtin;
	fi_addr_t ours = op->addr;
	ssize_t ret;

	lnx_rail_wake(ep, rail);
	if (wf_unlikely(!member || !fits(member, op)))
		return senders[op->kind](rail->ep, op, peer->addr[index], op->flags);
	op->addr = peer->addr[index];
	ret = member->xfer->start(member, op);
	op->addr = ours;
	return ret;
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
