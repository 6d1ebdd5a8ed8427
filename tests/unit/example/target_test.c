/* SPDX-License-Identifier: BSD-2-Clause */
/* What a peer asks of local memory: reads and writes. */
#include "../objects/endpoint_fixture.h"

#include "../../../examples/provider/target.h"

#include "../objects/region_fixture.h"

static int serve(struct domain_fixture *f, size_t len, size_t segment_len, bool reads)
{
	static uint8_t found[48], src[48];
	struct loop_copy copy;
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
	ret = loop_target_serve(ep, &copy, FI_ADDR_NOTAVAIL);
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
		DOMAIN_TEST(reads_and_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
