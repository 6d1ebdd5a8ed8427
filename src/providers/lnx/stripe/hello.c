/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/stripe/internal.h"
#include "sys/clock.h"

/*
 * How sender and receiver get to know each other. With the first large message to a
 * peer the sender says HELLO with the names of its private endpoints. The receiver answers WELCOME with a token, by which it knows the sender's
 * heads: 40 bits, 24 of them random, that no other peer knows.
 *
 * Both ends keep what they know of each other until the endpoint is closed. A process
 * that says HELLO gets the same token each time, a new process gets a new one.
 */

/* 64 random bits; 0: there are none, which is not random but harmless. */
static uint64_t random_bits(void)
{
	uint64_t bits = 0;

	if (getrandom(&bits, sizeof(bits), 0) < 0)
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

static void hello(struct lnx_stripe *s, struct lnx_target *target)
{
	struct lnx_stripe_msg msg = {
		.kind = LNX_STRIPE_HELLO,
		.nonce = target->nonce,
		.name_len = (uint8_t)s->name_len,
	};

	memcpy(msg.name, s->name, s->name_len);
	target->state = LNX_TARGET_ASKED;
	target->asked_ns = wf_coarse_ns();
	lnx_control_post(s, &target->contact, &msg);
}

/* Read the private endpoints of the peer at @index from its address. */
static bool reach(struct lnx_stripe *s, struct lnx_target *target)
{
	struct wf_av *av = s->ep->wf.av;
	const void *addr = wf_av_addr(av, target->index);
	struct lnx_addr read;

	return addr &&
	       lnx_addr_read(s->ep->domain->link, av->table.format->addr_format, addr,
		       av->table.format->addr_len, &read) &&
	       !lnx_contact_init(s, &target->contact, &read.name);
}

static struct lnx_target *target_new(
	struct lnx_stripe *s, const struct lnx_peer *peer, uint64_t index)
{
	struct lnx_target *target = calloc(1, sizeof(*target));

	if (!target || !grow(&s->target, s->target_count)) {
		free(target);
		return NULL;
	}
	target->index = index;
	target->hash = peer->hash;
	target->nonce = (random_bits() & ~(uint64_t)UINT32_MAX) | s->target_count;
	target->state = reach(s, target) ? LNX_TARGET_NEW : LNX_TARGET_REFUSED;
	s->target[s->target_count++] = target;
	wf_list_push(&s->targets[index % LNX_STRIPE_TABLE], &target->link);
	return target;
}

struct lnx_target *lnx_target_get(
	struct lnx_stripe *s, struct lnx_peer *peer, uint64_t index)
{
	struct lnx_target *target = NULL;

	wf_list_foreach_safe(link, &s->targets[index % LNX_STRIPE_TABLE])
	{
		struct lnx_target *at = wf_list_entry(link, struct lnx_target, link);

		if (at->index != index)
			continue;
		if (at->hash == peer->hash)
			target = at;
		else /* Another peer has the index now. */
			wf_list_remove(&at->link);
	}
	if (!target)
		target = target_new(s, peer, index);
	if (target && target->state == LNX_TARGET_NEW &&
		wf_coarse_ns() >= target->ask_ns)
		hello(s, target);
	return target;
}

struct lnx_target *lnx_target_find(struct lnx_stripe *s, uint64_t nonce)
{
	uint32_t number = (uint32_t)nonce;

	return number < s->target_count && s->target[number]->nonce == nonce
		       ? s->target[number]
		       : NULL;
}

struct lnx_origin *lnx_origin_find(struct lnx_stripe *s, uint64_t id)
{
	uint32_t index = lnx_stripe_index_of(id);

	return index && index <= s->origin_count &&
			       s->origin[index - 1]->token == lnx_stripe_token_of(id)
		       ? s->origin[index - 1]
		       : NULL;
}

static struct lnx_origin *origin_new(
	struct lnx_stripe *s, uint64_t nonce, const struct lnx_name *name)
{
	struct lnx_origin *origin = calloc(1, sizeof(*origin));

	if (!origin || lnx_contact_init(s, &origin->contact, name) ||
		!grow(&s->origin, s->origin_count)) {
		free(origin);
		return NULL;
	}
	origin->nonce = nonce;
	for (unsigned int i = 0; i < LNX_STRIPE_TABLE; i++)
		wf_list_init(&origin->in[i]);
	s->origin[s->origin_count++] = origin;
	origin->token = (uint64_t)s->origin_count << LNX_STRIPE_INDEX_SHIFT |
			(random_bits() << LNX_STRIPE_OP_BITS &
				~(UINT64_MAX << LNX_STRIPE_INDEX_SHIFT));
	return origin;
}

struct lnx_origin *lnx_origin_get(
	struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	uint8_t bytes[LNX_NAME_LEN] = { 0 };
	struct lnx_name name;

	for (uint32_t i = 0; i < s->origin_count; i++)
		if (s->origin[i]->nonce == msg->nonce)
			return s->origin[i];
	memcpy(bytes, msg->name, msg->name_len);
	if (s->origin_count == LNX_STRIPE_ORIGINS_MAX ||
		!lnx_name_unpack(bytes, &name))
		return NULL;
	return origin_new(s, msg->nonce, &name);
}

void lnx_stripe_hello(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_origin *origin = lnx_origin_get(s, msg);

	if (!origin)
		return;
	lnx_control_post(s, &origin->contact,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_WELCOME,
			.nonce = origin->nonce,
			.id = origin->token,
		});
}

void lnx_stripe_welcome(struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	struct lnx_target *target = lnx_target_find(s, msg->nonce);

	if (!target || target->state != LNX_TARGET_ASKED ||
		msg->id != lnx_stripe_token_of(msg->id) || !lnx_stripe_index_of(msg->id))
		return;
	target->token = msg->id;
	target->state = LNX_TARGET_READY;
}
