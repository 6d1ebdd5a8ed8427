/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/*
 * Multi-receive buffers (FI_MULTI_RECV). Messages get slices, one behind the other,
 * each with an entry of its own. A buffer is retired, that is, taken out of the posted
 * queue, when less than the minimum is left, when a message does not fit behind other
 * slices (the message then goes to the next receive that matches), or when it is
 * cancelled. The end of the buffer is reported when its last slice is freed. Transports
 * complete a slice before they free it, so the end comes after every message in the
 * buffer.
 *
 * Only a message that is longer than a whole buffer is truncated.
 */

static size_t multi_buffer_len(const struct wf_srx_entry *buffer)
{
	return buffer->peer.count ? buffer->iov[0].iov_len : 0;
}

/* @fid: handle that the last message came through, or NULL. */
static void multi_end(
	struct wf_srx *srx, struct wf_srx_entry *buffer, struct fid_peer_srx *fid)
{
	struct wf_srx_sink *sink = wf_srx_reporter(srx, fid);

	if (buffer->err)
		wf_srx_report_failed(srx, buffer, FI_MULTI_RECV, buffer->err);
	else if (sink)
		sink->ops->release(sink, buffer->peer.flags, buffer->peer.context);
	wf_pool_put(&srx->pool, buffer);
}

static void multi_unref(
	struct wf_srx *srx, struct wf_srx_entry *buffer, struct fid_peer_srx *fid)
{
	if (!--buffer->slices)
		multi_end(srx, buffer, fid);
}

void wf_srx_multi_retire(struct wf_srx *srx, struct wf_srx_entry *buffer)
{
	if (buffer->queued)
		wf_srx_unpost(srx, buffer);
	buffer->queued = false;
	buffer->open = false;
	multi_unref(srx, buffer, NULL);
}

void wf_srx_multi_put(struct wf_srx *srx, struct wf_srx_entry *slice)
{
	multi_unref(srx, slice->parent, slice->peer.srx);
}

static void multi_cut_slice(const struct wf_srx *srx, struct wf_srx_entry *buffer,
	struct wf_srx_entry *entry, size_t len)
{
	struct wf_op op = {
		.flags = buffer->peer.flags,
		.iov = &op.one,
		.desc = buffer->peer.desc,
		.iov_count = buffer->peer.count,
		.context = buffer->peer.context,
	};

	if (op.iov_count)
		op.one = (struct iovec){
			.iov_base = (char *)buffer->iov[0].iov_base + buffer->used,
			.iov_len = len,
		};
	wf_srx_set_buffers(srx, entry, &op);
	entry->parent = buffer;
	buffer->slices++;
	buffer->used += len;
}

bool wf_srx_multi_take(struct wf_srx *srx, struct wf_srx_entry *buffer,
	struct wf_srx_entry *entry, size_t size)
{
	size_t left = multi_buffer_len(buffer) - buffer->used;

	if (size > left && buffer->used) {
		wf_srx_multi_retire(srx, buffer);
		return false;
	}
	multi_cut_slice(srx, buffer, entry, WF_MIN(size, left));
	left = multi_buffer_len(buffer) - buffer->used;
	if (left < WF_MAX(buffer->min, 1))
		wf_srx_multi_retire(srx, buffer);
	return true;
}

/* Unexpected messages go first, as many as fit. If there is no memory for another
 * slice, the buffer ends with the messages that it has. */
static void multi_fill(
	struct wf_srx *srx, struct wf_srx_entry *buffer, const struct wf_op *op)
{
	uint64_t type = buffer->peer.flags & (FI_MSG | FI_TAGGED);
	struct wf_match *engine = wf_srx_engine(srx, type);
	struct wf_srx_entry *slice;
	uint32_t msg;

	while (buffer->open) {
		msg = wf_match_find_unexpected(
			engine, op->tag, op->ignore, buffer->peer.addr);
		if (!msg)
			return;
		slice = wf_srx_new_entry(srx, type);
		if (!slice) {
			buffer->err = FI_ENOMEM;
			wf_srx_multi_retire(srx, buffer);
			return;
		}
		if (!wf_srx_multi_take(
			    srx, buffer, slice, wf_srx_view(srx, msg, type).msg_size)) {
			wf_pool_put(&srx->pool, slice);
			return;
		}
		wf_srx_start_entry(srx, wf_srx_take(srx, engine, msg, slice));
	}
}

ssize_t wf_srx_multi_post(struct wf_srx *srx, const struct wf_op *op)
{
	struct wf_srx_entry *buffer;

	/* Deferred work ends once, a multi-receive buffer several times. */
	assert(!(op->flags & WF_OP_WORK));
	if (wf_srx_is_full(srx, op))
		return -FI_EAGAIN;
	buffer = wf_srx_new_entry(srx, wf_srx_type(op));
	if (!buffer)
		return -FI_ENOMEM;
	wf_srx_set_buffers(srx, buffer, op);
	buffer->peer.addr = wf_srx_source(srx, op);
	buffer->peer.tag = op->tag;
	buffer->min = atomic_load_explicit(srx->min_multi_recv, memory_order_relaxed);
	buffer->peer.flags |= WF_SRX_MULTI;
	buffer->open = true;
	buffer->queued = false;
	buffer->err = 0;
	buffer->used = 0;
	/* One while the buffer is open, one until the end of this function. */
	buffer->slices = 2;

	multi_fill(srx, buffer, op);
	if (buffer->open) {
		wf_srx_enqueue_any(srx, wf_srx_engine(srx, buffer->peer.flags), buffer,
			op->tag, op->ignore, buffer->peer.addr);
		buffer->queued = true;
	}
	multi_unref(srx, buffer, NULL);
	return 0;
}
