/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_EP_RDM among peers that are old, odd, broken or hostile: each gets what is due to
 * it, and none of them harms a connection but its own.
 */
#include "raw_rdm.h"

static const struct hostile {
	enum level level;
	const char *text;
} hostile[] = {
	/* Answers without a request: the first ones end older peers. */
	{ VERSION_1, "03 00 0000 02 00 10 00 1000000000000000" },
	{ VERSION_1, "03 06 0000 01 00 10 00 1000000000000000" },
	{ VERSION_1, "03 06 0000 fe 00 10 00 1000000000000000" },
	{ VERSION_1, "03 07 0000 01 00 10 00 1000000000000000" },
	{ VERSION_1, "03 07 0000 fe 00 10 00 2000000000000000" },
	{ VERSION_1, "03 03 0000 00 00 10 00 1000000000000000" },
	{ VERSION_1, "03 03 0000 00 00 10 00 1010000000000000" },
	{ OURS, "03 43 0000 00 00 10 00 1800000000000000" },
	{ OURS, "03 45 0000 02 00 18 00 1800000000000000 0d00000000000000" },
	{ OURS, "03 45 0000 03 00 18 00 1800000000000000 0d00000000000000" },
	{ OURS, "03 46 0000 00 00 18 00 1800000000000000 0100000000000000" },
	/* Beyond what was agreed on. */
	{ VERSION_0, "03 05 0000 01 00 20 00 2000000000000000"
		     "0100000000000000 0000100000000000" },
	{ VERSION_1, "03 08 0000 00 00 10 00 1000000000000000" },
	{ VERSION_1, "03 40 0407 02 01 28 00 3000000000000000"
		     "0000000000000000 0800000000000000 ed5e000000000000"
		     "0100000000000000" },
	{ VERSION_1, "03 44 0000 01 00 18 00 1800000000000000 0000100000000000" },
	{ VERSION_1, "03 47 0000 00 00 18 00 1800000000000000 0100000000000000" },
	{ VERSION_1, "03 ff 0000 00 00 10 00 1000000000000000" },
	/* Headers that are none. */
	{ VERSION_1, "03 00 0000 00 00 80 00 8000000000000000" },
	{ VERSION_1, "03 00 0000 00 00 ff 00 ff00000000000000" },
	{ VERSION_1, "03 00 0000 00 00 00 00 1000000000000000" },
	{ VERSION_1, "03 00 0000 00 00 08 00 1000000000000000" },
	{ VERSION_1, "03 01 0000 00 00 10 00 1000000000000000" },
	{ VERSION_1, "03 00 0000 00 00 10 00 0800000000000000" },
	{ VERSION_1, "03 00 0000 00 00 10 00 ffffffffffffffff" },
	{ VERSION_1, "03 00 0000 02 00 10 00 1400000000000000 00000000" },
	{ VERSION_1, "03 05 0000 00 00 20 00 2000000000000000"
		     "0100000000000000 0000100000000000" },
	{ VERSION_1, "03 05 0000 01 00 20 00 2000000000000000"
		     "0100000000000000 ffffffffffffffff" },
	/* segments */
	{ VERSION_1, "03 02 0000 00 05 78 00 7800000000000000" },
	{ VERSION_1, "03 04 0000 00 ff 10 00 1000000000000000" },
	{ VERSION_1, "03 02 0000 00 01 28 00 2800000000000000"
		     "0000000000000000 ffffffffffffffff ed5e000000000000" },
	{ VERSION_1, "03 04 0000 00 01 28 00 3000000000000000"
		     "0000000000000000 0400000000000000 ed5e000000000000"
		     "0102030405060708" },
	/* Memory that is not theirs, where no error answer was agreed on. */
	{ VERSION_1, "03 02 0000 00 01 28 00 2800000000000000"
		     "0000000000000000 0800000000000000 0000000000000000" },
	{ VERSION_1, "03 02 0000 00 01 28 00 2800000000000000"
		     "fc0f000000000000 0800000000000000 ed5e000000000000" },
	{ VERSION_1, "03 02 0000 00 01 28 00 2800000000000000"
		     "ffffffffffffffff 0800000000000000 ed5e000000000000" },
	{ VERSION_1, "03 04 0000 00 01 28 00 3000000000000000"
		     "fc0f000000000000 0800000000000000 ed5e000000000000"
		     "0102030405060708" },
	/* Atomics that do not add up. */
	{ OURS, "03 40 0407 02 01 28 00 2c00000000000000"
		"0000000000000000 0400000000000000 ed5e000000000000 01000000" },
	{ OURS, "03 41 0007 63 01 28 00 3000000000000000"
		"0000000000000000 0800000000000000 ed5e000000000000"
		"0100000000000000" },
	{ OURS, "03 42 0007 0c 01 28 00 3000000000000000"
		"0000000000000000 0800000000000000 ed5e000000000000"
		"0100000000000000" },
};

static void broken_records_end_their_connection(void **state)
{
	struct rdm *rdm = *state;
	uint8_t before[REGION];

	memcpy(before, rdm->t.region, REGION);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
		int fd = rdm_connect(rdm, hostile[i].level);

		raw_hex(fd, hostile[i].text);
		raw_expect_closed(&rdm->t, fd);
		assert_alive(rdm);
	}
	assert_memory_equal(before, rdm->t.region, REGION);
	assert_int_equal(rdm->t.done_count, 0);
}

/* Noise in place of records; and a header that never ends. */
static void noise_ends_its_connection(void **state)
{
	struct rdm *rdm = *state;
	uint64_t x = 88172645463325252u;

	for (int round = 0; round < 50; round++) {
		int fd = rdm_connect(rdm, round % 2 ? OURS : VERSION_1);
		uint8_t noise[512];

		for (size_t i = 0; i < sizeof(noise); i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			noise[i] = (uint8_t)x;
		}
		noise[1] |= 0x80; /* no operation, lest it waits for more */
		raw_send(fd, noise, sizeof(noise));
		raw_expect_closed(&rdm->t, fd);
		assert_alive(rdm);
	}
}

static void strangers_at_the_port(void **state)
{
	static const char *const texts[] = {
		"47 45 54 20 2f 20 48 54 54 50 2f 31 2e 31 0d 0a 0d 0a", /* GET / */
		"16 03 01 02 00 01 00 01 fc 03 03",                      /* TLS */
		"53 53 48 2d 32 2e 30",                                  /* SSH */
		"02 00 0008 " CM_OLD LITTLE "01 00 0001 00000101",
		"03 01 0008 " CM_OLD LITTLE "01 00 0001 00000101",
		"03 09 0008 " CM_OLD LITTLE "01 00 0001 00000101",
		"03 00 0101 " CM_OLD LITTLE "01 00 0001 00000101",
		/* requests, but not of FI_EP_RDM */
		"03 00 0000 " CM_OLD LITTLE,
		"03 00 0007 " CM_OLD LITTLE "01 00 0001 000001",
		"03 00 0008 " CM_OLD LITTLE "01 00 0000 00000101",
		"03 00 0018 " CM_OLD LITTLE "01 02 04 03 3412 02 00 00400000"
		"00100000 0102030405060708",
	};
	struct rdm *rdm = *state;
	int silent = raw_connect(&rdm->t.name);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		int fd = raw_connect(&rdm->t.name);

		raw_hex(fd, texts[i]);
		raw_expect_closed(&rdm->t, fd);
		assert_alive(rdm);
	}
	/* And those that leave in the middle. */
	for (size_t len = 1; len < 40; len += 3) {
		struct bytes request =
			hex("03 00 0008 " CM_OLD LITTLE "01 00 0001 00000101");
		int fd = raw_connect(&rdm->t.name);

		raw_send(fd, request.at, len);
		close(fd);
		assert_alive(rdm);
	}
	close(silent);
	assert_alive(rdm);
}

static void post(struct target *t, void *buf, size_t len, uint64_t tag)
{
	assert_int_equal(
		fi_trecv(t->ep, buf, len, NULL, FI_ADDR_UNSPEC, tag, 0, NULL), 0);
}

static void tagged_messages_are_acknowledged(void **state)
{
	static const char *const forms[] = {
		"03 01 0400 00 00 18 00 1c00000000000000 0700000000000000 61626364",
		/* Old memory in unused bytes, flags and words without meaning. */
		"ff 01 f4ff 05 77 18 99 1c00000000000000 0700000000000000 61626364",
		"03 01 0400 00 00 28 00 2c00000000000000 0700000000000000"
		"ffffffffffffffff ffffffffffffffff 61626364",
		/* With remote CQ data. */
		"03 01 0500 00 00 20 00 2400000000000000 0500000000000000"
		"0700000000000000 61626364",
	};
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct fi_cq_tagged_entry entry;
		char buf[8] = { 0 };

		post(&rdm->t, buf, sizeof(buf), 7);
		raw_hex(fd, forms[i]);
		raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
		entry = completion(&rdm->t);
		assert_int_equal(entry.len, 4);
		assert_int_equal(entry.tag, 7);
		assert_memory_equal(buf, "abcd", 4);
		assert_int_equal(!!(entry.flags & FI_REMOTE_CQ_DATA), i == 3);
	}
	close(fd);
	assert_alive(rdm);
}

static void big_endian_peers_are_understood(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1_BIG);
	char buf[8] = { 0 };

	post(&rdm->t, buf, sizeof(buf), 7);
	raw_hex(fd,
		"03 01 0004 00 00 18 00 000000000000001c 0000000000000007 61626364");
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 0000000000000010");
	assert_memory_equal(buf, "abcd", 4);
	(void)completion(&rdm->t);
	raw_hex(fd, "03 02 0000 00 01 28 00 0000000000000028"
		    "0000000000000001 0000000000000003 0000000000005eed");
	raw_expect(&rdm->t, fd, "03 03 0000 00 00 10 00 0000000000000013 010203");
	close(fd);
}

/* Records cut anywhere, and many in one piece. */
static void records_in_any_pieces(void **state)
{
	struct bytes one = hex("03 01 0400 00 00 18 00 1c00000000000000"
			       "0700000000000000 61626364");
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);
	uint8_t many[20 * 28];
	char buf[20][8];

	post(&rdm->t, buf[0], 8, 7);
	for (size_t i = 0; i < one.len; i++) {
		raw_send(fd, one.at + i, 1);
		drive(&rdm->t);
	}
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	(void)completion(&rdm->t);

	assert_int_equal(one.len, 28);
	for (size_t i = 0; i < 20; i++) {
		memcpy(many + i * 28, one.at, 28);
		post(&rdm->t, buf[i], 8, 7);
	}
	raw_send(fd, many, sizeof(many));
	for (size_t i = 0; i < 20; i++) {
		raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
		(void)completion(&rdm->t);
		assert_memory_equal(buf[i], "abcd", 4);
	}
	close(fd);
}

static void memory_is_read_and_written(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	raw_hex(fd, "03 02 0000 00 02 40 00 4000000000000000"
		    "1000000000000000 0200000000000000 ed5e000000000000"
		    "2000000000000000 0200000000000000 ed5e000000000000");
	raw_expect(&rdm->t, fd, "03 03 0000 00 00 10 00 1400000000000000 10112021");
	raw_hex(fd, "03 04 0400 00 01 28 00 2c00000000000000"
		    "3000000000000000 0400000000000000 ed5e000000000000 aabbccdd");
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	assert_memory_equal(rdm->t.region + 0x30, "\xaa\xbb\xcc\xdd\x34", 5);
	/* A read of nothing. */
	raw_hex(fd, "03 02 0000 00 00 10 00 1000000000000000");
	raw_expect(&rdm->t, fd, "03 03 0000 00 00 10 00 1000000000000000");
	close(fd);
}

static void rendezvous(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);
	char buf[8] = { 0 };

	/* Announced before it is expected, with an index of the peer's choice. */
	raw_hex(fd, "03 05 0400 07 00 20 00 2000000000000000"
		    "0900000000000000 0500000000000000");
	assert_alive(rdm);
	post(&rdm->t, buf, sizeof(buf), 9);
	raw_expect(&rdm->t, fd, "03 06 0000 07 00 10 00 1000000000000000");
	raw_hex(fd, "03 07 0000 07 00 10 00 1500000000000000 6162636465");
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	assert_int_equal(completion(&rdm->t).len, 5);
	assert_memory_equal(buf, "abcde", 5);

	/* Data of another length than was announced. */
	raw_hex(fd, "03 05 0000 07 00 20 00 2000000000000000"
		    "0900000000000000 0500000000000000");
	post(&rdm->t, buf, sizeof(buf), 9);
	raw_expect(&rdm->t, fd, "03 06 0000 07 00 10 00 1000000000000000");
	raw_hex(fd, "03 07 0000 07 00 10 00 1600000000000000 616263646566");
	raw_expect_closed(&rdm->t, fd);
	assert_alive(rdm);
}

/* One index, announced twice. */
static void rendezvous_index_in_use(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	raw_hex(fd, "03 05 0000 07 00 20 00 2000000000000000"
		    "0900000000000000 0500000000000000");
	raw_hex(fd, "03 05 0000 07 00 20 00 2000000000000000"
		    "0900000000000000 0500000000000000");
	raw_expect_closed(&rdm->t, fd);
	assert_alive(rdm);
}

/* Records that only two endpoints of this library exchange. */
static void extensions_where_agreed(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);

	memset(rdm->t.region, 0, 8);
	rdm->t.region[0] = 5;
	raw_hex(fd, "03 41 0007 02 01 28 00 3000000000000000"
		    "0000000000000000 0800000000000000 ed5e000000000000"
		    "0300000000000000");
	raw_expect(&rdm->t, fd,
		"03 43 0000 00 00 10 00 1800000000000000 0500000000000000");
	assert_int_equal(rdm->t.region[0], 8);
	raw_hex(fd, "03 47 0000 00 00 18 00 1800000000000000 efcdab8967452301");
	raw_expect(&rdm->t, fd,
		"03 48 0000 00 00 18 00 1800000000000000 efcdab8967452301");
	/* An answer to a probe that was given up. */
	raw_hex(fd, "03 48 0000 00 00 18 00 1800000000000000 0100000000000000");
	raw_hex(fd, "03 47 0000 00 00 18 00 1800000000000000 0200000000000000");
	raw_expect(&rdm->t, fd,
		"03 48 0000 00 00 18 00 1800000000000000 0200000000000000");
	close(fd);
}

static void expect_error(struct rdm *rdm, int fd, uint8_t answer)
{
	struct bytes got = raw_recv(&rdm->t, fd, 24);

	assert_int_equal(got.len, 24);
	assert_int_equal(got.at[1], 0x45);
	assert_int_equal(got.at[4], answer);
	assert_true(got.at[16] || got.at[17]);
}

/* Memory that is not theirs costs the operation and nothing else. */
static void errors_are_answered_where_agreed(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);

	raw_hex(fd, "03 02 0000 00 01 28 00 2800000000000000"
		    "0000000000000000 0800000000000000 0000000000000000");
	expect_error(rdm, fd, 3);
	raw_hex(fd, "03 04 0400 00 01 28 00 3000000000000000"
		    "fc0f000000000000 0800000000000000 ed5e000000000000"
		    "0102030405060708");
	expect_error(rdm, fd, 2);
	raw_hex(fd, "03 41 0007 02 01 28 00 3000000000000000"
		    "0000000000000000 0800000000000000 0000000000000000"
		    "0300000000000000");
	expect_error(rdm, fd, 3);
	raw_hex(fd, "03 04 0400 00 00 10 00 1000000000000000");
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	close(fd);
	assert_alive(rdm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(broken_records_end_their_connection),
		EACH(noise_ends_its_connection),
		EACH(strangers_at_the_port),
		EACH(tagged_messages_are_acknowledged),
		EACH(big_endian_peers_are_understood),
		EACH(records_in_any_pieces),
		EACH(memory_is_read_and_written),
		EACH(rendezvous),
		EACH(rendezvous_index_in_use),
		EACH(extensions_where_agreed),
		EACH(errors_are_answered_where_agreed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
