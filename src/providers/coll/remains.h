/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_REMAINS_H
#define WF_COLL_REMAINS_H

#include "providers/coll/coll.h"

/*
 * Memory of endpoints that were closed. The owner's endpoint, which is closed after
 * them, may still read or write the buffers of transfers that could not be cancelled,
 * and does not report their end. The main provider closes this domain after its
 * endpoints, so this memory is freed with the domain.
 */

/* wf_prov.domain_init and domain_done. coll_remains_init returns 0 or -FI_ENOMEM. No
 * lock is held. */
int coll_remains_init(struct wf_domain *domain);
void coll_remains_done(struct wf_domain *domain);

/* Keep @ep, which is closed, with the memory that its transfers use. False: it has no
 * transfers, and the caller frees it. No lock is held. */
bool coll_remains_keep(struct wf_domain *domain, struct coll_ep *ep);

#endif
