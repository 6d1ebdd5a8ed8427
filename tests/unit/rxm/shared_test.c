/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

/* Connections that share receive buffers, sources, and endpoints that receive nothing. */

static uint8_t buf[64], to[64];

static int setup(void **state)
{
	(void)state;
	fake_reset();
	(void)pair_prov();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rxm_params.use_srx = -1;
	pair_caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE;
	return 0;
}

static void arrives(struct pair *p, uint64_t id, size_t cut)
{
	struct rxm_message msg = {
		.tagged = true, .has_data = true, .size = 64, .tag = 7, .data = 1007
	};
	uint8_t bytes[RXM_HEADER + 64];
	struct rxm_hdr hdr;

	rxm_put_eager(&hdr, (uint32_t)id, &msg);
	hdr.conn_id = id;
	memcpy(bytes, &hdr, sizeof(hdr));
	memcpy(bytes + RXM_HEADER, buf, sizeof(buf));
	fake_arrives(p->rxm->srx, bytes, sizeof(bytes) - cut);
	pair_progress(p);
}

static void test_shared_buffers(void **state)
{
	struct pair pair, *p = &pair;
	struct rxm_hello hello;
	struct fake_ep *srx;

	(void)state;
	rxm_params.use_srx = 1;
	fake.says.srx = true;
	pair_open(p);
	assert_non_null(p->rxm->srx);
	srx = fake_ep_of(p->rxm->srx);
	assert_int_equal(srx->posted, 256);
	assert_false(p->rxm->counts_credits);
	assert_int_equal(fi_inject(p->ep, NULL, 0, p->addr), 0);
	pair_progress(p);
	assert_null(rxm_hello_read_request(fake.hello, fake.hello_len, BUFFER, &hello));
	assert_int_equal(hello.flow, RXM_FLOW_OFF);
	assert_int_equal(hello.rx_depth, 256);
	peer_accepts(p);
	p->conn = wf_list_entry(p->rxm->conns.next, struct rxm_conn, link);
	assert_null(p->conn->bufs);
	assert_int_equal(fake_ep_of(fake.last)->posted, 0);
	fill(buf, sizeof(buf), 7);
	assert_int_equal(fi_trecv(p->ep, to, 64, NULL, p->addr, 7, 0, to), 0);
	/* Packets of no connection are dropped. */
	arrives(p, (uint64_t)p->conn->id + 1, 0);
	arrives(p, 0, 0);
	arrives(p, p->conn->id, 65);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(srx->posted, 256 + 3);
	arrives(p, p->conn->id, 0);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 64, 7);
	assert_int_equal(srx->posted, 256 + 4);
	pair_close(p);
}

static void test_buffers_are_not_shared(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	/* The provider below cannot do it. */
	rxm_params.use_srx = 1;
	pair_open(p);
	assert_null(p->rxm->srx);
	assert_true(p->rxm->counts_credits);
	pair_connect(p);
	assert_non_null(p->conn->bufs);
	assert_int_equal(fake_ep_of(fake.last)->posted, 128);
	pair_close(p);
	/* By default only over tcp of this library. */
	rxm_params.use_srx = -1;
	fake.says.srx = true;
	pair_open(p);
	assert_null(p->rxm->srx);
	pair_close(p);
}

static void test_the_number_of_buffers(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	rxm_params.msg_rx_size = 6;
	rxm_params.msg_tx_size = 9;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(p->rxm->rx_depth, 6);
	assert_int_equal(fake_ep_of(fake.last)->posted, 6);
	assert_int_equal(fake.tx_size, 9);
	assert_int_equal(fake.rx_size, 6);
	pair_close(p);
	rxm_params.msg_rx_size = rxm_params.msg_tx_size = 0;
	pair_open(p);
	pair_connect(p);
	/* The provider below has fewer by default. */
	assert_int_equal(fake.tx_size, 64);
	assert_int_equal(fake.rx_size, 128);
	pair_close(p);
}

static void test_the_source_of_a_message(void **state)
{
	struct pair pair, *p = &pair;
	struct fi_cq_tagged_entry entry;
	struct rxm_message msg = { .size = 8 };
	uint8_t bytes[RXM_HEADER + 8] = { 0 };
	struct rxm_hdr hdr;
	fi_addr_t src = 99;

	(void)state;
	pair_caps |= FI_SOURCE;
	pair_open(p);
	pair_connect(p);
	rxm_put_eager(&hdr, p->conn->id, &msg);
	memcpy(bytes, &hdr, sizeof(hdr));
	for (int i = 0; i < 3; i++) {
		/* Expected; without a receive; and of a peer that is in no AV. */
		if (i == 2)
			assert_int_equal(fi_av_remove(p->av, &p->addr, 1, 0), 0);
		if (i != 1)
			assert_int_equal(
				fi_recv(p->ep, to, 8, NULL, FI_ADDR_UNSPEC, to), 0);
		fake_arrives(p->conn->below.fid, bytes, sizeof(bytes));
		if (i == 1) {
			pair_progress(p);
			assert_int_equal(
				fi_recv(p->ep, to, 8, NULL, FI_ADDR_UNSPEC, to), 0);
		}
		assert_int_equal(fi_cq_readfrom(p->cq, &entry, 1, &src), 1);
		assert_int_equal(src, i == 2 ? FI_ADDR_NOTAVAIL : p->addr);
		assert_int_equal(entry.len, 8);
	}
	pair_close(p);
}

static void test_an_endpoint_that_receives_nothing(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	pair_caps = FI_MSG | FI_TAGGED | FI_SEND;
	pair_open(p);
	pair_connect(p);
	peer_message(p, 7, buf, 8);
	assert_true(wf_list_empty(&p->rxm->conns));
	assert_int_equal(p->ended_count, 0);
	pair_close(p);
}

static void test_the_name_of_the_endpoint(void **state)
{
	struct pair pair, *p = &pair;
	struct sockaddr_in name, expected = fake_name(FAKE_PORT);
	size_t len = sizeof(name);
	struct fid_ep *ep;
	int open;

	(void)state;
	pair_open(p);
	assert_int_equal(fake.listens, 1);
	assert_int_equal(fi_getname(&p->ep->fid, &name, &len), 0);
	assert_int_equal(len, sizeof(name));
	assert_memory_equal(&name, &expected, sizeof(name));
	assert_int_equal(fake.listens, 1);
	len = 4;
	assert_int_equal(fi_getname(&p->ep->fid, &name, &len), -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(name));
	/* An endpoint that is not enabled listens when it is asked, or named. */
	open = fake.open;
	assert_int_equal(fi_endpoint(p->domain, p->info, &ep, NULL), 0);
	assert_int_equal(fake.open, open);
	assert_int_equal(fi_getname(&ep->fid, &name, &len), 0);
	assert_int_equal(fake.listens, 2);
	open = fake.open;
	assert_int_equal(fi_setname(&ep->fid, &expected, sizeof(expected)), 0);
	assert_int_equal(fake.listens, 3);
	assert_int_equal(fake.open, open);
	assert_int_equal(fi_setname(&ep->fid, &expected, 3), -FI_EINVAL);
	assert_int_equal(fake.listens, 3);
	assert_int_equal(fi_close(&ep->fid), 0);
	pair_close(p);
}

#define SHARED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHARED_TEST(test_shared_buffers),
		SHARED_TEST(test_buffers_are_not_shared),
		SHARED_TEST(test_the_number_of_buffers),
		SHARED_TEST(test_the_source_of_a_message),
		SHARED_TEST(test_an_endpoint_that_receives_nothing),
		SHARED_TEST(test_the_name_of_the_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
