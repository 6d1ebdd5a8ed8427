/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that could be sent at once, and are requests because the receiver reads them
 * in less time: which ones, in which form, and what becomes of them when the sender
 * ends.
 */
#include "conn_fixture.h"

#include "providers/shm/data/method.h"
#include "sys/choice.h"

enum {
	CLASSES = 3, /* that can be sent at once */
	LEN = 5000,  /* of the first of them */
	LARGE = 32 << 10,
	TAG = 7,
	ID = 5,
	TOKEN = 3,
	ALL = -1,
};

static uint8_t local[LARGE + 1], in[LARGE + 1];

/* ---- the sender ---- */

/* The peer says which classes it wants by request. */
static void want(struct pair *p, uint32_t classes)
{
	shm_reader_by_request(&p->in, classes);
}

static void post(struct pair *p, size_t len, unsigned int buffers, uint64_t flags)
{
	struct iovec iov[SHM_IOV_LIMIT];
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.iov_count = buffers,
		.addr = p->addr,
		.tag = TAG,
		.context = local };

	for (unsigned int i = 0; i < buffers; i++)
		iov[i] = (struct iovec){ local + i, i ? 1 : len - buffers + 1 };
	assert_int_equal(fi_tsendmsg(p->ep, &msg, flags | FI_COMPLETION), 0);
}

/* The message came whole, or in pieces; it is complete. */
static void expect_eager(struct pair *p, size_t len)
{
	struct shm_record rec = peer_expect(p, SHM_REC_TAGGED);

	assert_int_equal(rec.flags & SHM_FLAG_MORE ? rec.total : rec.len, len);
	(void)peer_skip(p);
	pair_progress(p);
	assert_one_ended(p, local, 0);
}

static struct shm_rts expect_request(struct pair *p, size_t len, unsigned int buffers)
{
	struct shm_record rec = peer_expect(p, SHM_REC_TAGGED_RTS);
	struct shm_rts rts = { .id = 0 };

	assert_true(rec.flags & SHM_FLAG_SHORT);
	assert_int_equal(rec.word, TAG);
	assert_int_equal(rec.len, SHM_RTS_SIZE(rts, buffers));
	memcpy(&rts, rec.blob, rec.len);
	assert_int_equal(rts.len, len);
	assert_int_equal(rts.count, buffers);
	for (unsigned int i = 0; i < buffers; i++) {
		assert_int_equal(rts.iov[i].base, (uintptr_t)local + i);
		assert_int_equal(rts.iov[i].len, i ? 1 : len - buffers + 1);
	}
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	return rts;
}

static void acknowledge(struct pair *p, uint64_t id)
{
	peer_record(p, SHM_REC_ACK, 0, 0, &id, sizeof(id));
	pair_progress(p);
	assert_one_ended(p, local, 0);
	assert_int_equal(p->conn->tokens, 0);
	assert_int_equal(p->conn->unsettled, 0);
}

/* Messages of the classes that the peer wants, and no others: each bit is one. */
static void wanted_classes(void **state)
{
	static const struct {
		size_t len;
		int class;
	} cases[] = {
		{ 100, -1 },
		{ SHM_CLASS_MIN, -1 },
		{ SHM_CLASS_MIN + 1, 0 },
		{ 2 * SHM_CLASS_MIN, 0 },
		{ 2 * SHM_CLASS_MIN + 1, 1 },
		{ 4 * SHM_CLASS_MIN, 1 },
		{ 4 * SHM_CLASS_MIN + 1, 2 },
		{ 8 * SHM_CLASS_MIN, 2 },
	};
	static const int wants[] = { 0, 1, 2, 4, 3, ALL };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(cases); i++)
		for (size_t j = 0; j < WF_ARRAY_SIZE(wants); j++) {
			size_t len = cases[i].len;
			int class = cases[i].class;

			want(p, (uint32_t)wants[j]);
			post(p, len, 1, 0);
			if (class >= 0 && wants[j] >> class & 1)
				acknowledge(p, expect_request(p, len, 1).id);
			else
				expect_eager(p, len);
		}
}

/* With several buffers, and for completion levels that need an answer. */
static void forms(void **state)
{
	static const uint64_t levels[] = { 0, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE };
	struct pair *p = *state;

	want(p, 1);
	for (size_t i = 0; i < WF_ARRAY_SIZE(levels); i++)
		for (unsigned int buffers = 1; buffers <= SHM_IOV_LIMIT; buffers++) {
			post(p, LEN, buffers, levels[i]);
			acknowledge(p, expect_request(p, LEN, buffers).id);
		}
}

/* Injected messages are sent at once, and all of them if the application sets the
 * limit. */
static void not_asked(void **state)
{
	struct pair *p = *state;

	want(p, (uint32_t)ALL);
	shm_params.measure_eager = false;
	post(p, LEN, 1, 0);
	expect_eager(p, LEN);
	shm_params.measure_eager = true;
	p->shm->ep.inject_size = LEN;
	post(p, LEN, 1, FI_INJECT);
	expect_eager(p, LEN);
}

/* The request keeps its place among other messages when the lane has no space. */
static void in_order(void **state)
{
	struct pair *p = *state;
	struct shm_record rec;
	unsigned int i;

	want(p, 1);
	for (i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_tinject(p->ep, "", 1, p->addr, i), 0);
	post(p, LEN, 1, 0);
	assert_int_equal(fi_tsend(p->ep, local, 64, NULL, p->addr, TAG + 1, in), 0);
	for (i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(peer_expect(p, SHM_REC_TAGGED).word, i);
	peer_tell(p);
	pair_progress(p);
	assert_one_ended(p, in, 0);
	acknowledge(p, expect_request(p, LEN, 1).id);
	rec = peer_expect(p, SHM_REC_TAGGED);
	assert_int_equal(rec.word, TAG + 1);
}

/* What the peer wants when the message leaves counts, not what it wanted before. */
static void changes_its_mind(void **state)
{
	struct pair *p = *state;

	for (uint32_t classes = 0; classes < 2; classes++) {
		want(p, !classes);
		for (unsigned int i = 0; i < SHM_SLOTS; i++)
			assert_int_equal(fi_tinject(p->ep, "", 1, p->addr, i), 0);
		post(p, LEN, 1, 0);
		pair_progress(p);
		assert_int_equal(p->ended_count, 0);
		want(p, classes);
		for (unsigned int i = 0; i < SHM_SLOTS; i++)
			(void)peer_expect(p, SHM_REC_TAGGED);
		peer_tell(p);
		pair_progress(p);
		if (classes) {
			acknowledge(p, expect_request(p, LEN, 1).id);
			continue;
		}
		expect_eager(p, LEN);
		assert_int_equal(p->conn->unsettled, 0);
		assert_int_equal(p->conn->tokens, 0);
	}
}

/* An endpoint that is closed tells the peer before its operations end. */
static void tells_its_end(void **state)
{
	struct pair *p = *state;
	_Atomic uint32_t *closed = &p->memory->lane[1].reader.closed;

	assert_int_equal(atomic_load(closed), 0);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(atomic_load(closed), 1);
}

/* ---- the receiver ---- */

static void receive(struct pair *p, size_t len)
{
	memset(in, 0xee, sizeof(in));
	assert_int_equal(fi_trecv(p->ep, in, len, NULL, FI_ADDR_UNSPEC, TAG, 0, in), 0);
}

static void write_request(struct pair *p, uint64_t id, const void *from, size_t len)
{
	peer_announce(p, SHM_FLAG_SHORT, TAG, id, from, len, TOKEN);
}

/* The endpoint has sent a clear to send: stream the message. */
static void stream(struct pair *p, size_t len)
{
	uint64_t sink;

	memcpy(&sink, peer_expect(p, SHM_REC_CTS).blob, sizeof(sink));
	peer_record(p, SHM_REC_DATA, 0, sink, local, len);
	pair_progress(p);
}

static uint32_t wanted(const struct pair *p)
{
	return atomic_load(&p->memory->lane[1].reader.by_request);
}

/* Send a message as the endpoint wants it. True: by request. */
static bool send_one(struct pair *p, uint64_t id, size_t len)
{
	unsigned int class = shm_class_of(len);
	bool asked = wanted(p) >> class & 1;

	receive(p, len);
	if (asked) {
		write_request(p, id, local, len);
	} else {
		peer_record(p, SHM_REC_TAGGED, 0, TAG, local, len);
	}
	pair_progress(p);
	if (asked && peer_has_record(p) &&
		shm_head_kind(shm_reader_head(&p->in)) == SHM_REC_CTS)
		stream(p, len);
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, local, len);
	(void)peer_skip(p);
	assert_true(wf_list_empty(&p->conn->sinks));
	return asked;
}

/* What takes less time is measured, for each class alone: messages come both ways. */
static void both_ways(void **state)
{
	enum { MESSAGES = 2 * (80 + WF_CHOICE_SKIPPED_MAX) };
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	fill(local, LARGE, 9);
	p->conn->cma = true;
	for (unsigned int class = 0; class < CLASSES; class ++) {
		unsigned int asked = 0;
		bool again = false;

		for (unsigned int i = 1; i <= MESSAGES; i++) {
			bool now = send_one(p, i, LEN << class);

			/* The next round begins with messages at once. */
			again |= asked && !now;
			asked += now;
			assert_int_equal(wanted(p) >> class >> 1, 0);
		}
		assert_in_range(asked, WF_CHOICE_TRIES, MESSAGES - 20);
		assert_true(again);
	}
}

/* Nothing is wanted where nothing may be read, where parameters say how payloads are
 * copied, or where no receive waits. */
static void nothing_wanted(void **state)
{
	enum { MESSAGES = 200 + WF_CHOICE_SKIPPED_MAX };
	struct pair *p = *state;

	for (int i = 0; i < 4 * MESSAGES; i++) {
		p->conn->cma = i / MESSAGES > 0;
		shm_params.measure_copies = i / MESSAGES != 1;
		shm_params.copy = i / MESSAGES == 2 ? SHM_COPY_BOTH : SHM_COPY_AUTO;
		if (i / MESSAGES < 3) {
			assert_false(send_one(p, 1, LEN));
		} else {
			peer_record(p, SHM_REC_TAGGED, 0, TAG, local, LEN);
			pair_progress(p);
			receive(p, LEN);
			pair_progress(p);
			assert_one_ended(p, in, 0);
		}
		assert_int_equal(wanted(p), 0);
	}
}

/* The sender had no token left. A short message is read all the same; what cannot be
 * read comes through the lane. */
static void without_token(void **state)
{
	static const int ways[] = { SHM_COPY_READ, SHM_COPY_RING, SHM_COPY_BOTH,
		SHM_COPY_READ };
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	fill(local, LARGE, 9);
	memset(p->memory->tokens, 0xee, sizeof(p->memory->tokens));
	for (size_t i = 0; i < WF_ARRAY_SIZE(ways); i++) {
		const void *from = i == 3 ? (void *)16 : local;

		p->conn->cma = true;
		receive(p, LEN);
		shm_params.copy = ways[i];
		peer_announce(p, SHM_FLAG_SHORT, TAG, ID, from, LEN, SHM_TOKENS);
		pair_progress(p);
		shm_params.copy = SHM_COPY_AUTO;
		if (i) {
			assert_true(wf_list_empty(&p->shm->pulls));
			stream(p, LEN);
		}
		assert_one_ended(p, in, 0);
		assert_memory_equal(in, local, LEN);
		(void)peer_skip(p);
	}
	for (size_t i = 0; i < 2 * SHM_TOKENS; i++)
		assert_int_equal(p->memory->tokens[i / SHM_TOKENS][i % SHM_TOKENS].id,
			UINT64_C(0xeeeeeeeeeeeeeeee));
}

/* If the memory cannot be read, messages are wanted at once again. */
static void no_longer_wanted(void **state)
{
	struct pair *p = *state;

	fill(local, LARGE, 9);
	p->conn->cma = true;
	shm_reader_by_request(&p->conn->in, 3);
	receive(p, LEN);
	shm_params.copy = SHM_COPY_READ;
	write_request(p, ID, (void *)16, LEN);
	pair_progress(p);
	shm_params.copy = SHM_COPY_AUTO;
	assert_int_equal(wanted(p), 0);
	assert_false(p->conn->cma);
	stream(p, LEN);
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, local, LEN);
}

/* The sender's endpoint is closed: what was read may be what the application has stored
 * in the buffer since. The socket is asked only now and then, the region each time. */
static void closed_meanwhile(void **state)
{
	struct pair *p = *state;

	if (!pair_may_attach(p))
		skip();
	shm_params.copy = SHM_COPY_READ;
	for (int i = 0; i < 3; i++) {
		p->conn->cma = true;
		p->conn->proved_ns = i == 2 ? 0 : wf_now_ns();
		receive(p, LEN);
		write_request(p, ID, local, LEN);
		if (i == 1)
			shm_reader_close(&p->in);
		if (i == 2) {
			close(p->fd);
			p->fd = -1;
		}
		pair_progress(p);
		assert_one_ended(p, in, i ? FI_ECONNRESET : 0);
		if (i == 1)
			pair_again(p);
	}
	shm_params.copy = SHM_COPY_AUTO;
	assert_null(p->peer->conn);
}

/* Short requests that are none. */
static void wrong_requests(void **state)
{
	struct pair *p = *state;

	for (int i = 0; i < 7; i++) {
		struct shm_rts rts = { .id = ID, .len = 64, .token = 0, .count = 1 };
		size_t len = SHM_RTS_SIZE(rts, 1);
		uint8_t flags = SHM_FLAG_SHORT;

		rts.iov[0].len = 64;
		rts.id = i == 0 ? 0 : ID;
		rts.count = i == 1 ? SHM_IOV_LIMIT + 1 : i == 2 ? 0 : 1;
		len = i == 3 ? sizeof(rts) : len;
		len -= i == 4;
		len = i == 5 ? SHM_RTS_SIZE(rts, 0) - 1 : len;
		flags = i == 6 ? 0 : flags;
		receive(p, 64);
		peer_record(p, SHM_REC_TAGGED_RTS, flags, TAG, &rts, len);
		assert_refused(p);
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(wanted_classes),
		PAIR_TEST(forms),
		PAIR_TEST(not_asked),
		PAIR_TEST(in_order),
		PAIR_TEST(changes_its_mind),
		PAIR_TEST(tells_its_end),
		PAIR_TEST(both_ways),
		PAIR_TEST(nothing_wanted),
		PAIR_TEST(without_token),
		PAIR_TEST(no_longer_wanted),
		PAIR_TEST(closed_meanwhile),
		PAIR_TEST(wrong_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
