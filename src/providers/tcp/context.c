/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"

/*
 * Contexts of scalable endpoints; see the header.
 *
 * A context that is closed releases the application's memory at once, but not the
 * connections, which other contexts use: operations that have not begun are dropped
 * unless they were injected, records that are partly sent continue from a copy, and
 * answers that are still to come are discarded.
 */

static struct tcp_ep *core_of(struct wf_ep *ctx)
{
	return tcp_ep_of(wf_ep_core(ctx));
}

static bool transmits(const struct wf_ep *ctx)
{
	return ctx->fid.fid.fclass == FI_CLASS_TX_CTX;
}

static struct tcp_source *source_of(struct wf_ep *ctx)
{
	return &core_of(ctx)->contexts[ctx->ctx_index];
}

static ssize_t ctx_start(struct wf_ep *ctx, struct wf_op *op)
{
	return tcp_post(core_of(ctx), source_of(ctx), op);
}

/* Progress of a context is progress of the core; a thread that finds the core's lock
 * held does nothing. */
static void ctx_progress(struct wf_ep *ctx)
{
	struct wf_ep *core = wf_ep_core(ctx);

	if (!wf_trylock(&core->lock))
		return;
	tcp_progress(core);
	wf_unlock(&core->lock);
}

static int ctx_enable(struct wf_ep *ctx)
{
	struct tcp_source *from;

	if (!transmits(ctx))
		return 0;
	from = source_of(ctx);
	wf_lock(&wf_ep_core(ctx)->lock);
	*from = (struct tcp_source){ ctx, 0, ctx->info->tx_attr->size };
	wf_unlock(&wf_ep_core(ctx)->lock);
	return 0;
}

static bool ctx_cancel(struct wf_ep *ctx, const struct wf_cancel *which)
{
	struct wf_ep *core = wf_ep_core(ctx);
	bool found;

	if (!transmits(ctx))
		return false;
	wf_lock(&core->lock);
	found = tcp_cancel_from(tcp_ep_of(core), source_of(ctx), which);
	wf_unlock(&core->lock);
	return found;
}

static size_t ctx_tx_left(struct wf_ep *ctx)
{
	struct wf_ep *core = wf_ep_core(ctx);
	size_t left;

	if (!transmits(ctx))
		return 0;
	wf_lock(&core->lock);
	left = tcp_source_left(source_of(ctx));
	wf_unlock(&core->lock);
	return left;
}

/* ---- closing a transmit context ---- */

static void disown(struct tcp_ep *ep, struct tcp_tx *tx)
{
	tx->from->pending--;
	tx->from = &ep->closed;
	tx->from->pending++;
}

/* Copy the unsent payload of @tx to heap memory. */
static int keep_payload(struct tcp_tx *tx)
{
	uint64_t skip = tx->done > tx->hdr_len ? tx->done - tx->hdr_len : 0;
	uint8_t *kept;
	size_t len;

	if (!tx->iov_count || tx->iov[0].iov_base == tx->copy)
		return 0;
	len = wf_iov_len(tx->iov, tx->iov_count);
	kept = malloc(len - skip);
	if (!kept)
		return -FI_ENOMEM;
	tx->kept = kept;
	for (size_t i = 0, at = 0; i < tx->iov_count; i++) {
		const struct iovec *iov = &tx->iov[i];
		size_t from = skip > at ? WF_MIN(skip - at, iov->iov_len) : 0;

		memcpy(kept, (uint8_t *)iov->iov_base + from, iov->iov_len - from);
		kept += iov->iov_len - from;
		at += iov->iov_len;
	}
	tx->iov[0] = (struct iovec){ NULL, skip }; /* sent already */
	tx->iov[1] = (struct iovec){ tx->kept, len - skip };
	tx->iov_count = 2;
	return 0;
}

static void keep(struct tcp_conn *conn, struct tcp_source *from, struct tcp_tx *tx)
{
	if (!tx || tx->from != from)
		return;
	disown(conn->ep, tx);
	if (keep_payload(tx))
		tcp_conn_fail(conn, FI_ENOMEM);
}

static void disown_list(
	struct tcp_conn *conn, struct tcp_source *from, struct wf_list *list)
{
	wf_list_foreach(link, list)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from == from)
			disown(conn->ep, tx);
	}
}

/* Discard the results of answers; the first answer may be arriving right now. */
static void drop_results(struct tcp_conn *conn, struct tcp_source *from)
{
	const struct tcp_rx *rx = &conn->rx;
	bool first = true, resp = rx->rec.kind == TCP_REC_READ_RESP ||
				  rx->rec.kind == TCP_REC_ATOMIC_RESP;

	wf_list_foreach(link, &conn->resps)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from == from) {
			disown(conn->ep, tx);
			tx->iov_count = tx->op == WF_OP_READ ? 0 : tx->iov_count;
			tx->result_count = 0;
			if (first && rx->body && resp)
				tcp_rx_drop(conn);
		}
		first = false;
	}
}

/* Drop operations that have not begun. Rendezvous that were cleared have begun, and
 * injected operations are sent. @conn: NULL for operations that wait for a connection,
 * of which none has begun. */
static void forget_list(struct tcp_ep *ep, struct tcp_conn *conn,
	struct tcp_source *from, struct wf_list *list)
{
	wf_list_foreach_safe(link, list)
	{
		struct tcp_tx *tx = wf_list_entry(link, struct tcp_tx, link);

		if (tx->from != from)
			continue;
		if (conn && tx->rendezvous) {
			keep(conn, from, tx);
			continue;
		}
		if (tx->op_flags & FI_INJECT) {
			disown(ep, tx);
			continue;
		}
		wf_list_remove(&tx->link);
		tcp_tx_free(tx);
	}
}

static void leave_conn(struct tcp_conn *conn, struct tcp_source *from)
{
	struct tcp_stage *stage = conn->stage;

	disown_list(conn, from, &conn->acks);
	disown_list(conn, from, &conn->matches);
	drop_results(conn, from);
	/* The header of a read is sent to its end; the read then waits for its answer.
	 */
	if (conn->cur && conn->cur->from == from) {
		if (conn->cur->op == WF_OP_READ)
			conn->cur->iov_count = 0;
		conn->cur->result_count = 0;
	}
	keep(conn, from, conn->cur);
	for (unsigned int i = 0; i < conn->rts.capacity; i++)
		keep(conn, from, conn->rts.at[i]);
	forget_list(conn->ep, conn, from, &conn->txq);
	for (uint32_t i = stage ? stage->mark_tail : 0; stage && i != stage->mark_head;
		i++)
		if (stage->marks[i & stage->mark_mask].from == from)
			stage->marks[i & stage->mark_mask].from = &conn->ep->closed;
}

static void close_source(struct tcp_ep *ep, struct tcp_source *from)
{
	const struct wf_remotes *remotes = &ep->peers->remotes;

	wf_list_foreach(link, &ep->conns)
	{
		leave_conn(wf_list_entry(link, struct tcp_conn, link), from);
	}
	for (struct wf_remote *remote = wf_remotes_next(remotes, NULL); remote;
		remote = wf_remotes_next(remotes, remote))
		forget_list(ep, NULL, from, &remote->pending);
	*from = (struct tcp_source){ .ep = NULL };
}

/* ---- closing a receive context ---- */

/* Discard the rest of a message that was matched to the context. Unmatched messages
 * were discarded before. */
static void leave_arriving(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;

	wf_srx_free_entry(rx->entry);
	rx->entry = NULL;
	tcp_recv_matched(conn, rx->rec.flags, rx->rec.id);
	tcp_rx_drop(conn);
}

static void leave_conn_rx(struct tcp_conn *conn, const struct wf_ep *ctx)
{
	struct tcp_rx *rx = &conn->rx;

	if (rx->entry && wf_recv_ep(&conn->ep->ep, rx->entry) == ctx)
		leave_arriving(conn);
	for (unsigned int i = 0; i < conn->rdv.capacity; i++) {
		struct tcp_rdv *rdv = conn->rdv.at[i];

		if (!rdv || !rdv->entry || wf_recv_ep(&conn->ep->ep, rdv->entry) != ctx)
			continue;
		wf_srx_free_entry(rdv->entry);
		rdv->entry = NULL;
		if (rx->body && rx->rdv == rdv)
			tcp_rx_drop(conn);
	}
}

static void close_receiver(struct tcp_ep *ep, const struct wf_ep *ctx)
{
	wf_list_foreach(link, &ep->conns)
	{
		leave_conn_rx(wf_list_entry(link, struct tcp_conn, link), ctx);
	}
}

static void ctx_destroy(struct wf_ep *ctx)
{
	struct tcp_ep *ep = core_of(ctx);

	if (ctx->enabled) {
		wf_ep_srx_lock(&ep->ep);
		wf_lock(&ep->ep.lock);
		if (transmits(ctx))
			close_source(ep, source_of(ctx));
		else
			close_receiver(ep, ctx);
		wf_unlock(&ep->ep.lock);
		wf_ep_srx_unlock(&ep->ep);
	}
	wf_sep_free_context(ctx);
}

static const struct wf_xfer_ops ctx_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = ctx_start,
	.progress = ctx_progress,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = ctx_enable,
	.cancel_tx = ctx_cancel,
	.destroy = ctx_destroy,
	.tx_left = ctx_tx_left,
};

static int contexts_new(struct tcp_ep *ep)
{
	int ret = wf_sep_init(&ep->ep, &ctx_xfer_ops);

	if (ret)
		return ret;
	ep->contexts =
		calloc(WF_MAX(wf_sep_tx_count(&ep->ep), 1), sizeof(*ep->contexts));
	if (!ep->contexts)
		return -FI_ENOMEM;
	ep->rx_contexts = (unsigned int)WF_MAX(wf_sep_rx_count(&ep->ep), 1);
	return 0;
}

void tcp_contexts_free(struct tcp_ep *ep)
{
	free(ep->contexts);
	ep->contexts = NULL;
}

int tcp_scalable_ep(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_sep, void *context)
{
	struct tcp_ep *ep;
	int ret;

	if (info->ep_attr->type != FI_EP_RDM) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_scalable_ep: only FI_EP_RDM endpoints are scalable\n");
		return -FI_ENOSYS;
	}
	ret = tcp_ep_new(domain, info, context, &ep);
	if (ret)
		return ret;
	ret = contexts_new(ep);
	if (ret) {
		(void)fi_close(&ep->ep.fid.fid);
		return ret;
	}
	*ret_sep = &ep->ep.fid;
	return 0;
}
