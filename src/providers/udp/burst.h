/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_UDP_BURST_H
#define WF_UDP_BURST_H

#include "providers/udp/udp.h"

/* Messages with FI_MORE leave together, as trains; see burst.c. */

/* Does the message go through udp_burst_send()? No lock held. A message without FI_MORE
 * does while gathered messages wait, because they must leave before it. */
static inline bool udp_in_burst(const struct udp_ep *ep, const struct wf_op *op)
{
	return wf_unlikely(op->flags & FI_MORE) ||
	       wf_unlikely(atomic_load_explicit(&ep->gathered, memory_order_relaxed));
}

/* Send the message to the socket address @to, or copy it and send the copy later.
 * Returns 0, or -FI_EAGAIN if the socket is full; any other error is reported as the
 * end of the operation. Takes ep.lock. */
ssize_t udp_burst_send(struct udp_ep *ep, const struct wf_op *op, const void *to);

/* Send the gathered messages. False: the socket is full, and messages are left. ep.lock
 * held. */
bool udp_burst_flush(struct udp_ep *ep);

/* wf_xfer_ops.flushed: no gathered message is left. ep.lock held. */
bool udp_flushed(struct wf_ep *ep);

#endif
