/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_rows.h"

/* Hints as a whole: type, capabilities, modes, address format; see info_rows.h. */

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
	{ &rdm, ALL, { INFO(caps, FI_MSG | FI_SOURCE_ERR) },
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
	/* GI-014 GI-024 */
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

ROWS_TEST(type)
ROWS_TEST(caps)
ROWS_TEST(mode)
ROWS_TEST(format)

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
		cmocka_unit_test(without_hints),
		cmocka_unit_test(missing_attributes_are_open),
		cmocka_unit_test(handle_is_copied),
		cmocka_unit_test(fixed_names),
		cmocka_unit_test(checked_before_opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
