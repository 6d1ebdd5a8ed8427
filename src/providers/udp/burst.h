/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UDP_BURST_H
#define UDP_BURST_H

#include "providers/udp/udp.h"

/* Messages with FI_MORE, which leave together; see burst.c. */

/* Does the message go by udp_burst_send? No lock held. Without FI_MORE it does while
 * others wait, which leave before it. */
static inline bool udp_in_burst(const struct udp_ep *ep, const struct wf_op *op)
{
	return wf_unlikely(op->flags & FI_MORE) ||
	       wf_unlikely(atomic_load_explicit(&ep->gathered, memory_order_relaxed));
}

/* Send the message to the socket address @to, or keep a copy that is sent later.
 * -FI_EAGAIN: the socket is full. Takes ep.lock. */
ssize_t udp_burst_send(struct udp_ep *ep, const struct wf_op *op, const void *to);

/* Send what waits; false: the socket is full. ep.lock is held. */
bool udp_burst_flush(struct udp_ep *ep);

/* wf_xfer_ops.flushed */
bool udp_flushed(struct wf_ep *ep);

#endif
