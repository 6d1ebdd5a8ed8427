/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/flow.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"
#include "sys/compiler.h"

void rxd_flow_send(struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t now_ns)
{
	xfer->begun = false;
	wf_list_push(&flow->out.waiting, &xfer->link);
	rxd_send_more(flow, now_ns);
}

bool rxd_flow_cancel(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	(void)flow;
	if (xfer->begun)
		return false;
	wf_list_remove(&xfer->link);
	return true;
}

/* Is the packet, which is no RTS or CTS, unchanged? Data of an extended peer may arrive
 * before its CTS, and have a seal if both ends want seals. */
static bool flow_is_intact(
	const struct rxd_flow *flow, const uint8_t *packet, size_t *len)
{
	bool sealed = flow->state == RXD_FLOW_OPEN ? flow->sealed : flow->wants_seals;

	return !sealed ||
	       (rxd_seal_check(packet, len) && *len >= sizeof(struct rxd_base));
}

/* While it is unknown whether the peer was restarted: is the packet of the instance
 * that the flow knows? That one has acknowledged packets; a later one knows none of
 * them. */
static bool flow_is_certain(const struct rxd_flow *flow, const struct rxd_base *base)
{
	const struct rxd_board *board = &flow->out.board;
	uint64_t next = base->seq;
	uint32_t low, half;

	if (!flow->extended || !(base->flags & RXD_FLAG_EXT) || board->una == 0)
		return false;
	if (rxd_type_is_numbered(base->type) || base->type == RXD_SKIP) {
		rxd_seq_unpack(base->seq, &low, &half);
		next = rxd_seq_widen(half, board->una);
	}
	return next - board->una <= board->next - board->una;
}

bool rxd_flow_receive(
	struct rxd_flow *flow, const void *packet, size_t len, uint64_t now_ns)
{
	const uint8_t *bytes = packet;
	struct rxd_base base;
	size_t whole = len;

	if (len < sizeof(base))
		return false;
	memcpy(&base, bytes, sizeof(base));
	switch (base.type) {
	case RXD_RTS:
		rxd_greeting_rts(flow, bytes, len, now_ns);
		return false;
	case RXD_CTS:
		rxd_greeting_cts(flow, bytes, len, now_ns);
		return false;
	default:
		break;
	}
	if (base.peer != flow->own_index || !flow_is_intact(flow, bytes, &len))
		return false;
	if (wf_unlikely(flow->greeting.contested) && !flow_is_certain(flow, &base)) {
		rxd_contest(flow, now_ns);
		return false;
	}
	rxd_greeting_prove(flow, now_ns);
	flow->in.heard_ns = now_ns;
	flow->greeting.plain = 0;
	flow->in.largest = (uint16_t)WF_MIN(
		WF_MAX(whole, (size_t)flow->in.largest), (size_t)UINT16_MAX);
	if (base.type == RXD_ACK)
		rxd_acked(flow, bytes, len, now_ns);
	else if (base.type == RXD_PROBE)
		flow->in.now |= flow->extended;
	else if (rxd_type_is_numbered(base.type) || base.type == RXD_SKIP)
		rxd_receive_numbered(flow, bytes, len, now_ns);
	if (base.type != RXD_BYE || !flow->extended)
		return false;
	rxd_acked_below(flow, base.seq, now_ns);
	return true;
}

static void flow_send_probe(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_base base = { .version = RXD_VERSION,
		.type = RXD_PROBE,
		.flags = RXD_FLAG_EXT,
		.peer = flow->peer_index };
	size_t len = rxd_path_next(&flow->path, now_ns);
	uint8_t *packet;

	if (flow->sealed)
		len -= WF_MIN(len, (size_t)RXD_SEAL_SIZE);
	if (len < sizeof(base))
		return;
	/* Without memory the probe counts as lost. */
	packet = calloc(1, len);
	if (!packet)
		return;
	memcpy(packet, &base, sizeof(base));
	(void)flow->config->ops->send_control(flow, packet, len);
	free(packet);
}

void rxd_flow_run(struct rxd_flow *flow, uint64_t now_ns, bool sleep)
{
	rxd_timeout_run(flow, now_ns);
	rxd_greeting_run(flow, now_ns);
	if (now_ns >= flow->path.at_ns && flow->state == RXD_FLOW_OPEN)
		flow_send_probe(flow, now_ns);
	rxd_send_more(flow, now_ns);
	rxd_receive_ack(flow, now_ns, sleep);
}

uint64_t rxd_flow_deadline(const struct rxd_flow *flow)
{
	uint64_t at_ns = WF_MIN(flow->out.timeout_ns, flow->greeting.at_ns);

	if (flow->out.blocked || (flow->in.now && flow->state == RXD_FLOW_OPEN))
		return 0;
	if (flow->state != RXD_FLOW_OPEN)
		return at_ns;
	return WF_MIN(at_ns, WF_MIN(flow->path.at_ns, flow->in.delay_ns));
}

bool rxd_flow_idle(const struct rxd_flow *flow)
{
	return wf_list_empty(&flow->out.waiting) && wf_list_empty(&flow->out.begun) &&
	       rxd_board_count(&flow->out.board) == 0;
}
