/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_FLAGS_H
#define WF_OBJECTS_ENDPOINT_CALLS_FLAGS_H

#include "objects/endpoint/endpoint.h"

/* Operation flags and the rules for completions; fi_endpoint(3), fi_cq(3). */

/* Compute ep->tx and ep->rx, or only ep->tx: before the endpoint is enabled, and again
 * when the application changes its default flags. ep->control is held. */
void wf_ep_settle_flags(struct wf_ep *ep);
void wf_ep_settle_tx_flags(struct wf_ep *ep);

/* FI_GETOPSFLAG and FI_SETOPSFLAG of fi_control(3). 0, or -FI_EINVAL, logged. Take
 * ep->control. */
int wf_ep_get_op_flags(struct wf_ep *ep, uint64_t *flags);
int wf_ep_set_op_flags(struct wf_ep *ep, uint64_t flags);
/* The direction that @flags names, FI_TRANSMIT or FI_RECV. 0, logged: none or both. */
uint64_t wf_ep_op_direction(const struct wf_ep *ep, uint64_t flags);

/* fi_control(3) of a shared transmit or receive context. -FI_ENOSYS: unknown command.
 * Takes ep->control. */
int wf_ep_context_control(struct wf_ep *ep, int command, void *arg);

#endif
