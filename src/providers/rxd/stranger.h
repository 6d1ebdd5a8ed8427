/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_STRANGER_H
#define WF_RXD_STRANGER_H

#include "providers/rxd/rxd.h"

/*
 * Strangers: peers that are not in the AV, and to which there was no operation. Any
 * host can become one by an RTS, so their number is limited. One that has not proven
 * that it has its address is forgotten after a while, or when there are too many of
 * them: that costs it nothing but another RTS, because nothing of it was taken. When
 * there are too many others, one is forgotten that has been silent for
 * FI_OFI_RXD_PEER_TIMEOUT. ep->ep.lock is held.
 */

/* Is there space for one more stranger, if need be after another one is forgotten? */
bool rxd_stranger_fits(struct rxd_ep *ep);
/* @peer, from which an RTS came, is a stranger from now on. */
void rxd_stranger_add(struct rxd_peer *peer);
/* @peer is no stranger any more, if it was one: there is an operation to it, or it is
 * being forgotten. */
void rxd_stranger_remove(struct rxd_peer *peer);
/* Forget strangers that have proven nothing for too long. */
void rxd_strangers_tick(struct rxd_ep *ep);

#endif
