/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_INFO_FAKE_H
#define TESTS_UNIT_OBJECTS_INFO_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/domain/domain.h"
#include "objects/fabric.h"
#include "objects/info/info.h"
#include "sys/compiler.h"

/*
 * A provider with three kinds of endpoints for the tests of info*.c, and the log: the
 * functions below replace the library's, so that a test reads each line.
 */
static char fake_log[16384];
static const char *fake_iface; /* value of the parameter "iface" */

int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	return 1;
}

void fi_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
{
	size_t len = strlen(fake_log);
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(fake_log + len, sizeof(fake_log) - len, fmt, args);
	va_end(args);
}

int fi_param_get(struct fi_provider *provider, const char *param_name, void *value)
{
	if (!provider)
		return -FI_ENOENT;
	if (!fake_iface)
		return -FI_ENODATA;
	assert_string_equal(param_name, "iface");
	*(const char **)value = fake_iface;
	return 0;
}

#define FAKE_SECONDARY                                                                 \
	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_MULTI_RECV | FI_RMA_EVENT |               \
		FI_SHARED_AV | FI_TRIGGER | FI_FENCE)
#define FAKE_RMA                                                                       \
	(FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define FAKE_MSG (FI_MSG | FI_SEND | FI_RECV)

#define FAKE_TX_CAPS                                                                   \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE |      \
		FI_TRIGGER | FI_FENCE)
#define FAKE_RX_CAPS                                                                   \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ |          \
		FI_REMOTE_WRITE | FI_MULTI_RECV | FI_SOURCE | FI_SOURCE_ERR |          \
		FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV | FI_RMA_EVENT | FI_TRIGGER)

static struct fi_tx_attr rdm_tx = {
	.caps = FAKE_TX_CAPS,
	.op_flags = FI_COMPLETION | FI_INJECT,
	.msg_order = FI_ORDER_SAS | FI_ORDER_RAW,
	.comp_order = 0x1ff,
	.inject_size = 128,
	.size = 256,
	.iov_limit = 4,
	.rma_iov_limit = 2,
	.tclass = FI_TC_BEST_EFFORT,
};

static struct fi_rx_attr rdm_rx = {
	.caps = FAKE_RX_CAPS,
	.op_flags = FI_COMPLETION | FI_MULTI_RECV,
	.msg_order = FI_ORDER_SAS,
	.comp_order = 0x1ff,
	.total_buffered_recv = 4096,
	.size = 512,
	.iov_limit = 3,
};

static struct fi_ep_attr rdm_ep = {
	.type = FI_EP_RDM,
	.protocol = FI_PROTO_XNET,
	.protocol_version = 1,
	.max_msg_size = 1 << 20,
	.max_order_raw_size = 4096,
	.max_order_war_size = 0,
	.max_order_waw_size = SIZE_MAX,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1,
};

static struct fi_domain_attr rdm_domain = {
	.threading = FI_THREAD_SAFE,
	.control_progress = FI_PROGRESS_AUTO,
	.data_progress = FI_PROGRESS_AUTO,
	.resource_mgmt = FI_RM_ENABLED,
	.av_type = FI_AV_UNSPEC,
	.mr_key_size = 8,
	.cq_data_size = 8,
	.cq_cnt = 256,
	.ep_cnt = 256,
	.tx_ctx_cnt = 16,
	.rx_ctx_cnt = 16,
	.max_ep_tx_ctx = 2,
	.max_ep_rx_ctx = 2,
	.max_ep_srx_ctx = 8,
	.cntr_cnt = 128,
	.mr_iov_limit = 1,
	.caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_DIRECTED_RECV,
	.max_err_data = 64,
	.mr_cnt = 1024,
	.tclass = FI_TC_BEST_EFFORT,
	.max_group_id = 7,
};

static struct fi_fabric_attr fake_fabric;

static struct fi_info rdm = {
	.caps = FAKE_MSG | FI_TAGGED | FAKE_RMA | FAKE_SECONDARY | FI_SOURCE |
		FI_SOURCE_ERR | FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV,
	.addr_format = FI_SOCKADDR_IP,
	.tx_attr = &rdm_tx,
	.rx_attr = &rdm_rx,
	.ep_attr = &rdm_ep,
	.domain_attr = &rdm_domain,
	.fabric_attr = &fake_fabric,
};

/* Connections; memory is registered; needs mode bits; receives into a shared
 * context. */
static struct fi_tx_attr msg_tx = { .size = 64, .iov_limit = 1 };
static struct fi_rx_attr msg_rx = { .size = 64, .iov_limit = 1 };
static struct fi_ep_attr msg_ep = {
	.type = FI_EP_MSG,
	.protocol = FI_PROTO_SOCK_TCP,
	.max_msg_size = 1 << 20,
	.msg_prefix_size = 16,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = FI_SHARED_CONTEXT,
	.auth_key_size = 8,
};
static struct fi_domain_attr msg_domain = {
	.threading = FI_THREAD_DOMAIN,
	.control_progress = FI_PROGRESS_MANUAL,
	.data_progress = FI_PROGRESS_MANUAL,
	.resource_mgmt = FI_RM_DISABLED,
	.av_type = FI_AV_TABLE,
	.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_HMEM,
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.max_ep_srx_ctx = 1,
	.auth_key_size = 8,
	.max_ep_auth_key = 4,
	.max_cntr_value = 1000,
	.max_err_cntr_value = 100,
};
static struct fi_info msg = {
	.caps = FAKE_MSG | FAKE_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM,
	.mode = FI_CONTEXT | FI_MSG_PREFIX,
	.addr_format = FI_SOCKADDR_IN,
	.tx_attr = &msg_tx,
	.rx_attr = &msg_rx,
	.ep_attr = &msg_ep,
	.domain_attr = &msg_domain,
	.fabric_attr = &fake_fabric,
};

/* Datagrams, one template for each IP version. */
static struct fi_tx_attr dgram_tx = { .caps = FI_MSG | FI_MULTICAST | FI_SEND,
	.inject_size = 1400,
	.size = 64,
	.iov_limit = 4 };
static struct fi_rx_attr dgram_rx = {
	.caps = FI_MSG | FI_MULTICAST | FI_RECV | FI_SOURCE, .size = 64, .iov_limit = 4
};
static struct fi_ep_attr dgram_ep = { .type = FI_EP_DGRAM,
	.protocol = FI_PROTO_UDP,
	.max_msg_size = 1400,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1 };
static struct fi_domain_attr dgram_domain = {
	.threading = FI_THREAD_SAFE,
	.control_progress = FI_PROGRESS_AUTO,
	.data_progress = FI_PROGRESS_AUTO,
	.resource_mgmt = FI_RM_ENABLED,
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.caps = FI_LOCAL_COMM | FI_REMOTE_COMM,
};
#define DGRAM_INFO(format_)                                                            \
	{                                                                              \
		.caps = FAKE_MSG | FI_MULTICAST | FI_SOURCE | FI_LOCAL_COMM |          \
			FI_REMOTE_COMM,                                                \
		.addr_format = (format_), .tx_attr = &dgram_tx, .rx_attr = &dgram_rx,  \
		.ep_attr = &dgram_ep, .domain_attr = &dgram_domain,                    \
		.fabric_attr = &fake_fabric,                                           \
	}
static struct fi_info dgram_in = DGRAM_INFO(FI_SOCKADDR_IN);
static struct fi_info dgram_in6 = DGRAM_INFO(FI_SOCKADDR_IN6);

static struct fi_provider fake_fi = {
	.name = "fake",
	.version = FI_VERSION(206, 0),
	.fi_version = FI_VERSION(2, 6),
};

static const struct fi_info *const fake_templates[] = { &rdm, &msg, &dgram_in,
	&dgram_in6, NULL };

static const struct wf_prov fake_prov = {
	.fi = &fake_fi,
	.templates = fake_templates,
	.default_fabric = "FAKE-IP",
	.default_domain = "fake",
	.iface_param = "iface",
};

static inline struct fi_info *fake_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	assert_non_null(hints);
	hints->mode = ~0ULL;
	fake_log[0] = '\0';
	return hints;
}

#endif
