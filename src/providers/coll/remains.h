/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_REMAINS_H
#define WF_PROVIDERS_COLL_REMAINS_H

#include "providers/coll/coll.h"

/*
 * Memory of endpoints that were closed. The owner's endpoint, which is closed after
 * them, may still read or write the buffers of transfers that could not be withdrawn,
 * and tells no more when they end. The main provider closes this domain after its
 * endpoints, so their memory is freed with it.
 */

/* wf_prov.domain_init and domain_done. -FI_ENOMEM. No lock is held. */
int coll_remains_init(struct wf_domain *domain);
void coll_remains_done(struct wf_domain *domain);

/* Keep @ep, which is closed, and what its transfers use. False: there are none, and
 * the caller frees it. No lock is held. */
bool coll_remains_keep(struct wf_domain *domain, struct coll_ep *ep);

#endif
