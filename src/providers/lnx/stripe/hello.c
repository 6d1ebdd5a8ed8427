/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/param.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * How sender and receiver get to know each other. With the first large message to a
 * peer the sender says HELLO with the names of its private endpoints. The receiver
 * answers WELCOME with a token, by which it knows the sender's heads: 40 bits, 24 of
 * them random, that no other peer knows.
 *
 * Both ends keep what they know of each other until the endpoint is closed. A process
 * that says HELLO gets the same token each time, a new process gets a new one.
 */

/* 64 random bits; 0: there are none, which is not random but harmless. */
static uint64_t random_bits(void)
{
	uint64_t bits = 0;

	if (wf_sys_getrandom(&bits, sizeof(bits), 0) < 0)
		return 0;
	return bits;
}

/* Make @*list, which has @count pointers, one longer if that is a power of two. */
static bool grow(void *list, uint32_t count)
{
	void **at = *(void ***)list;

	if (count & (count - 1))
		return true;
	at = realloc(at, (count ? 2 * (size_t)count : 1) * sizeof(*at));
	if (!at)
		return false;
	*(void ***)list = at;
	return true;
}

static void hello(struct lnx_stripe *s, struct lnx_receiver *receiver)
{
	struct lnx_stripe_msg msg = {
		.kind = LNX_STRIPE_HELLO,
		.nonce = receiver->nonce,
		.name_len = (uint8_t)s->name_len,
	};

	memcpy(msg.name, s->name, s->name_len);
	receiver->state = LNX_RECEIVER_ASKED;
	receiver->asked_ns = wf_coarse_ns();
	lnx_control_post(s, &receiver->contact, &msg);
}

/* Read the private endpoints of the peer at @index from its address. */
static bool reach(struct lnx_stripe *s, struct lnx_receiver *receiver)
{
	struct wf_av *av = s->ep->wf.av;
	const void *addr = wf_av_addr(av, receiver->index);
	struct lnx_addr read;

	return addr &&
	       lnx_addr_read(s->ep->domain->link, av->table.format->addr_format, addr,
		       av->table.format->addr_len, &read) &&
	       !lnx_contact_init(s, &receiver->contact, &read.name);
}

static struct lnx_receiver *receiver_new(
	struct lnx_stripe *s, const struct lnx_peer *peer, uint64_t index)
{
	struct lnx_receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver || !grow(&s->receiver, s->receiver_count)) {
		free(receiver);
		return NULL;
	}
	receiver->index = index;
	receiver->hash = peer->hash;
	receiver->nonce = (random_bits() & ~(uint64_t)UINT32_MAX) | s->receiver_count;
	receiver->state = reach(s, receiver) ? LNX_RECEIVER_NEW : LNX_RECEIVER_REFUSED;
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
		receiver = receiver_new(s, peer, index);
	if (large && receiver && receiver->state == LNX_RECEIVER_NEW &&
		wf_coarse_ns() >= receiver->ask_ns)
		hello(s, receiver);
	return receiver;
}

struct lnx_receiver *lnx_receiver_find(struct lnx_stripe *s, uint64_t nonce)
{
	uint32_t number = (uint32_t)nonce;

	return number < s->receiver_count && s->receiver[number]->nonce == nonce
		       ? s->receiver[number]
		       : NULL;
}

struct lnx_sender *lnx_sender_find(struct lnx_stripe *s, uint64_t id)
{
	uint32_t index = lnx_stripe_index_of(id);

	return index && index <= s->sender_count &&
			       s->sender[index - 1]->token == lnx_stripe_token_of(id)
		       ? s->sender[index - 1]
		       : NULL;
}

static struct lnx_sender *sender_new(
	struct lnx_stripe *s, uint64_t nonce, const struct lnx_name *name)
{
	struct lnx_sender *sender = calloc(1, sizeof(*sender));

	if (!sender || lnx_contact_init(s, &sender->contact, name) ||
		!grow(&s->sender, s->sender_count)) {
		free(sender);
		return NULL;
	}
	sender->nonce = nonce;
	s->sender[s->sender_count++] = sender;
	sender->token = (uint64_t)s->sender_count << LNX_STRIPE_INDEX_SHIFT |
			(random_bits() << LNX_STRIPE_OP_BITS &
				~(UINT64_MAX << LNX_STRIPE_INDEX_SHIFT));
	return sender;
}

struct lnx_sender *lnx_sender_get(
	struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	uint8_t bytes[LNX_NAME_LEN] = { 0 };
	struct lnx_name name;

	for (uint32_t i = 0; i < s->sender_count; i++)
		if (s->sender[i]->nonce == msg->nonce)
			return s->sender[i];
	memcpy(bytes, msg->name, msg->name_len);
	if (s->sender_count == LNX_STRIPE_SENDERS_MAX || !lnx_name_unpack(bytes, &name))
		return NULL;
	return sender_new(s, msg->nonce, &name);
}

void lnx_stripe_hello(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_sender *sender = lnx_sender_get(s, msg);

	if (!sender)
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
	receiver->token = msg->id;
	lnx_stripe_note_token(s, msg->id);
	receiver->state = LNX_RECEIVER_READY;
	lnx_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"address %llu: messages of %zu bytes and more are striped over %d "
		"links\n",
		(unsigned long long)receiver->index, lnx_params.stripe_size,
		__builtin_popcount(receiver->contact.rails));
}
