/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_cm.h>

#include "objects/absent/absent.h"
#include "objects/av/internal.h"
#include "objects/av/set.h"

/*
 * Sharing an AV between providers (fi_peer(3)): the owner's operations for a peer, and
 * the import of an AV from another provider. An imported AV holds no addresses; its
 * provider asks the owner.
 */

/* Owner. */

static struct wf_av *peer_owner_of(struct fid_peer_av *peer)
{
	return peer->fid.context;
}

static int peer_owner_query(struct fid_peer_av *peer, struct fi_av_attr *attr)
{
	struct wf_av *av = peer_owner_of(peer);

	if (!attr)
		return -FI_EINVAL;
	*attr = av->attr;
	attr->count =
		atomic_load_explicit(&av->table.state->count, memory_order_relaxed);
	return 0;
}

static fi_addr_t peer_owner_ep_addr(struct fid_peer_av *peer, struct fid_ep *ep)
{
	struct wf_av *av = peer_owner_of(peer);
	uint32_t addr[WF_AV_ADDR_WORDS];
	size_t len = sizeof(addr);

	if (!ep || fi_getname(&ep->fid, addr, &len) || len > sizeof(addr))
		return FI_ADDR_NOTAVAIL;
	return wf_av_index(av, addr, len);
}

static struct fi_ops_av_owner owner_ops = {
	.size = sizeof(struct fi_ops_av_owner),
	.query = peer_owner_query,
	.ep_addr = peer_owner_ep_addr,
};

int wf_av_export(struct wf_av *av, struct fid_peer_av *ret)
{
	/* Only the owner can export an AV. */
	if (av->peer)
		return -FI_EINVAL;
	ret->fid.fclass = FI_CLASS_PEER_AV;
	ret->fid.context = av;
	ret->fid.ops = &wf_absent_fid;
	ret->owner_ops = &owner_ops;
	wf_av_ref(av);
	return 0;
}

void wf_av_unexport(struct fid_peer_av *peer)
{
	wf_av_unref(peer_owner_of(peer));
}

/* Peer. */

struct fi_ops_av wf_av_imported_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = wf_absent_av_insert,
	.insertsvc = wf_absent_av_insertsvc,
	.insertsym = wf_absent_av_insertsym,
	.remove = wf_absent_av_remove,
	.lookup = wf_absent_av_lookup,
	.straddr = wf_absent_av_straddr,
	.av_set = wf_av_set_open,
	.insert_auth_key = wf_absent_av_insert_auth_key,
	.lookup_auth_key = wf_absent_av_lookup_auth_key,
	.set_user_id = wf_absent_av_set_user_id,
	.lookup2 = wf_absent_av_lookup2,
};

static int peer_check_context(
	const struct wf_av *av, const struct fi_peer_av_context *context)
{
	const struct fi_ops_av_owner *ops;

	if (!context || context->size < sizeof(*context) || !context->av) {
		WF_AV_REFUSED(av->domain,
			"FI_PEER: context %p is no struct fi_peer_av_context of at "
			"least %zu bytes with an AV\n",
			(const void *)context, sizeof(*context));
		return -FI_EINVAL;
	}
	ops = context->av->owner_ops;
	if (!ops || ops->size < sizeof(*ops) || !ops->query || !ops->ep_addr) {
		WF_AV_REFUSED(av->domain,
			"FI_PEER: the owner's operations lack query or ep_addr\n");
		return -FI_EINVAL;
	}
	return 0;
}

int wf_av_import(struct wf_av *av, const struct fi_peer_av_context *context)
{
	int ret = peer_check_context(av, context);

	if (!ret)
		av->peer = context->av;
	return ret;
}
