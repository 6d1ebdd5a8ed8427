/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/remains.h"

#include <pthread.h>
#include <stdlib.h>

#include "providers/coll/control.h"
#include "providers/coll/exchange.h"
#include "providers/coll/exec.h"

/* State of a domain: domain->prov_data. */
struct remains {
	pthread_mutex_t lock; /* guards @eps */
	struct wf_list eps;   /* closed endpoints, by coll_ep.remains_link */
};

int coll_remains_init(struct wf_domain *domain)
{
	struct remains *remains = calloc(1, sizeof(*remains));

	if (!remains)
		return -FI_ENOMEM;
	(void)pthread_mutex_init(&remains->lock, NULL);
	wf_list_init(&remains->eps);
	domain->prov_data = remains;
	return 0;
}

static void remains_free_transfers(struct coll_ep *ep)
{
	coll_control_free(ep);
	coll_exchange_free(ep);
	while (!wf_list_empty(&ep->ending))
		coll_op_free(wf_list_entry(ep->ending.next, struct coll_op, link));
	coll_op_free_spare(ep);
	wf_pool_done(&ep->xfers);
	wf_pool_done(&ep->ops);
}

void coll_remains_done(struct wf_domain *domain)
{
	struct remains *remains = domain->prov_data;

	wf_list_foreach_safe(link, &remains->eps)
	{
		struct coll_ep *ep = wf_list_entry(link, struct coll_ep, remains_link);

		if (ep->has_remains)
			remains_free_transfers(ep);
		coll_control_free_standing(ep);
		free(ep);
	}
	(void)pthread_mutex_destroy(&remains->lock);
	free(remains);
}

bool coll_remains_keep(struct wf_domain *domain, struct coll_ep *ep)
{
	struct remains *remains = domain->prov_data;

	coll_control_withdraw(ep);
	ep->has_remains = !wf_list_empty(&ep->posted);
	if (!ep->has_remains)
		remains_free_transfers(ep);
	if (!ep->has_remains && !ep->control)
		return false;
	(void)pthread_mutex_lock(&remains->lock);
	wf_list_push(&remains->eps, &ep->remains_link);
	(void)pthread_mutex_unlock(&remains->lock);
	return true;
}
