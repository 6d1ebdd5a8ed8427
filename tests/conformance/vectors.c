/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Without FI_ASYNC_IOV, which no provider here demands, the arrays that name the pieces
 * of a transfer are the caller's again when the call has returned, however long the
 * transfer takes. Each call here is followed by a change of its arrays.
 */
#include "suites.h"

enum { PIECES = 4, LARGE = 400000 };

static const size_t sizes[] = { 16, 3000, LARGE };

struct vectors {
	struct cf_env env;
	struct iovec iov[PIECES];
	void *desc[PIECES];
	size_t count; /* of pieces */
	uint8_t *out, *in;
	struct fi_context2 contexts[2];
};

static void delivered(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static void open_vectors(struct vectors *v, const struct cf_options *options)
{
	const struct fi_info *info;

	memset(v, 0, sizeof(*v));
	cf_open_pair(&v->env, options);
	info = v->env.info;
	v->count = info->tx_attr->iov_limit < info->rx_attr->iov_limit
			   ? info->tx_attr->iov_limit
			   : info->rx_attr->iov_limit;
	if (v->count < 2)
		SKIP("one piece only");
	if (v->count > PIECES)
		v->count = PIECES;
	v->out = malloc(LARGE);
	v->in = malloc(LARGE);
	CHECK(v->out && v->in);
}

static void close_vectors(struct vectors *v)
{
	free(v->out);
	free(v->in);
	cf_close(&v->env);
}

static struct iovec *cut(struct vectors *v, uint8_t *bytes, size_t len)
{
	size_t piece = len / v->count;

	for (size_t i = 0; i < v->count; i++)
		v->iov[i] = (struct iovec){ bytes + i * piece, piece };
	v->iov[v->count - 1].iov_len = len - (v->count - 1) * piece;
	memset(v->desc, 0, sizeof(v->desc));
	return v->iov;
}

/* A later read of the arrays leads to addresses that are not mapped. */
static void spoil(struct vectors *v)
{
	memset(v->iov, 0xee, sizeof(v->iov));
	memset(v->desc, 0xee, sizeof(v->desc));
}

static void post(struct vectors *v, size_t len)
{
	struct cf_side *to = &v->env.side[1];

	memset(v->in, 0, len);
	CF_RETRY(to->rx_cq, fi_recvv(to->ep, cut(v, v->in, len), v->desc, v->count,
				    FI_ADDR_UNSPEC, &v->contexts[0]));
	spoil(v);
}

static void messages(void)
{
	static const struct cf_options options = { .split_cqs = true };
	static struct vectors v;

	open_vectors(&v, &options);
	for (size_t i = 0; i < 2 * CF_COUNT(sizes); i++) {
		struct cf_side *from = &v.env.side[0];
		size_t len = sizes[i / 2];
		/* A datagram that finds no receive is dropped. */
		bool early = i % 2 || cf_target.type == FI_EP_DGRAM;

		if (len > v.env.info->ep_attr->max_msg_size)
			continue;
		if (early)
			post(&v, len);
		cf_fill(v.out, len, (unsigned int)i);
		CF_RETRY(from->tx_cq, fi_sendv(from->ep, cut(&v, v.out, len), v.desc,
					      v.count, from->peer, &v.contexts[1]));
		spoil(&v);
		if (!early)
			post(&v, len);
		(void)cf_cq_wait_for(from->tx_cq, &v.contexts[1]);
		(void)cf_cq_wait_for(v.env.side[1].rx_cq, &v.contexts[0]);
		cf_verify(v.in, len, (unsigned int)i);
	}
	close_vectors(&v);
}

static void remote_memory(void)
{
	static const struct cf_options options = {
		.caps = FI_RMA, .split_cqs = true, .adjust = delivered
	};
	static struct vectors v;
	struct cf_region region;

	if (!cf_offers(&options))
		SKIP("FI_DELIVERY_COMPLETE is not offered");
	open_vectors(&v, &options);
	cf_open_region(
		&v.env, 1, &region, NULL, LARGE, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		struct cf_side *from = &v.env.side[0];

		cf_fill(v.out, sizes[i], (unsigned int)i);
		CF_RETRY(from->tx_cq,
			fi_writev(from->ep, cut(&v, v.out, sizes[i]), v.desc, v.count,
				from->peer, region.addr, region.key, &v.contexts[0]));
		spoil(&v);
		(void)cf_cq_wait_for(from->tx_cq, &v.contexts[0]);
		cf_verify(region.bytes, sizes[i], (unsigned int)i);
		memset(v.in, 0, sizes[i]);
		CF_RETRY(from->tx_cq,
			fi_readv(from->ep, cut(&v, v.in, sizes[i]), v.desc, v.count,
				from->peer, region.addr, region.key, &v.contexts[1]));
		spoil(&v);
		(void)cf_cq_wait_for(from->tx_cq, &v.contexts[1]);
		cf_verify(v.in, sizes[i], (unsigned int)i);
	}
	cf_close_region(&region);
	close_vectors(&v);
}

CF_SUITE(vectors, CF_CASE(messages, "CAP-028", FI_MSG),
	CF_CASE(remote_memory, "CAP-028", FI_RMA));
