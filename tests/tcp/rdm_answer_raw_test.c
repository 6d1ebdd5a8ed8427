/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a peer of ours is answered, and in which order: answers carry no identifier, so
 * that each has its place (docs/tcp-wire.md, 5.1 and 5.4).
 */
#include "raw_rdm.h"

/* A write to a region that is not there, then two that are allowed. */
static void an_error_keeps_its_place(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);
	struct bytes got;

	raw_hex(fd, "03 04 0400 00 01 28 00 3000000000000000"
		    "0000000000000000 0800000000000000 0000000000000000"
		    "0102030405060708"
		    "03 04 0400 00 01 28 00 2c00000000000000"
		    "3000000000000000 0400000000000000 ed5e000000000000 aabbccdd"
		    "03 04 0400 00 01 28 00 2c00000000000000"
		    "3000000000000000 0400000000000000 ed5e000000000000 aabbccdd");
	got = raw_recv(&rdm->t, fd, 24);
	assert_int_equal(got.len, 24);
	assert_int_equal(got.at[1], 0x45);
	assert_int_equal(got.at[4], 2);
	for (int i = 0; i < 2; i++)
		raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	close(fd);
	assert_alive(rdm);
}

/* Remote CQ data come alone, too: a write of nothing. */
static void data_come_without_a_segment(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	raw_hex(fd, "03 04 0500 00 00 18 00 1800000000000000 efcdab8967452301");
	raw_expect(&rdm->t, fd, "03 00 0000 02 00 10 00 1000000000000000");
	entry = completion(&rdm->t);
	assert_true(entry.flags & FI_REMOTE_CQ_DATA);
	assert_true(entry.flags & FI_REMOTE_WRITE);
	assert_true(entry.data == 0x0123456789abcdef);
	close(fd);
	assert_alive(rdm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(an_error_keeps_its_place),
		EACH(data_come_without_a_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
