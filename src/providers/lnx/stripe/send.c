/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "providers/lnx/param.h"
#include "providers/lnx/progress.h"
#include "providers/lnx/record.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/iov.h"

/*
 * Striped messages that are sent. The head goes first: if no rail takes it, nothing has
 * happened. Then the offer tells the receiver where the payload is, and the receiver
 * tells when it has it. The application gets the completion when the head has left and
 * the receiver is done, which is enough for every completion level.
 *
 * If a message of the application has CQ data that looks like a head to the receiver,
 * it is striped, whatever its size.
 */

enum {
	KEY_TRIES = 16,
	ASKED_MAX = 16,
	/* The longest time that the first large message to a peer waits for a token. */
	PATIENCE_NS = 50000000,
};

/* Messages to a receiver that could not be reached are not striped for this time. */
static const uint64_t lost_ns = UINT64_C(10000000000);

static struct wf_list *send_bucket(struct lnx_stripe *s, uint64_t id)
{
	return &s->out[id % LNX_STRIPE_TABLE];
}

static struct lnx_outbound *send_find(struct lnx_stripe *s, uint64_t id, uint64_t key)
{
	wf_list_foreach(link, send_bucket(s, id))
	{
		struct lnx_outbound *out =
			wf_list_entry(link, struct lnx_outbound, link);

		if (out->id == id && out->key == key)
			return out;
	}
	return NULL;
}

/* A number that no message under way to @receiver has. */
static uint64_t send_new_id(struct lnx_stripe *s, struct lnx_receiver *receiver)
{
	for (;;) {
		uint64_t id =
			receiver->token | (receiver->next_op++ & LNX_STRIPE_OP_MASK);
		bool taken = false;

		wf_list_foreach(link, send_bucket(s, id))
		{
			taken |= wf_list_entry(link, struct lnx_outbound, link)->id ==
				 id;
		}
		if (!taken)
			return id;
	}
}

static void send_close_regions(struct lnx_stripe *s, struct lnx_outbound *out)
{
	for (unsigned int i = 0; i < s->count; i++)
		wf_lower_region_close(
			&out->region[i], &s->ep->domain->member[s->rail[i].member]);
}

/* Register with the rails in @rails under one key, which is hard to guess. */
static int send_register_memory(struct lnx_stripe *s, struct lnx_outbound *out,
	const struct wf_op *op, uint8_t rails)
{
	struct iovec copy = { out->copy, op->len };
	struct fi_mr_attr attr = {
		.mr_iov = out->copy ? &copy : op->iov,
		.iov_count = out->copy ? 1 : op->iov_count,
		.access = FI_REMOTE_READ,
	};
	int ret = -FI_ENOKEY;

	for (int k = 0; k < KEY_TRIES && ret == -FI_ENOKEY; k++) {
		if (wf_sys_getrandom(&out->key, sizeof(out->key), 0) < 0)
			return -FI_EIO;
		attr.requested_key = out->key;
		ret = 0;
		for (unsigned int i = 0; i < s->count && !ret && op->len; i++)
			if (rails >> i & 1)
				ret = wf_lower_region_open(&out->region[i],
					&s->ep->domain->member[s->rail[i].member], NULL,
					&attr, 0);
		if (ret)
			send_close_regions(s, out);
	}
	return ret;
}

/* Free @out, which is in no list. */
static void send_out_free(struct lnx_stripe *s, struct lnx_outbound *out)
{
	send_close_regions(s, out);
	if (out->offer)
		lnx_control_free(s, out->offer);
	if (out->copy)
		s->injected--;
	out->receiver->out_count--;
	lnx_stripe_add_busy(s, -1);
	free(out->copy);
	free(out);
}

/* The message is over: report it, once the head has left. */
static void send_end(struct lnx_stripe *s, struct lnx_outbound *out)
{
	const struct wf_op_report *report = &wf_op_reports[out->kind];
	struct wf_ep *ep = &s->ep->wf;

	if (!out->published || !out->head_done || !(out->err || out->done))
		return;
	wf_list_remove(&out->link);
	/* Nothing reads the buffers after they are the application's again. */
	send_close_regions(s, out);
	if (out->err)
		wf_ep_tx_err(ep, report->cntr, out->context, out->flags,
			report->comp_flags, 0, out->err);
	else
		wf_ep_tx_done(ep, report->cntr, out->context, out->flags,
			report->comp_flags, out->size);
	send_out_free(s, out);
}

static void send_withdraw(struct lnx_stripe *s, const struct lnx_outbound *out, int err)
{
	lnx_control_post(s, &out->receiver->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_WITHDRAW,
			.id = out->id,
			.err = (uint32_t)err,
		});
}

static void send_fail(struct lnx_stripe *s, struct lnx_outbound *out, int err)
{
	if (!out->err)
		out->err = err;
	send_end(s, out);
}

static struct lnx_stripe_msg send_offer_of(const struct lnx_outbound *out)
{
	return (struct lnx_stripe_msg){
		.kind = LNX_STRIPE_OFFER,
		.has_data = out->flags & FI_REMOTE_CQ_DATA,
		.id = out->id,
		.size = out->size,
		.data = out->data,
		.key = out->key,
	};
}

/* Everything that @op needs. 0 or a negative fi_errno; NULL memory is -FI_ENOMEM. */
static int send_out_new(struct lnx_stripe *s, struct lnx_receiver *receiver,
	const struct wf_op *op, struct lnx_outbound **ret_out)
{
	struct lnx_outbound *out = calloc(1, sizeof(*out));
	struct lnx_stripe_msg msg;
	int ret;

	if (!out)
		return -FI_ENOMEM;
	*out = (struct lnx_outbound){ .s = s,
		.receiver = receiver,
		.size = op->len,
		.data = op->data,
		.flags = op->flags,
		.context = op->context,
		.kind = op->kind };
	wf_list_init(&out->link);
	receiver->out_count++;
	lnx_stripe_add_busy(s, 1);
	if (op->flags & FI_INJECT) {
		out->copy = malloc(op->len ? op->len : 1);
		s->injected += out->copy != NULL;
		ret = -FI_ENOMEM;
		if (!out->copy)
			goto err_free;
		(void)wf_iov_gather(out->copy, op->iov, op->iov_count);
	}
	ret = send_register_memory(s, out, op, receiver->contact.rails);
	if (ret)
		goto err_free;
	out->id = send_new_id(s, receiver);
	msg = send_offer_of(out);
	out->offer = lnx_control_new(s, &receiver->contact, &msg);
	ret = out->offer ? 0 : -FI_ENOMEM;
	if (ret)
		goto err_free;
	*ret_out = out;
	return 0;

err_free:
	send_out_free(s, out);
	return ret;
}

/* Does the CQ data of @op look like a head of this endpoint to the receiver? */
static bool send_resembles_head(
	const struct lnx_receiver *receiver, const struct wf_op *op)
{
	return receiver->token && op->flags & FI_REMOTE_CQ_DATA &&
	       lnx_stripe_token_of(op->data) == receiver->token;
}

/* The receiver was asked for a token just now. A large message waits for the answer. */
static bool send_is_asked(const struct lnx_receiver *receiver, const struct wf_op *op)
{
	return receiver->state == LNX_RECEIVER_ASKED && !(op->flags & FI_INJECT) &&
	       op->len >= lnx_params.stripe_size &&
	       wf_coarse_ns() - receiver->asked_ns < PATIENCE_NS;
}

/* Is @op to be striped? -FI_EAGAIN: not now, and it cannot go another way. */
static int send_wants(
	struct lnx_stripe *s, struct lnx_receiver *receiver, const struct wf_op *op)
{
	bool forced, full;

	if (!receiver)
		return LNX_UNSTRIPED;
	forced = send_resembles_head(receiver, op);
	if (receiver->state != LNX_RECEIVER_READY)
		return forced || send_is_asked(receiver, op) ? -FI_EAGAIN
							     : LNX_UNSTRIPED;
	full = receiver->out_count >= LNX_STRIPE_OUT_MAX;
	if (op->flags & FI_FENCE)
		return receiver->out_count ? -FI_EAGAIN : forced ? 0 : LNX_UNSTRIPED;
	if (forced)
		return full ? -FI_EAGAIN : 0;
	return op->len >= lnx_params.stripe_size && !full &&
			       __builtin_popcount(
				       lnx_contact_up(s, &receiver->contact)) > 1
		       ? 0
		       : LNX_UNSTRIPED;
}

static int send_prepare(struct lnx_stripe *s, struct lnx_peer *peer,
	const struct wf_op *op, struct lnx_outbound **ret_out)
{
	uint64_t index = op->addr & s->ep->av->wf->index_mask;
	struct lnx_receiver *receiver;
	int ret;

	wf_lock(&s->lock);
	receiver = lnx_receiver_get(s, peer, index, op->len >= lnx_params.stripe_size);
	ret = send_wants(s, receiver, op);
	if (!ret) {
		ret = send_out_new(s, receiver, op, ret_out);
		/* Some buffers cannot be registered: the message needs nothing of that
		 * unless it looks like a head. */
		if (ret && !send_resembles_head(receiver, op))
			ret = LNX_UNSTRIPED;
	}
	wf_unlock(&s->lock);
	return ret;
}

static ssize_t send_start_head(
	struct lnx_ep *ep, struct lnx_outbound *out, const struct wf_op *op)
{
	struct wf_op head = {
		.kind = op->kind,
		.flags = FI_REMOTE_CQ_DATA | FI_COMPLETION | (op->flags & FI_FENCE),
		.addr = op->addr,
		.context = out,
		.data = out->id,
		.tag = op->tag,
	};

	return lnx_start_head(ep, &head, out);
}

/* The head was taken: from now on the message ends by what the receiver says. */
static void send_publish(struct lnx_stripe *s, struct lnx_outbound *out)
{
	struct lnx_control *offer = out->offer;

	out->published = true;
	wf_list_push(send_bucket(s, out->id), &out->link);
	if (out->err) {
		send_end(s, out);
		return;
	}
	out->offer = NULL;
	out->offers++;
	out->asked_ns = wf_coarse_ns();
	out->ask_ns = LNX_STRIPE_ASK_NS;
	lnx_control_send(s, offer);
}

static __attribute__((noinline)) ssize_t send_stripe(
	struct lnx_ep *ep, struct lnx_peer *peer, const struct wf_op *op)
{
	struct lnx_stripe *s = ep->stripe;
	struct lnx_outbound *out;
	ssize_t ret = send_prepare(s, peer, op, &out);

	if (ret)
		return ret;
	ret = send_start_head(ep, out, op);
	wf_lock(&s->lock);
	if (ret)
		send_out_free(s, out);
	else
		send_publish(s, out);
	lnx_stripe_set_timer(s, LNX_STRIPE_ASK_NS);
	wf_unlock(&s->lock);
	return ret;
}

/* Can @op be striped? Most messages with CQ data are not by this test. */
static bool send_may_be_head(const struct lnx_stripe *s, const struct wf_op *op)
{
	return op->len >= lnx_params.stripe_size ||
	       (op->flags & FI_REMOTE_CQ_DATA && lnx_stripe_may_be_id(s, op->data));
}

ssize_t lnx_stripe_start(
	struct lnx_ep *ep, struct lnx_peer *peer, const struct wf_op *op)
{
	uint32_t rail = atomic_load_explicit(&peer->rail, memory_order_acquire);

	if (rail == LNX_NO_RAIL || !peer->stripes ||
		ep->domain->link->member[rail].memory)
		return LNX_UNSTRIPED;
	if (op->kind == WF_OP_TSEND && send_may_be_head(ep->stripe, op))
		return send_stripe(ep, peer, op);
	return op->flags & FI_FENCE ? lnx_stripe_fence(ep, peer, op) : LNX_UNSTRIPED;
}

ssize_t lnx_stripe_fence(
	struct lnx_ep *ep, const struct lnx_peer *peer, const struct wf_op *op)
{
	uint64_t index = op->addr & ep->av->wf->index_mask;
	struct lnx_stripe *s = ep->stripe;
	ssize_t ret = LNX_UNSTRIPED;

	wf_lock(&s->lock);
	wf_list_foreach(link, &s->receivers[index % LNX_STRIPE_TABLE])
	{
		struct lnx_receiver *receiver =
			wf_list_entry(link, struct lnx_receiver, link);

		if (receiver->index == index && receiver->hash == peer->hash &&
			receiver->out_count)
			ret = -FI_EAGAIN;
	}
	wf_unlock(&s->lock);
	return ret;
}

void lnx_stripe_head_done(struct lnx_ep *ep, struct lnx_outbound *out, int err)
{
	struct lnx_stripe *s = ep->stripe;

	if (!s)
		return;
	wf_lock(&s->lock);
	out->head_done = true;
	if (err && !out->err) {
		out->err = err;
		/* The head may have arrived. */
		if (out->published)
			send_withdraw(s, out, err);
	}
	send_end(s, out);
	wf_unlock(&s->lock);
}

void lnx_stripe_done(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_receiver *receiver = lnx_receiver_find(s, msg->nonce);
	struct lnx_outbound *out = receiver ? send_find(s, msg->id, msg->key) : NULL;

	if (!out || out->receiver != receiver)
		return;
	/* A repeated offer may arrive after the message is over. */
	if (out->offers > 1)
		send_withdraw(s, out, FI_ECANCELED);
	out->done = true;
	if (msg->err)
		send_fail(s, out, (int)msg->err);
	else
		send_end(s, out);
}

/* The receiver lacks the offer of a head: a rail has lost it, or it is on its way. */
void lnx_stripe_ask_sender(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_receiver *receiver = lnx_receiver_find(s, msg->nonce);
	struct lnx_stripe_msg answer;

	if (!receiver || lnx_stripe_token_of(msg->id) != receiver->token)
		return;
	wf_list_foreach(link, send_bucket(s, msg->id))
	{
		struct lnx_outbound *out =
			wf_list_entry(link, struct lnx_outbound, link);

		if (out->id != msg->id || out->receiver != receiver)
			continue;
		answer = send_offer_of(out);
		out->offers++;
		lnx_control_post(s, &receiver->contact, &answer);
		return;
	}
	answer = (struct lnx_stripe_msg){
		.kind = LNX_STRIPE_WITHDRAW,
		.id = msg->id,
		.err = FI_ECANCELED,
	};
	lnx_control_post(s, &receiver->contact, &answer);
}

void lnx_receiver_fail(struct lnx_stripe *s, struct lnx_receiver *receiver, int err)
{
	/* A new process at this address would not know the token. */
	if (receiver->state != LNX_RECEIVER_REFUSED)
		receiver->state = LNX_RECEIVER_NEW;
	receiver->ask_ns = wf_coarse_ns() + lost_ns;
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++) {
		wf_list_foreach_safe(link, &s->out[i])
		{
			struct lnx_outbound *out =
				wf_list_entry(link, struct lnx_outbound, link);

			if (out->receiver == receiver)
				send_fail(s, out, err);
		}
	}
}

/* A receiver that does not answer may have died: the question fails then. */
static void send_ask(struct lnx_stripe *s, struct lnx_outbound *out, uint64_t now)
{
	struct lnx_contact *contact = &out->receiver->contact;
	struct lnx_stripe_msg msg = {
		.kind = LNX_STRIPE_ASK_RECEIVER,
		.nonce = out->receiver->nonce,
		.id = out->id,
		.key = out->key,
		.name_len = (uint8_t)s->name_len,
	};

	memcpy(msg.name, s->name, s->name_len);
	out->asked_ns = now;
	out->ask_ns = WF_MIN(2 * out->ask_ns, LNX_STRIPE_ASK_MAX_NS);
	lnx_control_post(s, contact, &msg);
}

void lnx_stripe_ask_receivers(struct lnx_stripe *s, uint64_t now)
{
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++) {
		wf_list_foreach(link, &s->out[i])
		{
			struct lnx_outbound *out =
				wf_list_entry(link, struct lnx_outbound, link);

			if (out->receiver->contact.pending < ASKED_MAX &&
				now - out->asked_ns >= out->ask_ns)
				send_ask(s, out, now);
		}
	}
}

void lnx_stripe_free_out(struct lnx_stripe *s)
{
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++)
		wf_list_foreach_safe(link, &s->out[i]) send_out_free(
			s, wf_list_entry(link, struct lnx_outbound, link));
	for (uint32_t i = 0; i < s->receiver_count; i++)
		free(s->receiver[i]);
	free(s->receiver);
}
