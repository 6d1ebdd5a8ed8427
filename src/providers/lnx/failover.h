/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_FAILOVER_H
#define LNX_FAILOVER_H

#include "providers/lnx/endpoint.h"

/* Which rail is used for a peer, now and after one failed. No lock; any thread. */

/* @rail failed for the address with @err (a positive FI_E code), and is taken out if
 * @err says that the peer cannot be reached over it. True: another rail is in its
 * place.
 */
bool lnx_rail_failed(struct lnx_ep *ep, fi_addr_t addr, uint32_t rail, int err);

/* The rail for the next message to @peer, or LNX_NO_RAIL. */
uint32_t lnx_rail_next(struct lnx_ep *ep, struct lnx_peer *peer);

#endif
