/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_EP_RDM with peers that send too much: no peer may use memory without limit, and
 * one that exceeds a limit does not affect the connections of others.
 */
#include <fcntl.h>

#include "../resident.h"
#include "../sanitizer.h"
#include "raw_rdm.h"

/* Sanitizers use several times the memory and the time, and do not check its amount:
 * all amounts are smaller, and so are the limits. */
enum {
	PART = SANITIZED ? 16 : 1,
	UNEXPECTED_LIMIT = (256 << 20) / PART,
	ANSWER_LIMIT = (16 << 20) / PART,
};

/* Send @record again and again until the endpoint, although it is driven, reads no
 * more of it, or has read so much that all of it in memory would be seen. */
static void flood(struct rdm *rdm, int fd, const struct bytes *record)
{
	enum { ENOUGH = (160 << 20) / PART, IDLE = 2000 };
	size_t sent = 0, left = record->len;
	int idle = 0;

	while (sent < ENOUGH && idle < IDLE) {
		ssize_t n = send(fd, record->at + record->len - left, left,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			drive(&rdm->t);
			idle++;
			continue;
		}
		idle = 0;
		sent += (size_t)n;
		left -= (size_t)n;
		if (!left)
			left = record->len;
	}
}

/* As many whole records in one piece as fit, so that it does not take for ever. */
static struct bytes repeated(const char *head, size_t payload_len)
{
	struct bytes one = hex(head), many = { 0 };

	one.len += payload_len;
	while (many.len + one.len <= sizeof(many.at)) {
		memcpy(many.at + many.len, one.at, one.len);
		many.len += one.len;
	}
	return many;
}

/* Its memory stays within bounds, and others are served as ever. */
static void check_flood(struct rdm *rdm, enum level level, const char *head, size_t len)
{
	enum { BOUND = 640 << 20 };
	int fd = rdm_connect(rdm, level);
	struct bytes records = repeated(head, len);
	size_t before = resident();

	flood(rdm, fd, &records);
	if (!THREAD_SANITIZER)
		assert_true(resident() < before + BOUND);
	assert_alive(rdm);
	close(fd);
	assert_alive(rdm);
}

static void untagged_messages_without_receives(void **state)
{
	check_flood(*state, VERSION_1, "03 00 0000 00 00 10 00 1002000000000000", 512);
}

static void empty_messages_without_receives(void **state)
{
	check_flood(*state, VERSION_1, "03 00 0000 00 00 10 00 1000000000000000", 0);
}

static void tagged_messages_without_receives(void **state)
{
	check_flood(*state, VERSION_1,
		"03 01 0000 00 00 18 00 1802000000000000 0100000000000000", 512);
}

static void empty_tagged_messages_without_receives(void **state)
{
	check_flood(*state, OURS,
		"03 01 0000 00 00 18 00 1800000000000000 0100000000000000", 0);
}

/* The limit is one for all that send what is not received (MSG-018). */
static void messages_of_several_without_receives(void **state)
{
	enum { SLACK = 96 << 20 };
	struct bytes records = repeated("03 00 0000 00 00 10 00 1002000000000000", 512);
	struct rdm *rdm = *state;
	size_t before = resident();
	int fd[3];

	for (size_t i = 0; i < 3; i++) {
		fd[i] = rdm_connect(rdm, VERSION_1);
		flood(rdm, fd[i], &records);
	}
	if (!THREAD_SANITIZER)
		assert_true(resident() < before + UNEXPECTED_LIMIT + SLACK);
	assert_alive(rdm);
	for (size_t i = 0; i < 3; i++)
		close(fd[i]);
	assert_alive(rdm);
}

/* The peer reads no answers: the endpoint must not accept requests without limit. */
static void reads_whose_answers_are_not_read(void **state)
{
	check_flood(*state, VERSION_1,
		"03 02 0000 00 01 28 00 2800000000000000"
		"0000000000000000 0010000000000000"
		"ed5e000000000000",
		0);
}

/* A fetching atomic of @bytes, FI_ATOMIC_READ of uint8: what is asked for is copied. */
static struct bytes fetches(unsigned int bytes)
{
	struct bytes one = hex("03 41 0001 0a 01 28 00 2800000000000000"
			       "0000000000000000 0000000000000000"
			       "ed5e000000000000"),
		     many = { 0 };

	one.at[24] = (uint8_t)bytes;
	one.at[25] = (uint8_t)(bytes >> 8);
	while (many.len + one.len <= sizeof(many.at)) {
		memcpy(many.at + many.len, one.at, one.len);
		many.len += one.len;
	}
	return many;
}

/* Two requesters that read nothing: their answers are counted in bytes and together,
 * and not per connection or in answers; the reads of a third one go on. */
static void fetches_whose_answers_are_not_read(void **state)
{
	enum { SLACK = 48 << 20 };
	struct rdm *rdm = *state;
	struct bytes records = fetches(REGION);
	size_t before;
	int fd[6];

	for (size_t i = 0; i < 6; i++)
		fd[i] = rdm_connect(rdm, OURS);
	before = resident();
	for (size_t i = 0; i < 6; i++)
		flood(rdm, fd[i], &records);
	if (!THREAD_SANITIZER)
		assert_true(resident() < before + ANSWER_LIMIT + SLACK);
	/* Another one gets its answer. */
	raw_hex(rdm->good, "03 02 0000 00 01 28 00 2800000000000000"
			   "0000000000000000 0400000000000000 ed5e000000000000");
	raw_expect(
		&rdm->t, rdm->good, "03 03 0000 00 00 10 00 1400000000000000 00010203");
	for (size_t i = 0; i < 6; i++)
		close(fd[i]);
	assert_alive(rdm);
}

static void probes_whose_answers_are_not_read(void **state)
{
	check_flood(*state, OURS,
		"03 47 0000 00 00 18 00 1800000000000000 0100000000000000", 0);
}

static void writes_whose_answers_are_not_read(void **state)
{
	check_flood(*state, VERSION_1, "03 04 0400 00 00 10 00 1000000000000000", 0);
}

static void errors_that_are_not_read(void **state)
{
	check_flood(*state, OURS,
		"03 02 0000 00 01 28 00 2800000000000000"
		"0000000000000000 0100000000000000"
		"0000000000000000",
		0);
}

/* The announced length is the largest number; no memory is allocated for it. */
static void messages_longer_than_memory(void **state)
{
	static const char *const texts[] = {
		"03 00 0000 00 00 10 00 0000000000000020",
		"03 01 0000 00 00 18 00 0000000000000020 0100000000000000",
		"03 01 0400 00 00 18 00 0000000000000020 0100000000000000",
		("03 05 0000 01 00 20 00 2000000000000000 0100000000000000"
		 "0000000000000020"),
	};
	struct rdm *rdm = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = rdm_connect(rdm, VERSION_1);

		raw_hex(fd, texts[i]);
		raw_hex(fd, "0000000000000000");
		assert_alive(rdm);
		close(fd);
		assert_alive(rdm);
	}
}

/* All indices announced, and none ever asked for. */
static void rendezvous_that_nobody_wants(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (unsigned int index = 1; index < 255; index++) {
		struct bytes rts = hex("03 05 0000 00 00 20 00 2000000000000000"
				       "0100000000000000 0000100000000000");

		rts.at[4] = (uint8_t)index;
		raw_send(fd, rts.at, rts.len);
	}
	assert_alive(rdm);
	close(fd);
	assert_alive(rdm);
}

static void gone_in_the_middle(void **state)
{
	static const char *const texts[] = {
		"03 01 0000 00 00 18 00 1810000000000000 0700000000000000 6162",
		"03 01 0000 00 00 18 00 1810000000000000 0700",
		("03 04 0400 00 01 28 00 2802000000000000"
		 "0000000000000000 0002000000000000 ed5e000000000000 6162"),
		"03 00 0000 00 00 10 00 1810000000000000 6162",
	};
	struct rdm *rdm = *state;
	static char buf[8192];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = rdm_connect(rdm, VERSION_1);

		assert_int_equal(fi_trecv(rdm->t.ep, buf, sizeof(buf), NULL,
					 FI_ADDR_UNSPEC, 7, 0, NULL),
			0);
		raw_hex(fd, texts[i]);
		assert_alive(rdm);
		close(fd);
		assert_alive(rdm);
	}
}

/* Connections that send nothing, more than any application would have. */
static void many_silent_connections(void **state)
{
	struct rdm *rdm = *state;
	int fd[500];

	for (size_t i = 0; i < 500; i++) {
		fd[i] = raw_connect(&rdm->t.name);
		if (i % 2)
			raw_send(fd[i], "\3", 1);
		drive(&rdm->t);
	}
	assert_alive(rdm);
	for (size_t i = 0; i < 500; i++)
		close(fd[i]);
	assert_alive(rdm);
}

static void set_limit(const char *variable, int bytes)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", bytes);
	(void)setenv(variable, text, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(untagged_messages_without_receives),
		EACH(empty_messages_without_receives),
		EACH(tagged_messages_without_receives),
		EACH(messages_of_several_without_receives),
		EACH(empty_tagged_messages_without_receives),
		EACH(reads_whose_answers_are_not_read),
		EACH(fetches_whose_answers_are_not_read),
		EACH(probes_whose_answers_are_not_read),
		EACH(writes_whose_answers_are_not_read),
		EACH(errors_that_are_not_read),
		EACH(messages_longer_than_memory),
		EACH(rendezvous_that_nobody_wants),
		EACH(gone_in_the_middle),
		EACH(many_silent_connections),
	};

	/* Less than a machine that runs tests can spare. */
	set_limit("FI_TCP_UNEXPECTED_SIZE", UNEXPECTED_LIMIT);
	set_limit("FI_TCP_ANSWER_SIZE", ANSWER_LIMIT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
