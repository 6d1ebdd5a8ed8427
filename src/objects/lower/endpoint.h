/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_ENDPOINT_H
#define WF_OBJECTS_LOWER_ENDPOINT_H

#include "objects/endpoint/endpoint.h"
#include "objects/lower/cntr.h"
#include "objects/lower/domain.h"
#include "objects/lower/wait.h"

/*
 * The endpoint of a provider below, and what is bound to it.
 *
 * Objects come in two kinds. *Imports* are objects of the layered provider that the
 * provider below opens with FI_PEER (fi_peer(3)): it completes, counts and matches
 * there. They are opened, bound and closed here. *Plain* objects are opened by the
 * caller on the domain or fabric below, for example an address vector, an event queue,
 * or a completion queue that the caller reads; they are bound here, and the caller
 * closes them after the endpoint.
 *
 * The order is: open, bind and import in any order, enable, close. Every step may be
 * called again after a later one failed, as fi_enable(3) may: what is done already is
 * not done again. Each failure is one log line.
 *
 * All functions are control calls unless they say otherwise; the caller serialises
 * those for one endpoint, and holds no lock that the provider below may take.
 */

/* The most plain objects of one endpoint: an AV, an EQ, two CQs, and counters. */
enum { WF_LOWER_PLAIN_MAX = 4 + WF_CNTR_COUNT };

/* A plain object to be bound: arguments of fi_ep_bind(3). */
struct wf_lower_binding {
	struct fid *object;
	uint64_t flags;
};

struct wf_lower_ep {
	const struct wf_lower_domain *domain; /* the domain that it was opened on */
	struct fid_ep *fid;                   /* NULL: closed */
	/* The same endpoint if it is of this library: it may be started, polled and
	 * linked without the public interface. NULL: it is foreign. Constant while the
	 * endpoint is open. */
	struct wf_ep *builtin;

	/* The imported queue whose reading makes progress: rx_cq, or tx_cq where that
	 * is NULL. NULL: none is imported. */
	struct fid_cq *cq;
	bool has_fd; /* @cq has a descriptor that is readable when there is work */
	struct wf_lower_wait wait; /* set with that descriptor; wf_lower_ep_watch */

	/* Imports; NULL: none. */
	struct fid_cq *tx_cq, *rx_cq;
	struct fid_ep *srx;                       /* imported receive context */
	struct wf_srx_port srx_port;              /* the export behind @srx */
	struct wf_lower_cntr cntr[WF_CNTR_COUNT]; /* imported counters, by event */

	/* @plain_count plain objects that were bound */
	struct wf_lower_binding plain[WF_LOWER_PLAIN_MAX];
	unsigned int plain_count;
	/* @srx_port is exported; the endpoint was enabled */
	bool srx_exported, enabled;
};

/* Open an endpoint on @below from @info, a copy of below->info that belongs to this
 * function. @context: the endpoint's context, in errors of injected operations. 0 or a
 * negative FI_E code; then @ret is all zero. */
int wf_lower_ep_open(struct wf_lower_ep *ret, const struct wf_lower_domain *below,
	struct fi_info *info, void *context);

/* Bind a plain object with the flags of fi_ep_bind(3). */
int wf_lower_ep_bind(struct wf_lower_ep *below, struct fid *object, uint64_t flags);

/* Import the queue exported as @port, with @format, and bind it with @flags: as rx_cq
 * if @flags has FI_RECV, also for both directions, else as tx_cq. @sleeps: a thread may
 * sleep until the endpoint has work. Then the import has a descriptor, if the provider
 * below is of this library (in fi_peer(3) imports have none) and can make one. Without
 * @sleeps it has none, which saves a check for sleepers in each completion. */
int wf_lower_ep_import_cq(struct wf_lower_ep *below, struct fid_peer_cq *port,
	enum fi_cq_format format, uint64_t flags, bool sleeps);

/* Import @cntr and bind it as the counter of @event; @ops as in
 * wf_lower_cntr_import. */
int wf_lower_ep_import_cntr(struct wf_lower_ep *below, enum wf_ep_cntr event,
	struct wf_cntr *cntr, struct fi_ops_cntr_owner *ops);

/* Import the receive context of @above and bind it. @ops: operations that the provider
 * below calls instead of the context's own; NULL: the context's own. 0 also if @above
 * has no receive context of this library. */
int wf_lower_ep_import_srx(
	struct wf_lower_ep *below, struct wf_ep *above, struct fi_ops_srx_owner *ops);

/* Have small messages put into the inbox of @feed (objects/endpoint/inbox.h). Called
 * before the endpoint is enabled. False: it is of another library, or its transport
 * uses no inbox; receives take all messages. */
bool wf_lower_ep_use_inbox(struct wf_lower_ep *below, struct wf_inbox_feed *feed);

/* Hand down the limits that the application set on @above by fi_setopt after both
 * endpoints were opened: inject_size and max_msg_size. */
int wf_lower_ep_set_limits(struct wf_lower_ep *below, const struct wf_ep *above);

int wf_lower_ep_enable(struct wf_lower_ep *below);

/* Close the endpoint and its imports. Unexpected messages of the endpoint are dropped
 * first, while the endpoint can discard them; operations under way end by its closing.
 * Accepts an endpoint whose opening or enabling failed half-way, and one that is all
 * zero. No thread runs the endpoint, and no lock of the receive context is held. */
void wf_lower_ep_close(struct wf_lower_ep *below);

#endif
