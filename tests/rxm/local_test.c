/* SPDX-License-Identifier: BSD-2-Clause */
/* Peers of an endpoint of tcp;ofi_rxm that are plain sockets and say that they share
 * memory with it, truly or not: the peer gets what it is due by the socket, or is hung
 * up on, and others are not disturbed. */
#include "raw.h"

#include "objects/local/proof.h"

enum { MARK_LEN = 4, CARD_AT = ACCEPT_LEN + MARK_LEN, PID = 0x1b7f };

/* A name below that nobody has. */
#define NAME "fi_shm://1:2:3"

/* The peer: a socket, and a proof. */
struct far {
	struct rdm_end env;
	struct wf_proof proof;
	struct reply reply;
	uint16_t port;
	int fd;
	fi_addr_t addr;
};

static void open_far(struct far *far)
{
	memset(far, 0, sizeof(*far));
	far->proof.fd = -1;
	setup(&far->env);
}

static void close_far(struct far *far)
{
	close(far->fd);
	wf_proof_done(&far->proof);
	rdm_end_close(&far->env);
}

/* Ask for a connection, with the card @card. */
static void ask_with(struct far *far, const uint8_t card[WF_PROOF_CARD])
{
	uint8_t more[MARK_LEN + WF_PROOF_CARD] = { 'w', 'f', 'l', 1 };
	struct sockaddr_in addr = { .sin_family = AF_INET };

	memcpy(more + MARK_LEN, card, WF_PROOF_CARD);
	far->fd = request(&far->env, more, sizeof(more), &far->reply, &far->port);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = htons(far->port);
	assert_int_equal(fi_av_insert(far->env.av, &addr, 1, &far->addr, 0, NULL), 1);
}

static void ask(struct far *far, uint64_t instance)
{
	uint8_t card[WF_PROOF_CARD];

	assert_int_equal(wf_proof_make(&far->proof, instance, NAME, card), 0);
	ask_with(far, card);
}

static bool has_card(const struct far *far)
{
	return far->reply.len == CARD_AT + WF_PROOF_CARD;
}

/* Open the endpoint, which accepts the card of the peer and sends its own. */
static void open_asked(struct far *far)
{
	open_far(far);
	ask(far, PID);
	assert_true(has_card(far));
}

/* The instance of the endpoint: what its acceptance has as process id. */
static uint64_t instance_of(const struct far *far)
{
	uint32_t pid;

	memcpy(&pid, far->reply.data + 4, sizeof(pid));
	return pid;
}

static void tell(struct far *far)
{
	packet(far->fd, id_in(&far->reply), BARE("09"));
}

static void run(struct far *far)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(step(&far->env, &entry), 0);
}

/* Has nothing come from the endpoint? */
static bool is_silent(struct far *far)
{
	uint8_t byte;

	run(far);
	return recv(far->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static void inject(struct far *far)
{
	assert_int_equal(fi_tinject(far->env.ep, "abcd", 4, far->addr, 7), 0);
}

/* The message of inject() comes by the socket. */
static void expect_message(struct far *far)
{
	uint8_t in[CORE_LEN + HDR_LEN + 4];

	assert_int_equal(get(&far->env, far->fd, in, sizeof(in)), sizeof(in));
	assert_memory_equal(in + CORE_LEN + HDR_LEN, "abcd", 4);
}

static void expect_end(struct far *far)
{
	uint8_t byte;

	assert_int_equal(get(&far->env, far->fd, &byte, 1), 0);
}

/* A card of another process of the peer, or of another machine, user, or version; and
 * one that leads nowhere. */
static void test_cards_that_are_wrong(void **state)
{
	static const struct {
		size_t at;
		uint64_t instance;
	} wrong[] = { { 40, PID + 1 }, { 0, PID }, { 4, PID }, { 8, PID }, { 24, PID },
		{ 36, PID } };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t card[WF_PROOF_CARD + 1];
		struct far far;

		open_far(&far);
		assert_int_equal(
			wf_proof_make(&far.proof, wrong[i].instance, NAME, card), 0);
		card[wrong[i].at] ^= 0x55;
		ask_with(&far, card);
		assert_false(has_card(&far));
		inject(&far);
		expect_message(&far);
		/* It has no answer to wait for. */
		tell(&far);
		expect_end(&far);
		close_far(&far);
	}
}

/* The endpoint sends nothing before the peer has told its answer. */
static void test_no_answer_in_the_page(void **state)
{
	struct far far;

	(void)state;
	open_asked(&far);
	inject(&far);
	assert_true(is_silent(&far));
	tell(&far);
	expect_message(&far);
	tell(&far);
	expect_end(&far);
	close_far(&far);
}

static void test_a_refusal_and_a_wrong_number(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct far far;

		open_asked(&far);
		wf_page_prove(far.proof.own, i ? WF_PAGE_REFUSED : 12345);
		tell(&far);
		inject(&far);
		expect_message(&far);
		close_far(&far);
	}
}

/* The peer proves that it reads the endpoint's page, and its endpoint below is not
 * there: after the time limit for connecting all goes by the socket. */
static void test_nobody_is_below(void **state)
{
	char name[WF_PROOF_NAME];
	struct far far;

	(void)state;
	open_asked(&far);
	assert_int_equal(wf_proof_read(&far.proof, far.reply.data + CARD_AT,
				 instance_of(&far), name),
		WF_UNREACHED_NOT);
	assert_int_equal(wf_proof_verdict(&far.proof), WF_VERDICT_PROOF);
	/* No name that another process may get. */
	assert_non_null(strstr(name, "fi_shm://weft-"));
	tell(&far);
	inject(&far);
	expect_message(&far);
	close_far(&far);
}

/* The peer says nothing: the connection ends after the time limit. */
static void test_the_peer_says_nothing(void **state)
{
	struct far far;

	(void)state;
	open_asked(&far);
	inject(&far);
	expect_end(&far);
	close_far(&far);
}

/* Packets before the answer are handled, and the end comes at any moment. */
static void test_messages_before_the_answer(void **state)
{
	struct fi_cq_tagged_entry entry;
	char buf[8] = { 0 };
	struct far far;
	int ret;

	(void)state;
	open_far(&far);
	ask(&far, PID);
	assert_int_equal(
		fi_trecv(far.env.ep, buf, sizeof(buf), NULL, FI_ADDR_UNSPEC, 9, 0, buf),
		0);
	packet(far.fd, id_in(&far.reply),
		TAGGED("0400000000000000", "0900000000000000") "61626364");
	while (!(ret = step(&far.env, &entry)))
		;
	assert_int_equal(ret, 1);
	assert_memory_equal(buf, "abcd", 4);
	assert_int_equal(shutdown(far.fd, SHUT_RDWR), 0);
	run(&far);
	close_far(&far);
}

/* With the argument "late" the cases in which the time limit for connecting is over,
 * which is then short; otherwise it is too long for a test. */
int main(int argc, char **argv)
{
	const struct CMUnitTest late[] = {
		cmocka_unit_test(test_nobody_is_below),
		cmocka_unit_test(test_the_peer_says_nothing),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cards_that_are_wrong),
		cmocka_unit_test(test_no_answer_in_the_page),
		cmocka_unit_test(test_a_refusal_and_a_wrong_number),
		cmocka_unit_test(test_messages_before_the_answer),
	};

	if (argc > 1 && !strcmp(argv[1], "late")) {
		(void)setenv("FI_OFI_RXM_CONNECT_TIMEOUT", "500", 1);
		return cmocka_run_group_tests(late, NULL, NULL);
	}
	(void)setenv("FI_OFI_RXM_CONNECT_TIMEOUT", "3600000", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
