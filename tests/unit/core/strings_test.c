/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <limits.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>

#include "core/strings.h"
#include "sys/compiler.h"

#define EXPECT(data, type, text) assert_string_equal(fi_tostr(data, type), text)

static void expect_u32(uint32_t value, enum fi_type type, const char *text)
{
	EXPECT(&value, type, text);
}

static void expect_u64(uint64_t value, enum fi_type type, const char *text)
{
	EXPECT(&value, type, text);
}

/* STR-001 */
static void buffer_is_bounded_and_terminated(void **state)
{
	uint64_t caps = FI_MSG | FI_RMA;
	char buf[16];
	size_t len;

	for (len = 1; len < sizeof(buf); len++) {
		memset(buf, 'x', sizeof(buf));
		assert_ptr_equal(fi_tostr_r(buf, len, &caps, FI_TYPE_CAPS), buf);
		assert_int_equal(strlen(buf), len - 1 < 14 ? len - 1 : 14);
		assert_int_equal(buf[len], 'x');
	}
	assert_null(fi_tostr_r(buf, 0, &caps, FI_TYPE_CAPS));
	assert_null(fi_tostr_r(NULL, 4, &caps, FI_TYPE_CAPS));
	assert_ptr_equal(fi_tostr(&caps, FI_TYPE_CAPS), fi_tostr(&caps, FI_TYPE_MODE));
}

static void *tostr_worker(void *arg)
{
	uint64_t bit = *(uint64_t *)arg;
	int i;

	for (i = 0; i < 2000; i++) {
		if (strcmp(fi_tostr(&bit, FI_TYPE_CAPS),
			    bit == FI_MSG ? "FI_MSG" : "FI_RMA") != 0)
			return arg;
	}
	return NULL;
}

/* STR-001: ours is per thread. */
static void threads_do_not_share_the_buffer(void **state)
{
	uint64_t bits[] = { FI_MSG, FI_RMA };
	pthread_t threads[2];
	void *failed;
	int i;

	for (i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, tostr_worker, &bits[i]), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* STR-002 */
static void null_data_is_null(void **state)
{
	char buf[4] = "abc";
	int type;

	for (type = FI_TYPE_INFO; type <= FI_TYPE_WAIT_OBJ; type++)
		assert_null(fi_tostr(NULL, (enum fi_type)type));
	assert_null(fi_tostr_r(buf, sizeof(buf), NULL, FI_TYPE_CAPS));
	assert_string_equal(buf, "");
	EXPECT("", FI_TYPE_VERSION, "2.6.0");
}

/* STR-003 */
static void unknown_type_and_value(void **state)
{
	int type;

	expect_u32(0, (enum fi_type)(FI_TYPE_WAIT_OBJ + 1), "Unknown type");
	expect_u32(0, (enum fi_type)1000, "Unknown type");
	expect_u32(0, (enum fi_type) - 1, "Unknown type");
	for (type = FI_TYPE_INFO; type <= FI_TYPE_WAIT_OBJ; type++) {
		static const uint64_t zero[64];
		static struct fi_ops ops = { .size = sizeof(ops) };
		struct fid fid = { .ops = &ops };

		assert_string_not_equal(
			fi_tostr(type == FI_TYPE_FID ? (const void *)&fid : zero,
				(enum fi_type)type),
			"Unknown type");
	}
}

/* Every value of a dense enum from 0 to @last has the name of its constant, which
 * begins with @prefix; what follows @last is unknown. STR-003, STR-009 */
static void walk(enum fi_type type, uint32_t last, const char *prefix)
{
	uint32_t value;
	const char *text;

	for (value = 0; value <= last; value++) {
		text = fi_tostr(&value, type);
		assert_int_equal(strncmp(text, prefix, strlen(prefix)), 0);
		assert_string_not_equal(text, "Unknown");
	}
	expect_u32(last + 1, type, "Unknown");
	expect_u32(0x7fffffff, type, "Unknown");
}

static void every_enum_value_has_a_name(void **state)
{
	walk(FI_TYPE_EP_TYPE, FI_EP_RDM, "FI_EP_");
	walk(FI_TYPE_ADDR_FORMAT, FI_SOCKADDR_IP, "FI_");
	walk(FI_TYPE_THREADING, FI_THREAD_ENDPOINT, "FI_THREAD_");
	walk(FI_TYPE_PROGRESS, FI_PROGRESS_CONTROL_UNIFIED, "FI_PROGRESS_");
	walk(FI_TYPE_PROTOCOL, FI_PROTO_LNX, "FI_PROTO_");
	walk(FI_TYPE_AV_TYPE, FI_AV_TABLE, "FI_AV_");
	walk(FI_TYPE_ATOMIC_TYPE, FI_FLOAT8_E5M2, "FI_");
	walk(FI_TYPE_ATOMIC_OP, FI_DIFF, "FI_");
	walk(FI_TYPE_EQ_EVENT, FI_JOIN_COMPLETE, "FI_");
	walk(FI_TYPE_OP_TYPE, FI_OP_CNTR_ADD, "FI_OP_");
	walk(FI_TYPE_COLLECTIVE_OP, FI_GATHER, "FI_");
	walk(FI_TYPE_HMEM_IFACE, FI_HMEM_SYNAPSEAI, "FI_HMEM_");
	walk(FI_TYPE_CQ_FORMAT, FI_CQ_FORMAT_TAGGED, "FI_CQ_FORMAT_");
	walk(FI_TYPE_LOG_LEVEL, FI_LOG_DEBUG, "");
	walk(FI_TYPE_LOG_SUBSYS, FI_LOG_CNTR, "");
	walk(FI_TYPE_CQ_WAIT_COND, FI_CQ_COND_THRESHOLD, "FI_CQ_COND_");
	walk(FI_TYPE_WAIT_OBJ, FI_WAIT_POLLFD, "FI_WAIT_");
	expect_u32(FI_VOID, FI_TYPE_ATOMIC_TYPE, "FI_VOID");
	expect_u32(FI_NOOP, FI_TYPE_ATOMIC_OP, "FI_NOOP");
}

static void enum_golden(void **state)
{
	expect_u32(FI_EP_RDM, FI_TYPE_EP_TYPE, "FI_EP_RDM");
	expect_u32(FI_SOCKADDR_IN6, FI_TYPE_ADDR_FORMAT, "FI_SOCKADDR_IN6");
	expect_u32(0x80000003u, FI_TYPE_ADDR_FORMAT, "Provider specific");
	expect_u32(FI_PROTO_XNET, FI_TYPE_PROTOCOL, "FI_PROTO_XNET");
	expect_u32(0x80000003u, FI_TYPE_PROTOCOL, "Provider specific");
	expect_u32(0x80000003u, FI_TYPE_EP_TYPE, "Unknown");
	expect_u32(1, FI_TYPE_AV_TYPE, "FI_AV_MAP");
	expect_u32(FI_LOG_EP_DATA, FI_TYPE_LOG_SUBSYS, "ep_data");
	expect_u32(FI_LOG_TRACE, FI_TYPE_LOG_LEVEL, "trace");
	expect_u32(FI_THREAD_FID, FI_TYPE_THREADING, "FI_THREAD_FID");
}

/* The names of all bits of a flag type, each alone. */
static void walk_flags(enum fi_type type, uint64_t expected)
{
	uint64_t named = 0, bit;
	int i;

	for (i = 0; i < (type == FI_TYPE_MR_MODE ? 32 : 64); i++) {
		bit = 1ull << i;
		if (*fi_tostr(&bit, type))
			named |= bit;
	}
	assert_true((named & expected) == expected);
}

/* STR-004, STR-010 */
static void flags(void **state)
{
	expect_u64(0, FI_TYPE_CAPS, "");
	expect_u64(FI_MSG | FI_RMA | 1, FI_TYPE_CAPS, "FI_MSG, FI_RMA");
	expect_u64(FI_HMEM | FI_DIRECTED_RECV | FI_FENCE, FI_TYPE_CAPS,
		"FI_FENCE, FI_DIRECTED_RECV, FI_HMEM");
	expect_u64(FI_INJECT | FI_COMPLETION | FI_CLAIM, FI_TYPE_OP_FLAGS,
		"FI_COMPLETION, FI_INJECT, FI_CLAIM");
	expect_u64(FI_ORDER_SAS | FI_ORDER_RAR, FI_TYPE_MSG_ORDER,
		"FI_ORDER_RAR, FI_ORDER_SAS");
	expect_u64(FI_CONTEXT | FI_CONTEXT2, FI_TYPE_MODE, "FI_CONTEXT, FI_CONTEXT2");
	expect_u64(1ull << 55, FI_TYPE_MODE, "FI_LOCAL_MR");
	expect_u64(FI_SEND | FI_MSG | FI_TAGGED, FI_TYPE_CQ_EVENT_FLAGS,
		"FI_SEND, FI_MSG, FI_TAGGED");
	/* An int: the word after it is not read. */
	expect_u64(FI_MR_LOCAL | 1ull << 32, FI_TYPE_MR_MODE, "FI_MR_LOCAL");
	expect_u64(1, FI_TYPE_MR_MODE, "FI_MR_BASIC");

	/* Bits 1-6, 8-13, 16, 17, 20, 21, 41, 43-53 and 56-59. */
	walk_flags(FI_TYPE_CAPS, 0x0f3ffa0000333f7eull);
	walk_flags(FI_TYPE_OP_FLAGS, 0x0c000010ff3f0020ull);
	walk_flags(FI_TYPE_MODE, 0x0f90000000000000ull);
	walk_flags(FI_TYPE_MR_MODE, 0x1fff);
	walk_flags(FI_TYPE_MSG_ORDER, 0xff000001ffull);
	walk_flags(FI_TYPE_CQ_EVENT_FLAGS,
		FI_SEND | FI_RECV | FI_RMA | FI_ATOMIC | FI_MSG | FI_TAGGED | FI_READ |
			FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
			FI_REMOTE_CQ_DATA | FI_MULTI_RECV | FI_MORE | FI_CLAIM |
			FI_COLLECTIVE);
}

static struct fi_tx_attr tx;
static struct fi_rx_attr rx;
static struct fi_ep_attr ep;
static struct fi_domain_attr domain;
static struct fi_fabric_attr fabric;
static struct sockaddr_in sin4;

static struct fi_info sample(void)
{
	tx = (struct fi_tx_attr){ .caps = FI_MSG | FI_SEND,
		.msg_order = FI_ORDER_SAS,
		.inject_size = 64,
		.size = SIZE_MAX,
		.iov_limit = 4,
		.rma_iov_limit = 1,
		.tclass = FI_TC_LOW_LATENCY };
	rx = (struct fi_rx_attr){ .caps = FI_MSG | FI_RECV, .size = 7 };
	ep = (struct fi_ep_attr){ .type = FI_EP_RDM,
		.protocol = FI_PROTO_XNET,
		.protocol_version = 3,
		.mem_tag_format = 0xaaaa,
		.tx_ctx_cnt = FI_SHARED_CONTEXT,
		.rx_ctx_cnt = 1 };
	domain = (struct fi_domain_attr){ .name = "eth0",
		.threading = FI_THREAD_SAFE,
		.control_progress = FI_PROGRESS_AUTO,
		.progress = FI_PROGRESS_MANUAL,
		.av_type = FI_AV_TABLE,
		.mr_mode = FI_MR_LOCAL | FI_MR_HMEM,
		.tx_ctx_cnt = SIZE_MAX,
		.caps = FI_LOCAL_COMM,
		.max_cntr_value = UINT64_MAX };
	fabric = (struct fi_fabric_attr){ .prov_name = "tcp",
		.prov_version = FI_VERSION(206, 0),
		.api_version = FI_VERSION(2, 6) };
	sin4 = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(47592) };
	sin4.sin_addr.s_addr = htonl(0x7f000001);
	return (struct fi_info){ .caps = FI_MSG,
		.mode = FI_CONTEXT,
		.addr_format = FI_SOCKADDR_IN,
		.src_addrlen = sizeof(sin4),
		.src_addr = &sin4,
		.tx_attr = &tx,
		.rx_attr = &rx,
		.ep_attr = &ep,
		.domain_attr = &domain,
		.fabric_attr = &fabric };
}

static const char info_text[] = "fi_info:\n"
				"    caps: [ FI_MSG ]\n"
				"    mode: [ FI_CONTEXT ]\n"
				"    addr_format: FI_SOCKADDR_IN\n"
				"    src_addrlen: 16\n"
				"    dest_addrlen: 0\n"
				"    src_addr: fi_sockaddr_in://127.0.0.1:47592\n"
				"    dest_addr: (null)\n"
				"    handle: (nil)\n"
				"    fi_tx_attr:\n"
				"        caps: [ FI_MSG, FI_SEND ]\n"
				"        mode: [  ]\n"
				"        op_flags: [  ]\n"
				"        msg_order: [ FI_ORDER_SAS ]\n"
				"        inject_size: 64\n"
				"        size: 18446744073709551615\n"
				"        iov_limit: 4\n"
				"        rma_iov_limit: 1\n"
				"        tclass: 0x201\n"
				"    fi_rx_attr:\n"
				"        caps: [ FI_MSG, FI_RECV ]\n"
				"        mode: [  ]\n"
				"        op_flags: [  ]\n"
				"        msg_order: [  ]\n"
				"        size: 7\n"
				"        iov_limit: 0\n"
				"    fi_ep_attr:\n"
				"        type: FI_EP_RDM\n"
				"        protocol: FI_PROTO_XNET\n"
				"        protocol_version: 3\n"
				"        max_msg_size: 0\n"
				"        msg_prefix_size: 0\n"
				"        max_order_raw_size: 0\n"
				"        max_order_war_size: 0\n"
				"        max_order_waw_size: 0\n"
				"        mem_tag_format: 0x000000000000aaaa\n"
				"        tx_ctx_cnt: FI_SHARED_CONTEXT\n"
				"        rx_ctx_cnt: 1\n"
				"        auth_key_size: 0\n"
				"        xpu_ctx: (nil)\n"
				"    fi_domain_attr:\n"
				"        domain: 0x0\n"
				"        name: eth0\n"
				"        threading: FI_THREAD_SAFE\n"
				"        progress: FI_PROGRESS_MANUAL\n"
				"        resource_mgmt: FI_RM_UNSPEC\n"
				"        av_type: FI_AV_TABLE\n"
				"        mr_mode: [ FI_MR_LOCAL, FI_MR_HMEM ]\n"
				"        mr_key_size: 0\n"
				"        cq_data_size: 0\n"
				"        cq_cnt: 0\n"
				"        ep_cnt: 0\n"
				"        tx_ctx_cnt: 18446744073709551615\n"
				"        rx_ctx_cnt: 0\n"
				"        max_ep_tx_ctx: 0\n"
				"        max_ep_rx_ctx: 0\n"
				"        max_ep_stx_ctx: 0\n"
				"        max_ep_srx_ctx: 0\n"
				"        cntr_cnt: 0\n"
				"        mr_iov_limit: 0\n"
				"        caps: [ FI_LOCAL_COMM ]\n"
				"        mode: [  ]\n"
				"        auth_key_size: 0\n"
				"        max_err_data: 0\n"
				"        mr_cnt: 0\n"
				"        tclass: 0x0\n"
				"        max_ep_auth_key: 0\n"
				"        max_group_id: 0\n"
				"        max_cntr_value: 18446744073709551615\n"
				"        max_err_cntr_value: 0\n"
				"        max_xpu_ctx_cnt: 0\n"
				"    fi_fabric_attr:\n"
				"        name: (null)\n"
				"        prov_name: tcp\n"
				"        prov_version: 206.0\n"
				"        api_version: 2.6\n"
				"    nic: (nil)\n";

/* STR-005, STR-006, STR-008 */
static void info_golden(void **state)
{
	struct fi_info info = sample(), next = sample();

	info.next = &next;
	EXPECT(&info, FI_TYPE_INFO, info_text);
}

/* STR-005: asked alone, an attribute is the same text four columns to the left. */
static void attributes_alone(void **state)
{
	static const struct {
		enum fi_type type;
		const void *data;
		const char *name;
	} parts[] = {
		{ FI_TYPE_TX_ATTR, &tx, "    fi_tx_attr:" },
		{ FI_TYPE_RX_ATTR, &rx, "    fi_rx_attr:" },
		{ FI_TYPE_EP_ATTR, &ep, "    fi_ep_attr:" },
		{ FI_TYPE_DOMAIN_ATTR, &domain, "    fi_domain_attr:" },
		{ FI_TYPE_FABRIC_ATTR, &fabric, "    fi_fabric_attr:" },
	};
	const char *line, *text;
	size_t i, len;

	(void)sample();
	for (i = 0; i < WF_ARRAY_SIZE(parts); i++) {
		text = fi_tostr(parts[i].data, parts[i].type);
		line = strstr(info_text, parts[i].name);
		for (; *text; text += len, line += len + 4) {
			len = strcspn(text, "\n") + 1;
			assert_int_equal(strncmp(line, "    ", 4), 0);
			assert_int_equal(strncmp(text, line + 4, len), 0);
		}
	}
}

/* STR-007 */
static void missing_parts(void **state)
{
	struct fi_info info = { 0 };

	EXPECT(&info, FI_TYPE_INFO,
		"fi_info:\n"
		"    caps: [  ]\n"
		"    mode: [  ]\n"
		"    addr_format: FI_FORMAT_UNSPEC\n"
		"    src_addrlen: 0\n"
		"    dest_addrlen: 0\n"
		"    src_addr: (null)\n"
		"    dest_addr: (null)\n"
		"    handle: (nil)\n"
		"    fi_tx_attr: (null)\n"
		"    fi_rx_attr: (null)\n"
		"    fi_ep_attr: (null)\n"
		"    fi_domain_attr: (null)\n"
		"    fi_fabric_attr: (null)\n"
		"    nic: (nil)\n");
}

/* STR-009 */
static void object_attributes(void **state)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE, .count = 5, .flags = FI_EVENT };
	struct fi_cq_attr cq = { .size = 9,
		.flags = FI_AFFINITY,
		.format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_FD,
		.signaling_vector = -1,
		.wait_cond = FI_CQ_COND_THRESHOLD };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_BYTES };
	struct fi_mr_attr mr = { .iov_count = 2,
		.access = FI_SEND | FI_REMOTE_WRITE,
		.requested_key = 77,
		.iface = FI_HMEM_CUDA };
	struct fi_cq_err_entry err = { .flags = FI_RECV | FI_TAGGED,
		.tag = 0x12,
		.err = FI_ETRUNC,
		.src_addr = FI_ADDR_NOTAVAIL };

	EXPECT(&av, FI_TYPE_AV_ATTR,
		"fi_av_attr:\n"
		"    type: FI_AV_TABLE\n"
		"    rx_ctx_bits: 0\n"
		"    count: 5\n"
		"    ep_per_node: 0\n"
		"    name: (null)\n"
		"    map_addr: (nil)\n"
		"    flags: [ FI_EVENT ]\n");
	EXPECT(&cq, FI_TYPE_CQ_ATTR,
		"fi_cq_attr:\n"
		"    size: 9\n"
		"    flags: [ FI_AFFINITY ]\n"
		"    format: FI_CQ_FORMAT_DATA\n"
		"    wait_obj: FI_WAIT_FD\n"
		"    signaling_vector: -1\n"
		"    wait_cond: FI_CQ_COND_THRESHOLD\n"
		"    wait_set: (nil)\n");
	EXPECT(&cntr, FI_TYPE_CNTR_ATTR,
		"fi_cntr_attr:\n"
		"    events: FI_CNTR_EVENTS_BYTES\n"
		"    wait_obj: FI_WAIT_NONE\n"
		"    wait_set: (nil)\n"
		"    flags: [  ]\n");
	EXPECT(&mr, FI_TYPE_MR_ATTR,
		"fi_mr_attr:\n"
		"    mr_iov: (nil)\n"
		"    iov_count: 2\n"
		"    access: [ FI_SEND, FI_REMOTE_WRITE ]\n"
		"    offset: 0\n"
		"    requested_key: 77\n"
		"    context: (nil)\n"
		"    auth_key_size: 0\n"
		"    auth_key: (nil)\n"
		"    iface: FI_HMEM_CUDA\n"
		"    device: 0\n"
		"    hmem_data: (nil)\n"
		"    page_size: 0\n"
		"    base_mr: (nil)\n"
		"    sub_mr_cnt: 0\n");
	EXPECT(&err, FI_TYPE_CQ_ERR_ENTRY,
		"fi_cq_err_entry:\n"
		"    op_context: (nil)\n"
		"    flags: [ FI_RECV, FI_TAGGED ]\n"
		"    len: 0\n"
		"    buf: (nil)\n"
		"    data: 0\n"
		"    tag: 0x0000000000000012\n"
		"    olen: 0\n"
		"    err: 265 (Truncation error)\n"
		"    prov_errno: 0\n"
		"    err_data: (nil)\n"
		"    err_data_size: 0\n"
		"    src_addr: 18446744073709551615\n");
}

static void expect_addr(
	uint32_t format, const void *addr, size_t len, const char *expected)
{
	char text[256];
	struct wf_strbuf sb;
	/* A heap copy of exactly @len bytes, so that a sanitizer sees over-reads. */
	void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, addr, len);
	wf_strbuf_init(&sb, text, sizeof(text));
	wf_addr_print(&sb, format, copy, len);
	assert_string_equal(text, expected);
	free(copy);
}

/* STR-011 */
static void addresses(void **state)
{
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6, .sin6_port = htons(9) };
	uint8_t raw[64];
	uint16_t family = 27;
	int i;

	(void)sample();
	expect_addr(FI_SOCKADDR_IN, &sin4, sizeof(sin4),
		"fi_sockaddr_in://127.0.0.1:47592");
	expect_addr(
		FI_SOCKADDR, &sin4, sizeof(sin4), "fi_sockaddr_in://127.0.0.1:47592");
	assert_int_equal(inet_pton(AF_INET6, "fd00::2", &sin6.sin6_addr), 1);
	expect_addr(
		FI_SOCKADDR_IN6, &sin6, sizeof(sin6), "fi_sockaddr_in6://[fd00::2]:9");
	expect_addr(
		FI_SOCKADDR_IP, &sin6, sizeof(sin6), "fi_sockaddr_in6://[fd00::2]:9");
	expect_addr(FI_ADDR_STR, "fi_shm://12", 12, "fi_shm://12");
	expect_addr(FI_ADDR_STR, "fi_shm://12", 8, "fi_shm:/");
	expect_addr(FI_FORMAT_UNSPEC, &sin4, sizeof(sin4), "");

	for (i = 0; i < 64; i++)
		raw[i] = (uint8_t)(i + 0x41);
	expect_addr(FI_ADDR_EFA, raw, 32,
		"fi_addr_efa://[4142:4344:4546:4748:494a:4b4c:4d4e:4f50]"
		":21073:1482118741");
	expect_addr(FI_ADDR_IB_UD, raw, 32,
		"fi_addr_ib_ud://4142:4344:4546:4748:494a:4b4c:4d4e:4f50"
		":54535251/5655/5857/5b");
	expect_addr(FI_ADDR_PSMX2, raw, 16,
		"fi_addr_psmx2://4847464544434241:504f4e4d4c4b4a49");
	expect_addr(FI_ADDR_CXI, raw, 4, "fi_addr_cxi://0x44434241");
	expect_addr(FI_ADDR_OPX, raw, 8, "fi_addr_opx://4847464544434241");
	memcpy(raw, &family, sizeof(family));
	expect_addr(FI_SOCKADDR_IB, raw, 48,
		"fi_sockaddr_ib://[494a:4b4c:4d4e:4f50:5152:5354:5556:5758]"
		":0x4344:0xd5e:0x70");
}

/* No format, known or not, reads beyond the length. */
static void short_addresses(void **state)
{
	uint8_t raw[64] = { AF_INET6 };
	char text[256];
	struct wf_strbuf sb;
	uint32_t format;
	size_t len;

	for (format = 0; format < 32; format++) {
		for (len = 0; len < sizeof(raw); len++) {
			void *copy = malloc(len ? len : 1);

			assert_non_null(copy);
			memcpy(copy, raw, len);
			wf_strbuf_init(&sb, text, sizeof(text));
			wf_addr_print(&sb, format, copy, len);
			free(copy);
		}
	}
}

static int own_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void)snprintf(buf, len, "mine\n");
	return 0;
}

static int refuse_tostr(const struct fid *fid, char *buf, size_t len)
{
	(void)snprintf(buf, len, "half of someth");
	return -1;
}

/* STR-006, STR-017, STR-018 */
static void nic(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .tostr = refuse_tostr };
	struct fi_device_attr device = { .name = "eth0", .driver = "virtio_net" };
	struct fi_bus_attr bus = { .bus_type = FI_BUS_PCI,
		.attr.pci = { .domain_id = 1, .bus_id = 2, .function_id = 4 } };
	struct fi_link_attr link = { .mtu = 1500,
		.speed = 100000000000ull,
		.state = FI_LINK_UP,
		.network_type = "Ethernet" };
	struct fid_nic object = { .fid = { .fclass = FI_CLASS_NIC, .ops = &ops },
		.device_attr = &device,
		.bus_attr = &bus,
		.link_attr = &link };
	struct fi_info info = { .nic = &object };
	char *text = fi_tostr(&info, FI_TYPE_INFO);

	assert_string_equal(strstr(text, "    nic:"),
		"    nic:\n"
		"        fi_device_attr:\n"
		"            name: eth0\n"
		"            device_id: (null)\n"
		"            device_version: (null)\n"
		"            vendor_id: (null)\n"
		"            driver: virtio_net\n"
		"            firmware: (null)\n"
		"        fi_bus_attr:\n"
		"            bus_type: FI_BUS_PCI\n"
		"            fi_pci_attr:\n"
		"                domain_id: 1\n"
		"                bus_id: 2\n"
		"                device_id: 0\n"
		"                function_id: 4\n"
		"        fi_link_attr:\n"
		"            address: (null)\n"
		"            mtu: 1500\n"
		"            speed: 100000000000\n"
		"            state: FI_LINK_UP\n"
		"            network_type: Ethernet\n");
	ops.tostr = own_tostr;
	text = fi_tostr(&info, FI_TYPE_INFO);
	assert_string_equal(
		strstr(text, "fi_fabric_attr"), "fi_fabric_attr: (null)\nmine\n");
}

static void fid(void **state)
{
	struct fi_ops ops = { .size = sizeof(ops), .tostr = own_tostr };
	struct fid object = { .fclass = FI_CLASS_EP, .ops = &ops };
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "fid: %p\n", (void *)&object);
	EXPECT(&object, FI_TYPE_FID, "mine\n");
	ops.tostr = refuse_tostr;
	EXPECT(&object, FI_TYPE_FID, expected);
	ops.size = offsetof(struct fi_ops, tostr);
	EXPECT(&object, FI_TYPE_FID, expected);
	object.ops = NULL;
	EXPECT(&object, FI_TYPE_FID, expected);
}

/* Last in this file: the process keeps what it has seen. VER-005 */
static void old_callers_structs(void **state)
{
	/* fi_domain_attr of FABRIC_1.3 is 192 bytes; a page that cannot be read follows
	 * it. */
	long page = sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *text;

	assert_true(area != MAP_FAILED);
	assert_int_equal(mprotect(area + page, (size_t)page, PROT_NONE), 0);
	wf_abi_seen(8);
	wf_abi_seen(3);
	wf_abi_seen(9);
	text = fi_tostr(area + page - 192, FI_TYPE_DOMAIN_ATTR);
	assert_non_null(strstr(text, "    tclass: 0x0\n"));
	assert_null(strstr(text, "max_ep_auth_key"));
	text = fi_tostr(area + page - 96, FI_TYPE_EP_ATTR);
	assert_non_null(strstr(text, "    auth_key_size: 0\n"));
	assert_null(strstr(text, "xpu_ctx"));
	assert_non_null(fi_tostr(area + page - 40, FI_TYPE_CQ_ATTR));
	assert_non_null(fi_tostr(area + page - 24, FI_TYPE_CNTR_ATTR));
	assert_non_null(fi_tostr(area + page - 80, FI_TYPE_MR_ATTR));
	wf_abi_seen(0);
	assert_non_null(fi_tostr(area + page - 112, FI_TYPE_INFO));
	assert_non_null(fi_tostr(area + page - 120, FI_TYPE_DOMAIN_ATTR));
	assert_non_null(fi_tostr(area + page - 72, FI_TYPE_TX_ATTR));
	assert_non_null(fi_tostr(area + page - 28, FI_TYPE_FABRIC_ATTR));
	assert_int_equal(munmap(area, (size_t)page * 2), 0);
}

/* STR-012, STR-013 */
static void strerror_system_and_own(void **state)
{
	assert_string_equal(fi_strerror(0), "Success");
	assert_string_equal(fi_strerror(FI_EAGAIN), strerror(EAGAIN));
	assert_string_equal(fi_strerror(-FI_EAGAIN), strerror(EAGAIN));
	assert_string_equal(fi_strerror(200), "Unknown error 200");
	assert_string_equal(fi_strerror(FI_EAVAIL), "Error available");
	assert_string_equal(fi_strerror(-FI_EAVAIL), "Error available");
	assert_string_equal(
		fi_strerror(FI_EFIREWALLADDR), "Host unreacheable due to firewall");
	assert_string_equal(fi_strerror(FI_EOTHER), "Unspecified error");
	assert_string_equal(fi_strerror(FI_ERRNO_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MIN), "Unspecified error");
}

/* STR-014, STR-015 */
static void strerror_names_every_code(void **state)
{
	int code;

	for (code = FI_ETOOSMALL; code < FI_ERRNO_MAX; code++)
		assert_string_not_equal(fi_strerror(code), "Unspecified error");
	assert_int_equal(FI_ENOMR, 270);
	assert_int_equal(FI_EFIREWALLADDR, 271);
}

/* VER-001, VER-003 */
static void version(void **state)
{
	assert_int_equal(fi_version(), FI_VERSION(2, 6));
	assert_int_equal(fi_version() >> 16, 2);
	assert_int_equal(FI_MINOR(fi_version()), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffer_is_bounded_and_terminated),
		cmocka_unit_test(threads_do_not_share_the_buffer),
		cmocka_unit_test(null_data_is_null),
		cmocka_unit_test(unknown_type_and_value),
		cmocka_unit_test(every_enum_value_has_a_name),
		cmocka_unit_test(enum_golden),
		cmocka_unit_test(flags),
		cmocka_unit_test(info_golden),
		cmocka_unit_test(attributes_alone),
		cmocka_unit_test(missing_parts),
		cmocka_unit_test(object_attributes),
		cmocka_unit_test(addresses),
		cmocka_unit_test(short_addresses),
		cmocka_unit_test(nic),
		cmocka_unit_test(fid),
		cmocka_unit_test(strerror_system_and_own),
		cmocka_unit_test(strerror_names_every_code),
		cmocka_unit_test(version),
		cmocka_unit_test(old_callers_structs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
