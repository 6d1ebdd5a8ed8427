/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_PEER_H
#define WF_RXD_PEER_H

#include "providers/rxd/below.h"

/* The peers of an endpoint. ep->ep.lock is held in all functions but rxd_peers_init and
 * rxd_peers_done. */

/* Called when the AV and the endpoint's name are known; 0 or a negative fi_errno. Both
 * are control calls; rxd_peers_done may be called without rxd_peers_init. */
int rxd_peers_init(struct rxd_ep *ep);
void rxd_peers_done(struct rxd_ep *ep);

/* The peer for operations to @addr, created if there is none. Returns 0; -FI_EINVAL:
 * there is no such address; or another negative fi_errno. */
int rxd_peer_at(struct rxd_ep *ep, fi_addr_t addr, struct rxd_peer **ret_peer);

/* The peer that sent the packet, created if that is permitted; NULL: the sender is
 * unknown, or is not at the address of the peer that the packet names. */
struct rxd_peer *rxd_peer_from(struct rxd_ep *ep, const struct rxd_packet *packet);

/* rxd_flow_ops */
uint32_t rxd_peer_new_index(struct rxd_flow *flow);
size_t rxd_peer_path_packet(struct rxd_flow *flow);

/* The peer has reported that it closed its endpoint: it is freed when no address leads
 * to it. */
void rxd_peer_gone(struct rxd_peer *peer);
/* Free @peer at the next tick, or when no message and no AV index need it any more. */
void rxd_peer_forget(struct rxd_peer *peer);
/* Send RXD_BYE to the extended peers: the endpoint is being closed. */
void rxd_peers_say_goodbye(struct rxd_ep *ep);

/* Forget the AV indices that were removed. */
void rxd_peers_tick(struct rxd_ep *ep);

/* The AV index of the peer, or FI_ADDR_NOTAVAIL. */
fi_addr_t rxd_peer_index(struct rxd_peer *peer);

/* The source for matching, and the source that completions report. */
fi_addr_t rxd_peer_match_addr(struct rxd_peer *peer);
fi_addr_t rxd_peer_source(struct rxd_peer *peer);

#endif
