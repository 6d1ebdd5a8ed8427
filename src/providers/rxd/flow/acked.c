/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"
#include "sys/compiler.h"

/*
 * The handling of acknowledgements by the sender. Losses are detected as in RFC 9002: a
 * packet is lost if one that was sent three transmissions later arrived, or one that
 * was sent later while more than 9/8 of a round trip have passed. A peer of another
 * library drops packets behind a gap: three repeated acknowledgements mean that
 * everything unacknowledged is lost.
 */
/* Limit of numbers: a peer must not set numbers that could overflow 64 bits. */
#define NUMBER_MAX (UINT64_C(1) << 62)

enum {
	PACKET_THRESHOLD = 3,
	REPEATS = 3,
	COLLAPSE_ROUNDS = 2,
	/* Losses of one round that end slow start where a lossy path is told from a
	 * congested one (draft-ietf-ccwg-bbr). */
	START_LOSSES = 6,
};

/* The results of one acknowledgement. */
struct news {
	uint64_t bytes;      /* number of bytes that are newly acknowledged */
	unsigned int rounds; /* value of out.rounds before the acknowledgement */
	bool any;            /* At least one packet is newly acknowledged. */
	/* The last sent of the acknowledged packets that were sent once, if @sampled:
	 * the order and time of its transmission, its round trip, and its mark. */
	bool sampled;
	uint64_t sample_order, rtt_ns, sent_ns;
	struct rxd_delivery_mark mark;
};

static struct news acked_news_before(const struct rxd_flow *flow)
{
	return (struct news){ .rounds = flow->out.rounds };
}

/* It is certain which transmission of a packet arrived if the packet was sent once, or
 * so long ago that the acknowledgement can only be that of the last one. */
static void acked_note_arrival(
	struct rxd_outgoing *out, const struct rxd_sent *sent, uint64_t now_ns)
{
	if (sent->resent && now_ns - sent->at_ns < out->rtt.min)
		return;
	out->arrived_order = WF_MAX(out->arrived_order, sent->order);
}

static void acked_arrived(
	struct rxd_flow *flow, uint64_t number, uint64_t now_ns, struct news *news)
{
	struct rxd_outgoing *out = &flow->out;
	const struct rxd_sent *sent = rxd_board_at(&out->board, number);

	if (sent->state == RXD_SENT_HELD)
		return;
	news->any = true;
	news->bytes += sent->bytes;
	if (!sent->resent && (!news->sampled || sent->order > news->sample_order)) {
		news->sampled = true;
		news->sample_order = sent->order;
		news->rtt_ns = now_ns - WF_MIN(now_ns, sent->at_ns);
		news->sent_ns = sent->at_ns;
		news->mark = sent->mark;
	}
	acked_note_arrival(out, sent, now_ns);
	rxd_board_set(&out->board, number, RXD_SENT_HELD);
}

static void acked_finish_transfers(struct rxd_flow *flow)
{
	struct rxd_outgoing *out = &flow->out;

	flow->busy = true;
	while (!wf_list_empty(&out->begun)) {
		struct rxd_xfer *xfer =
			wf_list_entry(out->begun.next, struct rxd_xfer, link);

		if (xfer->first + xfer->count > out->board.una)
			break;
		wf_list_remove(&xfer->link);
		flow->config->ops->acked(flow, xfer);
	}
	flow->busy = false;
}

static void acked_arrived_below(
	struct rxd_flow *flow, uint64_t next, uint64_t now_ns, struct news *news)
{
	struct rxd_board *board = &flow->out.board;

	for (uint64_t n = board->una; n != next; n++)
		acked_arrived(flow, n, now_ns, news);
	board->una = next;
}

/* Are single losses in slow start, and losses of a window that the path delivered
 * within the shortest round trip, no signs of congestion? */
static bool acked_distinguishes_losses(const struct rxd_flow *flow)
{
	return flow->config->westwood && flow->extended;
}

/* A packet was lost: the congestion window shrinks once for all losses among earlier
 * packets. */
static void acked_congested(struct rxd_flow *flow, uint64_t order, unsigned int rounds)
{
	bool distinguishes = acked_distinguishes_losses(flow);
	struct rxd_outgoing *out = &flow->out;

	if (order < out->recovered_order)
		return;
	if (distinguishes && rounds < COLLAPSE_ROUNDS &&
		out->cc.cwnd < out->cc.ssthresh && ++out->start_losses < START_LOSSES)
		return;
	out->recovered_order = out->board.order;
	if (rounds >= COLLAPSE_ROUNDS)
		rxd_cubic_collapsed(&out->cc);
	else
		rxd_cubic_lost(&out->cc,
			distinguishes
				? rxd_delivery_window(&out->delivery, out->rtt.min)
				: 0);
}

/* Has a packet arrived that was sent after this one, whose state is unknown? */
static bool acked_is_overtaken(
	const struct rxd_outgoing *out, const struct rxd_sent *sent)
{
	return sent->state == RXD_SENT_FLYING && sent->order < out->arrived_order;
}

/* The time from which on such a packet counts as lost. */
static uint64_t acked_lost_ns(
	const struct rxd_outgoing *out, const struct rxd_sent *sent)
{
	if (sent->order + PACKET_THRESHOLD <= out->arrived_order)
		return 0;
	return sent->at_ns + out->rtt.smoothed + out->rtt.smoothed / 8;
}

static void acked_detect_losses(
	struct rxd_flow *flow, unsigned int rounds, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;
	struct rxd_board *board = &out->board;
	uint64_t at_ns;

	out->loss_ns = UINT64_MAX;
	/* Without a gap all packets were sent after those that arrived, in both
	 * orders. */
	if (board->una == board->next ||
		(board->una >= out->early_end &&
			rxd_board_at(board, board->una)->order > out->arrived_order))
		return;
	for (uint64_t n = board->una; n != board->next; n++) {
		struct rxd_sent *sent = rxd_board_at(board, n);

		if (!acked_is_overtaken(out, sent))
			continue;
		at_ns = acked_lost_ns(out, sent);
		if (at_ns > now_ns) {
			out->loss_ns = WF_MIN(out->loss_ns, at_ns);
			continue;
		}
		acked_congested(flow, sent->order, rounds);
		rxd_board_set(board, n, RXD_SENT_LOST);
	}
}

void rxd_acked_late(struct rxd_flow *flow, uint64_t now_ns)
{
	acked_detect_losses(flow, flow->out.rounds, now_ns);
}

/* A peer of another library dropped everything behind the gap. */
static void acked_lose_all(struct rxd_flow *flow, unsigned int rounds)
{
	struct rxd_board *board = &flow->out.board;

	if (board->una == board->next)
		return;
	acked_congested(flow, rxd_board_at(board, board->next - 1)->order, rounds);
	for (uint64_t n = board->una; n != board->next; n++)
		if (rxd_board_at(board, n)->state == RXD_SENT_FLYING)
			rxd_board_set(board, n, RXD_SENT_LOST);
}

static void acked_grow_window(
	struct rxd_flow *flow, const struct news *news, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	/* A window that was not the limit proves nothing. */
	if (out->limited)
		rxd_cubic_acked(&out->cc, news->bytes, out->rtt.smoothed, now_ns);
}

static void acked_take_samples(struct rxd_outgoing *out, const struct news *news)
{
	if (!news->sampled)
		return;
	rxd_rtt_sample(&out->rtt, news->rtt_ns);
	if (rxd_delivery_sample(&out->delivery, &news->mark, news->sent_ns,
		    news->sample_order, out->board.order, out->limited, out->rtt.min))
		out->start_losses = 0;
}

static void acked_progressed(
	struct rxd_flow *flow, const struct news *news, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;

	out->ever_acked = true;
	out->rounds = out->repeats = 0;
	out->rtt.backoff = 0;
	rxd_delivery_acked(&out->delivery, news->bytes, now_ns);
	acked_take_samples(out, news);
	acked_grow_window(flow, news, now_ns);
	if (flow->extended)
		acked_detect_losses(flow, news->rounds, now_ns);
	else if (news->rounds > 0 && !rxd_flow_trusts(flow))
		acked_lose_all(flow, news->rounds);
	rxd_timeout_start(flow, now_ns);
	acked_finish_transfers(flow);
}

void rxd_acked_below(struct rxd_flow *flow, uint64_t next, uint64_t now_ns)
{
	const struct rxd_board *board = &flow->out.board;
	struct news news = acked_news_before(flow);

	if (next - board->una > board->next - board->una || next == board->una)
		return;
	acked_arrived_below(flow, next, now_ns, &news);
	acked_progressed(flow, &news, now_ns);
}

static void acked_arrived_early(struct rxd_flow *flow, const struct rxd_ack *ack,
	uint64_t now_ns, struct news *news)
{
	uint64_t number = ack->next + 1;

	for (size_t i = 0; i < ack->words; i++, number += 64)
		for (uint64_t bits = ack->early[i]; bits != 0; bits &= bits - 1) {
			uint64_t n = number + (uint64_t)__builtin_ctzll(bits);

			if (n >= flow->out.board.next)
				return;
			acked_arrived(flow, n, now_ns, news);
			flow->out.early_end = WF_MAX(flow->out.early_end, n + 1);
		}
}

/* The peer will never accept the oldest transfer. What was sent of it is replaced by
 * one packet that tells the peer to skip it, and is repeated until it is
 * acknowledged. */
static void acked_refuse(struct rxd_flow *flow, int err)
{
	struct rxd_outgoing *out = &flow->out;
	struct rxd_board *board = &out->board;
	struct rxd_xfer *xfer = rxd_board_at(board, board->una)->xfer;
	uint64_t end;

	if (!xfer)
		return; /* That packet is under way. */
	end = WF_MIN(xfer->first + xfer->count, board->next);
	for (uint64_t n = board->una; n != end; n++) {
		rxd_board_at(board, n)->xfer = NULL;
		rxd_board_set(board, n, RXD_SENT_HELD);
	}
	out->skipped = end - board->una;
	rxd_board_at(board, board->una)->bytes = RXD_SKIP_SIZE;
	rxd_board_set(board, board->una, RXD_SENT_LOST);
	if (out->current == xfer)
		out->current = NULL;
	wf_list_remove(&xfer->link);
	flow->busy = true;
	flow->config->ops->failed(flow, xfer, err);
	flow->busy = false;
}

/* A peer of another library expects a number that was never sent: it knows the numbers
 * of an earlier instance of this endpoint, and has accepted nothing of this one. */
static void acked_adopt_numbers(struct rxd_flow *flow, uint64_t next)
{
	if (!flow->extended && !flow->out.ever_acked && flow->out.board.una == 0 &&
		next <= NUMBER_MAX) {
		flow->out.ever_acked = true;
		rxd_send_renumber(flow, next);
	}
}

/* The flow has given up transfers, and the acknowledgement contains the number to
 * continue with. */
static void acked_synchronize(struct rxd_flow *flow, const struct rxd_ack *ack)
{
	if (ack->next > NUMBER_MAX)
		return;
	flow->greeting.syncing = false;
	flow->greeting.tries = 0;
	flow->greeting.at_ns = UINT64_MAX;
	flow->out.window = ack->window;
	rxd_send_renumber(flow, ack->next);
}

static void acked_repeated(struct rxd_flow *flow)
{
	struct rxd_outgoing *out = &flow->out;

	if (flow->extended || rxd_flow_trusts(flow) || out->window == 0 ||
		out->board.una == out->board.next ||
		rxd_board_at(&out->board, out->board.una)->order < out->recovered_order)
		return;
	if (++out->repeats >= REPEATS) {
		out->repeats = 0;
		acked_lose_all(flow, 0);
	}
}

static void acked_learn_path(struct rxd_flow *flow, uint16_t largest)
{
	uint16_t size;

	if (!rxd_path_arrived(&flow->path, largest, &size))
		return;
	flow->packet_size = size;
	rxd_cubic_packet(&flow->out.cc, size);
}

/* Process @ack, which is consistent with what was sent. */
static void acked_take(
	struct rxd_flow *flow, const struct rxd_ack *ack, uint64_t now_ns)
{
	struct rxd_outgoing *out = &flow->out;
	struct news news = acked_news_before(flow);

	out->window = ack->window;
	acked_arrived_below(flow, ack->next, now_ns, &news);
	acked_arrived_early(flow, ack, now_ns, &news);
	if (news.any)
		acked_progressed(flow, &news, now_ns);
	else
		acked_repeated(flow);
	if (ack->refused != 0 && ack->next == out->board.una &&
		out->board.una != out->board.next)
		acked_refuse(flow, ack->refused);
	if (flow->extended)
		acked_learn_path(flow, ack->largest);
}

void rxd_acked(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns)
{
	const struct rxd_board *board = &flow->out.board;
	struct rxd_ack ack;

	if (flow->state != RXD_FLOW_OPEN ||
		!rxd_ack_read(packet, len, flow->extended, &ack))
		return;
	if (flow->extended && !ack.extended)
		return;
	if (flow->greeting.syncing)
		acked_synchronize(flow, &ack);
	else if (ack.next < board->una)
		rxd_timeout_behind(flow);
	else if (ack.next > board->next)
		acked_adopt_numbers(flow, ack.next);
	else
		acked_take(flow, &ack, now_ns);
}
