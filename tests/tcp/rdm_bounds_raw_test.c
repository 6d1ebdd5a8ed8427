/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EPA-034. FI_EP_RDM with many strangers that each send too much: what they make the
 * endpoint keep is bounded in sum, not only for each of them.
 */
#include "../resident.h"
#include "../sanitizer.h"
#include "raw_rdm.h"

enum { LIMIT = 4 << 20, STRANGERS = 60 };

/* Send @len bytes of @records, until the endpoint reads no more of them. */
static void flood(struct rdm *rdm, int fd, const uint8_t *records, size_t len)
{
	enum { IDLE = 50, ENOUGH = 8 << 20 };
	size_t at = 0, sent = 0;

	for (int idle = 0; idle < IDLE && sent < ENOUGH;) {
		ssize_t n =
			send(fd, records + at, len - at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			idle++;
		} else {
			idle = 0;
			sent += (size_t)n;
			at = (at + (size_t)n) % len;
		}
		drive(&rdm->t);
	}
}

/* @head: a record without its payload of @payload_len bytes. */
static void check(struct rdm *rdm, const char *head, size_t payload_len, size_t slack)
{
	struct bytes one = hex(head);
	size_t size = one.len + payload_len, count = 65536 / size, before, after;
	uint8_t *records = calloc(count, size);
	int fd[STRANGERS], small = 65536;

	assert_non_null(records);
	for (size_t i = 0; i < count; i++)
		memcpy(records + i * size, one.at, one.len);
	for (int i = 0; i < STRANGERS; i++) {
		fd[i] = rdm_connect(rdm, OURS);
		(void)setsockopt(fd[i], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		(void)setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	}
	before = resident();
	for (int i = 0; i < STRANGERS; i++)
		flood(rdm, fd[i], records, count * size);
	after = resident();
	/* Sanitizers use several times the memory. */
	if (!SANITIZED)
		assert_true(after < before + LIMIT + slack);
	assert_alive(rdm);
	for (int i = 0; i < STRANGERS; i++)
		close(fd[i]);
	assert_alive(rdm);
	free(records);
}

static void messages_without_receives(void **state)
{
	check(*state, "03 00 0000 00 00 10 00 1002000000000000", 512, 4 << 20);
}

/* A fetching atomic of 4096 bytes, FI_ATOMIC_READ of uint8. A connection that reading
 * stopped at has up to 16 KiB of requests and one answer beyond its part. */
static void fetches_whose_answers_are_not_read(void **state)
{
	check(*state,
		"03 41 0001 0a 01 28 00 2800000000000000"
		"0000000000000000 0010000000000000 ed5e000000000000",
		0, 6 << 20);
}

/* Probes are small, and so are their answers. */
static void probes_whose_answers_are_not_read(void **state)
{
	check(*state, "03 47 0000 00 00 18 00 1800000000000000 0100000000000000", 0,
		6 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(messages_without_receives),
		EACH(fetches_whose_answers_are_not_read),
		EACH(probes_whose_answers_are_not_read),
	};
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", LIMIT);
	(void)setenv("FI_TCP_UNEXPECTED_SIZE", text, 1);
	(void)setenv("FI_TCP_ANSWER_SIZE", text, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
