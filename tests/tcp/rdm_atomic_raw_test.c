/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations in the raw: each type with each operation, in records of each kind.
 * A pair that fi_query_atomic knows is answered; any other ends its connection, and
 * memory is as it was. ATM-007.
 */
#include "raw_rdm.h"

enum { TYPES = 32, OPS = 32, ELEMENT_MAX = 32 };

static const struct kind {
	uint8_t code;
	uint64_t query;
	unsigned int arrays; /* in the payload */
} kinds[] = {
	{ 0x40, 0, 1 },
	{ 0x41, FI_FETCH_ATOMIC, 1 },
	{ 0x42, FI_COMPARE_ATOMIC, 2 },
};

/* One element of @size bytes at the region's start, with an answer to come. */
static struct bytes record(
	const struct kind *kind, unsigned int type, unsigned int op, size_t size)
{
	struct bytes rec = hex("03 00 0400 00 01 28 00 0000000000000000"
			       "0000000000000000 0000000000000000 ed5e000000000000");
	unsigned int arrays = op == FI_ATOMIC_READ ? 0 : kind->arrays;

	rec.at[1] = kind->code;
	rec.at[3] = (uint8_t)type;
	rec.at[4] = (uint8_t)op;
	rec.at[24] = (uint8_t)size;
	memset(rec.at + rec.len, 1, arrays * size);
	rec.len += arrays * size;
	rec.at[8] = (uint8_t)rec.len;
	return rec;
}

/* CM_OURS does not contain the format of its long double. */
static bool format_agreed(unsigned int type)
{
	return type != FI_LONG_DOUBLE && type != FI_LONG_DOUBLE_COMPLEX;
}

/* The connection is open again after the call, whatever the result. */
static void try_pair(struct rdm *rdm, const struct kind *kind, unsigned int type,
	unsigned int op, int *fd)
{
	struct fi_atomic_attr attr = { 0 };
	bool exists = format_agreed(type) &&
		      !fi_query_atomic(rdm->t.domain, (enum fi_datatype)type,
			      (enum fi_op)op, &attr, kind->query);
	size_t size = exists ? attr.size : 8;
	struct bytes rec = record(kind, type, op, size);

	memset(rdm->t.region, 0, ELEMENT_MAX);
	raw_send(*fd, rec.at, rec.len);
	if (exists && kind->query) {
		assert_int_equal(raw_recv(&rdm->t, *fd, 16 + size).len, 16 + size);
	} else if (exists) {
		raw_expect(&rdm->t, *fd, "03 00 0000 02 00 10 00 1000000000000000");
	} else {
		raw_expect_closed(&rdm->t, *fd);
		for (size_t i = 0; i < ELEMENT_MAX; i++)
			assert_int_equal(rdm->t.region[i], 0);
		*fd = rdm_connect(rdm, OURS);
	}
}

static void type_and_operation_are_a_pair(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (unsigned int type = 0; type < TYPES; type++)
			for (unsigned int op = 0; op < OPS; op++)
				try_pair(rdm, &kinds[k], type, op, &fd);
	close(fd);
	assert_alive(rdm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(type_and_operation_are_a_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
