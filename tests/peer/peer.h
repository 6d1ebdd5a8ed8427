/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_PEER_PEER_H
#define WF_TESTS_PEER_PEER_H

#include <rdma/fabric.h>

/* What the test peer can be told, by fi_open_ops(endpoint, PEER_OPS). */
#define PEER_OPS "test peer"

struct peer_test_ops {
	/* The next message that @ep receives ends with @err (positive) instead. */
	void (*fail_next)(struct fid_ep *ep, int err);
	/* Completions that the owner's CQ refused so far, in the whole process. */
	unsigned long (*refused)(void);
};

#endif
