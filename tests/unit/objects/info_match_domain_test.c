/* SPDX-License-Identifier: BSD-2-Clause */
#include "info_rows.h"

/* Attributes of domains and fabrics; see info_rows.h. */

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
	/* A provider that needs bits. */
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
	/* Since 2.0 control_progress is ignored. */
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

ROWS_TEST(mr)
ROWS_TEST(domain)

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mr),
		cmocka_unit_test(domain),
		cmocka_unit_test(keys_are_echoed),
		cmocka_unit_test(keys_in_the_av),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
