/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_RAIL_H
#define WF_LNX_RAIL_H

#include <stdatomic.h>

#include "objects/lower/endpoint.h"
#include "providers/lnx/name.h"

struct lnx_ep;

/* The peer CQ that a member imports and writes its completions to, one for each
 * direction; see completion.c. Constant once the rail is enabled. */
struct lnx_port {
	struct fid_peer_cq fid;
	struct lnx_ep *ep;
	struct wf_cq *cq; /* the application's CQ */
	unsigned int rail;
	bool sources; /* The application asked for FI_SOURCE. */
};

typedef fi_addr_t lnx_get_addr_fn(struct fi_peer_rx_entry *entry);

/* A rail: the endpoint of one member. */
struct lnx_rail {
	struct wf_lower_ep below;
	struct lnx_port tx, rx;
	/* Every transmission over the rail has a struct lnx_op, and completes in
	 * completion.c. */
	bool recorded;
	bool network; /* The member uses sockets, and another member does not. */
	/* Polls of a network member since one of its operations moved; see
	 * progress.c. */
	_Atomic uint32_t idle_polls;
	/* Number of operations taken, their bytes, and number of failed operations; see
	 * stats.c. */
	_Atomic uint64_t ops, bytes, failures;

	/* The fields below are used only if the member is of another library. */

	/* Operations of the receive context that the member calls; some are replaced by
	 * those of sources.c and deferred.c. */
	struct fi_ops_srx_owner srx_ops;
	/* Callback of a foreach_unspec_addr call of the member that is put off; NULL:
	 * none. See sources.c. */
	_Atomic(lnx_get_addr_fn *) postponed;
	/* member_srx: the member's operations of the receive context. peer_ops: the
	 * operations that the receive context calls instead of them; see deferred.c. */
	struct fi_ops_srx_peer *member_srx;
	struct fi_ops_srx_peer peer_ops;
	_Atomic uint32_t deferred; /* Number of deferred receives at the member. */
	/* A success that the member counted is held back; see deferred_cntr.c. */
	atomic_bool held;
	/* The next failure that the member counts does not count at the endpoint. */
	atomic_bool failure_counted;
};

/*
 * Control calls: ep->wf.control is held, or the application does not have the endpoint
 * yet. They return 0 or a negative fi_errno, which is logged.
 */

/* Open the endpoint of member @index with the source address @source; NULL: the member
 * chooses one. wf_lower_ep_close() closes it. */
int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source);

/* Import the objects that @ep is bound to, and enable the rail. Steps that were done
 * before are not repeated. */
int lnx_rail_enable(struct lnx_ep *ep, unsigned int index);

/* Import those counters of ep->wf.cntr that the member counts and has not imported yet,
 * and bind them to the member's endpoint. */
int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index);

/* completion.c: make the peer CQs of the member at @rail. */
void lnx_ports_init(struct lnx_ep *ep, unsigned int rail);

#endif
