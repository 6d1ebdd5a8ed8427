/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>

#include "providers/rxd/flow/parts.h"

/* Nothing is left that could send a lost goodbye again: as many leave at once. */
enum { BYES = 3 };

/* Beginning and end of a flow: by the owner, because the peer was restarted, or because
 * the peer does not answer. */

static void life_reset_incoming(struct rxd_flow *flow)
{
	rxd_early_done(&flow->in.early, &flow->config->kept);
	flow->in = (struct rxd_incoming){
		.delay_ns = UINT64_MAX,
		.heard_ns = flow->in.heard_ns,
	};
}

/* Reset sending; the board's next number becomes @number. */
static void life_reset_outgoing(struct rxd_flow *flow, uint64_t number)
{
	struct rxd_outgoing *out = &flow->out;

	rxd_board_clear(&out->board, number);
	rxd_rtt_init(&out->rtt);
	rxd_cubic_init(&out->cc, flow->config->base_packet);
	out->delivery = (struct rxd_delivery){ .delivered = 0 };
	out->start_losses = 0;
	out->current = NULL;
	out->window = flow->config->window;
	out->blocked = false;
	out->rounds = out->repeats = out->unasked = 0;
	out->early_end = 0;
	out->recovered_order = out->board.order;
	out->timeout_ns = out->loss_ns = UINT64_MAX;
	flow->packet_size = flow->config->base_packet;
	rxd_path_init(&flow->path);
}

static void life_reset_greeting(struct rxd_flow *flow)
{
	flow->greeting.asking = false;
	flow->greeting.syncing = false;
	flow->greeting.proven = flow->greeting.contested = false;
	flow->greeting.plain = 0;
	flow->greeting.tries = 0;
	flow->greeting.at_ns = UINT64_MAX;
}

void rxd_flow_reset(struct rxd_flow *flow)
{
	life_reset_incoming(flow);
	life_reset_outgoing(flow, 0);
	life_reset_greeting(flow);
	flow->out.ever_acked = false;
	flow->extended = false;
	flow->sealed = false;
}

void rxd_flow_begin_again(struct rxd_flow *flow)
{
	rxd_send_renumber(flow, 0);
	/* The size of their packets may be different now. */
	wf_list_foreach(link, &flow->out.waiting)
		wf_list_entry(link, struct rxd_xfer, link)
			->begun = false;
	rxd_flow_reset(flow);
	flow->state = RXD_FLOW_GREETED;
}

void rxd_flow_init(
	struct rxd_flow *flow, struct rxd_flow_config *config, uint32_t own_index)
{
	*flow = (struct rxd_flow){
		.config = config, .own_index = own_index, .wants_seals = config->seals
	};
	flow->greeting.own_epoch = config->epoch;
	wf_list_init(&flow->out.waiting);
	wf_list_init(&flow->out.begun);
	rxd_flow_reset(flow);
}

static void life_move(struct wf_list *from, struct wf_list *to)
{
	struct wf_list *item;

	while ((item = wf_list_pop(from)))
		wf_list_push(to, item);
}

static void life_fail_all(struct rxd_flow *flow, struct wf_list *xfers, int err)
{
	struct wf_list *item;

	flow->busy = true;
	while ((item = wf_list_pop(xfers)))
		flow->config->ops->failed(
			flow, wf_list_entry(item, struct rxd_xfer, link), err);
	flow->busy = false;
}

static void life_tell_restarted(struct rxd_flow *flow)
{
	flow->busy = true;
	flow->config->ops->restarted(flow);
	flow->busy = false;
}

/* Change the index of the peer: packets with the old index are of an earlier
 * instance. */
static void life_rename_peer(struct rxd_flow *flow)
{
	flow->own_index = flow->config->ops->new_index(flow);
}

/* Queue the transfers in @begun again that survive a restart of the peer, in order and
 * before those that wait. */
static void life_keep_survivors(struct rxd_flow *flow, struct wf_list *begun)
{
	struct wf_list *last = &flow->out.waiting;

	wf_list_foreach_safe(link, begun)
	{
		struct rxd_xfer *xfer = wf_list_entry(link, struct rxd_xfer, link);

		if (!flow->config->ops->survives(flow, xfer))
			continue;
		wf_list_remove(link);
		wf_list_insert_after(last, link);
		xfer->begun = false;
		last = link;
	}
}

void rxd_flow_restarted(struct rxd_flow *flow, bool rename)
{
	struct wf_list begun;

	wf_list_init(&begun);
	life_move(&flow->out.begun, &begun);
	life_keep_survivors(flow, &begun);
	rxd_flow_reset(flow);
	if (rename)
		life_rename_peer(flow);
	life_tell_restarted(flow);
	life_fail_all(flow, &begun, FI_ECONNRESET);
}

/* The numbers towards an extended peer start anew, as after a restart of this end,
 * which a new epoch shows to the peer. A peer of another library does not notice: its
 * next acknowledgement contains the number that it expects. */
static void life_forget_peer(struct rxd_flow *flow)
{
	bool history = flow->out.board.una > 0;

	if (flow->extended) {
		rxd_flow_reset(flow);
		life_rename_peer(flow);
		flow->greeting.own_epoch = rxd_epoch_new();
		return;
	}
	life_reset_outgoing(flow, flow->out.board.una);
	life_reset_greeting(flow);
	flow->greeting.syncing = history;
}

/* Fail everything with @err, and greet the peer again before anything is sent. */
static void life_part(struct rxd_flow *flow, int err)
{
	struct wf_list all;

	wf_list_init(&all);
	life_move(&flow->out.begun, &all);
	life_move(&flow->out.waiting, &all);
	life_forget_peer(flow);
	flow->state = RXD_FLOW_NEW;
	life_tell_restarted(flow);
	life_fail_all(flow, &all, err);
}

void rxd_flow_give_up(struct rxd_flow *flow)
{
	life_part(flow, FI_ECONNREFUSED);
}

void rxd_flow_left(struct rxd_flow *flow)
{
	life_part(flow, FI_ECONNRESET);
}

/* Send what is left, regardless of the congestion window: the socket of a peer that
 * does not run keeps it until the peer runs again. */
static void life_send_rest(struct rxd_flow *flow, uint64_t now_ns)
{
	if (rxd_flow_idle(flow))
		return;
	flow->out.cc.cwnd = UINT64_MAX;
	rxd_send_more(flow, now_ns);
}

void rxd_flow_bye(struct rxd_flow *flow, uint64_t now_ns)
{
	const struct rxd_base base = { .version = RXD_VERSION,
		.type = RXD_BYE,
		.flags = RXD_FLAG_EXT,
		.peer = flow->peer_index,
		.seq = flow->in.next };

	if (flow->state == RXD_FLOW_OPEN)
		life_send_rest(flow, now_ns);
	if (flow->state != RXD_FLOW_OPEN || !flow->extended)
		return;
	for (int i = 0; i < BYES; i++)
		(void)flow->config->ops->send_control(flow, &base, sizeof(base));
}

void rxd_flow_done(struct rxd_flow *flow, int err)
{
	life_fail_all(flow, &flow->out.begun, err);
	life_fail_all(flow, &flow->out.waiting, err);
	rxd_early_done(&flow->in.early, &flow->config->kept);
	rxd_board_done(&flow->out.board);
}
