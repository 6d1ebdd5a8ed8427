/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

/* What an endpoint posts below for its operations, and when these end. */

static uint8_t buf[4096];

static ssize_t send_with(struct pair *p, size_t len, uint64_t flags, void *context)
{
	struct iovec iov = { buf, len };
	struct fi_msg msg = { &iov, NULL, 1, p->addr, context, 0x1234 };

	return fi_sendmsg(p->ep, &msg, flags);
}

/* The connection has failed with @err, a positive fi_errno, and is closed by the next
 * progress call. */
static void assert_conn_failed(struct pair *p, int err)
{
	assert_int_equal(p->conn->state, RXM_CONN_DOWN);
	assert_int_equal(p->conn->err, err);
	assert_true(p->conn->was_up);
}

static void assert_no_conn(const struct pair *p)
{
	assert_true(wf_list_empty(&p->rxm->conns));
	assert_int_equal(p->rxm->conn_count, 0);
}

/* Nothing of an operation is left. */
static void assert_idle(const struct pair *p)
{
	assert_int_equal(p->rxm->data.pending, 0);
	assert_int_equal(p->conn->data.begun, 0);
	assert_true(wf_list_empty(&p->conn->waiting));
	assert_true(wf_list_empty(&p->conn->calls));
	assert_true(wf_list_empty(&p->conn->data.open));
	assert_null(p->conn->data.fence);
}

static void test_a_message_in_one_packet(void **state)
{
	struct pair *p = *state;
	struct rxm_packet packet;

	fill(buf, BUFFER, 3);
	assert_int_equal(
		send_with(p, BUFFER, FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE, buf),
		0);
	assert_int_equal(fake.post_count, 1);
	packet = packet_at(0);
	assert_int_equal(fake.posts[0].kind, FAKE_SEND);
	assert_int_equal(fake.posts[0].count, 2);
	assert_ptr_equal(fake.posts[0].iov[1].iov_base, buf);
	assert_int_equal(fake.posts[0].flags, FI_COMPLETION | FI_MORE);
	assert_int_equal(packet.kind, RXM_EAGER);
	assert_int_equal(packet.op, RXM_OP_MSG);
	assert_true(packet.has_data);
	assert_int_equal(packet.data, 0x1234);
	assert_int_equal(packet.size, BUFFER);
	assert_memory_equal(packet.payload, buf, BUFFER);
	assert_int_equal(p->conn->data.begun, 1);
	assert_int_equal(p->rxm->data.pending, 1);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->ended[0].flags, FI_MSG | FI_SEND);
	assert_one_ended(p, buf, 0);
	assert_idle(p);
}

/* Which completion levels the provider below has to keep. */
static void test_flags_that_are_passed_on(void **state)
{
	struct pair *p = *state;

	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_INJECT, buf), 0);
	assert_int_equal(fake.posts[0].flags, FI_COMPLETION);
	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_INJECT_COMPLETE, buf), 0);
	assert_int_equal(fake.posts[1].flags, FI_COMPLETION | FI_INJECT_COMPLETE);
	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_TRANSMIT_COMPLETE, buf), 0);
	assert_int_equal(fake.posts[2].flags, FI_COMPLETION | FI_TRANSMIT_COMPLETE);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->ended_count, 3);
	assert_idle(p);
}

static void test_delivery_is_left_to_the_provider_below(void **state)
{
	struct pair *p = *state;

	/* It cannot report it: the receiver fetches the message. */
	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_DELIVERY_COMPLETE, buf), 0);
	assert_int_equal(packet_at(0).kind, RXM_RDV);
	pair_close(p);
	fake.says.delivery = true;
	pair_open(p);
	pair_connect(p);
	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_DELIVERY_COMPLETE, buf), 0);
	assert_int_equal(packet_at(0).kind, RXM_EAGER);
	assert_int_equal(fake.posts[0].flags, FI_COMPLETION | FI_DELIVERY_COMPLETE);
	/* Match complete, and delivery of several packets, can never be left to it. */
	assert_int_equal(send_with(p, 8, FI_COMPLETION | FI_MATCH_COMPLETE, buf), 0);
	assert_int_equal(packet_at(1).kind, RXM_RDV);
	assert_int_equal(
		send_with(p, BUFFER + 1, FI_COMPLETION | FI_DELIVERY_COMPLETE, buf), 0);
	assert_int_equal(packet_at(2).kind, RXM_RDV);
}

static void test_short_ones_are_injected(void **state)
{
	struct pair *p = *state;
	size_t most = fake.says.inject_size - RXM_HEADER;

	assert_int_equal(fi_inject(p->ep, buf, most, p->addr), 0);
	assert_int_equal(fake.posts[0].kind, FAKE_INJECT);
	assert_int_equal(packet_at(0).payload_len, most);
	assert_idle(p);
	/* With its header it is longer than what can be injected below. */
	fill(buf, most + 1, 5);
	assert_int_equal(fi_inject(p->ep, buf, most + 1, p->addr), 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(fake.posts[1].kind, FAKE_SEND);
	assert_int_equal(
		((uint8_t *)fake.posts[1].iov[1].iov_base)[3], fill_byte(5, 3));
	assert_int_equal(p->rxm->data.pending, 1);
	/* The endpoint must not be closed before. */
	assert_false(rxm_flushed(&p->rxm->ep));
	assert_true(rxm_unfinished(&p->rxm->ep));
	fake_end(1, 0);
	pair_progress(p);
	assert_true(rxm_flushed(&p->rxm->ep));
	assert_false(rxm_unfinished(&p->rxm->ep));
	assert_int_equal(p->ended_count, 0);
	assert_idle(p);
}

static void test_a_full_queue_keeps_the_order(void **state)
{
	struct pair *p = *state;

	fake.refuse[FAKE_SEND] = -FI_EAGAIN;
	fake.refuse[FAKE_INJECT] = -FI_EAGAIN;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_int_equal(fi_inject(p->ep, buf, 1, p->addr), 0);
	assert_int_equal(fi_send(p->ep, buf, 2, NULL, p->addr, buf + 1), 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, 0);
	/* Behind the first one nothing is tried. */
	assert_int_equal(fake.refused[FAKE_INJECT], 0);
	assert_int_equal(p->rxm->data.pending, 3);
	assert_false(rxm_flushed(&p->rxm->ep));
	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(packet_at(0).size, 300);
	assert_int_equal(packet_at(1).size, 1);
	assert_int_equal(packet_at(2).size, 2);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_ptr_equal(p->ended[0].context, buf);
	assert_ptr_equal(p->ended[1].context, buf + 1);
	assert_idle(p);
}

static void test_the_number_of_operations_is_limited(void **state)
{
	struct pair *p = *state;

	p->rxm->data.size = 2;
	fake.refuse[FAKE_SEND] = -FI_EAGAIN;
	assert_int_equal(rxm_tx_left(&p->rxm->ep), 2);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_int_equal(rxm_tx_left(&p->rxm->ep), 1);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_int_equal(rxm_tx_left(&p->rxm->ep), 0);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), -FI_EAGAIN);
	fake.refuse[FAKE_SEND] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), -FI_EAGAIN);
	assert_int_equal(fake.post_count, 2);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(rxm_tx_left(&p->rxm->ep), 2);
	assert_idle(p);
}

static void test_a_post_that_fails(void **state)
{
	struct pair *p = *state;

	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_READ] = -FI_EIO;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), -FI_EIO);
	assert_int_equal(fi_read(p->ep, buf, 8, NULL, p->addr, 0, 1, buf), -FI_EIO);
	assert_idle(p);
	/* A message that waited is reported. */
	fake.refuse[FAKE_SEND] = -FI_EAGAIN;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	fake.refuse[FAKE_SEND] = -FI_EIO;
	pair_progress(p);
	assert_one_ended(p, buf, FI_EIO);
	assert_idle(p);
	assert_int_equal(p->conn->state, RXM_CONN_UP);
	/* The same at the end of a post. */
	fake.refuse[FAKE_SEND] = 0;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	fake_end(0, FI_EREMOTEIO);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EREMOTEIO);
	/* The provider below names no error. */
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	fake_end(1, -1);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EIO);
	assert_idle(p);
}

/* A message whose connection turns out to be lost uses the next one. */
static void test_a_post_finds_the_connection_lost(void **state)
{
	struct pair *p = *state;

	fake.refuse[FAKE_SEND] = -FI_ENOTCONN;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_conn_failed(p, FI_ENOTCONN);
	assert_true(wf_list_empty(&p->conn->waiting));
	fake.refuse[FAKE_SEND] = 0;
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(fake.connects, 2);
	peer_accepts(p);
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(packet_at(0).size, 300);
	fake_end(0, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
}

static void test_segments(void **state)
{
	struct pair *p = *state;
	static const size_t lens[] = { BUFFER, BUFFER, BUFFER, BUFFER };
	uint64_t msg_id = 0;

	fill(buf, SAR, 11);
	assert_int_equal(
		send_with(p, SAR, FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE, buf), 0);
	assert_int_equal(fake.post_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		struct rxm_packet packet = packet_at(i);

		assert_int_equal(packet.kind, RXM_SEGMENT);
		assert_int_equal(packet.position, !i       ? RXM_FIRST
						  : i == 3 ? RXM_LAST
							   : RXM_MIDDLE);
		assert_int_equal(packet.size, SAR);
		assert_int_equal(packet.payload_len, lens[i]);
		assert_memory_equal(packet.payload, buf + i * BUFFER, lens[i]);
		assert_int_equal(packet.data, 0x1234);
		assert_true(packet.msg_id != 0);
		assert_int_equal(packet.msg_id, msg_id ? msg_id : packet.msg_id);
		msg_id = packet.msg_id;
		assert_int_equal(fake.posts[i].flags, FI_COMPLETION);
	}
	assert_int_equal(p->conn->data.begun, 1);
	for (unsigned int i = 0; i < 4; i++) {
		pair_progress(p);
		assert_int_equal(p->ended_count, 0);
		fake_end(i, 0);
	}
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	assert_idle(p);
	/* One byte makes two of them; its number differs. */
	assert_int_equal(fi_send(p->ep, buf, BUFFER + 1, NULL, p->addr, buf), 0);
	assert_int_equal(fake.post_count, 6);
	assert_int_equal(packet_at(4).payload_len, BUFFER);
	assert_int_equal(packet_at(5).payload_len, 1);
	assert_int_equal(packet_at(5).position, RXM_LAST);
	assert_true(packet_at(5).msg_id != msg_id);
	fake_complete_all();
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	assert_idle(p);
}

/* The peer cannot process half of a message. */
static void test_a_segment_that_fails(void **state)
{
	struct pair *p = *state;

	fake.refuse[FAKE_SEND] = -FI_EIO;
	assert_int_equal(fi_send(p->ep, buf, 1000, NULL, p->addr, buf), -FI_EIO);
	assert_int_equal(p->conn->state, RXM_CONN_UP);
	assert_idle(p);
	fake.refuse[FAKE_SEND] = -FI_EAGAIN;
	assert_int_equal(fi_send(p->ep, buf, 1000, NULL, p->addr, buf), 0);
	fake.refuse[FAKE_SEND] = 0;
	fake.refuse_from[FAKE_SEND] = 1;
	fake.refuse_later[FAKE_SEND] = -FI_EAGAIN;
	pair_progress(p);
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(p->conn->data.begun, 1);
	fake.refuse_later[FAKE_SEND] = -FI_EIO;
	assert_int_equal(fi_cq_read(p->cq, NULL, 0), -FI_EAGAIN);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->ended[0].err, FI_EIO);
	assert_no_conn(p);
	assert_int_equal(p->rxm->data.pending, 0);
}

static struct rxm_hdr answer_to(unsigned int post, enum rxm_kind kind)
{
	struct rxm_hdr hdr;

	rxm_put_rdv_end(&hdr, kind, 0, packet_at(post).msg_id);
	return hdr;
}

static void test_a_rendezvous_that_is_read(void **state)
{
	struct pair *p = *state;
	unsigned int open = (unsigned int)fake.open;
	struct rxm_packet packet;
	struct rxm_hdr hdr;

	assert_int_equal(
		send_with(p, SAR + 1, FI_COMPLETION | FI_REMOTE_CQ_DATA, buf), 0);
	assert_int_equal(fake.post_count, 1);
	packet = packet_at(0);
	assert_int_equal(packet.kind, RXM_RDV);
	assert_int_equal(packet.size, SAR + 1);
	assert_int_equal(packet.data, 0x1234);
	assert_int_equal(packet.seg_count, 1);
	assert_int_equal(packet.seg[0].len, SAR + 1);
	assert_int_equal(packet.seg[0].key, fake.last_key);
	/* The upper half of all keys. */
	assert_true(fake.last_key > INT64_MAX);
	assert_int_equal(fake.access, FI_REMOTE_READ);
	assert_int_equal(fake.open, open + 1);
	hdr = answer_to(0, RXM_RDV_READ);
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->conn->data.begun, 1);
	peer_packet(p, &hdr, NULL, 0);
	assert_one_ended(p, buf, 0);
	assert_int_equal(fake.open, open);
	assert_idle(p);
	/* There is no such message any more. */
	fake.refuse[FAKE_SEND] = -FI_EAGAIN;
	peer_packet(p, &hdr, NULL, 0);
	assert_no_conn(p);
}

/* Its buffers: empty ones are left out. A message of no bytes has one of no bytes. */
static void test_buffers_of_a_rendezvous(void **state)
{
	struct pair *p = *state;
	struct iovec iov[3] = { { buf, 100 }, { buf + 200, 0 }, { buf + 300, SAR } };
	struct fi_msg msg = { iov, NULL, 3, p->addr, buf, 0 };
	struct rxm_packet packet;

	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_COMPLETION), 0);
	packet = packet_at(0);
	assert_int_equal(packet.seg_count, 2);
	assert_int_equal(packet.seg[0].len, 100);
	assert_int_equal(packet.seg[1].len, SAR);
	assert_int_equal(packet.seg[1].key, packet.seg[0].key + 1);
	assert_int_equal(fake.regions, 2);
	assert_int_equal(send_with(p, 0, FI_COMPLETION | FI_DELIVERY_COMPLETE, buf), 0);
	packet = packet_at(1);
	assert_int_equal(packet.kind, RXM_RDV);
	assert_int_equal(packet.seg_count, 1);
	assert_int_equal(packet.seg[0].len, 0);
	assert_int_equal(fake.regions, 2);
}

static struct rxm_hdr *put_rdv_to(uint8_t *bytes, unsigned int post, size_t a, size_t b)
{
	struct fi_rma_iov seg[2] = { { 16, a, 71 }, { 32, b, 72 } };

	rxm_put_rdv_to(bytes, 0, packet_at(post).msg_id, seg, 2);
	return (struct rxm_hdr *)(void *)bytes;
}

static void peer_asks_to_write(struct pair *p, unsigned int post, size_t a, size_t b)
{
	_Alignas(8) uint8_t bytes[RXM_WIRE_RDV];
	struct rxm_hdr *hdr = put_rdv_to(bytes, post, a, b);

	peer_packet(p, hdr, bytes + sizeof(*hdr), sizeof(bytes) - sizeof(*hdr));
}

static void test_a_rendezvous_that_is_written(void **state)
{
	struct pair *p = *state;
	unsigned int open = (unsigned int)fake.open;
	uint64_t msg_id;

	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	msg_id = packet_at(0).msg_id;
	peer_asks_to_write(p, 0, 1000, SAR + 1 - 1000);
	assert_int_equal(fake.post_count, 3);
	for (unsigned int i = 1; i < 3; i++) {
		assert_int_equal(fake.posts[i].kind, FAKE_WRITE);
		assert_int_equal(fake.posts[i].flags, FI_COMPLETION);
		assert_int_equal(fake.posts[i].count, 1);
		assert_int_equal(fake.posts[i].rma_count, 1);
		assert_int_equal(fake.posts[i].rma[0].addr, 16 * i);
		assert_int_equal(fake.posts[i].rma[0].key, 70 + i);
		assert_int_equal(fake.posts[i].len, i == 1 ? 1000 : SAR + 1 - 1000);
		assert_int_equal(fake.posts[i].rma[0].len, fake.posts[i].len);
		assert_ptr_equal(
			fake.posts[i].iov[0].iov_base, i == 1 ? buf : buf + 1000);
	}
	fake_end(0, 0);
	fake_end(1, 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(p->ended_count, 0);
	fake_end(2, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	assert_int_equal(fake.post_count, 4);
	assert_int_equal(packet_at(3).kind, RXM_RDV_WRITTEN);
	assert_int_equal(packet_at(3).msg_id, msg_id);
	assert_int_equal(fake.open, open);
	assert_idle(p);
}

/* Fewer bytes than the message may be asked for, also none. */
static void test_a_part_of_a_rendezvous_is_written(void **state)
{
	struct pair *p = *state;

	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	fake_end(0, 0);
	peer_asks_to_write(p, 0, 0, 5);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(fake.posts[1].len, 5);
	assert_int_equal(fake.posts[1].rma[0].key, 72);
	fake_end(1, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	fake_end(3, 0);
	peer_asks_to_write(p, 3, 0, 0);
	assert_one_ended(p, buf, 0);
	assert_int_equal(packet_at(4).kind, RXM_RDV_WRITTEN);
	assert_idle(p);
}

static void test_more_than_the_message_is_asked_for(void **state)
{
	struct pair *p = *state;
	_Alignas(8) uint8_t bytes[RXM_WIRE_RDV];

	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	fake_end(0, 0);
	pair_progress(p);
	(void)put_rdv_to(bytes, 0, SAR + 1, 1);
	peer_asks_to_write(p, 0, SAR + 1, 1);
	assert_one_ended(p, buf, FI_EPROTO);
	assert_int_equal(fake.post_count, 1);
	assert_no_conn(p);
	assert_int_equal(p->rxm->data.pending, 0);
}

static void test_a_write_of_a_rendezvous_fails(void **state)
{
	struct pair *p = *state;

	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	fake_end(0, 0);
	peer_asks_to_write(p, 0, 1000, 1000);
	fake_end(1, FI_EACCES);
	fake_end(2, 0);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EACCES);
	/* The peer is told nothing but the end of the connection. */
	assert_int_equal(fake.post_count, 3);
	assert_no_conn(p);
	/* The same for one that is not posted. */
	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	pair_progress(p);
	peer_accepts(p);
	p->conn = wf_list_entry(p->rxm->conns.next, struct rxm_conn, link);
	fake_end(3, 0);
	fake.refuse[FAKE_WRITE] = -FI_EIO;
	peer_asks_to_write(p, 3, 1000, 1000);
	assert_one_ended(p, buf, FI_EIO);
	assert_no_conn(p);
}

static void test_a_request_that_is_not_sent(void **state)
{
	struct pair *p = *state;
	unsigned int open = (unsigned int)fake.open;

	/* The memory cannot be registered. */
	fake.mr_errs = 1;
	fake.mr_err = -FI_ENOMEM;
	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), -FI_ENOMEM);
	assert_idle(p);
	/* Another key is tried if one is in use. */
	fake.mr_errs = 3;
	fake.mr_err = -FI_ENOKEY;
	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	assert_int_equal(fake.mr_errs, 0);
	assert_int_equal(fake.open, open + 1);
	/* The packet is lost: the peer never answers, so the connection ends. */
	fake_end(0, FI_EIO);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EIO);
	assert_no_conn(p);
}

static void test_reads_and_writes(void **state)
{
	struct pair *p = *state;
	struct iovec iov[2] = { { buf, 10 }, { buf + 20, 30 } };
	struct fi_rma_iov rma[2] = { { 100, 15, 5 }, { 200, 25, 6 } };
	struct fi_msg_rma msg = { iov, NULL, 2, p->addr, rma, 2, buf, 0x77 };

	assert_int_equal(fi_readmsg(p->ep, &msg, FI_COMPLETION), 0);
	msg.context = buf + 1;
	assert_int_equal(
		fi_writemsg(p->ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA), 0);
	assert_int_equal(fake.post_count, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fake.posts[i].kind, i ? FAKE_WRITE : FAKE_READ);
		assert_int_equal(fake.posts[i].count, 2);
		assert_memory_equal(fake.posts[i].iov, iov, sizeof(iov));
		assert_int_equal(fake.posts[i].rma_count, 2);
		assert_memory_equal(fake.posts[i].rma, rma, sizeof(rma));
		assert_int_equal(fake.posts[i].flags,
			FI_COMPLETION | (i ? FI_REMOTE_CQ_DATA : 0));
	}
	assert_int_equal(fake.posts[1].data, 0x77);
	assert_int_equal(p->conn->data.begun, 2);
	fake_end(0, FI_EACCES);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EACCES);
	fake_end(1, 0);
	pair_progress(p);
	assert_int_equal(p->ended[0].flags, FI_RMA | FI_WRITE);
	assert_one_ended(p, buf + 1, 0);
	/* An injected one is copied, and not injected below. */
	fill(buf, 8, 9);
	assert_int_equal(fi_inject_write(p->ep, buf, 8, p->addr, 0, 5), 0);
	memset(buf, 0, 8);
	assert_int_equal(fake.posts[2].kind, FAKE_WRITE);
	assert_int_equal(fake.posts[2].flags, FI_COMPLETION);
	assert_int_equal(*(uint8_t *)fake.posts[2].iov[0].iov_base, fill_byte(9, 0));
	assert_false(rxm_flushed(&p->rxm->ep));
	fake_end(2, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_true(rxm_flushed(&p->rxm->ep));
	assert_idle(p);
}

/* An operation with FI_FENCE waits for the earlier ones, and later ones for it. */
static void test_a_fence(void **state)
{
	struct pair *p = *state;

	assert_int_equal(fi_read(p->ep, buf, 8, NULL, p->addr, 0, 1, buf), 0);
	assert_int_equal(send_with(p, 300, FI_COMPLETION | FI_FENCE, buf + 1), 0);
	assert_ptr_equal(p->conn->data.fence, p->conn->waiting.next);
	assert_int_equal(send_with(p, 301, FI_COMPLETION, buf + 2), 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, 1);
	assert_false(rxm_data_any_waits(p->conn));
	fake_end(0, 0);
	pair_progress(p);
	assert_one_ended(p, buf, 0);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(packet_at(1).size, 300);
	assert_int_equal(packet_at(2).size, 301);
	fake_complete_all();
	pair_progress(p);
	p->ended_count = 0;
	assert_idle(p);
	/* Nothing is before it. */
	assert_int_equal(send_with(p, 302, FI_COMPLETION | FI_FENCE, buf + 1), 0);
	assert_int_equal(fake.post_count, 4);
}

static void test_a_fence_is_cancelled(void **state)
{
	struct pair *p = *state;

	assert_int_equal(fi_read(p->ep, buf, 8, NULL, p->addr, 0, 1, buf), 0);
	assert_int_equal(send_with(p, 300, FI_COMPLETION | FI_FENCE, buf + 1), 0);
	assert_int_equal(send_with(p, 301, FI_COMPLETION, buf + 2), 0);
	/* One that does not wait for others stays. */
	assert_int_equal(fi_cancel(&p->ep->fid, buf + 3), 0);
	assert_int_equal(p->rxm->data.pending, 3);
	assert_int_equal(fi_cancel(&p->ep->fid, buf + 1), 0);
	pair_progress(p);
	assert_one_ended(p, buf + 1, FI_ECANCELED);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(packet_at(1).size, 301);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->ended_count, 2);
	assert_idle(p);
}

/* Answers go before an operation that waits. */
static void test_an_answer_passes_a_fence(void **state)
{
	struct pair *p = *state;

	assert_int_equal(send_with(p, SAR + 1, FI_COMPLETION, buf), 0);
	fake_end(0, 0);
	assert_int_equal(send_with(p, 300, FI_COMPLETION | FI_FENCE, buf + 1), 0);
	peer_asks_to_write(p, 0, 0, 0);
	assert_int_equal(fake.post_count, 3);
	assert_int_equal(packet_at(1).kind, RXM_RDV_WRITTEN);
	assert_int_equal(packet_at(2).size, 300);
	assert_one_ended(p, buf, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_a_message_in_one_packet),
		PAIR_TEST(test_flags_that_are_passed_on),
		PAIR_TEST(test_delivery_is_left_to_the_provider_below),
		PAIR_TEST(test_short_ones_are_injected),
		PAIR_TEST(test_a_full_queue_keeps_the_order),
		PAIR_TEST(test_the_number_of_operations_is_limited),
		PAIR_TEST(test_a_post_that_fails),
		PAIR_TEST(test_a_post_finds_the_connection_lost),
		PAIR_TEST(test_segments),
		PAIR_TEST(test_a_segment_that_fails),
		PAIR_TEST(test_a_rendezvous_that_is_read),
		PAIR_TEST(test_buffers_of_a_rendezvous),
		PAIR_TEST(test_a_rendezvous_that_is_written),
		PAIR_TEST(test_a_part_of_a_rendezvous_is_written),
		PAIR_TEST(test_more_than_the_message_is_asked_for),
		PAIR_TEST(test_a_write_of_a_rendezvous_fails),
		PAIR_TEST(test_a_request_that_is_not_sent),
		PAIR_TEST(test_reads_and_writes),
		PAIR_TEST(test_a_fence),
		PAIR_TEST(test_a_fence_is_cancelled),
		PAIR_TEST(test_an_answer_passes_a_fence),
	};

	fake_reset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
