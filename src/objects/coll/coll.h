/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_COLL_COLL_H
#define WF_OBJECTS_COLL_COLL_H

#include <rdma/fi_collective.h>

#include "objects/endpoint/endpoint.h"

/*
 * Collectives of a provider that has none of its own. Other providers, called engines,
 * do them: they import the objects of the application by the interfaces of fi_peer(3)
 * and include/rdma/providers/fi_peer_coll.h. This layer finds and opens the engines,
 * forwards joins and calls to them, and has them make progress.
 *
 * An endpoint of a provider with wf_prov.av_sets, whose transport has no
 * wf_xfer_ops.collective, takes part if it was opened with FI_COLLECTIVE.
 */

/* @ep was opened with FI_COLLECTIVE: open the engines and their endpoints on top of it.
 * 0 or a negative fabric errno with a log line; the caller closes @ep then. No lock is
 * held. */
int wf_coll_attach(struct wf_ep *ep);

/* fi_query_collective(3); the domain need not have an endpoint. No lock is held. */
int wf_coll_query(struct wf_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags);

/* Close the engines of @domain, on which no object is open. No lock is held. */
void wf_coll_domain_done(struct wf_domain *domain);

#endif
