/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CAPS_H
#define WF_OBJECTS_ENDPOINT_CAPS_H

#include "objects/endpoint/endpoint.h"

/* Capabilities that name the directions of data, fi_getinfo(3): transmitting,
 * receiving. */
#define WF_EP_TX_DIRS (FI_SEND | FI_READ | FI_WRITE)
#define WF_EP_RX_DIRS (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Does @ep receive messages? */
static inline bool wf_ep_receives(const struct wf_ep *ep)
{
	return ep->caps & (FI_MSG | FI_TAGGED) && ep->caps & FI_RECV;
}

/*
 * Does @ep, which is being enabled, initiate RMA and atomic operations of @direction,
 * FI_READ or FI_WRITE? One that names only what peers may do to its memory does both if
 * it has a queue for their completions: programs ask for the one and use the other, and
 * other libraries let them.
 */
static inline bool wf_ep_initiates(const struct wf_ep *ep, uint64_t direction)
{
	return ep->caps & direction ||
	       (!(ep->caps & (FI_READ | FI_WRITE)) && ep->tx_cq);
}

/* Capabilities that apply to transmitting; see fi_endpoint(3). */
#define WF_EP_TX_CAPS                                                                  \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND |      \
		FI_HMEM | FI_TRIGGER | FI_FENCE | FI_MULTICAST | FI_RMA_PMEM |         \
		FI_NAMED_RX_CTX | FI_COLLECTIVE | FI_XPU)

/* @caps with all directions added if it names none, which means all. */
uint64_t wf_ep_with_directions(uint64_t caps);

#endif
