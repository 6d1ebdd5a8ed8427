/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_OP_H
#define WF_OBJECTS_OP_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum wf_op_kind {
	WF_OP_SEND,
	WF_OP_RECV,
	WF_OP_TSEND,
	WF_OP_TRECV,
	WF_OP_READ,
	WF_OP_WRITE,
	WF_OP_ATOMIC,
	WF_OP_FETCH,
	WF_OP_COMPARE,
};

/*
 * One data transfer call, whichever of the many it was. Lives on the caller's stack;
 * a transport copies what it needs beyond its start().
 *
 * @flags holds the flags in force (the call's, or the endpoint's default ones), with
 * FI_COMPLETION already settled: it is set exactly when success writes a CQ entry.
 * An inject call has FI_INJECT set and FI_COMPLETION clear.
 */
struct wf_op {
	enum wf_op_kind kind;
	uint64_t flags;
	const struct iovec *iov; /* local buffers; fi_ioc was scaled to bytes */
	void **desc;
	size_t iov_count;
	size_t len; /* sum of iov */
	fi_addr_t addr;
	void *context;
	uint64_t data; /* remote CQ data, with FI_REMOTE_CQ_DATA */
	uint64_t tag, ignore;
	struct iovec one; /* what iov points to for the calls with a single buffer */
};

#endif
