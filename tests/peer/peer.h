/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_PEER_H
#define TESTS_PEER_PEER_H

#include <rdma/fabric.h>

/* Commands for the test peer, by fi_open_ops(endpoint, PEER_OPS). */
#define PEER_OPS "test peer"

/* Tags of messages that the sending endpoint keeps until its next progress call, and
 * then sends, or ends with FI_EIO. One message at a time. */
#define PEER_SEND_LATER 0x5e4d1a7e
#define PEER_FAIL_LATER 0xfa111a7e

struct peer_test_ops {
	/* The next message that @ep receives ends with @err (positive). */
	void (*fail_next)(struct fid_ep *ep, int err);
	/* Number of completions that the owner's CQ has refused, in the whole
	 * process. */
	unsigned long (*refused)(void);
};

#endif
