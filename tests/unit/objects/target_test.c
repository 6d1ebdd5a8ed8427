/* SPDX-License-Identifier: BSD-2-Clause */
/* What peers ask of local memory: how segments are checked, found, moved and changed. */
#include "endpoint_fixture.h"

#include "objects/endpoint/life/target.h"
#include "objects/mr/map.h"

enum { KEY = 7, BASE = 0x1000 };

static struct wf_mr_map map;
static struct wf_mr region;
static struct iovec pieces[6];
static uint64_t memory[6];

/* A region of six pieces of @size bytes each. */
static void open_region(size_t size, uint64_t access)
{
	assert_int_equal(wf_mr_map_init(&map, WF_LOCK_SPIN), 0);
	memset(&region, 0, sizeof(region));
	for (size_t i = 0; i < 6; i++) {
		memory[i] = i;
		pieces[i] = (struct iovec){ &memory[i], size };
	}
	region.iov = pieces;
	region.iov_count = 6;
	region.len = 6 * size;
	region.base = BASE;
	region.access = access;
	region.enabled = true;
	region.fid.key = KEY;
	assert_int_equal(wf_mr_map_insert(&map, &region, false, UINT64_MAX), 0);
}

static void close_region(void)
{
	/* No call left the lock taken. */
	assert_true(wf_trylock(&map.lock));
	wf_unlock(&map.lock);
	wf_mr_map_remove(&map, &region);
	wf_mr_map_done(&map);
}

#define RW (FI_REMOTE_READ | FI_REMOTE_WRITE)

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

static int serve(struct domain_fixture *f, size_t len, size_t segment_len, bool reads)
{
	static uint8_t found[48], src[48];
	struct wf_op_copy copy;
	struct wf_ep *ep = &open_fake(f, new_info())->ep;
	int ret;

	f->domain.reached = &map;
	memset(&copy, 0, sizeof(copy));
	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i + 1);
	copy.op.kind = reads ? WF_OP_READ : WF_OP_WRITE;
	copy.op.len = len;
	copy.op.rma_count = 1;
	copy.rma[0] = (struct fi_rma_iov){ BASE, segment_len, KEY };
	copy.src = reads ? NULL : src;
	copy.found = reads ? found : NULL;
	ret = wf_target_serve(ep, &copy, FI_ADDR_NOTAVAIL);
	if (!ret && reads)
		for (size_t i = 0; i < 6; i++)
			assert_memory_equal(found + 8 * i, &memory[i], 8);
	if (!ret && !reads)
		for (size_t i = 0; i < 6; i++)
			assert_memory_equal(src + 8 * i, &memory[i], 8);
	close_ep(&ep->fid);
	return ret;
}

static void reads_and_writes(void **state)
{
	open_region(8, RW);
	assert_int_equal(serve(*state, 48, 48, true), 0);
	assert_int_equal(serve(*state, 48, 48, false), 0);
	/* The segment has not as many bytes as the operation. */
	assert_int_equal(serve(*state, 48, 40, true), -FI_EINVAL);
	assert_int_equal(serve(*state, 48, 40, false), -FI_EINVAL);
	region.access = FI_REMOTE_READ;
	assert_int_equal(serve(*state, 48, 48, false), -FI_EACCES);
	assert_int_equal(serve(*state, 48, 48, true), 0);
	region.access = FI_REMOTE_WRITE;
	assert_int_equal(serve(*state, 48, 48, true), -FI_EACCES);
	assert_int_equal(serve(*state, 48, 48, false), 0);
	close_region();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_checked),
		cmocka_unit_test(pieces_are_found),
		cmocka_unit_test(atomics_change_whole_elements),
		cmocka_unit_test(which_access_atomics_need),
		DOMAIN_TEST(reads_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
