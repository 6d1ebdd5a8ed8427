/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/deferred.h"

#include "objects/endpoint/calls/trigger.h"
#include "providers/lnx/record.h"

/*
 * Deferred receives and receives of peer transfers (FI_PEER_TRANSFER in fi_peer(3)) at
 * members of other libraries.
 *
 * A member of this library gets a deferred receive as it is and completes it as any
 * endpoint does. A member of another library gets an ordinary receive instead, whose
 * context is a record. The operations of the receive context below, through which such
 * a member gets each receive, make it.
 *
 * The lock of the receive context is held in all of these functions
 * (objects/peer/open.h). The fields of the rail are atomic because a member may
 * complete a receive without that lock.
 */

/* Flags of receives that a member of another library does not know. */
static const uint64_t recorded = WF_OP_WORK | FI_PEER_TRANSFER;

static struct lnx_rail *deferred_rail_of_srx(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct lnx_rail, below.srx_port.fid);
}

/* Make @entry an ordinary receive with a record as its context. False: no memory. */
static bool deferred_record(struct lnx_rail *rail, struct fi_peer_rx_entry *entry)
{
	const struct wf_op op = {
		.kind = entry->flags & FI_TAGGED ? WF_OP_TRECV : WF_OP_RECV,
		.flags = entry->flags & (recorded | FI_COMPLETION),
		.context = entry->context,
	};
	struct lnx_op *rec = lnx_op_new(rail->rx.ep, &op, rail->rx.rail);

	if (!rec)
		return false;
	atomic_fetch_add_explicit(&rail->deferred, 1, memory_order_relaxed);
	entry->context = rec;
	entry->flags = (entry->flags & ~recorded) | FI_COMPLETION;
	return true;
}

/* Undo deferred_record(): the member did not start the receive. */
static void deferred_undo_record(struct lnx_rail *rail, struct fi_peer_rx_entry *entry)
{
	struct lnx_op *rec = entry->context;

	entry->context = rec->context;
	entry->flags = (entry->flags & ~FI_COMPLETION) | rec->flags;
	atomic_fetch_sub_explicit(&rail->deferred, 1, memory_order_relaxed);
	lnx_op_free(rail->rx.ep, rec);
}

/* Before the member gets the receive that matches a message, make a deferred receive an
 * ordinary one. */
static int deferred_convert(
	struct fid_peer_srx *fid, int ret, struct fi_peer_rx_entry **ret_entry)
{
	struct lnx_rail *rail = deferred_rail_of_srx(fid);
	struct fi_peer_rx_entry *entry = *ret_entry;

	if (ret || wf_likely(!(entry->flags & recorded)) ||
		deferred_record(rail, entry))
		return ret;
	wf_srx_fail(&rail->rx.ep->wf, entry, 0, 0, 0, 0, entry->addr, FI_ENOMEM);
	return -FI_ENOMEM;
}

static int deferred_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return deferred_convert(
		fid, wf_srx_own_get_msg(fid, attr, ret_entry), ret_entry);
}

static int deferred_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return deferred_convert(
		fid, wf_srx_own_get_tag(fid, attr, ret_entry), ret_entry);
}

/* A receive for an unexpected message was posted: let the member start it. */
static int deferred_start(
	struct fi_peer_rx_entry *entry, int (*member)(struct fi_peer_rx_entry *))
{
	struct lnx_rail *rail = deferred_rail_of_srx(entry->srx);
	bool deferred = entry->flags & recorded;
	int ret;

	if (deferred && !deferred_record(rail, entry))
		return -FI_ENOMEM;
	ret = member(entry);
	if (ret < 0 && deferred)
		deferred_undo_record(rail, entry);
	return ret;
}

static int deferred_start_msg(struct fi_peer_rx_entry *entry)
{
	return deferred_start(
		entry, deferred_rail_of_srx(entry->srx)->member_srx->start_msg);
}

static int deferred_start_tag(struct fi_peer_rx_entry *entry)
{
	return deferred_start(
		entry, deferred_rail_of_srx(entry->srx)->member_srx->start_tag);
}

void lnx_deferred_export_srx(struct fi_ops_srx_owner *ops)
{
	ops->get_msg = deferred_get_msg;
	ops->get_tag = deferred_get_tag;
}

void lnx_deferred_srx_opened(struct lnx_rail *rail)
{
	rail->member_srx = rail->below.srx_port.fid.peer_ops;
	rail->peer_ops = (struct fi_ops_srx_peer){
		.size = sizeof(rail->peer_ops),
		.start_msg = deferred_start_msg,
		.start_tag = deferred_start_tag,
		.discard_msg = rail->member_srx->discard_msg,
		.discard_tag = rail->member_srx->discard_tag,
	};
	rail->below.srx_port.fid.peer_ops = &rail->peer_ops;
}

bool lnx_deferred_done(
	struct lnx_rail *rail, void **context, bool failed, bool *ret_is_transfer)
{
	struct lnx_ep *ep = rail->rx.ep;
	struct lnx_op *rec = NULL;
	uint64_t flags;
	bool counts;

	if (wf_unlikely(atomic_load_explicit(&rail->deferred, memory_order_relaxed)))
		rec = lnx_op_find(ep, *context, rail->rx.rail);
	*ret_is_transfer = rec && rec->flags & FI_PEER_TRANSFER;
	if (wf_likely(!rec)) {
		lnx_count_held(rail);
		return true;
	}
	flags = rec->flags;
	*context = rec->context;
	atomic_fetch_sub_explicit(&rail->deferred, 1, memory_order_relaxed);
	lnx_op_free(ep, rec);
	counts = !*ret_is_transfer &&
		 wf_work_done(context, flags, ep->wf.cntr[WF_CNTR_RECV], failed);
	if (!failed && !counts)
		atomic_store_explicit(&rail->held, false, memory_order_relaxed);
	lnx_count_held(rail);
	/* Does the failure that the member counts next count at the endpoint? */
	if (failed)
		atomic_store_explicit(
			&rail->failure_counted, !counts, memory_order_relaxed);
	return flags & (FI_COMPLETION | FI_PEER_TRANSFER);
}
