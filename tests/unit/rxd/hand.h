/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_RXD_HAND_H
#define TESTS_UNIT_RXD_HAND_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/flow.h"
#include "sys/compiler.h"

/*
 * One flow whose peer is the test: it gives packets by hand, moves the clock, and
 * compares what the flow sends and reports, as text. Words of that text, separated by
 * blanks:
 *
 *   7 or 7!     the numbered packet 7; !: that asks for an acknowledgement
 *   skip7+3     a packet that skips 3 numbers from 7 on
 *   old7        a packet that makes a peer of another library acknowledge
 *   ack7        an acknowledgement of everything below 7, and behind it, if it has
 * that: (8,10) packets that arrived early, /0 a window of 0, -13 the refusal rts cts
 * bye probe1500 done0 fail0:111   the transfer 0 ended restart path
 */
enum {
	HAND_LOG = 4096,
	HAND_XFERS = 64,
	HAND_BYTES = 1460, /* of each packet of a transfer */
	HAND_INDEX = 0x1234,
	HAND_PEER = 0x99,
	HAND_EPOCH = 1000, /* of the peer */
	HAND_WINDOW = 64,
	HAND_MS = 1000000,
	HAND_RTT = 8 * HAND_MS,
};

struct hand_xfer {
	struct rxd_xfer xfer;
	uint64_t count;
};

struct hand {
	struct rxd_flow flow;
	struct rxd_flow_config config;
	uint64_t now;
	struct hand_xfer xfers[HAND_XFERS];
	unsigned int started;
	char log[HAND_LOG];
	size_t log_len;
	/* What the operations return: the provider below is full; deliver. */
	bool full;
	int64_t delivers;
	size_t path;
	ssize_t bytes; /* of a packet of a transfer */
	bool survive;
	/* acked, failed, deliver and restarted start as many transfers of one
	 * packet. */
	unsigned int starts;
};

static inline struct hand *hand_of(struct rxd_flow *flow)
{
	return wf_container_of(flow, struct hand, flow);
}

static inline __attribute__((format(printf, 2, 3))) void hand_log(
	struct hand *h, const char *format, ...)
{
	va_list args;
	int n;

	if (h->log_len)
		h->log[h->log_len++] = ' ';
	va_start(args, format);
	n = vsnprintf(h->log + h->log_len, sizeof(h->log) - h->log_len, format, args);
	va_end(args);
	assert_true(n >= 0 && h->log_len + (size_t)n + 1 < sizeof(h->log));
	h->log_len += (size_t)n;
}

/* Forget what was sent and reported. */
static inline void hand_forget(struct hand *h)
{
	h->log[0] = '\0';
	h->log_len = 0;
}

/* What was sent and reported since the last call is @text. */
#define hand_expect(h, text)                                                           \
	do {                                                                           \
		assert_string_equal((h)->log, text);                                   \
		hand_forget(h);                                                        \
	} while (0)

/* The number of the packet with @base, whose low half extended packets have. */
static inline uint64_t hand_number(const struct hand *h, const struct rxd_base *base)
{
	uint32_t low, next;

	if (!(base->flags & RXD_FLAG_EXT))
		return base->seq;
	rxd_seq_unpack(base->seq, &low, &next);
	assert_int_equal(next, (uint32_t)h->flow.in.next);
	return rxd_seq_widen(low, h->flow.out.board.una);
}

static inline unsigned int hand_id(struct hand *h, const struct rxd_xfer *xfer)
{
	return (unsigned int)(wf_container_of(xfer, struct hand_xfer, xfer) - h->xfers);
}

static inline uint64_t hand_begin(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	(void)flow;
	return wf_container_of(xfer, struct hand_xfer, xfer)->count;
}

static inline ssize_t hand_send(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	struct hand *h = hand_of(flow);

	assert_true(k < xfer->count);
	assert_int_equal(base.peer, HAND_PEER);
	if (h->full)
		return -FI_EAGAIN;
	hand_log(h, "%llu%s", (unsigned long long)hand_number(h, &base),
		base.flags & RXD_FLAG_ACK_NOW ? "!" : "");
	return h->bytes;
}

static inline void hand_log_ack(struct hand *h, const uint8_t *packet, size_t len)
{
	char early[512] = "", *at = early;
	struct rxd_ack ack;

	assert_true(rxd_ack_read(packet, len, h->flow.extended, &ack));
	for (size_t i = 0; i < 64 * ack.words; i++)
		if (ack.early[i / 64] >> i % 64 & 1)
			at += sprintf(at, "%c%llu", at == early ? '(' : ',',
				(unsigned long long)(ack.next + 1 + i));
	if (at != early)
		at += sprintf(at, ")");
	if (!ack.window)
		at += sprintf(at, "/0");
	else
		assert_int_equal(ack.window, HAND_WINDOW);
	if (ack.refused)
		at += sprintf(at, "-%u", ack.refused);
	hand_log(h, "ack%llu%s", (unsigned long long)ack.next, early);
}

static inline ssize_t hand_send_control(
	struct rxd_flow *flow, const void *packet, size_t len)
{
	struct hand *h = hand_of(flow);
	struct rxd_base base;
	uint64_t count = 0;

	if (h->full)
		return -FI_EAGAIN;
	memcpy(&base, packet, sizeof(base));
	switch (base.type) {
	case RXD_RTS:
		hand_log(h, "rts");
		break;
	case RXD_CTS:
		hand_log(h, "cts");
		break;
	case RXD_ACK:
		hand_log_ack(h, packet, len);
		break;
	case RXD_BYE:
		assert_int_equal(base.seq, flow->in.next);
		hand_log(h, "bye");
		break;
	case RXD_PROBE:
		hand_log(h, "probe%zu", len);
		break;
	case RXD_SKIP:
		memcpy(&count, (const uint8_t *)packet + sizeof(base), sizeof(count));
		hand_log(h, "skip%llu+%llu", (unsigned long long)hand_number(h, &base),
			(unsigned long long)count);
		break;
	default:
		assert_int_equal(base.type, RXD_DATA);
		hand_log(h, "old%llu", (unsigned long long)base.seq);
	}
	return (ssize_t)len;
}

static inline void hand_start(struct hand *h, uint64_t count);

static inline void hand_called(struct hand *h)
{
	if (!h->starts)
		return;
	h->starts--;
	hand_start(h, 1);
}

static inline void hand_acked(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	struct hand *h = hand_of(flow);

	hand_log(h, "done%u", hand_id(h, xfer));
	hand_called(h);
}

static inline void hand_failed(struct rxd_flow *flow, struct rxd_xfer *xfer, int err)
{
	struct hand *h = hand_of(flow);

	hand_log(h, "fail%u:%d", hand_id(h, xfer), err);
	hand_called(h);
}

static inline int64_t hand_deliver(struct rxd_flow *flow, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	struct hand *h = hand_of(flow);

	(void)packet;
	(void)len;
	assert_int_equal(base->flags & (RXD_FLAG_EXT | RXD_FLAG_ACK_NOW), 0);
	assert_int_equal(base->seq, flow->in.next);
	hand_called(h);
	return h->delivers;
}

static inline void hand_restarted(struct rxd_flow *flow)
{
	hand_log(hand_of(flow), "restart");
	hand_called(hand_of(flow));
}

static inline bool hand_survives(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	(void)xfer;
	return hand_of(flow)->survive;
}

static inline uint32_t hand_new_index(struct rxd_flow *flow)
{
	return flow->own_index + 1;
}

static inline size_t hand_path(struct rxd_flow *flow)
{
	return hand_of(flow)->path;
}

static const struct rxd_flow_ops hand_ops = {
	.begin = hand_begin,
	.send = hand_send,
	.send_control = hand_send_control,
	.acked = hand_acked,
	.failed = hand_failed,
	.deliver = hand_deliver,
	.restarted = hand_restarted,
	.survives = hand_survives,
	.new_index = hand_new_index,
	.path_packet = hand_path,
};

static inline void hand_init(struct hand *h)
{
	*h = (struct hand){
		.now = UINT64_C(1000000000), .delivers = 1, .bytes = HAND_BYTES
	};
	h->config = (struct rxd_flow_config){ .ops = &hand_ops,
		.base_packet = HAND_BYTES,
		.max_packet = 9000,
		.window = HAND_WINDOW,
		.window_ext = HAND_WINDOW,
		.resend = true,
		.patience_ns = UINT64_C(30) * 1000 * HAND_MS,
		.epoch = 500,
		.kept_max = 1 << 20 };
	rxd_flow_init(&h->flow, &h->config, HAND_INDEX);
}

static inline void hand_done(struct hand *h)
{
	rxd_flow_done(&h->flow, FI_ECANCELED);
	assert_int_equal(h->config.kept, 0);
}

static inline void hand_start(struct hand *h, uint64_t count)
{
	assert_true(h->started < HAND_XFERS);
	h->xfers[h->started].count = count;
	rxd_flow_send(&h->flow, &h->xfers[h->started++].xfer, h->now);
}

static inline void hand_run(struct hand *h)
{
	rxd_flow_run(&h->flow, h->now, false);
}

/* Let the time come that is @at, with a run then. */
static inline void hand_run_at(struct hand *h, uint64_t at)
{
	h->now = at;
	hand_run(h);
}

static inline void hand_give(struct hand *h, const void *packet, size_t len)
{
	(void)rxd_flow_receive(&h->flow, packet, len, h->now);
}

/* A CTS with @cts, for the RTS of the flow. */
static inline void hand_give_cts(struct hand *h, struct rxd_cts cts)
{
	uint8_t packet[RXD_CTS_SIZE];

	rxd_cts_write(&cts, h->flow.greeting.own_epoch, packet);
	hand_give(h, packet, sizeof(packet));
}

static inline struct rxd_cts hand_cts(const struct hand *h, bool extended)
{
	return (struct rxd_cts){ .echo = h->flow.own_index,
		.index = HAND_PEER,
		.extended = extended,
		.ext = { 9000, HAND_EPOCH, false } };
}

static inline void hand_give_rts(struct hand *h, struct rxd_rts rts)
{
	uint8_t packet[RXD_RTS_SIZE];

	rxd_rts_write(&rts, packet);
	hand_give(h, packet, sizeof(packet));
}

static inline struct rxd_rts hand_rts(bool extended)
{
	return (struct rxd_rts){ .index = HAND_PEER,
		.extended = extended,
		.ext = { 9000, HAND_EPOCH, false } };
}

/* An acknowledgement of everything below @next and of the packets of the bits @early
 * behind it. */
static inline void hand_give_ack(struct hand *h, uint64_t next, uint64_t early,
	uint16_t window, uint16_t refused)
{
	struct rxd_ack ack = { .next = next,
		.window = window,
		.extended = h->flow.extended,
		.refused = refused,
		.words = early != 0,
		.early = { early } };
	uint8_t packet[RXD_ACK_SIZE_MAX];

	hand_give(h, packet, rxd_ack_write(&ack, h->flow.own_index, packet));
}

static inline void hand_ack(struct hand *h, uint64_t next, uint64_t early)
{
	hand_give_ack(h, next, early, HAND_WINDOW, 0);
	hand_run(h);
}

/* A packet of @type with the peer's number @number, whose sender expects @next. */
static inline void hand_packet(
	struct hand *h, uint8_t type, uint64_t number, uint64_t next, uint16_t flags)
{
	struct rxd_base base = { .version = RXD_VERSION,
		.type = type,
		.flags = flags,
		.peer = h->flow.own_index,
		.seq = flags & RXD_FLAG_EXT ? rxd_seq_pack(number, next) : number };
	uint8_t packet[RXD_DATA_HEAD + 8] = { 0 };

	memcpy(packet, &base, sizeof(base));
	hand_give(h, packet, sizeof(packet));
}

/* A data packet of an extended peer that has received everything. */
static inline void hand_data(struct hand *h, uint64_t number)
{
	hand_packet(h, RXD_DATA, number, h->flow.out.board.next, RXD_FLAG_EXT);
}

/* Open the flow by an answer to its RTS, after hand_init. */
static inline void hand_meet(struct hand *h, bool extended)
{
	hand_start(h, 1);
	hand_expect(h, "rts");
	hand_give_cts(h, hand_cts(h, extended));
	hand_run(h);
	h->now += HAND_RTT;
	hand_ack(h, 1, 0);
	hand_expect(h, "0 done0");
	assert_int_equal(h->flow.extended, extended);
	assert_int_equal(h->flow.out.rtt.smoothed, HAND_RTT);
}

static inline void hand_open(struct hand *h, bool extended)
{
	hand_init(h);
	hand_meet(h, extended);
}

#endif
