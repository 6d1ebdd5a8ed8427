/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proofs that two processes share memory: true ones between processes, and cards with
 * each field wrong.
 */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "providers/tcp/local/proof.h"

enum { INSTANCE = 0x1234567 };

/* Offsets in a card. */
enum {
	AT_LAYOUT = 0,
	AT_UID = 4,
	AT_BOOT_ID = 8,
	AT_PID_NS = 24,
	AT_PID = 32,
	AT_FD = 36,
};

/* What a child process tells. */
struct told {
	uint64_t number;
	uint8_t card[TCP_WIRE_CARD];
};

static pid_t child_with_proof(struct told *ret)
{
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (!pid) {
		struct tcp_proof proof;
		struct told told;

		if (tcp_proof_make(&proof, INSTANCE, told.card))
			_exit(1);
		told.number = proof.number;
		if (write(pipes[1], &told, sizeof(told)) != sizeof(told))
			_exit(2);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(pipes[0], ret, sizeof(*ret)), sizeof(*ret));
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

static void end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void another_process_is_near(void **state)
{
	struct told told;
	pid_t pid = child_with_proof(&told);
	uint64_t number = 0;

	assert_int_equal(tcp_proof_read(told.card, INSTANCE, &number), TCP_APART_NOT);
	assert_int_equal(number, told.number);
	assert_int_not_equal(number, 0);
	end(pid);
	/* The memory went with the process. */
	assert_int_equal(
		tcp_proof_read(told.card, INSTANCE, &number), TCP_APART_UNREADABLE);
}

static void another_endpoint_is_a_stranger(void **state)
{
	struct tcp_proof proof;
	uint8_t card[TCP_WIRE_CARD];
	uint64_t number = 0;

	assert_int_equal(tcp_proof_make(&proof, INSTANCE, card), 0);
	assert_int_equal(
		tcp_proof_read(card, INSTANCE + 1, &number), TCP_APART_STRANGER);
	assert_int_equal(number, 0);
	tcp_proof_done(&proof);
	tcp_proof_done(&proof);
	assert_int_equal(tcp_proof_read(card, INSTANCE, &number), TCP_APART_UNREADABLE);
}

/* A number that one connection saw proves nothing on the next. */
static void numbers_are_fresh(void **state)
{
	struct tcp_proof a, b;
	uint8_t card[TCP_WIRE_CARD];

	assert_int_equal(tcp_proof_make(&a, INSTANCE, card), 0);
	assert_int_equal(tcp_proof_make(&b, INSTANCE, card), 0);
	assert_true(a.number != b.number);
	tcp_proof_done(&a);
	tcp_proof_done(&b);
}

static void each_field_counts(void **state)
{
	static const struct {
		unsigned int at;
		enum tcp_apart apart;
	} rows[] = {
		{ AT_LAYOUT, TCP_APART_VERSION },
		{ AT_UID, TCP_APART_USER },
		{ AT_BOOT_ID, TCP_APART_MACHINE },
		{ AT_BOOT_ID + 15, TCP_APART_MACHINE },
		{ AT_PID_NS, TCP_APART_NAMESPACE },
		{ AT_PID_NS + 7, TCP_APART_NAMESPACE },
		/* No process has such an id. */
		{ AT_PID + 3, TCP_APART_UNREADABLE },
		{ AT_FD + 1, TCP_APART_UNREADABLE },
		{ AT_FD + 3, TCP_APART_UNREADABLE },
	};
	struct tcp_proof proof;
	uint8_t card[TCP_WIRE_CARD], changed[TCP_WIRE_CARD];
	uint64_t number = 0;

	assert_int_equal(tcp_proof_make(&proof, INSTANCE, card), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(changed, card, sizeof(card));
		changed[rows[i].at] ^= 0x40;
		assert_int_equal(
			tcp_proof_read(changed, INSTANCE, &number), rows[i].apart);
		assert_int_equal(number, 0);
		assert_non_null(tcp_apart_text(rows[i].apart));
	}
	assert_int_equal(tcp_proof_read(card, INSTANCE, &number), TCP_APART_NOT);
	tcp_proof_done(&proof);
}

static void no_memory_is_no_proof(void **state)
{
	static const uint8_t none[TCP_WIRE_CARD];
	uint64_t number = 0;

	assert_int_equal(tcp_proof_read(none, INSTANCE, &number), TCP_APART_VERSION);
	assert_int_equal(number, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_process_is_near),
		cmocka_unit_test(another_endpoint_is_a_stranger),
		cmocka_unit_test(numbers_are_fresh),
		cmocka_unit_test(each_field_counts),
		cmocka_unit_test(no_memory_is_no_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
