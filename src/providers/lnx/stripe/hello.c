/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/param.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * How sender and receiver get to know each other. With the first large message to a
 * peer the sender says HELLO with the names of its private endpoints. The receiver
 * answers WELCOME with a token, by which it knows the sender's heads: 40 bits, 24 of
 * them random, that no other peer knows. The sender says HELLO once more, with the
 * token, and uses it when the answer is the same token.
 *
 * A process that says HELLO gets the same token each time, a new process gets a new
 * one. The sender keeps what it knows of receivers until the endpoint is closed.
 */

static void lnx_hello(struct lnx_stripe *s, struct lnx_receiver *receiver)
{
	struct lnx_stripe_msg msg = {
		.kind = LNX_STRIPE_HELLO,
		.nonce = receiver->nonce,
		.id = receiver->token,
		.name_len = (uint8_t)s->name_len,
	};

	memcpy(msg.name, s->name, s->name_len);
	receiver->state = LNX_RECEIVER_ASKED;
	receiver->asked_ns = wf_coarse_ns();
	lnx_control_post(s, &receiver->contact, &msg);
}

/* Read the private endpoints of the peer at @index from its address. */
static bool hello_reach(struct lnx_stripe *s, struct lnx_receiver *receiver)
{
	struct wf_av *av = s->ep->wf.av;
	const void *addr = wf_av_addr(av, receiver->index);
	struct lnx_addr read;

	return addr &&
	       lnx_addr_read(s->ep->domain->link, av->table.format->addr_format, addr,
		       av->table.format->addr_len, &read) &&
	       !lnx_contact_init(s, &receiver->contact, &read.name);
}

static struct lnx_receiver *hello_receiver_new(
	struct lnx_stripe *s, const struct lnx_peer *peer, uint64_t index)
{
	struct lnx_receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver || !lnx_stripe_grow(&s->receiver, s->receiver_count)) {
		free(receiver);
		return NULL;
	}
	receiver->index = index;
	receiver->hash = peer->hash;
	receiver->nonce =
		(lnx_stripe_random() & ~(uint64_t)UINT32_MAX) | s->receiver_count;
	receiver->state =
		hello_reach(s, receiver) ? LNX_RECEIVER_NEW : LNX_RECEIVER_REFUSED;
	s->receiver[s->receiver_count++] = receiver;
	wf_list_push(&s->receivers[index % LNX_STRIPE_TABLE], &receiver->link);
	return receiver;
}

struct lnx_receiver *lnx_receiver_get(
	struct lnx_stripe *s, const struct lnx_peer *peer, uint64_t index, bool large)
{
	struct lnx_receiver *receiver = NULL;

	wf_list_foreach_safe(link, &s->receivers[index % LNX_STRIPE_TABLE])
	{
		struct lnx_receiver *at =
			wf_list_entry(link, struct lnx_receiver, link);

		if (at->index != index)
			continue;
		if (at->hash == peer->hash)
			receiver = at;
		else /* Another peer has the index now. */
			wf_list_remove(&at->link);
	}
	if (!receiver && large)
		receiver = hello_receiver_new(s, peer, index);
	if (large && receiver && receiver->state == LNX_RECEIVER_NEW &&
		wf_coarse_ns() >= receiver->ask_ns)
		lnx_hello(s, receiver);
	return receiver;
}

struct lnx_receiver *lnx_receiver_find(struct lnx_stripe *s, uint64_t nonce)
{
	uint32_t number = (uint32_t)nonce;

	return number < s->receiver_count && s->receiver[number]->nonce == nonce
		       ? s->receiver[number]
		       : NULL;
}

void lnx_stripe_hello(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_sender *sender = lnx_sender_get(s, msg);

	if (!sender) {
		FI_WARN_SPARSE(&lnx_fi, FI_LOG_EP_DATA,
			"a peer gets no token for striped messages: too many have "
			"one\n");
		return;
	}
	/* The sender shows its token. */
	(void)lnx_sender_find(s, msg->id);
	/* One answer at a time: where none can be delivered, the sender is forgotten
	 * after it. */
	if (!sender->proven && sender->contact.pending)
		return;
	lnx_control_post(s, &sender->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_WELCOME,
			.nonce = sender->nonce,
			.id = sender->token,
		});
}

void lnx_stripe_welcome(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_receiver *receiver = lnx_receiver_find(s, msg->nonce);

	if (!receiver || receiver->state != LNX_RECEIVER_ASKED ||
		msg->id != lnx_stripe_token_of(msg->id) ||
		!lnx_stripe_index_of(msg->id))
		return;
	lnx_stripe_note_token(s, msg->id);
	if (receiver->token != msg->id) {
		receiver->token = msg->id;
		lnx_hello(s, receiver);
		return;
	}
	receiver->state = LNX_RECEIVER_READY;
	lnx_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"address %llu: messages of %zu bytes and more are striped over %d "
		"links\n",
		(unsigned long long)receiver->index, lnx_params.stripe_size,
		__builtin_popcount(receiver->contact.rails));
}
