/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_rows.h"

/* Attributes of endpoints and their two directions; see info_rows.h. */

static const struct row xfer_rows[] = {
	/* EPA-020 */
	{ &rdm, ALL, { TX(op_flags, FI_COMPLETION), RX(op_flags, FI_MULTI_RECV) }, NULL,
		{ TX(op_flags, FI_COMPLETION), RX(op_flags, FI_MULTI_RECV) } },
	{ &rdm, ALL, { TX(op_flags, FI_COMPLETION | FI_FENCE) },
		"tx_attr.op_flags: asked FI_FENCE, possible FI_COMPLETION, "
		"FI_INJECT " RDM },
	{ &rdm, ALL, { RX(op_flags, FI_INJECT) },
		"rx_attr.op_flags: asked FI_INJECT, possible FI_MULTI_RECV, "
		"FI_COMPLETION " RDM },
	/* EPA-021 EPA-022 */
	{ &rdm, ALL, { TX(msg_order, FI_ORDER_SAS), RX(msg_order, FI_ORDER_SAS) }, NULL,
		{ TX(msg_order, FI_ORDER_SAS | FI_ORDER_RAW),
			RX(msg_order, FI_ORDER_SAS) } },
	{ &rdm, ALL, { TX(msg_order, FI_ORDER_SAS | FI_ORDER_WAR) },
		"tx_attr.msg_order: asked FI_ORDER_WAR, possible FI_ORDER_RAW, "
		"FI_ORDER_SAS " RDM },
	{ &rdm, ALL, { RX(msg_order, FI_ORDER_RAW) },
		"rx_attr.msg_order: asked FI_ORDER_RAW, possible FI_ORDER_SAS " RDM },
	/* EPA-023 */
	{ &rdm, OLD, { TX(comp_order, 0x1ff), RX(comp_order, 0x1ff) }, NULL,
		{ TX(comp_order, 0x1ff), RX(comp_order, 0x1ff) } },
	{ &dgram_in, OLD, { TX(comp_order, FI_ORDER_RAR) },
		"tx_attr.comp_order: asked FI_ORDER_RAR, possible none " DGRAM },
	{ &rdm, NEW, { TX(comp_order, FI_ORDER_RAR) },
		"tx_attr.comp_order: asked FI_ORDER_RAR, possible none " RDM },
	{ &rdm, NEW, { RX(comp_order, FI_ORDER_RAR) },
		"rx_attr.comp_order: asked FI_ORDER_RAR, possible none " RDM },
	{ &rdm, OLD, { RX(comp_order, 1ULL << 16) }, "rx_attr.comp_order: asked " },
	{ &rdm, NEW, { TX(size, 1) }, NULL, { TX(comp_order, 0), RX(comp_order, 0) } },
	/* EPA-024 */
	{ &rdm, OLD, { RX(total_buffered_recv, 9) }, NULL,
		{ RX(total_buffered_recv, 9) } },
	{ &rdm, OLD, { RX(total_buffered_recv, 0) }, NULL,
		{ RX(total_buffered_recv, 0) } },
	{ &rdm, OLD, { RX(total_buffered_recv, 4097) },
		"rx_attr.total_buffered_recv: asked 4097, possible 4096 " RDM },
	{ &rdm, NEW, { RX(total_buffered_recv, 1) },
		"rx_attr.total_buffered_recv: asked 1, possible 0 " RDM },
	{ &rdm, NEW, { RX(size, 1) }, NULL, { RX(total_buffered_recv, 0) } },
	/* EPA-025 */
	{ &rdm, ALL,
		{ TX(inject_size, 1), TX(size, 2), TX(iov_limit, 3),
			TX(rma_iov_limit, 1) },
		NULL,
		{ TX(inject_size, 1), TX(size, 2), TX(iov_limit, 3),
			TX(rma_iov_limit, 1) } },
	{ &rdm, ALL, { RX(size, 2), RX(iov_limit, 1) }, NULL,
		{ RX(size, 2), RX(iov_limit, 1), TX(size, 256), TX(iov_limit, 4) } },
	{ &rdm, ALL, { TX(inject_size, 129) },
		"tx_attr.inject_size: asked 129, possible 128 " RDM },
	{ &rdm, ALL, { TX(size, 257) }, "tx_attr.size: asked 257, possible 256 " RDM },
	{ &rdm, ALL, { TX(iov_limit, 5) },
		"tx_attr.iov_limit: asked 5, possible 4 " RDM },
	{ &rdm, ALL, { TX(rma_iov_limit, 3) },
		"tx_attr.rma_iov_limit: asked 3, possible 2 " RDM },
	{ &rdm, ALL, { RX(size, 513) }, "rx_attr.size: asked 513, possible 512 " RDM },
	{ &rdm, ALL, { RX(iov_limit, 4) },
		"rx_attr.iov_limit: asked 4, possible 3 " RDM },
	/* EPA-036 EPA-037 DAT-033 */
	{ &rdm, V(9), 0, { TX(tclass, FI_TC_DSCP | 46) }, NULL,
		{ TX(tclass, FI_TC_DSCP | 46), DOM(tclass, FI_TC_BEST_EFFORT) } },
	{ &rdm, V(9), 0, { DOM(tclass, FI_TC_BULK_DATA) }, NULL,
		{ TX(tclass, FI_TC_BULK_DATA), DOM(tclass, FI_TC_BULK_DATA) } },
	{ &dgram_in, ALL, { TX(tclass, FI_TC_BULK_DATA), DOM(tclass, FI_TC_BULK_DATA) },
		NULL, { TX(tclass, 0), DOM(tclass, 0) } },
	{ &rdm, V(9), 0, { TX(tclass, 0x300) },
		"tx_attr.tclass: asked 0x300, possible 0x100 to 0x1ff, 0x200 to "
		"0x205 " RDM },
	{ &rdm, V(9), 0, { DOM(tclass, 1) },
		"domain_attr.tclass: asked 0x1, possible 0x100 to 0x1ff, 0x200 to "
		"0x205 " RDM },
	{ &rdm, 0, V(9), { TX(tclass, 0x300), DOM(tclass, 1) }, NULL,
		{ TX(tclass, FI_TC_BEST_EFFORT) } },
};

static const struct row ep_rows[] = {
	/* EPA-008 EPA-009 */
	{ &rdm, ALL, { EP(max_order_raw_size, 8192) }, NULL,
		{ EP(max_order_raw_size, 4096) } },
	{ &rdm, ALL, { INFO(caps, FI_RMA), EP(max_order_raw_size, 64) }, NULL,
		{ EP(max_order_raw_size, 64), EP(max_order_waw_size, SIZE_MAX) } },
	{ &rdm, ALL, { INFO(caps, FI_RMA), EP(max_order_raw_size, 4097) },
		"ep_attr.max_order_raw_size: asked 4097, possible 4096 " RDM },
	{ &rdm, ALL, { INFO(caps, FI_ATOMIC), EP(max_order_war_size, 1) },
		"ep_attr.max_order_war_size: asked 1, possible 0 " RDM },
	{ &rdm, ALL, { INFO(caps, FI_RMA), EP(max_order_waw_size, 77) }, NULL,
		{ EP(max_order_waw_size, 77) } },
	/* EPA-011 */
	{ &rdm, NEW, { INFO(caps, FI_TAGGED) }, NULL, { EP(mem_tag_format, 0) } },
	{ &rdm, OLD, { INFO(caps, FI_TAGGED) }, NULL,
		{ EP(mem_tag_format, 0xaaaaaaaaaaaaaaaa) } },
	{ &rdm, ALL, { INFO(caps, FI_MSG) }, NULL, { EP(mem_tag_format, 0) } },
	/* EPA-012 EPA-013: names since 2.0, patterns before */
	{ &rdm, NEW, { INFO(caps, FI_TAGGED), EP(mem_tag_format, FI_TAG_MPI) }, NULL,
		{ EP(mem_tag_format, FI_TAG_MPI) } },
	{ &rdm, NEW, { INFO(caps, FI_TAGGED), EP(mem_tag_format, FI_TAG_CCL) }, NULL,
		{ EP(mem_tag_format, FI_TAG_CCL) } },
	{ &rdm, NEW, { INFO(caps, FI_TAGGED), EP(mem_tag_format, 3) },
		"ep_attr.mem_tag_format: asked 0x3, possible 0x1, 0x2, or a pattern "
		"from "
		"0x10000 on " RDM },
	{ &rdm, OLD, { INFO(caps, FI_TAGGED), EP(mem_tag_format, 3) }, NULL,
		{ EP(mem_tag_format, 0xaaaaaaaaaaaaaaaa) } },
	/* EPA-014 */
	{ &rdm, ALL, { INFO(caps, FI_TAGGED), EP(mem_tag_format, 0xf0f0f0f0f0f0f0f0) },
		NULL, { { END } } },
	/* DAT-022 and limits that are none: EPA-005 EPA-006 EPA-007 */
	{ &rdm, ALL, { EP(tx_ctx_cnt, 0), EP(rx_ctx_cnt, 0) }, NULL,
		{ EP(tx_ctx_cnt, 1), EP(rx_ctx_cnt, 1) } },
	{ &rdm, ALL, { EP(tx_ctx_cnt, 2), EP(rx_ctx_cnt, 2) }, NULL,
		{ EP(tx_ctx_cnt, 2), EP(rx_ctx_cnt, 2) } },
	{ &rdm, ALL, { EP(tx_ctx_cnt, 3) },
		"ep_attr.tx_ctx_cnt: asked 3, possible 2 " RDM },
	{ &rdm, ALL, { EP(rx_ctx_cnt, 3) },
		"ep_attr.rx_ctx_cnt: asked 3, possible 2 " RDM },
	{ &rdm, ALL, { EP(tx_ctx_cnt, FI_SHARED_CONTEXT) },
		"ep_attr.tx_ctx_cnt: asked FI_SHARED_CONTEXT, possible 2 " RDM },
	{ &rdm, ALL, { EP(rx_ctx_cnt, FI_SHARED_CONTEXT) }, NULL,
		{ EP(rx_ctx_cnt, FI_SHARED_CONTEXT) } },
	{ &msg, ALL, { DOM(mr_mode, BASIC) },
		"ep_attr.rx_ctx_cnt: asked 0, possible FI_SHARED_CONTEXT " MSG },
	{ &msg, ALL, { DOM(mr_mode, BASIC), EP(rx_ctx_cnt, 1) },
		"ep_attr.rx_ctx_cnt: asked 1, possible FI_SHARED_CONTEXT " MSG },
	/* EPA-018 */
	{ &rdm, ALL, { EP(xpu_ctx, 0x1000) }, NULL, { EP(xpu_ctx, 0) } },
};

ROWS_TEST(xfer)
ROWS_TEST(ep)

/* EPA-014 EPA-015: a template that is not free in its tags */
static void tag_fields_must_be_wide_enough(void **state)
{
	static const struct {
		uint64_t has, asked;
		bool fits;
	} rows[] = {
		{ 0xaaaaaaaaaaaa, 0xff00ff00ff00, true }, /* 48 single bits */
		{ 0xaaaaaaaaaaaa, 0xff00ff00ff00ff, false },
		{ 0xffff0000, 0xffff0000, true },
		{ 0xffff0000, 0xff0000, true },    /* 8 and 16 bits in 16 and 16 */
		{ 0xffff0000, 0xfff0000, true },   /* 12 and 16 */
		{ 0xffff0000, 0xfff00000, false }, /* 12 and 20 */
		{ 0xffff0000, 0x1ffff0000, false },
		{ 0xffff0000, 0xff00ff, false }, /* three fields */
		{ 0xffff0000, 0xaaaaaaaa, false },
	};
	struct fi_ep_attr attr = rdm_ep;
	struct fi_info tmpl = rdm;

	tmpl.ep_attr = &attr;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fi_info *hints = fake_hints();

		attr.mem_tag_format = rows[i].has;
		hints->caps = FI_TAGGED;
		hints->ep_attr->mem_tag_format = rows[i].asked;
		assert_int_equal(wf_info_match(&fake_prov, V2(6), &tmpl, hints),
			rows[i].fits ? 0 : -FI_ENODATA);
		/* The tags of other capabilities do not matter. */
		hints->caps = FI_MSG;
		assert_int_equal(wf_info_match(&fake_prov, V2(6), &tmpl, hints), 0);
		fi_freeinfo(hints);
	}
	attr.mem_tag_format = 0xffff0000;
	{
		struct fi_info *hints = fake_hints();

		hints->caps = FI_TAGGED;
		hints->ep_attr->mem_tag_format = FI_TAG_MPI;
		assert_int_equal(
			wf_info_match(&fake_prov, V2(6), &tmpl, hints), -FI_ENODATA);
		assert_string_equal(fake_log,
			"refused: ep_attr.mem_tag_format: asked FI_TAG_MPI, possible "
			"0xffff0000 " RDM "\n");
		fi_freeinfo(hints);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xfer),
		cmocka_unit_test(ep),
		cmocka_unit_test(tag_fields_must_be_wide_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
