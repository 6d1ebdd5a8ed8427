/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flow at work, and packets of any content from its peer. The input is a list of
 * steps: a byte that says what happens, and, for a packet, its length and bytes. The
 * index and the hash of an extension may be made right, so that more than the first
 * check is reached.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/flow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { XFERS = 64, STEP_NS = 1000000 };

struct world {
	struct rxd_flow flow;
	struct rxd_flow_config config;
	struct rxd_xfer xfers[XFERS];
	bool used[XFERS];
	uint64_t now_ns;
	uint8_t mood; /* what deliver and send answer */
};

static struct world *world_of(struct rxd_flow *flow)
{
	return wf_container_of(flow, struct world, flow);
}

static uint64_t begin(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	return 1 + (size_t)(xfer - world_of(flow)->xfers) * 7;
}

static ssize_t send_packet(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	if (k >= xfer->count || base.peer != flow->peer_index)
		abort();
	return world_of(flow)->mood == 1 ? -FI_EAGAIN : 1472;
}

static ssize_t send_control(struct rxd_flow *flow, const void *packet, size_t len)
{
	/* Touch all of it, for the sanitizers. */
	volatile uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + ((const uint8_t *)packet)[i]);
	return world_of(flow)->mood == 1 ? -FI_EAGAIN : (ssize_t)len;
}

static void ended(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	struct world *w = world_of(flow);

	if (!w->used[xfer - w->xfers])
		abort();
	w->used[xfer - w->xfers] = false;
}

static void failed(struct rxd_flow *flow, struct rxd_xfer *xfer, int err)
{
	if (err <= 0)
		abort();
	ended(flow, xfer);
}

static int64_t deliver(struct rxd_flow *flow, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	static const int64_t answers[] = { 1, 1, 0, -FI_EACCES, 5, INT64_MAX };

	if (len < sizeof(*base) || memcmp(packet, packet, len))
		abort();
	return answers[world_of(flow)->mood % 6];
}

static void restarted(struct rxd_flow *flow)
{
	(void)flow;
}

static uint32_t new_index(struct rxd_flow *flow)
{
	return flow->own_index + 1 ? flow->own_index + 1 : 1;
}

static bool survives(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	return (xfer - world_of(flow)->xfers) % 3 == 0;
}

static size_t path_packet(struct rxd_flow *flow)
{
	(void)flow;
	return 9000;
}

static const struct rxd_flow_ops ops = {
	.begin = begin,
	.send = send_packet,
	.send_control = send_control,
	.acked = ended,
	.failed = failed,
	.deliver = deliver,
	.restarted = restarted,
	.survives = survives,
	.new_index = new_index,
	.path_packet = path_packet,
};

static void start(struct world *w, uint8_t which)
{
	if (w->used[which % XFERS])
		return;
	w->used[which % XFERS] = true;
	rxd_flow_send(&w->flow, &w->xfers[which % XFERS], w->now_ns);
}

static void cancel(struct world *w, uint8_t which)
{
	struct rxd_xfer *xfer = &w->xfers[which % XFERS];

	if (w->used[which % XFERS] && rxd_flow_cancel(&w->flow, xfer))
		w->used[which % XFERS] = false;
}

/* A packet as the peer would send it in its place, where @repair says so. */
static void arrive(struct world *w, const uint8_t *from, size_t len, uint8_t repair)
{
	uint8_t *packet = malloc(len + 1 + RXD_SEAL_SIZE);
	struct rxd_base base;
	struct rxd_rts rts;
	struct rxd_cts cts;

	if (!packet)
		return;
	memcpy(packet, from, len);
	if (repair & 1 && len >= sizeof(base)) {
		memcpy(&base, packet, sizeof(base));
		base.peer = w->flow.own_index;
		if (repair & 2)
			base.seq = rxd_seq_pack(w->flow.in.next + base.seq % 9,
				w->flow.out.board.una + base.seq / 9 % 9);
		memcpy(packet, &base, sizeof(base));
	}
	if (repair & 4 && rxd_rts_read(packet, len, &rts)) {
		rts.extended = true;
		rts.ext = (struct rxd_ext){ 9000, packet[8], repair & 2 };
		rxd_rts_write(&rts, packet);
	}
	if (repair & 8 && rxd_cts_read(packet, len, 0, &cts)) {
		cts.extended = repair & 4;
		cts.ext = (struct rxd_ext){ 9000, packet[8], repair & 2 };
		cts.echo = w->flow.own_index;
		rxd_cts_write(&cts, w->flow.greeting.own_epoch, packet);
	}
	if (repair & 1 && len > 1 && rxd_flow_seals(&w->flow, packet[1])) {
		const struct iovec iov = { packet, len };
		uint32_t seal = rxd_seal(&iov, 1);

		memcpy(packet + len, &seal, sizeof(seal));
		len += sizeof(seal);
	}
	(void)rxd_flow_receive(&w->flow, packet, len, w->now_ns);
	free(packet);
}

static size_t step(struct world *w, const uint8_t *at, size_t left)
{
	uint8_t arg = left > 1 ? at[1] : 0;
	size_t len;

	switch (at[0] >> 4) {
	case 0:
		start(w, arg);
		return 2;
	case 1:
		cancel(w, arg);
		return 2;
	case 2:
		w->mood = arg % 6;
		return 2;
	case 3:
		w->now_ns += (uint64_t)STEP_NS << arg % 14;
		rxd_flow_run(&w->flow, w->now_ns, arg & 1);
		return 2;
	case 4:
		rxd_flow_run(&w->flow, w->now_ns, false);
		w->flow.owed = arg % 2;
		return 2;
	default:
		len = arg < left - 1 ? arg : left - 1;
		if (left > 2)
			arrive(w, at + 2, len - (len > left - 2), at[0]);
		return 2 + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world *w = calloc(1, sizeof(*w));

	if (!w)
		return 0;
	w->now_ns = 1000000000;
	w->config = (struct rxd_flow_config){ .ops = &ops,
		.base_packet = 1472,
		.max_packet = 9000,
		.window = 128,
		.window_ext = 256,
		.resend = true,
		.seals = size % 2,
		.patience_ns = 3000000000,
		.epoch = 5,
		.kept_max = 1 << 20 };
	rxd_flow_init(&w->flow, &w->config, 0x100001);
	for (size_t used; size > 0; data += used, size -= used) {
		used = step(w, data, size);
		if (used > size)
			used = size;
	}
	rxd_flow_done(&w->flow, FI_ECANCELED);
	for (int i = 0; i < XFERS; i++)
		if (w->used[i])
			abort();
	if (w->config.kept != 0)
		abort();
	free(w);
	return 0;
}
