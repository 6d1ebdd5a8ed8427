/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_tostr of fi_info and of attributes. */
#include "unit.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "core/strings/strings.h"
#include "sys/compiler.h"

#define EXPECT(data, type, text) assert_string_equal(fi_tostr(data, type), text)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(info_golden),
		cmocka_unit_test(attributes_alone),
		cmocka_unit_test(missing_parts),
		cmocka_unit_test(object_attributes),
		cmocka_unit_test(old_callers_structs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
