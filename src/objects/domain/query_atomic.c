/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>

#include "objects/atomic/ops.h"
#include "objects/domain/domain.h"

/* The kind of call that the flags of fi_query_atomic ask about; WF_OP_COUNT: invalid
 * flags. */
static enum wf_op_kind query_atomic_queried_kind(uint64_t flags)
{
	switch (flags) {
	case 0:
		return WF_OP_ATOMIC;
	case FI_FETCH_ATOMIC:
		return WF_OP_FETCH;
	case FI_COMPARE_ATOMIC:
		return WF_OP_COMPARE;
	default:
		return WF_OP_COUNT;
	}
}

int wf_query_atomic_by(struct wf_domain *domain, enum fi_datatype datatype,
	enum fi_op op, struct fi_atomic_attr *attr, uint64_t flags,
	int (*valid)(struct wf_domain *domain, enum wf_op_kind kind,
		enum fi_datatype datatype, enum fi_op op, size_t *ret_count))
{
	enum wf_op_kind kind = query_atomic_queried_kind(flags & ~FI_TAGGED);
	int ret;

	if (kind == WF_OP_COUNT) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"query of atomics: flags 0x%llx asked for, possible is one of "
			"FI_FETCH_ATOMIC and FI_COMPARE_ATOMIC\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (flags & FI_TAGGED) {
		FI_INFO(domain->prov->fi, FI_LOG_DOMAIN,
			"query of atomics: no tagged targets\n");
		return -FI_EOPNOTSUPP;
	}
	ret = valid(domain, kind, datatype, op, &attr->count);
	if (!ret)
		attr->size = wf_atomic_size(datatype);
	return ret;
}

static int query_atomic_by_size(struct wf_domain *domain, enum wf_op_kind kind,
	enum fi_datatype datatype, enum fi_op op, size_t *ret_count)
{
	return wf_atomic_valid(
		kind, datatype, op, domain->prov->max_atomic_size, ret_count);
}

int wf_query_atomic(struct wf_domain *domain, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags)
{
	return wf_query_atomic_by(
		domain, datatype, op, attr, flags, query_atomic_by_size);
}
