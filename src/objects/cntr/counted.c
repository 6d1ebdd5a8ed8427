/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/cntr/cntr.h"
#include "objects/cntr/counted.h"

static struct wf_counted_ep *counted_ep_of(struct wf_list *link)
{
	return wf_list_entry(link, struct wf_counted_ep, link);
}

static struct wf_cntr *counted_cntr_of(struct wf_list *link)
{
	return wf_list_entry(link, struct wf_cntr, counted.link);
}

void wf_counted_init(struct wf_counted *counted)
{
	(void)pthread_mutex_init(&counted->lock, NULL);
	wf_list_init(&counted->eps);
	wf_list_init(&counted->cntrs);
}

void wf_counted_done(struct wf_counted *counted)
{
	(void)pthread_mutex_destroy(&counted->lock);
}

/* Remove the endpoints before @end from the counter's progress list; @end is the head
 * of the list of endpoints for all of them. */
static void counted_leave_eps(
	struct wf_counted *counted, struct wf_cntr *cntr, const struct wf_list *end)
{
	for (struct wf_list *it = counted->eps.next; it != end; it = it->next)
		wf_progress_list_del(&cntr->progress, counted_ep_of(it)->item);
}

static int counted_join_eps(struct wf_counted *counted, struct wf_cntr *cntr)
{
	int err;

	wf_list_foreach(it, &counted->eps)
	{
		err = wf_progress_list_add(&cntr->progress, counted_ep_of(it)->item);
		if (err) {
			counted_leave_eps(counted, cntr, it);
			return err;
		}
	}
	return 0;
}

int wf_counted_bind(struct wf_domain *domain, struct wf_cntr *cntr)
{
	struct wf_counted *counted = &domain->counted;
	int err = 0;

	(void)pthread_mutex_lock(&counted->lock);
	if (!cntr->counted.regions) {
		err = counted_join_eps(counted, cntr);
		if (err)
			goto out;
		wf_list_push(&counted->cntrs, &cntr->counted.link);
	}
	cntr->counted.regions++;
out:
	(void)pthread_mutex_unlock(&counted->lock);
	return err;
}

void wf_counted_unbind(struct wf_domain *domain, struct wf_cntr *cntr)
{
	struct wf_counted *counted = &domain->counted;

	(void)pthread_mutex_lock(&counted->lock);
	if (!--cntr->counted.regions) {
		wf_list_remove(&cntr->counted.link);
		counted_leave_eps(counted, cntr, &counted->eps);
	}
	(void)pthread_mutex_unlock(&counted->lock);
}

static void counted_leave_cntrs(
	struct wf_counted *counted, struct wf_progress *item, const struct wf_list *end)
{
	for (struct wf_list *it = counted->cntrs.next; it != end; it = it->next)
		wf_progress_list_del(&counted_cntr_of(it)->progress, item);
}

int wf_counted_attach(
	struct wf_domain *domain, struct wf_counted_ep *ep, struct wf_progress *item)
{
	struct wf_counted *counted = &domain->counted;
	int err = 0;

	(void)pthread_mutex_lock(&counted->lock);
	wf_list_foreach(it, &counted->cntrs)
	{
		err = wf_progress_list_add(&counted_cntr_of(it)->progress, item);
		if (err) {
			counted_leave_cntrs(counted, item, it);
			goto out;
		}
	}
	ep->item = item;
	wf_list_push(&counted->eps, &ep->link);
out:
	(void)pthread_mutex_unlock(&counted->lock);
	return err;
}

void wf_counted_detach(struct wf_domain *domain, struct wf_counted_ep *ep)
{
	struct wf_counted *counted = &domain->counted;

	(void)pthread_mutex_lock(&counted->lock);
	if (ep->item) {
		wf_list_remove(&ep->link);
		counted_leave_cntrs(counted, ep->item, &counted->cntrs);
		ep->item = NULL;
	}
	(void)pthread_mutex_unlock(&counted->lock);
}

bool wf_counted_may_sleep(struct wf_domain *domain)
{
	struct wf_counted *counted = &domain->counted;
	bool found = false;

	(void)pthread_mutex_lock(&counted->lock);
	wf_list_foreach(it, &counted->cntrs)
	{
		found = found || counted_cntr_of(it)->wait.obj != FI_WAIT_NONE;
	}
	(void)pthread_mutex_unlock(&counted->lock);
	return found;
}
