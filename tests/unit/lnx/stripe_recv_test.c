/* SPDX-License-Identifier: BSD-2-Clause */
#include "stripe_fixture.h"

#include <sys/timerfd.h>
#include <unistd.h>

/* Striped messages that arrive (stripe/recv.c), and their payload (stripe/fetch.c). */

enum { SRC = 5, KEY = 0x5eed, DEPTH = 2 };

static uint8_t *const memory = (uint8_t *)0x10000000; /* is never accessed */
static struct lnx_sender *sender;
static struct iovec room[16];
static struct fi_peer_rx_entry entry;

static uint64_t id_of(uint32_t number)
{
	return sender->token | number;
}

static int open_recv(void **state)
{
	(void)open_stripe(state);
	sender = add_sender();
	room[0] = (struct iovec){ memory, SIZE_MAX / 4 };
	entry = receive_into(room, 1);
	return 0;
}

static void offer(uint32_t number, uint64_t size)
{
	lnx_stripe_offer(s, &(struct lnx_stripe_msg){ .kind = LNX_STRIPE_OFFER,
				    .id = id_of(number),
				    .size = size,
				    .data = 99,
				    .key = KEY });
}

static bool match(uint64_t id, struct fi_peer_rx_entry *receive)
{
	bool is_head;

	receive->flags |= FI_REMOTE_CQ_DATA;
	is_head = s->heads.ops->matched(&s->heads, &ep->wf, receive, id, SRC);
	/* Nothing is locked afterwards, whatever came. */
	assert_true(wf_trylock(&s->lock));
	wf_unlock(&s->lock);
	return is_head;
}

static void check_done(uint32_t number, int err)
{
	struct lnx_stripe_msg msg = heard(LNX_STRIPE_DONE);

	assert_true(msg.id == id_of(number));
	assert_true(msg.nonce == sender->nonce);
	assert_true(msg.key == KEY);
	assert_int_equal(msg.err, err);
}

static void check_ended(unsigned int at, const struct fi_peer_rx_entry *receive,
	size_t len, size_t olen, int err)
{
	assert_true(at < ended_count);
	assert_ptr_equal(ended[at].entry, receive);
	assert_int_equal(ended[at].len, len);
	assert_int_equal(ended[at].olen, olen);
	assert_int_equal(ended[at].src, SRC);
	assert_int_equal(ended[at].err, err);
	assert_false(receive->flags & FI_REMOTE_CQ_DATA);
}

/* ---- chunks ---- */

/* A read over each rail in turn, at most DEPTH of them at a time. */
static void check_reads(uint64_t want, uint64_t chunk)
{
	uint64_t ends = 0, bytes[RAILS] = { 0 };

	while (ends < want) {
		struct posted posted = pop(0);

		assert_true(posted.is_read);
		assert_int_equal(posted.at, ends);
		assert_int_equal(posted.len, WF_MIN(chunk, want - ends));
		assert_int_equal(posted.rail, ends / chunk % RAILS);
		assert_int_equal(posted.key, KEY);
		assert_int_equal(posted.addr, 100 * (posted.rail + 1));
		assert_int_equal(posted.flags, FI_COMPLETION);
		assert_int_equal(posted.iov_count, 1);
		assert_ptr_equal(posted.iov[0].iov_base, memory + posted.at);
		assert_int_equal(posted.iov[0].iov_len, posted.len);
		assert_int_equal(ended_count, 0);
		ends += posted.len;
		bytes[posted.rail] += posted.len;
		finish(posted, 0);
		assert_int_equal(
			posted_reads(), WF_MIN((want - ends + chunk - 1) / chunk,
						(uint64_t)RAILS * DEPTH));
	}
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(s->rail[i].fetched, bytes[i]);
}

static void a_message_has_chunks_by_its_size(void **state)
{
	static const struct {
		uint64_t size, chunk;
	} rows[] = {
		{ 0, 4096 },
		{ 1, 4096 },
		{ 4095, 4096 },
		{ 4096, 4096 },
		{ 4097, 4096 },
		{ 8 * 4096, 4096 },
		{ 8 * 4096 + 7, 4096 },
		{ 8 * 4096 + 8, 8192 },
		{ 1000000, 126976 },
		{ 8 * (512 << 10), 512 << 10 },
		{ 8 * (512 << 10) + 8, 512 << 10 },
		{ UINT64_C(1) << 30, 512 << 10 },
	};

	for (unsigned int i = 0; i < 2 * WF_ARRAY_SIZE(rows); i++) {
		uint64_t size = rows[i / 2].size;

		(void)open_recv(state);
		if (i & 1)
			offer(1, size);
		assert_true(match(id_of(1), &entry));
		if (!(i & 1))
			offer(1, size);
		check_reads(size, rows[i / 2].chunk);
		assert_int_equal(ended_count, 1);
		check_ended(0, &entry, size, 0, 0);
		check_done(1, 0);
		assert_int_equal(below.posted_count, 0);
		assert_int_equal(busy(), 0);
		assert_int_equal(s->offers + sender->offers, 0);
		(void)close_stripe(state);
	}
	(void)open_recv(state);
}

/* What does not fit is not read. */
static void a_message_is_longer_than_its_receive(void **state)
{
	static const size_t rooms[] = { 0, 1, 9999, 10000, 10001 };

	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rooms); i++) {
		size_t fits = WF_MIN(rooms[i], (size_t)10000);

		(void)open_recv(state);
		room[0].iov_len = rooms[i];
		offer(1, 10000);
		assert_true(match(id_of(1), &entry));
		check_reads(fits, 4096);
		check_ended(
			0, &entry, fits, 10000 - fits, fits < 10000 ? FI_ETRUNC : 0);
		check_done(1, 0);
		(void)close_stripe(state);
	}
	(void)open_recv(state);
}

/* The application's CQ data come with the offer, those of the head are not its. */
static void data_come_with_the_offer(void **state)
{
	for (int has_data = 0; has_data < 2; has_data++) {
		(void)open_recv(state);
		lnx_stripe_offer(s, &(struct lnx_stripe_msg){ .id = id_of(1),
					    .has_data = has_data,
					    .data = UINT64_MAX - 1,
					    .key = KEY });
		assert_true(match(id_of(1), &entry));
		check_ended(0, &entry, 0, 0, 0);
		assert_true(ended[0].flags == (has_data ? FI_REMOTE_CQ_DATA : 0));
		assert_true(ended[0].data == (has_data ? UINT64_MAX - 1 : 0));
		check_done(1, 0);
		(void)close_stripe(state);
	}
	(void)open_recv(state);
}

/* A read has at most so many pieces as all rails take: a chunk is shortened where its
 * buffers are in more. */
static void buffers_are_in_pieces(void **state)
{
	/* Lengths of the buffers, and, of each read, its first byte, its length and its
	 * number of pieces, with rails that take so many. */
	static const struct {
		size_t limit, len[6];
		struct {
			uint64_t at;
			size_t len, pieces;
		} read[6];
	} rows[] = {
		{ 4, { 1000, 2000, 1095, 1, 904 },
			{ { 0, 4096, 4 }, { 4096, 904, 1 } } },
		{ 4, { 1000, 0, 2000, 0, 2000 }, { { 0, 4096, 3 }, { 4096, 904, 1 } } },
		{ 3, { 1000, 1000, 1000, 2000 },
			{ { 0, 3000, 3 }, { 3000, 2000, 1 } } },
		{ 1, { 1000, 1000, 3000 },
			{ { 0, 1000, 1 }, { 1000, 1000, 1 }, { 2000, 3000, 1 } } },
		{ 2, { 4096, 904 }, { { 0, 4096, 1 }, { 4096, 904, 1 } } },
		{ 2, { 4095, 905 }, { { 0, 4096, 2 }, { 4096, 904, 1 } } },
		{ 2, { 4097, 903 }, { { 0, 4096, 1 }, { 4096, 904, 2 } } },
	};

	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		size_t at = 0, k = 0;

		(void)open_recv(state);
		s->iov_limit = rows[i].limit;
		for (entry.count = 0; entry.count < 6; entry.count++) {
			room[entry.count] = (struct iovec){ memory + 2 * at,
				rows[i].len[entry.count] };
			at += rows[i].len[entry.count];
		}
		offer(1, 5000);
		assert_true(match(id_of(1), &entry));
		for (at = 0; k < 6 && rows[i].read[k].len; k++) {
			struct posted posted = pop(0);
			size_t sum = 0;

			assert_int_equal(posted.at, rows[i].read[k].at);
			assert_int_equal(posted.len, rows[i].read[k].len);
			/* Empty buffers are no pieces of their own. */
			assert_int_equal(posted.iov_count, rows[i].read[k].pieces);
			for (size_t n = 0; n < posted.iov_count; n++)
				sum += posted.iov[n].iov_len;
			assert_int_equal(sum, posted.len);
			at += sum;
			finish(posted, 0);
		}
		assert_int_equal(at, 5000);
		check_ended(0, &entry, 5000, 0, 0);
		check_done(1, 0);
		(void)close_stripe(state);
	}
	(void)open_recv(state);
}

static void a_read_is_at_its_place_in_the_buffers(void **state)
{
	struct posted posted;

	room[0] = (struct iovec){ memory, 1000 };
	room[1] = (struct iovec){ memory + 5000, 4000 };
	entry.count = 2;
	offer(1, 5000);
	assert_true(match(id_of(1), &entry));
	posted = pop(0);
	assert_int_equal(posted.iov_count, 2);
	assert_ptr_equal(posted.iov[0].iov_base, memory);
	assert_int_equal(posted.iov[0].iov_len, 1000);
	assert_ptr_equal(posted.iov[1].iov_base, memory + 5000);
	assert_int_equal(posted.iov[1].iov_len, 3096);
	finish(posted, 0);
	posted = pop(0);
	assert_int_equal(posted.iov_count, 1);
	assert_ptr_equal(posted.iov[0].iov_base, memory + 5000 + 3096);
	assert_int_equal(posted.iov[0].iov_len, 904);
	finish(posted, 0);
	check_ended(0, &entry, 5000, 0, 0);
	check_done(1, 0);
}

/* A rail is given no more than DEPTH reads, and the one with the fewest gets the
 * next. */
static void slow_rails_get_fewer_chunks(void **state)
{
	unsigned int of_rail[RAILS] = { 0 };

	offer(1, 12 * 4096 - 4096 * 4);
	assert_true(match(id_of(1), &entry));
	assert_int_equal(posted_reads(), RAILS * DEPTH);
	/* Rail 1 is done twice, and gets both chunks that are left. */
	for (unsigned int i = 0; i < below.posted_count; i++)
		of_rail[below.posted[i].rail]++;
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(of_rail[i], DEPTH);
	finish(pop(1), 0);
	assert_int_equal(below.posted[below.posted_count - 1].rail, 1);
	finish(pop(3), 0);
	assert_int_equal(below.posted[below.posted_count - 1].rail, 1);
	while (below.posted_count && below.posted[0].is_read)
		finish(pop(0), 0);
	check_ended(0, &entry, 8 * 4096, 0, 0);
	check_done(1, 0);
	assert_int_equal(s->rail[1].fetched, 4 * 4096);
}

/* ---- rails that fail ---- */

/* A chunk that a rail loses is read over another one, as long as there is one. */
static void lost_chunks_are_read_again(void **state)
{
	struct posted posted;

	offer(1, 4096);
	assert_true(match(id_of(1), &entry));
	for (unsigned int i = 0; i < RAILS; i++) {
		posted = pop(0);
		assert_int_equal(posted.rail, i);
		assert_int_equal(posted.at, 0);
		assert_int_equal(posted.len, 4096);
		assert_int_equal(ended_count, 0);
		finish(posted, FI_ECONNRESET);
		assert_int_equal(ep->rail[i + 1].failures, 1);
		assert_int_equal(
			sender->contact.down, i == RAILS - 1 ? 0 : (2u << i) - 1);
	}
	/* None is left: all are tried by the next message. */
	check_ended(0, &entry, 0, 0, FI_ECONNRESET);
	check_done(1, FI_ECONNRESET);
	assert_int_equal(busy(), 0);
	for (unsigned int i = 0; i < RAILS; i++)
		assert_int_equal(s->rail[i].fetched, 0);
	entry.flags |= FI_REMOTE_CQ_DATA;
	offer(2, 1);
	assert_true(match(id_of(2), &entry));
	finish(pop(0), 0);
	check_ended(1, &entry, 1, 0, 0);
	check_done(2, 0);
}

/* Other errors end the message, with the first of them, when no read is under way. */
static void other_errors_end_the_message(void **state)
{
	offer(1, 3 * 4096);
	assert_true(match(id_of(1), &entry));
	assert_int_equal(posted_reads(), 3);
	finish(pop(1), FI_EACCES);
	assert_int_equal(ended_count, 0);
	finish(pop(1), FI_EIO);
	assert_int_equal(ended_count, 0);
	assert_int_equal(posted_reads(), 1);
	finish(pop(0), 0);
	check_ended(0, &entry, 0, 0, FI_EACCES);
	check_done(1, FI_EACCES);
	assert_int_equal(sender->contact.down, 0);
	assert_int_equal(busy(), 0);
}

/* What rails answer at once to a read. */
static void reads_are_refused(void **state)
{
	/* The rail is gone: another one takes it. */
	below.refuses[0] = -FI_ECONNREFUSED;
	offer(1, 4096);
	assert_true(match(id_of(1), &entry));
	assert_int_equal(posted_reads(), 1);
	assert_int_equal(below.posted[0].rail, 1);
	assert_int_equal(sender->contact.down, 1);
	finish(pop(0), 0);
	check_ended(0, &entry, 4096, 0, 0);
	check_done(1, 0);
	/* No other is left. */
	below.refuses[1] = -FI_ECONNREFUSED;
	below.refuses[2] = -FI_ETIMEDOUT;
	offer(2, 4096);
	assert_true(match(id_of(2), &entry));
	check_ended(1, &entry, 0, 0, FI_ETIMEDOUT);
	/* Nor can the sender be told. */
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(sender->contact.lost_err, FI_ETIMEDOUT);
	assert_true(s->any_lost);
	below.refuses[0] = below.refuses[1] = below.refuses[2] = 0;
	/* It is the message that is wrong. */
	below.refuses[0] = -FI_EINVAL;
	offer(3, 4096);
	assert_true(match(id_of(3), &entry));
	below.refuses[0] = 0;
	check_ended(2, &entry, 0, 0, FI_EINVAL);
	check_done(3, FI_EINVAL);
	assert_int_equal(busy(), 0);
}

/* A rail that takes none now is tried again by the next poll. */
static void reads_wait_for_a_rail(void **state)
{
	for (unsigned int i = 0; i < RAILS; i++)
		below.refuses[i] = -FI_EAGAIN;
	offer(1, 4096 + 5);
	assert_true(match(id_of(1), &entry));
	assert_true(s->stalled);
	assert_int_equal(below.posted_count, 0);
	lnx_stripe_fetch_again(s);
	assert_true(s->stalled);
	for (unsigned int i = 0; i < RAILS; i++)
		below.refuses[i] = 0;
	lnx_stripe_fetch_again(s);
	assert_false(s->stalled);
	assert_int_equal(posted_reads(), 2);
	assert_int_equal(sender->contact.down, 0);
	check_reads(4096 + 5, 4096);
	check_ended(0, &entry, 4096 + 5, 0, 0);
	check_done(1, 0);
	/* A head without its offer has nothing to read. */
	assert_true(match(id_of(2), &entry));
	lnx_stripe_fetch_again(s);
	assert_int_equal(ended_count, 1);
	assert_int_equal(below.posted_count, 0);
}

/* ---- heads and offers ---- */

/* Without memory a head fails, and an offer is dropped; a read that lacks it ends its
 * message. */
static void there_is_no_memory(void **state)
{
	static struct fi_peer_rx_entry second;

	second = entry;
	allocations_left = 0;
	assert_true(match(id_of(1), &entry));
	allocations_left = UINT32_MAX;
	assert_int_equal(ended_count, 1);
	assert_ptr_equal(ended[0].entry, &entry);
	assert_int_equal(ended[0].flags + ended[0].len + ended[0].olen, 0);
	assert_int_equal(ended[0].data, 0);
	assert_int_equal(ended[0].src, SRC);
	assert_int_equal(ended[0].err, FI_ENOMEM);
	assert_int_equal(busy(), 0);
	offer(2, 4096);
	/* The message is known; its chunk and the answer to the sender are not made. */
	allocations_left = 0;
	assert_true(match(id_of(2), &second));
	allocations_left = UINT32_MAX;
	check_ended(1, &second, 0, 0, FI_ENOMEM);
	assert_int_equal(busy(), 0);
}

static void only_heads_of_known_senders_are_heads(void **state)
{
	static struct fi_peer_rx_entry second;

	second = entry;
	assert_false(match(0, &entry));
	assert_false(match(id_of(1) ^ UINT64_C(1) << 47, &entry));
	assert_false(match(id_of(1) + (UINT64_C(1) << 48), &entry));
	assert_false(sender->proven);
	assert_true(match(id_of(1), &entry));
	assert_true(sender->proven);
	assert_int_equal(s->greeted, 0);
	/* One that comes twice is a message like any other. */
	assert_false(match(id_of(1), &second));
	assert_int_equal(ended_count, 0);
	assert_int_equal(busy(), 1);
	/* An offer that comes twice is one, and one of a stranger is none. */
	offer(1, 0);
	offer(2, 7);
	offer(2, 9);
	assert_int_equal(sender->offers, 1);
	lnx_stripe_offer(s, &(struct lnx_stripe_msg){ .id = 5, .size = 1 });
	assert_int_equal(s->offers, 1);
	assert_true(match(id_of(2), &second));
	assert_int_equal(below.posted[below.posted_count - 1].len, 7);
	assert_int_equal(s->offers + sender->offers, 0);
}

/* A message that is matched makes the next call look at the rails, and sets the
 * timer. */
static void a_head_wakes_the_endpoint(void **state)
{
	struct itimerspec timer;

	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	atomic_store(&ep->calls_left, 500);
	assert_true(match(id_of(1), &entry));
	assert_int_equal(timerfd_gettime(s->timer_fd, &timer), 0);
	assert_true(timer.it_value.tv_sec || timer.it_value.tv_nsec);
	assert_int_equal(close(s->timer_fd), 0);
	s->timer_fd = -1;
	assert_int_equal(atomic_load(&ep->calls_left), 0);
}

/* Offers without a head are limited for each sender and for all. */
static void offers_are_limited(void **state)
{
	enum { OF_SENDER = 16384, OF_ALL = 1 << 18 };

	sender->offers = s->offers = OF_SENDER - 1;
	offer(1, 7);
	assert_int_equal(sender->offers, OF_SENDER);
	assert_false(sender->refused);
	offer(2, 7);
	assert_int_equal(sender->offers, OF_SENDER);
	assert_true(sender->refused);
	/* One of a message whose head is there is taken. */
	assert_true(match(id_of(3), &entry));
	offer(3, 7);
	assert_int_equal(posted_reads(), 1);
	assert_int_equal(sender->offers, OF_SENDER);
	sender->offers = 1;
	sender->refused = false;
	s->offers = OF_ALL - 1;
	offer(4, 7);
	assert_false(sender->refused);
	assert_int_equal(s->offers, OF_ALL);
	offer(5, 7);
	assert_true(sender->refused);
	assert_int_equal(s->offers, OF_ALL);
}

static void withdraw(uint32_t number, uint32_t err)
{
	lnx_stripe_withdraw(s,
		&(struct lnx_stripe_msg){
			.kind = LNX_STRIPE_WITHDRAW, .id = id_of(number), .err = err });
}

static void messages_are_withdrawn(void **state)
{
	struct fi_peer_rx_entry second = entry, third = entry;

	/* Nothing is known of it. */
	withdraw(1, FI_EIO);
	/* The offer alone. */
	offer(2, 7);
	withdraw(2, FI_EIO);
	assert_int_equal(s->offers + sender->offers, 0);
	assert_int_equal(ended_count, 0);
	/* The head alone: nothing is told, as there was no offer. */
	assert_true(match(id_of(3), &entry));
	withdraw(3, FI_EIO);
	check_ended(0, &entry, 0, 0, FI_EIO);
	assert_int_equal(below.posted_count, 0);
	assert_true(match(id_of(4), &second));
	withdraw(4, 0);
	check_ended(1, &second, 0, 0, FI_ECANCELED);
	/* Both, while it is read: it ends after the read. */
	offer(5, 7);
	assert_true(match(id_of(5), &third));
	withdraw(5, FI_ENETDOWN);
	withdraw(5, FI_EIO);
	assert_int_equal(ended_count, 2);
	finish(pop(0), 0);
	check_ended(2, &third, 0, 0, FI_ENETDOWN);
	check_done(5, FI_ENETDOWN);
	assert_int_equal(busy(), 0);
}

/* A sender's loss ends its messages and no others. */
static void senders_are_lost(void **state)
{
	static struct fi_peer_rx_entry second;
	struct lnx_sender *first = sender;

	second = entry;

	assert_true(match(id_of(1), &entry));
	sender = add_sender();
	assert_true(match(id_of(1), &second));
	lnx_sender_fail(s, first, FI_ETIMEDOUT);
	assert_int_equal(ended_count, 1);
	check_ended(0, &entry, 0, 0, FI_ETIMEDOUT);
}

/* ---- peeks ---- */

static int describe(uint64_t data, struct fi_peer_rx_entry *view)
{
	int ret;

	*view = (struct fi_peer_rx_entry){
		.cq_data = data, .msg_size = 3, .flags = FI_TAGGED | FI_REMOTE_CQ_DATA
	};
	ret = s->heads.ops->describe(&s->heads, view);
	assert_true(wf_trylock(&s->lock));
	wf_unlock(&s->lock);
	return ret;
}

static void a_peek_sees_the_message(void **state)
{
	struct fi_peer_rx_entry view;

	/* No head: as it is. */
	assert_int_equal(describe(12, &view), 0);
	assert_int_equal(view.msg_size, 3);
	assert_int_equal(view.cq_data, 12);
	assert_true(view.flags == (FI_TAGGED | FI_REMOTE_CQ_DATA));
	for (int has_data = 0; has_data < 2; has_data++) {
		uint32_t number = 1 + (uint32_t)has_data;

		lnx_stripe_offer(s, &(struct lnx_stripe_msg){ .id = id_of(number),
					    .size = 4321,
					    .has_data = has_data,
					    .data = 99 });
		assert_int_equal(describe(id_of(number), &view), 0);
		assert_int_equal(view.msg_size, 4321);
		assert_int_equal(view.cq_data, has_data ? 99 : 0);
		assert_true(
			view.flags == (FI_TAGGED | (has_data ? FI_REMOTE_CQ_DATA : 0)));
	}
	assert_int_equal(below.posted_count, 0);
}

/* The sender is asked for an offer that does not come for a second. */
static void a_peek_asks_for_the_offer(void **state)
{
	struct fi_peer_rx_entry view;

	assert_int_equal(describe(id_of(1), &view), -FI_EAGAIN);
	assert_int_equal(below.posted_count, 0);
	/* A head that has a receive already is not offered either. */
	assert_true(match(id_of(2), &entry));
	assert_int_equal(describe(id_of(2), &view), -FI_EAGAIN);
	now_ns += LNX_STRIPE_ASK_NS - 1;
	assert_int_equal(describe(id_of(1), &view), -FI_EAGAIN);
	assert_int_equal(below.posted_count, 0);
	for (int i = 0; i < 2; i++) {
		struct lnx_stripe_msg msg;

		now_ns += i ? LNX_STRIPE_ASK_NS : 1;
		assert_int_equal(describe(id_of(1), &view), -FI_EAGAIN);
		msg = heard(LNX_STRIPE_ASK_SENDER);
		assert_true(msg.id == id_of(1));
		assert_true(msg.nonce == sender->nonce);
		assert_int_equal(describe(id_of(1), &view), -FI_EAGAIN);
		assert_int_equal(below.posted_count, 0);
	}
}

static void discard(uint64_t data)
{
	s->heads.ops->discarded(&s->heads, data);
	assert_true(wf_trylock(&s->lock));
	wf_unlock(&s->lock);
}

static void messages_are_discarded(void **state)
{
	offer(1, 7);
	discard(3);
	discard(id_of(2));
	assert_int_equal(sender->offers, 1);
	discard(id_of(1));
	check_done(1, 0);
	assert_int_equal(s->offers + sender->offers, 0);
	/* A receive has it already. */
	offer(4, 7);
	assert_true(match(id_of(4), &entry));
	discard(id_of(4));
	assert_int_equal(posted_controls(), 0);
	finish(pop(0), 0);
	check_ended(0, &entry, 7, 0, 0);
	check_done(4, 0);
}

/* ---- questions ---- */

static void ask(uint64_t nonce, uint64_t id)
{
	lnx_stripe_ask_receiver(
		s, &(struct lnx_stripe_msg){ .kind = LNX_STRIPE_ASK_RECEIVER,
			   .nonce = nonce,
			   .id = id,
			   .key = KEY });
}

/* A message that is not known is told to be lost, unless its offer was refused. */
static void a_sender_asks(void **state)
{
	struct lnx_stripe_msg msg;

	offer(1, 7);
	assert_true(match(id_of(2), &entry));
	ask(sender->nonce, id_of(1));
	ask(sender->nonce, id_of(2));
	assert_int_equal(below.posted_count, 0);
	ask(sender->nonce, id_of(3));
	check_done(3, FI_ECONNRESET);
	/* A token of another life of this endpoint. */
	ask(sender->nonce, id_of(1) ^ UINT64_C(1) << 30);
	msg = heard(LNX_STRIPE_DONE);
	assert_true(msg.id == (id_of(1) ^ UINT64_C(1) << 30));
	assert_true(msg.nonce == sender->nonce);
	assert_int_equal(msg.err, FI_ECONNRESET);
	/* A sender that nothing is known of, nor how to answer. */
	ask(sender->nonce + 1, id_of(1));
	assert_int_equal(below.posted_count, 0);
	sender->refused = true;
	ask(sender->nonce, id_of(3));
	assert_int_equal(below.posted_count, 0);
}

/* A head whose offer does not come: its sender is asked, each second, and is dead after
 * eight questions. */
static void senders_are_asked(void **state)
{
	assert_true(match(id_of(1), &entry));
	now_ns += LNX_STRIPE_ASK_NS - 1;
	lnx_stripe_ask_senders(s, now_ns);
	assert_int_equal(below.posted_count, 0);
	now_ns++;
	for (int i = 0; i < 8; i++) {
		lnx_stripe_ask_senders(s, now_ns);
		assert_int_equal(posted_controls(), 1);
		/* One question at a time. */
		now_ns += LNX_STRIPE_ASK_NS;
		lnx_stripe_ask_senders(s, now_ns);
		assert_int_equal(posted_controls(), 1);
		assert_true(heard(LNX_STRIPE_ASK_SENDER).id == id_of(1));
		assert_int_equal(ended_count, 0);
	}
	lnx_stripe_ask_senders(s, now_ns);
	check_ended(0, &entry, 0, 0, FI_ETIMEDOUT);
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(busy(), 0);
	/* Of a message that is offered nothing is asked. */
	offer(2, 7);
	assert_true(match(id_of(2), &entry));
	now_ns += 2 * LNX_STRIPE_ASK_NS;
	lnx_stripe_ask_senders(s, now_ns);
	assert_int_equal(posted_controls(), 0);
}

/* At the end, receives are given back, and only those. */
static void receives_are_given_back(void **state)
{
	struct fi_peer_rx_entry second = entry;

	offer(1, 7);
	offer(2, 7);
	assert_true(match(id_of(2), &entry));
	assert_true(match(id_of(3), &second));
	lnx_stripe_free_in(s);
	assert_int_equal(freed_entries, 2);
	assert_int_equal(s->offers, 0);
	s->sender = NULL;
	s->sender_count = 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_recv, close_stripe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			a_message_has_chunks_by_its_size, close_stripe),
		cmocka_unit_test_teardown(
			a_message_is_longer_than_its_receive, close_stripe),
		cmocka_unit_test_teardown(data_come_with_the_offer, close_stripe),
		cmocka_unit_test_teardown(buffers_are_in_pieces, close_stripe),
		CASE(a_read_is_at_its_place_in_the_buffers),
		CASE(slow_rails_get_fewer_chunks),
		CASE(lost_chunks_are_read_again),
		CASE(other_errors_end_the_message),
		CASE(reads_are_refused),
		CASE(reads_wait_for_a_rail),
		CASE(there_is_no_memory),
		CASE(only_heads_of_known_senders_are_heads),
		CASE(a_head_wakes_the_endpoint),
		CASE(offers_are_limited),
		CASE(messages_are_withdrawn),
		CASE(senders_are_lost),
		CASE(a_peek_sees_the_message),
		CASE(a_peek_asks_for_the_offer),
		CASE(messages_are_discarded),
		CASE(a_sender_asks),
		CASE(senders_are_asked),
		CASE(receives_are_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
