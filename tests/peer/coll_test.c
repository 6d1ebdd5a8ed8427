/* SPDX-License-Identifier: BSD-2-Clause */
#include "coll_rig.h"

/* The collective provider off_coll under a main provider that this test plays:
 * coll_test PROVIDER. */

static const unsigned int in_order[NODES_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	12, 13, 14, 15 };

/* Wait for one success of each of the first @count nodes. */
static void expect_all(struct coll_rig *rig, unsigned int count, void *context)
{
	for (unsigned int i = 0; i < count; i++) {
		void *got;

		assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
		assert_ptr_equal(got, context);
	}
}

static fi_addr_t addr_of(const struct coll_mc *mc)
{
	return fi_mc_addr(mc->mc);
}

static void barrier(struct coll_rig *rig, const struct coll_mc *mc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(
			fi_barrier(rig->node[i].coll_ep, addr_of(&mc[i]), &rig->count),
			0);
	expect_all(rig, count, &rig->count);
}

static void broadcast(struct coll_rig *rig, const struct coll_mc *mc,
	unsigned int count, unsigned int root, size_t len)
{
	unsigned char *buf = calloc(count, len);

	assert_non_null(buf);
	memset(buf + root * len, 'a' + (int)root, len);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf + i * len, len,
					 NULL, addr_of(&mc[i]), rig->node[i].addr[root],
					 FI_UINT8, 0, buf),
			0);
	expect_all(rig, count, buf);
	for (size_t i = 0; i < count * len; i++)
		assert_int_equal(buf[i], 'a' + (int)root);
	free(buf);
}

static void allreduce(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count, size_t n)
{
	uint64_t *in = calloc(count * n, sizeof(*in)), *out = calloc(count * n, 8);

	assert_non_null(in);
	assert_non_null(out);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			in[i * n + k] = (i + 1) * 1000 + k;
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_allreduce(rig->node[i].coll_ep, in + i * n, n, NULL,
					 out + i * n, NULL, addr_of(&mc[i]), FI_UINT64,
					 FI_SUM, 0, in),
			0);
	expect_all(rig, count, in);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			assert_int_equal(out[i * n + k],
				count * (count + 1) / 2 * 1000 + count * k);
	free(in);
	free(out);
}

/* COL-003, COL-006, COL-007 */
static void groups_of_every_size(void **state)
{
	struct coll_rig *rig = coll_rig_open(9);
	struct coll_mc mc[NODES_MAX];

	for (unsigned int n = 1; n <= 9; n++) {
		coll_rig_join_all(rig, in_order, n, mc);
		barrier(rig, mc, n);
		for (unsigned int root = 0; root < n; root++)
			broadcast(rig, mc, n, root, 1000 * root + 1);
		allreduce(rig, mc, n, 1);
		allreduce(rig, mc, n, 10000);
		coll_rig_leave(mc, n);
	}
	coll_rig_close(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_every_size),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
