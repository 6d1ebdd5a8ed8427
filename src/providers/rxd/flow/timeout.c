/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"
#include "sys/compiler.h"

/*
 * Timeouts. Each timeout resends only the oldest packet: its acknowledgement reports
 * the state of the others, and most often the peer just made no progress. After some
 * timeouts an RTS is sent as well, which a restarted peer answers as a stranger; a peer
 * that stays silent is given up.
 */
enum {
	GREET_ROUNDS = 3,
	/* Rounds after which a peer of another library whose window stays closed is
	 * assumed to refuse the transfer: a bad key has no other effect there. */
	SHUT_ROUNDS = 12,
	STALL_FACTOR = 6,
	/* Rounds after which the packet size of the wire protocol in use is tried. */
	SMALLER_ROUNDS = 4,
};

/* Time between two RTS to a silent peer that owes answers. */
#define SILENCE_NS UINT64_C(4000000000)

/* The time when the peer is given up, after a first timeout. A peer that is heard but
 * makes no progress gets STALL_FACTOR times as long; where no packet is sent again,
 * that it is heard is of no use. */
static uint64_t timeout_end_ns(const struct rxd_flow *flow)
{
	uint64_t patience_ns = flow->config->patience_ns;
	uint64_t stalled_ns = flow->out.stalled_ns;

	if (rxd_flow_trusts(flow))
		return stalled_ns + patience_ns;
	return WF_MIN(WF_MAX(stalled_ns, flow->in.heard_ns) + patience_ns,
		stalled_ns + STALL_FACTOR * patience_ns);
}

void rxd_timeout_start(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	out->timeout_ns = UINT64_MAX;
	if (rxd_board_count(&out->board) > 0) {
		out->timeout_ns =
			WF_MIN(now_ns + rxd_rtt_timeout(&out->rtt), out->loss_ns);
		if (out->rounds > 0)
			out->timeout_ns = WF_MIN(out->timeout_ns,
				WF_MAX(timeout_end_ns(flow), now_ns + 1));
	} else if (flow->owed > 0 && flow->state == RXD_FLOW_OPEN) {
		out->timeout_ns = now_ns + SILENCE_NS;
	}
}

/* No packet is unacknowledged, but answers are missing. */
static void timeout_ask_silent(struct rxd_flow *flow, uint64_t now_ns)
{
	if (now_ns >= flow->in.heard_ns + SILENCE_NS)
		rxd_greet(flow, now_ns);
	rxd_timeout_start(flow, now_ns);
}

static void timeout_fail_oldest(struct rxd_flow *flow, int err)
{
	struct rxd_xfer *xfer =
		wf_list_entry(flow->out.begun.next, struct rxd_xfer, link);

	wf_list_remove(&xfer->link);
	flow->out.rounds = 0;
	flow->out.rtt.backoff = 0;
	rxd_send_renumber(flow, flow->out.board.una);
	flow->busy = true;
	flow->config->ops->failed(flow, xfer, err);
	flow->busy = false;
}

/* Does a peer of another library refuse the oldest transfer? It has accepted no packet
 * of it. */
static bool timeout_is_refused(const struct rxd_flow *flow)
{
	const struct rxd_outgoing *out = &flow->out;

	return !flow->extended && out->window == 0 && out->rounds > SHUT_ROUNDS &&
	       !wf_list_empty(&out->begun) &&
	       wf_list_entry(out->begun.next, struct rxd_xfer, link)->first ==
		       out->board.una;
}

static void timeout_resend_oldest(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;
	struct rxd_sent *sent = rxd_board_at(&out->board, out->board.una);

	if (out->rounds >= SMALLER_ROUNDS && sent->bytes > flow->config->base_packet)
		flow->packet_size = flow->config->base_packet;
	/* RXD_SENT_HELD: the peer dropped an early packet for which it had no memory.
	 * While the window is closed, only a repeated packet asks for a new window. */
	if (sent->state != RXD_SENT_LOST && (!rxd_flow_trusts(flow) || !out->window))
		rxd_board_set(&out->board, out->board.una, RXD_SENT_LOST);
	out->forced = true;
	out->repeats = 0;
	if (out->rounds >= GREET_ROUNDS)
		rxd_greet(flow, now_ns);
	rxd_timeout_start(flow, now_ns);
}

void rxd_timeout_run(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	if (out->timeout_ns == UINT64_MAX && flow->owed > 0)
		rxd_timeout_start(flow, now_ns);
	if (now_ns < out->timeout_ns)
		return;
	if (rxd_board_count(&out->board) == 0) {
		timeout_ask_silent(flow, now_ns);
		return;
	}
	if (now_ns >= out->loss_ns) {
		rxd_acked_late(flow, now_ns);
		rxd_timeout_start(flow, now_ns);
		return;
	}
	if (out->rounds++ == 0)
		out->stalled_ns = now_ns;
	out->rtt.backoff++;
	if (now_ns >= timeout_end_ns(flow))
		rxd_flow_give_up(flow);
	else if (timeout_is_refused(flow))
		timeout_fail_oldest(flow, FI_EREMOTEIO);
	else
		timeout_resend_oldest(flow, now_ns);
}

void rxd_timeout_behind(struct rxd_flow *flow)
{
	/* A late acknowledgement is the usual case. A peer that keeps expecting less
	 * than it once acknowledged has been restarted. */
	if (!flow->extended && flow->out.rounds >= GREET_ROUNDS)
		rxd_flow_restarted(flow, true);
}
