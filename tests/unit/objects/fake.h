/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_FAKE_H
#define TESTS_UNIT_OBJECTS_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "objects/av/av.h"
#include "objects/cq/cq.h"
#include "objects/domain/domain.h"
#include "objects/info/info.h"
#include "objects/open/open.h"

/*
 * A provider that has only a name, and weak replacements for the objects that a test of
 * another object does not need.
 */

static struct fi_provider fake_fi = { .name = "fake", .version = FI_VERSION(1, 0) };

static const struct wf_prov fake_prov = {
	.fi = &fake_fi,
	.default_domain = "fake0",
};

/* The result of the next wf_info_check, and the number of its calls. */
static int fake_check_answer;
static int fake_check_calls;

__attribute__((weak)) int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info)
{
	fake_check_calls++;
	return fake_check_answer;
}

__attribute__((weak)) int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context)
{
	return -FI_ENOSYS;
}

__attribute__((weak)) int wf_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **ret_cq, void *context)
{
	return -FI_ENOSYS;
}

static inline struct fid_fabric *fake_fabric_of(
	const struct wf_prov *prov, uint32_t version)
{
	struct fi_fabric_attr attr = { .name = (char *)"net",
		.prov_name = (char *)"fake",
		.api_version = version };
	struct fid_fabric *fabric = NULL;

	assert_int_equal(wf_fabric_open(prov, &attr, &fabric, &attr), 0);
	assert_non_null(fabric);
	return fabric;
}

static inline struct fid_fabric *fake_fabric(uint32_t version)
{
	return fake_fabric_of(&fake_prov, version);
}

static inline struct fi_info *fake_info(
	enum fi_threading threading, enum fi_progress progress)
{
	struct fi_info *info = fi_allocinfo();

	assert_non_null(info);
	info->domain_attr->threading = threading;
	info->domain_attr->progress = progress;
	info->domain_attr->mr_key_size = 8;
	info->domain_attr->mr_iov_limit = 4;
	return info;
}

static inline struct fid_domain *fake_domain_of(
	struct fid_fabric *fabric, struct fi_info *info)
{
	struct fid_domain *domain = NULL;

	assert_int_equal(fi_domain(fabric, info, &domain, NULL), 0);
	assert_non_null(domain);
	fi_freeinfo(info);
	return domain;
}

static inline struct fid_domain *fake_domain(struct fid_fabric *fabric)
{
	return fake_domain_of(fabric, fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL));
}

#define assert_closed(object) assert_int_equal(fi_close(&(object)->fid), 0)
#define assert_busy(object)   assert_int_equal(fi_close(&(object)->fid), -FI_EBUSY)

#endif
