/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/stripe/internal.h"

/*
 * Reading the payload of a striped message. A rail has at most DEPTH reads of one
 * message under way: while one chunk comes, the request for the next one is at the
 * sender. The next chunk goes to the rail with the fewest, so a rail that is slow, or
 * that others keep busy, gets fewer of them. A chunk that a rail has lost is read again
 * over another one, which does no harm because the sender's buffers do not change.
 */

enum {
	DEPTH = 2,
	PIECES = 8, /* the most pieces of memory of one read */
};

/* The rail for the next read of @in; LNX_MAX_LINKS: none is free. */
static unsigned int fetch_choose(struct lnx_stripe *s, const struct lnx_inbound *in)
{
	uint8_t up = lnx_contact_up(s, &in->sender->contact);
	unsigned int best = LNX_MAX_LINKS, least = DEPTH;

	for (unsigned int i = 0; i < s->count; i++) {
		if (!(up >> i & 1) || in->on[i] >= least)
			continue;
		best = i;
		least = in->on[i];
	}
	return best;
}

/* The part of the receive's buffers for @chunk, in at most s->iov_limit pieces;
 * shortens the chunk if it lies in more. Returns the number of pieces. */
static size_t fetch_slice(const struct lnx_stripe *s, struct lnx_chunk *chunk,
	struct iovec ret_iov[PIECES])
{
	const struct fi_peer_rx_entry *entry = chunk->in->entry;
	size_t limit = WF_MIN(s->iov_limit, (size_t)PIECES), count = 0;
	size_t skip = chunk->at, left = chunk->len;

	for (size_t i = 0; i < entry->count && left && count < limit; i++) {
		size_t len = entry->iov[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		len = WF_MIN(len - skip, left);
		ret_iov[count++] =
			(struct iovec){ (uint8_t *)entry->iov[i].iov_base + skip, len };
		left -= len;
		skip = 0;
	}
	chunk->len -= left;
	return count;
}

static ssize_t fetch_start(struct lnx_stripe *s, struct lnx_chunk *chunk)
{
	struct lnx_inbound *in = chunk->in;
	unsigned int rail = chunk->call.rail;
	struct iovec iov[PIECES];
	struct fi_rma_iov from = { .addr = chunk->at, .key = in->key };
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.iov_count = fetch_slice(s, chunk, iov),
		.addr = in->sender->contact.addr[rail],
		.rma_iov = &from,
		.rma_iov_count = 1,
		.context = &chunk->call,
	};
	ssize_t ret;

	from.len = chunk->len;
	ret = fi_readmsg(s->rail[rail].below.fid, &msg, FI_COMPLETION);
	if (ret)
		return ret;
	in->flying++;
	in->on[rail]++;
	lnx_stripe_add_busy(s, 1);
	return 0;
}

static void fetch_fetched(
	struct lnx_stripe *s, struct lnx_call *call, int err, size_t len)
{
	struct lnx_chunk *chunk = wf_container_of(call, struct lnx_chunk, call);
	struct lnx_inbound *in = chunk->in;

	(void)len;
	in->flying--;
	in->on[call->rail]--;
	lnx_stripe_add_busy(s, -1);
	if (!err) {
		s->rail[call->rail].fetched += chunk->len;
		wf_pool_put(&s->chunks, chunk);
	} else {
		if (!lnx_contact_failed(s, &in->sender->contact, call->rail, err) ||
			!lnx_contact_up(s, &in->sender->contact))
			in->err = in->err ? in->err : err;
		wf_list_push(&in->again, &chunk->link);
	}
	lnx_stripe_fetch(s, in);
}

/* The next chunk to be read; NULL: none is left, or there is no memory. */
static struct lnx_chunk *fetch_next_chunk(struct lnx_stripe *s, struct lnx_inbound *in)
{
	struct wf_list *link = wf_list_pop(&in->again);
	struct lnx_chunk *chunk;

	if (link)
		return wf_list_entry(link, struct lnx_chunk, link);
	if (in->next == in->want)
		return NULL;
	chunk = wf_pool_get(&s->chunks);
	if (!chunk) {
		in->err = FI_ENOMEM;
		return NULL;
	}
	*chunk = (struct lnx_chunk){
		.call.done = fetch_fetched,
		.in = in,
		.at = in->next,
		.len = (size_t)WF_MIN((uint64_t)in->chunk, in->want - in->next),
	};
	wf_list_init(&chunk->link);
	return chunk;
}

/* Start one read; false: no more for now. */
static bool fetch_one(struct lnx_stripe *s, struct lnx_inbound *in)
{
	unsigned int rail = fetch_choose(s, in);
	struct lnx_chunk *chunk;
	ssize_t ret;

	if (in->err || rail == LNX_MAX_LINKS)
		return false;
	chunk = fetch_next_chunk(s, in);
	if (!chunk)
		return false;
	chunk->call.rail = rail;
	ret = fetch_start(s, chunk);
	/* A new chunk may have become shorter. */
	in->next = WF_MAX(in->next, chunk->at + chunk->len);
	if (!ret)
		return true;
	wf_list_push(&in->again, &chunk->link);
	if (ret == -FI_EAGAIN) {
		s->stalled = true;
		return false;
	}
	if (!lnx_contact_failed(s, &in->sender->contact, rail, (int)-ret) ||
		!lnx_contact_up(s, &in->sender->contact))
		in->err = (int)-ret;
	return true;
}

static bool fetch_is_over(const struct lnx_inbound *in)
{
	return !in->flying &&
	       (in->err || (in->next == in->want && wf_list_empty(&in->again)));
}

void lnx_stripe_fetch(struct lnx_stripe *s, struct lnx_inbound *in)
{
	while (fetch_one(s, in))
		;
	if (!fetch_is_over(in))
		return;
	/* No rail is left: all are tried again by the next message. */
	if (!lnx_contact_up(s, &in->sender->contact))
		in->sender->contact.down = 0;
	lnx_inbound_end(s, in);
}

void lnx_stripe_fetch_again(struct lnx_stripe *s)
{
	s->stalled = false;
	wf_list_foreach_safe(link, &s->active)
	{
		struct lnx_inbound *in =
			wf_list_entry(link, struct lnx_inbound, active);

		if (in->offered)
			lnx_stripe_fetch(s, in);
	}
}
