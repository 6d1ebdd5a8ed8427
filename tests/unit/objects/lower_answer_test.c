/* SPDX-License-Identifier: BSD-2-Clause */
/* What a layer asks the provider below, and what its answer has of the one below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/lower/answer.h"

static const struct wf_lower_needs needs = {
	.layer = "ofi_rxm",
	.type = FI_EP_MSG,
	.caps = FI_MSG | FI_RMA,
	.mode = FI_CONTEXT,
	.mr_mode = FI_MR_LOCAL,
};

static char *text(const char *from)
{
	char *copy = strdup(from);

	assert_non_null(copy);
	return copy;
}

static void the_name_of_the_layer_is_removed(void **state)
{
	static const struct {
		const char *name, *rest;
	} rows[] = {
		{ NULL, NULL },
		{ "", NULL },
		{ "ofi_rxm", NULL },
		{ "OFI_RXM", NULL },
		{ "tcp", "tcp" },
		{ "tcp;ofi_rxm", "tcp" },
		{ "ofi_rxm;tcp", "tcp" },
		{ "tcp;ofi_rxm;verbs", "tcp;verbs" },
		{ "ofi_rx;tcp;ofi_rxmm", "ofi_rx;tcp;ofi_rxmm" },
		{ "^udp;tcp;^ofi_rxm", "tcp" },
		{ ";;tcp", "tcp" },
		{ "^tcp", NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *rest = NULL;

		assert_true(wf_lower_name(&needs, rows[i].name, &rest));
		if (rows[i].rest)
			assert_string_equal(rest, rows[i].rest);
		else
			assert_null(rest);
		free(rest);
	}
}

static void hints_have_what_the_layer_needs(void **state)
{
	struct fi_info *hints = wf_lower_hints(&needs, NULL);

	assert_non_null(hints);
	assert_int_equal(hints->caps, FI_MSG | FI_RMA);
	assert_int_equal(hints->mode, FI_CONTEXT);
	assert_int_equal(hints->ep_attr->type, FI_EP_MSG);
	assert_int_equal(hints->domain_attr->mr_mode, FI_MR_LOCAL);
	assert_null(hints->fabric_attr->prov_name);
	assert_null(hints->src_addr);
	fi_freeinfo(hints);
}

static void hints_have_names_and_addresses(void **state)
{
	struct fi_info *above = fi_allocinfo(), *hints;

	above->caps = FI_TAGGED | FI_LOCAL_COMM;
	above->mode = FI_ASYNC_IOV;
	above->addr_format = FI_ADDR_STR;
	above->src_addr = text("here");
	above->src_addrlen = 5;
	above->dest_addr = text("there");
	above->dest_addrlen = 6;
	above->domain_attr->caps = FI_REMOTE_COMM;
	above->domain_attr->name = text("domain");
	above->fabric_attr->name = text("fabric");
	above->fabric_attr->prov_name = text("tcp;ofi_rxm");
	hints = wf_lower_hints(&needs, above);
	assert_non_null(hints);
	assert_int_equal(hints->caps, FI_MSG | FI_RMA | FI_LOCAL_COMM | FI_REMOTE_COMM);
	assert_int_equal(hints->mode, FI_CONTEXT);
	assert_int_equal(hints->addr_format, FI_ADDR_STR);
	assert_ptr_not_equal(hints->src_addr, above->src_addr);
	assert_string_equal(hints->src_addr, "here");
	assert_int_equal(hints->src_addrlen, 5);
	assert_string_equal(hints->dest_addr, "there");
	assert_int_equal(hints->dest_addrlen, 6);
	assert_string_equal(hints->domain_attr->name, "domain");
	assert_string_equal(hints->fabric_attr->name, "fabric");
	assert_string_equal(hints->fabric_attr->prov_name, "tcp");
	fi_freeinfo(hints);
	fi_freeinfo(above);
}

static void hints_may_lack_attributes(void **state)
{
	struct fi_info above = { .addr_format = FI_SOCKADDR_IN }, *hints;

	hints = wf_lower_hints(&needs, &above);
	assert_non_null(hints);
	assert_int_equal(hints->addr_format, FI_SOCKADDR_IN);
	assert_null(hints->domain_attr->name);
	fi_freeinfo(hints);
}

static void an_answer_is_reached_like_the_one_below(void **state)
{
	struct fi_info *info = fi_allocinfo(), *below = fi_allocinfo();

	info->caps = FI_TAGGED | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM | FI_AV_USER_ID;
	info->fabric_attr->prov_name = text("ofi_rxm");
	info->src_addr = text("old");
	info->src_addrlen = 4;
	below->caps = FI_MSG | FI_REMOTE_COMM;
	below->addr_format = FI_ADDR_STR;
	below->fabric_attr->prov_name = text("tcp");
	below->dest_addr = text("there");
	below->dest_addrlen = 6;
	assert_int_equal(wf_lower_adopt(info, below), 0);
	assert_int_equal(info->caps, FI_TAGGED | FI_REMOTE_COMM);
	assert_int_equal(info->domain_attr->caps, FI_REMOTE_COMM | FI_AV_USER_ID);
	assert_string_equal(info->fabric_attr->prov_name, "tcp");
	assert_int_equal(info->addr_format, FI_ADDR_STR);
	assert_null(info->src_addr);
	assert_int_equal(info->src_addrlen, 0);
	assert_string_equal(info->dest_addr, "there");
	assert_null(info->nic);
	fi_freeinfo(info);
	fi_freeinfo(below);
}

static void a_stripped_info_names_nothing_open(void **state)
{
	struct fi_info *info = fi_allocinfo();
	struct fid handle;

	info->src_addr = text("here");
	info->dest_addr = text("there");
	info->src_addrlen = info->dest_addrlen = 5;
	info->handle = &handle;
	info->domain_attr->domain = (struct fid_domain *)&handle;
	info->fabric_attr->fabric = (struct fid_fabric *)&handle;
	wf_lower_strip(info);
	assert_null(info->src_addr);
	assert_null(info->dest_addr);
	assert_int_equal(info->src_addrlen + info->dest_addrlen, 0);
	assert_null(info->handle);
	assert_null(info->domain_attr->domain);
	assert_null(info->fabric_attr->fabric);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_of_the_layer_is_removed),
		cmocka_unit_test(hints_have_what_the_layer_needs),
		cmocka_unit_test(hints_have_names_and_addresses),
		cmocka_unit_test(hints_may_lack_attributes),
		cmocka_unit_test(an_answer_is_reached_like_the_one_below),
		cmocka_unit_test(a_stripped_info_names_nothing_open),
	};

	return cmocka_run_group_tests_name("lower_answer", tests, NULL, NULL);
}
