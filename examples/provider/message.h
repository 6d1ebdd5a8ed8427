/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef EXAMPLES_PROVIDER_MESSAGE_H
#define EXAMPLES_PROVIDER_MESSAGE_H

#include "objects/endpoint/endpoint.h"

/*
 * Messages at their target, where they are matched. A message is in memory as a whole
 * when a receive is asked for: fill a struct loop_message, call loop_message_receive, and
 * keep the struct and the message until done() is called. The hooks that the receive
 * context calls for unexpected messages are loop_message_ops and loop_message_addr.
 */
struct loop_message {
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
	void (*done)(struct loop_message *msg, int err);

	struct wf_srx_origin origin; /* Used while the message is unexpected. */
};

/* Match @msg: copy it into a posted receive, or keep it as an unexpected message. May
 * call done() before it returns. Locks as in wf_xfer_ops.progress. */
void loop_message_receive(struct loop_message *msg);

extern struct fi_ops_srx_peer loop_message_ops;
fi_addr_t loop_message_addr(struct fi_peer_rx_entry *entry);

#endif
