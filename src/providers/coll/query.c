/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/query.h"

#include "providers/coll/coll.h"
#include "providers/coll/reduce.h"

/* The call fi_query_collective(3). */

/* For collectives that reduce nothing, callers pass FI_NOOP, FI_ATOMIC_READ or an
 * arbitrary operation, so the operation is checked only for reductions. */
static size_t query_size_of(
	enum fi_collective_op coll, const struct fi_collective_attr *attr)
{
	size_t size = coll_type_size(attr->datatype);

	if (coll_reduces(coll) && size && !coll_reduce(attr->datatype, attr->op))
		size = 0;
	return size;
}

int coll_query(struct wf_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	size_t size;

	(void)domain;
	if (!attr || attr->mode || flags)
		return -FI_EINVAL;
	if (coll > FI_GATHER)
		return -FI_ENOSYS;
	size = coll == FI_BARRIER ? 0 : query_size_of(coll, attr);
	if (coll != FI_BARRIER && !size)
		return -FI_ENOSYS;
	attr->datatype_attr.size = size;
	attr->datatype_attr.count = size ? SIZE_MAX / size : 0;
	attr->max_members = COLL_MEMBERS_MAX;
	return 0;
}
