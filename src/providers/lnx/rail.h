/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_RAIL_H
#define LNX_RAIL_H

#include <stdatomic.h>

#include "objects/lower/endpoint.h"
#include "providers/lnx/name.h"

struct lnx_ep;

/* What a member writes completions into, one for each direction: see completion.c.
 * Constant once the rail is enabled. */
struct lnx_port {
	struct fid_peer_cq fid;
	struct lnx_ep *ep;
	struct wf_cq *cq; /* the application's */
	unsigned int rail;
	bool sources; /* the application asked for FI_SOURCE */
};

typedef fi_addr_t lnx_get_addr_fn(struct fi_peer_rx_entry *entry);

/* A rail: the endpoint of one member. */
struct lnx_rail {
	struct wf_lower_ep below;
	struct lnx_port tx, rx;
	/* Every transmission has a struct lnx_op, and ends in completion.c. */
	bool recorded;
	bool network; /* it goes through sockets, and another member does not */
	/* Polls of a network member since an operation moved; see progress.c. */
	_Atomic uint32_t idle_polls;
	/* Operations taken, their bytes, and operations that failed; see stats.c. */
	_Atomic uint64_t ops, bytes, failures;

	/* The fields below are of a member of another library. */

	/* The receive context's operations as the member sees them: those of sources.c
	 * and deferred.c in place of their own. */
	struct fi_ops_srx_owner srx_ops;
	/* The member's question about sources that waits; NULL: none. See sources.c. */
	_Atomic(lnx_get_addr_fn *) put_off;
	/* The member's own operations of the receive context, and the ones that the
	 * receive context calls in their place; see deferred.c. */
	struct fi_ops_srx_peer *member_srx;
	struct fi_ops_srx_peer peer_ops;
	_Atomic uint32_t deferred; /* deferred receives that the member has */
	atomic_bool held;          /* a success that the member counted is held */
	/* The next failure that the member counts is no receive of the endpoint. */
	atomic_bool failure_counted;
};

/*
 * Control calls: ep->wf.control is held, or the endpoint is not open to the application
 * yet. 0 or a negative FI_E code, logged.
 */

/* Open the endpoint of member @index at @source; NULL: where the member chooses. Closed
 * by wf_lower_ep_close. */
int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source);

/* Import all that @ep is bound to, and enable the rail. What was done before is not
 * done again. */
int lnx_rail_enable(struct lnx_ep *ep, unsigned int index);

/* Import those counters of ep->wf.cntr that the member counts and has not imported yet,
 * and bind them to the member's endpoint. */
int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index);

/* completion.c: make what the member at @rail writes into. */
void lnx_ports_init(struct lnx_ep *ep, unsigned int rail);

#endif
