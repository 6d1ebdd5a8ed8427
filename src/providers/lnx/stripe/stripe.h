/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_STRIPE_STRIPE_H
#define WF_LNX_STRIPE_STRIPE_H

#include "providers/lnx/endpoint.h"

/*
 * Striping: the payload of one large tagged message goes over all network rails to a
 * peer at a time.
 *
 * The sender registers its buffers with the members and sends a *head*, an empty
 * message with CQ data, over the rail that the message would take, so that the message
 * is matched in its place in the order. The receiver, when a receive gets the head,
 * reads the payload from the sender's memory in *chunks*: each rail gets the next chunk
 * when it has finished one, so that rails are loaded by their speed, and a chunk that a
 * rail lost is read over another one. Then it tells the sender that it is done.
 *
 * Reads, and the control messages (wire.h) of both ends, go over *private* endpoints of
 * the members, one for each rail, which no object of the application is bound to. Their
 * addresses are in the name of the endpoint, as links of a provider that other versions
 * do not know. An endpoint without two such rails, or without the parameter, has no
 * struct lnx_stripe and pays for nothing.
 *
 * struct lnx_stripe.lock guards all state of striping. Lock order: lock of the receive
 * context, locks of the rails' endpoints, lnx_stripe.lock, locks of the private
 * endpoints and their queues, CQ or counter.
 */
struct lnx_stripe;
struct lnx_outbound;

/* Of a domain, when its members are open: settle lnx_domain.stripe_rails, the members
 * that can take part. */
void lnx_stripe_domain_init(struct lnx_domain *domain);

/* Has @name private endpoints that at least two members of @domain reach? */
bool lnx_stripe_reaches(const struct lnx_domain *domain, const struct lnx_name *name);

/*
 * Control calls, in this order. _open: the endpoint is opened; sets ep->stripe, or
 * leaves it NULL. _enable: may be called again after a failure. _enabled: fi_enable
 * cannot fail any more in lnx. _watch: threads may sleep on the endpoint from now on;
 * may be called again. _close: before the rails are closed; accepts any state.
 * They return 0 or a negative fi_errno, which is logged.
 */
int lnx_stripe_open(struct lnx_ep *ep, const struct lnx_name *source);
int lnx_stripe_enable(struct lnx_ep *ep);
int lnx_stripe_watch(struct lnx_ep *ep);
void lnx_stripe_enabled(struct lnx_ep *ep);
void lnx_stripe_close(struct lnx_ep *ep);

/* Add each private endpoint to @name, behind the link of its rail. @addrs: memory for
 * their addresses. False: @name is unchanged, because the endpoint has none or they do
 * not fit. */
bool lnx_stripe_name(struct lnx_ep *ep, struct lnx_name *name,
	uint32_t addrs[LNX_MAX_LINKS][WF_AV_ADDR_WORDS]);

/* Result of the next two functions: the operation is to be started like any other. It
 * is no fi_errno, which these return as well. */
enum { LNX_UNSTRIPED = 1 };

/* Send @op, a transmission of any kind to @peer, as a striped message if it is one. 0:
 * done. LNX_UNSTRIPED: it is none. A negative fi_errno: that of struct
 * wf_xfer_ops.start. No lock is held. */
ssize_t lnx_stripe_start(
	struct lnx_ep *ep, struct lnx_peer *peer, const struct wf_op *op);

/* -FI_EAGAIN: @op, which has FI_FENCE, must wait for striped messages to @peer. Else
 * LNX_UNSTRIPED. No lock is held. */
ssize_t lnx_stripe_fence(
	struct lnx_ep *ep, const struct lnx_peer *peer, const struct wf_op *op);

/* start.c: lnx_start for the head @op of @out, which is the context of its record. */
ssize_t lnx_start_head(struct lnx_ep *ep, struct wf_op *op, struct lnx_outbound *out);

/* The head of @out was sent, or failed with the positive FI_E code @err. Called from
 * the progress of a rail's endpoint. */
void lnx_stripe_head_done(struct lnx_ep *ep, struct lnx_outbound *out, int err);

/* Poll the private endpoints. The lock of the receive context is held. */
void lnx_stripe_poll(struct lnx_ep *ep);

/* Are striped messages under way? Any thread, no lock. */
bool lnx_stripe_is_busy(const struct lnx_ep *ep);

/* As lnx_xfer_ops.flushed, wf_progress.moved, and for sleeping wf_progress.arm. */
bool lnx_stripe_flushed(struct lnx_ep *ep);
bool lnx_stripe_moved(struct lnx_ep *ep);
bool lnx_stripe_may_sleep(struct lnx_ep *ep);

/* Write the statistics of FI_LNX_DUMP_STATS to the standard error. */
void lnx_stripe_dump_stats(const struct lnx_ep *ep);

#endif
