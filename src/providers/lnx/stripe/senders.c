/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "sys/calls.h"

#include "providers/lnx/stripe/internal.h"
#include "sys/clock.h"
#include "sys/sockaddr.h"

/*
 * The senders that a receiver has given tokens to. It keeps them until the endpoint is
 * closed, but any process can say HELLO with any name. So a sender is proven, and kept
 * for good, when its token has come back, which was sent to the private endpoints in
 * the name. Others are limited; where a limit is reached, the oldest of them is
 * forgotten for a new one, unless it is younger than GREETED_NS. One whose token cannot
 * be delivered is forgotten at once.
 */
#define GREETED_NS UINT64_C(10000000000)

uint64_t lnx_stripe_random(void)
{
	uint64_t bits = 0;

	if (wf_sys_getrandom(&bits, sizeof(bits), 0) < 0)
		return 0;
	return bits;
}

bool lnx_stripe_grow(void *list, uint32_t count)
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

struct lnx_sender *lnx_sender_find(struct lnx_stripe *s, uint64_t id)
{
	uint32_t index = lnx_stripe_index_of(id);
	struct lnx_sender *sender =
		index && index <= s->sender_count ? s->sender[index - 1] : NULL;

	if (!sender || sender->token != lnx_stripe_token_of(id))
		return NULL;
	if (wf_unlikely(!sender->proven)) {
		sender->proven = true;
		s->greeted--;
	}
	return sender;
}

void lnx_sender_forget(struct lnx_stripe *s, uint32_t i)
{
	struct lnx_sender *sender = s->sender[i];

	if (sender->proven || sender->contact.pending)
		return;
	lnx_contact_done(s, &sender->contact);
	free(sender);
	s->sender[i] = NULL;
	s->greeted--;
}

static uint64_t senders_hash(const void *bytes, size_t len)
{
	const uint8_t *at = bytes;
	uint64_t ret = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < len; i++)
		ret = (ret ^ at[i]) * UINT64_C(0x100000001b3);
	return ret;
}

/* The host of the first private endpoint. */
static uint64_t senders_host_hash(const struct lnx_name *name)
{
	union wf_sockaddr sa;

	if (!name->count ||
		wf_sockaddr_read(name->link[0].addr, name->link[0].len, &sa))
		return 0;
	return sa.sa.sa_family == AF_INET
		       ? senders_hash(&sa.in.sin_addr, sizeof(sa.in.sin_addr))
		       : senders_hash(&sa.in6.sin6_addr, sizeof(sa.in6.sin6_addr));
}

/* What a limit counts: the senders with a name or of a host, or those that are not
 * proven. */
struct sender_limit {
	unsigned int count, max;
	uint32_t oldest; /* index of the oldest that can be forgotten; or UINT32_MAX */
};

static void senders_limit_count(
	struct lnx_stripe *s, struct sender_limit *limit, uint32_t i)
{
	const struct lnx_sender *at = s->sender[i];

	limit->count++;
	if (at->proven || at->contact.pending ||
		wf_coarse_ns() - at->greeted_ns < GREETED_NS)
		return;
	if (limit->oldest == UINT32_MAX ||
		at->greeted_ns < s->sender[limit->oldest]->greeted_ns)
		limit->oldest = i;
}

/* Is there room for another sender? One that is reached loses the oldest sender. */
static bool senders_limit_admits(struct lnx_stripe *s, const struct sender_limit *limit)
{
	if (limit->count < limit->max)
		return true;
	if (limit->oldest == UINT32_MAX)
		return false;
	if (s->sender[limit->oldest])
		lnx_sender_forget(s, limit->oldest);
	return true;
}

static bool senders_admits(struct lnx_stripe *s, const struct lnx_sender *new)
{
	struct sender_limit name = { 0, LNX_STRIPE_NAME_SENDERS_MAX, UINT32_MAX };
	struct sender_limit host = { 0, LNX_STRIPE_HOST_SENDERS_MAX, UINT32_MAX };
	struct sender_limit greeted = { 0, LNX_STRIPE_GREETED_MAX, UINT32_MAX };

	for (uint32_t i = 0; i < s->sender_count; i++) {
		const struct lnx_sender *at = s->sender[i];

		if (!at)
			continue;
		if (at->name_hash == new->name_hash)
			senders_limit_count(s, &name, i);
		if (at->host_hash == new->host_hash)
			senders_limit_count(s, &host, i);
		if (!at->proven)
			senders_limit_count(s, &greeted, i);
	}
	return senders_limit_admits(s, &name) && senders_limit_admits(s, &host) &&
	       senders_limit_admits(s, &greeted);
}

/* A free index; UINT32_MAX: none. */
static uint32_t senders_free_index(struct lnx_stripe *s)
{
	uint32_t i = 0;

	while (i < s->sender_count && s->sender[i])
		i++;
	if (i < s->sender_count)
		return i;
	if (i == LNX_STRIPE_SENDERS_MAX ||
		!lnx_stripe_grow(&s->sender, s->sender_count))
		return UINT32_MAX;
	s->sender[s->sender_count++] = NULL;
	return i;
}

static struct lnx_sender *sender_new(struct lnx_stripe *s, uint64_t nonce,
	const struct lnx_name *name, uint64_t name_hash)
{
	struct lnx_sender *sender = calloc(1, sizeof(*sender));
	uint32_t index;

	if (!sender)
		return NULL;
	sender->nonce = nonce;
	sender->greeted_ns = wf_coarse_ns();
	sender->name_hash = name_hash;
	sender->host_hash = senders_host_hash(name);
	if (!senders_admits(s, sender))
		goto err_free;
	index = senders_free_index(s);
	if (index == UINT32_MAX || lnx_contact_init(s, &sender->contact, name))
		goto err_free;
	s->sender[index] = sender;
	s->greeted++;
	sender->token = (uint64_t)(index + 1) << LNX_STRIPE_INDEX_SHIFT |
			(lnx_stripe_random() << LNX_STRIPE_OP_BITS &
				~(UINT64_MAX << LNX_STRIPE_INDEX_SHIFT));
	return sender;

err_free:
	free(sender);
	return NULL;
}

struct lnx_sender *lnx_sender_get(
	struct lnx_stripe *s, const struct lnx_stripe_msg *msg)
{
	uint8_t bytes[LNX_NAME_LEN] = { 0 };
	struct lnx_name name;

	for (uint32_t i = 0; i < s->sender_count; i++)
		if (s->sender[i] && s->sender[i]->nonce == msg->nonce)
			return s->sender[i];
	memcpy(bytes, msg->name, msg->name_len);
	if (!lnx_name_unpack(bytes, &name))
		return NULL;
	return sender_new(s, msg->nonce, &name, senders_hash(msg->name, msg->name_len));
}
