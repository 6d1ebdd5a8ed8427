/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_PEER_PEER_H
#define WF_TESTS_PEER_PEER_H

#include <rdma/fabric.h>

/* What the test peer can be told, by fi_open_ops(endpoint, PEER_OPS). */
#define PEER_OPS "test peer"

/* Tags of messages that the sending endpoint keeps until it makes progress the next
 * time, and then sends, or ends with FI_EIO. One at a time. */
#define PEER_SEND_LATER 0x5e4d1a7e
#define PEER_FAIL_LATER 0xfa111a7e

struct peer_test_ops {
	/* The next message that @ep receives ends with @err (positive) instead. */
	void (*fail_next)(struct fid_ep *ep, int err);
	/* Completions that the owner's CQ refused so far, in the whole process. */
	unsigned long (*refused)(void);
};

#endif
