/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_PARTS_H
#define RXD_FLOW_PARTS_H

#include "providers/rxd/flow/flow.h"

/* What the files of a flow call of each other. Locking: flow.h. */

/* greeting.c */
/* Ask for the peer's index, unless that is under way. */
void rxd_greet(struct rxd_flow *flow, uint64_t now_ns);
void rxd_greeting_run(struct rxd_flow *flow, uint64_t now_ns);
void rxd_greeting_rts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
void rxd_greeting_cts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);

/* life.c */
/* Numbers, timers and windows of both directions as at the start; queued transfers stay
 * queued, begun ones must have ended. */
void rxd_flow_reset(struct rxd_flow *flow);
/* The same for a flow that nothing has passed yet; begun transfers are queued again. */
void rxd_flow_begin_again(struct rxd_flow *flow);
/* The peer was restarted. */
void rxd_flow_restarted(struct rxd_flow *flow);
/* The peer does not answer: fail everything. */
void rxd_flow_give_up(struct rxd_flow *flow);

/* send.c */
/* Is the provider below, towards this peer, to be taken as one that loses nothing? */
static inline bool rxd_flow_trusts(const struct rxd_flow *flow)
{
	return !flow->config->resend && !flow->extended;
}

/* Send what the windows allow. */
void rxd_send_more(struct rxd_flow *flow, uint64_t now_ns);
/* Have a peer of another library acknowledge, by a packet with an old number. */
void rxd_send_solicit(struct rxd_flow *flow);
/* Begun transfers become waiting ones, which get numbers from @number on. */
void rxd_send_renumber(struct rxd_flow *flow, uint64_t number);

/* acked.c */
void rxd_acked(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
/* The peer has all packets below @next, if that may be. */
void rxd_acked_below(struct rxd_flow *flow, uint64_t next, uint64_t now_ns);

/* The time at which packets that were overtaken count as lost, out.loss_ns, has come.
 */
void rxd_acked_late(struct rxd_flow *flow, uint64_t now_ns);

/* timeout.c */
void rxd_timeout_run(struct rxd_flow *flow, uint64_t now_ns);
void rxd_timeout_start(struct rxd_flow *flow, uint64_t now_ns);
/* A peer of another library expects less than it has acknowledged. */
void rxd_timeout_behind(struct rxd_flow *flow);

/* receive.c */
void rxd_receive_numbered(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
/* Send the acknowledgement that is due. */
void rxd_receive_ack(struct rxd_flow *flow, uint64_t now_ns, bool sleep);
/* A packet leaves that tells the number expected as well. */
void rxd_receive_piggybacked(struct rxd_flow *flow);

#endif
