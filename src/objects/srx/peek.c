/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/heads.h"
#include "objects/srx/internal.h"

/*
 * Peeking: finding unexpected tagged messages without receiving them (fi_tagged(3)):
 *
 *   FI_PEEK                is there a message?
 *   FI_PEEK | FI_CLAIM     and reserve it for a later call with this context
 *   FI_PEEK | FI_DISCARD   and drop it
 *   FI_CLAIM               receive the reserved message
 *   FI_CLAIM | FI_DISCARD  drop the reserved message
 *
 * A reserved message matches no receive (claim.c). Answers are entries of the CQ, also
 * with selective completion, because the application has no other way to get them. A
 * peek receives nothing, so no counter counts it.
 */

static ssize_t peek_no_endpoint(const struct wf_srx *srx)
{
	wf_srx_log(srx, FI_LOG_WARN,
		"peek refused: no endpoint uses the receive context, so there is no CQ "
		"for the answer\n");
	return -FI_EOPBADSTATE;
}

static ssize_t peek_answer(struct wf_srx_sink *sink, const struct wf_op *op,
	const struct fi_peer_rx_entry *peer)
{
	const uint64_t flags = FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA;

	return sink->ops->answer(sink, op->flags,
		&(struct fi_cq_tagged_entry){
			.op_context = op->context,
			.flags = peer->flags & flags,
			.len = peer->msg_size,
			.data = peer->cq_data,
			.tag = peer->tag,
		},
		peer->addr);
}

static ssize_t peek_answer_none(struct wf_srx_sink *sink, const struct wf_op *op)
{
	struct fi_cq_err_entry entry = {
		.op_context = op->context,
		.flags = FI_TAGGED | FI_RECV,
		.tag = op->tag,
		.err = FI_ENOMSG,
		.prov_errno = FI_ENOMSG,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	return WF_MIN(sink->ops->answer_err(sink, op->flags, &entry), 0);
}

/* If the message of @view is a head (heads.h), let @view describe the message that it
 * stands for. -FI_EAGAIN: nothing is known of that yet. */
static int peek_describe(const struct wf_srx_port *port, struct fi_peer_rx_entry *view)
{
	if (wf_likely(!port->heads) || view->msg_size ||
		!(view->flags & FI_REMOTE_CQ_DATA))
		return 0;
	return port->heads->ops->describe(port->heads, view);
}

static void peek_discard(struct wf_srx_entry *entry)
{
	struct wf_srx_heads *heads = wf_srx_port_of(entry->peer.srx)->heads;
	bool maybe_head =
		heads && !entry->peer.msg_size && entry->peer.flags & FI_REMOTE_CQ_DATA;
	uint64_t data = entry->peer.cq_data;

	wf_srx_discard_entry(entry);
	if (wf_unlikely(maybe_head))
		heads->ops->discarded(heads, data);
}

/* Take @msg out of the unexpected queue: drop it (FI_DISCARD) or reserve it
 * (FI_CLAIM). */
static void peek_take_away(struct wf_srx *srx, uint32_t msg, struct wf_srx_entry *blank,
	const struct wf_op *op)
{
	struct wf_srx_entry *entry = wf_srx_take(srx, &srx->tag, msg, blank);

	if (op->flags & FI_DISCARD)
		peek_discard(entry);
	else
		wf_srx_claim(srx, entry, op->context);
}

static ssize_t peek_peeked(struct wf_srx *srx, uint32_t msg, const struct wf_op *op)
{
	struct fi_peer_rx_entry view = wf_srx_view(srx, msg, FI_TAGGED);
	struct wf_srx_entry *blank = NULL;
	ssize_t ret;

	if (peek_describe(wf_srx_port_of(view.srx), &view))
		return peek_answer_none(wf_srx_reporter(srx, NULL), op);
	if (op->flags & (FI_CLAIM | FI_DISCARD)) {
		blank = wf_srx_new_entry(srx, FI_TAGGED);
		if (!blank)
			return -FI_ENOMEM;
	}
	ret = peek_answer(wf_srx_reporter(srx, view.srx), op, &view);
	if (ret < 0) {
		if (blank)
			wf_pool_put(&srx->pool, blank);
		return ret;
	}
	if (blank)
		peek_take_away(srx, msg, blank, op);
	return 0;
}

static ssize_t srx_peek(struct wf_srx *srx, const struct wf_op *op)
{
	struct wf_srx_sink *sink = wf_srx_reporter(srx, NULL);
	uint32_t msg;

	if (!sink)
		return peek_no_endpoint(srx);
	msg = wf_match_find_unexpected(
		&srx->tag, op->tag, op->ignore, wf_srx_source(srx, op));
	if (!msg)
		return peek_answer_none(sink, op);
	return peek_peeked(srx, msg, op);
}

static ssize_t peek_drop_claimed(
	struct wf_srx *srx, struct wf_srx_entry *entry, const struct wf_op *op)
{
	const struct wf_srx_port *port = wf_srx_port_of(entry->peer.srx);
	struct fi_peer_rx_entry view = entry->peer;
	ssize_t ret = peek_describe(port, &view);

	if (ret)
		return ret;
	if ((op->flags | port->forced) & FI_COMPLETION)
		ret = peek_answer(port->sink, op, &view);
	if (ret < 0)
		return ret;
	wf_srx_unclaim(srx, entry);
	peek_discard(entry);
	return 0;
}

static ssize_t peek_claim(struct wf_srx *srx, const struct wf_op *op)
{
	struct wf_srx_entry *entry = wf_srx_find_claimed(srx, op->context);

	if (!entry) {
		wf_srx_log(srx, FI_LOG_WARN,
			"FI_CLAIM refused: no message is reserved for context %p\n",
			op->context);
		return -FI_EINVAL;
	}
	if (op->flags & FI_DISCARD)
		return peek_drop_claimed(srx, entry, op);
	wf_srx_unclaim(srx, entry);
	wf_srx_set_buffers(srx, entry, op);
	wf_srx_start_entry(srx, entry);
	return 0;
}

ssize_t wf_srx_peek(struct wf_srx *srx, const struct wf_op *op)
{
	/* The call refused FI_DISCARD without one of these. */
	assert(!(op->flags & WF_OP_WORK) && op->flags & (FI_PEEK | FI_CLAIM));
	return op->flags & FI_PEEK ? srx_peek(srx, op) : peek_claim(srx, op);
}
