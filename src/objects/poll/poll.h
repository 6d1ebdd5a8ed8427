/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_POLL_POLL_H
#define WF_OBJECTS_POLL_POLL_H

#include <rdma/fi_eq.h>

/* fi_ops_domain.poll_open, fi_ops_fabric.wait_open and .trywait; see fi_poll(3). Poll
 * sets and wait sets are deprecated and kept for binaries that use them. */
int wf_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
	struct fid_poll **ret_poll);
int wf_wait_set_open(struct fid_fabric *fabric, struct fi_wait_attr *attr,
	struct fid_wait **ret_wait);
int wf_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

#endif
