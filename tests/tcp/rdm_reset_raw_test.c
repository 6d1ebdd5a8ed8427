/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer that resets its connection between two operations of an endpoint with
 * automatic progress: the second one ends once, whatever the library does about the
 * connection.
 */
#include "raw_rdm.h"

enum { ROUNDS = 4 };

/* Completions and errors with that context: until there is one, and as long again as
 * another try would take to fail. */
static unsigned int count_ends(struct target *t, const void *context)
{
	enum { LOOKS_AFTER = 100 };
	time_t end = now_s() + PATIENCE_S;
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	unsigned int count = 0;

	for (int after = 0; after<LOOKS_AFTER; after += count> 0) {
		ssize_t n = fi_cq_read(t->cq, &entry, 1);

		if (n == 1)
			count += entry.op_context == context;
		else if (n == -FI_EAVAIL && fi_cq_readerr(t->cq, &err, 0) == 1)
			count += err.op_context == context;
		else if (count)
			(void)usleep(1000);
		assert_true(now_s() < end);
	}
	return count;
}

/* This end makes the connection, so that the endpoint sends over it. */
static int reset_peer(struct rdm *rdm, fi_addr_t *ret_addr)
{
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in name = rdm->t.name;
	uint16_t port = rdm->next_port;
	int fd = rdm_connect(rdm, OURS);

	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
	name.sin_port = htons(port);
	assert_int_equal(fi_av_insert(rdm->t.av, &name, 1, ret_addr, 0, NULL), 1);
	return fd;
}

/* RMA writes and atomics have records of their own, unlike small messages. */
static void operation_after_a_reset_ends_once(void **state)
{
	struct fi_context2 context[2];
	struct rdm *rdm = *state;
	uint64_t value = 1;
	fi_addr_t addr;
	int fd;

	for (int i = 0; i < ROUNDS; i++) {
		fd = reset_peer(rdm, &addr);
		assert_int_equal(fi_inject(rdm->t.ep, &value, sizeof(value), addr), 0);
		drive(&rdm->t);
		(void)close(fd);
		assert_int_equal(i % 2 ? fi_atomic(rdm->t.ep, &value, 1, NULL, addr, 0,
						 KEY, FI_UINT64, FI_SUM, &context[0])
				       : fi_write(rdm->t.ep, &value, sizeof(value),
						 NULL, addr, 0, KEY, &context[0]),
			0);
		assert_int_equal(count_ends(&rdm->t, &context[0]), 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { EACH(operation_after_a_reset_ends_once) };

	/* Nothing listens where the peer was. */
	(void)setenv("FI_TCP_CONNECT_TIMEOUT", "20", 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
