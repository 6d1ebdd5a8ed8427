/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_RXD_SIM_H
#define TESTS_UNIT_RXD_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/flow.h"
#include "sys/compiler.h"

/*
 * A simulated network with two sides. Time is that of the simulation: it jumps to the
 * next arrival or deadline, so that minutes take milliseconds. Packets may be lost,
 * delayed, repeated and overtake each other, by a random sequence that a seed fixes; a
 * link of limited rate has a queue that overflows.
 *
 * Each side sends transfers with ids 0, 1, ...; their packets contain the id, the
 * position and the count, followed by a pattern. Exactly these packets have to be
 * delivered, in order.
 */
enum { SIM_HEAD = 12, SIM_PATTERN = 13 };

struct sim_net {
	uint64_t now_ns, rng;
	/* Out of a million packets. */
	uint32_t loss, dup, reorder, change;
	uint64_t delay_ns;
	/* Rate of the link in 1/1024 ns per byte; 0: no limit. */
	uint64_t ns_per_byte_1024;
	uint64_t queue_ns; /* packets that would wait longer are dropped */
	size_t mtu;        /* larger packets are lost; 0: no limit */
	bool cut;          /* All packets are lost. */
	uint64_t sent, dropped;
	struct wf_list packets; /* struct sim_packet in the order of their arrival */
};

struct sim_packet {
	struct wf_list link;
	struct sim_side *to;
	uint64_t at_ns;
	size_t len;
	uint8_t bytes[];
};

struct sim_xfer {
	struct rxd_xfer xfer;
	uint32_t id;
	/* Bytes of payload; and bytes of payload of a packet, once the transfer has
	 * begun. */
	size_t want, size;
};

struct sim_side {
	struct sim_net *net;
	struct sim_side *peer;
	struct rxd_flow flow;
	struct rxd_flow_config config;
	/* Receive function of a peer of another kind, which has no flow; NULL: the flow
	 * receives. */
	void (*receive)(struct sim_side *side, const uint8_t *packet, size_t len);
	uint64_t (*deadline)(const struct sim_side *side);
	void (*run)(struct sim_side *side);
	uint64_t busy_until_ns; /* time until which the link from this side is busy */
	size_t path;    /* bytes of the largest packet that the path is known to take */
	bool survive;   /* Its transfers survive a restart of the peer. */
	uint64_t *link; /* busy_until_ns of a side with the same link; NULL: none */
	uint32_t next_id, acked, failed, restarted;
	int last_err;
	/* Transfer and packet that are expected next. */
	uint32_t expect_id, expect_k;
	uint64_t delivered; /* number of packets */
	uint64_t delivered_bytes;
	/* Refuse transfer refuse_id with refuse_err; 0: refuse it for now, busy
	 * times. */
	uint32_t refuse_id;
	int refuse_err;
	unsigned int busy;
	bool full;    /* The lower provider takes no packets. */
	bool lenient; /* Transfers may be missing. */
	bool gone;    /* The peer has said that it was closed. */
};

static uint32_t sim_random(struct sim_net *net, uint32_t limit)
{
	net->rng ^= net->rng << 13;
	net->rng ^= net->rng >> 7;
	net->rng ^= net->rng << 17;
	return (uint32_t)((net->rng * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

static bool sim_chance(struct sim_net *net, uint32_t of_million)
{
	return of_million > 0 && sim_random(net, 1000000) < of_million;
}

static void sim_post(struct sim_net *net, struct sim_side *to, uint64_t at_ns,
	const void *bytes, size_t len)
{
	struct sim_packet *packet = malloc(sizeof(*packet) + len);
	struct wf_list *pos = net->packets.prev;

	assert_non_null(packet);
	packet->to = to;
	packet->at_ns = at_ns;
	packet->len = len;
	memcpy(packet->bytes, bytes, len);
	while (pos != &net->packets &&
		wf_list_entry(pos, struct sim_packet, link)->at_ns > at_ns)
		pos = pos->prev;
	wf_list_insert_after(pos, &packet->link);
}

/* Deliver a copy with some bits flipped. */
static void sim_post_changed(struct sim_net *net, struct sim_side *to, uint64_t at_ns,
	const void *bytes, size_t len)
{
	uint8_t *copy = malloc(len);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	for (uint32_t n = 1 + sim_random(net, 3); n > 0; n--)
		copy[sim_random(net, (uint32_t)len)] ^=
			(uint8_t)(1u << sim_random(net, 8));
	sim_post(net, to, at_ns, copy, len);
	free(copy);
}

static void sim_transmit(struct sim_side *side, const void *bytes, size_t len)
{
	struct sim_net *net = side->net;
	uint64_t at_ns = net->now_ns + net->delay_ns;

	net->sent++;
	if (net->cut || (net->mtu && len > net->mtu) || sim_chance(net, net->loss)) {
		net->dropped++;
		return;
	}
	if (net->ns_per_byte_1024) {
		uint64_t *until_ns = side->link ? side->link : &side->busy_until_ns;
		uint64_t start = WF_MAX(*until_ns, net->now_ns);

		if (start - net->now_ns > net->queue_ns) {
			net->dropped++;
			return;
		}
		*until_ns = start + len * net->ns_per_byte_1024 / 1024;
		at_ns = *until_ns + net->delay_ns;
	}
	if (sim_chance(net, net->reorder))
		at_ns += sim_random(net, (uint32_t)(4 * net->delay_ns) + 1);
	if (sim_chance(net, net->change))
		sim_post_changed(net, side->peer, at_ns, bytes, len);
	else
		sim_post(net, side->peer, at_ns, bytes, len);
	if (sim_chance(net, net->dup))
		sim_post(net, side->peer, at_ns + sim_random(net, 1000000), bytes, len);
}

static struct sim_side *sim_side_of(struct rxd_flow *flow)
{
	return wf_container_of(flow, struct sim_side, flow);
}

static uint8_t sim_byte(uint32_t id, uint32_t k, size_t i)
{
	return (uint8_t)(id * 31 + k * 7 + i * SIM_PATTERN);
}

static uint64_t sim_begin(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	struct sim_xfer *x = wf_container_of(xfer, struct sim_xfer, xfer);

	x->size = rxd_flow_packet_size(flow) - sizeof(struct rxd_base) - SIM_HEAD;
	return WF_MAX((x->want + x->size - 1) / x->size, 1u);
}

/* Packet @k of @count of transfer @id with @len bytes of pattern, behind @base. */
static size_t sim_build(uint8_t *packet, struct rxd_base base, uint32_t id, uint32_t k,
	uint32_t count, size_t len)
{
	const uint32_t head[3] = { id, k, count };

	base.type = k == 0 ? RXD_MSG : RXD_DATA;
	memcpy(packet, &base, sizeof(base));
	memcpy(packet + sizeof(base), head, sizeof(head));
	for (size_t i = 0; i < len; i++)
		packet[sizeof(base) + SIM_HEAD + i] = sim_byte(id, k, i);
	return sizeof(base) + SIM_HEAD + len;
}

/* Seal the packet of @len bytes if the flow requires it; returns its length. */
static size_t sim_seal(const struct rxd_flow *flow, uint8_t *packet, size_t len)
{
	const struct iovec iov = { packet, len };
	uint32_t seal;

	if (!rxd_flow_seals(flow, packet[1]))
		return len;
	seal = rxd_seal(&iov, 1);
	memcpy(packet + len, &seal, sizeof(seal));
	return len + sizeof(seal);
}

static ssize_t sim_send(
	struct rxd_flow *flow, struct rxd_xfer *xfer, uint64_t k, struct rxd_base base)
{
	struct sim_xfer *x = wf_container_of(xfer, struct sim_xfer, xfer);
	struct sim_side *side = sim_side_of(flow);
	size_t left = x->want - WF_MIN(x->want, (size_t)k * x->size);
	uint8_t packet[UINT16_MAX + RXD_SEAL_SIZE];
	size_t len;

	assert_true(k < xfer->count);
	if (side->full)
		return -FI_EAGAIN;
	len = sim_build(packet, base, x->id, (uint32_t)k, (uint32_t)xfer->count,
		WF_MIN(left, x->size));
	len = sim_seal(flow, packet, len);
	sim_transmit(side, packet, len);
	return (ssize_t)len;
}

static ssize_t sim_send_control(struct rxd_flow *flow, const void *packet, size_t len)
{
	struct sim_side *side = sim_side_of(flow);
	uint8_t copy[UINT16_MAX + RXD_SEAL_SIZE];

	if (side->full)
		return -FI_EAGAIN;
	memcpy(copy, packet, len);
	len = sim_seal(flow, copy, len);
	sim_transmit(side, copy, len);
	return (ssize_t)len;
}

static void sim_acked(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	sim_side_of(flow)->acked++;
	free(wf_container_of(xfer, struct sim_xfer, xfer));
}

static void sim_failed(struct rxd_flow *flow, struct rxd_xfer *xfer, int err)
{
	sim_side_of(flow)->failed++;
	sim_side_of(flow)->last_err = err;
	free(wf_container_of(xfer, struct sim_xfer, xfer));
}

static void sim_restarted(struct rxd_flow *flow)
{
	sim_side_of(flow)->restarted++;
	sim_side_of(flow)->expect_k = 0;
	sim_side_of(flow)->lenient = true;
}

static uint32_t sim_new_index(struct rxd_flow *flow)
{
	return flow->own_index + 0x100000;
}

static bool sim_survives(struct rxd_flow *flow, struct rxd_xfer *xfer)
{
	(void)xfer;
	return sim_side_of(flow)->survive;
}

static size_t sim_path_packet(struct rxd_flow *flow)
{
	return sim_side_of(flow)->path;
}

/* Check a packet in order, of @len bytes behind the base header. */
static void sim_check(struct sim_side *side, const uint8_t *body, size_t len)
{
	uint32_t head[3];

	assert_true(len >= SIM_HEAD);
	memcpy(head, body, sizeof(head));
	if (side->lenient && head[1] == 0 && head[0] > side->expect_id)
		side->expect_id = head[0];
	assert_int_equal(head[0], side->expect_id);
	assert_int_equal(head[1], side->expect_k);
	for (size_t i = 0; i < len - SIM_HEAD; i++)
		assert_int_equal(body[SIM_HEAD + i], sim_byte(head[0], head[1], i));
	side->delivered++;
	side->delivered_bytes += len - SIM_HEAD;
	if (++side->expect_k == head[2]) {
		side->expect_id++;
		side->expect_k = 0;
	}
}

static int64_t sim_deliver(struct rxd_flow *flow, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	struct sim_side *side = sim_side_of(flow);

	if (side->expect_k == 0 && side->expect_id == side->refuse_id) {
		if (side->refuse_err) {
			side->expect_id++;
			return -side->refuse_err;
		}
		if (side->busy > 0) {
			side->busy--;
			return 0;
		}
	}
	assert_int_equal(base->flags & (RXD_FLAG_EXT | RXD_FLAG_ACK_NOW), 0);
	sim_check(side, packet + sizeof(*base), len - sizeof(*base));
	return 1;
}

static const struct rxd_flow_ops sim_ops = {
	.begin = sim_begin,
	.send = sim_send,
	.send_control = sim_send_control,
	.acked = sim_acked,
	.failed = sim_failed,
	.deliver = sim_deliver,
	.restarted = sim_restarted,
	.survives = sim_survives,
	.new_index = sim_new_index,
	.path_packet = sim_path_packet,
};

static void sim_net_init(struct sim_net *net, uint64_t seed)
{
	*net = (struct sim_net){ .now_ns = 1000000000,
		.rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1,
		.delay_ns = 20000 };
	wf_list_init(&net->packets);
}

static void sim_side_init(struct sim_net *net, struct sim_side *side,
	struct sim_side *peer, const char *name, size_t path)
{
	*side = (struct sim_side){ .net = net, .peer = peer, .refuse_id = UINT32_MAX };
	side->config = (struct rxd_flow_config){ .ops = &sim_ops,
		.base_packet = 1472,
		.max_packet = 65507,
		.window = 128,
		.window_ext = 1024,
		.resend = true,
		.seals = true,
		.patience_ns = UINT64_C(30000000000),
		.epoch = rxd_epoch_new(),
		.kept_max = 16 << 20 };
	memcpy(side->config.name, name, strlen(name));
	side->path = path;
	rxd_flow_init(&side->flow, &side->config, 0x100001);
}

static void sim_side_done(struct sim_side *side)
{
	rxd_flow_done(&side->flow, FI_ECANCELED);
	assert_int_equal(side->config.kept, 0);
}

static void sim_net_done(struct sim_net *net)
{
	struct wf_list *item;

	while ((item = wf_list_pop(&net->packets)))
		free(wf_list_entry(item, struct sim_packet, link));
}

static struct sim_xfer *sim_start(struct sim_side *side, size_t bytes)
{
	struct sim_xfer *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->id = side->next_id++;
	x->want = bytes;
	rxd_flow_send(&side->flow, &x->xfer, side->net->now_ns);
	return x;
}

static void sim_arrive(struct sim_packet *packet)
{
	struct sim_side *to = packet->to;

	if (to->receive)
		to->receive(to, packet->bytes, packet->len);
	else if (rxd_flow_receive(
			 &to->flow, packet->bytes, packet->len, to->net->now_ns)) {
		to->gone = true;
		rxd_flow_left(&to->flow);
	}
	free(packet);
}

static void sim_run_side(struct sim_side *side)
{
	uint64_t now_ns = side->net->now_ns;

	if (side->run)
		side->run(side);
	else
		rxd_flow_run(&side->flow, now_ns, false);
}

static uint64_t sim_deadline(const struct sim_side *side)
{
	return side->deadline ? side->deadline(side) : rxd_flow_deadline(&side->flow);
}

static uint64_t sim_next_ns(
	const struct sim_net *net, struct sim_side *const *sides, size_t count)
{
	uint64_t at_ns = UINT64_MAX;

	if (!wf_list_empty(&net->packets))
		at_ns = wf_list_entry(net->packets.next, struct sim_packet, link)
				->at_ns;
	for (size_t i = 0; i < count; i++)
		at_ns = WF_MIN(at_ns, sim_deadline(sides[i]));
	return at_ns;
}

/* One step: deliver packets that arrive by now, then run all sides. False: nothing
 * will happen any more. */
static bool sim_step_all(
	struct sim_net *net, struct sim_side *const *sides, size_t count)
{
	uint64_t at_ns = sim_next_ns(net, sides, count);

	if (at_ns == UINT64_MAX)
		return false;
	net->now_ns = WF_MAX(net->now_ns + 1, at_ns);
	while (!wf_list_empty(&net->packets)) {
		struct sim_packet *packet =
			wf_list_entry(net->packets.next, struct sim_packet, link);

		if (packet->at_ns > net->now_ns)
			break;
		wf_list_remove(&packet->link);
		sim_arrive(packet);
	}
	for (size_t i = 0; i < count; i++)
		sim_run_side(sides[i]);
	return true;
}

static inline bool sim_step(struct sim_net *net, struct sim_side *a, struct sim_side *b)
{
	struct sim_side *const sides[] = { a, b };

	return sim_step_all(net, sides, 2);
}

/* Run until both sides are idle and no packet is under way (true), or until @limit_s
 * seconds of simulated time have passed (false). */
static inline bool sim_run(struct sim_net *net, struct sim_side *a, struct sim_side *b,
	unsigned int limit_s)
{
	uint64_t end_ns = net->now_ns + limit_s * UINT64_C(1000000000);

	while (net->now_ns < end_ns)
		if (!sim_step(net, a, b))
			return true;
	return false;
}

#endif
