/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"
#include "sys/compiler.h"

/*
 * Sends packets: lost ones first, then new ones, while the peer's window and the
 * congestion window allow it.
 *
 * A peer of another library acknowledges only operations and last packets. So that the
 * congestion window works with such a peer, too, a short packet with an old number
 * makes it acknowledge: it drops the packet and answers.
 */
enum { SOLICIT_EVERY = 8 };

static struct rxd_base send_base_of(
	const struct rxd_flow *flow, uint64_t number, bool ack_now)
{
	struct rxd_base base = { .version = RXD_VERSION, .peer = flow->peer_index };

	if (!flow->extended) {
		base.seq = number;
		return base;
	}
	base.flags = RXD_FLAG_EXT | (ack_now ? RXD_FLAG_ACK_NOW : 0);
	base.seq = rxd_seq_pack(number, flow->in.next);
	return base;
}

static ssize_t send_skip(struct rxd_flow *flow, struct rxd_base base)
{
	uint8_t packet[RXD_SKIP_SIZE];

	base.type = RXD_SKIP;
	memcpy(packet, &base, sizeof(base));
	memcpy(packet + sizeof(base), &flow->out.skipped, sizeof(flow->out.skipped));
	return flow->config->ops->send_control(flow, packet, sizeof(packet));
}

void rxd_send_solicit(struct rxd_flow *flow)
{
	struct rxd_base base = send_base_of(flow, flow->out.board.una - 1, true);
	uint8_t packet[RXD_DATA_HEAD] = { 0 };

	/* Number 0 is that of an operation, which is acknowledged anyway. */
	if (flow->out.board.una == 0 || flow->extended || rxd_flow_trusts(flow))
		return;
	base.type = RXD_DATA;
	memcpy(packet, &base, sizeof(base));
	(void)flow->config->ops->send_control(flow, packet, sizeof(packet));
	flow->out.unasked = 0;
}

/* May @bytes more be in flight? */
static bool send_fits(struct rxd_flow *flow, uint32_t bytes)
{
	struct rxd_outgoing *out = &flow->out;

	out->limited = out->board.in_flight > 0 && !rxd_flow_trusts(flow) &&
		       out->board.in_flight + bytes > out->cc.cwnd;
	return !out->limited;
}

/* Let the owner send the packets that it has collected. A packet that the provider
 * below does not take is sent again later, and the congestion window does not shrink:
 * it is no loss of the network. False: there was such a packet. */
static bool send_flush(struct rxd_flow *flow)
{
	struct rxd_outgoing *out = &flow->out;
	unsigned int kept = out->kept;
	size_t left;

	if (kept == 0)
		return true;
	out->kept = 0;
	left = flow->config->ops->flush(flow);
	if (wf_likely(left == 0))
		return true;
	for (unsigned int i = kept - (unsigned int)left; i < kept; i++)
		rxd_board_set(&out->board, out->kept_numbers[i], RXD_SENT_LOST);
	out->blocked = true;
	/* A packet that was not sent may have included an acknowledgement. */
	flow->in.now = true;
	return false;
}

/* Send packet @k of @xfer: like rxd_flow_ops.send, but never -FI_ENOSPC. */
static ssize_t send_or_keep(struct rxd_flow *flow, struct rxd_xfer *xfer,
	uint64_t number, struct rxd_base base)
{
	const struct rxd_flow_ops *ops = flow->config->ops;
	struct rxd_outgoing *out = &flow->out;
	ssize_t bytes = ops->send(flow, xfer, number - xfer->first, base);

	if (bytes == -FI_ENOSPC)
		bytes = send_flush(flow)
				? ops->send(flow, xfer, number - xfer->first, base)
				: -FI_EAGAIN;
	if (bytes > 0 && ops->flush)
		out->kept_numbers[out->kept++] = number;
	return bytes;
}

/* Send packet @number, of @xfer or, if that is NULL, one that skips numbers. False: it
 * could not be sent now. */
static bool send_packet(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t number,
	bool ack_now, uint64_t now_ns)
{
	struct rxd_base base = send_base_of(flow, number, ack_now);
	bool idle = flow->out.board.in_flight == 0;
	ssize_t bytes;

	if (xfer)
		bytes = send_or_keep(flow, xfer, number, base);
	else
		bytes = send_skip(flow, base);
	if (bytes == -FI_EAGAIN) {
		flow->out.blocked = true;
		return false;
	}
	rxd_board_sent(&flow->out.board, number, xfer,
		bytes > 0 ? (uint32_t)bytes : (uint32_t)sizeof(base), now_ns);
	rxd_board_at(&flow->out.board, number)->mark =
		rxd_delivery_sent(&flow->out.delivery, idle, now_ns);
	if (flow->extended)
		rxd_receive_piggybacked(flow);
	if (rxd_board_count(&flow->out.board) == 1 ||
		flow->out.timeout_ns == UINT64_MAX)
		rxd_timeout_start(flow, now_ns);
	return true;
}

static bool send_lost(struct rxd_flow *flow, uint64_t now_ns)
{
	uint64_t number = rxd_board_first_lost(&flow->out.board);
	const struct rxd_sent *sent = rxd_board_at(&flow->out.board, number);

	if (!send_fits(flow, sent->bytes) && !flow->out.forced)
		return false;
	flow->out.forced = false;
	flow->out.unasked++;
	return send_packet(flow, sent->xfer, number, true, now_ns);
}

static struct rxd_xfer *send_begin(struct rxd_flow *flow)
{
	struct wf_list *item = wf_list_pop(&flow->out.waiting);
	struct rxd_xfer *xfer = wf_list_entry(item, struct rxd_xfer, link);

	if (!xfer->begun) {
		flow->busy = true;
		xfer->count = flow->config->ops->begin(flow, xfer);
		flow->busy = false;
	}
	xfer->begun = true;
	xfer->first = flow->out.board.next;
	wf_list_push(&flow->out.begun, &xfer->link);
	flow->out.current = xfer;
	return xfer;
}

/* Does the peer's window allow one more packet? One may always be under way, because
 * its acknowledgement reports a new window. */
static bool send_window_open(const struct rxd_flow *flow)
{
	size_t count = rxd_board_count(&flow->out.board);

	return count < WF_MAX(flow->out.window, 1);
}

/* Is this packet the last one that the windows allow, so that only an acknowledgement
 * permits more? */
static bool send_windows_close(const struct rxd_flow *flow)
{
	const struct rxd_outgoing *out = &flow->out;

	return rxd_board_count(&out->board) + 2 > out->window ||
	       out->board.in_flight + 2 * (uint64_t)flow->packet_size > out->cc.cwnd;
}

static bool send_new(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;
	struct rxd_xfer *xfer = out->current;
	uint64_t number = out->board.next;

	if (!xfer && wf_list_empty(&out->waiting))
		return false;
	if (!send_window_open(flow) || !send_fits(flow, flow->packet_size))
		return false;
	if (!rxd_board_reserve(&out->board)) {
		out->blocked = true;
		return false;
	}
	if (!xfer)
		xfer = send_begin(flow);
	if (!send_packet(flow, xfer, number, send_windows_close(flow), now_ns))
		return false;
	out->unasked++;
	if (number == xfer->first || number + 1 == xfer->first + xfer->count)
		out->unasked = 0;
	if (number + 1 == xfer->first + xfer->count)
		out->current = NULL;
	return true;
}

void rxd_send_more(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	if (flow->busy)
		return;
	if (flow->state != RXD_FLOW_OPEN) {
		if (!wf_list_empty(&out->waiting))
			rxd_greet(flow, now_ns);
		return;
	}
	if (flow->greeting.syncing)
		return;
	out->blocked = false;
	out->limited = false;
	while (out->board.lost > 0 ? send_lost(flow, now_ns) : send_new(flow, now_ns))
		if (out->unasked >= SOLICIT_EVERY && !flow->extended &&
			send_flush(flow))
			rxd_send_solicit(flow);
	if (send_flush(flow) && out->unasked > 0)
		rxd_send_solicit(flow);
}

void rxd_send_renumber(struct rxd_flow *flow, uint64_t number)
{
	struct rxd_outgoing *out = &flow->out;

	while (!wf_list_empty(&out->begun)) {
		struct wf_list *last = out->begun.prev;

		wf_list_remove(last);
		wf_list_insert_after(&out->waiting, last);
	}
	out->current = NULL;
	out->unasked = 0;
	out->timeout_ns = out->loss_ns = UINT64_MAX;
	rxd_board_clear(&out->board, number);
}
