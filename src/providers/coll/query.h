/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_QUERY_H
#define WF_COLL_QUERY_H

#include <rdma/fi_collective.h>

struct wf_domain;

/* wf_prov.query_collective. Returns 0; -FI_EINVAL: no attributes, or a mode;
 * -FI_ENOSYS: the collective, datatype or operation is not supported. */
int coll_query(struct wf_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags);

/* Does the collective combine values? */
static inline int coll_reduces(enum fi_collective_op coll)
{
	return coll == FI_ALLREDUCE || coll == FI_REDUCE || coll == FI_REDUCE_SCATTER;
}

#endif
