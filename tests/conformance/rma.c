/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing the memory of a peer. */
#include "suites.h"

enum { LEN = 2000 };

static const uint64_t all_remote = FI_REMOTE_READ | FI_REMOTE_WRITE;

/* A pair, and memory of side 1 that side 0 works on. */
struct work {
	struct cf_env env;
	struct cf_region region;
	struct fi_context2 context;
	struct cf_side *from;
	uint8_t local[LEN];
};

static void open_work(struct work *w, const struct cf_options *more)
{
	struct cf_options options = more ? *more : (struct cf_options){ 0 };

	options.caps |= FI_RMA;
	options.split_cqs = true;
	memset(w, 0, sizeof(*w));
	cf_open_pair(&w->env, &options);
	w->from = &w->env.side[0];
	cf_open_region(&w->env, 1, &w->region, NULL, LEN, all_remote);
}

static void close_work(struct work *w)
{
	cf_close_region(&w->region);
	cf_close(&w->env);
}

static void check_done(struct work *w, uint64_t flags)
{
	struct fi_cq_data_entry entry;

	cf_cq_wait(w->from->tx_cq, &entry);
	CHECK(entry.op_context == &w->context);
	CHECK_EQ(entry.flags & (FI_RMA | FI_READ | FI_WRITE | FI_MSG | FI_ATOMIC),
		FI_RMA | flags);
}

/* A write is surely there once a later read has come back. */
static void read_back(struct work *w, void *into, size_t len, size_t offset)
{
	CF_RETRY(w->from->tx_cq,
		fi_read(w->from->ep, into, len, NULL, w->from->peer,
			w->region.addr + offset, w->region.key, &w->context));
	check_done(w, FI_READ);
}

static void write_one(struct work *w, const void *buf, size_t len, size_t offset)
{
	CF_RETRY(w->from->tx_cq,
		fi_write(w->from->ep, buf, len, NULL, w->from->peer,
			w->region.addr + offset, w->region.key, &w->context));
	check_done(w, FI_WRITE);
}

static void writes_arrive_where_they_should(void)
{
	static struct work w;

	open_work(&w, &(struct cf_options){ .adjust = cf_delivered });
	for (size_t len = 1; len <= LEN / 2; len = len * 3 + 1) {
		size_t at = len % 7;

		memset(w.region.bytes, 0x55, LEN);
		cf_fill(w.local, len, (unsigned int)len);
		write_one(&w, w.local, len, at);
		cf_verify(w.region.bytes + at, len, (unsigned int)len);
		CHECK(!at || w.region.bytes[at - 1] == 0x55);
		CHECK_EQ(w.region.bytes[at + len], 0x55);
	}
	close_work(&w);
}

static void reads_fetch_what_is_there(void)
{
	static struct work w;

	open_work(&w, NULL);
	cf_fill(w.region.bytes, LEN, 3);
	for (size_t len = 1; len <= LEN / 2; len = len * 3 + 1) {
		memset(w.local, 0x55, LEN);
		read_back(&w, w.local, len, 256);
		CHECK(!memcmp(w.local, w.region.bytes + 256, len));
		CHECK_EQ(w.local[len], 0x55);
	}
	cf_verify(w.region.bytes, LEN, 3);
	close_work(&w);
}

static void large_ones_both_ways(void)
{
	static struct work w;
	const size_t len = (4 << 20) + 13;
	struct cf_region large;
	uint8_t *local = malloc(len);

	CHECK(local);
	open_work(&w, &(struct cf_options){ .adjust = cf_delivered });
	cf_close_region(&w.region);
	cf_open_region(&w.env, 1, &large, NULL, len, all_remote);
	w.region = large;
	cf_fill(local, len, 9);
	write_one(&w, local, len, 0);
	cf_verify(large.bytes, len, 9);
	memset(local, 0, len);
	read_back(&w, local, len, 0);
	cf_verify(local, len, 9);
	free(local);
	close_work(&w);
}

/* Through every call that writes. */
static void every_call_writes(void)
{
	static struct work w;
	struct iovec iov[2] = { { w.local, 100 }, { w.local + 100, 200 } };
	struct fi_rma_iov target[2];
	struct fi_msg_rma msg = { .msg_iov = iov, .rma_iov = target };
	struct fi_cq_data_entry entry;
	struct fi_context2 receive;
	uint8_t back[300];
	size_t inject, data_size;
	struct fid_ep *ep;
	bool used_up;

	open_work(&w, NULL);
	used_up = w.env.info->mode & FI_RX_CQ_DATA;
	ep = w.from->ep;
	msg.addr = w.from->peer;
	msg.context = &w.context;
	msg.data = 0x8877665544332211;
	msg.iov_count = w.env.info->tx_attr->iov_limit < 2 ? 1 : 2;
	msg.rma_iov_count = w.env.info->tx_attr->rma_iov_limit < 2 ? 1 : 2;
	if (msg.iov_count == 1)
		iov[0].iov_len = 300;
	if (msg.rma_iov_count == 1) {
		target[0] = (struct fi_rma_iov){ w.region.addr, 300, w.region.key };
	} else {
		target[0] = (struct fi_rma_iov){ w.region.addr, 50, w.region.key };
		target[1] =
			(struct fi_rma_iov){ w.region.addr + 50, 250, w.region.key };
	}
	inject = w.env.info->tx_attr->inject_size;

	cf_fill(w.local, 300, 1);
	CF_RETRY(w.from->tx_cq, fi_writev(ep, iov, NULL, msg.iov_count, msg.addr,
					w.region.addr, w.region.key, msg.context));
	check_done(&w, FI_WRITE);
	read_back(&w, back, 300, 0);
	cf_verify(back, 300, 1);

	cf_fill(w.local, 300, 2);
	CF_RETRY(w.from->tx_cq, fi_writemsg(ep, &msg, 0));
	check_done(&w, FI_WRITE);
	read_back(&w, back, 300, 0);
	cf_verify(back, 300, 2);

	if (inject >= 64) {
		cf_fill(w.local, 64, 3);
		CF_RETRY(w.from->tx_cq, fi_inject_write(ep, w.local, 64, msg.addr,
						w.region.addr, w.region.key));
		memset(w.local, 0, 64);
		read_back(&w, back, 64, 0);
		cf_verify(back, 64, 3);
	}
	/* The target gets no completion of any of them. */
	cf_cq_quiet(w.env.side[1].rx_cq);

	data_size = w.env.info->domain_attr->cq_data_size;
	if (!data_size)
		SKIP("writes carry no data for the queue");
	for (unsigned int i = 4; i < 7; i++) {
		size_t len = i == 6 ? 64 : 300;

		if (len > inject && i == 6)
			break;
		cf_fill(w.local, 300, i);
		if (used_up)
			cf_post_recv(&w.env, NULL, 0, &receive);
		if (i == 4)
			CF_RETRY(w.from->tx_cq,
				fi_writedata(ep, w.local, len, NULL, msg.data, msg.addr,
					w.region.addr, w.region.key, msg.context));
		else if (i == 5)
			CF_RETRY(w.from->tx_cq,
				fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA));
		else
			CF_RETRY(w.from->tx_cq,
				fi_inject_writedata(ep, w.local, len, msg.data,
					msg.addr, w.region.addr, w.region.key));
		if (i < 6)
			check_done(&w, FI_WRITE);
		cf_cq_wait(w.env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == (used_up ? &receive : NULL));
		CHECK_EQ(entry.flags & (FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA),
			FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
		CHECK(!(entry.flags & (FI_RECV | FI_MSG)));
		/* The data's lower bytes where it does not take all. */
		CHECK_EQ(entry.data,
			msg.data & (data_size < 8 ? (1ULL << 8 * data_size) - 1
						  : UINT64_MAX));
		cf_verify(w.region.bytes, len, i);
		if (cf_target.version >= FI_VERSION(2, 0))
			CHECK_EQ(entry.len, len);
	}
	close_work(&w);
}

static void every_call_reads(void)
{
	static struct work w;
	struct iovec iov[2] = { { w.local, 100 }, { w.local + 100, 200 } };
	struct fi_rma_iov target[2];
	struct fi_msg_rma msg = {
		.msg_iov = iov, .iov_count = 2, .rma_iov = target, .rma_iov_count = 2
	};

	open_work(&w, NULL);
	if (w.env.info->tx_attr->iov_limit < 2 ||
		w.env.info->tx_attr->rma_iov_limit < 2)
		SKIP("reads take one buffer");
	msg.addr = w.from->peer;
	msg.context = &w.context;
	target[0] = (struct fi_rma_iov){ w.region.addr + 50, 250, w.region.key };
	target[1] = (struct fi_rma_iov){ w.region.addr, 50, w.region.key };
	cf_fill(w.region.bytes + 50, 250, 1);
	/* The rest continues the pattern, so that one check sees both pieces. */
	for (size_t i = 0; i < 50; i++)
		w.region.bytes[i] = (uint8_t)(31 + (250 + i) * 7 + ((250 + i) >> 8));
	CF_RETRY(w.from->tx_cq, fi_readmsg(w.from->ep, &msg, 0));
	check_done(&w, FI_READ);
	cf_verify(w.local, 300, 1);

	memset(w.local, 0, 300);
	CF_RETRY(w.from->tx_cq, fi_readv(w.from->ep, iov, NULL, 2, msg.addr,
					w.region.addr + 50, w.region.key, msg.context));
	check_done(&w, FI_READ);
	cf_verify(w.local, 250, 1);
	close_work(&w);
}

static void as_many_pieces_as_promised(void)
{
	static struct work w;
	struct iovec iov[16];
	struct fi_rma_iov target[16];
	struct fi_msg_rma msg = { .msg_iov = iov, .rma_iov = target };
	size_t limits[2], total;
	uint8_t back[LEN];

	open_work(&w, NULL);
	limits[0] = w.env.info->tx_attr->iov_limit;
	limits[1] = w.env.info->tx_attr->rma_iov_limit;
	if (limits[0] > 16)
		limits[0] = 16;
	if (limits[1] > 16)
		limits[1] = 16;
	total = limits[0] * limits[1] * 5;
	for (size_t i = 0; i < limits[0]; i++)
		iov[i] = (struct iovec){ w.local + i * (total / limits[0]),
			total / limits[0] };
	/* Backwards, so that a piece in the wrong place shows. */
	for (size_t i = 0; i < limits[1]; i++)
		target[i] = (struct fi_rma_iov){
			w.region.addr + (limits[1] - 1 - i) * (total / limits[1]),
			total / limits[1], w.region.key
		};
	msg.iov_count = limits[0];
	msg.rma_iov_count = limits[1];
	msg.addr = w.from->peer;
	msg.context = &w.context;
	cf_fill(w.local, total, 8);
	CF_RETRY(w.from->tx_cq, fi_writemsg(w.from->ep, &msg, 0));
	check_done(&w, FI_WRITE);
	memcpy(back, w.local, total);
	memset(w.local, 0, total);
	CF_RETRY(w.from->tx_cq, fi_readmsg(w.from->ep, &msg, 0));
	check_done(&w, FI_READ);
	CHECK(!memcmp(back, w.local, total));
	read_back(&w, w.local, total, 0);
	for (size_t i = 0; i < limits[1]; i++) {
		size_t piece = total / limits[1];

		CHECK(!memcmp(w.local + (limits[1] - 1 - i) * piece, back + i * piece,
			piece));
	}
	close_work(&w);
}

static void bad_vectors_are_refused(void)
{
	static struct work w;
	struct iovec iov[2] = { { w.local, 8 }, { w.local + 8, 8 } };
	struct fi_rma_iov *target;
	struct fi_msg_rma msg = { .msg_iov = iov };
	size_t limit;

	open_work(&w, NULL);
	limit = w.env.info->tx_attr->rma_iov_limit;
	target = calloc(limit + 1, sizeof(*target));
	CHECK(target);
	for (size_t i = 0; i <= limit; i++)
		target[i] = (struct fi_rma_iov){ w.region.addr, 1, w.region.key };
	msg.rma_iov = target;
	msg.addr = w.from->peer;
	msg.context = &w.context;
	msg.iov_count = 1;
	msg.rma_iov_count = limit + 1;
	iov[0].iov_len = limit + 1;
	CHECK_EQ(fi_writemsg(w.from->ep, &msg, 0), -FI_EINVAL);
	CHECK_EQ(fi_readmsg(w.from->ep, &msg, 0), -FI_EINVAL);
	/* Totals differ. */
	msg.rma_iov_count = 1;
	iov[0].iov_len = 8;
	target[0].len = 7;
	CHECK_EQ(fi_writemsg(w.from->ep, &msg, 0), -FI_EINVAL);
	target[0].len = 9;
	CHECK_EQ(fi_readmsg(w.from->ep, &msg, 0), -FI_EINVAL);
	cf_cq_quiet(w.from->tx_cq);
	free(target);
	close_work(&w);
}

static void empty_transfers_complete(void)
{
	static struct work w;

	open_work(&w, NULL);
	write_one(&w, NULL, 0, 0);
	read_back(&w, NULL, 0, 0);
	cf_exchange(&w.env, 16);
	close_work(&w);
}

static void too_much_to_inject_is_refused(void)
{
	static struct work w;
	size_t most;
	uint8_t *buf;

	open_work(&w, NULL);
	most = w.env.info->tx_attr->inject_size;
	buf = calloc(1, most + 1);
	CHECK(buf);
	CHECK_EQ(fi_inject_write(w.from->ep, buf, most + 1, w.from->peer, w.region.addr,
			 w.region.key),
		-FI_EMSGSIZE);
	free(buf);
	close_work(&w);
}

/* A region of each side; both work on the other's at once. */
static void both_directions_at_once(void)
{
	enum { ROUNDS = 50, PART = 64 << 10 };
	static struct work w;
	struct cf_region regions[2];
	struct fi_context2 contexts[2];
	uint8_t *local[2];

	open_work(&w, NULL);
	for (int i = 0; i < 2; i++) {
		cf_open_region(&w.env, i, &regions[i], NULL, PART, all_remote);
		local[i] = malloc(PART);
		CHECK(local[i]);
		cf_fill(local[i], PART, (unsigned int)i);
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			struct cf_side *side = &w.env.side[i];

			if (round % 2)
				CF_RETRY(side->tx_cq,
					fi_read(side->ep, local[i], PART, NULL,
						side->peer, regions[!i].addr,
						regions[!i].key, &contexts[i]));
			else
				CF_RETRY(side->tx_cq,
					fi_write(side->ep, local[i], PART, NULL,
						side->peer, regions[!i].addr,
						regions[!i].key, &contexts[i]));
		}
		for (int i = 0; i < 2; i++)
			(void)cf_cq_wait_for(w.env.side[i].tx_cq, &contexts[i]);
	}
	for (int i = 0; i < 2; i++)
		cf_verify(local[i], PART, (unsigned int)i);
	for (int i = 0; i < 2; i++) {
		cf_close_region(&regions[i]);
		free(local[i]);
	}
	close_work(&w);
}

CF_SUITE(rma, CF_CASE(writes_arrive_where_they_should, "RMA-001 CS-015 CQ-040", FI_RMA),
	CF_CASE(reads_fetch_what_is_there, "RMA-001 RMA-009 CS-018", FI_RMA),
	CF_CASE(large_ones_both_ways, "RMA-001", FI_RMA),
	CF_CASE(every_call_writes,
		"RMA-001 RMA-004 RMA-005 RMA-007 CQ-033 CQ-034 CQ-041", FI_RMA),
	CF_CASE(every_call_reads, "RMA-001", FI_RMA),
	CF_CASE(as_many_pieces_as_promised, "RMA-001 EPA-026", FI_RMA),
	CF_CASE(bad_vectors_are_refused, "RMA-002 RMA-003", FI_RMA),
	CF_CASE(empty_transfers_complete, "MSG-004 MR-033", FI_MSG | FI_RMA),
	CF_CASE(too_much_to_inject_is_refused, "RMA-007 CS-010", FI_RMA),
	CF_CASE(both_directions_at_once, "RMA-001 THR-008", FI_RMA));
