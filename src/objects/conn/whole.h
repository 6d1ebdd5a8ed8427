/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_WHOLE_H
#define WF_OBJECTS_CONN_WHOLE_H

#include "objects/endpoint/endpoint.h"

/*
 * Messages that the transport has in its memory from the first to the last byte when it
 * asks for a receive. Such a transport leaves the calls of srx.h to whole.c: it fills a
 * struct wf_srx_whole, calls wf_srx_whole_receive, and keeps both until done() is
 * called. Its wf_xfer_ops have wf_srx_whole_ops and wf_srx_whole_addr.
 */
struct wf_srx_whole {
	struct wf_ep *ep;   /* receives the message */
	uint64_t type;      /* FI_MSG or FI_TAGGED */
	uint64_t flags;     /* FI_REMOTE_CQ_DATA or 0 */
	uint64_t tag, data; /* with FI_TAGGED; with FI_REMOTE_CQ_DATA */
	const void *buf;
	size_t len;         /* bytes at @buf */
	const void *source; /* the sender's address, as its fi_getname gives it */
	size_t source_len;

	/* The message was received or dropped (0), or failed with @err (positive): the
	 * transport may free it. The lock of the receive context is held, and perhaps
	 * ep->lock: it takes leaf locks only. */
	void (*done)(struct wf_srx_whole *msg, int err);

	struct wf_srx_origin origin; /* used while the message is unexpected */
};

/* Match @msg: it is copied into a receive, or waits for one. May call done() before it
 * returns. Locks as in wf_xfer_ops.progress. */
void wf_srx_whole_receive(struct wf_srx_whole *msg);

extern struct fi_ops_srx_peer wf_srx_whole_ops;
fi_addr_t wf_srx_whole_addr(struct fi_peer_rx_entry *entry);

#endif
