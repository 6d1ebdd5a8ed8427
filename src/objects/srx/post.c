/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Posting receives. A receive takes an unexpected message that matches at once;
 * otherwise it goes to the posted queue.
 */

uint64_t wf_srx_source(const struct wf_srx *srx, const struct wf_op *op)
{
	if (wf_unlikely(op->flags & FI_PEER_TRANSFER))
		return wf_srx_key_of(srx, srx->transfer_directed, op->addr);
	return wf_srx_key(srx, op->kind == WF_OP_TRECV, op->addr);
}

void wf_srx_set_buffers(
	const struct wf_srx *srx, struct wf_srx_entry *entry, const struct wf_op *op)
{
	assert(op->iov_count <= srx->iov_limit);
	wf_srx_set_receive(entry, op->iov_count, op->flags, op->context);
	for (size_t i = 0; i < op->iov_count; i++)
		wf_srx_set_buffer(entry, i, op->iov[i].iov_base, op->iov[i].iov_len,
			op->desc ? op->desc[i] : NULL);
}

void wf_srx_move_buffers(const struct wf_srx *srx, struct wf_srx_entry *entry,
	const struct wf_srx_entry *from)
{
	struct wf_op op = {
		.flags = from->peer.flags,
		.iov = from->iov,
		.desc = from->peer.desc,
		.iov_count = from->peer.count,
		.context = from->peer.context,
	};

	wf_srx_set_buffers(srx, entry, &op);
}

static ssize_t srx_post(struct wf_srx *srx, const struct wf_op *op)
{
	struct wf_match *engine = wf_srx_engine(srx, wf_srx_type(op));
	uint64_t addr = wf_srx_source(srx, op);
	struct wf_srx_entry *entry = wf_srx_new_entry(srx, wf_srx_type(op));
	uint32_t msg;

	if (wf_unlikely(!entry))
		return -FI_ENOMEM;
	msg = wf_match_find_unexpected(engine, op->tag, op->ignore, addr);
	if (!msg && wf_srx_is_full(srx, op)) {
		wf_pool_put(&srx->pool, entry);
		return -FI_EAGAIN;
	}
	wf_srx_set_buffers(srx, entry, op);
	if (msg) {
		entry = wf_srx_take(srx, engine, msg, entry);
		wf_srx_start_entry(srx, entry);
		return 0;
	}
	wf_srx_enqueue_any(srx, engine, entry, op->tag, op->ignore, addr);
	return 0;
}

/* With FI_EXACT_DIRECTED_RECV a call of the application must name a source, except one
 * that takes a reserved message. */
static bool post_lacks_source(const struct wf_srx *srx, const struct wf_op *op)
{
	return srx->exact && op->addr == FI_ADDR_UNSPEC &&
	       !(op->flags & FI_PEER_TRANSFER) &&
	       (op->flags & (FI_PEEK | FI_CLAIM)) != FI_CLAIM;
}

static ssize_t post_no_source(const struct wf_srx *srx)
{
	wf_srx_log(srx, FI_LOG_WARN,
		"receive refused: FI_EXACT_DIRECTED_RECV needs a source, "
		"FI_ADDR_UNSPEC was given\n");
	return -FI_EINVAL;
}

/* Let the endpoints that share @srx poll for messages. */
static void post_move_data(struct wf_srx *srx)
{
	struct wf_srx_sink *last = NULL;

	wf_lock(srx->lock);
	wf_list_foreach(it, &srx->ports)
	{
		struct wf_srx_sink *sink =
			wf_list_entry(it, struct wf_srx_port, link)->sink;

		/* An endpoint may have several ports in a row, one for each peer
		 * provider. */
		if (!sink || sink == last)
			continue;
		last = sink;
		sink->ops->progress(sink);
	}
	wf_unlock(srx->lock);
}

ssize_t wf_srx_post(struct wf_srx *srx, const struct wf_op *op)
{
	const uint64_t looking = FI_PEEK | FI_CLAIM | FI_DISCARD;
	ssize_t ret;

	if (wf_unlikely(post_lacks_source(srx, op)))
		return post_no_source(srx);
	/* An application that peeks until a message comes reads an answer from the CQ
	 * each time, and reading available entries makes no progress: make some
	 * here. */
	if (wf_unlikely(op->flags & FI_PEEK && op->kind == WF_OP_TRECV))
		post_move_data(srx);
	wf_lock(srx->lock);
	if (wf_unlikely(op->flags & looking && op->kind == WF_OP_TRECV))
		ret = wf_srx_peek(srx, op);
	else if (wf_unlikely(op->flags & FI_MULTI_RECV))
		ret = wf_srx_multi_post(srx, op);
	else
		ret = srx_post(srx, op);
	wf_unlock(srx->lock);
	return ret;
}
