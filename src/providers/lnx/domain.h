/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_DOMAIN_H
#define WF_LNX_DOMAIN_H

#include <pthread.h>
#include <stdatomic.h>

#include "objects/cntr/cntr.h"
#include "objects/lower/domain.h"
#include "providers/lnx/links.h"
#include "providers/lnx/lnx.h"

/* The domain of one link: prov_data of its struct wf_domain. Constant while the domain
 * is open, unless a field's comment says otherwise. */
struct lnx_domain {
	struct wf_domain *wf;
	const struct lnx_link *link;
	/* Guards the peers and the list of endpoints of each struct lnx_av. */
	pthread_mutex_t control;
	unsigned int count; /* Number of members that are open. */
	struct wf_lower_domain member[LNX_MAX_LINKS];
	/* Members that striped messages may go over, one bit each: two or more, or
	 * none; see stripe/stripe.h. */
	uint8_t stripe_rails;
	/* The key to try for the next region whose key lnx chooses. Any thread. */
	_Atomic uint64_t next_key;
};

static inline struct lnx_domain *lnx_domain_of(const struct wf_domain *domain)
{
	return domain->prov_data;
}

/* Fill @ret with an entry for each link of @domain, without addresses. */
void lnx_domain_name(const struct lnx_domain *domain, struct lnx_name *ret);

/* Hooks of struct wf_prov; their contracts apply. Control calls. */
int lnx_domain_init(struct wf_domain *domain, const struct fi_info *info);
void lnx_domain_done(struct wf_domain *domain);

/* Hook: refuses a counter of bytes if a member cannot count bytes. */
int lnx_cntr_opened(struct wf_cntr *cntr);

/* Hook: the atomic operation is possible if every member can do it. */
int lnx_query_atomic(struct wf_domain *wf, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags);

/* mr.c: register memory with every member, under one key. */
int lnx_mr_register(struct wf_domain *wf, const struct fi_mr_attr *attr, uint64_t flags,
	struct fid_mr **ret_mr);

#endif
