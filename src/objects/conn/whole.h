/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_WHOLE_H
#define WF_OBJECTS_CONN_WHOLE_H

#include "objects/endpoint/endpoint.h"

/*
 * Messages that are completely in the transport's memory when it asks for a receive.
 * Such a transport leaves the calls of srx.h to whole.c: it fills a struct
 * wf_srx_whole, calls wf_srx_whole_receive, and keeps the struct and the message until
 * done() is called. Its wf_xfer_ops have wf_srx_whole_ops and wf_srx_whole_addr.
 */
struct wf_srx_whole {
	struct wf_ep *ep; /* Endpoint that receives the message. */
	uint64_t type;    /* FI_MSG or FI_TAGGED */
	uint64_t flags;   /* FI_REMOTE_CQ_DATA or 0 */
	/* Valid if @type is FI_TAGGED; valid with FI_REMOTE_CQ_DATA. */
	uint64_t tag, data;
	const void *buf;    /* The payload. */
	size_t len;         /* Bytes at @buf. */
	const void *source; /* Sender's address, as the sender's fi_getname gives it. */
	size_t source_len;  /* Bytes at @source. */

	/* The message was received or dropped (0), or failed with @err (a positive FI_E
	 * code): the transport may free it. Called with the lock of the receive context
	 * and perhaps ep->lock held, so it takes leaf locks only. */
	void (*done)(struct wf_srx_whole *msg, int err);

	struct wf_srx_origin origin; /* Used while the message is unexpected. */
};

/* Match @msg: copy it into a posted receive, or keep it as an unexpected message. May
 * call done() before it returns. Locks as in wf_xfer_ops.progress. */
void wf_srx_whole_receive(struct wf_srx_whole *msg);

extern struct fi_ops_srx_peer wf_srx_whole_ops;
fi_addr_t wf_srx_whole_addr(struct fi_peer_rx_entry *entry);

#endif
