/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that is in no AV of the members of a group, and has theirs, sends messages
 * like those of the engine p2p of off_coll (providers/coll/tag.h, control.c, join.c):
 * no join fails, no group ends, and no operation gets data.
 * tests/peer/coll_stranger_test.c has strangers that know the secrets of groups.
 */
#include <endian.h>

#include "coll_env.h"

enum { COUNT = 3, RECORD_LEN = 96, GUESSES = 2000, BURST = 100 };

#define TAG_DATA    (UINT64_C(4) << 61)
#define TAG_JOIN    (UINT64_C(5) << 61)
#define TAG_CONTROL (UINT64_C(6) << 61)

struct control {
	uint16_t kind, err;
	uint32_t members, from, to;
	uint64_t secret, from_secret;
};

enum { PROBE = 1, ABORT };

static struct cl_env env;
static struct cl_group group;
static struct cf_env stranger;
static fi_addr_t victim[COUNT];
static size_t sent, completed; /* messages of the stranger */

static void open_all(void)
{
	const struct cf_options options = { .caps = FI_TAGGED };
	char name[256];

	cl_open(&env, COUNT, NULL);
	cl_range(&group, COUNT, 0, 1);
	cl_insert_sets(&env, &group);
	cf_open_domain(&stranger, &options);
	cf_open_side(&stranger, &stranger.side[0], stranger.info, &options);
	for (int i = 0; i < COUNT; i++) {
		size_t len = sizeof(name);

		CHECK_OK(fi_getname(&env.member[i].ep->fid, name, &len));
		CHECK_EQ(
			fi_av_insert(stranger.side[0].av, name, 1, &victim[i], 0, NULL),
			1);
	}
	sent = completed = 0;
}

static void close_all(void)
{
	CF_CLOSE(stranger.side[0].ep);
	cf_close(&stranger);
	cl_leave(&group);
	cl_close(&env);
}

static void step_all(void)
{
	struct fi_cq_data_entry entry[8];
	ssize_t n = fi_cq_read(stranger.side[0].tx_cq, entry, CF_COUNT(entry));

	CHECK(n > 0 || n == -FI_EAGAIN);
	if (n > 0)
		completed += (size_t)n;
	cl_step(&env);
}

/* Send the first @len bytes of @buf, which is not changed before attack_ends(). */
static void attack(uint32_t to, uint64_t tag, const void *buf, size_t len)
{
	/* The completions are counted only. */
	static struct fi_context2 context[4 * GUESSES];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	while ((ret = fi_tsend(stranger.side[0].ep, buf, len, NULL, victim[to], tag,
			&context[sent % CF_COUNT(context)])) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		step_all();
	}
	CHECK_OK(ret);
	sent++;
}

/* Until what was sent has reached the members. */
static void attack_ends(void)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (completed < sent) {
		CHECK(cf_now_ms() < deadline);
		step_all();
	}
	for (int i = 0; i < 100; i++)
		step_all();
}

static struct control control(
	uint16_t kind, uint32_t from, uint32_t to, uint64_t secret)
{
	return (struct control){
		.kind = htole16(kind),
		.err = htole16(FI_ECONNRESET),
		.members = htole32(COUNT),
		.from = htole32(from),
		.to = htole32(to),
		.secret = htole64(secret),
		.from_secret = htole64(secret),
	};
}

/* What the member @from would send to the member @to while they join: its record, with
 * and without the record of the next member, and that it has failed. */
static void attack_join(uint32_t from, uint32_t to)
{
	static const uint32_t record[2 * RECORD_LEN / 4] = { 0x6c6f6302, 0, 1, 1 };
	static struct control message[COUNT][COUNT][2];
	uint64_t tag = TAG_JOIN | (uint64_t)COUNT << 41 | (uint64_t)from << 21 |
		       (uint64_t)to << 1;

	attack(to, tag, record, RECORD_LEN);
	attack(to, tag, record, sizeof(record));
	attack(to, tag, record, 8);
	for (int i = 0; i < 2; i++) {
		message[from][to][i] = control(ABORT, from, to, (uint64_t)i);
		attack(to, TAG_CONTROL, &message[from][to][i], sizeof(struct control));
	}
}

static void check_group(void)
{
	struct cl_work sum = { .group = &group,
		.call = { .kind = FI_ALLREDUCE,
			.type = cl_type(FI_INT64),
			.op = FI_SUM,
			.count = 1 } };
	struct cl_work order = { .group = &group,
		.call = {
			.kind = FI_ALLGATHER, .type = cl_type(FI_INT64), .count = 2 } };

	cl_run(&env, &sum);
	cl_run(&env, &order);
}

/* A stranger's messages come before a member calls, and while others wait for it. */
static void strangers_do_not_join(void)
{
	open_all();
	cl_start_join(&env, &group, 0);
	cl_start_join(&env, &group, 2);
	for (uint32_t from = 0; from < COUNT; from++)
		for (uint32_t to = 0; to < COUNT; to++)
			if (from != to)
				attack_join(from, to);
	attack_ends();
	for (int i = 0; i < COUNT; i++)
		CHECK_EQ(env.member[i].joins, 0);
	cl_start_join(&env, &group, 1);
	for (uint32_t r = 0; r < COUNT; r++)
		cl_end_join(&env, &group, r);
	check_group();
	close_all();
}

/* A guess of a group's secret: small numbers, and all values of a field of it. */
static uint64_t guess(uint32_t i)
{
	uint64_t n = i / 4;

	switch (i % 4) {
	case 0:
		return n;
	case 1:
		return n << 46;
	case 2:
		return UINT64_C(1) << 46 | n << 10;
	default:
		return n * UINT64_C(0x9e3779b97f4a7c15);
	}
}

/* The tag of data for operation @number, if the receiver's secret were @secret. */
static uint64_t data_tag(uint32_t from, uint32_t number, uint64_t secret)
{
	uint64_t position = (uint64_t)from << 26 | (uint64_t)number << 10;

	return TAG_DATA | ((position ^ secret) & ((UINT64_C(1) << 61) - 1));
}

/* Guesses that end a group, and that are data of its operations: @i numbers them. */
static void attack_group(uint32_t i)
{
	static const uint64_t data = UINT64_C(0x5757575757575757);
	static struct control message[BURST];
	struct control *next = &message[i % BURST];
	uint32_t to = i % COUNT, from = (to + 1 + i / COUNT % 2) % COUNT;

	*next = control(i % 8 ? ABORT : PROBE, from, to, guess(i));
	attack(to, TAG_CONTROL, next, sizeof(*next));
	attack(to, data_tag(from, i / 6 % 64, guess(i)), &data, sizeof(data));
	attack(to, data_tag(from, i / 6 % 64, 0), &data, sizeof(data));
}

static void strangers_do_not_reach_a_group(void)
{
	uint32_t guesses = limit_amount() ? GUESSES / 10 : GUESSES;

	open_all();
	cl_join(&env, &group);
	for (uint32_t i = 0; i < guesses; i++) {
		attack_group(i);
		if (i % BURST != BURST - 1)
			continue;
		attack_ends();
		check_group();
	}
	attack_ends();
	check_group();
	close_all();
}

CF_SUITE(coll_strangers, CF_CASE(strangers_do_not_join, "COL-003", FI_COLLECTIVE),
	CF_CASE(strangers_do_not_reach_a_group, "COL-005 COL-009", FI_COLLECTIVE));
