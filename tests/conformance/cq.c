/* SPDX-License-Identifier: BSD-2-Clause */
#include "suites.h"

static void cq_read_empty(void)
{
	struct fi_cq_data_entry entry;
	struct cf_env env;

	cf_open_pair(&env, NULL);
	CHECK_EQ(fi_cq_read(env.side[0].tx_cq, &entry, 1), -FI_EAGAIN);
	CHECK_EQ(fi_cq_readerr(env.side[0].tx_cq, &(struct fi_cq_err_entry){ 0 }, 0),
		-FI_EAGAIN);
	cf_close(&env);
}

static void cq_entry_of_each_format(void)
{
	static const enum fi_cq_format formats[] = { FI_CQ_FORMAT_CONTEXT,
		FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED };

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		struct cf_options options = { .cq_format = formats[i] };
		struct fi_cq_tagged_entry entry;
		struct fi_context2 tx_ctx, rx_ctx;
		uint64_t out = 0x1122334455667788, in = 0;
		struct cf_env env;

		cf_open_pair(&env, &options);
		CF_RETRY(env.side[1].rx_cq, fi_recv(env.side[1].ep, &in, sizeof(in),
						    NULL, FI_ADDR_UNSPEC, &rx_ctx));
		CF_RETRY(env.side[0].tx_cq, fi_send(env.side[0].ep, &out, sizeof(out),
						    NULL, env.side[0].peer, &tx_ctx));
		cf_cq_wait(env.side[0].tx_cq, &entry);
		CHECK(entry.op_context == &tx_ctx);
		if (formats[i] != FI_CQ_FORMAT_CONTEXT)
			CHECK_EQ(entry.flags & (FI_SEND | FI_MSG | FI_RECV),
				FI_SEND | FI_MSG);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &rx_ctx);
		if (formats[i] != FI_CQ_FORMAT_CONTEXT) {
			CHECK_EQ(entry.flags & (FI_SEND | FI_MSG | FI_RECV),
				FI_RECV | FI_MSG);
			CHECK_EQ(entry.len, sizeof(out));
		}
		CHECK(in == out);
		cf_close(&env);
	}
}

CF_SUITE(cq, CF_CASE(cq_read_empty, "CQ-009 CQ-012", 0),
	CF_CASE(cq_entry_of_each_format, "CQ-005 CQ-008 CQ-032 CQ-039", FI_MSG));
