/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

#include "providers/rxm/data/hold.h"

/* Packets that arrive at an endpoint: what it receives, answers and refuses. */

static uint8_t buf[4096], to[4096];

static void post_tagged(struct pair *p, size_t len, uint64_t tag)
{
	assert_int_equal(fi_trecv(p->ep, to, len, NULL, p->addr, tag, 0, to), 0);
}

static void assert_no_conn(const struct pair *p)
{
	assert_true(wf_list_empty(&p->rxm->conns));
}

/* The connection is lost with a message that has not found a receive. */
static void lose_unexpected(struct pair *p)
{
	assert_true(p->rxm->unexp.budget.used > 0);
	fake_event(FI_SHUTDOWN, p->conn->below.fid, NULL, 0);
	pair_progress(p);
	assert_no_conn(p);
	assert_int_equal(p->ended_count, 0);
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_one_ended(p, to, FI_ECANCELED);
	assert_int_equal(p->rxm->unexp.budget.used, 0);
}

static void test_a_message_for_a_receive(void **state)
{
	struct pair *p = *state;

	fill(buf, BUFFER, 7);
	post_tagged(p, sizeof(to), 7);
	peer_message(p, 7, buf, BUFFER);
	assert_int_equal(p->ended[0].flags, FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA);
	assert_message(p, 0, to, BUFFER, 7);
	assert_int_equal(p->ended_count, 1);
	p->ended_count = 0;
	/* A buffer that is too short. */
	post_tagged(p, 10, 7);
	peer_message(p, 7, buf, 11);
	assert_one_ended(p, to, FI_ETRUNC);
}

static void test_a_message_without_a_receive(void **state)
{
	struct pair *p = *state;

	fill(buf, 300, 7);
	peer_message(p, 7, buf, 300);
	assert_int_equal(p->ended_count, 0);
	assert_true(p->rxm->unexp.budget.used >= 300);
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 300, 7);
	assert_int_equal(p->rxm->unexp.budget.used, 0);
}

/* ---- segments ---- */

static void peer_segment(
	struct pair *p, uint64_t id, uint32_t number, uint32_t count, size_t size)
{
	struct rxm_message msg = {
		.tagged = true, .has_data = true, .size = size, .tag = 7, .data = 1007
	};
	size_t at = (size_t)number * BUFFER;
	size_t len = WF_MIN(size - at, (size_t)BUFFER);
	struct rxm_hdr hdr;

	rxm_put_segment(&hdr, p->conn->id, id, &msg, number, count, (uint16_t)len);
	peer_packet(p, &hdr, buf + at, len);
}

static void test_segments_for_a_receive(void **state)
{
	struct pair *p = *state;

	fill(buf, 1100, 7);
	post_tagged(p, sizeof(to), 7);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(p->ended_count, 0);
		assert_int_equal(p->conn->data.partial_count, i != 0);
		peer_segment(p, 5, i, 3, 1100);
	}
	assert_message(p, 0, to, 1100, 7);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->conn->data.partial_count, 0);
}

static void test_segments_without_a_receive(void **state)
{
	struct pair *p = *state;

	fill(buf, 1100, 7);
	for (uint32_t i = 0; i < 3; i++)
		peer_segment(p, 5, i, 3, 1100);
	assert_int_equal(p->conn->data.partial_count, 0);
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 1100, 7);
	assert_int_equal(p->rxm->unexp.budget.used, 0);
	/* The receive comes between two segments. */
	p->ended_count = 0;
	memset(to, 0, sizeof(to));
	peer_segment(p, 6, 0, 3, 1100);
	peer_segment(p, 6, 1, 3, 1100);
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->rxm->unexp.budget.used, 0);
	peer_segment(p, 6, 2, 3, 1100);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 1100, 7);
}

static void test_segments_that_do_not_fit_together(void **state)
{
	struct pair *p = *state;

	/* Of no message. */
	peer_segment(p, 5, 1, 3, 1100);
	assert_no_conn(p);
	assert_int_equal(p->ended_count, 0);
	pair_again(p);
	/* A message begins twice. */
	post_tagged(p, sizeof(to), 7);
	peer_segment(p, 5, 0, 3, 1100);
	peer_segment(p, 5, 0, 3, 1100);
	assert_one_ended(p, to, FI_EPROTO);
	assert_no_conn(p);
	pair_again(p);
	/* The last one is missing a byte. */
	post_tagged(p, sizeof(to), 7);
	peer_segment(p, 5, 0, 3, 1100);
	peer_segment(p, 5, 1, 3, 1100);
	peer_segment(p, 5, 2, 3, 1099);
	assert_one_ended(p, to, FI_EPROTO);
	assert_no_conn(p);
	pair_again(p);
	/* All bytes are there before the last one. */
	post_tagged(p, sizeof(to), 7);
	peer_segment(p, 5, 0, 3, 1024);
	peer_segment(p, 5, 1, 3, 1024);
	assert_one_ended(p, to, FI_EPROTO);
	assert_no_conn(p);
	pair_again(p);
	/* Lost with an unexpected one. */
	peer_segment(p, 5, 0, 3, 1100);
	lose_unexpected(p);
}

/* ---- rendezvous ---- */

static void peer_rdv(struct pair *p, size_t a, size_t b, uint64_t key, size_t size)
{
	struct rxm_message msg = {
		.tagged = true, .has_data = true, .size = size, .tag = 7, .data = 1007
	};
	struct fi_rma_iov seg[2] = { { 16, a, key }, { 32, b, key } };
	_Alignas(8) uint8_t bytes[RXM_WIRE_RDV];

	rxm_put_rdv(bytes, 0, 0x900000009, &msg, seg, b ? 2 : 1);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		sizeof(bytes) - RXM_HEADER);
}

static void peer_wrote(struct pair *p, uint64_t msg_id)
{
	struct rxm_hdr hdr;

	rxm_put_rdv_end(&hdr, RXM_RDV_WRITTEN, 0, msg_id);
	peer_packet(p, &hdr, NULL, 0);
}

static void assert_reads(size_t a, size_t b)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct fake_post *post = &fake.posts[i];

		assert_int_equal(post->kind, FAKE_READ);
		assert_int_equal(post->flags, FI_COMPLETION);
		assert_int_equal(post->count, 1);
		assert_ptr_equal(post->iov[0].iov_base, i ? to + a : to);
		assert_int_equal(post->len, i ? b : a);
		assert_int_equal(post->rma_count, 1);
		assert_int_equal(post->rma[0].addr, 16 * (i + 1));
		assert_int_equal(post->rma[0].len, post->len);
		assert_int_equal(post->rma[0].key, 5);
	}
}

static void test_a_rendezvous_is_read(void **state)
{
	struct pair *p = *state;
	struct rxm_packet packet;

	post_tagged(p, sizeof(to), 7);
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 2);
	assert_reads(1000, 2000);
	fill(to, 3000, 7);
	fake_end(1, 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(p->ended_count, 0);
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 3000, 7);
	assert_int_equal(fake.post_count, 3);
	packet = packet_at(2);
	assert_int_equal(fake.posts[2].kind, FAKE_INJECT);
	assert_int_equal(packet.kind, RXM_RDV_READ);
	assert_int_equal(packet.msg_id, 0x900000009);
	assert_true(wf_list_empty(&p->conn->data.rdv));
	assert_int_equal(fake.regions, 0);
}

/* Only what the receive has room for is read. */
static void test_a_receive_shorter_than_a_rendezvous(void **state)
{
	struct pair *p = *state;

	post_tagged(p, 1500, 7);
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 2);
	assert_reads(1000, 500);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(packet_at(2).kind, RXM_RDV_READ);
	assert_one_ended(p, to, FI_ETRUNC);
	post_tagged(p, 1000, 7);
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 4);
	assert_int_equal(fake.posts[3].len, 1000);
	fake_end(3, 0);
	pair_progress(p);
	assert_int_equal(packet_at(4).kind, RXM_RDV_READ);
	assert_one_ended(p, to, FI_ETRUNC);
	/* Nothing is read. */
	assert_int_equal(fi_trecv(p->ep, NULL, 0, NULL, p->addr, 7, 0, to), 0);
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 6);
	assert_int_equal(packet_at(5).kind, RXM_RDV_READ);
	assert_one_ended(p, to, FI_ETRUNC);
}

static void test_an_unexpected_rendezvous(void **state)
{
	struct pair *p = *state;

	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 0);
	assert_true(p->rxm->unexp.budget.used > 0);
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_int_equal(p->rxm->unexp.budget.used, 0);
	assert_int_equal(fake.post_count, 2);
	assert_reads(1000, 2000);
	fill(to, 3000, 7);
	fake_complete_all();
	pair_progress(p);
	assert_message(p, 0, to, 3000, 7);
	p->ended_count = 0;
	/* It goes with its connection. */
	peer_rdv(p, 1000, 2000, 5, 3000);
	lose_unexpected(p);
}

static void test_a_read_waits_or_fails(void **state)
{
	struct pair *p = *state;

	post_tagged(p, sizeof(to), 7);
	fake.refuse_from[FAKE_READ] = 1;
	fake.refuse_later[FAKE_READ] = -FI_EAGAIN;
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_int_equal(fake.post_count, 1);
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(fake.post_count, 1);
	fake.refuse_later[FAKE_READ] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 2);
	assert_reads(1000, 2000);
	fake_end(1, FI_EACCES);
	pair_progress(p);
	assert_one_ended(p, to, FI_EACCES);
	assert_int_equal(fake.post_count, 2);
	assert_no_conn(p);
	pair_again(p);
	fake.refuse[FAKE_READ] = -FI_EIO;
	post_tagged(p, sizeof(to), 7);
	peer_rdv(p, 1000, 2000, 5, 3000);
	assert_one_ended(p, to, FI_EIO);
	assert_no_conn(p);
}

static void test_a_rendezvous_is_written(void **state)
{
	struct pair *p = *state;
	struct iovec iov[3] = { { to, 1000 }, { to + 1500, 0 }, { to + 1000, 3000 } };
	struct fi_msg_tagged msg = { iov, NULL, 3, p->addr, 7, 0, to, 0 };
	unsigned int open = (unsigned int)fake.open;
	struct rxm_packet packet;

	assert_int_equal(fi_trecvmsg(p->ep, &msg, FI_COMPLETION), 0);
	peer_rdv(p, 1000, 2000, RXM_WIRE_NO_KEY, 3000);
	assert_int_equal(fake.post_count, 1);
	packet = packet_at(0);
	assert_int_equal(packet.kind, RXM_RDV_TO);
	assert_int_equal(packet.msg_id, 0x900000009);
	assert_int_equal(packet.seg_count, 2);
	assert_int_equal(packet.seg[0].len, 1000);
	assert_int_equal(packet.seg[1].len, 2000);
	assert_int_equal(packet.seg[1].key, packet.seg[0].key + 1);
	assert_int_equal(fake.access, FI_REMOTE_WRITE);
	assert_int_equal(fake.open, open + 2);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	fill(to, 3000, 7);
	peer_wrote(p, 0x900000009);
	assert_int_equal(p->ended_count, 1);
	assert_message(p, 0, to, 3000, 7);
	assert_int_equal(fake.open, open);
	p->ended_count = 0;
	/* There is no such message any more. */
	peer_wrote(p, 0x900000009);
	assert_no_conn(p);
}

/* One of the two messages that have not ended was written, the other one not asked for. */
static void test_another_rendezvous_was_written(void **state)
{
	struct pair *p = *state;

	post_tagged(p, sizeof(to), 7);
	peer_rdv(p, 1000, 2000, 5, 3000);
	peer_wrote(p, 0x900000009);
	assert_no_conn(p);
	assert_one_ended(p, to, FI_EPROTO);
	pair_again(p);
	/* The memory cannot be registered. */
	fake.mr_errs = 1;
	fake.mr_err = -FI_ENOMEM;
	post_tagged(p, sizeof(to), 7);
	peer_rdv(p, 1000, 2000, RXM_WIRE_NO_KEY, 3000);
	assert_one_ended(p, to, FI_ENOMEM);
	assert_no_conn(p);
}

/* ---- other packets ---- */

static void test_packets_that_are_invalid(void **state)
{
	struct pair *p = *state;
	struct rxm_hdr hdr = { .version = RXM_WIRE_VERSION, .kind = RXM_KINDS };

	peer_packet(p, &hdr, NULL, 0);
	assert_no_conn(p);
	pair_again(p);
	fake_put_done(
		fake_ep_of(p->conn->below.fid)->recv_context[0], FI_RECV, 0, FI_ETRUNC);
	pair_progress(p);
	assert_no_conn(p);
	pair_again(p);
	/* A receive below that ends otherwise tells of the end of the connection, which
	 * comes as an event. */
	fake_put_done(fake_ep_of(p->conn->below.fid)->recv_context[0], FI_RECV, 0,
		FI_ECANCELED);
	pair_progress(p);
	assert_int_equal(p->conn->state, RXM_CONN_UP);
}

static void test_a_write_with_data(void **state)
{
	struct pair *p = *state;

	fake_put_done(NULL, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, 33, 0);
	fake.done[(fake.done_put - 1) % FAKE_QUEUE].entry.data = 0x4711;
	pair_progress(p);
	assert_int_equal(
		p->ended[0].flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(p->ended[0].data, 0x4711);
	assert_int_equal(p->ended[0].len, 33);
	assert_one_ended(p, NULL, 0);
	/* Without data, or no write, nothing is reported. */
	fake_put_done(NULL, FI_RMA | FI_REMOTE_WRITE, 33, 0);
	fake_put_done(NULL, FI_RMA | FI_REMOTE_CQ_DATA, 33, 0);
	fake_put_done(NULL, FI_MSG | FI_SEND, 33, FI_EIO);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->conn->state, RXM_CONN_UP);
}

/* A buffer that could not be posted is posted later. */
static void test_buffers_are_posted_again(void **state)
{
	struct pair *p = *state;
	struct fake_ep *ep = fake_ep_of(p->conn->below.fid);
	unsigned int posted = ep->posted;

	assert_int_equal(posted, p->rxm->rx_depth);
	peer_message(p, 7, buf, 10);
	assert_int_equal(ep->posted, posted + 1);
	fake.refuse[FAKE_RECV] = -FI_EAGAIN;
	peer_message(p, 7, buf, 10);
	assert_int_equal(ep->posted, posted + 1);
	assert_false(wf_list_empty(&p->rxm->idle));
	assert_false(rxm_arm(&p->rxm->ep));
	fake.refuse[FAKE_RECV] = 0;
	pair_progress(p);
	assert_int_equal(ep->posted, posted + 2);
	assert_true(wf_list_empty(&p->rxm->idle));
	assert_true(rxm_arm(&p->rxm->ep));
}

/* A connection that has as much memory as it may is read no further. */
static void test_a_connection_is_held(void **state)
{
	struct pair *p = *state;
	struct fake_ep *ep = fake_ep_of(p->conn->below.fid);
	unsigned int posted = ep->posted;
	struct rxm_hdr credit;

	p->rxm->unexp.budget.limit = p->rxm->unexp.budget.share = 0;
	fill(buf, 10, 7);
	peer_message(p, 7, buf, 10);
	assert_true(rxm_conn_is_held(p->conn));
	assert_int_equal(ep->posted, posted + 1);
	peer_message(p, 7, buf, 10);
	assert_int_equal(p->conn->data.held_bytes, RXM_HEADER + 10);
	assert_int_equal(ep->posted, posted + 1);
	/* Those that need no memory are handled. */
	rxm_put_credit(&credit, 0, 3);
	peer_packet(p, &credit, NULL, 0);
	assert_int_equal(p->conn->credits, 3);
	assert_int_equal(p->conn->data.held_bytes, RXM_HEADER + 10);
	assert_int_equal(ep->posted, posted + 2);
	/* One receive lets the next message come, which fills the memory again. */
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_message(p, 0, to, 10, 7);
	assert_int_equal(p->ended_count, 1);
	assert_int_equal(p->conn->data.held_bytes, 0);
	assert_true(rxm_conn_is_held(p->conn));
	p->ended_count = 0;
	post_tagged(p, sizeof(to), 7);
	pair_progress(p);
	assert_int_equal(p->ended_count, 1);
	assert_false(rxm_conn_is_held(p->conn));
	assert_int_equal(ep->posted, posted + 3);
	assert_null(p->rxm->unexp.budget.given);
	assert_null(p->rxm->data.answers.given);
	assert_true(wf_list_empty(&p->conn->withheld));
}

/* Packets that were kept are handled when the connection ends. */
static void test_a_held_connection_ends(void **state)
{
	struct pair *p = *state;

	p->rxm->unexp.budget.limit = p->rxm->unexp.budget.share = 0;
	fill(buf, 10, 7);
	peer_message(p, 7, buf, 10);
	peer_message(p, 7, buf, 10);
	assert_int_equal(p->conn->data.held_bytes, RXM_HEADER + 10);
	fake_event(FI_SHUTDOWN, p->conn->below.fid, NULL, 0);
	pair_progress(p);
	assert_no_conn(p);
	for (int i = 0; i < 2; i++) {
		memset(to, 0, sizeof(to));
		post_tagged(p, sizeof(to), 7);
		pair_progress(p);
		assert_int_equal(p->ended_count, 1);
		assert_message(p, 0, to, 10, 7);
		p->ended_count = 0;
	}
}

/* ---- atomics ---- */

static uint64_t word;

static void peer_atomic(
	struct pair *p, enum wf_op_kind kind, enum fi_op op, uint64_t key)
{
	struct wf_op_atomic atomic = {
		.datatype = FI_UINT64, .op = op, .count = 1, .size = 8
	};
	struct fi_rma_iov rma = { 0, 8, key };
	struct wf_op from = {
		.kind = kind, .len = 8, .rma = &rma, .rma_count = 1, .atomic = &atomic
	};
	uint64_t operands[2] = { 5, 100 };
	_Alignas(8) uint8_t bytes[RXM_WIRE_ATOMIC + 16];
	size_t len = kind == WF_OP_COMPARE ? 16 : 8;

	rxm_put_atomic(bytes, 0, 0x300000003, &from, len);
	memcpy(bytes + RXM_WIRE_ATOMIC, operands, len);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		RXM_WIRE_ATOMIC + len - RXM_HEADER);
}

static void assert_result(unsigned int post, int err, const uint64_t *before)
{
	struct rxm_packet packet = packet_at(post);

	assert_int_equal(packet.kind, RXM_ATOMIC_RESULT);
	assert_int_equal(packet.msg_id, 0x300000003);
	assert_int_equal(packet.err, err);
	assert_int_equal(packet.payload_len, before ? 8 : 0);
	if (before)
		assert_memory_equal(packet.payload, before, 8);
}

static void test_atomics_of_the_peer(void **state)
{
	struct pair *p = *state;
	const uint64_t before = 100;
	struct fid_mr *mr;

	word = 95;
	assert_int_equal(fi_mr_reg(p->domain, &word, sizeof(word),
				 FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL),
		0);
	peer_atomic(p, WF_OP_ATOMIC, FI_SUM, fi_mr_key(mr));
	assert_int_equal(word, 100);
	assert_result(0, 0, NULL);
	peer_atomic(p, WF_OP_FETCH, FI_SUM, fi_mr_key(mr));
	assert_int_equal(word, 105);
	assert_result(1, 0, &before);
	word = 100;
	peer_atomic(p, WF_OP_COMPARE, FI_CSWAP, fi_mr_key(mr));
	assert_int_equal(word, 5);
	fake_complete_all();
	pair_progress(p);
	assert_result(2, 0, &before);
	/* No such region. */
	peer_atomic(p, WF_OP_FETCH, FI_SUM, fi_mr_key(mr) + 1);
	assert_result(3, FI_EKEYREJECTED, NULL);
	assert_int_equal(word, 5);
	fake_complete_all();
	pair_progress(p);
	assert_int_equal(p->rxm->data.answers.used, 0);
	assert_int_equal(p->conn->data.answer_bytes, 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

/* An answer that cannot be sent waits, and takes memory. */
static void test_an_answer_waits(void **state)
{
	struct pair *p = *state;

	fake.refuse[FAKE_SEND] = fake.refuse[FAKE_INJECT] = -FI_EAGAIN;
	peer_atomic(p, WF_OP_FETCH, FI_SUM, 12345);
	assert_int_equal(fake.post_count, 0);
	assert_int_equal(p->conn->data.answer_bytes, RXM_ANSWER_COST + RXM_WIRE_RESULT);
	assert_int_equal(p->rxm->data.answers.used, RXM_ANSWER_COST + RXM_WIRE_RESULT);
	assert_false(rxm_flushed(&p->rxm->ep));
	fake.refuse[FAKE_SEND] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(fake.posts[0].kind, FAKE_SEND);
	assert_result(0, FI_EKEYREJECTED, NULL);
	assert_false(rxm_flushed(&p->rxm->ep));
	fake_end(0, 0);
	pair_progress(p);
	assert_true(rxm_flushed(&p->rxm->ep));
	assert_int_equal(p->rxm->data.answers.used, 0);
	/* Without it the peer would wait without end. */
	fake.refuse[FAKE_INJECT] = -FI_EIO;
	peer_atomic(p, WF_OP_FETCH, FI_SUM, 12345);
	assert_no_conn(p);
}

/* One that is longer than what is injected: the previous values of many elements. */
static void test_a_long_answer(void **state)
{
	enum { COUNT = 16 };
	struct pair *p = *state;
	struct wf_op_atomic atomic = {
		.datatype = FI_UINT64, .op = FI_SUM, .count = COUNT, .size = 8 * COUNT
	};
	struct fi_rma_iov rma = { 0, 8 * COUNT, 0 };
	struct wf_op from = { .kind = WF_OP_FETCH,
		.len = 8 * COUNT,
		.rma = &rma,
		.rma_count = 1,
		.atomic = &atomic };
	_Alignas(8) uint8_t bytes[RXM_WIRE_ATOMIC + 8 * COUNT] = { 0 };
	uint64_t words[COUNT], before[COUNT];
	struct rxm_packet packet;
	struct fid_mr *mr;

	for (size_t i = 0; i < COUNT; i++)
		words[i] = before[i] = 1000 * i + 7;
	assert_int_equal(fi_mr_reg(p->domain, words, sizeof(words),
				 FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL),
		0);
	rma.key = fi_mr_key(mr);
	rxm_put_atomic(bytes, 0, 0x300000003, &from, 8 * COUNT);
	peer_packet(p, (struct rxm_hdr *)(void *)bytes, bytes + RXM_HEADER,
		sizeof(bytes) - RXM_HEADER);
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(fake.posts[0].kind, FAKE_SEND);
	packet = packet_at(0);
	assert_int_equal(packet.kind, RXM_ATOMIC_RESULT);
	assert_int_equal(packet.err, 0);
	assert_int_equal(packet.payload_len, sizeof(before));
	assert_memory_equal(packet.payload, before, sizeof(before));
	assert_int_equal(p->conn->data.answer_bytes,
		RXM_ANSWER_COST + RXM_WIRE_RESULT + sizeof(before));
	fake_end(0, 0);
	pair_progress(p);
	assert_int_equal(p->conn->data.answer_bytes, 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(test_a_message_for_a_receive),
		PAIR_TEST(test_a_message_without_a_receive),
		PAIR_TEST(test_segments_for_a_receive),
		PAIR_TEST(test_segments_without_a_receive),
		PAIR_TEST(test_segments_that_do_not_fit_together),
		PAIR_TEST(test_a_rendezvous_is_read),
		PAIR_TEST(test_a_receive_shorter_than_a_rendezvous),
		PAIR_TEST(test_an_unexpected_rendezvous),
		PAIR_TEST(test_a_read_waits_or_fails),
		PAIR_TEST(test_a_rendezvous_is_written),
		PAIR_TEST(test_another_rendezvous_was_written),
		PAIR_TEST(test_packets_that_are_invalid),
		PAIR_TEST(test_a_write_with_data),
		PAIR_TEST(test_buffers_are_posted_again),
		PAIR_TEST(test_a_connection_is_held),
		PAIR_TEST(test_atomics_of_the_peer),
		PAIR_TEST(test_an_answer_waits),
		PAIR_TEST(test_a_long_answer),
		PAIR_TEST(test_a_held_connection_ends),
	};

	fake_reset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
