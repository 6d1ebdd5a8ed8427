/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_fake.h"

/*
 * Every field of hints: what is accepted and how it is answered, what is refused and
 * with which line, and where the API version makes a difference. Fields are named by
 * their place in the structs, so that a row reads like the call that it stands for.
 */
enum part { END, INFO_, TX_, RX_, EP_, DOM_, FAB_ };

struct field {
	enum part part;
	size_t offset, size;
	uint64_t value;
};

#define FIELD(part_, type_, member_, value_)                                           \
	{                                                                              \
		part_, offsetof(type_, member_), sizeof(((type_ *)0)->member_),        \
			(uint64_t)(value_)                                             \
	}
#define INFO(member, value) FIELD(INFO_, struct fi_info, member, value)
#define TX(member, value)   FIELD(TX_, struct fi_tx_attr, member, value)
#define RX(member, value)   FIELD(RX_, struct fi_rx_attr, member, value)
#define EP(member, value)   FIELD(EP_, struct fi_ep_attr, member, value)
#define DOM(member, value)  FIELD(DOM_, struct fi_domain_attr, member, value)
#define FAB(member, value)  FIELD(FAB_, struct fi_fabric_attr, member, value)

#define V(minor_of_one) FI_VERSION(1, minor_of_one)
#define V2(minor)       FI_VERSION(2, minor)

/* A row holds for every one of these in [from, to). */
static const uint32_t versions[] = { V(4), V(5), V(9), V(17), V(20), V2(0), V2(5),
	V2(6) };

struct row {
	struct fi_info *tmpl;
	uint32_t from, to; /* 0: open */
	struct field asked[5];
	const char *refused; /* the line after "refused: "; NULL: accepted */
	struct field answer[5];
};

#define ALL   0, 0
#define OLD   0, V2(0) /* before 2.0 */
#define NEW   V2(0), 0
#define RDM   "(FI_EP_RDM)"
#define MSG   "(FI_EP_MSG)"
#define DGRAM "(FI_EP_DGRAM)"

#define BASIC    1
#define SCALABLE 2
#define LOCAL_MR (1ULL << 55)

#define MSG_MODE (FI_CONTEXT | FI_MSG_PREFIX)
#define MSG_BITS (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY)

static const struct row type_rows[] = {
	/* EPA-001 */
	{ &rdm, ALL, { EP(type, FI_EP_RDM) }, NULL, { EP(type, FI_EP_RDM) } },
	{ &rdm, ALL, { EP(type, FI_EP_UNSPEC) }, NULL, { EP(type, FI_EP_RDM) } },
	{ &rdm, ALL, { EP(type, FI_EP_MSG) },
		"ep_attr.type: asked FI_EP_MSG, possible FI_EP_RDM " RDM },
	/* EPA-038 */
	{ &rdm, ALL, { EP(type, 4) },
		"ep_attr.type: asked 0x4, possible FI_EP_RDM " RDM },
	/* EPA-002 */
	{ &rdm, ALL, { EP(protocol, FI_PROTO_XNET) }, NULL,
		{ EP(protocol, FI_PROTO_XNET) } },
	{ &rdm, ALL, { EP(protocol, FI_PROTO_UDP) },
		"ep_attr.protocol: asked FI_PROTO_UDP, possible FI_PROTO_XNET " RDM },
	/* EPA-003 */
	{ &rdm, ALL, { EP(protocol_version, 1) }, NULL, { EP(protocol_version, 1) } },
	{ &rdm, ALL, { EP(protocol_version, 2) },
		"ep_attr.protocol_version: asked 2, possible 1 " RDM },
	/* EPA-004 */
	{ &rdm, ALL, { EP(max_msg_size, 1) }, NULL, { EP(max_msg_size, 1 << 20) } },
	{ &rdm, ALL, { EP(max_msg_size, (1 << 20) + 1) },
		"ep_attr.max_msg_size: asked 1048577, possible 1048576 " RDM },
	/* CAP-025 */
	{ &rdm, ALL, { EP(msg_prefix_size, 8) }, NULL, { EP(msg_prefix_size, 0) } },
	{ &dgram_in, ALL, { EP(msg_prefix_size, 8) }, NULL,
		{ EP(msg_prefix_size, 0) } },
};

static const struct row caps_rows[] = {
	/* GI-016, and what is free comes along: GI-018 */
	{ &dgram_in, ALL, { INFO(caps, 0) }, NULL,
		{ INFO(caps, FI_MSG | FI_SEND | FI_RECV | FI_MULTICAST | FI_SOURCE |
				     FI_LOCAL_COMM | FI_REMOTE_COMM),
			TX(caps, FI_MSG | FI_SEND | FI_MULTICAST),
			RX(caps, FI_MSG | FI_RECV | FI_SOURCE) } },
	/* GI-017 GI-019 GI-020 */
	{ &dgram_in, ALL, { INFO(caps, FI_MSG) }, NULL,
		{ INFO(caps,
			  FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM),
			TX(caps, FI_MSG | FI_SEND), RX(caps, FI_MSG | FI_RECV) } },
	{ &dgram_in, ALL, { INFO(caps, FI_MSG | FI_SEND) }, NULL,
		{ INFO(caps, FI_MSG | FI_SEND | FI_LOCAL_COMM | FI_REMOTE_COMM),
			TX(caps, FI_MSG | FI_SEND), RX(caps, FI_MSG) } },
	{ &dgram_in, ALL, { INFO(caps, FI_MSG | FI_SOURCE) }, NULL,
		{ INFO(caps, FI_MSG | FI_SEND | FI_RECV | FI_SOURCE | FI_LOCAL_COMM |
				     FI_REMOTE_COMM),
			RX(caps, FI_MSG | FI_RECV | FI_SOURCE) } },
	/* GI-021 */
	{ &rdm, ALL, { INFO(caps, FI_RMA) }, NULL,
		{ INFO(caps, FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ |
				     FI_REMOTE_WRITE | FI_RMA_EVENT | FI_LOCAL_COMM |
				     FI_REMOTE_COMM | FI_SHARED_AV),
			TX(caps, FI_RMA | FI_READ | FI_WRITE),
			RX(caps, FI_RMA | FI_REMOTE_READ | FI_REMOTE_WRITE |
					 FI_RMA_EVENT) } },
	{ &rdm, ALL, { INFO(caps, FI_ATOMIC | FI_WRITE) }, NULL,
		{ INFO(caps, FI_ATOMIC | FI_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM |
				     FI_SHARED_AV) } },
	/* GI-013 */
	{ &dgram_in, ALL, { INFO(caps, FI_TAGGED) },
		"caps: asked FI_TAGGED, possible FI_MSG, FI_MULTICAST, FI_RECV, "
		"FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE " DGRAM },
	/* GI-038: bits that mean nothing */
	{ &dgram_in, ALL, { INFO(caps, FI_MSG | 1ULL << 60 | 1) },
		"caps: asked 0x1000000000000001, possible FI_MSG, FI_MULTICAST, "
		"FI_RECV, "
		"FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE " DGRAM },
	/* CAP-020 CAP-019: bits that meant something else */
	{ &dgram_in, OLD, { INFO(caps, FI_MSG | FI_EXACT_DIRECTED_RECV) },
		"caps: asked 0x1000000000000, possible FI_MSG, FI_MULTICAST, FI_RECV, "
		"FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE " DGRAM },
	{ &dgram_in, OLD, { INFO(caps, FI_MSG | FI_XPU) },
		"caps: asked 0x100000000000, possible FI_MSG, FI_MULTICAST, FI_RECV, "
		"FI_SEND, FI_LOCAL_COMM, FI_REMOTE_COMM, FI_SOURCE " DGRAM },
	{ &rdm, NEW, { INFO(caps, FI_MSG | FI_EXACT_DIRECTED_RECV) }, NULL,
		{ INFO(caps, FI_MSG | FI_SEND | FI_RECV | FI_EXACT_DIRECTED_RECV |
				     FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM |
				     FI_SHARED_AV) } },
	/* CAP-004 CAP-005 CAP-006 CAP-008: pairs */
	{ &dgram_in, OLD, { INFO(caps, FI_MULTICAST) }, NULL,
		{ INFO(caps, FI_MULTICAST | FI_LOCAL_COMM | FI_REMOTE_COMM) } },
	{ &dgram_in, NEW, { INFO(caps, FI_MULTICAST) },
		"caps: asked FI_MULTICAST, possible only together with one of "
		"FI_MSG " DGRAM },
	{ &rdm, NEW, { INFO(caps, FI_MSG | FI_READ | FI_REMOTE_WRITE) },
		"caps: asked FI_READ, FI_REMOTE_WRITE, possible only together with one "
		"of FI_RMA, FI_ATOMIC " RDM },
	{ &rdm, NEW, { INFO(caps, FI_RMA | FI_WRITE | FI_RMA_EVENT) },
		"caps: asked FI_RMA_EVENT, possible only together with one of "
		"FI_REMOTE_READ, FI_REMOTE_WRITE " RDM },
	{ &rdm, NEW, { INFO(caps, FI_MSG | FI_SOURCE_ERR) },
		"caps: asked FI_SOURCE_ERR, possible only together with one of "
		"FI_SOURCE " RDM },
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_SOURCE | FI_SOURCE_ERR) }, NULL,
		{ RX(caps, FI_MSG | FI_RECV | FI_SOURCE | FI_SOURCE_ERR |
				   FI_MULTI_RECV) } },
	/* CAP-007 */
	{ &msg, ALL, { INFO(caps, FI_MSG | FI_SOURCE), DOM(mr_mode, BASIC) },
		"caps: asked FI_SOURCE, possible FI_MSG, FI_RMA, FI_ATOMIC, FI_READ, "
		"FI_WRITE, FI_RECV, FI_SEND, FI_REMOTE_READ, FI_REMOTE_WRITE, "
		"FI_LOCAL_COMM, FI_REMOTE_COMM " MSG },
	/* CAP-017 CAP-018: given when asked, not otherwise */
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_TRIGGER | FI_FENCE) }, NULL,
		{ TX(caps, FI_MSG | FI_SEND | FI_TRIGGER | FI_FENCE) } },
	/* GI-023 EPA-027 EPA-028 */
	{ &rdm, ALL,
		{ INFO(caps, FI_MSG | FI_TAGGED),
			TX(caps, FI_MSG | FI_SEND | FI_RECV) },
		NULL,
		{ TX(caps, FI_MSG | FI_SEND),
			RX(caps, FI_MSG | FI_TAGGED | FI_RECV | FI_MULTI_RECV) } },
	{ &rdm, NEW, { INFO(caps, FI_MSG), TX(caps, FI_TAGGED | FI_SEND) },
		"tx_attr.caps: asked FI_TAGGED, possible FI_MSG, FI_SEND, FI_TRIGGER, "
		"FI_FENCE " RDM },
	{ &rdm, OLD, { INFO(caps, FI_MSG), TX(caps, FI_TAGGED | FI_SEND) }, NULL,
		{ TX(caps, FI_TAGGED | FI_SEND) } },
	{ &dgram_in, ALL, { INFO(caps, FI_MSG), RX(caps, FI_TAGGED) },
		"rx_attr.caps: asked FI_TAGGED, possible " },
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_TAGGED), RX(caps, FI_TAGGED) }, NULL,
		{ RX(caps, FI_TAGGED | FI_RECV | FI_MULTI_RECV),
			TX(caps, FI_MSG | FI_TAGGED | FI_SEND) } },
	/* CAP-016 DAT-030: both kinds of reach cost nothing */
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_LOCAL_COMM) }, NULL,
		{ DOM(caps, FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV) } },
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_DIRECTED_RECV) }, NULL,
		{ DOM(caps, FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV |
				    FI_DIRECTED_RECV) } },
	{ &rdm, V(5), 0, { DOM(caps, FI_RMA_PMEM) },
		"domain_attr.caps: asked FI_RMA_PMEM, possible FI_LOCAL_COMM, "
		"FI_REMOTE_COMM, FI_SHARED_AV, FI_DIRECTED_RECV " RDM },
	{ &rdm, 0, V(5), { DOM(caps, FI_RMA_PMEM) }, NULL, { { END } } },
};

static const struct row mode_rows[] = {
	/* GI-014 GI-024 CAP-021 CAP-024 */
	{ &msg, ALL,
		{ INFO(mode, MSG_MODE | LOCAL_MR), DOM(mr_mode, BASIC),
			EP(rx_ctx_cnt, FI_SHARED_CONTEXT) },
		NULL, { INFO(mode, MSG_MODE | LOCAL_MR), EP(msg_prefix_size, 16) } },
	{ &msg, ALL, { INFO(mode, FI_CONTEXT) },
		"mode: asked FI_CONTEXT, possible only with FI_CONTEXT, "
		"FI_MSG_PREFIX " MSG },
	{ &msg, ALL, { INFO(mode, 1ULL << 40) },
		"mode: asked 0x10000000000, possible only with FI_CONTEXT, "
		"FI_MSG_PREFIX " MSG },
	{ &rdm, ALL, { INFO(mode, 0) }, NULL,
		{ INFO(mode, 0), TX(mode, 0), RX(mode, 0) } },
	/* EPA-019 */
	{ &rdm, ALL, { TX(mode, FI_CONTEXT), RX(mode, FI_CONTEXT) }, NULL,
		{ TX(mode, 0), RX(mode, 0) } },
	{ &rdm, ALL, { DOM(mode, 1) }, NULL, { DOM(mode, 0) } },
};

static const struct row format_rows[] = {
	/* GI-058 GI-059 */
	{ &rdm, ALL, { INFO(addr_format, FI_SOCKADDR) }, NULL, { { END } } },
	{ &rdm, ALL, { INFO(addr_format, FI_SOCKADDR_IP) }, NULL, { { END } } },
	{ &rdm, ALL, { INFO(addr_format, FI_SOCKADDR_IN) }, NULL, { { END } } },
	{ &rdm, ALL, { INFO(addr_format, FI_SOCKADDR_IN6) }, NULL, { { END } } },
	{ &rdm, ALL, { INFO(addr_format, FI_ADDR_STR) },
		"addr_format: asked FI_ADDR_STR, possible FI_SOCKADDR_IP " RDM },
	{ &rdm, ALL, { INFO(addr_format, FI_SOCKADDR_IB) },
		"addr_format: asked FI_SOCKADDR_IB, possible FI_SOCKADDR_IP " RDM },
	{ &dgram_in, ALL, { INFO(addr_format, FI_SOCKADDR_IN6) },
		"addr_format: asked FI_SOCKADDR_IN6, possible FI_SOCKADDR_IN " DGRAM },
	{ &dgram_in, ALL, { INFO(addr_format, FI_SOCKADDR_IP) }, NULL, { { END } } },
};

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

#define SRX EP(rx_ctx_cnt, FI_SHARED_CONTEXT)

static const struct row mr_rows[] = {
	/* DAT-015: before 1.5 an enumeration */
	{ &rdm, 0, V(5), { DOM(mr_mode, 0) }, NULL, { DOM(mr_mode, BASIC) } },
	{ &rdm, ALL, { DOM(mr_mode, BASIC) }, NULL, { DOM(mr_mode, BASIC) } },
	{ &rdm, ALL, { DOM(mr_mode, SCALABLE) }, NULL, { DOM(mr_mode, SCALABLE) } },
	{ &rdm, 0, V(5), { DOM(mr_mode, FI_MR_LOCAL) },
		"domain_attr.mr_mode: asked FI_MR_LOCAL, possible one alone of "
		"FI_MR_BASIC, FI_MR_SCALABLE " RDM },
	/* DAT-014 */
	{ &rdm, ALL, { DOM(mr_mode, BASIC | SCALABLE) },
		"domain_attr.mr_mode: asked FI_MR_BASIC, FI_MR_SCALABLE, possible one "
		"alone of FI_MR_BASIC, FI_MR_SCALABLE " RDM },
	{ &rdm, ALL, { DOM(mr_mode, BASIC | FI_MR_LOCAL) },
		"domain_attr.mr_mode: asked FI_MR_BASIC, FI_MR_LOCAL, possible one "
		"alone "
		"of FI_MR_BASIC, FI_MR_SCALABLE " RDM },
	/* DAT-013 DAT-016 */
	{ &rdm, V(5), 0, { DOM(mr_mode, 0) }, NULL, { DOM(mr_mode, 0) } },
	{ &rdm, V(5), 0, { DOM(mr_mode, 0xffc) }, NULL, { DOM(mr_mode, 0) } },
	/* a provider that needs bits */
	{ &msg, ALL, { SRX, DOM(mr_mode, BASIC) }, NULL,
		{ DOM(mr_mode, BASIC), INFO(mode, MSG_MODE | LOCAL_MR),
			INFO(caps, FAKE_MSG | FAKE_RMA | FI_LOCAL_COMM |
					   FI_REMOTE_COMM) } },
	{ &msg, ALL, { SRX, DOM(mr_mode, SCALABLE) },
		"domain_attr.mr_mode: asked FI_MR_SCALABLE, possible "
		"FI_MR_BASIC " MSG },
	{ &msg, ALL, { SRX, INFO(caps, FI_MSG), DOM(mr_mode, SCALABLE) }, NULL,
		{ DOM(mr_mode, SCALABLE) } },
	/* DAT-019 CAP-030 */
	{ &msg, ALL, { SRX, INFO(mode, MSG_MODE), DOM(mr_mode, BASIC) },
		"domain_attr.mr_mode: asked FI_MR_BASIC, possible only with mode "
		"FI_LOCAL_MR " MSG },
	{ &msg, V(5), 0, { SRX, INFO(caps, FI_MSG), DOM(mr_mode, 0) },
		"domain_attr.mr_mode: asked none, possible only with "
		"FI_MR_LOCAL " MSG },
	{ &msg, V(5), 0, { SRX, INFO(caps, FI_MSG), DOM(mr_mode, FI_MR_LOCAL) }, NULL,
		{ DOM(mr_mode, FI_MR_LOCAL), INFO(mode, MSG_MODE) } },
	/* DAT-012 DAT-017 DAT-018 */
	{ &msg, V(5), 0, { SRX, INFO(caps, FI_RMA), DOM(mr_mode, 0xffc) }, NULL,
		{ DOM(mr_mode, MSG_BITS) } },
	{ &msg, V(5), 0, { SRX, INFO(caps, FI_RMA), DOM(mr_mode, FI_MR_LOCAL) },
		"domain_attr.mr_mode: asked FI_MR_LOCAL, possible only with "
		"FI_MR_LOCAL, "
		"FI_MR_VIRT_ADDR, FI_MR_PROV_KEY " MSG },
	{ &msg, V(5), 0,
		{ SRX, INFO(caps, FI_RMA | FI_WRITE), DOM(mr_mode, FI_MR_LOCAL) }, NULL,
		{ DOM(mr_mode, FI_MR_LOCAL) } },
	/* GI-022 */
	{ &msg, V(5), 0, { SRX, DOM(mr_mode, FI_MR_LOCAL) }, NULL,
		{ DOM(mr_mode, FI_MR_LOCAL),
			INFO(caps, FAKE_MSG | FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE |
					   FI_LOCAL_COMM | FI_REMOTE_COMM) } },
	{ &msg, V(5), 0, { SRX, DOM(mr_mode, MSG_BITS) }, NULL,
		{ DOM(mr_mode, MSG_BITS),
			INFO(caps, FAKE_MSG | FAKE_RMA | FI_LOCAL_COMM |
					   FI_REMOTE_COMM) } },
};

static const struct row domain_rows[] = {
	/* DAT-001 DAT-003 DAT-004 */
	{ &rdm, ALL, { DOM(threading, 0) }, NULL, { DOM(threading, FI_THREAD_SAFE) } },
	{ &rdm, ALL, { DOM(threading, FI_THREAD_SAFE) }, NULL,
		{ DOM(threading, FI_THREAD_SAFE) } },
	{ &rdm, ALL, { DOM(threading, FI_THREAD_DOMAIN) }, NULL,
		{ DOM(threading, FI_THREAD_DOMAIN) } },
	{ &rdm, ALL, { DOM(threading, FI_THREAD_COMPLETION) }, NULL,
		{ DOM(threading, FI_THREAD_COMPLETION) } },
	{ &msg, ALL, { SRX, DOM(mr_mode, BASIC), DOM(threading, FI_THREAD_COMPLETION) },
		"domain_attr.threading: asked FI_THREAD_COMPLETION, possible "
		"FI_THREAD_DOMAIN " MSG },
	{ &rdm, ALL, { DOM(threading, 17) },
		"domain_attr.threading: asked 0x11, possible FI_THREAD_SAFE " RDM },
	/* DAT-002 */
	{ &rdm, OLD, { DOM(threading, FI_THREAD_FID) }, NULL,
		{ DOM(threading, FI_THREAD_FID) } },
	{ &rdm, OLD, { DOM(threading, FI_THREAD_ENDPOINT) }, NULL,
		{ DOM(threading, FI_THREAD_ENDPOINT) } },
	{ &rdm, NEW, { DOM(threading, FI_THREAD_FID) },
		"domain_attr.threading: asked FI_THREAD_FID, possible "
		"FI_THREAD_SAFE " RDM },
	{ &rdm, NEW, { DOM(threading, FI_THREAD_ENDPOINT) },
		"domain_attr.threading: asked FI_THREAD_ENDPOINT, possible "
		"FI_THREAD_SAFE " RDM },
	{ &msg, OLD, { SRX, DOM(mr_mode, BASIC), DOM(threading, FI_THREAD_FID) },
		"domain_attr.threading: asked FI_THREAD_FID, possible "
		"FI_THREAD_DOMAIN " MSG },
	/* DAT-005 DAT-006 DAT-007 */
	{ &rdm, ALL, { DOM(progress, 0) }, NULL,
		{ DOM(progress, FI_PROGRESS_MANUAL),
			DOM(control_progress, FI_PROGRESS_MANUAL) } },
	{ &rdm, NEW, { DOM(progress, FI_PROGRESS_AUTO) }, NULL,
		{ DOM(progress, FI_PROGRESS_AUTO),
			DOM(control_progress, FI_PROGRESS_AUTO) } },
	{ &rdm, NEW,
		{ DOM(control_progress, FI_PROGRESS_AUTO),
			DOM(progress, FI_PROGRESS_MANUAL) },
		NULL,
		{ DOM(progress, FI_PROGRESS_MANUAL),
			DOM(control_progress, FI_PROGRESS_MANUAL) } },
	{ &rdm, OLD,
		{ DOM(control_progress, FI_PROGRESS_AUTO),
			DOM(data_progress, FI_PROGRESS_MANUAL) },
		NULL,
		{ DOM(data_progress, FI_PROGRESS_MANUAL),
			DOM(control_progress, FI_PROGRESS_AUTO) } },
	{ &rdm, NEW, { DOM(progress, FI_PROGRESS_CONTROL_UNIFIED) }, NULL,
		{ DOM(progress, FI_PROGRESS_CONTROL_UNIFIED),
			DOM(control_progress, FI_PROGRESS_CONTROL_UNIFIED) } },
	{ &rdm, OLD, { DOM(progress, FI_PROGRESS_CONTROL_UNIFIED) },
		"domain_attr.data_progress: asked FI_PROGRESS_CONTROL_UNIFIED, "
		"possible "
		"FI_PROGRESS_AUTO " RDM },
	{ &msg, NEW, { SRX, DOM(mr_mode, BASIC), DOM(progress, FI_PROGRESS_AUTO) },
		"domain_attr.progress: asked FI_PROGRESS_AUTO, possible "
		"FI_PROGRESS_MANUAL " MSG },
	{ &msg, OLD, { SRX, DOM(mr_mode, BASIC), DOM(progress, FI_PROGRESS_AUTO) },
		"domain_attr.data_progress: asked FI_PROGRESS_AUTO, possible "
		"FI_PROGRESS_MANUAL " MSG },
	{ &msg, OLD,
		{ SRX, DOM(mr_mode, BASIC), DOM(control_progress, FI_PROGRESS_AUTO) },
		"domain_attr.control_progress: asked FI_PROGRESS_AUTO, possible "
		"FI_PROGRESS_MANUAL " MSG },
	/* since 2.0 nobody looks at control_progress */
	{ &msg, NEW,
		{ SRX, DOM(mr_mode, BASIC), DOM(control_progress, FI_PROGRESS_AUTO) },
		NULL, { DOM(control_progress, FI_PROGRESS_MANUAL) } },
	/* DAT-009 */
	{ &rdm, ALL, { DOM(resource_mgmt, FI_RM_DISABLED) }, NULL,
		{ DOM(resource_mgmt, FI_RM_ENABLED) } },
	{ &rdm, ALL, { DOM(resource_mgmt, FI_RM_ENABLED) }, NULL,
		{ DOM(resource_mgmt, FI_RM_ENABLED) } },
	{ &msg, ALL, { SRX, DOM(mr_mode, BASIC), DOM(resource_mgmt, FI_RM_ENABLED) },
		"domain_attr.resource_mgmt: asked FI_RM_ENABLED, possible "
		"FI_RM_DISABLED " MSG },
	{ &rdm, ALL, { DOM(resource_mgmt, 3) },
		"domain_attr.resource_mgmt: asked 3, possible 2 " RDM },
	/* DAT-010 DAT-011 */
	{ &rdm, ALL, { DOM(av_type, 0) }, NULL, { DOM(av_type, FI_AV_UNSPEC) } },
	{ &rdm, ALL, { DOM(av_type, FI_AV_MAP) }, NULL, { DOM(av_type, FI_AV_MAP) } },
	{ &rdm, ALL, { DOM(av_type, FI_AV_TABLE) }, NULL,
		{ DOM(av_type, FI_AV_TABLE) } },
	{ &msg, ALL, { SRX, DOM(mr_mode, BASIC), DOM(av_type, FI_AV_MAP) }, NULL,
		{ DOM(av_type, FI_AV_MAP) } },
	{ &rdm, ALL, { DOM(av_type, 3) },
		"domain_attr.av_type: asked 0x3, possible FI_AV_TABLE " RDM },
	/* DAT-021 */
	{ &rdm, ALL, { DOM(cq_data_size, 4) }, NULL, { DOM(cq_data_size, 8) } },
	{ &rdm, ALL, { DOM(cq_data_size, 9) },
		"domain_attr.cq_data_size: asked 9, possible 8 " RDM },
	/* DAT-020 DAT-023 DAT-029 DAT-034: reported */
	{ &rdm, ALL,
		{ DOM(mr_key_size, 99), DOM(cq_cnt, 1 << 30), DOM(ep_cnt, 1 << 30),
			DOM(tx_ctx_cnt, 99), DOM(rx_ctx_cnt, 99) },
		NULL,
		{ DOM(mr_key_size, 8), DOM(cq_cnt, 256), DOM(ep_cnt, 256),
			DOM(tx_ctx_cnt, 16), DOM(rx_ctx_cnt, 16) } },
	{ &rdm, ALL,
		{ DOM(max_ep_tx_ctx, 99), DOM(max_ep_rx_ctx, 99),
			DOM(max_ep_stx_ctx, 99), DOM(max_ep_srx_ctx, 99),
			DOM(max_xpu_ctx_cnt, 99) },
		NULL,
		{ DOM(max_ep_tx_ctx, 2), DOM(max_ep_rx_ctx, 2), DOM(max_ep_stx_ctx, 0),
			DOM(max_ep_srx_ctx, 8), DOM(max_xpu_ctx_cnt, 0) } },
	/* DAT-022 */
	{ &rdm, ALL,
		{ DOM(cntr_cnt, 1), DOM(mr_iov_limit, 1), DOM(max_err_data, 1),
			DOM(mr_cnt, 1) },
		NULL,
		{ DOM(cntr_cnt, 128), DOM(mr_iov_limit, 1), DOM(max_err_data, 64),
			DOM(mr_cnt, 1024) } },
	{ &rdm, V(5), 0, { DOM(cntr_cnt, 129) },
		"domain_attr.cntr_cnt: asked 129, possible 128 " RDM },
	{ &rdm, V(5), 0, { DOM(mr_iov_limit, 2) },
		"domain_attr.mr_iov_limit: asked 2, possible 1 " RDM },
	{ &rdm, V(5), 0, { DOM(max_err_data, 65) },
		"domain_attr.max_err_data: asked 65, possible 64 " RDM },
	{ &rdm, V(5), 0, { DOM(mr_cnt, 1025) },
		"domain_attr.mr_cnt: asked 1025, possible 1024 " RDM },
	{ &rdm, 0, V(5),
		{ DOM(cntr_cnt, 129), DOM(mr_iov_limit, 2), DOM(max_err_data, 65),
			DOM(mr_cnt, 1025), DOM(mode, 1) },
		NULL, { DOM(cntr_cnt, 128) } },
	/* DAT-026 */
	{ &msg, V(20), 0, { SRX, DOM(mr_mode, BASIC), DOM(max_ep_auth_key, 5) },
		"domain_attr.max_ep_auth_key: asked 5, possible 4 " MSG },
	{ &msg, 0, V(20), { SRX, DOM(mr_mode, BASIC), DOM(max_ep_auth_key, 5) }, NULL,
		{ DOM(max_ep_auth_key, 4) } },
	/* DAT-027 */
	{ &rdm, NEW, { DOM(max_group_id, 7) }, NULL, { DOM(max_group_id, 7) } },
	{ &rdm, NEW, { DOM(max_group_id, 8) },
		"domain_attr.max_group_id: asked 8, possible 7 " RDM },
	{ &rdm, OLD, { DOM(max_group_id, 8) }, NULL, { DOM(max_group_id, 7) } },
	/* DAT-028 */
	{ &rdm, ALL, { DOM(max_cntr_value, 5), DOM(max_err_cntr_value, 5) }, NULL,
		{ DOM(max_cntr_value, UINT64_MAX),
			DOM(max_err_cntr_value, UINT64_MAX) } },
	{ &msg, V2(5), 0, { SRX, DOM(mr_mode, BASIC), DOM(max_cntr_value, 1001) },
		"domain_attr.max_cntr_value: asked 1001, possible 1000 " MSG },
	{ &msg, V2(5), 0, { SRX, DOM(mr_mode, BASIC), DOM(max_err_cntr_value, 101) },
		"domain_attr.max_err_cntr_value: asked 101, possible 100 " MSG },
	{ &msg, 0, V2(5),
		{ SRX, DOM(mr_mode, BASIC), DOM(max_cntr_value, 1001),
			DOM(max_err_cntr_value, 101) },
		NULL, { DOM(max_cntr_value, 1000), DOM(max_err_cntr_value, 100) } },
	/* DAT-024 EPA-016: keys are in keys_*() */
	{ &rdm, V(5), 0, { DOM(auth_key_size, 4) },
		"domain_attr.auth_key_size: asked 4, possible 0 " RDM },
	{ &rdm, V(5), 0, { EP(auth_key_size, 4) },
		"ep_attr.auth_key_size: asked 4, possible 0 " RDM },
	{ &rdm, 0, V(5), { DOM(auth_key_size, 4), EP(auth_key_size, 4) }, NULL,
		{ DOM(auth_key_size, 0), EP(auth_key_size, 0) } },
	/* GI-049 GI-042 */
	{ &rdm, ALL, { FAB(prov_version, FI_VERSION(206, 0)) }, NULL,
		{ FAB(prov_version, FI_VERSION(206, 0)) } },
	{ &rdm, ALL, { FAB(prov_version, FI_VERSION(206, 1)) },
		"fabric_attr.prov_version: asked 206.1, possible up to 206.0 " RDM },
	{ &rdm, ALL, { FAB(api_version, 1) }, NULL, { { END } } },
};

static char *part_of(struct fi_info *info, enum part part)
{
	switch (part) {
	case TX_:
		return (char *)info->tx_attr;
	case RX_:
		return (char *)info->rx_attr;
	case EP_:
		return (char *)info->ep_attr;
	case DOM_:
		return (char *)info->domain_attr;
	case FAB_:
		return (char *)info->fabric_attr;
	default:
		return (char *)info;
	}
}

static void set_fields(struct fi_info *info, const struct field *fields)
{
	for (size_t i = 0; i < 5 && fields[i].part; i++)
		memcpy(part_of(info, fields[i].part) + fields[i].offset,
			&fields[i].value, fields[i].size);
}

static void assert_fields(struct fi_info *info, const struct field *fields, size_t row)
{
	for (size_t i = 0; i < 5 && fields[i].part; i++) {
		uint64_t value = 0;

		memcpy(&value, part_of(info, fields[i].part) + fields[i].offset,
			fields[i].size);
		if (value != fields[i].value)
			fail_msg("row %zu, answer %zu: 0x%llx instead of 0x%llx", row,
				i, (unsigned long long)value,
				(unsigned long long)fields[i].value);
	}
}

static void clear_pointers(struct fi_info *hints)
{
	hints->ep_attr->xpu_ctx = NULL;
	hints->domain_attr->auth_key_size = hints->ep_attr->auth_key_size = 0;
}

static void try_row(const struct row *row, size_t number, uint32_t version)
{
	struct fi_info *hints = fake_hints(), *answer;
	char line[1400] = "refused: ";
	int ret;

	set_fields(hints, row->asked);
	ret = wf_info_match(&fake_prov, version, row->tmpl, hints);
	if (row->refused) {
		strcat(line, row->refused);
		if (ret != -FI_ENODATA || strncmp(fake_log, line, strlen(line)) ||
			strchr(fake_log, '\n') != fake_log + strlen(fake_log) - 1)
			fail_msg("row %zu, version %u.%u: %d, \"%s\" instead of \"%s\"",
				number, FI_MAJOR(version), FI_MINOR(version), ret,
				fake_log, line);
	} else {
		if (ret || *fake_log)
			fail_msg("row %zu, version %u.%u: %d, %s", number,
				FI_MAJOR(version), FI_MINOR(version), ret, fake_log);
		answer = wf_info_answer(&fake_prov, version, row->tmpl, hints);
		assert_non_null(answer);
		assert_fields(answer, row->answer, number);
		assert_int_equal(answer->fabric_attr->api_version, version);
		/* What was given can be asked for, and opened. */
		if (wf_info_match(&fake_prov, version, row->tmpl, answer) ||
			wf_info_check(&fake_prov, version, answer))
			fail_msg("row %zu, version %u.%u: own answer: %s", number,
				FI_MAJOR(version), FI_MINOR(version), fake_log);
		fi_freeinfo(answer);
	}
	clear_pointers(hints);
	fi_freeinfo(hints);
}

static void try_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t v = 0; v < WF_ARRAY_SIZE(versions); v++)
			if (versions[v] >= rows[i].from &&
				(!rows[i].to || versions[v] < rows[i].to))
				try_row(&rows[i], i, versions[v]);
}

#define ROWS_TEST(name)                                                                \
	static void name(void **state)                                                 \
	{                                                                              \
		try_rows(name##_rows, WF_ARRAY_SIZE(name##_rows));                     \
	}

ROWS_TEST(type)
ROWS_TEST(caps)
ROWS_TEST(mode)
ROWS_TEST(format)
ROWS_TEST(xfer)
ROWS_TEST(ep)
ROWS_TEST(mr)
ROWS_TEST(domain)

/* GI-015 GI-012: defaults, and everything that is supported */
static void without_hints(void **state)
{
	for (size_t t = 0; fake_templates[t]; t++) {
		for (size_t v = 0; v < WF_ARRAY_SIZE(versions); v++) {
			const struct fi_info *tmpl = fake_templates[t];
			struct fi_info *info;

			assert_int_equal(
				wf_info_match(&fake_prov, versions[v], tmpl, NULL), 0);
			info = wf_info_answer(&fake_prov, versions[v], tmpl, NULL);
			assert_non_null(info);
			assert_true(
				info->caps ==
				(versions[v] < V2(0)
						? tmpl->caps & ~FI_EXACT_DIRECTED_RECV
						: tmpl->caps));
			assert_int_equal(info->mode & tmpl->mode, tmpl->mode);
			assert_int_equal(info->domain_attr->mr_mode,
				versions[v] < V(5)
					? BASIC
					: tmpl->domain_attr->mr_mode & ~FI_MR_HMEM);
			assert_int_equal(
				wf_info_check(&fake_prov, versions[v], info), 0);
			fi_freeinfo(info);
		}
	}
}

/* Hints of before the library allocated them may lack attributes. */
static void missing_attributes_are_open(void **state)
{
	struct fi_info hints = { .mode = ~0ULL };
	struct fi_info *info;

	fake_log[0] = '\0';
	assert_int_equal(wf_info_match(&fake_prov, V2(6), &rdm, &hints), 0);
	info = wf_info_answer(&fake_prov, V2(6), &rdm, &hints);
	assert_non_null(info);
	assert_int_equal(info->tx_attr->size, 256);
	fi_freeinfo(info);
	assert_string_equal(fake_log, "");
}

static void set_key(uint8_t **key, size_t *key_size, size_t size)
{
	*key = calloc(1, 8);
	assert_non_null(*key);
	(*key)[0] = 0x42;
	*key_size = size;
}

/* DAT-024 EPA-016 EPA-017 */
static void keys_are_echoed(void **state)
{
	struct fi_info *hints = fake_hints(), *info;

	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->domain_attr->mr_mode = BASIC;
	set_key(&hints->domain_attr->auth_key, &hints->domain_attr->auth_key_size, 8);
	set_key(&hints->ep_attr->auth_key, &hints->ep_attr->auth_key_size, 8);
	assert_int_equal(wf_info_match(&fake_prov, V(17), &msg, hints), 0);
	info = wf_info_answer(&fake_prov, V(17), &msg, hints);
	assert_non_null(info);
	assert_int_equal(info->domain_attr->auth_key_size, 8);
	assert_memory_equal(
		info->domain_attr->auth_key, hints->domain_attr->auth_key, 8);
	assert_ptr_not_equal(info->domain_attr->auth_key, hints->domain_attr->auth_key);
	assert_int_equal(info->ep_attr->auth_key_size, 8);
	assert_memory_equal(info->ep_attr->auth_key, hints->ep_attr->auth_key, 8);
	fi_freeinfo(info);
	hints->ep_attr->auth_key_size = 7;
	assert_int_equal(wf_info_match(&fake_prov, V(17), &msg, hints), -FI_ENODATA);
	assert_string_equal(fake_log,
		"refused: ep_attr.auth_key_size: asked 7, possible 8 " MSG "\n");
	fi_freeinfo(hints);
}

/* DAT-025 EPA-016 */
static void keys_in_the_av(void **state)
{
	struct fi_info *hints = fake_hints(), *info;

	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->domain_attr->mr_mode = BASIC;
	hints->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	assert_int_equal(wf_info_match(&fake_prov, V(20), &msg, hints), 0);
	info = wf_info_answer(&fake_prov, V(20), &msg, hints);
	assert_non_null(info);
	assert_true(info->domain_attr->auth_key_size == FI_AV_AUTH_KEY);
	assert_null(info->domain_attr->auth_key);
	info->domain_attr->auth_key_size = 0;
	fi_freeinfo(info);
	/* A plain, and wrong, size before 1.20. */
	assert_int_equal(wf_info_match(&fake_prov, V(17), &msg, hints), -FI_ENODATA);
	/* No AV of this one takes keys. */
	fake_log[0] = '\0';
	hints->ep_attr->rx_ctx_cnt = 0;
	assert_int_equal(wf_info_match(&fake_prov, V2(6), &rdm, hints), -FI_ENODATA);
	assert_string_equal(fake_log,
		"refused: domain_attr.auth_key_size: asked FI_AV_AUTH_KEY, possible "
		"0 " RDM "\n");
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->ep_attr->auth_key_size = 8;
	fake_log[0] = '\0';
	assert_int_equal(wf_info_match(&fake_prov, V2(6), &msg, hints), -FI_ENODATA);
	assert_string_equal(fake_log, "refused: ep_attr.auth_key_size: asked a key, "
				      "possible none, the domain "
				      "has FI_AV_AUTH_KEY " MSG "\n");
	hints->ep_attr->auth_key_size = 0;
	set_key(&hints->domain_attr->auth_key, &hints->domain_attr->auth_key_size,
		FI_AV_AUTH_KEY);
	fake_log[0] = '\0';
	assert_int_equal(wf_info_match(&fake_prov, V2(6), &msg, hints), -FI_ENODATA);
	assert_string_equal(fake_log,
		"refused: domain_attr.auth_key_size: asked FI_AV_AUTH_KEY with a key, "
		"possible without a key " MSG "\n");
	hints->domain_attr->auth_key_size = 8;
	fi_freeinfo(hints);
}

/* GI-055 */
static void handle_is_copied(void **state)
{
	struct fid pep = { .fclass = FI_CLASS_PEP };
	struct fi_info *hints = fake_hints(), *info;

	hints->handle = &pep;
	info = wf_info_answer(&fake_prov, V2(6), &rdm, hints);
	assert_non_null(info);
	assert_ptr_equal(info->handle, &pep);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

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
		/* Nobody else's tags matter. */
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

/* Names of a provider without interfaces: GI-044 GI-043 */
static void fixed_names(void **state)
{
	struct wf_prov prov = fake_prov;
	struct fi_info *hints = fake_hints(), *info;

	prov.iface_param = NULL;
	hints->domain_attr->name = strdup("FAKE");
	hints->fabric_attr->name = strdup("fake-ip");
	assert_int_equal(wf_info_match(&prov, V2(6), &rdm, hints), 0);
	info = wf_info_answer(&prov, V2(6), &rdm, hints);
	assert_non_null(info);
	assert_string_equal(info->fabric_attr->name, "FAKE-IP");
	assert_string_equal(info->fabric_attr->prov_name, "fake");
	assert_string_equal(info->domain_attr->name, "fake");
	fi_freeinfo(info);
	hints->domain_attr->name[0] = 'x';
	assert_int_equal(wf_info_match(&prov, V2(6), &rdm, hints), -FI_ENODATA);
	assert_string_equal(fake_log,
		"refused: domain_attr.name: asked xAKE, possible fake " RDM "\n");
	fi_freeinfo(hints);
}

/* FAB-008 */
static void checked_before_opening(void **state)
{
	struct fi_info *info;

	fake_log[0] = '\0';
	assert_int_equal(wf_info_check(&fake_prov, V2(6), NULL), -FI_EINVAL);
	info = wf_info_answer(&fake_prov, V2(6), &dgram_in6, NULL);
	assert_non_null(info);
	info->tx_attr->inject_size = 1401;
	fake_log[0] = '\0';
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), -FI_ENODATA);
	assert_string_equal(fake_log,
		"refused: tx_attr.inject_size: asked 1401, possible 1400 " DGRAM "\n");
	info->tx_attr->inject_size = 1;
	info->caps = FI_MSG | FI_SEND;
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), 0);
	info->src_addr = calloc(1, 28);
	assert_non_null(info->src_addr);
	fake_log[0] = '\0';
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), -FI_EINVAL);
	assert_string_equal(fake_log,
		"refused: src_addr: asked 0, possible bytes of an address of "
		"FI_SOCKADDR_IN6 "
		"(FI_EP_RDM)"
		"\n");
	info->src_addrlen = 28;
	*(uint16_t *)info->src_addr = 2; /* AF_INET in an IPv6 info */
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), -FI_EINVAL);
	*(uint16_t *)info->src_addr = 10;
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), 0);
	info->ep_attr->type = 4;
	assert_int_equal(wf_info_check(&fake_prov, V2(6), info), -FI_ENODATA);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(type),
		cmocka_unit_test(caps),
		cmocka_unit_test(mode),
		cmocka_unit_test(format),
		cmocka_unit_test(xfer),
		cmocka_unit_test(ep),
		cmocka_unit_test(mr),
		cmocka_unit_test(domain),
		cmocka_unit_test(without_hints),
		cmocka_unit_test(missing_attributes_are_open),
		cmocka_unit_test(keys_are_echoed),
		cmocka_unit_test(keys_in_the_av),
		cmocka_unit_test(handle_is_copied),
		cmocka_unit_test(tag_fields_must_be_wide_enough),
		cmocka_unit_test(fixed_names),
		cmocka_unit_test(checked_before_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
