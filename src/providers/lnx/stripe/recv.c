/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/srx/entry.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/clock.h"
#include "sys/iov.h"

/*
 * Striped messages that arrive: the offer and the head come in any order, over
 * different connections. When both are there the payload is read (fetch.c).
 *
 * A sender that is not told of a discarded message would wait, so every message ends
 * with a DONE.
 */

enum {
	CHUNK_MIN = 4 << 10,   /* bytes of the smallest chunks */
	CHUNK_MAX = 512 << 10, /* and of the largest ones */
	/* Chunks of a message of medium size. */
	CHUNKS = 8,
	/* Offers without a head that are kept of one sender, and of all. */
	SENDER_OFFERS_MAX = 2 * LNX_STRIPE_OUT_MAX,
	OFFERS_MAX = 1 << 18,
	/* Questions that a sender leaves without answer before it counts as dead. */
	QUESTIONS = 8,
};

static struct lnx_stripe *stripe_of(struct wf_srx_heads *heads)
{
	return wf_container_of(heads, struct lnx_stripe, heads);
}

/* The low bits of ids of several senders are alike. */
static struct wf_list *recv_bucket(struct lnx_stripe *s, uint64_t id)
{
	return &s->in[(id ^ id >> LNX_STRIPE_OP_BITS) % LNX_STRIPE_TABLE];
}

static struct lnx_inbound *recv_find(struct lnx_stripe *s, uint64_t id)
{
	wf_list_foreach(link, recv_bucket(s, id))
	{
		struct lnx_inbound *in = wf_list_entry(link, struct lnx_inbound, link);

		if (in->id == id)
			return in;
	}
	return NULL;
}

/* The message @id of @sender, made if it is new; NULL: no memory. */
static struct lnx_inbound *recv_get(
	struct lnx_stripe *s, struct lnx_sender *sender, uint64_t id)
{
	struct lnx_inbound *in = recv_find(s, id);

	if (in)
		return in;
	in = calloc(1, sizeof(*in));
	if (!in)
		return NULL;
	in->sender = sender;
	in->id = id;
	wf_list_init(&in->active);
	wf_list_init(&in->again);
	wf_list_push(recv_bucket(s, id), &in->link);
	return in;
}

/* @in, which is offered and has no entry, begins or ceases to count against the
 * limits. */
static void recv_count_offer(struct lnx_stripe *s, struct lnx_inbound *in, bool begins)
{
	s->offers += begins ? 1 : (size_t)-1;
	in->sender->offers += begins ? 1 : (size_t)-1;
}

static void recv_in_free(struct lnx_stripe *s, struct lnx_inbound *in)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&in->again)))
		wf_pool_put(&s->chunks, wf_list_entry(link, struct lnx_chunk, link));
	if (in->entry)
		lnx_stripe_add_busy(s, -1);
	else if (in->offered)
		recv_count_offer(s, in, false);
	wf_list_remove(&in->active);
	wf_list_remove(&in->link);
	free(in);
}

static void recv_tell_done(struct lnx_stripe *s, const struct lnx_inbound *in, int err)
{
	lnx_control_post(s, &in->sender->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_DONE,
			.nonce = in->sender->nonce,
			.id = in->id,
			.key = in->key,
			.err = (uint32_t)err,
		});
}

/* Report the receive of @in. The lock of the receive context is held. */
static void recv_report(struct lnx_inbound *in)
{
	struct fi_peer_rx_entry *entry = in->entry;
	uint64_t flags = in->has_data ? FI_REMOTE_CQ_DATA : 0;
	uint64_t capacity = wf_iov_len(entry->iov, entry->count);

	/* The data of the head are not the application's. */
	entry->flags &= ~FI_REMOTE_CQ_DATA;
	if (in->err)
		wf_srx_fail(in->ep, entry, flags, 0, 0, in->data, in->src, in->err);
	else if (in->size > capacity)
		wf_srx_fail(in->ep, entry, flags, capacity, in->size - capacity,
			in->data, in->src, FI_ETRUNC);
	else
		wf_srx_end(in->ep, entry, flags, in->size, in->data, in->src);
}

void lnx_inbound_end(struct lnx_stripe *s, struct lnx_inbound *in)
{
	if (in->offered)
		recv_tell_done(s, in, in->err);
	recv_report(in);
	recv_in_free(s, in);
}

static void recv_fail(struct lnx_stripe *s, struct lnx_inbound *in, int err)
{
	if (!in->err)
		in->err = err;
	if (!in->flying)
		lnx_inbound_end(s, in);
}

static size_t recv_chunk_of(uint64_t want)
{
	uint64_t part = (want / CHUNKS + CHUNK_MIN - 1) & ~(uint64_t)(CHUNK_MIN - 1);

	return (size_t)WF_MIN(WF_MAX(part, (uint64_t)CHUNK_MIN), (uint64_t)CHUNK_MAX);
}

/* Offer and receive are there. */
static void recv_begin(struct lnx_stripe *s, struct lnx_inbound *in)
{
	in->want = WF_MIN(in->size, wf_iov_len(in->entry->iov, in->entry->count));
	in->chunk = recv_chunk_of(in->want);
	lnx_stripe_fetch(s, in);
}

/* The receive @entry of @in came. */
static void recv_take(struct lnx_stripe *s, struct lnx_inbound *in, struct wf_ep *ep,
	struct fi_peer_rx_entry *entry, fi_addr_t src)
{
	if (in->offered)
		recv_count_offer(s, in, false);
	in->entry = entry;
	in->ep = ep;
	in->src = src;
	in->asked_ns = wf_coarse_ns();
	wf_list_push(&s->active, &in->active);
	lnx_stripe_add_busy(s, 1);
	if (in->offered)
		recv_begin(s, in);
	lnx_stripe_set_timer(s, LNX_STRIPE_ASK_NS);
	atomic_store_explicit(&s->ep->calls_left, 0, memory_order_relaxed);
}

static bool recv_matched(struct wf_srx_heads *heads, struct wf_ep *ep,
	struct fi_peer_rx_entry *entry, uint64_t data, fi_addr_t src)
{
	struct lnx_stripe *s = stripe_of(heads);
	struct lnx_sender *sender;
	struct lnx_inbound *in;
	bool is_head = false;

	wf_lock(&s->lock);
	sender = lnx_sender_find(s, data);
	if (sender) {
		in = recv_get(s, sender, data);
		/* A head that comes twice is none. */
		is_head = !in || !in->entry;
		if (!in)
			wf_srx_fail(ep, entry, 0, 0, 0, 0, src, FI_ENOMEM);
		else if (is_head)
			recv_take(s, in, ep, entry, src);
	}
	wf_unlock(&s->lock);
	return is_head;
}

static void recv_ask_for(struct lnx_stripe *s, struct lnx_sender *sender, uint64_t id)
{
	lnx_control_post(s, &sender->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_ASK_SENDER,
			.nonce = sender->nonce,
			.id = id,
		});
}

/* A peek found the head @id without its offer, which may have been refused. */
static void recv_lacks_offer(
	struct lnx_stripe *s, struct lnx_sender *sender, uint64_t id)
{
	uint64_t now = wf_coarse_ns();

	if (now - sender->asked_ns < LNX_STRIPE_ASK_NS)
		return;
	if (sender->asked_ns)
		recv_ask_for(s, sender, id);
	sender->asked_ns = now;
}

static int recv_describe(struct wf_srx_heads *heads, struct fi_peer_rx_entry *view)
{
	struct lnx_stripe *s = stripe_of(heads);
	struct lnx_sender *sender;
	struct lnx_inbound *in;
	int ret = 0;

	wf_lock(&s->lock);
	sender = lnx_sender_find(s, view->cq_data);
	in = sender ? recv_find(s, view->cq_data) : NULL;
	if (in && in->offered) {
		view->msg_size = in->size;
		view->cq_data = in->data;
		view->flags &= ~FI_REMOTE_CQ_DATA;
		if (in->has_data)
			view->flags |= FI_REMOTE_CQ_DATA;
	} else if (sender) {
		recv_lacks_offer(s, sender, view->cq_data);
		ret = -FI_EAGAIN;
	}
	wf_unlock(&s->lock);
	return ret;
}

/* The offer has come, because recv_describe() knew the message. */
static void recv_discarded(struct wf_srx_heads *heads, uint64_t data)
{
	struct lnx_stripe *s = stripe_of(heads);
	struct lnx_inbound *in;

	wf_lock(&s->lock);
	in = lnx_sender_find(s, data) ? recv_find(s, data) : NULL;
	if (in && !in->entry) {
		recv_tell_done(s, in, 0);
		recv_in_free(s, in);
	}
	wf_unlock(&s->lock);
}

const struct wf_srx_head_ops lnx_stripe_head_ops = {
	.matched = recv_matched,
	.describe = recv_describe,
	.discarded = recv_discarded,
};

/* Offers that wait for their heads are limited. One that is refused is asked for when
 * its head gets a receive. */
static bool recv_is_full(const struct lnx_stripe *s, const struct lnx_sender *sender)
{
	return sender->offers >= SENDER_OFFERS_MAX || s->offers >= OFFERS_MAX;
}

void lnx_stripe_offer(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_sender *sender = lnx_sender_find(s, msg->id);
	struct lnx_inbound *in;

	if (!sender)
		return;
	in = recv_find(s, msg->id);
	if (!in && recv_is_full(s, sender))
		sender->refused = true;
	else
		in = recv_get(s, sender, msg->id);
	if (!in || in->offered)
		return;
	in->offered = true;
	in->has_data = msg->has_data;
	in->size = msg->size;
	in->data = msg->has_data ? msg->data : 0;
	in->key = msg->key;
	if (in->entry)
		recv_begin(s, in);
	else
		recv_count_offer(s, in, true);
}

void lnx_stripe_withdraw(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_inbound *in =
		lnx_sender_find(s, msg->id) ? recv_find(s, msg->id) : NULL;

	if (!in)
		return;
	if (in->entry)
		recv_fail(s, in, msg->err ? (int)msg->err : FI_ECANCELED);
	else
		recv_in_free(s, in);
}

/* A sender that waits for long asks whether its message is known. Of a message whose
 * offer was dropped nothing is known, and nothing is wrong. */
void lnx_stripe_ask_receiver(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_sender *sender = lnx_sender_find(s, msg->id);

	if (!sender || sender->nonce != msg->nonce)
		sender = lnx_sender_get(s, msg);
	if (!sender || (sender->token == lnx_stripe_token_of(msg->id) &&
			       (sender->refused || recv_find(s, msg->id))))
		return;
	lnx_control_post(s, &sender->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_DONE,
			.nonce = msg->nonce,
			.id = msg->id,
			.key = msg->key,
			.err = FI_ECONNRESET,
		});
}

void lnx_sender_fail(struct lnx_stripe *s, struct lnx_sender *sender, int err)
{
	wf_list_foreach_safe(link, &s->active)
	{
		struct lnx_inbound *in =
			wf_list_entry(link, struct lnx_inbound, active);

		if (in->sender == sender)
			recv_fail(s, in, err);
	}
}

/* Ask for the offer of a head that has a receive. */
static void recv_ask(struct lnx_stripe *s, struct lnx_inbound *in, uint64_t now)
{
	in->asked_ns = now;
	if (++in->questions > QUESTIONS) {
		recv_fail(s, in, FI_ETIMEDOUT);
		return;
	}
	recv_ask_for(s, in->sender, in->id);
}

/* A sender in this state does not get a second question before the first one has
 * arrived, so a process that makes no progress is not taken for a dead one. */
void lnx_stripe_ask_senders(struct lnx_stripe *s, uint64_t now)
{
	wf_list_foreach_safe(link, &s->active)
	{
		struct lnx_inbound *in =
			wf_list_entry(link, struct lnx_inbound, active);

		if (!in->offered && !in->sender->contact.pending &&
			now - in->asked_ns >= LNX_STRIPE_ASK_NS)
			recv_ask(s, in, now);
	}
}

void lnx_stripe_free_in(struct lnx_stripe *s)
{
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++) {
		wf_list_foreach_safe(link, &s->in[i])
		{
			struct lnx_inbound *in =
				wf_list_entry(link, struct lnx_inbound, link);

			if (in->entry)
				wf_srx_free_entry(in->entry);
			recv_in_free(s, in);
		}
	}
	for (uint32_t i = 0; i < s->sender_count; i++)
		free(s->sender[i]);
	free(s->sender);
}
