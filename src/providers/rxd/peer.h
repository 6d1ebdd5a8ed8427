/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_PEER_H
#define RXD_PEER_H

#include "providers/rxd/rxd.h"

/* The peers of an endpoint. ep->ep.lock is held in all functions but the first two. */

/* Call once the AV and the endpoint's name are known; 0 or a negative FI_E code. Both
 * are control calls; the second accepts what the first never saw. */
int rxd_peers_init(struct rxd_ep *ep);
void rxd_peers_done(struct rxd_ep *ep);

/* The peer for operations to @addr. 0, -FI_EINVAL: there is no such address; or
 * -FI_ENOMEM and the like. */
int rxd_peer_at(struct rxd_ep *ep, fi_addr_t addr, struct rxd_peer **ret_peer);

/* The peer that sent the packet; NULL: none that is known, or may become known. */
struct rxd_peer *rxd_peer_from(struct rxd_ep *ep, const uint8_t *packet, size_t len);

/* The peer has closed its endpoint, and says so: it is forgotten once no address leads
 * to it. */
void rxd_peer_gone(struct rxd_peer *peer);
/* Tell peers of this library that the endpoint is closed. */
void rxd_peers_say_goodbye(struct rxd_ep *ep);

/* Forget which peers the AV indices lead to that were removed. */
void rxd_peers_tick(struct rxd_ep *ep);

/* The AV index of the peer, or FI_ADDR_NOTAVAIL. */
fi_addr_t rxd_peer_index(struct rxd_peer *peer);

/* What matching needs of the source, and what completions report. */
fi_addr_t rxd_peer_match_addr(struct rxd_peer *peer);
fi_addr_t rxd_peer_source(struct rxd_peer *peer);

#endif
