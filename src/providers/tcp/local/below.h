/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_BELOW_H
#define TCP_LOCAL_BELOW_H

#include "providers/tcp/local/proof.h"
#include "providers/tcp/tcp.h"
#include "sys/forks.h"

/*
 * The endpoint below: an endpoint of shm, through which an endpoint of tcp reaches the
 * peers that share memory with it (docs/tcp-local.md, section 3). It completes, counts
 * and matches in the objects of tcp's endpoint. It has an AV of its own, in which the
 * user id of each peer is the peer's index in tcp's AV.
 */

/* Open and enable the endpoint below of @ep, whose bindings are complete, and let peers
 * be asked whether they share memory; no-op if it is open. 0 or a negative fi_errno,
 * which is logged with the reason: it cannot be opened, or does not support all
 * capabilities of @ep. A control call without locks. */
int tcp_below_open(struct tcp_ep *ep);
/* Close it, after the last tcp_below_remove; its operations end. No-op if there is
 * none. A control call without locks. */
void tcp_below_close(struct tcp_ep *ep);

/* Is this process a forked child of the process that opened @ep? A child has neither
 * the pages of connections nor the memory of the endpoint below. */
static inline bool tcp_below_is_inherited(const struct tcp_ep *ep)
{
	return wf_unlikely(wf_is_forked_since(ep->fork_depth));
}

/* The name that peers insert, a string; NULL: there is no endpoint below. */
const char *tcp_below_name(const struct tcp_ep *ep);

/* ep.lock is held from here on, but not needed by tcp_below_poll; in the next two
 * functions and in tcp_below_poll the lock of the receive context is held, too. */

/* Insert the peer whose endpoint below has the name @name, of @len bytes with the NUL,
 * which may come from any program, and whose index in tcp's AV is @user_id. 0 or a
 * negative fi_errno. */
int tcp_below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name, size_t len,
	fi_addr_t *ret_below);
/* Connect to the peer with the index @below. As struct wf_xfer_ops.reach. */
int tcp_below_reach(struct tcp_ep *ep, fi_addr_t below);
/* As struct wf_xfer_ops.is_reached. */
bool tcp_below_is_reached(struct tcp_ep *ep, fi_addr_t below);
/* End the connection to it, as struct wf_xfer_ops.disconnect, and remove it. */
void tcp_below_remove(
	struct tcp_ep *ep, fi_addr_t below, int err, struct wf_unread *unread);

/* Start @op, whose address is that of @ep's AV, at the peer that was reached with the
 * index @below. -FI_ENOTCONN: it is not connected any more. Otherwise the contract is
 * that of struct wf_xfer_ops.start. */
ssize_t tcp_below_start(struct tcp_ep *ep, fi_addr_t below, struct wf_op *op);

/* The fast path of a message, as struct wf_xfer_ops.send_small. */
ssize_t tcp_below_send(struct tcp_ep *ep, fi_addr_t below, enum wf_op_kind kind,
	const void *buf, size_t len, uint64_t tag);

/* Make progress of the endpoint below, which @ep has. */
void tcp_below_poll(struct tcp_ep *ep);
/* The length from which on messages do not take the fast path. Any thread. */
size_t tcp_below_small_limit(const struct tcp_ep *ep);
/* Has the endpoint below moved data since the last call? */
bool tcp_below_moved(struct tcp_ep *ep);
/* As in struct wf_xfer_ops; without an endpoint below they return true, true and false.
 */
bool tcp_below_arm(struct tcp_ep *ep);
bool tcp_below_flushed(struct tcp_ep *ep);
bool tcp_below_cancel(struct tcp_ep *ep, const struct wf_cancel *which);

/* Let counters that were bound later count, too. A control call without locks. */
int tcp_below_bind_cntrs(struct tcp_ep *ep);

#endif
