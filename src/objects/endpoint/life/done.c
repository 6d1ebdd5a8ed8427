/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/calls/trigger.h"
#include "objects/endpoint/log.h"
#include "objects/srx/entry.h"
#include "objects/srx/heads.h"

/* Reporting the end of operations in counters and completion queues, for every
 * transport. */

/* The CQ refused an entry, for want of memory or because its owner did: the application
 * gets no completion, so log that. */
void wf_ep_lost(const struct wf_ep *ep, ssize_t ret)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_CQ, "a completion is lost: %s\n",
		fi_strerror((int)-ret));
}

/* Write a success. A peer transfer reports to the peer of this endpoint; without one,
 * the entry goes to the CQ, whose owner reports it to its peer. */
static inline ssize_t done_put(struct wf_ep *ep, struct wf_cq *cq, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	if (wf_unlikely(op_flags & FI_PEER_TRANSFER && ep->transfer))
		return wf_transfer_put(ep->transfer, entry, src);
	return wf_cq_write(cq, entry->op_context,
		entry->flags | (op_flags & FI_PEER_TRANSFER), entry->len, entry->buf,
		entry->data, entry->tag, src);
}

static ssize_t done_put_err(struct wf_ep *ep, struct wf_cq *cq, uint64_t op_flags,
	struct fi_cq_err_entry *entry)
{
	if (wf_unlikely(op_flags & FI_PEER_TRANSFER && ep->transfer))
		return wf_transfer_put_err(ep->transfer, entry);
	entry->flags |= op_flags & FI_PEER_TRANSFER;
	return wf_cq_write_err(cq, entry);
}

/* Counters belong to the application, so they do not count transfers of a peer. */
static bool done_is_counted(const struct wf_ep *ep, uint64_t op_flags)
{
	return !wf_unlikely(op_flags & FI_PEER_TRANSFER && ep->transfer);
}

const struct wf_op_report wf_op_reports[WF_OP_COUNT] = {
	[WF_OP_SEND] = { WF_CNTR_SEND, FI_SEND | FI_MSG },
	[WF_OP_RECV] = { WF_CNTR_RECV, FI_RECV | FI_MSG },
	[WF_OP_TSEND] = { WF_CNTR_SEND, FI_SEND | FI_TAGGED },
	[WF_OP_TRECV] = { WF_CNTR_RECV, FI_RECV | FI_TAGGED },
	[WF_OP_READ] = { WF_CNTR_READ, FI_READ | FI_RMA },
	[WF_OP_WRITE] = { WF_CNTR_WRITE, FI_WRITE | FI_RMA },
	[WF_OP_ATOMIC] = { WF_CNTR_WRITE, FI_WRITE | FI_ATOMIC },
	[WF_OP_FETCH] = { WF_CNTR_READ, FI_READ | FI_ATOMIC },
	[WF_OP_COMPARE] = { WF_CNTR_READ, FI_READ | FI_ATOMIC },
};

/* A counter of bytes counts atomic operations as reads at the initiator and as writes
 * at the target; a counter of completions counts them by @event. CNT-006 */
static void done_count_atomic(struct wf_ep *ep, enum wf_ep_cntr event, size_t len)
{
	bool target = event == WF_CNTR_REMOTE_READ || event == WF_CNTR_REMOTE_WRITE;
	struct wf_cntr *comp = ep->cntr[event];
	struct wf_cntr *bytes = ep->cntr[target ? WF_CNTR_REMOTE_WRITE : WF_CNTR_READ];

	if (comp && comp->events == FI_CNTR_EVENTS_COMP)
		wf_cntr_add(comp, len);
	if (bytes && bytes->events == FI_CNTR_EVENTS_BYTES)
		wf_cntr_add(bytes, len);
}

/* wf_ep_tx_done for deferred work, transfers of a peer and counted atomic
 * operations. */
static __attribute__((noinline)) void done_special_tx(struct wf_ep *ep,
	enum wf_ep_cntr cntr, void *context, uint64_t op_flags, uint64_t comp_flags,
	size_t len)
{
	bool own = done_is_counted(ep, op_flags);
	ssize_t ret;

	if (op_flags & WF_OP_WORK)
		own = wf_work_done(&context, op_flags, ep->cntr[cntr], false);
	if (comp_flags & FI_ATOMIC && own)
		done_count_atomic(ep, cntr, len);
	else if (own)
		wf_cntr_count(ep->cntr[cntr], len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = done_put(ep, ep->tx_cq, op_flags,
		&(struct fi_cq_tagged_entry){
			.op_context = context,
			.flags = comp_flags,
		},
		FI_ADDR_NOTAVAIL);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

void wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len)
{
	bool atomic =
		comp_flags & FI_ATOMIC && (ep->cntr[cntr] || ep->cntr[WF_CNTR_READ]);

	if (wf_unlikely(op_flags & (WF_OP_WORK | FI_PEER_TRANSFER) || atomic))
		done_special_tx(ep, cntr, context, op_flags, comp_flags, len);
	else
		wf_ep_tx_plain_done(ep, cntr, context, op_flags, comp_flags, len);
}

static __attribute__((noinline)) void done_special_rx(struct wf_ep *ep,
	uint64_t op_flags, struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	bool own = done_is_counted(ep, op_flags);
	ssize_t ret;

	if (op_flags & WF_OP_WORK)
		own = wf_work_done(
			&entry->op_context, op_flags, ep->cntr[WF_CNTR_RECV], false);
	if (own)
		wf_cntr_count(ep->cntr[WF_CNTR_RECV], entry->len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = done_put(ep, ep->rx_cq, op_flags, entry, src);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

void wf_ep_rx_done(struct wf_ep *ep, void *context, uint64_t op_flags,
	uint64_t comp_flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	ssize_t ret;

	if (wf_unlikely(op_flags & (WF_OP_WORK | FI_PEER_TRANSFER))) {
		done_special_rx(ep, op_flags,
			&(struct fi_cq_tagged_entry){
				.op_context = context,
				.flags = comp_flags,
				.len = len,
				.buf = buf,
				.data = data,
				.tag = tag,
			},
			src);
		return;
	}
	wf_cntr_count(ep->cntr[WF_CNTR_RECV], len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = wf_cq_write(ep->rx_cq, context, comp_flags, len, buf, data, tag, src);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

ssize_t wf_ep_rx_answer(struct wf_ep *ep, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	return done_put(ep, ep->rx_cq, op_flags, entry, src);
}

ssize_t wf_ep_rx_answer_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry)
{
	struct fi_cq_err_entry copy = *entry;

	return done_put_err(ep, ep->rx_cq, op_flags, &copy);
}

void wf_ep_rx_release(struct wf_ep *ep, uint64_t op_flags, void *context)
{
	ssize_t ret = done_put(ep, ep->rx_cq, op_flags,
		&(struct fi_cq_tagged_entry){
			.op_context = context,
			.flags = FI_MULTI_RECV,
		},
		FI_ADDR_NOTAVAIL);

	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

/* A failure always writes an entry, also for deferred work that asked for none: only
 * the entry holds the reason. */
static void done_write_err(struct wf_ep *ep, struct wf_cq *cq, struct wf_cntr *cntr,
	uint64_t op_flags, struct fi_cq_err_entry *entry)
{
	bool own = done_is_counted(ep, op_flags);
	ssize_t ret;

	if (wf_unlikely(op_flags & WF_OP_WORK))
		own = wf_work_done(&entry->op_context, op_flags, cntr, true);
	ret = done_put_err(ep, cq, op_flags, entry);
	if (cntr && own)
		wf_cntr_add_err(cntr);
	if (ret < 0)
		wf_ep_lost(ep, ret);
}

void wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err)
{
	struct fi_cq_err_entry entry = {
		.op_context = context,
		.flags = comp_flags,
		.len = len,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	wf_ep_tx_fail(ep, cntr, op_flags, &entry);
}

void wf_ep_tx_fail(struct wf_ep *ep, enum wf_ep_cntr cntr, uint64_t op_flags,
	struct fi_cq_err_entry *entry)
{
	done_write_err(ep, ep->tx_cq, ep->cntr[cntr], op_flags, entry);
}

void wf_ep_rx_err(
	struct wf_ep *ep, uint64_t op_flags, const struct fi_cq_err_entry *entry)
{
	struct fi_cq_err_entry copy = *entry;

	done_write_err(ep, ep->rx_cq, ep->cntr[WF_CNTR_RECV], op_flags, &copy);
}

/* Does the counter of a memory region count this access? It is bound to
 * FI_REMOTE_WRITE. */
static bool done_counts(const struct wf_cntr *cntr, uint64_t comp_flags)
{
	return comp_flags & FI_REMOTE_WRITE ||
	       (comp_flags & FI_ATOMIC && cntr->events == FI_CNTR_EVENTS_BYTES);
}

void wf_ep_remote_done(struct wf_ep *ep, struct wf_mr *mr, uint64_t comp_flags,
	size_t len, uint64_t data, fi_addr_t src)
{
	enum wf_ep_cntr event = comp_flags & FI_REMOTE_READ ? WF_CNTR_REMOTE_READ
							    : WF_CNTR_REMOTE_WRITE;
	ssize_t ret;

	if (comp_flags & FI_ATOMIC)
		done_count_atomic(ep, event, len);
	else
		wf_cntr_count(ep->cntr[event], len);
	if (mr && mr->cntr && done_counts(mr->cntr, comp_flags))
		wf_cntr_add(mr->cntr, len);
	if (!(comp_flags & FI_REMOTE_CQ_DATA) || !ep->rx_cq)
		return;
	ret = wf_cq_write(ep->rx_cq, NULL, comp_flags, len, NULL, data, 0, src);
	if (wf_unlikely(ret < 0))
		wf_ep_lost(ep, ret);
}

/* Flags of an entry that its completion repeats. */
static const uint64_t entry_flags = FI_MSG | FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA;

static void *done_first_buf(const struct fi_peer_rx_entry *entry)
{
	return entry->count ? entry->iov[0].iov_base : NULL;
}

/* Is the message of @entry, of @len bytes, a head? Then its receive ends later. */
static inline bool done_is_head(struct wf_ep *ep, struct fi_peer_rx_entry *entry,
	uint64_t flags, size_t len, uint64_t data, fi_addr_t src)
{
	struct wf_srx_heads *heads;

	if (wf_likely(len || !((entry->flags | flags) & FI_REMOTE_CQ_DATA)) ||
		!(entry->flags & FI_TAGGED) || !wf_srx_is_own(entry->srx))
		return false;
	heads = wf_srx_port_of(entry->srx)->heads;
	return heads && heads->ops->matched(heads, ep, entry, data, src);
}

void wf_srx_done(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src)
{
	if (wf_likely(!done_is_head(ep, entry, flags, len, data, src)))
		wf_srx_end(ep, entry, flags, len, data, src);
}

void wf_srx_end(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src)
{
	uint64_t op_flags = entry->flags;

	/* A peer compares sources with members of AV sets, which are indices. */
	if (wf_unlikely(op_flags & FI_PEER_TRANSFER && ep->transfer))
		src = entry->addr;
	/* A receive posted to a shared context does not know this endpoint's CQ. */
	if (wf_likely(!(op_flags & WF_OP_WORK)))
		op_flags |= ep->rx.forced;
	wf_ep_rx_done(ep, entry->context, op_flags,
		(entry->flags & entry_flags) | flags, len, done_first_buf(entry), data,
		entry->tag, src);
	wf_srx_free_entry(entry);
}

void wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, size_t olen, uint64_t data, fi_addr_t src, int err)
{
	struct fi_cq_err_entry cq_entry = {
		.op_context = entry->context,
		.flags = (entry->flags & entry_flags) | flags,
		.len = len,
		.buf = done_first_buf(entry),
		.data = data,
		.tag = entry->tag,
		.olen = olen,
		.err = err,
		.prov_errno = err,
		.src_addr = src,
	};

	wf_ep_rx_err(ep, entry->flags, &cq_entry);
	wf_srx_free_entry(entry);
}

void wf_srx_unknown(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, const void *name, size_t name_len)
{
	struct fi_cq_err_entry cq_entry = {
		.op_context = entry->context,
		.flags = (entry->flags & entry_flags) | flags,
		.len = len,
		.data = data,
		.tag = entry->tag,
		.err = FI_EADDRNOTAVAIL,
		.prov_errno = FI_EADDRNOTAVAIL,
		.err_data = (void *)(uintptr_t)name,
		.err_data_size = name_len,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	wf_ep_rx_err(ep, entry->flags, &cq_entry);
	wf_srx_free_entry(entry);
}
