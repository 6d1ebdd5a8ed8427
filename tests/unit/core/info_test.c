/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <rdma/fabric.h>

/* The file under test is included, so that its allocations can be made to fail. */
static int allocations_left = -1;

static bool may_allocate(void)
{
	if (!allocations_left)
		return false;
	if (allocations_left > 0)
		allocations_left--;
	return true;
}

static void *test_malloc_or_null(size_t size)
{
	return may_allocate() ? malloc(size) : NULL;
}

static void *test_calloc_or_null(size_t count, size_t size)
{
	return may_allocate() ? calloc(count, size) : NULL;
}

#define malloc test_malloc_or_null
#define calloc test_calloc_or_null
#include "../../../src/core/info.c"
#undef malloc
#undef calloc

static int nics_open;
static int nic_dup_answer;

static int nic_close(struct fid *fid)
{
	nics_open--;
	free(fid);
	return 0;
}

static struct fid_nic *nic_new(void);

static int nic_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	if (!nic_dup_answer)
		*(struct fid_nic **)arg = nic_new();
	return nic_dup_answer;
}

static struct fi_ops nic_ops = {
	.size = sizeof(nic_ops),
	.close = nic_close,
	.control = nic_control,
};

static struct fid_nic *nic_new(void)
{
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	assert_non_null(nic);
	nic->fid.fclass = FI_CLASS_NIC;
	nic->fid.ops = &nic_ops;
	nics_open++;
	return nic;
}

static struct fid handle;

static void *copy_of(const char *text)
{
	char *copy = strdup(text);

	assert_non_null(copy);
	return copy;
}

/* Everything that an info can own is there. */
static struct fi_info *full_info(void)
{
	struct fi_info *info = wf_dupinfo(NULL);

	assert_non_null(info);
	info->caps = FI_MSG | FI_RMA;
	info->mode = FI_CONTEXT;
	info->addr_format = FI_ADDR_STR;
	info->src_addr = copy_of("source");
	info->src_addrlen = strlen("source") + 1;
	info->dest_addr = copy_of("target");
	info->dest_addrlen = strlen("target") + 1;
	info->handle = &handle;
	info->tx_attr->tclass = FI_TC_BULK_DATA;
	info->rx_attr->size = 77;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->auth_key = copy_of("key");
	info->ep_attr->auth_key_size = 4;
	info->domain_attr->name = copy_of("dom0");
	info->domain_attr->auth_key = copy_of("yek");
	info->domain_attr->auth_key_size = 4;
	info->domain_attr->max_xpu_ctx_cnt = 9;
	info->fabric_attr->name = copy_of("fab0");
	info->fabric_attr->prov_name = copy_of("test");
	info->nic = nic_new();
	return info;
}

/* GI-005, GI-006 */
static void allocated_info_is_empty(void **state)
{
	static const struct fi_info none;
	struct fi_info *info = wf_dupinfo(NULL), rest;

	assert_non_null(info);
	assert_non_null(info->tx_attr);
	assert_non_null(info->rx_attr);
	assert_non_null(info->ep_attr);
	assert_non_null(info->domain_attr);
	assert_non_null(info->fabric_attr);
	assert_int_equal(info->domain_attr->max_xpu_ctx_cnt, 0);
	assert_null(info->fabric_attr->prov_name);
	rest = *info;
	rest.tx_attr = NULL;
	rest.rx_attr = NULL;
	rest.ep_attr = NULL;
	rest.domain_attr = NULL;
	rest.fabric_attr = NULL;
	assert_memory_equal(&rest, &none, sizeof(none));
	wf_freeinfo(info);
}

/* GI-007, GI-008, GI-009, STR-019 */
static void copy_is_deep_and_alone(void **state)
{
	struct fi_info *info = full_info(), *next = full_info(), *copy;

	info->next = next;
	copy = wf_dupinfo(info);
	assert_non_null(copy);
	assert_null(copy->next);
	assert_int_equal(copy->caps, info->caps);
	assert_int_equal(copy->mode, info->mode);
	assert_int_equal(copy->addr_format, info->addr_format);
	assert_ptr_not_equal(copy->src_addr, info->src_addr);
	assert_string_equal(copy->src_addr, "source");
	assert_int_equal(copy->src_addrlen, info->src_addrlen);
	assert_ptr_not_equal(copy->dest_addr, info->dest_addr);
	assert_string_equal(copy->dest_addr, "target");
	assert_int_equal(copy->dest_addrlen, info->dest_addrlen);
	assert_ptr_equal(copy->handle, &handle);
	assert_ptr_not_equal(copy->tx_attr, info->tx_attr);
	assert_memory_equal(copy->tx_attr, info->tx_attr, sizeof(*info->tx_attr));
	assert_ptr_not_equal(copy->rx_attr, info->rx_attr);
	assert_memory_equal(copy->rx_attr, info->rx_attr, sizeof(*info->rx_attr));
	assert_ptr_not_equal(copy->ep_attr->auth_key, info->ep_attr->auth_key);
	assert_string_equal(copy->ep_attr->auth_key, "key");
	assert_int_equal(copy->ep_attr->type, FI_EP_RDM);
	assert_ptr_not_equal(copy->domain_attr->name, info->domain_attr->name);
	assert_string_equal(copy->domain_attr->name, "dom0");
	assert_string_equal(copy->domain_attr->auth_key, "yek");
	assert_int_equal(copy->domain_attr->max_xpu_ctx_cnt, 9);
	assert_ptr_not_equal(copy->fabric_attr->name, info->fabric_attr->name);
	assert_string_equal(copy->fabric_attr->name, "fab0");
	assert_string_equal(copy->fabric_attr->prov_name, "test");
	assert_non_null(copy->nic);
	assert_ptr_not_equal(copy->nic, info->nic);
	/* GI-004: the whole list; the copy lives on. */
	wf_freeinfo(info);
	assert_int_equal(nics_open, 1);
	assert_string_equal(copy->src_addr, "source");
	wf_freeinfo(copy);
	assert_int_equal(nics_open, 0);
}

/* GI-004 */
static void nothing_to_free(void **state)
{
	wf_freeinfo(NULL);
}

/* An info narrowed by an application may lack attributes. */
static void absent_parts_stay_absent(void **state)
{
	struct fi_info bare = { .caps = FI_TAGGED }, *copy = wf_dupinfo(&bare);

	assert_non_null(copy);
	assert_memory_equal(copy, &bare, sizeof(bare));
	wf_freeinfo(copy);
}

/* The size FI_AV_AUTH_KEY is a flag and not a length. */
static void key_of_an_av_is_not_copied(void **state)
{
	struct fi_info *info = full_info(), *copy;

	info->ep_attr->auth_key_size = FI_AV_AUTH_KEY;
	info->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	copy = wf_dupinfo(info);
	assert_non_null(copy);
	assert_null(copy->ep_attr->auth_key);
	assert_null(copy->domain_attr->auth_key);
	assert_true(copy->domain_attr->auth_key_size == FI_AV_AUTH_KEY);
	wf_freeinfo(copy);
	wf_freeinfo(info);
}

/* GI-010 */
static void nic_that_cannot_be_copied(void **state)
{
	struct fi_info *info = full_info(), *copy;

	nic_dup_answer = -FI_ENOSYS;
	copy = wf_dupinfo(info);
	nic_dup_answer = 0;
	assert_non_null(copy);
	assert_null(copy->nic);
	wf_freeinfo(copy);
	nic_dup_answer = -FI_ENOMEM;
	assert_null(wf_dupinfo(info));
	nic_dup_answer = 0;
	wf_freeinfo(info);
}

/* GI-005, GI-039: nothing is leaked or freed twice, whichever allocation fails. */
static void every_allocation_may_fail(void **state)
{
	struct fi_info *info = full_info(), *copy;
	int tries;

	for (tries = 0; tries < 99; tries++) {
		allocations_left = tries;
		copy = wf_dupinfo(info);
		allocations_left = -1;
		if (copy)
			break;
	}
	assert_int_equal(tries, 13);
	assert_int_equal(nics_open, 2);
	wf_freeinfo(copy);
	wf_freeinfo(info);
	assert_int_equal(nics_open, 0);
	for (tries = 0; tries < 99; tries++) {
		allocations_left = tries;
		copy = wf_dupinfo(NULL);
		allocations_left = -1;
		if (copy)
			break;
	}
	assert_int_equal(tries, 6);
	wf_freeinfo(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocated_info_is_empty),
		cmocka_unit_test(copy_is_deep_and_alone),
		cmocka_unit_test(nothing_to_free),
		cmocka_unit_test(absent_parts_stay_absent),
		cmocka_unit_test(key_of_an_av_is_not_copied),
		cmocka_unit_test(nic_that_cannot_be_copied),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
