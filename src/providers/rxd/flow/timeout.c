/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"
#include "sys/compiler.h"

/*
 * Timeouts. Each one resends the oldest packet only: its acknowledgement tells what
 * became of the others, and most often the peer just did not look. After some timeouts
 * an RTS goes along, which a restarted peer answers as one that it does not know; after
 * many the peer is given up.
 */
enum {
	GREET_ROUNDS = 3,
	/* Rounds after which a peer of another library that has no window for a
	 * transfer is taken to refuse it: for a bad key it does nothing else. */
	SHUT_ROUNDS = 12,
	/* Rounds after which packets of the wire in use are tried. */
	SMALLER_ROUNDS = 4,
};

/* Between questions to a silent peer that owes answers. */
#define SILENCE_NS UINT64_C(4000000000)

void rxd_timeout_start(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	out->timeout_ns = UINT64_MAX;
	if (rxd_board_count(&out->board) > 0) {
		out->timeout_ns =
			WF_MIN(now_ns + rxd_rtt_timeout(&out->rtt), out->loss_ns);
	} else if (flow->owed > 0 && flow->state == RXD_FLOW_OPEN) {
		out->timeout_ns = now_ns + SILENCE_NS;
	}
}

/* Nothing is unacknowledged, but answers are missing. */
static void ask_silent(struct rxd_flow *flow, uint64_t now_ns)
{
	if (now_ns >= flow->in.heard_ns + SILENCE_NS)
		rxd_greet(flow, now_ns);
	rxd_timeout_start(flow, now_ns);
}

static void fail_oldest(struct rxd_flow *flow, int err)
{
	struct rxd_xfer *xfer =
		wf_list_entry(flow->out.begun.next, struct rxd_xfer, link);

	wf_list_remove(&xfer->link);
	xfer->begun = false;
	flow->out.rounds = 0;
	flow->out.rtt.backoff = 0;
	rxd_send_renumber(flow, flow->out.board.una);
	flow->busy = true;
	flow->config->ops->failed(flow, xfer, err);
	flow->busy = false;
}

/* Does a peer of another library refuse the oldest transfer? It has taken nothing of
 * it, nor of what follows. */
static bool is_refused(const struct rxd_flow *flow)
{
	const struct rxd_outgoing *out = &flow->out;

	return !flow->extended && out->window == 0 && out->rounds > SHUT_ROUNDS &&
	       !wf_list_empty(&out->begun) &&
	       wf_list_entry(out->begun.next, struct rxd_xfer, link)->first ==
		       out->board.una;
}

static void resend_oldest(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;
	struct rxd_sent *sent = rxd_board_at(&out->board, out->board.una);

	if (out->rounds >= SMALLER_ROUNDS && sent->bytes > flow->config->base_packet)
		flow->packet_size = flow->config->base_packet;
	/* HELD: the peer dropped an early packet that it could not take. Without a
	 * window only a repeated packet asks for one. */
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
		ask_silent(flow, now_ns);
		return;
	}
	if (now_ns >= out->loss_ns) {
		rxd_acked_late(flow, now_ns);
		rxd_timeout_start(flow, now_ns);
		return;
	}
	out->rounds++;
	out->rtt.backoff++;
	if (out->rounds > flow->config->rounds)
		rxd_flow_give_up(flow);
	else if (is_refused(flow))
		fail_oldest(flow, FI_EREMOTEIO);
	else
		resend_oldest(flow, now_ns);
}

void rxd_timeout_behind(struct rxd_flow *flow)
{
	/* A late acknowledgement is the ordinary case. A peer that goes on expecting
	 * less than it once acknowledged, whatever is sent, has lost its memory. */
	if (!flow->extended && flow->out.rounds >= GREET_ROUNDS)
		rxd_flow_restarted(flow);
}
