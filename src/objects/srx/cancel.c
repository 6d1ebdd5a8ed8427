/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/* Withdrawing posted receives: one for fi_cancel, all when a connection is lost. */

void wf_srx_report_failed(
	struct wf_srx *srx, const struct wf_srx_entry *entry, uint64_t flags, int err)
{
	struct wf_srx_sink *sink = wf_srx_reporter(srx, NULL);
	struct fi_cq_err_entry cq_entry = {
		.op_context = entry->peer.context,
		.flags = (entry->peer.flags & (FI_MSG | FI_TAGGED | FI_RECV)) | flags,
		.tag = entry->peer.tag,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	if (sink)
		sink->ops->fail(sink, entry->peer.flags, &cq_entry);
}

static void cancel_withdraw(struct wf_srx *srx, struct wf_srx_entry *entry, int err)
{
	if (wf_srx_is_multi(entry)) {
		entry->err = err;
		wf_srx_multi_retire(srx, entry);
		return;
	}
	wf_srx_unpost(srx, entry);
	wf_srx_report_failed(srx, entry, 0, err);
	wf_pool_put(&srx->pool, entry);
}

bool wf_srx_cancel(struct wf_srx *srx, void *context)
{
	struct wf_srx_entry *entry;

	if (!context)
		return false;
	entry = wf_srx_find_posted(srx, FI_MSG, context);
	if (!entry)
		entry = wf_srx_find_posted(srx, FI_TAGGED, context);
	if (entry)
		cancel_withdraw(srx, entry, FI_ECANCELED);
	return entry;
}

static void cancel_flush_engine(struct wf_srx *srx, struct wf_match *engine, int err)
{
	struct wf_list list;

	wf_match_list_posted(engine, &list);
	wf_match_foreach_listed(match, &list)
		cancel_withdraw(srx, wf_srx_matched(match), err);
}

void wf_srx_flush(struct wf_srx *srx, int err)
{
	cancel_flush_engine(srx, &srx->msg, err);
	cancel_flush_engine(srx, &srx->tag, err);
}
