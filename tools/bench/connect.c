/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time to open an endpoint of side 0 and get the answer to its first message. If
 * endpoints are connectionless, side 0 first sends the new address over the control
 * connection, which is not measured, and side 1 answers from its own endpoint.
 */
#include "../clock.h"
#include "idle.h"
#include "message.h"
#include "say.h"
#include "patterns.h"

#include <stdlib.h>

/* A worker for a new endpoint, with one slot for each direction. */
struct newcomer {
	struct fb_worker w;
	struct fb_slot tx, rx;
	struct fb_slot *tx_at, *rx_at; /* memory of the fifos */
};

static void connect_lane_of_one(
	struct fb_lane *lane, struct fb_slot *slot, struct fb_slot **at)
{
	*slot = (struct fb_slot){ .receives = false };
	lane->slot = slot;
	lane->slots = lane->buffers = 1;
	lane->fifo = (struct fb_fifo){ .at = at };
}

static void connect_open_newcomer(
	struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	struct fb_node *node = w->node;

	new->w = *w;
	connect_lane_of_one(&new->w.tx, &new->tx, &new->tx_at);
	connect_lane_of_one(&new->w.rx, &new->rx, &new->rx_at);
	new->rx.receives = true;
	fb_fifo_put(&new->w.tx.fifo, &new->tx);
	new->w.end.cq = cq;
	new->w.end.ep =
		node->config->type == FI_EP_MSG
			? fb_node_connect(node, new->w.end.cq)
			: fb_node_endpoint(node, node->info, new->w.end.cq, w->end.av);
	fb_message_post(&new->w, &new->rx);
}

static void connect_close_newcomer(struct newcomer *new)
{
	fb_must(fi_close(&new->w.end.ep->fid), "closing an endpoint");
	fb_must(fi_close(&new->w.end.cq->fid), "closing a CQ");
}

/* Waits for an empty message, without posting another receive. */
static void connect_await_word(struct fb_worker *w)
{
	while (fb_fifo_empty(&w->rx.fifo))
		fb_poll(w);
	(void)fb_fifo_take(&w->rx.fifo);
}

/* The side with the new endpoint, with the queue @cq or, if that is NULL, a queue of
 * its own. Returns the measured time in ns. */
static uint64_t connect_call(
	struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	struct fb_address all[2];
	uint64_t start = tool_now_ns(), ns;

	connect_open_newcomer(w, new, cq ? cq : fb_node_queue(w->node));
	ns = tool_now_ns() - start;
	if (w->node->config->type != FI_EP_MSG)
		fb_node_swap_addresses(w->node, new->w.end.ep, all);
	start = tool_now_ns();
	fb_message_send_empty(&new->w);
	connect_await_word(&new->w);
	fb_message_finish(&new->w);
	return ns + tool_now_ns() - start;
}

/* The side that answers, for connected endpoints. */
static void connect_answer_connection(
	struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	connect_open_newcomer(w, new, cq ? cq : fb_node_queue(w->node));
	connect_await_word(&new->w);
	fb_message_send_empty(&new->w);
	fb_message_finish(&new->w);
}

/* The side that answers, for connectionless endpoints. Returns the address of the new
 * endpoint. */
static fi_addr_t connect_answer(struct fb_worker *w)
{
	struct fb_address all[2];
	fi_addr_t peer = w->end.peer, newcomer;

	fb_node_swap_addresses(w->node, w->end.ep, all);
	newcomer = fb_address_insert(w->end.av, &all[!w->side]);
	w->end.peer = newcomer;
	fb_message_await_empty(w);
	fb_message_send_empty(w);
	fb_message_finish(w);
	w->end.peer = peer;
	return newcomer;
}

static void connect_one_iteration(
	struct fb_worker *w, struct newcomer *new, uint64_t *ns)
{
	bool connected = w->node->config->type == FI_EP_MSG, calls = !w->side;
	fi_addr_t newcomer = FI_ADDR_UNSPEC;

	if (calls)
		*ns += connect_call(w, new, NULL);
	else if (connected)
		connect_answer_connection(w, new, NULL);
	else
		newcomer = connect_answer(w);
	/* Neither side closes before both have their message. */
	fb_control_barrier(w->node->control);
	if (calls || connected)
		connect_close_newcomer(new);
	else
		(void)fi_av_remove(w->end.av, &newcomer, 1, 0);
}

static void connect_iterations(struct fb_worker *w, uint64_t count)
{
	uint64_t base = tool_now_ns(), ns = 0;
	struct newcomer new = { .tx_at = NULL };

	for (uint64_t i = 0; i < count; i++) {
		connect_one_iteration(w, &new, &ns);
		if (w->stamps)
			w->stamps[i] = base + ns;
	}
	w->batch_ns = (double)ns;
}

const struct fb_pattern fb_connect = { connect_iterations, 1 };

/* ---- idle peers ---- */

/* Idle connectionless endpoints share a queue that is not read later; idle connected
 * endpoints have the measured queue. */
static struct {
	struct newcomer *all; /* those of this side; NULL: none */
	uint32_t count;
	struct fid_cq *cq; /* NULL: the measured queue */
} idle;

void fb_idle_add(struct fb_worker *w)
{
	bool connected = w->node->config->type == FI_EP_MSG;
	uint32_t count = w->node->config->idle;
	struct fid_cq *cq = w->end.cq;

	if (!count)
		return;
	if (w->side && !connected)
		cq = idle.cq = fb_node_queue(w->node);
	if (w->side || connected) {
		idle.all = fb_alloc(count, sizeof(*idle.all));
		idle.count = count;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (w->side)
			(void)connect_call(w, &idle.all[i], cq);
		else if (connected)
			connect_answer_connection(w, &idle.all[i], cq);
		else
			(void)connect_answer(w);
	}
	fb_control_barrier(w->node->control);
}

void fb_idle_remove(void)
{
	for (uint32_t i = 0; i < idle.count; i++)
		(void)fi_close(&idle.all[i].w.end.ep->fid);
	if (idle.cq)
		(void)fi_close(&idle.cq->fid);
	free(idle.all);
	idle.all = NULL;
	idle.count = 0;
	idle.cq = NULL;
}
