/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint that stripes and a peer that this test plays, with the bytes that
 * docs/design/lnx.md describes: one endpoint of tcp for messages, one for control
 * messages and payload. The peer is right, then it lies.
 */
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/fi_rma.h>

#include "../loopback.h"
#include "lnx_pair.h"

enum {
	HELLO = 1,
	OFFER,
	WITHDRAW,
	ASK_RECEIVER,
	WELCOME,
	DONE,
	ASK_SENDER,
	HEADER = 48,
	MSG_MAX = HEADER + 240,
	LEN = 50000,
	TAG = 5,
	/* Places of ports and address in a link of a name, for IPv4; its bytes, and
	 * those of a private endpoint alone. */
	PORT_AT = 9,
	IP_AT = 11,
	PRIVATE_AT = 15,
	ENTRY = 17,
	ALONE = 15,
};

#define OP_MASK UINT64_C(0xffffff)

/* An endpoint of tcp. */
struct raw {
	struct rdm_end end;
	fi_addr_t real; /* the lnx endpoint */
	uint8_t in[MSG_MAX + 200];
	struct fi_context2 rx, tx;
	bool received, sent;
	struct fi_cq_tagged_entry entry;
};

struct control {
	uint8_t kind, version, has_data, name_len;
	uint32_t err;
	uint64_t nonce, id, size, data, key;
	uint8_t name[240];
};

static struct rdm_end real;
static struct raw pub, priv;
static uint8_t peer_name[NAME_ROOM];
static fi_addr_t peer;
static uint8_t out[LEN], in[LEN];
static struct fi_context2 real_tx, real_rx;
static struct fi_cq_tagged_entry sent, got;
static struct fi_cq_err_entry err;
static bool has_sent, has_got, has_err;

static void post(struct raw *raw)
{
	raw->received = false;
	if (raw == &pub)
		assert_int_equal(fi_trecv(raw->end.ep, raw->in, sizeof(raw->in), NULL,
					 FI_ADDR_UNSPEC, 0, ~UINT64_C(0), &raw->rx),
			0);
	else
		assert_int_equal(fi_recv(raw->end.ep, raw->in, sizeof(raw->in), NULL,
					 FI_ADDR_UNSPEC, &raw->rx),
			0);
}

static void open_raw(struct raw *raw)
{
	loopback_open(&raw->end, "tcp", FI_MSG | FI_TAGGED | FI_RMA);
	post(raw);
}

static void poll_raw(struct raw *raw)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(raw->end.cq, &entry, 1);

	if (ret == -FI_EAVAIL) {
		assert_int_equal(fi_cq_readerr(raw->end.cq, &error, 0), 1);
		fail_msg("the peer: %s", fi_strerror(error.err));
	}
	if (ret == 1 && entry.flags & FI_RECV) {
		raw->received = true;
		raw->entry = entry;
	} else if (ret == 1) {
		raw->sent = true;
	}
}

static void poll_real(void)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(real.cq, &entry, 1);

	if (ret == -FI_EAVAIL) {
		err = (struct fi_cq_err_entry){ 0 };
		assert_int_equal(fi_cq_readerr(real.cq, &err, 0), 1);
		has_err = true;
	} else if (ret == 1 && entry.flags & FI_SEND) {
		sent = entry;
		has_sent = true;
	} else if (ret == 1) {
		got = entry;
		has_got = true;
	}
}

static void poll_all(void)
{
	poll_real();
	poll_raw(&pub);
	poll_raw(&priv);
}

#define UNTIL(what)                                                                    \
	do {                                                                           \
		time_t deadline = now_s() + PATIENCE_S;                                \
		while (!(what)) {                                                      \
			poll_all();                                                    \
			assert_true(now_s() < deadline);                               \
		}                                                                      \
	} while (0)

static void poll_some(void)
{
	for (int i = 0; i < 20000; i++)
		poll_all();
}

/* The address in the first link of the name @name, with the port at @port_at. */
static struct sockaddr_in link_addr(const uint8_t *name, unsigned int port_at)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	memcpy(&sin.sin_port, name + 4 + port_at, 2);
	memcpy(&sin.sin_addr, name + 4 + IP_AT, 4);
	return sin;
}

/* Make the link at @at of @name that of the public raw endpoint, with @private. */
static void set_link(uint8_t *name, unsigned int at, const struct raw *private)
{
	uint8_t *entry = name + 4 + at * ENTRY;

	memcpy(entry + PORT_AT, &pub.end.addr.sin_port, 2);
	memcpy(entry + IP_AT, &pub.end.addr.sin_addr, 4);
	memcpy(entry + PRIVATE_AT, &private->end.addr.sin_port, 2);
}

static int open_all(void **state)
{
	struct sockaddr_in sin;

	has_sent = has_got = has_err = false;
	rdm_end_open(&real, lnx_info(FI_FORMAT_UNSPEC, NULL, NULL, 0), 0, FI_WAIT_NONE);
	open_raw(&pub);
	open_raw(&priv);
	/* Two links of messages, each with the port of a private endpoint. */
	assert_int_equal(real.name[2] & 0xf, 2);
	assert_int_equal(real.name[3], 4 + 2 * ENTRY);
	memcpy(peer_name, real.name, NAME_ROOM);
	for (unsigned int i = 0; i < 2; i++)
		set_link(peer_name, i, &priv);
	peer = end_insert(&real, peer_name);
	sin = link_addr(real.name, PORT_AT);
	assert_int_equal(fi_av_insert(pub.end.av, &sin, 1, &pub.real, 0, NULL), 1);
	sin = link_addr(real.name, PRIVATE_AT);
	assert_int_equal(fi_av_insert(priv.end.av, &sin, 1, &priv.real, 0, NULL), 1);
	for (int i = 0; i < LEN; i++)
		out[i] = (uint8_t)(i * 7 + i / 256);
	memset(in, 0, sizeof(in));
	return 0;
}

static int close_all(void **state)
{
	rdm_end_close(&real);
	rdm_end_close(&pub.end);
	rdm_end_close(&priv.end);
	return 0;
}

static void say_bytes(const void *bytes, size_t len)
{
	priv.sent = false;
	assert_int_equal(
		fi_send(priv.end.ep, bytes, len, NULL, priv.real, &priv.tx), 0);
	UNTIL(priv.sent);
}

static void say(const struct control *control)
{
	struct control copy = *control;

	copy.version = 1;
	say_bytes(&copy, HEADER + (size_t)copy.name_len);
}

/* The next control message, which must be of @kind. */
static struct control hear(uint8_t kind)
{
	struct control control = { 0 };

	UNTIL(priv.received);
	assert_true(priv.entry.len >= HEADER && priv.entry.len <= MSG_MAX);
	memcpy(&control, priv.in, priv.entry.len);
	assert_int_equal(control.version, 1);
	assert_int_equal(priv.entry.len, HEADER + control.name_len);
	post(&priv);
	assert_int_equal(control.kind, kind);
	return control;
}

/* ---- The peer receives. ---- */

static const uint64_t my_token = UINT64_C(1) << 48 | UINT64_C(0xabcdef) << 24;

/* Send @len bytes, with CQ data if @data is not 0. False: there was a HELLO instead. */
static bool send_real(size_t len, uint64_t data, bool inject)
{
	time_t deadline = now_s() + PATIENCE_S;
	ssize_t ret;

	has_sent = has_err = false;
	for (;;) {
		if (inject)
			ret = fi_tinjectdata(real.ep, out, len, data, peer, TAG);
		else if (data)
			ret = fi_tsenddata(
				real.ep, out, len, NULL, data, peer, TAG, &real_tx);
		else
			ret = fi_tsend(real.ep, out, len, NULL, peer, TAG, &real_tx);
		if (!ret)
			return true;
		assert_int_equal(ret, -FI_EAGAIN);
		poll_all();
		if (priv.received)
			return false;
		assert_true(now_s() < deadline);
	}
}

/* Take the HELLO that a large message causes, and answer. Returns its nonce. */
static uint64_t welcome(void)
{
	bool was_sent = send_real(LEN, 0, false);
	struct control hello = hear(HELLO);

	assert_memory_equal(hello.name, "wx", 2);
	assert_int_equal(hello.name[2] & 0xf, 2);
	assert_true(hello.id == 0);
	say(&(struct control){ .kind = WELCOME, .nonce = hello.nonce, .id = my_token });
	/* It is not used before it was shown, and is the answer once more. */
	hello = hear(HELLO);
	assert_true(hello.id == my_token);
	say(&(struct control){ .kind = WELCOME, .nonce = hello.nonce, .id = my_token });
	if (was_sent) {
		/* It took too long: the message is an ordinary one. */
		UNTIL(pub.received && (has_sent || has_err));
		post(&pub);
	}
	poll_some();
	return hello.nonce;
}

/* Take a head and its offer. */
static struct control head(void)
{
	struct control offer = hear(OFFER);

	UNTIL(pub.received);
	assert_int_equal(pub.entry.len, 0);
	assert_true(pub.entry.flags & FI_REMOTE_CQ_DATA);
	assert_true((pub.entry.data & ~OP_MASK) == my_token);
	assert_true(pub.entry.data == offer.id);
	assert_true(pub.entry.tag == TAG);
	post(&pub);
	return offer;
}

/* Read the payload from the sender's memory. */
static void fetch(const struct control *offer, void *buf)
{
	priv.sent = false;
	assert_int_equal(fi_read(priv.end.ep, buf, offer->size, NULL, priv.real, 0,
				 offer->key, &priv.tx),
		0);
	UNTIL(priv.sent);
}

static void done(uint64_t nonce, const struct control *offer, uint32_t error)
{
	say(&(struct control){ .kind = DONE,
		.nonce = nonce,
		.id = offer->id,
		.key = offer->key,
		.err = error });
}

static void a_receiver_is_right_and_wrong(void **state)
{
	uint64_t nonce = welcome();
	struct control offer, wrong;

	assert_true(send_real(LEN, 0, false));
	offer = head();
	assert_int_equal(offer.size, LEN);
	assert_int_equal(offer.has_data, 0);
	wrong = offer;
	wrong.key++;
	done(nonce, &wrong, 0);
	wrong.key--;
	wrong.id++;
	done(nonce, &wrong, 0);
	done(nonce + 1, &offer, 0);
	done(nonce ^ UINT64_C(1) << 40, &offer, 5);
	poll_some();
	assert_false(has_sent || has_err);
	done(nonce, &offer, 0);
	UNTIL(has_sent);
	assert_ptr_equal(sent.op_context, &real_tx);
	done(nonce, &offer, 0);

	/* The receiver fails. */
	assert_true(send_real(LEN, 9, false));
	offer = head();
	assert_int_equal(offer.has_data, 1);
	assert_true(offer.data == 9);
	done(nonce, &offer, FI_ENOMEM);
	UNTIL(has_err);
	assert_int_equal(err.err, FI_ENOMEM);
	assert_ptr_equal(err.op_context, &real_tx);

	/* It lost the offer, and asks for one that never was. */
	assert_true(send_real(LEN, 0, false));
	offer = head();
	say(&(struct control){ .kind = ASK_SENDER, .nonce = nonce, .id = offer.id });
	wrong = hear(OFFER);
	assert_true(wrong.id == offer.id && wrong.key == offer.key);
	say(&(struct control){
		.kind = ASK_SENDER, .nonce = nonce, .id = my_token | 12345 });
	wrong = hear(WITHDRAW);
	assert_true(wrong.id == (my_token | 12345));
	done(nonce, &offer, 0);
	UNTIL(has_sent);
	/* It may have forgotten the message between the two offers. */
	wrong = hear(WITHDRAW);
	assert_true(wrong.id == offer.id);
	/* The endpoint is closed while a message waits. */
	assert_true(send_real(LEN, 0, false));
	(void)head();
}

/* A message whose CQ data looks like a head goes in a head, whatever its size. */
static void data_that_look_like_a_head(void **state)
{
	uint64_t nonce = welcome();
	struct control offer;
	uint8_t was[8];

	for (int i = 0; i < 4; i++) {
		size_t len = i & 1 ? 8 : 0;

		assert_true(send_real(len, my_token | 77, i & 2));
		offer = head();
		assert_true(offer.id != (my_token | 77));
		assert_true(offer.has_data && offer.data == (my_token | 77));
		assert_int_equal(offer.size, len);
		if (len) {
			/* An injected buffer is the application's again. */
			memcpy(was, out, len);
			out[0] = (uint8_t)(out[0] + (i & 2));
			fetch(&offer, in);
			assert_memory_equal(in, was, len);
		}
		done(nonce, &offer, 0);
		if (!(i & 2))
			UNTIL(has_sent);
	}
	/* Nothing else is changed. */
	assert_true(send_real(8, (my_token ^ UINT64_C(1) << 30) | 77, false));
	UNTIL(pub.received && has_sent);
	assert_int_equal(pub.entry.len, 8);
	assert_true(pub.entry.data == ((my_token ^ UINT64_C(1) << 30) | 77));
	post(&pub);
}

/* ---- The peer sends. ---- */

/* *@to: the link of the private endpoint alone that the link @from tells of. */
static void private_link(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, ALONE);
	to[6] ^= 0x54;
	to[7] ^= 0x53;
	to[8] &= 0x3f;
	memcpy(to + PORT_AT, from + PRIVATE_AT, 2);
}

static struct control hello_of(uint64_t nonce)
{
	struct control hello = { .kind = HELLO, .nonce = nonce };

	hello.name_len = 4 + 2 * ALONE;
	memcpy(hello.name, peer_name, 4);
	hello.name[3] = hello.name_len;
	for (unsigned int i = 0; i < 2; i++)
		private_link(hello.name + 4 + i * ALONE, peer_name + 4 + i * ENTRY);
	return hello;
}

static uint64_t introduce(uint64_t nonce)
{
	struct control hello = hello_of(nonce), answer;

	say(&hello);
	answer = hear(WELCOME);
	assert_true(answer.nonce == nonce);
	assert_true(answer.id && !(answer.id & OP_MASK));
	return answer.id;
}

static void send_head(uint64_t id)
{
	time_t deadline = now_s() + PATIENCE_S;

	while (fi_tinjectdata(pub.end.ep, NULL, 0, id, pub.real, TAG)) {
		poll_all();
		assert_true(now_s() < deadline);
	}
}

static void receive(void)
{
	has_got = has_err = false;
	assert_int_equal(fi_trecv(real.ep, in, LEN, NULL, FI_ADDR_UNSPEC, 0,
				 ~UINT64_C(0), &real_rx),
		0);
}

static void a_sender_is_right(void **state)
{
	uint64_t token = introduce(11), key = UINT64_C(0x1234567890);
	struct control offer = { .kind = OFFER,
		.has_data = 1,
		.id = token | 3,
		.size = LEN,
		.data = 99,
		.key = key };
	struct control answer;
	struct fid_mr *mr;

	assert_true(introduce(11) == token);
	assert_true(introduce(12) != token);
	assert_int_equal(fi_mr_reg(priv.end.domain, out, LEN, FI_REMOTE_READ, 0, key, 0,
				 &mr, NULL),
		0);
	receive();
	say(&offer);
	say(&offer);
	send_head(offer.id);
	UNTIL(has_got);
	assert_int_equal(got.len, LEN);
	assert_true(got.flags & FI_REMOTE_CQ_DATA && got.data == 99);
	assert_true(got.tag == TAG);
	assert_memory_equal(in, out, LEN);
	answer = hear(DONE);
	assert_true(answer.nonce == 11 && answer.id == offer.id && answer.key == key);
	assert_int_equal(answer.err, 0);
	/* The sender asks for what is over. */
	offer.kind = ASK_RECEIVER;
	offer.nonce = 11;
	offer.name_len = 4 + ENTRY;
	memcpy(offer.name, peer_name, offer.name_len);
	say(&offer);
	answer = hear(DONE);
	assert_int_not_equal(answer.err, 0);
	assert_int_equal(fi_close(&mr->fid), 0);
}

static void a_sender_lies(void **state)
{
	uint64_t token = introduce(11);
	struct control offer = {
		.kind = OFFER, .id = token | 1, .size = UINT64_MAX, .key = 666
	};
	struct control answer;

	/* Nothing is at that key. */
	receive();
	say(&offer);
	send_head(offer.id);
	UNTIL(has_err);
	assert_ptr_equal(err.op_context, &real_rx);
	answer = hear(DONE);
	assert_int_not_equal(answer.err, 0);

	/* The offer does not come, and is taken back when it is asked for. */
	receive();
	send_head(token | 2);
	answer = hear(ASK_SENDER);
	assert_true(answer.nonce == 11 && answer.id == (token | 2));
	assert_false(has_err || has_got);
	say(&(struct control){ .kind = WITHDRAW, .id = token | 2, .err = FI_EIO });
	UNTIL(has_err);
	assert_int_equal(err.err, FI_EIO);

	/* A head that comes twice, and one of a token that nobody was given. */
	receive();
	send_head(token | 4);
	poll_some();
	receive();
	send_head(token | 4);
	UNTIL(has_got);
	assert_int_equal(got.len, 0);
	assert_true(got.data == (token | 4));
	receive();
	send_head((token ^ UINT64_C(1) << 30) | 5);
	UNTIL(has_got);
	assert_true(got.data == ((token ^ UINT64_C(1) << 30) | 5));
	say(&(struct control){ .kind = WITHDRAW, .id = token | 4 });
	UNTIL(has_err);
}

/* A socket at the address of the closed endpoint @end, which refuses all connections:
 * without it, an endpoint of another program could be given the port. */
static int keep_port(const struct rdm_end *end)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, (const void *)&end->addr, sizeof(end->addr)), 0);
	return fd;
}

/* One of the sender's two private endpoints does not exist any more: its chunks are
 * read from the other one. Then that one goes, too. */
static void a_rail_fails(void **state)
{
	uint64_t token, key = UINT64_C(0x1234567891);
	struct control offer = { .kind = OFFER, .size = LEN, .key = key };
	struct raw gone = { 0 };
	struct control answer;
	struct fid_mr *mr;
	int gone_fd, priv_fd;

	open_raw(&gone);
	set_link(peer_name, 1, &gone);
	rdm_end_close(&gone.end);
	gone_fd = keep_port(&gone.end);
	token = introduce(13);
	assert_int_equal(fi_mr_reg(priv.end.domain, out, LEN, FI_REMOTE_READ, 0, key, 0,
				 &mr, NULL),
		0);
	for (offer.id = token; offer.id < token + 3; offer.id++) {
		memset(in, 0, LEN);
		receive();
		say(&offer);
		send_head(offer.id);
		UNTIL(has_got || has_err);
		assert_true(has_got);
		assert_int_equal(got.len, LEN);
		assert_memory_equal(in, out, LEN);
		answer = hear(DONE);
		assert_true(answer.id == offer.id);
		assert_int_equal(answer.err, 0);
	}
	assert_int_equal(fi_close(&mr->fid), 0);
	receive();
	say(&offer);
	rdm_end_close(&priv.end);
	priv_fd = keep_port(&priv.end);
	open_raw(&priv);
	send_head(offer.id);
	UNTIL(has_err);
	(void)close(gone_fd);
	(void)close(priv_fd);
}

/* More messages than anyone sends at a time, and bytes without sense. */
static void a_peer_floods(void **state)
{
	uint64_t token = introduce(11);
	uint8_t noise[MSG_MAX + 100];
	unsigned int seed = 1;

	for (uint64_t i = 0; i < 40000; i++) {
		say(&(struct control){ .kind = OFFER, .id = token | i, .size = i });
		poll_real();
	}
	/* The last ones were too many. */
	poll_some();
	receive();
	send_head(token | 39999);
	(void)hear(ASK_SENDER);
	say(&(struct control){ .kind = WITHDRAW, .id = token | 39999 });
	UNTIL(has_err);
	for (unsigned int i = 0; i < 4000; i++) {
		size_t len = i % sizeof(noise);

		for (size_t k = 0; k < len; k++)
			noise[k] = (uint8_t)rand_r(&seed);
		if (i & 1 && len > 8) {
			noise[0] = (uint8_t)(i / 2 % 8);
			noise[1] = 1;
			noise[2] = i >> 4 & 1;
			noise[3] = len > HEADER && i & 2 ? (uint8_t)(len - HEADER) : 0;
		}
		/* Its answers would be taken for those of the exchange below. */
		if (len > 3 && (noise[0] == ASK_SENDER || noise[0] == ASK_RECEIVER ||
				       noise[0] == HELLO))
			noise[1] = 2;
		say_bytes(noise, len);
		poll_real();
	}
	poll_some();
	assert_true(introduce(11) == token);
	receive();
	send_head(UINT64_C(5));
	UNTIL(has_got);
	assert_true(got.data == 5);
}

/* The WELCOME for @nonce that comes to @raw, which is the private endpoint in the names
 * of HELLOs now. */
static void expect_welcome(struct raw *raw, uint64_t nonce)
{
	time_t deadline = now_s() + PATIENCE_S;
	struct control answer;

	while (!raw->received) {
		poll_all();
		poll_raw(raw);
		assert_true(now_s() < deadline);
	}
	memcpy(&answer, raw->in, HEADER);
	assert_int_equal(answer.kind, WELCOME);
	assert_true(answer.nonce == nonce && answer.id);
}

/* EPA-034. A stranger says HELLO in the name of many senders: few of them are kept, and
 * one with another name gets a token. */
static void a_stranger_says_hello_often(void **state)
{
	enum { HELLOS = 3000, KEPT = 64 };
	struct raw other = { 0 };
	unsigned int answers = 0;
	struct control hello;

	for (uint64_t i = 0; i < HELLOS; i++) {
		hello = hello_of(1000 + i);
		say(&hello);
		for (int k = 0; k < (i + 1 < HELLOS ? 1 : 20000); k++) {
			poll_all();
			if (!priv.received)
				continue;
			(void)hear(WELCOME);
			answers++;
		}
	}
	assert_int_equal(answers, KEPT);
	assert_true(introduce(1000) == introduce(1000));
	open_raw(&other);
	for (unsigned int i = 0; i < 2; i++)
		set_link(peer_name, i, &other);
	hello = hello_of(1);
	say(&hello);
	expect_welcome(&other, 1);
	rdm_end_close(&other.end);
}

/* A name that leads nowhere is forgotten: the number is free for the one whose it
 * is. */
static void a_sender_that_is_not_there(void **state)
{
	time_t deadline = now_s() + PATIENCE_S;
	struct raw gone = { 0 };
	struct control hello;
	int fd;

	open_raw(&gone);
	for (unsigned int i = 0; i < 2; i++)
		set_link(peer_name, i, &gone);
	rdm_end_close(&gone.end);
	fd = keep_port(&gone.end);
	hello = hello_of(7);
	say(&hello);
	for (unsigned int i = 0; i < 2; i++)
		set_link(peer_name, i, &priv);
	hello = hello_of(7);
	while (!priv.received) {
		say(&hello);
		poll_some();
		assert_true(now_s() < deadline);
	}
	assert_true(hear(WELCOME).nonce == 7);
	(void)close(fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_receiver_is_right_and_wrong, open_all, close_all),
		cmocka_unit_test_setup_teardown(
			data_that_look_like_a_head, open_all, close_all),
		cmocka_unit_test_setup_teardown(a_sender_is_right, open_all, close_all),
		cmocka_unit_test_setup_teardown(a_sender_lies, open_all, close_all),
		cmocka_unit_test_setup_teardown(a_rail_fails, open_all, close_all),
		cmocka_unit_test_setup_teardown(a_peer_floods, open_all, close_all),
		cmocka_unit_test_setup_teardown(
			a_stranger_says_hello_often, open_all, close_all),
		cmocka_unit_test_setup_teardown(
			a_sender_that_is_not_there, open_all, close_all),
	};

	if (argc != 2)
		return 2;
	/* Read when the providers are first asked for something. */
	(void)setenv("FI_LNX_PROV_LINKS", argv[1], 1);
	(void)setenv("FI_LNX_STRIPE_SIZE", "4096", 1);
	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	(void)setenv("FI_TCP_REFUSED_TIMEOUT", "100", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
