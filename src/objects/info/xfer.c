/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

/* Transmit and receive attributes. */

#define TX(member) WF_INFO_MEMBER(WF_INFO_TX, struct fi_tx_attr, "tx_attr.", member)
#define RX(member) WF_INFO_MEMBER(WF_INFO_RX, struct fi_rx_attr, "rx_attr.", member)

/* 2.0 removed comp_order and total_buffered_recv. */
#define V2 FI_VERSION(2, 0)

static const struct wf_info_rule rules[] = {
	{ TX(op_flags), .test = WF_INFO_BITS, .reply = WF_INFO_EXACT,
		.show = FI_TYPE_OP_FLAGS },
	{ TX(msg_order), .test = WF_INFO_BITS, .show = FI_TYPE_MSG_ORDER },
	{ TX(comp_order), .until = V2, .test = WF_INFO_BITS,
		.show = FI_TYPE_MSG_ORDER },
	{ TX(comp_order), .since = V2, .test = WF_INFO_GONE, .reply = WF_INFO_ZERO,
		.show = FI_TYPE_MSG_ORDER },
	{ TX(inject_size), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
	{ TX(size), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
	{ TX(iov_limit), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
	{ TX(rma_iov_limit), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
	{ RX(op_flags), .test = WF_INFO_BITS, .reply = WF_INFO_EXACT,
		.show = FI_TYPE_OP_FLAGS },
	{ RX(msg_order), .test = WF_INFO_BITS, .show = FI_TYPE_MSG_ORDER },
	{ RX(comp_order), .until = V2, .test = WF_INFO_BITS,
		.show = FI_TYPE_MSG_ORDER },
	{ RX(comp_order), .since = V2, .test = WF_INFO_GONE, .reply = WF_INFO_ZERO,
		.show = FI_TYPE_MSG_ORDER },
	{ RX(total_buffered_recv), .until = V2, .test = WF_INFO_MOST,
		.reply = WF_INFO_EXACT, .show = WF_INFO_NUMBER },
	{ RX(total_buffered_recv), .since = V2, .test = WF_INFO_GONE,
		.reply = WF_INFO_ZERO, .show = WF_INFO_NUMBER },
	{ RX(size), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
	{ RX(iov_limit), .test = WF_INFO_MOST, .reply = WF_INFO_HINT,
		.show = WF_INFO_NUMBER },
};

const struct wf_info_rules wf_info_xfer_rules = WF_INFO_RULES(rules);
