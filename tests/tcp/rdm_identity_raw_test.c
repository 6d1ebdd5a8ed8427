/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request contains the port at which its sender listens; any process of that host can
 * send it. Messages go to the process that listens there and to no other, and none
 * comes in from another one (docs/tcp-wire.md, 2.2).
 */
#include "raw_far.h"

#define MESSAGE "03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364"
#define REJECT_OURS(reason, instance)                                                  \
	"57656621 01 " reason " 0000 00000000 " instance " "
#define CONNECTED_ALREADY "03"
#define CROSSED           "02"
#define BUSY              "05"
#define INSTANCE          "1122334455667788" /* of CM_OURS */
#define OTHER             "1122334455667789"

enum { REASON = 9, IS_CONNECTED = 3, REJECT = 6 }; /* place and values in a message */

/* As request_from, by a peer that knows our extension, with @reason. */
static int request_of_ours(struct rdm *rdm, const struct far *far, uint8_t reason)
{
	struct bytes request = hex("03 00 0008 " CM_OURS LITTLE "01 00 0000 00000300");
	int fd = raw_connect(&rdm->t.name);

	memcpy(request.at + 34, &far->name.sin_port, 2);
	request.at[REASON] = reason;
	raw_send(fd, request.at, request.len);
	return fd;
}

/* Nothing came over it, and it was closed. */
static void expect_refused(struct rdm *rdm, int fd)
{
	assert_int_equal(raw_recv(&rdm->t, fd, 1).len, 0);
	close(fd);
}

/* The endpoint asks at the address for the owner. */
static int asked(struct rdm *rdm, struct far *far, bool *sent, struct bytes *ret)
{
	int fd = accept_from(rdm, far, sent, 1);

	*ret = take_request(rdm, fd);
	return fd;
}

/* The owner of the address accepts what it was asked, and gets the message. */
static void owner_answers(struct rdm *rdm, struct far *far, int fd,
	const struct bytes *request, bool *sent)
{
	reply(fd, request, 0x81);
	send_rest(rdm, far, sent, 1);
	raw_expect(&rdm->t, fd, MESSAGE);
}

/* The endpoint uses the connection of @peer: it sends the message over it. */
static void expect_message(struct rdm *rdm, struct far *far, int peer, bool *sent)
{
	send_rest(rdm, far, sent, 1);
	raw_expect(&rdm->t, peer, MESSAGE);
	close_far(far, peer);
}

/* The endpoint accepts a peer of another implementation, of lower address, that has not
 * proved yet that it owns its address. */
static int accepted(struct rdm *rdm, struct far *far)
{
	struct bytes unused;
	int fd;

	open_lower(rdm, far);
	fd = request_from(rdm, far, 1, &unused);
	expect_type(rdm, fd, 1);
	return fd;
}

/* The same of a peer that knows our extension. */
static int accepted_of_ours(struct rdm *rdm, struct far *far)
{
	int fd;

	open_lower(rdm, far);
	fd = request_of_ours(rdm, far, 0);
	expect_type(rdm, fd, 1);
	return fd;
}

static void a_stranger_gets_nothing(void **state)
{
	struct bytes request;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int stranger, fd;

	stranger = accepted(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	owner_answers(rdm, &far, fd, &request, &sent);
	expect_refused(rdm, stranger);
	close_far(&far, fd);
	assert_alive(rdm);
}

/* Not even where requests crossed and that of the higher address would survive. */
static void nor_when_requests_cross(void **state)
{
	struct bytes request, unused;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int stranger, fd;

	open_higher(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	stranger = request_from(rdm, &far, 1, &unused);
	expect_type(rdm, stranger, 1);
	owner_answers(rdm, &far, fd, &request, &sent);
	expect_refused(rdm, stranger);
	close_far(&far, fd);
}

/* The peer has accepted the endpoint's request, and asks for the owner of the address
 * before the endpoint has read the reply. If the endpoint accepted that, each end would
 * end the connection that the other one uses. */
static void a_proof_does_not_cross(void **state)
{
	struct rdm *rdm = *state;
	struct bytes request, answer;
	bool sent = false;
	struct far far;
	int proof, fd;

	open_higher(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	assert_int_equal(request.at[REASON], 0);
	proof = request_of_ours(rdm, &far, IS_CONNECTED);
	answer = raw_recv(&rdm->t, proof, 40);
	assert_int_equal(answer.len, 40);
	assert_int_equal(answer.at[1], REJECT);
	assert_int_equal(answer.at[REASON], 2); /* crossed */
	raw_expect_closed(&rdm->t, proof);
	owner_answers(rdm, &far, fd, &request, &sent);
	close_far(&far, fd);
}

static void a_proof_tells_that_it_is_one(void **state)
{
	struct rdm *rdm = *state;
	struct bytes request;
	bool sent = false;
	struct far far;
	int peer, fd;

	peer = accepted_of_ours(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	assert_int_equal(request.at[REASON], IS_CONNECTED);
	close(peer);
	close_far(&far, fd);
}

/* A peer of another make rejects: it is connected already. */
static void an_older_peer_is_known_by_its_reject(void **state)
{
	struct bytes request;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int peer, fd;

	peer = accepted(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	reject(fd, &request, CM_OLD);
	raw_expect_closed(&rdm->t, fd);
	expect_message(rdm, &far, peer, &sent);
}

/* Two of ours compare instances: @ext is of the reject that comes first. */
static void ours_with(struct rdm *rdm, const char *ext, bool proven)
{
	struct bytes request;
	bool sent = false;
	struct far far;
	int peer, fd;

	peer = accepted_of_ours(rdm, &far);
	fd = asked(rdm, &far, &sent, &request);
	reject(fd, &request, ext);
	raw_expect_closed(&rdm->t, fd);
	if (!proven) {
		fd = asked(rdm, &far, &sent, &request);
		owner_answers(rdm, &far, fd, &request, &sent);
		expect_refused(rdm, peer);
		close_far(&far, fd);
		return;
	}
	expect_message(rdm, &far, peer, &sent);
}

static void ours_are_known_by_their_instance(void **state)
{
	ours_with(*state, REJECT_OURS(CONNECTED_ALREADY, INSTANCE), true);
	/* It asks, perhaps not by the request that told its instance. */
	ours_with(*state, REJECT_OURS(CROSSED, INSTANCE), false);
	ours_with(*state, REJECT_OURS(BUSY, INSTANCE), false);
	ours_with(*state, REJECT_OURS(CONNECTED_ALREADY, OTHER), false);
	ours_with(*state, CM_OLD, false);
}

/* Two requests name one address of another implementation, whose reject does not tell
 * which one is meant. */
static void two_requests_prove_nothing(void **state)
{
	struct bytes request, unused;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int one, two, fd;

	one = accepted(rdm, &far);
	two = request_from(rdm, &far, 2, &unused);
	expect_type(rdm, two, 6);
	raw_expect_closed(&rdm->t, two);
	fd = asked(rdm, &far, &sent, &request);
	reject(fd, &request, CM_OLD);
	raw_expect_closed(&rdm->t, fd);
	fd = asked(rdm, &far, &sent, &request);
	owner_answers(rdm, &far, fd, &request, &sent);
	expect_refused(rdm, one);
	close_far(&far, fd);
}

#define TAGGED_7 "03 01 0400 00 00 18 00 1c00000000000000 0700000000000000 61626364"
#define ACK      "03 00 0000 02 00 10 00 1000000000000000"

/* A message that asks for an acknowledgement. */
static void expect_tag_7(struct rdm *rdm, char buf[4])
{
	assert_int_equal(
		fi_trecv(rdm->t.ep, buf, 4, NULL, FI_ADDR_UNSPEC, 7, 0, NULL), 0);
}

/* Neither delivered nor answered. */
static void expect_silence(struct rdm *rdm, int fd)
{
	enum { CALLS = 1000 };
	char byte;

	for (int i = 0; i < CALLS; i++)
		drive(&rdm->t);
	assert_int_equal(rdm->t.done_count, 0);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Messages over an unproven connection wait for the proof. */
static void messages_wait_for_the_proof(void **state)
{
	struct rdm *rdm = *state;
	struct far far;
	char buf[4];
	int peer;

	peer = accepted(rdm, &far);
	expect_tag_7(rdm, buf);
	raw_hex(peer, TAGGED_7);
	expect_silence(rdm, peer);
	vouch(rdm, &far);
	raw_expect(&rdm->t, peer, ACK);
	assert_int_equal(completion(&rdm->t).len, 4);
	close_far(&far, peer);
}

/* A request that claims the address of @far, and a message in the same segment. */
static int forge(struct rdm *rdm, const struct far *far)
{
	struct bytes request = hex("03 00 0008 " CM_OLD LITTLE "01 00 0000 00000301");
	struct bytes message = hex(TAGGED_7);
	int fd = raw_connect(&rdm->t.name);

	memcpy(request.at + 34, &far->name.sin_port, 2);
	memcpy(request.at + request.len, message.at, message.len);
	raw_send(fd, request.at, request.len + message.len);
	expect_type(rdm, fd, 1);
	return fd;
}

/* The forged message is not delivered before the owner answers, nor after. That of the
 * owner is. */
static void expect_no_forgery(struct rdm *rdm, struct far *far, int stranger)
{
	struct bytes request;
	bool sent = true;
	char buf[4];
	int fd;

	expect_tag_7(rdm, buf);
	expect_silence(rdm, stranger);
	fd = asked(rdm, far, &sent, &request);
	reply(fd, &request, 0x81);
	expect_refused(rdm, stranger);
	assert_int_equal(rdm->t.done_count, 0);
	raw_hex(fd, TAGGED_7);
	raw_expect(&rdm->t, fd, ACK);
	assert_int_equal(completion(&rdm->t).len, 4);
	close_far(far, fd);
}

static void a_message_behind_the_request_is_not_read(void **state)
{
	struct rdm *rdm = *state;
	struct far far;

	open_lower(rdm, &far);
	expect_no_forgery(rdm, &far, forge(rdm, &far));
	open_higher(rdm, &far);
	expect_no_forgery(rdm, &far, forge(rdm, &far));
}

/* A request that claims the address of the endpoint that it is sent to. */
static void the_endpoint_itself_is_not_impersonated(void **state)
{
	struct rdm *rdm = *state;
	const struct far itself = { .name = rdm->t.name };
	struct bytes request;
	int fd = request_from(rdm, &itself, 1, &request);

	expect_type(rdm, fd, REJECT);
	raw_expect_closed(&rdm->t, fd);
	assert_alive(rdm);
}

/* The address comes into the AV when the message is there already. */
static void nor_before_the_address_is_inserted(void **state)
{
	struct rdm *rdm = *state;
	struct far far;
	int stranger;

	open_lower(rdm, &far);
	assert_int_equal(fi_av_remove(rdm->t.av, &far.addr, 1, 0), 0);
	stranger = forge(rdm, &far);
	expect_silence(rdm, stranger);
	assert_int_equal(fi_av_insert(rdm->t.av, &far.name, 1, &far.addr, 0, NULL), 1);
	expect_no_forgery(rdm, &far, stranger);
}

/* A port without listener has no owner: the connection is used. */
static void an_address_without_a_listener(void **state)
{
	struct bytes unused;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int peer;

	open_lower(rdm, &far);
	close(far.listener);
	far.listener = -1;
	peer = request_from(rdm, &far, 1, &unused);
	expect_type(rdm, peer, 1);
	expect_message(rdm, &far, peer, &sent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(a_stranger_gets_nothing),
		EACH(nor_when_requests_cross),
		EACH(a_proof_does_not_cross),
		EACH(a_proof_tells_that_it_is_one),
		EACH(an_older_peer_is_known_by_its_reject),
		EACH(ours_are_known_by_their_instance),
		EACH(two_requests_prove_nothing),
		EACH(messages_wait_for_the_proof),
		EACH(a_message_behind_the_request_is_not_read),
		EACH(nor_before_the_address_is_inserted),
		EACH(the_endpoint_itself_is_not_impersonated),
		EACH(an_address_without_a_listener),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
