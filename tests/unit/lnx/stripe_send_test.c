/* SPDX-License-Identifier: BSD-2-Clause */
#include "stripe_fixture.h"

/* Striped messages that are sent (stripe/send.c), and how the peer is asked for a token
 * first (stripe/hello.c). */

enum { LARGE = 1000, TAG = 42, INDEX = 5 };

#define SECOND_NS   UINT64_C(1000000000)
#define PATIENCE_NS UINT64_C(50000000)
#define LOST_NS     UINT64_C(10000000000)

static struct lnx_peer peer;
static struct lnx_receiver *receiver;
static uint8_t buffer[4000];
static struct iovec iov[2];
static struct wf_op op;
static const uint64_t token = UINT64_C(9) << LNX_STRIPE_INDEX_SHIFT |
			      UINT64_C(0x123456) << LNX_STRIPE_OP_BITS;

static void set_len(size_t len)
{
	iov[0].iov_len = WF_MIN(len, (size_t)100);
	iov[1].iov_len = len - iov[0].iov_len;
	op.len = len;
}

/* A peer that was not asked yet. */
static int open_new(void **state)
{
	(void)open_stripe(state);
	receiver = NULL;
	atomic_init(&peer.rail, 1);
	peer.stripes = true;
	peer.hash = 77;
	iov[0].iov_base = buffer;
	iov[1].iov_base = buffer + 2000;
	for (size_t i = 0; i < sizeof(buffer); i++)
		buffer[i] = (uint8_t)(i * 7 + i / 256);
	op = (struct wf_op){ .kind = WF_OP_TSEND,
		.flags = FI_COMPLETION,
		.iov = iov,
		.iov_count = 2,
		.addr = INDEX,
		.context = &op,
		.data = 99,
		.tag = TAG };
	set_len(LARGE);
	return 0;
}

/* A peer that gave a token. */
static int open_ready(void **state)
{
	(void)open_new(state);
	receiver = add_receiver();
	wf_list_remove(&receiver->link);
	receiver->index = INDEX;
	wf_list_push(&s->receivers[INDEX], &receiver->link);
	receiver->token = token;
	lnx_stripe_note_token(s, token);
	return 0;
}

static ssize_t start(void)
{
	ssize_t ret = lnx_stripe_start(ep, &peer, &op);

	/* Nothing is locked afterwards, whatever came. */
	assert_true(wf_trylock(&s->lock));
	wf_unlock(&s->lock);
	return ret;
}

/* Is there nothing left of what was not striped? */
static void assert_nothing(void)
{
	assert_int_equal(regions_open(), 0);
	assert_int_equal(busy(), 0);
	assert_int_equal(s->injected, 0);
	assert_int_equal(receiver->out_count, 0);
	assert_int_equal(receiver->contact.pending, 0);
	assert_int_equal(ended_count, 0);
}

/* ---- the token ---- */

static void welcome(uint64_t nonce, uint64_t id)
{
	lnx_stripe_welcome(
		s, &(struct lnx_stripe_msg){
			   .kind = LNX_STRIPE_WELCOME, .nonce = nonce, .id = id });
}

/* Only a large message asks; it waits for the answer for some time, if it can. */
static void the_first_large_message_asks(void **state)
{
	struct lnx_stripe_msg hello;

	set_len(LARGE - 1);
	assert_int_equal(start(), LNX_UNSTRIPED);
	assert_int_equal(s->receiver_count, 0);
	set_len(LARGE);
	assert_int_equal(start(), -FI_EAGAIN);
	assert_int_equal(s->receiver_count, 1);
	receiver = s->receiver[0];
	assert_int_equal(receiver->index, INDEX);
	assert_int_equal(receiver->hash, 77);
	assert_int_equal(receiver->contact.rails, 7);
	assert_int_equal((uint32_t)receiver->nonce, 0);
	hello = heard(LNX_STRIPE_HELLO);
	assert_true(hello.nonce == receiver->nonce);
	assert_int_equal(hello.id, 0);
	assert_int_equal(hello.name_len, sizeof(my_name));
	assert_memory_equal(hello.name, my_name, sizeof(my_name));
	now_ns += PATIENCE_NS - 1;
	assert_int_equal(start(), -FI_EAGAIN);
	op.flags = FI_INJECT;
	assert_int_equal(start(), LNX_UNSTRIPED);
	op.flags = FI_COMPLETION;
	now_ns += 1;
	assert_int_equal(start(), LNX_UNSTRIPED);
	/* It is asked once. */
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(s->receiver_count, 1);
	assert_int_equal(heads.count, 0);
	assert_nothing();
}

/* The token is shown to the receiver, and used when the answer is the same one. */
static void the_token_is_shown_and_used(void **state)
{
	const uint64_t other = token ^ UINT64_C(1) << LNX_STRIPE_OP_BITS;
	struct lnx_stripe_msg hello;

	assert_int_equal(start(), -FI_EAGAIN);
	receiver = s->receiver[0];
	(void)heard(LNX_STRIPE_HELLO);
	/* Answers that are none. */
	welcome(receiver->nonce + 1, token);
	welcome(receiver->nonce ^ UINT64_C(1) << 40, token);
	welcome(receiver->nonce, token + 1);
	welcome(receiver->nonce, token & (UINT64_MAX >> 16));
	assert_int_equal(receiver->token, 0);
	assert_int_equal(below.posted_count, 0);
	now_ns += PATIENCE_NS;
	for (int i = 0; i < 3; i++) {
		uint64_t id = i == 1 ? other : token;

		welcome(receiver->nonce, id);
		assert_int_equal(receiver->state, LNX_RECEIVER_ASKED);
		assert_true(lnx_stripe_may_be_id(s, id));
		hello = heard(LNX_STRIPE_HELLO);
		assert_true(hello.id == id);
		assert_true(hello.nonce == receiver->nonce);
	}
	/* The time for the answer begins again. */
	assert_int_equal(start(), -FI_EAGAIN);
	welcome(receiver->nonce, token);
	assert_int_equal(receiver->state, LNX_RECEIVER_READY);
	assert_int_equal(below.posted_count, 0);
	/* Later answers are none. */
	welcome(receiver->nonce, other);
	assert_true(receiver->token == token);
	assert_int_equal(start(), 0);
	(void)heard(LNX_STRIPE_OFFER);
}

/* Another peer has the index now: nothing of the old one is used for it. */
static void an_index_is_used_again(void **state)
{
	assert_int_equal(start(), -FI_EAGAIN);
	receiver = s->receiver[0];
	(void)heard(LNX_STRIPE_HELLO);
	peer.hash++;
	assert_int_equal(start(), -FI_EAGAIN);
	assert_int_equal(s->receiver_count, 2);
	assert_int_equal(s->receiver[1]->hash, 78);
	assert_int_equal((uint32_t)s->receiver[1]->nonce, 1);
	assert_true(heard(LNX_STRIPE_HELLO).nonce == s->receiver[1]->nonce);
	assert_ptr_equal(lnx_receiver_get(s, &peer, INDEX, false), s->receiver[1]);
	peer.hash--;
	assert_null(lnx_receiver_get(s, &peer, INDEX, false));
	/* Another index in the same list. */
	assert_null(lnx_receiver_get(s, &peer, INDEX + LNX_STRIPE_TABLE, false));
	assert_ptr_equal(lnx_receiver_find(s, s->receiver[0]->nonce), s->receiver[0]);
	assert_null(lnx_receiver_find(s, 2));
}

/* A peer whose private endpoints are not reached is not asked, nor is there one without
 * memory for it. */
static void a_peer_cannot_be_asked(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		allocations_left = i;
		assert_int_equal(start(), LNX_UNSTRIPED);
		assert_int_equal(s->receiver_count, 0);
	}
	allocations_left = UINT32_MAX;
	has_no_address = true;
	for (int i = 0; i < 2; i++)
		assert_int_equal(start(), LNX_UNSTRIPED);
	assert_int_equal(s->receiver_count, 1);
	assert_int_equal(s->receiver[0]->state, LNX_RECEIVER_REFUSED);
	assert_int_equal(below.posted_count, 0);
	lnx_receiver_fail(s, s->receiver[0], FI_EIO);
	assert_int_equal(s->receiver[0]->state, LNX_RECEIVER_REFUSED);
}

/* ---- senders that ask ---- */

static void hello_from(uint64_t nonce, uint64_t id)
{
	lnx_stripe_hello(
		s, &(struct lnx_stripe_msg){
			   .kind = LNX_STRIPE_HELLO, .nonce = nonce, .id = id });
}

static void a_sender_gets_its_token(void **state)
{
	struct lnx_sender *sender = add_sender();
	struct lnx_stripe_msg msg;

	hello_from(sender->nonce, 0);
	/* One answer at a time, until the sender is proven. */
	hello_from(sender->nonce, 0);
	assert_int_equal(below.posted_count, 1);
	msg = heard(LNX_STRIPE_WELCOME);
	assert_true(msg.nonce == sender->nonce && msg.id == sender->token);
	assert_false(sender->proven);
	hello_from(sender->nonce, sender->token);
	assert_true(sender->proven);
	hello_from(sender->nonce, sender->token);
	assert_int_equal(below.posted_count, 2);
	for (int i = 0; i < 2; i++) {
		msg = heard(LNX_STRIPE_WELCOME);
		assert_true(msg.nonce == sender->nonce && msg.id == sender->token);
	}
	/* Nameless. */
	hello_from(sender->nonce + 1, 0);
	assert_int_equal(below.posted_count, 0);
}

/* ---- which messages ---- */

static void only_some_messages_are_striped(void **state)
{
	atomic_store(&peer.rail, LNX_NO_RAIL);
	assert_int_equal(start(), LNX_UNSTRIPED);
	/* Over the member in memory. */
	atomic_store(&peer.rail, 0);
	assert_int_equal(start(), LNX_UNSTRIPED);
	atomic_store(&peer.rail, 1);
	peer.stripes = false;
	assert_int_equal(start(), LNX_UNSTRIPED);
	peer.stripes = true;
	for (int kind = 0; kind < WF_OP_COUNT; kind++) {
		op.kind = (enum wf_op_kind)kind;
		if (kind != WF_OP_TSEND)
			assert_int_equal(start(), LNX_UNSTRIPED);
	}
	op.kind = WF_OP_TSEND;
	set_len(LARGE - 1);
	assert_int_equal(start(), LNX_UNSTRIPED);
	set_len(LARGE);
	/* With less than two rails that work. */
	receiver->contact.down = 5;
	receiver->contact.down_ns = now_ns;
	assert_int_equal(start(), LNX_UNSTRIPED);
	assert_int_equal(heads.count, 0);
	assert_nothing();
	receiver->contact.down = 4;
	assert_int_equal(start(), 0);
	assert_int_equal(heads.count, 1);
}

/* CQ data that the receiver would take for a head: such a message is striped whatever
 * its size, or waits until it can be. */
static void data_that_look_like_a_head(void **state)
{
	static const uint64_t states[] = { LNX_RECEIVER_NEW, LNX_RECEIVER_ASKED };

	set_len(1);
	op.flags |= FI_REMOTE_CQ_DATA;
	op.data = token + 7;
	for (size_t i = 0; i < WF_ARRAY_SIZE(states); i++) {
		receiver->state = (enum lnx_receiver_state)states[i];
		assert_int_equal(start(), -FI_EAGAIN);
	}
	receiver->state = LNX_RECEIVER_READY;
	receiver->out_count = LNX_STRIPE_OUT_MAX;
	assert_int_equal(start(), -FI_EAGAIN);
	receiver->out_count = 0;
	/* Without memory for it, it cannot go another way. */
	below.register_ret[1] = -FI_ENOMEM;
	assert_int_equal(start(), -FI_ENOMEM);
	below.register_ret[1] = 0;
	assert_nothing();
	/* Neither data without the flag, nor of another token. */
	op.flags = FI_COMPLETION;
	assert_int_equal(start(), LNX_UNSTRIPED);
	op.flags |= FI_REMOTE_CQ_DATA;
	op.data ^= UINT64_C(1) << LNX_STRIPE_OP_BITS;
	assert_int_equal(start(), LNX_UNSTRIPED);
	op.data ^= UINT64_C(1) << LNX_STRIPE_OP_BITS;
	receiver->contact.down = 7;
	receiver->contact.down_ns = now_ns;
	assert_int_equal(start(), 0);
	assert_int_equal(heard(LNX_STRIPE_OFFER).data, op.data);
	/* A peer that gave no token takes nothing for a head. */
	receiver->state = LNX_RECEIVER_NEW;
	receiver->token = 0;
	op.data = 5;
	lnx_stripe_note_token(s, 5);
	assert_int_equal(start(), LNX_UNSTRIPED);
}

/* So many messages to one receiver are under way, and more go as they are. */
static void messages_are_limited(void **state)
{
	receiver->out_count = LNX_STRIPE_OUT_MAX;
	assert_int_equal(start(), LNX_UNSTRIPED);
	receiver->out_count = LNX_STRIPE_OUT_MAX - 1;
	assert_int_equal(start(), 0);
	assert_int_equal(receiver->out_count, LNX_STRIPE_OUT_MAX);
	receiver->out_count = 1;
}

/* A fence waits for striped messages to its peer, and for no others. */
static void a_fence_waits(void **state)
{
	static const enum wf_op_kind kinds[] = { WF_OP_SEND, WF_OP_TSEND, WF_OP_WRITE };

	for (int out_count = 0; out_count < 2; out_count++) {
		receiver->out_count = (unsigned int)out_count;
		for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(kinds); i++) {
			ssize_t want = out_count ? -FI_EAGAIN : LNX_UNSTRIPED;

			op.kind = kinds[i / 2];
			op.flags = FI_COMPLETION | FI_FENCE;
			set_len(i & 1 ? LARGE : 1);
			assert_int_equal(start(), want);
			assert_int_equal(lnx_stripe_fence(ep, &peer, &op), want);
			op.addr++;
			assert_int_equal(
				lnx_stripe_fence(ep, &peer, &op), LNX_UNSTRIPED);
			op.addr = INDEX;
			peer.hash++;
			assert_int_equal(
				lnx_stripe_fence(ep, &peer, &op), LNX_UNSTRIPED);
			peer.hash--;
		}
	}
	/* One that looks like a head is striped, with the fence. */
	op.kind = WF_OP_TSEND;
	op.flags |= FI_REMOTE_CQ_DATA;
	op.data = token;
	assert_int_equal(start(), -FI_EAGAIN);
	receiver->out_count = 0;
	assert_int_equal(start(), 0);
	assert_true(heads.op.flags & FI_FENCE);
}

/* ---- head and offer ---- */

static void head_and_offer_describe_the_message(void **state)
{
	static const struct {
		size_t len;
		uint64_t flags;
	} rows[] = {
		{ LARGE, FI_COMPLETION },
		{ LARGE, FI_COMPLETION | FI_REMOTE_CQ_DATA },
		{ LARGE + 1, 0 },
		{ LARGE, FI_INJECT },
		{ LARGE + 1, FI_INJECT | FI_REMOTE_CQ_DATA },
	};
	uint64_t key = 0;

	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct lnx_stripe_msg offer;
		uint8_t want[LARGE + 1];
		bool inject = rows[i].flags & FI_INJECT;

		set_len(rows[i].len);
		op.flags = rows[i].flags;
		assert_int_equal(start(), 0);
		assert_int_equal(heads.count, i + 1);
		assert_int_equal(heads.op.kind, WF_OP_TSEND);
		assert_int_equal(heads.op.addr, INDEX);
		assert_int_equal(heads.op.tag, TAG);
		assert_int_equal(heads.op.len, 0);
		assert_int_equal(heads.op.iov_count, 0);
		assert_true(heads.op.flags == (FI_REMOTE_CQ_DATA | FI_COMPLETION));
		assert_true(heads.op.data == token + i);
		offer = heard(LNX_STRIPE_OFFER);
		assert_true(offer.id == token + i);
		assert_int_equal(offer.size, rows[i].len);
		assert_int_equal(offer.has_data, !!(rows[i].flags & FI_REMOTE_CQ_DATA));
		assert_int_equal(offer.data, 99);
		assert_true(offer.key == below.attr.requested_key);
		assert_true(offer.key != key);
		key = offer.key;
		for (unsigned int k = 0; k < RAILS; k++)
			assert_int_equal(below.regions[k], i + 1);
		assert_true(below.attr.access == FI_REMOTE_READ);
		assert_int_equal(below.attr.iov_count, inject ? 1 : 2);
		assert_int_equal(s->injected, i < 3 ? 0 : i - 2);
		memcpy(want, buffer, 100);
		memcpy(want + 100, buffer + 2000, rows[i].len - 100);
		if (inject) {
			/* The buffers are the application's again. */
			assert_ptr_not_equal(below.attr_iov[0].iov_base, buffer);
			assert_int_equal(below.attr_iov[0].iov_len, rows[i].len);
			assert_memory_equal(
				below.attr_iov[0].iov_base, want, rows[i].len);
		} else {
			assert_memory_equal(below.attr_iov, iov, sizeof(iov));
		}
	}
	assert_int_equal(receiver->out_count, 5);
	assert_int_equal(busy(), 5);
}

/* An empty message, which only its data make a striped one, has no memory. */
static void an_empty_message_is_not_registered(void **state)
{
	for (int inject = 0; inject < 2; inject++) {
		set_len(0);
		op.flags = FI_REMOTE_CQ_DATA | (inject ? FI_INJECT : FI_COMPLETION);
		op.data = token;
		assert_int_equal(start(), 0);
		assert_int_equal(heard(LNX_STRIPE_OFFER).size, 0);
		assert_int_equal(regions_open(), 0);
	}
	assert_int_equal(s->injected, 1);
}

static void only_rails_to_the_peer_have_the_memory(void **state)
{
	receiver->contact.rails = 5;
	assert_int_equal(start(), 0);
	assert_int_equal(below.regions[0], 1);
	assert_int_equal(below.regions[1], 0);
	assert_int_equal(below.regions[2], 1);
}

/* Every step of the beginning fails: nothing is left, and the message goes as it is. */
static void beginnings_fail(void **state)
{
	for (unsigned int rail = 0; rail < RAILS; rail++) {
		below.register_ret[rail] = -FI_EINVAL;
		assert_int_equal(start(), LNX_UNSTRIPED);
		below.register_ret[rail] = 0;
		assert_nothing();
	}
	/* So many keys are tried. */
	below.register_keyless = 16;
	assert_int_equal(start(), LNX_UNSTRIPED);
	assert_int_equal(below.register_keyless, 0);
	assert_nothing();
	/* The message, the copy, the offer. */
	op.flags = FI_INJECT;
	for (unsigned int i = 0; i < 3; i++) {
		allocations_left = i;
		assert_int_equal(start(), LNX_UNSTRIPED);
		assert_int_equal(allocations_left, 0);
		assert_nothing();
	}
	allocations_left = UINT32_MAX;
	assert_int_equal(heads.count, 0);
	heads.ret = -FI_EAGAIN;
	assert_int_equal(start(), -FI_EAGAIN);
	assert_nothing();
	assert_int_equal(below.posted_count, 0);
	heads.ret = 0;
	below.register_keyless = 15;
	assert_int_equal(start(), 0);
	assert_int_equal(below.regions[0], 1);
	(void)heard(LNX_STRIPE_OFFER);
}

/* No two messages under way have one number. */
static void numbers_come_again(void **state)
{
	assert_int_equal(start(), 0);
	receiver->next_op = LNX_STRIPE_OP_MASK;
	assert_int_equal(start(), 0);
	assert_true(heads.op.data == (token | LNX_STRIPE_OP_MASK));
	assert_int_equal(start(), 0);
	assert_true(heads.op.data == token + 1);
}

/* ---- the end ---- */

static void done(const struct lnx_stripe_msg *offer, uint32_t err)
{
	lnx_stripe_done(s, &(struct lnx_stripe_msg){ .kind = LNX_STRIPE_DONE,
				   .nonce = receiver->nonce,
				   .id = offer->id,
				   .key = offer->key,
				   .err = err });
}

static void check_ended(int err)
{
	assert_int_equal(ended_count, 1);
	assert_ptr_equal(ended[0].context, &op);
	assert_true(ended[0].op_flags == op.flags);
	assert_true(ended[0].flags == (FI_TAGGED | FI_SEND));
	assert_int_equal(ended[0].len, err ? 0 : op.len);
	assert_int_equal(ended[0].err, err);
	ended_count = 0;
	assert_nothing();
}

/* It ends when the head has left and the receiver is done, in either order; the first
 * error of the two is told. */
static void it_ends_with_head_and_receiver(void **state)
{
	/* "h": the head has left, "H": it failed; "d": the receiver is done, "D": it
	 * failed; "l": the receiver is lost. */
	static const struct {
		const char *first, *then;
		int err;
		bool withdrawn;
	} rows[] = {
		{ "h", "d", 0, false },
		{ "d", "h", 0, false },
		{ "h", "D", FI_EACCES, false },
		{ "D", "h", FI_EACCES, false },
		{ "d", "H", FI_EIO, true },
		{ "D", "H", FI_EACCES, false },
		{ "", "H", FI_EIO, true },
		{ "h", "l", FI_ETIMEDOUT, false },
		{ "l", "h", FI_ETIMEDOUT, false },
		{ "l", "H", FI_ETIMEDOUT, false },
	};

	for (unsigned int i = 0; i < 2 * WF_ARRAY_SIZE(rows); i++) {
		const char *steps[] = { rows[i / 2].first, rows[i / 2].then };
		struct lnx_stripe_msg offer;

		op.flags = i & 1 ? FI_INJECT : FI_COMPLETION;
		receiver->state = LNX_RECEIVER_READY;
		assert_int_equal(start(), 0);
		offer = heard(LNX_STRIPE_OFFER);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(ended_count, 0);
			switch (*steps[k]) {
			case 'h':
			case 'H':
				lnx_stripe_head_done(
					ep, heads.out, *steps[k] == 'H' ? FI_EIO : 0);
				break;
			case 'd':
			case 'D':
				done(&offer, *steps[k] == 'D' ? FI_EACCES : 0);
				break;
			case 'l':
				lnx_receiver_fail(s, receiver, FI_ETIMEDOUT);
				break;
			default:
				break;
			}
		}
		if (rows[i / 2].withdrawn) {
			struct lnx_stripe_msg msg = heard(LNX_STRIPE_WITHDRAW);

			assert_true(msg.id == offer.id);
			assert_int_equal(msg.err, FI_EIO);
		}
		assert_int_equal(below.posted_count, 0);
		check_ended(rows[i / 2].err);
	}
}

/* The head leaves before the call that started it returns. */
static void the_head_leaves_at_once(void **state)
{
	struct lnx_stripe_msg offer;

	heads.ends = true;
	assert_int_equal(start(), 0);
	offer = heard(LNX_STRIPE_OFFER);
	assert_int_equal(ended_count, 0);
	done(&offer, 0);
	check_ended(0);
	/* It failed, so there is no offer, and nothing to take back. */
	heads.ends_err = FI_ENETDOWN;
	assert_int_equal(start(), 0);
	assert_int_equal(below.posted_count, 0);
	check_ended(FI_ENETDOWN);
	ep->stripe = NULL;
	lnx_stripe_head_done(ep, NULL, 0);
	ep->stripe = s;
}

/* Only the receiver of a message ends it, by its number and key. */
static void wrong_ends_are_none(void **state)
{
	struct lnx_stripe_msg offer, wrong;
	struct lnx_receiver *other = add_receiver();

	assert_int_equal(start(), 0);
	lnx_stripe_head_done(ep, heads.out, 0);
	offer = wrong = heard(LNX_STRIPE_OFFER);
	wrong.id += LNX_STRIPE_TABLE;
	done(&wrong, 0);
	wrong = offer;
	wrong.key++;
	done(&wrong, 0);
	wrong = offer;
	wrong.nonce = other->nonce;
	lnx_stripe_done(s, &wrong);
	wrong.nonce = receiver->nonce + 5;
	lnx_stripe_done(s, &wrong);
	assert_int_equal(ended_count, 0);
	done(&offer, 0);
	check_ended(0);
	done(&offer, 0);
	assert_int_equal(ended_count, 0);
}

/* ---- questions ---- */

static void ask(uint64_t nonce, uint64_t id)
{
	lnx_stripe_ask_sender(s, &(struct lnx_stripe_msg){
					 .kind = LNX_STRIPE_ASK_SENDER,
					 .nonce = nonce,
					 .id = id,
				 });
}

/* A receiver asks for an offer. What was offered twice is withdrawn at the end, because
 * the second offer may come later. */
static void a_receiver_asks(void **state)
{
	struct lnx_receiver *other = add_receiver();
	struct lnx_stripe_msg offer, again;

	other->token = token ^ UINT64_C(1) << 40;
	op.flags |= FI_REMOTE_CQ_DATA;
	assert_int_equal(start(), 0);
	lnx_stripe_head_done(ep, heads.out, 0);
	offer = heard(LNX_STRIPE_OFFER);
	ask(receiver->nonce + 9, offer.id);
	ask(other->nonce, offer.id);
	ask(receiver->nonce, offer.id ^ UINT64_C(1) << 30);
	assert_int_equal(below.posted_count, 0);
	ask(receiver->nonce, offer.id);
	again = heard(LNX_STRIPE_OFFER);
	assert_memory_equal(&again, &offer, sizeof(offer));
	ask(receiver->nonce, offer.id + LNX_STRIPE_TABLE);
	again = heard(LNX_STRIPE_WITHDRAW);
	assert_true(again.id == offer.id + LNX_STRIPE_TABLE);
	assert_int_equal(again.err, FI_ECANCELED);
	done(&offer, 0);
	again = heard(LNX_STRIPE_WITHDRAW);
	assert_true(again.id == offer.id);
	assert_int_equal(again.err, FI_ECANCELED);
	check_ended(0);
}

/* A receiver that says nothing is asked after one second, then after two, four, and
 * eight each time, unless many control messages to it are under way. */
static void receivers_are_asked(void **state)
{
	static const unsigned int seconds[] = { 1, 2, 4, 8, 8, 8 };
	struct lnx_stripe_msg offer, msg;

	assert_int_equal(start(), 0);
	offer = heard(LNX_STRIPE_OFFER);
	for (size_t i = 0; i < WF_ARRAY_SIZE(seconds); i++) {
		now_ns += seconds[i] * SECOND_NS - 1;
		lnx_stripe_ask_receivers(s, now_ns);
		assert_int_equal(below.posted_count, 0);
		now_ns++;
		receiver->contact.pending += 16;
		lnx_stripe_ask_receivers(s, now_ns);
		assert_int_equal(below.posted_count, 0);
		receiver->contact.pending--;
		lnx_stripe_ask_receivers(s, now_ns);
		receiver->contact.pending -= 15;
		lnx_stripe_ask_receivers(s, now_ns);
		msg = heard(LNX_STRIPE_ASK_RECEIVER);
		assert_int_equal(below.posted_count, 0);
		assert_true(msg.nonce == receiver->nonce);
		assert_true(msg.id == offer.id && msg.key == offer.key);
		assert_int_equal(msg.name_len, sizeof(my_name));
		assert_memory_equal(msg.name, my_name, sizeof(my_name));
	}
}

/* A receiver that is lost is asked for a token again some time later; messages to
 * others do not end. */
static void receivers_are_lost(void **state)
{
	struct lnx_receiver *other = add_receiver();

	assert_int_equal(start(), 0);
	(void)heard(LNX_STRIPE_OFFER);
	lnx_receiver_fail(s, other, FI_ETIMEDOUT);
	assert_int_equal(other->state, LNX_RECEIVER_NEW);
	lnx_stripe_head_done(ep, heads.out, 0);
	assert_int_equal(ended_count, 0);
	lnx_receiver_fail(s, receiver, FI_EHOSTUNREACH);
	check_ended(FI_EHOSTUNREACH);
	now_ns += LOST_NS - 1;
	assert_int_equal(start(), LNX_UNSTRIPED);
	assert_int_equal(below.posted_count, 0);
	now_ns++;
	assert_int_equal(start(), -FI_EAGAIN);
	assert_true(heard(LNX_STRIPE_HELLO).id == token);
}

/* An endpoint is closed: what is under way is given back (close_stripe). */
static void it_is_under_way_at_the_end(void **state)
{
	assert_int_equal(start(), 0);
	op.flags = FI_INJECT;
	assert_int_equal(start(), 0);
	assert_int_equal(s->injected, 1);
	assert_int_equal(regions_open(), 2 * RAILS);
}

#define NEW(name)  cmocka_unit_test_setup_teardown(name, open_new, close_stripe)
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_ready, close_stripe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NEW(the_first_large_message_asks),
		NEW(the_token_is_shown_and_used),
		NEW(an_index_is_used_again),
		NEW(a_peer_cannot_be_asked),
		NEW(a_sender_gets_its_token),
		CASE(only_some_messages_are_striped),
		CASE(data_that_look_like_a_head),
		CASE(messages_are_limited),
		CASE(a_fence_waits),
		CASE(head_and_offer_describe_the_message),
		CASE(an_empty_message_is_not_registered),
		CASE(only_rails_to_the_peer_have_the_memory),
		CASE(beginnings_fail),
		CASE(numbers_come_again),
		CASE(it_ends_with_head_and_receiver),
		CASE(the_head_leaves_at_once),
		CASE(wrong_ends_are_none),
		CASE(a_receiver_asks),
		CASE(receivers_are_asked),
		CASE(receivers_are_lost),
		CASE(it_is_under_way_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
