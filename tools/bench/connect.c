/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * New endpoints of side 0, each until its first message is answered. Where there are no
 * connections, the new address is told before by the control connection, and side 1
 * answers from the endpoint that it has; telling it is not measured.
 */
#include "../clock.h"
#include "idle.h"
#include "message.h"
#include "say.h"
#include "turns.h"

#include <stdlib.h>

/* A worker for a new endpoint, with one slot for each direction. */
struct newcomer {
	struct fb_worker w;
	struct fb_slot tx, rx;
	struct fb_slot *tx_at, *rx_at; /* the fifos */
};

static void lane_of_one(struct fb_lane *lane, struct fb_slot *slot, struct fb_slot **at)
{
	*slot = (struct fb_slot){ .receives = false };
	lane->slot = slot;
	lane->slots = lane->buffers = 1;
	lane->fifo = (struct fb_fifo){ .at = at };
}

static void open_newcomer(struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	struct fb_node *node = w->node;

	new->w = *w;
	lane_of_one(&new->w.tx, &new->tx, &new->tx_at);
	lane_of_one(&new->w.rx, &new->rx, &new->rx_at);
	new->rx.receives = true;
	fb_fifo_put(&new->w.tx.fifo, &new->tx);
	new->w.end.cq = cq;
	new->w.end.ep =
		node->config->type == FI_EP_MSG
			? fb_node_connect(node, new->w.end.cq)
			: fb_node_endpoint(node, node->info, new->w.end.cq, w->end.av);
	fb_message_post(&new->w, &new->rx);
}

static void close_newcomer(struct newcomer *new)
{
	fb_must(fi_close(&new->w.end.ep->fid), "closing an endpoint");
	fb_must(fi_close(&new->w.end.cq->fid), "closing a CQ");
}

/* Waits for the word that has to come, without posting another receive. */
static void await_word(struct fb_worker *w)
{
	while (fb_fifo_empty(&w->rx.fifo))
		fb_look(w);
	(void)fb_fifo_take(&w->rx.fifo);
}

/* The side that has the newcomer, with @cq or, if that is NULL, a queue of its own.
 * Returns the time of what is measured. */
static uint64_t call(struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	struct fb_address all[2];
	uint64_t start = tool_now_ns(), ns;

	open_newcomer(w, new, cq ? cq : fb_node_queue(w->node));
	ns = tool_now_ns() - start;
	if (w->node->config->type != FI_EP_MSG)
		fb_node_swap_addresses(w->node, new->w.end.ep, all);
	start = tool_now_ns();
	fb_message_word(&new->w);
	await_word(&new->w);
	fb_message_finish(&new->w);
	return ns + tool_now_ns() - start;
}

/* The other side, with a connection of its own. */
static void answer_connection(
	struct fb_worker *w, struct newcomer *new, struct fid_cq *cq)
{
	open_newcomer(w, new, cq ? cq : fb_node_queue(w->node));
	await_word(&new->w);
	fb_message_word(&new->w);
	fb_message_finish(&new->w);
}

/* The other side, from the endpoint that it has. Returns the newcomer's address. */
static fi_addr_t answer(struct fb_worker *w)
{
	struct fb_address all[2];
	fi_addr_t peer = w->end.peer, newcomer;

	fb_node_swap_addresses(w->node, w->end.ep, all);
	newcomer = fb_address_insert(w->end.av, &all[!w->side]);
	w->end.peer = newcomer;
	fb_message_hear(w);
	fb_message_word(w);
	fb_message_finish(w);
	w->end.peer = peer;
	return newcomer;
}

static void one_turn(struct fb_worker *w, struct newcomer *new, uint64_t *ns)
{
	bool connected = w->node->config->type == FI_EP_MSG, calls = !w->side;
	fi_addr_t newcomer = FI_ADDR_UNSPEC;

	if (calls)
		*ns += call(w, new, NULL);
	else if (connected)
		answer_connection(w, new, NULL);
	else
		newcomer = answer(w);
	/* Both have what they wait for before either closes. */
	fb_control_barrier(w->node->control);
	if (calls || connected)
		close_newcomer(new);
	else
		(void)fi_av_remove(w->end.av, &newcomer, 1, 0);
}

static void turns(struct fb_worker *w, uint64_t count)
{
	uint64_t base = tool_now_ns(), ns = 0;
	struct newcomer new = { .tx_at = NULL };

	for (uint64_t i = 0; i < count; i++) {
		one_turn(w, &new, &ns);
		if (w->stamps)
			w->stamps[i] = base + ns;
	}
	w->batch_ns = (double)ns;
}

const struct fb_pattern fb_connect = { turns, 1 };

/* ---- idle peers ---- */

/* They share a queue that nothing reads later, where connected ones have the real one.
 */
static struct {
	struct newcomer *all; /* those of this side; NULL: none */
	uint32_t count;
	struct fid_cq *cq; /* NULL: the real one */
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
			(void)call(w, &idle.all[i], cq);
		else if (connected)
			answer_connection(w, &idle.all[i], cq);
		else
			(void)answer(w);
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
