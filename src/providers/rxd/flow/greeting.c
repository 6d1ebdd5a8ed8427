/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/parts.h"

#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

/*
 * RTS and CTS. An RTS asks for the peer's index and contains the sender's; every RTS is
 * answered by a CTS. RTS of both ends may cross. These packets also show that a peer
 * was restarted: an extended peer then has a greater epoch; one of another library
 * sends an RTS although it knew the index.
 */
#define RTS_FIRST_NS UINT64_C(10000000)
#define RTS_MAX_NS   UINT64_C(4000000000)
/* Time between two RTS because of RTS that may be forged. */
#define CONTEST_NS UINT64_C(10000000)
/* How long a late copy of a packet may be under way. */
#define LATE_NS UINT64_C(1000000000)
/* After so long a silence a smaller epoch is that of a machine whose clock was set
 * back. */
#define FORGOTTEN_NS UINT64_C(60000000000)

enum {
	RTS_DOUBLINGS_MAX = 10,
	EXT_PACKET_MIN = 512,
	PLAIN_MAX = 1, /* RTS or CTS without an extension that are ignored */
};

static uint64_t greeting_pause_ns(unsigned int tries)
{
	return WF_MIN(RTS_FIRST_NS << WF_MIN(tries, (unsigned int)RTS_DOUBLINGS_MAX),
		RTS_MAX_NS);
}

static struct rxd_ext greeting_own_ext(const struct rxd_flow *flow)
{
	return (struct rxd_ext){ .max_packet = flow->config->max_packet,
		.epoch = flow->greeting.own_epoch,
		.wants_seals = flow->wants_seals };
}

/* 0 or a negative fi_errno: the RTS was not sent. */
static ssize_t greeting_post_rts(struct rxd_flow *flow)
{
	struct rxd_rts rts = { .index = flow->own_index,
		.extended = true,
		.ext = greeting_own_ext(flow) };
	uint8_t packet[RXD_RTS_SIZE];
	ssize_t ret;

	memcpy(rts.name, flow->config->name, sizeof(rts.name));
	rxd_rts_write(&rts, packet);
	ret = flow->config->ops->send_control(flow, packet, sizeof(packet));
	return WF_MIN(ret, 0);
}

/* Set the time of the next RTS or solicitation, or of the end of the patience. */
static void greeting_set_pause(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_greeting *greeting = &flow->greeting;
	uint64_t next_ns = now_ns + greeting_pause_ns(greeting->tries);

	greeting->tries++;
	greeting->at_ns =
		WF_MIN(next_ns, greeting->since_ns + flow->config->patience_ns);
}

static void greeting_send_rts(struct rxd_flow *flow, uint64_t now_ns)
{
	/* The next run tries again if the provider below is full. */
	if (greeting_post_rts(flow) == -FI_EAGAIN)
		flow->greeting.at_ns = now_ns;
	else
		greeting_set_pause(flow, now_ns);
	if (flow->state == RXD_FLOW_NEW)
		flow->state = RXD_FLOW_GREETED;
}

static void greeting_send_cts(struct rxd_flow *flow, const struct rxd_rts *rts)
{
	const struct rxd_cts cts = { .echo = rts->index,
		.index = flow->own_index,
		.extended = rts->extended,
		.ext = greeting_own_ext(flow) };
	uint8_t packet[RXD_CTS_SIZE];

	rxd_cts_write(&cts, rts->extended ? rts->ext.epoch : 0, packet);
	/* If a CTS cannot be sent, it counts as lost: the peer repeats the RTS. */
	(void)flow->config->ops->send_control(flow, packet, sizeof(packet));
}

void rxd_greet(struct rxd_flow *flow, uint64_t now_ns)
{
	if (flow->greeting.asking)
		return;
	flow->greeting.asking = true;
	flow->greeting.tries = 0;
	flow->greeting.since_ns = now_ns;
	greeting_send_rts(flow, now_ns);
}

void rxd_greeting_run(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_greeting *greeting = &flow->greeting;

	if (now_ns < greeting->at_ns)
		return;
	if ((greeting->asking || greeting->syncing) &&
		now_ns - greeting->since_ns >= flow->config->patience_ns) {
		rxd_flow_give_up(flow);
	} else if (greeting->asking) {
		greeting_send_rts(flow, now_ns);
	} else if (greeting->syncing) {
		rxd_send_solicit(flow);
		greeting_set_pause(flow, now_ns);
	} else {
		greeting->at_ns = UINT64_MAX;
	}
}

void rxd_contest(struct rxd_flow *flow, uint64_t now_ns)
{
	struct rxd_greeting *greeting = &flow->greeting;

	if (greeting->contested_ns && now_ns < greeting->contested_ns + CONTEST_NS)
		return;
	greeting->contested = true;
	greeting->contested_ns = now_ns;
	/* If it cannot be sent, it counts as lost: the contest is repeated. */
	(void)greeting_post_rts(flow);
}

static bool greeting_silent_for(
	const struct rxd_flow *flow, uint64_t now_ns, uint64_t time_ns)
{
	return now_ns - WF_MIN(now_ns, flow->in.heard_ns) > time_ns;
}

/* Has the peer shown that it got its index by a CTS? */
static bool greeting_was_greeted(const struct rxd_flow *flow)
{
	return flow->in.next > 0 || flow->out.ever_acked;
}

/* Compare the @epoch in a packet with that of the known, extended peer. 1: the packet
 * is of the peer's present instance; 0: of a later one; -1: of an earlier one. */
static int greeting_life_of(
	const struct rxd_flow *flow, uint32_t epoch, uint64_t now_ns)
{
	if (epoch == flow->greeting.peer_epoch)
		return 1;
	if (rxd_epoch_after(epoch, flow->greeting.peer_epoch) ||
		greeting_silent_for(flow, now_ns, FORGOTTEN_NS))
		return 0;
	return -1;
}

static void greeting_open_extended(struct rxd_flow *flow, const struct rxd_ext *ext)
{
	flow->extended = true;
	flow->sealed = flow->wants_seals && ext->wants_seals;
	flow->greeting.peer_epoch = ext->epoch;
	flow->greeting.peer_max = ext->max_packet;
	flow->greeting.syncing = false;
	flow->out.window = flow->config->window_ext;
}

/* No packet that is larger than an RTS is sent to an address that has proven nothing:
 * an RTS may be forged. */
void rxd_greeting_prove(struct rxd_flow *flow, uint64_t now_ns)
{
	size_t largest = WF_MIN(flow->greeting.peer_max, flow->config->max_packet);

	if (flow->greeting.proven)
		return;
	flow->greeting.proven = true;
	if (flow->extended)
		rxd_path_start(&flow->path, flow->config->base_packet,
			WF_MIN(largest, flow->config->ops->path_packet(flow)), now_ns);
}

/* The peer's index is known now, from an RTS, or from a CTS: @proven. */
static void greeting_adopt(struct rxd_flow *flow, uint64_t index,
	const struct rxd_ext *ext, bool proven, uint64_t now_ns)
{
	struct rxd_greeting *greeting = &flow->greeting;
	bool opened = flow->state != RXD_FLOW_OPEN;

	if (opened)
		greeting->proven = false;
	if (proven)
		greeting->contested = false;
	flow->state = RXD_FLOW_OPEN;
	flow->peer_index = (uint32_t)index;
	greeting->asking = false;
	greeting->plain = 0;
	greeting->tries = 0;
	greeting->at_ns = UINT64_MAX;
	flow->in.heard_ns = now_ns;
	if (ext && !flow->extended)
		greeting_open_extended(flow, ext);
	if (opened && greeting->syncing)
		greeting->at_ns = greeting->since_ns = now_ns;
	if (proven)
		rxd_greeting_prove(flow, now_ns);
}

/* The index has 64 bits in RTS and CTS, and 32 in other packets. */
static bool greeting_index_ok(uint64_t index)
{
	return index != 0 && index <= UINT32_MAX;
}

static bool greeting_ext_ok(bool extended, const struct rxd_ext *ext)
{
	return !extended || ext->max_packet >= EXT_PACKET_MIN;
}

/* What is known belongs to an earlier instance of the peer: reset the flow. @rename:
 * the later instance does not know its index. */
static void greeting_forget(struct rxd_flow *flow, bool rename)
{
	rxd_flow_restarted(flow, rename);
	flow->state = RXD_FLOW_GREETED;
}

/* A packet with an extension arrived although the flow was opened without one: the
 * earlier RTS or CTS was changed by the network, or came from another peer. */
static void greeting_extend(struct rxd_flow *flow)
{
	if (greeting_was_greeted(flow))
		greeting_forget(flow, false);
	else
		rxd_flow_begin_again(flow);
}

/* A packet that the network changed looks like one of a peer of another library. So if
 * packets are to be sealed, one RTS or CTS without an extension is ignored. */
static bool greeting_doubted(struct rxd_flow *flow)
{
	return flow->wants_seals && flow->greeting.plain++ < PLAIN_MAX;
}

/* Is the sender of an RTS or CTS the peer as the flow knows it? @ext: NULL: there was
 * no extension. */
static bool greeting_is_known(
	const struct rxd_flow *flow, uint64_t index, const struct rxd_ext *ext)
{
	return index == flow->peer_index && flow->extended == (ext != NULL) &&
	       (!ext || ext->epoch == flow->greeting.peer_epoch);
}

/* The flow was opened by an RTS that the peer has not confirmed, and another RTS or CTS
 * came: nothing was transferred, so that the later one is believed. False: ignore
 * it. */
static bool greeting_replace_unproven(struct rxd_flow *flow, bool extended)
{
	if (flow->extended && !extended && greeting_doubted(flow))
		return false;
	rxd_flow_begin_again(flow);
	return true;
}

/* May the sender of the RTS or CTS with @ext, or without an extension, be a later
 * instance of the peer? This end, the peer, or both are extended. */
static bool greeting_may_follow(
	struct rxd_flow *flow, const struct rxd_ext *ext, uint64_t now_ns)
{
	if (!flow->extended)
		return true;
	if (ext)
		return greeting_life_of(flow, ext->epoch, now_ns) >= 0;
	return greeting_silent_for(flow, now_ns, LATE_NS) && !greeting_doubted(flow);
}

/* An RTS while the flow is open. False: ignore it. */
static bool greeting_rts_while_open(
	struct rxd_flow *flow, const struct rxd_rts *rts, uint64_t now_ns)
{
	bool known =
		greeting_is_known(flow, rts->index, rts->extended ? &rts->ext : NULL);

	if (known && flow->extended)
		return true;
	if (!flow->greeting.proven)
		return known || greeting_replace_unproven(flow, rts->extended);
	if (!flow->extended && !rts->extended) {
		if (greeting_was_greeted(flow) &&
			(!known || greeting_silent_for(flow, now_ns, LATE_NS)))
			greeting_forget(flow, true);
		return true;
	}
	if (greeting_may_follow(flow, rts->extended ? &rts->ext : NULL, now_ns))
		rxd_contest(flow, now_ns);
	return false;
}

void rxd_greeting_rts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns)
{
	struct rxd_rts rts;

	if (!rxd_rts_read(packet, len, &rts) || !greeting_index_ok(rts.index) ||
		!greeting_ext_ok(rts.extended, &rts.ext))
		return;
	if (flow->state == RXD_FLOW_OPEN &&
		!greeting_rts_while_open(flow, &rts, now_ns))
		return;
	greeting_adopt(flow, rts.index, rts.extended ? &rts.ext : NULL, false, now_ns);
	greeting_send_cts(flow, &rts);
}

/* A CTS while the flow is open: its sender has the peer's address. False: ignore it.
 * The peer's new instance got its index from the RTS that this CTS answers. */
static bool greeting_cts_while_open(
	struct rxd_flow *flow, const struct rxd_cts *cts, uint64_t now_ns)
{
	const struct rxd_greeting *greeting = &flow->greeting;
	const struct rxd_ext *ext = cts->extended ? &cts->ext : NULL;

	if (!greeting->asking && !greeting->contested && greeting->proven)
		return false;
	if (greeting_is_known(flow, cts->index, ext))
		return true;
	if (!greeting->proven)
		return greeting_replace_unproven(flow, cts->extended);
	if (cts->extended && flow->extended) {
		int life = greeting_life_of(flow, cts->ext.epoch, now_ns);

		if (life == 0)
			greeting_forget(flow, false);
		return life >= 0;
	}
	if (cts->extended) {
		greeting_extend(flow);
	} else if (flow->extended) {
		if (!greeting->contested || !greeting_may_follow(flow, NULL, now_ns))
			return false;
		greeting_forget(flow, false);
	} else if (greeting_was_greeted(flow)) {
		greeting_forget(flow, false);
	}
	return true;
}

/* The CTS is ignored: ask for a second one. False: it is not ignored. */
static bool greeting_ask_again(
	struct rxd_flow *flow, const struct rxd_cts *cts, uint64_t now_ns)
{
	if (cts->extended || flow->state == RXD_FLOW_OPEN || !greeting_doubted(flow))
		return false;
	greeting_send_rts(flow, now_ns);
	return true;
}

void rxd_greeting_cts(
	struct rxd_flow *flow, const uint8_t *packet, size_t len, uint64_t now_ns)
{
	struct rxd_cts cts;

	if (!rxd_cts_read(packet, len, flow->greeting.own_epoch, &cts) ||
		cts.echo != flow->own_index || !greeting_index_ok(cts.index) ||
		!greeting_ext_ok(cts.extended, &cts.ext) || flow->state == RXD_FLOW_NEW)
		return;
	if (flow->state == RXD_FLOW_OPEN &&
		!greeting_cts_while_open(flow, &cts, now_ns))
		return;
	if (!greeting_ask_again(flow, &cts, now_ns))
		greeting_adopt(
			flow, cts.index, cts.extended ? &cts.ext : NULL, true, now_ns);
}
