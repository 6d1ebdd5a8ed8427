/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/deferred.h"

/*
 * Counting of receives by members of other libraries.
 *
 * Such a member counts receives by itself, into a counter that it imports. It does not
 * know that a deferred receive counts at the receive's completion counter, and at the
 * endpoint's counter only if the application asked for it. A member counts a success
 * immediately before it writes the completion, and a failure immediately after. While
 * the member has a deferred receive, a success that it counts is therefore held back
 * until its next completion shows which receive it was, or the member counts another
 * receive, or the progress call of the member returns. Locks as in deferred.c.
 */

static struct lnx_rail *deferred_cntr_rail_of_cntr(struct fid_peer_cntr *fid)
{
	return wf_container_of(fid, struct lnx_rail, below.cntr[WF_CNTR_RECV].port);
}

void lnx_count_held(struct lnx_rail *rail)
{
	if (atomic_exchange_explicit(&rail->held, false, memory_order_relaxed))
		wf_cntr_add_n(rail->below.cntr[WF_CNTR_RECV].port.fid.context, 1);
}

static void deferred_cntr_inc(struct fid_peer_cntr *fid)
{
	struct lnx_rail *rail = deferred_cntr_rail_of_cntr(fid);

	lnx_count_held(rail);
	if (wf_likely(!atomic_load_explicit(&rail->deferred, memory_order_relaxed)))
		wf_cntr_add_n(fid->fid.context, 1);
	else
		atomic_store_explicit(&rail->held, true, memory_order_relaxed);
}

static void deferred_cntr_incerr(struct fid_peer_cntr *fid)
{
	struct lnx_rail *rail = deferred_cntr_rail_of_cntr(fid);

	lnx_count_held(rail);
	if (!atomic_exchange_explicit(
		    &rail->failure_counted, false, memory_order_relaxed))
		wf_cntr_add_err(fid->fid.context);
}

struct fi_ops_cntr_owner lnx_deferred_cntr_ops = {
	.size = sizeof(lnx_deferred_cntr_ops),
	.inc = deferred_cntr_inc,
	.incerr = deferred_cntr_incerr,
};
