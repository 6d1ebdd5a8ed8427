/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/rxd/flow/parts.h"

/*
 * Numbered packets, and their acknowledgements. An acknowledgement is sent at the end
 * of a batch: to a peer of another library after any packet, so that it waits no longer
 * than it expects; to an extended peer after two packets, a gap or a repetition, or
 * after a short delay, in which a packet to the peer can include the acknowledgement.
 */
enum { ACK_EVERY = 2 };

#define ACK_DELAY_NS UINT64_C(20000)

void rxd_receive_piggybacked(struct rxd_flow *flow)
{
	/* Only an ACK can report packets behind a gap, and that the window is
	 * closed. */
	if (flow->in.now)
		return;
	flow->in.due = 0;
	flow->in.delay_ns = UINT64_MAX;
}

static bool receive_ack_due(const struct rxd_flow *flow, uint64_t now_ns, bool sleep)
{
	const struct rxd_incoming *in = &flow->in;

	if (flow->state != RXD_FLOW_OPEN)
		return false;
	if (in->now)
		return true;
	return in->due > 0 && (in->due >= ACK_EVERY || sleep || !flow->extended ||
				      now_ns >= in->delay_ns);
}

void rxd_receive_ack(struct rxd_flow *flow, uint64_t now_ns, bool sleep)
{
	struct rxd_incoming *in = &flow->in;
	uint8_t packet[RXD_ACK_SIZE_MAX];
	struct rxd_ack ack;
	size_t len;

	if (!receive_ack_due(flow, now_ns, sleep))
		return;
	ack.next = in->next;
	ack.extended = flow->extended;
	ack.window = flow->extended ? flow->config->window_ext : flow->config->window;
	if (in->shut)
		ack.window = 0;
	ack.refused = in->refused;
	ack.largest = in->largest;
	ack.words = 0;
	if (flow->extended)
		ack.words =
			rxd_early_bits(&in->early, in->next, ack.early, RXD_SACK_WORDS);
	len = rxd_ack_write(&ack, flow->peer_index, packet);
	if (flow->config->ops->send_control(flow, packet, len) < 0) {
		in->now = true;
		flow->out.blocked = true;
		return;
	}
	in->now = false;
	in->due = 0;
	in->delay_ns = UINT64_MAX;
}

static void receive_advance(struct rxd_flow *flow, uint64_t count)
{
	struct rxd_incoming *in = &flow->in;
	uint64_t last = in->early.last;

	/* Skipped packets may be among the early ones; none is beyond the last early
	 * packet. */
	for (uint64_t i = 0; i < count && in->early.count > 0 && in->next + i <= last;
		i++)
		rxd_early_drop(&in->early, in->next + i, &flow->config->kept);
	in->next += count;
	in->shut = false;
	in->refused = 0;
}

/* The peer gave up a transfer: skip its packet numbers. True: done. */
static bool receive_skip(struct rxd_flow *flow, const uint8_t *packet, size_t len)
{
	uint64_t count;

	if (!flow->extended || len < RXD_SKIP_SIZE)
		return false;
	memcpy(&count, packet + sizeof(struct rxd_base), sizeof(count));
	if (count == 0 || count > RXD_WINDOW_MAX)
		return false;
	receive_advance(flow, count);
	return true;
}

/* Deliver the packet with the expected number. True: it was accepted. */
static bool receive_deliver(struct rxd_flow *flow, const uint8_t *packet, size_t len)
{
	struct rxd_incoming *in = &flow->in;
	struct rxd_base base;
	int64_t count;

	memcpy(&base, packet, sizeof(base));
	if (base.type == RXD_SKIP)
		return receive_skip(flow, packet, len);
	if (in->refused != 0)
		return false;
	base.flags &= (uint16_t) ~(RXD_FLAG_EXT | RXD_FLAG_ACK_NOW);
	base.seq = in->next;
	flow->busy = true;
	count = flow->config->ops->deliver(flow, &base, packet, len);
	flow->busy = false;
	if (count > 0) {
		receive_advance(flow, (uint64_t)count);
		return true;
	}
	if (count < 0 && flow->extended)
		in->refused = (uint16_t)-count;
	else
		in->shut = true;
	in->now = true;
	return false;
}

static void receive_deliver_early(struct rxd_flow *flow)
{
	struct rxd_incoming *in = &flow->in;
	const struct rxd_early_packet *packet;

	while ((packet = rxd_early_find(&in->early, in->next))) {
		uint64_t number = in->next;

		if (!receive_deliver(flow, packet->bytes, packet->len)) {
			/* The peer sends the packet again. */
			rxd_early_drop(&in->early, number, &flow->config->kept);
			return;
		}
	}
}

static void receive_take(
	struct rxd_flow *flow, uint64_t number, const uint8_t *packet, size_t len)
{
	struct rxd_incoming *in = &flow->in;
	uint64_t ahead = number - in->next;
	uint16_t window =
		flow->extended ? flow->config->window_ext : flow->config->window;

	if (ahead == 0 && receive_deliver(flow, packet, len)) {
		in->now |= in->early.count > 0;
		receive_deliver_early(flow);
		return;
	}
	in->now = true;
	if (ahead > 0 && ahead < window)
		(void)rxd_early_keep(&in->early, number, in->next, packet, len,
			&flow->config->kept, flow->config->kept_max);
}

void rxd_receive_numbered(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns)
{
	struct rxd_incoming *in = &flow->in;
	struct rxd_base base;
	uint64_t number;

	memcpy(&base, packet, sizeof(base));
	number = base.seq;
	/* Data of an extended peer may arrive before its CTS. */
	if (flow->extended ||
		(flow->state != RXD_FLOW_OPEN && base.flags & RXD_FLAG_EXT)) {
		uint32_t low, next;

		if (!(base.flags & RXD_FLAG_EXT))
			return;
		rxd_seq_unpack(base.seq, &low, &next);
		number = rxd_seq_widen(low, in->next);
		rxd_acked_below(flow, rxd_seq_widen(next, flow->out.board.una), now_ns);
		in->now |= (base.flags & RXD_FLAG_ACK_NOW) != 0;
	}
	receive_take(flow, number, packet, len);
	if (in->due++ == 0)
		in->delay_ns = now_ns + ACK_DELAY_NS;
}
