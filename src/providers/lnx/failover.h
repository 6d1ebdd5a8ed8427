/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_FAILOVER_H
#define WF_LNX_FAILOVER_H

#include "providers/lnx/endpoint.h"

/* Choice of the rail to a peer, also after a rail failed. No lock; any thread. */

/* Does @err (positive) mean that the peer cannot be reached over the rail? */
bool lnx_rail_is_gone(int err);

/* An operation to @addr over @rail failed with @err, a positive FI_E code. If @err
 * means that the peer cannot be reached over the rail, the peer's next operations use
 * another one. True: such a rail is left. */
bool lnx_rail_failed(struct lnx_ep *ep, fi_addr_t addr, uint32_t rail, int err);

/* The rail for the next message to @peer, or LNX_NO_RAIL. */
uint32_t lnx_rail_next(struct lnx_ep *ep, struct lnx_peer *peer);

#endif
