/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/data/data.h"

/*
 * Before an endpoint is closed, it sends injected messages, answers that peers wait
 * for, and acknowledgements: the flows are run as before a sleep.
 */
bool rxd_flushed(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);

	rxd_run_flows(ep);
	return !rxd_tx_any_owed(ep);
}

/* Until it is acknowledged, a packet may have to be sent again. */
bool rxd_unfinished(struct wf_ep *wf)
{
	return !wf_list_empty(&rxd_ep_of(wf)->ops);
}
