/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

/* What is offered over which provider below, and what its modes need. */

enum { ANY_MR = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY };

static uint8_t buf[4096];

static int setup(void **state)
{
	(void)state;
	fake_reset();
	rxm_params.buffer_size = BUFFER;
	(void)pair_prov();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	pair_mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	rxm_offers_done();
	fake_reset();
	return 0;
}

static bool is_offered(uint64_t caps)
{
	struct fi_info *info = pair_ask(caps);
	bool offered = info;

	fi_freeinfo(info);
	rxm_offers_done();
	return offered;
}

static void test_which_ones_carry_endpoints(void **state)
{
	(void)state;
	assert_true(is_offered(FI_MSG));
	fake.says.addr_format = FI_SOCKADDR_IN6;
	assert_true(is_offered(FI_MSG));
	fake.says.addr_format = FI_SOCKADDR_IB;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.domain = NULL;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.caps &= ~FI_RMA;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.caps &= ~FI_MSG;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.mr_mode = FI_MR_RAW;
	assert_false(is_offered(FI_MSG));
	fake.says.mr_mode = ANY_MR | FI_MR_HMEM;
	assert_true(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
	assert_true(is_offered(FI_MSG));
	fake.says.mode = FI_MSG_PREFIX;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	/* A packet is one message. */
	fake.says.max_msg_size = RXM_HEADER + BUFFER;
	assert_true(is_offered(FI_MSG));
	fake.says.max_msg_size--;
	assert_false(is_offered(FI_MSG));
	fake.says = fake_default;
	fake.says.iov_limit = 1;
	fake.says.rma_iov_limit = 1;
	assert_true(is_offered(FI_MSG));
	fake.says.iov_limit = 0;
	assert_false(is_offered(FI_MSG));
	fake.says.iov_limit = 1;
	fake.says.rma_iov_limit = 0;
	assert_false(is_offered(FI_MSG));
}

static void test_what_is_offered(void **state)
{
	struct fi_info *info = pair_ask(0), *plain;

	(void)state;
	assert_non_null(info);
	plain = info->next;
	assert_non_null(plain);
	assert_null(plain->next);
	assert_true(info->caps & FI_ATOMIC);
	assert_false(plain->caps & FI_ATOMIC);
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_RXM);
	assert_int_equal(info->ep_attr->protocol_version, 1);
	assert_int_equal(info->ep_attr->max_msg_size, fake.says.max_msg_size);
	assert_int_equal(info->tx_attr->size, rxm_params.tx_size);
	assert_int_equal(info->rx_attr->size, rxm_params.rx_size);
	assert_int_equal(info->tx_attr->iov_limit, 4);
	assert_int_equal(info->rx_attr->iov_limit, 4);
	assert_int_equal(info->tx_attr->rma_iov_limit, 4);
	assert_int_equal(info->domain_attr->mr_iov_limit, 1);
	assert_int_equal(info->domain_attr->mr_key_size, 8);
	assert_int_equal(info->domain_attr->cq_data_size, 8);
	assert_int_equal(info->tx_attr->inject_size, fake.says.inject_size);
	/* Writes and atomics are not ordered. */
	assert_false(info->tx_attr->msg_order & FI_ORDER_WAW);
	assert_true(plain->tx_attr->msg_order & FI_ORDER_WAW);
	assert_true(plain->rx_attr->msg_order & FI_ORDER_SAW);
	/* Of another library: it would count the accesses of a rendezvous. */
	assert_false(info->caps & FI_RMA_EVENT);
	fi_freeinfo(info);
	rxm_offers_done();
	/* Limits of the provider below are limits here. */
	fake.says.rma_iov_limit = 3;
	fake.says.key_size = 4;
	fake.says.inject_size = RXM_HEADER + 1;
	info = pair_ask(FI_MSG);
	assert_int_equal(info->tx_attr->rma_iov_limit, 3);
	assert_int_equal(info->domain_attr->mr_key_size, 4);
	assert_int_equal(info->tx_attr->inject_size, RXM_HEADER + 1);
	fi_freeinfo(info);
	rxm_offers_done();
	/* Little is injected below: messages are copied. */
	fake.says.inject_size = RXM_HEADER;
	info = pair_ask(FI_MSG);
	assert_int_equal(info->tx_attr->inject_size, BUFFER);
	fi_freeinfo(info);
	rxm_offers_done();
	fake.says = fake_default;
	fake.says.mr_mode = FI_MR_LOCAL;
	info = pair_ask(FI_MSG);
	assert_int_equal(info->tx_attr->inject_size, BUFFER);
	fi_freeinfo(info);
}

/* An application that can register its buffers has to, if the provider below needs it. */
static void test_who_registers_buffers(void **state)
{
	struct fi_info *info;

	(void)state;
	fake.says.mr_mode = FI_MR_LOCAL | FI_MR_PROV_KEY;
	info = pair_ask(FI_MSG);
	assert_non_null(info);
	assert_int_equal(info->domain_attr->mr_mode & FI_MR_LOCAL, 0);
	fi_freeinfo(info);
	pair_mr_mode = ANY_MR;
	info = pair_ask(FI_MSG);
	assert_int_equal(info->domain_attr->mr_mode & FI_MR_LOCAL, FI_MR_LOCAL);
	fi_freeinfo(info);
	rxm_offers_done();
	fake.says.mr_mode = FI_MR_PROV_KEY;
	info = pair_ask(FI_MSG);
	assert_non_null(info);
	assert_int_equal(info->domain_attr->mr_mode & FI_MR_LOCAL, 0);
	fi_freeinfo(info);
}

/* ---- messages without a header ---- */

static void test_tagged_messages_below(void **state)
{
	struct pair pair, *p = &pair;
	struct fake_ep *ep;
	uint8_t to[16];

	(void)state;
	pair_open(p);
	pair_connect(p);
	assert_false(p->rxm->domain->tagged);
	assert_int_equal(fake_ep_of(p->conn->below.fid)->tagged, 0);
	pair_close(p);
	fake.says.tagged = true;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(fake.domain_caps, fake.says.caps | FI_TAGGED);
	assert_int_equal(fake.tx_caps, fake.says.caps | FI_TAGGED);
	assert_int_equal(fake.rx_caps, fake.says.caps | FI_TAGGED);
	assert_true(p->rxm->domain->tagged);
	ep = fake_ep_of(p->conn->below.fid);
	assert_int_equal(ep->tagged, 16);
	/* One of an old peer: expected, then without a receive. */
	for (int i = 0; i < 2; i++) {
		if (!i)
			assert_int_equal(
				fi_trecv(p->ep, to, 16, NULL, p->addr, 9, 0, to), 0);
		fill(ep->tagged_buf, 16, 9);
		fake_put_done(ep->tagged_context,
			FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA, 16, 0);
		fake.done[(fake.done_put - 1) % FAKE_QUEUE].entry.tag = 9;
		fake.done[(fake.done_put - 1) % FAKE_QUEUE].entry.data = 1009;
		pair_progress(p);
		assert_int_equal(ep->tagged, 17 + i);
		if (i)
			assert_int_equal(
				fi_trecv(p->ep, to, 16, NULL, p->addr, 9, 0, to), 0);
		pair_progress(p);
		assert_int_equal(p->ended_count, 1);
		assert_message(p, 0, to, 16, 9);
		p->ended_count = 0;
	}
	pair_close(p);
}

/* ---- keys, and registered buffers ---- */

static void test_keys_of_few_bytes(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	fake.says.key_size = 4;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(p->rxm->domain->max_key, UINT32_MAX);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_send(p->ep, buf, SAR + 1, NULL, p->addr, buf), 0);
		/* The upper half of the keys. */
		assert_int_equal(fake.last_key, ((uint64_t)1 << 31) + (uint64_t)i);
	}
	pair_close(p);
	fake.says.mr_mode = FI_MR_PROV_KEY;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(fi_send(p->ep, buf, SAR + 1, NULL, p->addr, buf), 0);
	assert_int_equal(fake.last_key, 0);
	assert_int_equal(packet_at(0).seg[0].key, 9000);
	assert_int_equal(packet_at(0).seg[0].addr, 0);
	pair_close(p);
	fake.says.mr_mode = FI_MR_VIRT_ADDR;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(fi_send(p->ep, buf, SAR + 1, NULL, p->addr, buf), 0);
	assert_int_equal(packet_at(0).seg[0].addr, (uintptr_t)buf);
	pair_close(p);
}

/* The provider below checks that each buffer has the descriptor of a region for its
 * use. */
static void test_buffers_are_registered(void **state)
{
	struct pair pair, *p = &pair;
	struct iovec iov[2] = { { buf, 1000 }, { buf + 1000, 1000 } };
	struct fi_rma_iov rma = { 0, 2000, 5 };
	struct fi_msg_rma msg = { iov, NULL, 2, 0, &rma, 1, buf, 0 };
	int open;

	(void)state;
	fake.says.mr_mode = FI_MR_LOCAL;
	pair_open(p);
	pair_connect(p);
	msg.addr = p->addr;
	assert_true(p->rxm->domain->local_mr);
	assert_false(p->rxm->domain->has_descs);
	/* A message is copied to a buffer, which is used again. */
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_int_equal(fake.posts[0].count, 1);
	assert_int_equal(packet_at(0).size, 300);
	fake_end(0, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	open = fake.open;
	/* So is a short write. */
	fill(buf, BUFFER, 4);
	assert_int_equal(fi_write(p->ep, buf, BUFFER, NULL, p->addr, 0, 5, buf), 0);
	assert_int_equal(fake.posts[1].iov[0].iov_len, BUFFER);
	assert_ptr_equal(fake.posts[1].iov[0].iov_base, fake.posts[0].iov[0].iov_base);
	assert_memory_equal(fake.posts[1].bytes, buf, BUFFER);
	assert_int_equal(fake.open, open);
	fake_end(1, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	/* Others are registered while they last. */
	assert_int_equal(fi_writemsg(p->ep, &msg, FI_COMPLETION), 0);
	assert_int_equal(fake.access, FI_WRITE);
	assert_int_equal(fake.open, open + 2);
	fake_end(2, 0);
	pair_progress(p);
	assert_int_equal(fake.open, open);
	assert_int_equal(fi_readmsg(p->ep, &msg, FI_COMPLETION), 0);
	assert_int_equal(fake.access, FI_READ);
	assert_int_equal(fake.open, open + 2);
	fake_end(3, 0);
	pair_progress(p);
	assert_int_equal(fake.open, open);
	assert_int_equal(fi_write(p->ep, buf, BUFFER + 1, NULL, p->addr, 0, 5, buf), 0);
	assert_ptr_equal(fake.posts[4].iov[0].iov_base, buf);
	fake_end(4, 0);
	/* A short read goes to the application's buffer, too. */
	assert_int_equal(fi_read(p->ep, buf, 8, NULL, p->addr, 0, 5, buf), 0);
	assert_ptr_equal(fake.posts[5].iov[0].iov_base, buf);
	fake_end(5, 0);
	pair_progress(p);
	assert_int_equal(fake.open, open);
	/* The second buffer cannot be registered. */
	fake.mr_err = -FI_ENOMEM;
	fake.mr_errs = 1;
	assert_int_equal(fi_readmsg(p->ep, &msg, FI_COMPLETION), -FI_ENOMEM);
	assert_int_equal(fake.open, open);
	pair_close(p);
}

static void test_a_rendezvous_is_registered(void **state)
{
	struct pair pair, *p = &pair;
	struct fi_rma_iov seg[2] = { { 0, 1000, 5 }, { 0, 2000, 6 } };
	struct iovec iov[2] = { { buf, 500 }, { buf + 500, 2500 } };
	struct fi_msg send = { iov, NULL, 2, 0, buf, 0 };
	struct rxm_message msg = { .tagged = true, .size = 3000 };
	_Alignas(8) uint8_t bytes[RXM_WIRE_RDV];
	int open;

	(void)state;
	fake.says.mr_mode = FI_MR_LOCAL;
	pair_open(p);
	pair_connect(p);
	send.addr = p->addr;
	open = fake.open;
	assert_int_equal(fi_trecv(p->ep, buf, 4096, NULL, p->addr, 0, 0, buf), 0);
	rxm_put_rdv(bytes, 0, 3, &msg, seg, 2);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		sizeof(bytes) - RXM_HEADER);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(fake.access, FI_READ);
	fake_complete_all();
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	fake_complete_all();
	pair_progress(p);
	fake.post_count = 0;
	/* Slabs stay. */
	open = fake.open;
	assert_int_equal(fi_sendmsg(p->ep, &send, FI_COMPLETION), 0);
	assert_int_equal(fake.access, FI_REMOTE_READ | FI_WRITE);
	rxm_put_rdv_to(bytes, 0, packet_at(0).msg_id, seg, 2);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		sizeof(bytes) - RXM_HEADER);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(fake.posts[1].count, 2);
	assert_int_equal(fake.posts[2].count, 1);
	assert_ptr_equal(fake.posts[2].iov[0].iov_base, buf + 1000);
	fake_complete_all();
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(fake.open, open);
	pair_close(p);
}

/* A provider below that takes one buffer gets a copy of the packet. */
static void test_packets_in_one_buffer(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fake.says.iov_limit = i == 1 ? 1 : i == 2 ? 2 : 5;
		rxm_params.direct_send = i != 0;
		pair_open(p);
		pair_connect(p);
		fill(buf, 300, 6);
		assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
		assert_int_equal(fake.posts[0].count, i == 2 ? 2 : 1);
		assert_int_equal(fake.posts[0].len, RXM_HEADER + 300);
		assert_memory_equal(fake.posts[0].bytes + RXM_HEADER, buf, 300);
		assert_int_equal(packet_at(0).size, 300);
		fake_end(0, 0);
		pair_progress(p);
		assert_one_ended(p, buf, 0);
		pair_close(p);
	}
}

/* A peer's write with remote CQ data: it takes a receive below, or it does not. */
static void test_writes_that_take_a_buffer(void **state)
{
	struct pair pair, *p = &pair;

	(void)state;
	for (int takes = 0; takes < 2; takes++) {
		struct fake_ep *ep;

		fake.says.mode = takes ? FI_RX_CQ_DATA : 0;
		pair_open(p);
		pair_connect(p);
		ep = fake_ep_of(p->conn->below.fid);
		fake_put_done(ep->recv_context[0],
			FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, 5, 0);
		fake.done[(fake.done_put - 1) % FAKE_QUEUE].entry.data = 0x99;
		pair_progress(p);
		assert_int_equal(p->ended[0].data, 0x99);
		assert_int_equal(p->ended[0].len, 5);
		assert_one_ended(p, NULL, 0);
		assert_int_equal(ep->posted, 128 + takes);
		pair_close(p);
	}
}

#define DOMAIN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_which_ones_carry_endpoints),
		DOMAIN_TEST(test_what_is_offered),
		DOMAIN_TEST(test_who_registers_buffers),
		DOMAIN_TEST(test_tagged_messages_below),
		DOMAIN_TEST(test_keys_of_few_bytes),
		DOMAIN_TEST(test_buffers_are_registered),
		DOMAIN_TEST(test_a_rendezvous_is_registered),
		DOMAIN_TEST(test_packets_in_one_buffer),
		DOMAIN_TEST(test_writes_that_take_a_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
