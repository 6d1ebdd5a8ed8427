/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint of tcp;ofi_rxm connects to a peer that is a plain socket, and its
 * acceptance says truly or not that it shares memory: the message comes by the socket
 * in any case, after the endpoint's answer to the card, if there was one. */
#include "raw.h"

#include "objects/local/proof.h"

enum {
	MARK_LEN = 4,
	CARD_AT = REQUEST_LEN + MARK_LEN,
	QUESTION_LEN = 12,
	PID = 0x1b80,
	PID_AT = 20
};

/* A name below that nobody has. */
#define NAME "fi_shm://1:2:3"

struct far {
	struct rdm_end env;
	struct wf_proof proof;
	int listener, fd;
	uint8_t request[256];
	size_t request_len;
	uint8_t more[MARK_LEN + WF_PROOF_CARD]; /* behind the acceptance */
};

static fi_addr_t listen_at(struct far *far)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	fi_addr_t ret;

	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	far->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(far->listener, (void *)&addr, len), 0);
	assert_int_equal(getsockname(far->listener, (void *)&addr, &len), 0);
	assert_int_equal(listen(far->listener, 4), 0);
	assert_int_equal(fi_av_insert(far->env.av, &addr, 1, &ret, 0, NULL), 1);
	return ret;
}

/* The endpoint sends a message, and its request to connect is there. */
static void open_far(struct far *far)
{
	struct fi_cq_tagged_entry entry;
	uint8_t head[CM_LEN];

	memset(far, 0, sizeof(*far));
	setup(&far->env);
	assert_int_equal(fi_tinject(far->env.ep, "abcd", 4, listen_at(far), 7), 0);
	while ((far->fd = accept(far->listener, NULL, NULL)) < 0)
		(void)step(&far->env, &entry);
	assert_int_equal(get(&far->env, far->fd, head, sizeof(head)), sizeof(head));
	far->request_len = (size_t)head[2] << 8 | head[3];
	assert_int_equal(far->request_len, CARD_AT + WF_PROOF_CARD + QUESTION_LEN);
	assert_int_equal(get(&far->env, far->fd, far->request, far->request_len),
		far->request_len);
	assert_memory_equal(far->request + REQUEST_LEN, "wfl\1", MARK_LEN);
	assert_int_equal(
		wf_proof_make(&far->proof, PID, NAME, far->more + MARK_LEN), 0);
	memcpy(far->more, "wfl\1", MARK_LEN);
}

static void close_far(struct far *far)
{
	close(far->fd);
	close(far->listener);
	wf_proof_done(&far->proof);
	rdm_end_close(&far->env);
}

/* Write the answer to the endpoint's card into the page. */
static void prove(struct far *far)
{
	char name[WF_PROOF_NAME];
	uint32_t pid;

	memcpy(&pid, far->request + PID_AT, sizeof(pid));
	assert_int_equal(wf_proof_read(&far->proof, far->request + CARD_AT, pid, name),
		WF_UNREACHED_NOT);
}

/* Accept, with @len bytes of far->more. */
static void accept_with(struct far *far, size_t len)
{
	struct bytes reply =
		hex("03 01 0000 00000000 0000000000000000 0000000000000000"
		    "0100000000000000 05000000 801b0000 00100000 02 000000");

	reply.at[3] = (uint8_t)(ACCEPT_LEN + len);
	memcpy(reply.at + reply.len, far->more, len);
	put(far->fd, reply.at, reply.len + len);
}

/* The kind of the next packet. */
static uint8_t next_packet(struct far *far, uint8_t payload[4])
{
	uint8_t head[CORE_LEN + HDR_LEN];
	uint64_t total;

	assert_int_equal(get(&far->env, far->fd, head, sizeof(head)), sizeof(head));
	memcpy(&total, head + 8, sizeof(total));
	if (total > sizeof(head))
		assert_int_equal(get(&far->env, far->fd, payload, 4), 4);
	return head[CORE_LEN + 1];
}

static void expect_message(struct far *far)
{
	uint8_t payload[4];

	assert_int_equal(next_packet(far, payload), 0);
	assert_memory_equal(payload, "abcd", 4);
}

static void expect_answer(struct far *far, bool proven)
{
	uint8_t payload[4];

	assert_int_equal(next_packet(far, payload), 9);
	if (far->proof.peer)
		assert_int_equal(
			wf_proof_verdict(&far->proof) == WF_VERDICT_PROOF, proven);
}

static void test_an_acceptance_without_a_card(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	accept_with(&far, 0);
	expect_message(&far);
	close_far(&far);
}

/* Half a card, or another mark: it is none. */
static void test_half_a_card(void **state)
{
	struct far far;

	(void)state;
	for (int i = 0; i < 2; i++) {
		open_far(&far);
		prove(&far);
		far.more[3] = (uint8_t)(1 + i);
		accept_with(&far, sizeof(far.more) - (i ? 0 : 1));
		expect_message(&far);
		close_far(&far);
	}
}

/* The peer has not shown that it reads the endpoint's page. */
static void test_no_proof(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	accept_with(&far, sizeof(far.more));
	expect_answer(&far, false);
	expect_message(&far);
	close_far(&far);
}

static void test_a_wrong_number(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	prove(&far);
	wf_page_prove(far.proof.own, 12345);
	accept_with(&far, sizeof(far.more));
	expect_answer(&far, false);
	expect_message(&far);
	close_far(&far);
}

/* A card that leads nowhere. */
static void test_a_wrong_card(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	prove(&far);
	far.more[MARK_LEN + 36] ^= 0x55;
	accept_with(&far, sizeof(far.more));
	expect_answer(&far, false);
	expect_message(&far);
	close_far(&far);
}

/* The proof is true, and nobody has the name: the socket is used after the time
 * limit. */
static void test_nobody_is_below(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	prove(&far);
	accept_with(&far, sizeof(far.more));
	expect_answer(&far, true);
	expect_message(&far);
	close_far(&far);
}

/* The endpoint has no name below. */
static void test_no_name(void **state)
{
	struct far far;

	(void)state;
	open_far(&far);
	wf_proof_done(&far.proof);
	assert_int_equal(wf_proof_make(&far.proof, PID, NULL, far.more + MARK_LEN), 0);
	prove(&far);
	accept_with(&far, sizeof(far.more));
	expect_answer(&far, false);
	expect_message(&far);
	close_far(&far);
}

/* The argument "late" as in local_test.c. */
int main(int argc, char **argv)
{
	const struct CMUnitTest late[] = {
		cmocka_unit_test(test_nobody_is_below),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_acceptance_without_a_card),
		cmocka_unit_test(test_half_a_card),
		cmocka_unit_test(test_no_proof),
		cmocka_unit_test(test_a_wrong_number),
		cmocka_unit_test(test_a_wrong_card),
		cmocka_unit_test(test_no_name),
	};

	if (argc > 1 && !strcmp(argv[1], "late")) {
		(void)setenv("FI_OFI_RXM_CONNECT_TIMEOUT", "500", 1);
		return cmocka_run_group_tests(late, NULL, NULL);
	}
	(void)setenv("FI_OFI_RXM_CONNECT_TIMEOUT", "3600000", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
