/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/deferred.h"
#include "providers/lnx/sources.h"

/*
 * Sources of unexpected messages that arrived over members of other libraries.
 *
 * An unexpected message loses its source when the source's address is removed, because
 * the next endpoint with the same AV index did not send it. A member of this library
 * sees to that itself. A member that knows only the public operations cannot, so lnx
 * does it when an address is removed. Removing and inserting hold domain->control, so
 * that no message of the next endpoint with the index has arrived yet.
 *
 * An unexpected message gets a source when its address is inserted: the member's
 * fi_av_insert calls foreach_unspec_addr, perhaps with a lock held that the member also
 * takes in fi_cq_read. fi_cq_read of a member is called with the lock of the receive
 * context held, and foreach_unspec_addr takes that lock: the opposite order. So a call
 * during an insertion is put off until the insertion has returned.
 *
 * @inserting of the AV and @postponed of a rail are a pair, both sequentially
 * consistent: a member's call stores postponed, then reads whether an insertion is
 * running; the end of an insertion clears inserting, then reads postponed. At least one
 * of the two finds the other and makes the call.
 */

static struct lnx_rail *sources_rail_of(struct fid_peer_srx *fid)
{
	return wf_container_of(fid, struct lnx_rail, below.srx_port.fid);
}

/* Make the foreach_unspec_addr call that was put off, if there is one. */
static void sources_call_postponed(struct lnx_rail *rail)
{
	lnx_get_addr_fn *get_addr = atomic_exchange(&rail->postponed, NULL);

	if (get_addr)
		wf_srx_owner_ops.foreach_unspec_addr(
			&rail->below.srx_port.fid, get_addr);
}

static void sources_foreach_unspec(struct fid_peer_srx *fid, lnx_get_addr_fn *get_addr)
{
	struct lnx_rail *rail = sources_rail_of(fid);

	atomic_store(&rail->postponed, get_addr);
	if (!atomic_load(&rail->rx.ep->av->inserting))
		sources_call_postponed(rail);
}

void lnx_sources_export(struct lnx_rail *rail)
{
	rail->srx_ops = wf_srx_owner_ops;
	rail->srx_ops.foreach_unspec_addr = sources_foreach_unspec;
	lnx_deferred_export_srx(&rail->srx_ops);
}

static void sources_call_all_postponed(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++)
		sources_call_postponed(&ep->rail[i]);
}

int lnx_sources_insert(struct lnx_av *av, unsigned int rail, const void *addr,
	fi_addr_t *id, uint64_t flags)
{
	int ret;

	atomic_store(&av->inserting, true);
	ret = fi_av_insert(av->member[rail], addr, 1, id, flags, NULL);
	atomic_store(&av->inserting, false);
	wf_list_foreach(link, &av->eps)
		sources_call_all_postponed(wf_list_entry(link, struct lnx_ep, av_link));
	return ret;
}

static fi_addr_t sources_no_source(struct fi_peer_rx_entry *entry)
{
	(void)entry;
	return FI_ADDR_UNSPEC;
}

static bool sources_is_at(fi_addr_t addr, const void *arg)
{
	return addr == *(const fi_addr_t *)arg;
}

static bool sources_is_foreign_source(const struct lnx_rail *rail)
{
	return rail->below.srx && !rail->below.builtin;
}

void lnx_sources_forget(struct lnx_av *av, fi_addr_t index)
{
	wf_list_foreach(link, &av->eps)
	{
		struct lnx_ep *ep = wf_list_entry(link, struct lnx_ep, av_link);

		for (unsigned int i = 0; i < ep->count; i++)
			if (sources_is_foreign_source(&ep->rail[i]))
				wf_srx_recheck_sources(&ep->rail[i].below.srx_port.fid,
					sources_no_source, sources_is_at, &index);
	}
}

void lnx_sources_enabled(struct lnx_ep *ep)
{
	bool any = false;

	for (unsigned int i = 0; i < ep->count; i++)
		any |= sources_is_foreign_source(&ep->rail[i]);
	if (!any)
		return;
	(void)pthread_mutex_lock(&ep->domain->control);
	wf_list_push(&ep->av->eps, &ep->av_link);
	sources_call_all_postponed(ep);
	(void)pthread_mutex_unlock(&ep->domain->control);
}

void lnx_sources_done(struct lnx_ep *ep)
{
	(void)pthread_mutex_lock(&ep->domain->control);
	wf_list_remove(&ep->av_link);
	(void)pthread_mutex_unlock(&ep->domain->control);
}
