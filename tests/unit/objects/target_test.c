/* SPDX-License-Identifier: BSD-2-Clause */
/* What peers ask of local memory: how segments are checked, found, moved and changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "objects/endpoint/life/target.h"

#include "region_fixture.h"

static void segments_are_checked(void **state)
{
	struct fi_rma_iov seg[2] = { { BASE, 8, KEY }, { BASE + 40, 8, KEY } };

	(void)state;
	open_region(8, FI_REMOTE_READ);
	assert_int_equal(wf_target_check(&map, seg, 2, FI_REMOTE_READ), 0);
	assert_int_equal(wf_target_check(&map, seg, 2, RW), -FI_EACCES);
	seg[1].addr++;
	assert_int_equal(wf_target_check(&map, seg, 2, FI_REMOTE_READ), -FI_EINVAL);
	assert_int_equal(wf_target_check(&map, seg, 1, FI_REMOTE_READ), 0);
	seg[1].key++;
	assert_int_equal(
		wf_target_check(&map, seg, 2, FI_REMOTE_READ), -FI_EKEYREJECTED);
	/* The first refusal is the one that is told. */
	seg[0].addr--;
	assert_int_equal(wf_target_check(&map, seg, 2, FI_REMOTE_READ), -FI_EINVAL);
	/* A segment without bytes needs no key. */
	seg[0].len = seg[1].len = 0;
	assert_int_equal(wf_target_check(&map, seg, 2, FI_REMOTE_READ), 0);
	close_region();
}

static void pieces_are_found(void **state)
{
	struct fi_rma_iov seg[2] = { { BASE + 4, 8, KEY }, { BASE + 32, 8, KEY } };
	struct iovec iov[4];
	size_t count = 9;

	(void)state;
	open_region(8, RW);
	assert_int_equal(wf_target_pieces(&map, seg, 2, 0, RW, iov, 4, &count), 0);
	assert_false(wf_trylock(&map.lock));
	wf_target_release(&map);
	assert_int_equal(count, 2);
	assert_ptr_equal(iov[0].iov_base, (char *)&memory[0] + 4);
	assert_int_equal(iov[0].iov_len, 4);
	assert_ptr_equal(iov[1].iov_base, &memory[1]);
	assert_int_equal(iov[1].iov_len, 4);
	assert_int_equal(wf_target_pieces(&map, seg, 2, 8, RW, iov, 4, &count), 0);
	wf_target_release(&map);
	assert_int_equal(count, 1);
	assert_ptr_equal(iov[0].iov_base, &memory[4]);
	/* Behind the last byte there is nothing. */
	assert_int_equal(wf_target_pieces(&map, seg, 2, 16, RW, iov, 4, &count), 0);
	assert_false(wf_trylock(&map.lock));
	wf_target_release(&map);
	assert_int_equal(count, 0);
	region.enabled = false;
	assert_int_equal(wf_target_pieces(&map, seg, 2, 0, RW, iov, 4, &count),
		-FI_EKEYREJECTED);
	region.enabled = true;
	close_region();
}

static int change(size_t len, size_t segment_len, uint64_t *operands)
{
	struct fi_rma_iov seg = { BASE, segment_len, KEY };
	struct wf_target_atomic atomic = { .kind = WF_OP_ATOMIC,
		.datatype = FI_UINT64,
		.op = FI_SUM,
		.seg = &seg,
		.count = 1,
		.len = len,
		.src = (uint8_t *)operands };

	return wf_target_atomic(&map, &atomic);
}

static void atomics_change_whole_elements(void **state)
{
	uint64_t operands[6] = { 10, 20, 30, 40, 50, 60 };

	(void)state;
	open_region(8, FI_REMOTE_WRITE);
	/* More pieces than are looked up at once. */
	assert_int_equal(change(48, 48, operands), 0);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(memory[i], i + operands[i]);
	/* The segment has not as many bytes as the operation. */
	assert_int_equal(change(48, 40, operands), -FI_EINVAL);
	region.access = FI_REMOTE_READ;
	assert_int_equal(change(48, 48, operands), -FI_EACCES);
	close_region();
	/* An element would lie in two pieces. */
	open_region(4, FI_REMOTE_WRITE);
	assert_int_equal(change(8, 8, operands), -FI_EINVAL);
	assert_int_equal(memory[0], 0);
	assert_int_equal(memory[1], 1);
	close_region();
}

static void which_access_atomics_need(void **state)
{
	(void)state;
	assert_int_equal(
		wf_target_atomic_access(WF_OP_ATOMIC, FI_SUM), FI_REMOTE_WRITE);
	assert_int_equal(
		wf_target_atomic_access(WF_OP_FETCH, FI_ATOMIC_READ), FI_REMOTE_READ);
	assert_int_equal(wf_target_atomic_access(WF_OP_FETCH, FI_SUM), RW);
	assert_int_equal(wf_target_atomic_access(WF_OP_COMPARE, FI_CSWAP), RW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_checked),
		cmocka_unit_test(pieces_are_found),
		cmocka_unit_test(atomics_change_whole_elements),
		cmocka_unit_test(which_access_atomics_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
