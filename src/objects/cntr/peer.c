/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/cntr/internal.h"

/* Sharing a counter between providers (fi_peer(3)): the operations that an owner gives
 * its peers, and the operations of an imported counter. */

/* Operations of an owner, for its peers. inc has no argument for bytes, so a counter of
 * bytes counts one for each operation of a peer of another library. */
static void peer_owner_inc(struct fid_peer_cntr *peer)
{
	wf_cntr_add_n(peer->fid.context, 1);
}

static void peer_owner_incerr(struct fid_peer_cntr *peer)
{
	wf_cntr_add_err(peer->fid.context);
}

static struct fi_ops_cntr_owner owner_ops = {
	.size = sizeof(owner_ops),
	.inc = peer_owner_inc,
	.incerr = peer_owner_incerr,
};

void wf_cntr_add_owner(struct wf_cntr *cntr, uint64_t n)
{
	struct wf_cntr *direct =
		atomic_load_explicit(&cntr->direct, memory_order_relaxed);
	struct fid_peer_cntr *owner = cntr->owner;

	if (direct)
		wf_cntr_add_n(direct, n);
	else if (owner->owner_ops == &owner_ops)
		wf_cntr_add_n(owner->fid.context, n);
	else
		owner->owner_ops->inc(owner);
}

void wf_cntr_export(struct wf_cntr *cntr, struct fid_peer_cntr *ret_peer)
{
	*ret_peer = (struct fid_peer_cntr){
		.fid.fclass = FI_CLASS_PEER_CNTR,
		.fid.context = cntr,
		.fid.ops = &wf_absent_fid,
		.owner_ops = &owner_ops,
	};
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
}

void wf_cntr_unexport(struct fid_peer_cntr *peer)
{
	struct wf_cntr *cntr = peer->fid.context;

	/* release: pairs with the acquire in cntr_close; the peer's accesses come
	 * before. */
	atomic_fetch_sub_explicit(&cntr->refs, 1, memory_order_release);
}

/* fi_cntr_read of an imported counter: makes progress. The owner has the value. */
static uint64_t cntr_peer_read(struct fid_cntr *fid)
{
	wf_progress_list_run(&wf_cntr_of(fid)->progress);
	return 0;
}

struct fi_ops_cntr wf_cntr_imported_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_peer_read,
	.readerr = wf_absent_cntr_readerr,
	.add = wf_absent_cntr_add,
	.set = wf_absent_cntr_set,
	.wait = wf_absent_cntr_wait,
	.adderr = wf_absent_cntr_adderr,
	.seterr = wf_absent_cntr_seterr,
	.export_xpu = wf_absent_cntr_export_xpu,
};

void wf_cntr_link(struct fid_cntr *peer, struct wf_cntr *owner)
{
	if (peer && peer->ops == &wf_cntr_imported_ops)
		atomic_store_explicit(
			&wf_cntr_of(peer)->direct, owner, memory_order_relaxed);
}

int wf_cntr_check_owner(
	const struct wf_domain *domain, const struct fi_peer_cntr_context *peer)
{
	const struct fi_ops_cntr_owner *ops;

	if (!peer || peer->size < sizeof(*peer) || !peer->cntr)
		return wf_cntr_refused(
			domain, "FI_PEER needs a peer context with a counter");
	ops = peer->cntr->owner_ops;
	if (!FI_CHECK_OP(ops, struct fi_ops_cntr_owner, inc) ||
		!FI_CHECK_OP(ops, struct fi_ops_cntr_owner, incerr))
		return wf_cntr_refused(
			domain, "the owner of the peer counter lacks operations");
	return 0;
}
