/* SPDX-License-Identifier: BSD-2-Clause */
#include "fixture.h"

/* Objects of the application: which tables are replaced, and for how long. */

/* The sum of the counts of @function. */
static uint64_t counted(const struct mon_sample *s, enum mon_function function)
{
	uint64_t sum = 0;

	for (unsigned int b = 0; b < MON_BUCKETS; b++)
		sum += s->cell[function][b].count;
	return sum;
}

/* PRV-051: the objects are the provider's; the calls that it lacks are missing. */
static void objects_are_the_providers(void **state)
{
	struct fid_fabric *fabric = new_fabric();
	struct fid_ep *ep;

	fx.fabric = monitor(fabric);
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	assert_null(fx.domain->ops->av_open);
	assert_null(fx.domain->ops->endpoint2);
	assert_int_equal(fi_endpoint(fx.domain, NULL, &ep, NULL), 0);
	/* By this table a provider recognises its endpoints. */
	assert_ptr_equal(ep->ops, &played_ep_ops);
	assert_null(ep->msg->send);
	assert_int_equal(fi_enable(ep), 0);
	assert_non_null(ep->msg->send);
	assert_int_equal(fi_close(&ep->fid), 0);
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(played.closed, 3);
}

/* A provider of an older interface has shorter tables. */
static void short_tables(void **state)
{
	open_all();
	fx.ep->msg = &played_msg;
	played_msg.size = offsetof(struct fi_ops_msg, senddata);
	assert_int_equal(fi_enable(fx.ep), 0);
	assert_int_equal(fx.ep->msg->size, offsetof(struct fi_ops_msg, senddata));
	assert_null(fx.ep->msg->senddata);
	assert_non_null(fx.ep->msg->inject);
	played_msg.size = sizeof(played_msg);
	close_all();
}

/* A failed fi_close leaves everything as it is. */
static void closing_fails(void **state)
{
	open_all();
	played.counts = (struct wf_peer_counts){ 3, 5 };
	played.close_answer = -FI_EBUSY;
	assert_int_equal(fi_close(&fx.ep->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&fx.domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&fx.fabric->fid), -FI_EBUSY);
	assert_int_equal(count_files(), 1);
	played.close_answer = 0;
	assert_int_equal(fi_send(fx.ep, NULL, 7, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 0, 1, 7);
	assert_int_equal(newest()->peers_shm, 3);
	assert_int_equal(newest()->peers_sockets, 5);
	close_all();
}

/* An alias may be a copy that lives longer than the endpoint. */
static void aliases(void **state)
{
	struct fid_ep *copy = NULL;

	open_all();
	assert_int_equal(fi_ep_alias(fx.ep, &copy, FI_TRANSMIT), 0);
	assert_int_equal(fi_send(copy, NULL, 7, NULL, 0, NULL), 0);
	assert_cell(sample(), MON_SEND, 0, 1, 7);
	assert_int_equal(fi_close(&fx.ep->fid), 0);
	want(fx.layout.answered + 1);
	assert_int_equal(fi_send(copy, NULL, 8, NULL, 0, NULL), 0);
	assert_cell(newest(), MON_SEND, 0, 1, 8);
	fx.ep = copy;
	close_all();
}

static void contexts(void **state)
{
	struct fid_ep *sep = NULL, *ctx = NULL, *srx = NULL, *imported = NULL;
	struct fi_rx_attr peer = { .op_flags = FI_PEER }, own = { 0 };
	const struct mon_sample *s;

	open_all();
	assert_int_equal(fi_scalable_ep(fx.domain, NULL, &sep, NULL), 0);
	assert_int_equal(fi_tx_context(sep, 0, NULL, &ctx, NULL), 0);
	assert_int_equal(fi_enable(ctx), 0);
	assert_int_equal(fi_srx_context(fx.domain, &own, &srx, NULL), 0);
	assert_int_equal(fi_srx_context(fx.domain, &peer, &imported, NULL), 0);
	assert_ptr_equal(imported->msg, &played_msg);
	assert_int_equal(fi_send(ctx, NULL, 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_recv(srx, NULL, 2, NULL, 0, NULL), 0);
	assert_int_equal(fi_trecv(srx, NULL, 2, NULL, 0, 0, 0, NULL), 0);
	s = sample();
	assert_int_equal(counted(s, MON_SEND), 1);
	assert_int_equal(counted(s, MON_RECV), 1);
	assert_int_equal(counted(s, MON_TRECV), 1);
	assert_int_equal(fi_close(&imported->fid), 0);
	assert_int_equal(fi_close(&srx->fid), 0);
	assert_int_equal(fi_close(&ctx->fid), 0);
	assert_int_equal(fi_close(&sep->fid), 0);
	close_all();
}

static struct fid_cq *open_cq(enum fi_cq_format format, uint64_t flags)
{
	struct fi_cq_attr attr = { .format = format, .flags = flags };
	struct fid_cq *cq = NULL;

	assert_int_equal(fi_cq_open(fx.domain, &attr, &cq, NULL), 0);
	return cq;
}

/* All calls that read, on a queue with tagged entries. */
static void reads(void **state)
{
	const struct fi_cq_tagged_entry entries[2] = {
		{ .flags = FI_SEND | FI_TAGGED, .len = 10 },
		{ .flags = FI_RECV | FI_TAGGED, .len = 70 },
	};
	const size_t size = sizeof(entries[0]);
	struct fi_cq_tagged_entry got[2];
	struct fi_cq_err_entry err = { 0 };
	const struct mon_sample *s;
	struct fid_cq *cq;
	fi_addr_t src[2];

	open_all();
	cq = open_cq(FI_CQ_FORMAT_TAGGED, 0);
	played.entries = entries;
	entry_size = size;
	played.answer = 2;
	assert_int_equal(fi_cq_read(cq, got, 2), 2);
	assert_int_equal(got[1].len, 70);
	assert_int_equal(fi_cq_readfrom(cq, got, 2, src), 2);
	played.answer = 1;
	assert_int_equal(fi_cq_sread(cq, got, 2, NULL, 0), 1);
	assert_int_equal(fi_cq_sreadfrom(cq, got, 2, src, NULL, 0), 1);
	assert_int_equal(fi_cq_readerr(cq, &err, 0), 1);
	played.answer = -FI_EAGAIN;
	assert_int_equal(fi_cq_sread(cq, got, 2, NULL, 0), -FI_EAGAIN);
	assert_int_equal(fi_cq_readerr(cq, &err, 0), -FI_EAGAIN);
	s = sample();
	assert_cell(s, MON_CQ_READ, 1, 1, 2 * size);
	assert_cell(s, MON_CQ_READFROM, 1, 1, 2 * size);
	assert_cell(s, MON_CQ_SREAD, 0, 2, size);
	assert_cell(s, MON_CQ_SREADFROM, 0, 1, size);
	assert_int_equal(s->cell[MON_CQ_READERR][0].count, 1);
	assert_int_equal(s->cell[MON_CQ_READERR][2].count, 1);
	assert_int_equal(s->cell[MON_CQ_READERR][2].sum, 700);
	assert_cell(s, MON_CQ_TAGGED_TX, 0, 4, 40);
	assert_cell(s, MON_CQ_TAGGED_RX, 1, 2, 140);
	assert_int_equal(fi_close(&cq->fid), 0);
	close_all();
}

/* One entry of each direction in each format. */
static void formats(void **state)
{
	const struct fi_cq_msg_entry msg[] = { { .flags = FI_WRITE, .len = 1 },
		{ .flags = FI_REMOTE_WRITE, .len = 2 } };
	const struct fi_cq_data_entry data[] = { { .flags = FI_READ, .len = 3 },
		{ .flags = FI_MULTI_RECV, .len = 4 } };
	const struct fi_cq_entry ctx[2] = { { NULL }, { NULL } };
	const struct {
		enum fi_cq_format format;
		const void *entries;
		size_t size;
	} rows[] = {
		{ FI_CQ_FORMAT_MSG, msg, sizeof(msg[0]) },
		{ FI_CQ_FORMAT_DATA, data, sizeof(data[0]) },
		{ FI_CQ_FORMAT_CONTEXT, ctx, sizeof(ctx[0]) },
		{ FI_CQ_FORMAT_UNSPEC, ctx, sizeof(ctx[0]) },
	};
	const struct mon_sample *s;
	char got[128];

	open_all();
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fid_cq *cq = open_cq(rows[i].format, 0);

		played.answer = 2;
		played.entries = rows[i].entries;
		entry_size = rows[i].size;
		assert_int_equal(fi_cq_read(cq, got, 2), 2);
		assert_int_equal(fi_close(&cq->fid), 0);
	}
	s = sample();
	assert_cell(s, MON_CQ_MSG_TX, 0, 1, 1);
	assert_cell(s, MON_CQ_MSG_RX, 0, 1, 2);
	assert_cell(s, MON_CQ_DATA_TX, 0, 1, 3);
	assert_cell(s, MON_CQ_DATA_RX, 0, 1, 4);
	assert_cell(s, MON_CQ_CTX, 0, 2, 0);
	assert_int_equal(counted(s, MON_CQ_READ), 4);
	close_all();
}

/* The owner reads the entries of an imported queue, not the application. */
static void imported_queue(void **state)
{
	struct fid_cq *cq;

	open_all();
	cq = open_cq(FI_CQ_FORMAT_TAGGED, FI_PEER);
	assert_ptr_equal(cq->ops, &played_cq);
	assert_int_equal(fi_close(&cq->fid), 0);
	close_all();
}

/* Of an object that a provider gives several times only the last close is one. */
static int handles;

static int close_handle(struct fid *fid)
{
	return --handles ? 0 : close_played(fid);
}

static void a_fabric_opened_twice(void **state)
{
	static struct fi_ops shared = { .size = sizeof(shared), .close = close_handle };
	struct fid_fabric *fabric = new_fabric();

	handles = 2;
	fabric->fid.ops = &shared;
	fx.fabric = monitor(fabric);
	assert_int_equal(fi_domain(fx.fabric, NULL, &fx.domain, NULL), 0);
	assert_int_equal(count_files(), 1);
	(void)monitor(fabric);
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(count_files(), 1);
	assert_int_equal(fi_close(&fx.domain->fid), 0);
	assert_int_equal(fi_close(&fabric->fid), 0);
	assert_int_equal(count_files(), 0);
}

static struct fid_fabric *inner;

static void open_inner(void)
{
	inner = monitor(new_fabric());
}

/* What a provider opens below itself is not the application's. */
static void fabrics_inside(void **state)
{
	played.in_domain = open_inner;
	open_all();
	assert_ptr_equal(inner->ops, &played_fabric);
	assert_int_equal(fi_close(&inner->fid), 0);
	close_all();
}

int main(void)
{
#define TEST(name)                                                                     \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(objects_are_the_providers),
		TEST(short_tables),
		TEST(closing_fails),
		TEST(aliases),
		TEST(contexts),
		TEST(reads),
		TEST(formats),
		TEST(imported_queue),
		TEST(a_fabric_opened_twice),
		TEST(fabrics_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
