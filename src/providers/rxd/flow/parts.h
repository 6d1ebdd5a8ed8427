/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_PARTS_H
#define WF_RXD_FLOW_PARTS_H

#include "providers/rxd/flow/flow.h"

/* Functions that the files of a flow call in each other. Locking: flow.h. */

/* greeting.c */
/* Ask for the peer's index, unless an RTS is under way. */
void rxd_greet(struct rxd_flow *flow, uint64_t now_ns);
void rxd_greeting_run(struct rxd_flow *flow, uint64_t now_ns);
void rxd_greeting_rts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
void rxd_greeting_cts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);

/* The peer knows own_index: it has its address. */
void rxd_greeting_prove(struct rxd_flow *flow, uint64_t now_ns);
/* A packet came that may be of another instance of the peer, or forged: send an RTS,
 * which only the peer can answer; flow.greeting.contested until then. */
void rxd_contest(struct rxd_flow *flow, uint64_t now_ns);

/* life.c */
/* Set numbers, timers and windows of both directions to their initial values. Queued
 * transfers stay queued; those that had begun must have ended. */
void rxd_flow_reset(struct rxd_flow *flow);
/* The same for a flow that has not transferred any packet yet; transfers that had begun
 * are queued again. */
void rxd_flow_begin_again(struct rxd_flow *flow);
/* The peer was restarted. @rename: it gets another index. */
void rxd_flow_restarted(struct rxd_flow *flow, bool rename);
/* The peer does not answer: fail all transfers. */
void rxd_flow_give_up(struct rxd_flow *flow);

/* send.c */
/* Is the provider below assumed to lose no packets to this peer? */
static inline bool rxd_flow_trusts(const struct rxd_flow *flow)
{
	return !flow->config->resend && !flow->extended;
}

/* Send as many packets as the windows allow. */
void rxd_send_more(struct rxd_flow *flow, uint64_t now_ns);
/* Make a peer of another library acknowledge, by sending a packet with an old
 * number. */
void rxd_send_solicit(struct rxd_flow *flow);
/* Put transfers that had begun back into the queue; packets get numbers from @number
 * on. */
void rxd_send_renumber(struct rxd_flow *flow, uint64_t number);

/* acked.c */
void rxd_acked(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
/* The peer has received all packets below @next, if that number is possible. */
void rxd_acked_below(struct rxd_flow *flow, uint64_t next, uint64_t now_ns);

/* The time out.loss_ns has come: packets that were overtaken count as lost. */
void rxd_acked_late(struct rxd_flow *flow, uint64_t now_ns);

/* timeout.c */
void rxd_timeout_run(struct rxd_flow *flow, uint64_t now_ns);
void rxd_timeout_start(struct rxd_flow *flow, uint64_t now_ns);
/* A peer of another library expects a lower number than it has acknowledged. */
void rxd_timeout_behind(struct rxd_flow *flow);

/* receive.c */
void rxd_receive_numbered(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns);
/* Send the acknowledgement, if it is due. */
void rxd_receive_ack(struct rxd_flow *flow, uint64_t now_ns, bool sleep);
/* A packet is sent that includes the number expected, so no separate acknowledgement is
 * needed. */
void rxd_receive_piggybacked(struct rxd_flow *flow);

#endif
