/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include <rdma/providers/fi_log.h>

#include "objects/region/attr.h"

/* The value of FI_MR_BASIC, a deprecated mode whose name causes a compiler warning. */
enum { MR_BASIC = 1 << 0 };

enum { MAX_KEY_BYTES = 8 };

/* With the capabilities whose operations the region is for, which applications name,
 * too, and which permit nothing. */
static const uint64_t ACCESS_BITS = FI_SEND | FI_RECV | FI_READ | FI_WRITE |
				    FI_REMOTE_READ | FI_REMOTE_WRITE | FI_COLLECTIVE |
				    FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;

static uint64_t attr_caps_of(const struct wf_domain *domain)
{
	return domain->info->caps | domain->info->domain_attr->caps;
}

bool wf_mr_by_address(const struct wf_domain *domain)
{
	return domain->info->domain_attr->mr_mode & (FI_MR_VIRT_ADDR | MR_BASIC);
}

bool wf_mr_chooses_key(const struct wf_domain *domain)
{
	return domain->info->domain_attr->mr_mode & (FI_MR_PROV_KEY | MR_BASIC);
}

size_t wf_mr_key_size(const struct wf_domain *domain)
{
	size_t bytes = domain->info->domain_attr->mr_key_size;

	return bytes && bytes < MAX_KEY_BYTES ? bytes : MAX_KEY_BYTES;
}

/* FI_KEY_NOTAVAIL is never a valid key. */
uint64_t wf_mr_max_key(const struct wf_domain *domain)
{
	size_t bytes = wf_mr_key_size(domain);

	return bytes == MAX_KEY_BYTES ? FI_KEY_NOTAVAIL - 1
				      : (UINT64_C(1) << 8 * bytes) - 1;
}

void wf_mr_attr_read(const struct wf_domain *domain, const struct fi_mr_attr *attr,
	struct fi_mr_attr *ret_attr)
{
	uint32_t version = domain->api_version;
	bool hmem = attr_caps_of(domain) & FI_HMEM;

	*ret_attr = (struct fi_mr_attr){
		.mr_iov = attr->mr_iov,
		.iov_count = attr->iov_count,
		.access = attr->access,
		.offset = attr->offset,
		.requested_key = attr->requested_key,
		.context = attr->context,
	};
	if (FI_VERSION_GE(version, FI_VERSION(1, 5))) {
		ret_attr->auth_key_size = attr->auth_key_size;
		ret_attr->auth_key = attr->auth_key;
	}
	if (hmem && FI_VERSION_GE(version, FI_VERSION(1, 9))) {
		ret_attr->iface = attr->iface;
		if (attr->iface != FI_HMEM_SYSTEM)
			ret_attr->device = attr->device;
	}
	if (hmem && FI_VERSION_GE(version, FI_VERSION(1, 19)))
		ret_attr->hmem_data = attr->hmem_data;
	if (FI_VERSION_GE(version, FI_VERSION(1, 22)))
		ret_attr->page_size = attr->page_size;
	if (FI_VERSION_GE(version, FI_VERSION(2, 0))) {
		ret_attr->base_mr = attr->base_mr;
		ret_attr->sub_mr_cnt = attr->sub_mr_cnt;
	}
}

static int attr_refused(const struct wf_domain *domain, int err, const char *why)
{
	FI_WARN(domain->prov->fi, FI_LOG_MR, "registration refused: %s\n", why);
	return err;
}

static int attr_check_flags(
	const struct wf_domain *domain, const struct fi_mr_attr *attr, uint64_t flags)
{
	uint64_t possible = attr_caps_of(domain) & (FI_RMA_EVENT | FI_RMA_PMEM);

	if (attr_caps_of(domain) & FI_HMEM)
		possible |= FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY;
	if (flags & FI_MR_DMABUF && attr->base_mr)
		return attr_refused(domain, -FI_EINVAL,
			"a dmabuf cannot be part of another region");
	if (!(flags & ~possible))
		return 0;
	FI_WARN(domain->prov->fi, FI_LOG_MR,
		"registration refused: flags 0x%llx asked for, 0x%llx possible\n",
		(unsigned long long)flags, (unsigned long long)possible);
	return -FI_EBADFLAGS;
}

static bool attr_is_page_size(size_t size)
{
	char path[80];

	if (size == (size_t)sysconf(_SC_PAGESIZE))
		return true;
	(void)snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB",
		size / 1024);
	return size % 1024 == 0 && access(path, F_OK) == 0;
}

static int attr_check_memory(
	const struct wf_domain *domain, const struct fi_mr_attr *attr)
{
	if (attr->iface != FI_HMEM_SYSTEM)
		return attr_refused(domain, -FI_ENOSYS,
			"device memory asked for, only FI_HMEM_SYSTEM possible");
	if (attr->hmem_data)
		return attr_refused(domain, -FI_EINVAL, "hmem_data must be NULL");
	if (attr->page_size && !attr_is_page_size(attr->page_size))
		return attr_refused(
			domain, -FI_EINVAL, "page_size is none of the system's");
	return 0;
}

static int attr_check_pieces(
	const struct wf_domain *domain, const struct fi_mr_attr *attr)
{
	size_t limit = domain->info->domain_attr->mr_iov_limit, total = 0;

	if (!attr->mr_iov || !attr->iov_count)
		return attr_refused(domain, -FI_EINVAL, "no memory is given");
	if (attr->iov_count > WF_MAX(limit, (size_t)1)) {
		FI_WARN(domain->prov->fi, FI_LOG_MR,
			"registration refused: %zu pieces asked for, %zu possible\n",
			attr->iov_count, WF_MAX(limit, (size_t)1));
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < attr->iov_count; i++) {
		const struct iovec *iov = &attr->mr_iov[i];

		if (iov->iov_len > UINTPTR_MAX - (uintptr_t)iov->iov_base ||
			iov->iov_len > SIZE_MAX - total)
			return attr_refused(
				domain, -FI_EINVAL, "a piece leaves the address space");
		total += iov->iov_len;
	}
	return 0;
}

static int attr_check_key(const struct wf_domain *domain, const struct fi_mr_attr *attr)
{
	uint64_t max = wf_mr_max_key(domain);

	if (!(attr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE)) ||
		wf_mr_chooses_key(domain) || attr->requested_key <= max)
		return 0;
	FI_WARN(domain->prov->fi, FI_LOG_MR,
		"registration refused: key 0x%llx asked for, up to 0x%llx possible\n",
		(unsigned long long)attr->requested_key, (unsigned long long)max);
	return -FI_EKEYREJECTED;
}

static int attr_check_auth_key(
	const struct wf_domain *domain, const struct fi_mr_attr *attr)
{
	size_t size = domain->info->domain_attr->auth_key_size;

	if (size == FI_AV_AUTH_KEY)
		size = sizeof(struct fi_mr_auth_key);
	else if (!attr->auth_key_size)
		return 0;
	if (attr->auth_key_size != size || !attr->auth_key)
		return attr_refused(domain, -FI_EINVAL,
			"the authorization key is not one of the domain's size");
	return 0;
}

int wf_mr_attr_check(
	const struct wf_domain *domain, const struct fi_mr_attr *attr, uint64_t flags)
{
	int err;

	err = attr_check_flags(domain, attr, flags);
	if (!err)
		err = attr_check_pieces(domain, attr);
	if (!err && attr->offset)
		err = attr_refused(domain, -FI_EINVAL, "offset must be 0");
	if (!err && attr->access & ~ACCESS_BITS)
		err = attr_refused(domain, -FI_EINVAL, "unknown access bits");
	if (!err)
		err = attr_check_memory(domain, attr);
	if (!err)
		err = attr_check_auth_key(domain, attr);
	return err ? err : attr_check_key(domain, attr);
}
