/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "providers/coll/xfer.h"

struct coll_exchange {
	/* Link in coll_ep.exchanges while @recv is set, or in coll_ep.stopped. */
	struct wf_list link;
	struct coll_group *group; /* NULL: stopped, and freed with the last transfer */
	/* Called with 0 and the blocks of all members, by rank. */
	void (*done)(struct coll_group *group, int err, const void *blocks);
	size_t len;    /* length of a block in bytes */
	bool second;   /* the second exchange of a join, with the members' secrets */
	uint32_t dist; /* ranks from this member to its partners in this step */
	uint64_t tag;  /* tag of the message that @recv waits for */
	struct coll_xfer *send, *recv; /* transfers under way, or NULL */
	uint8_t blocks[]; /* blocks of this member and of the members after it */
};

static void exchange_step(struct coll_exchange *exchange);

static uint32_t exchange_count_of(const struct coll_exchange *exchange)
{
	uint32_t left = exchange->group->members - exchange->dist;

	return WF_MIN(exchange->dist, left);
}

static uint32_t exchange_source_rank(const struct coll_exchange *exchange)
{
	const struct coll_group *group = exchange->group;

	return (uint32_t)(((uint64_t)group->rank + exchange->dist) % group->members);
}

static fi_addr_t exchange_source_of(const struct coll_exchange *exchange)
{
	return exchange->group->member[exchange_source_rank(exchange)].addr;
}

/* The tag of the message from the member @from to the member @to. */
static uint64_t exchange_tag_of(
	const struct coll_exchange *exchange, uint32_t from, uint32_t to)
{
	const struct coll_group *group = exchange->group;

	return exchange->second ? coll_tag_data(group->member[to].secret, from,
					  COLL_SECOND_EXCHANGE, 0)
				: coll_tag_join(group->members, from, to);
}

/* Free a stopped exchange that no transfer uses any more. */
static void exchange_free_if_unused(struct coll_exchange *exchange)
{
	if (exchange->group || exchange->send || exchange->recv)
		return;
	wf_list_remove(&exchange->link);
	free(exchange);
}

static void exchange_free_recv(struct coll_xfer *xfer)
{
	free(xfer->buf);
	coll_xfer_free(xfer);
}

static void exchange_fail(struct coll_exchange *exchange, int err)
{
	if (exchange->group)
		coll_group_fail(exchange->group, err);
	else
		exchange_free_if_unused(exchange);
}

static void exchange_advance(struct coll_exchange *exchange)
{
	if (exchange->send || exchange->recv)
		return;
	exchange->dist *= 2;
	exchange->group->probed_ns = 0;
	exchange_step(exchange);
}

static void exchange_send_done(
	struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	struct coll_exchange *exchange = xfer->user;

	(void)len;
	(void)src;
	coll_xfer_free(xfer);
	exchange->send = NULL;
	if (err || !exchange->group)
		exchange_fail(exchange, err);
	else
		exchange_advance(exchange);
}

/* @data of @len bytes arrived from the member that the exchange waits for. */
static void exchange_take(struct coll_exchange *exchange, const void *data, size_t len)
{
	size_t expected = exchange_count_of(exchange) * exchange->len;

	if (len != expected) {
		coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"join failed: a record of %zu bytes came instead of %zu\n", len,
			expected);
		exchange_fail(exchange, -FI_EINVAL);
		return;
	}
	memcpy(exchange->blocks + exchange->dist * exchange->len, data, len);
	exchange_advance(exchange);
}

/* The exchange that waits for a message like the one that completed @xfer; NULL:
 * none. */
static struct coll_exchange *exchange_find_other(const struct coll_xfer *xfer)
{
	wf_list_foreach(link, &xfer->ep->exchanges)
	{
		struct coll_exchange *exchange =
			wf_list_entry(link, struct coll_exchange, link);

		if (exchange->tag == xfer->tag &&
			(!xfer->ep->has_sources ||
				exchange_source_of(exchange) == xfer->addr))
			return exchange;
	}
	return NULL;
}

/* A receive for @exchange is posted, or NULL: its message has arrived. */
static void exchange_set_recv(struct coll_exchange *exchange, struct coll_xfer *xfer)
{
	exchange->recv = xfer;
	if (!xfer) {
		if (exchange->group)
			wf_list_remove(&exchange->link);
		return;
	}
	xfer->user = exchange;
	if (wf_list_empty(&exchange->link))
		wf_list_push(&exchange->group->ep->exchanges, &exchange->link);
}

/* A message completed @xfer, the receive of a stopped exchange. It may be for the next
 * group of the same members, whose receive is then cancelled instead. */
static void exchange_save(
	struct coll_exchange *exchange, struct coll_xfer *xfer, size_t len)
{
	struct coll_exchange *other = exchange_find_other(xfer);
	struct coll_xfer *spare = other ? other->recv : NULL;

	exchange->recv = spare;
	if (other) {
		spare->user = exchange;
		exchange_set_recv(other, NULL);
		exchange_take(other, xfer->buf, len);
		coll_xfer_cancel(spare);
	} else {
		exchange_free_if_unused(exchange);
	}
	exchange_free_recv(xfer);
}

static void exchange_recv_done(
	struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	struct coll_exchange *exchange = xfer->user;

	(void)src;
	if (!err && !exchange->group) {
		exchange_save(exchange, xfer, len);
		return;
	}
	exchange_set_recv(exchange, NULL);
	if (err)
		exchange_fail(exchange, err);
	else
		exchange_take(exchange, xfer->buf, len);
	exchange_free_recv(xfer);
}

static int exchange_post_recv(struct coll_exchange *exchange)
{
	struct coll_ep *ep = exchange->group->ep;
	struct coll_xfer *xfer = coll_xfer_new(ep, exchange_recv_done, exchange);
	int ret;

	if (!xfer)
		return -FI_ENOMEM;
	xfer->is_recv = true;
	xfer->addr = exchange_source_of(exchange);
	xfer->tag = exchange->tag;
	xfer->len = exchange_count_of(exchange) * exchange->len;
	xfer->buf = malloc(xfer->len);
	ret = xfer->buf ? coll_xfer_post(xfer) : -FI_ENOMEM;
	if (ret) {
		exchange_free_recv(xfer);
		return ret;
	}
	exchange_set_recv(exchange, xfer);
	return 0;
}

static int exchange_post_send(struct coll_exchange *exchange)
{
	struct coll_group *group = exchange->group;
	uint32_t to =
		(uint32_t)(((uint64_t)group->rank + group->members - exchange->dist) %
			   group->members);
	struct coll_xfer *xfer = coll_xfer_new(group->ep, exchange_send_done, exchange);
	int ret;

	if (!xfer)
		return -FI_ENOMEM;
	xfer->addr = group->member[to].addr;
	xfer->tag = exchange_tag_of(exchange, group->rank, to);
	xfer->buf = exchange->blocks;
	xfer->len = exchange_count_of(exchange) * exchange->len;
	ret = coll_xfer_post(xfer);
	if (ret)
		coll_xfer_free(xfer);
	else
		exchange->send = xfer;
	return ret;
}

/* Order the blocks by rank and pass them to @done. */
static void exchange_finish(struct coll_exchange *exchange)
{
	struct coll_group *group = exchange->group;
	size_t len = exchange->len, first = group->members - group->rank;
	uint8_t *blocks = malloc(group->members * len);

	if (!blocks) {
		exchange_fail(exchange, -FI_ENOMEM);
		return;
	}
	memcpy(blocks + group->rank * len, exchange->blocks, first * len);
	memcpy(blocks, exchange->blocks + first * len, group->rank * len);
	group->exchange = NULL;
	exchange->group = NULL;
	exchange->done(group, 0, blocks);
	free(blocks);
	exchange_free_if_unused(exchange);
}

/* Post the transfers of the next step, or finish. */
static void exchange_step(struct coll_exchange *exchange)
{
	struct coll_group *group = exchange->group;
	int ret;

	if (exchange->dist >= group->members) {
		exchange_finish(exchange);
		return;
	}
	exchange->tag =
		exchange_tag_of(exchange, exchange_source_rank(exchange), group->rank);
	ret = exchange_post_send(exchange);
	if (!ret)
		ret = exchange_post_recv(exchange);
	if (ret)
		exchange_fail(exchange, ret);
}

int coll_exchange_start(struct coll_group *group, const void *mine, size_t len,
	bool second,
	void (*done)(struct coll_group *group, int err, const void *blocks))
{
	struct coll_exchange *exchange =
		calloc(1, sizeof(*exchange) + group->members * len);

	if (!exchange)
		return -FI_ENOMEM;
	wf_list_init(&exchange->link);
	exchange->group = group;
	exchange->done = done;
	exchange->len = len;
	exchange->second = second;
	exchange->dist = 1;
	memcpy(exchange->blocks, mine, len);
	group->exchange = exchange;
	group->probed_ns = 0;
	exchange_step(exchange);
	return 0;
}

void coll_exchange_stop(struct coll_group *group)
{
	struct coll_exchange *exchange = group->exchange;

	if (!exchange)
		return;
	group->exchange = NULL;
	exchange->group = NULL;
	wf_list_remove(&exchange->link);
	wf_list_push(&group->ep->stopped, &exchange->link);
	/* The second transfer may end, and free the exchange, while it is cancelled. */
	if (exchange->recv && exchange->send) {
		coll_xfer_cancel(exchange->recv);
		coll_xfer_cancel(exchange->send);
	} else if (exchange->recv || exchange->send) {
		coll_xfer_cancel(exchange->recv ? exchange->recv : exchange->send);
	} else {
		exchange_free_if_unused(exchange);
	}
}

uint32_t coll_exchange_awaits(const struct coll_group *group)
{
	const struct coll_exchange *exchange = group->exchange;

	return exchange_source_rank(exchange);
}

void coll_exchange_free(struct coll_ep *ep)
{
	while (!wf_list_empty(&ep->stopped)) {
		struct coll_exchange *exchange = wf_list_entry(
			wf_list_pop(&ep->stopped), struct coll_exchange, link);

		if (exchange->recv)
			free(exchange->recv->buf);
		free(exchange);
	}
}
