/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/internal.h"
#include "objects/endpoint/scalable/scalable.h"

/*
 * An endpoint is run by the threads that read one of its completion queues or counters,
 * and by the domain's progress thread where there is one. Who reads what a context of a
 * scalable endpoint is bound to runs the scalable endpoint.
 */

enum { MAX_LISTS = 2 + WF_CNTR_COUNT };

static struct wf_ep *ep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct wf_ep, progress);
}

static void ep_run(struct wf_progress *item)
{
	struct wf_ep *ep = ep_of_item(item);
	struct wf_lock *lock = ep->srx_lock;

	if (!lock || lock->kind == WF_LOCK_NONE) {
		wf_ep_progress(ep);
		return;
	}
	/* Not waited for: a sleeper arms first, and arming does wait. */
	if (!wf_trylock(lock))
		return;
	wf_ep_progress(ep);
	wf_unlock(lock);
}

static int ep_wait_fd(struct wf_progress *item)
{
	struct wf_ep *ep = ep_of_item(item);
	int fd;

	wf_lock(&ep->lock);
	fd = ep->xfer->wait_fd(ep);
	wf_unlock(&ep->lock);
	return fd;
}

static bool ep_arm(struct wf_progress *item)
{
	struct wf_ep *ep = ep_of_item(item);
	bool quiet;

	wf_lock(&ep->lock);
	quiet = ep->xfer->arm(ep);
	wf_unlock(&ep->lock);
	return quiet;
}

void wf_ep_progress_init(struct wf_ep *ep)
{
	if (ep->xfer->item) {
		ep->progress = *ep->xfer->item;
		return;
	}
	ep->progress = (struct wf_progress){
		.run = ep_run,
		.wait_fd = ep->xfer->wait_fd ? ep_wait_fd : NULL,
		.arm = ep->xfer->arm ? ep_arm : NULL,
	};
}

uint64_t wf_ep_activity(const struct wf_ep *ep)
{
	const struct wf_cq *cq = ep->rx_cq ? ep->rx_cq : ep->tx_cq;
	uint64_t sum = cq ? wf_cq_ring_head(&cq->ring) : 0;

	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i])
			sum += atomic_load_explicit(
				&ep->cntr[i]->value, memory_order_relaxed);
	return sum;
}

static bool may_sleep_on(const struct wf_wait *wait)
{
	return wait->obj != FI_WAIT_NONE;
}

bool wf_ep_may_sleep(const struct wf_ep *ep)
{
	if (ep->domain->progress == FI_PROGRESS_AUTO || ep->domain->thread)
		return true;
	if ((ep->tx_cq && may_sleep_on(&ep->tx_cq->wait)) ||
		(ep->rx_cq && may_sleep_on(&ep->rx_cq->wait)))
		return true;
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i] && may_sleep_on(&ep->cntr[i]->wait))
			return true;
	return wf_counted_may_sleep(ep->domain);
}

static unsigned int bound_lists(struct wf_ep *ep, struct wf_progress_list **lists)
{
	unsigned int count = 0;

	if (ep->tx_cq)
		lists[count++] = &ep->tx_cq->progress;
	if (ep->rx_cq)
		lists[count++] = &ep->rx_cq->progress;
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i])
			lists[count++] = &ep->cntr[i]->progress;
	return count;
}

/* The owner of an imported receive context runs us, with its lock held. */
static bool is_run_by_owner(const struct wf_ep *ep, const struct wf_progress *item)
{
	return item == &ep->progress && ep->srx && !ep->srx_lock;
}

static int attach(struct wf_ep *ep, struct wf_progress *item)
{
	struct wf_progress_list *lists[MAX_LISTS];
	unsigned int count = bound_lists(ep, lists), added;
	int ret = 0;

	for (added = 0; added < count; added++) {
		ret = wf_progress_list_add(lists[added], item);
		if (ret)
			goto err_lists;
	}
	if (is_run_by_owner(ep, item))
		return 0;
	ret = wf_domain_progress_add(ep->domain, item);
	if (ret)
		goto err_lists;
	return 0;

err_lists:
	while (added--)
		wf_progress_list_del(lists[added], item);
	return ret;
}

static void detach(struct wf_ep *ep, struct wf_progress *item)
{
	struct wf_progress_list *lists[MAX_LISTS];
	unsigned int count = bound_lists(ep, lists);

	wf_domain_progress_del(ep->domain, item);
	while (count--)
		wf_progress_list_del(lists[count], item);
}

static struct wf_progress *item_of(struct wf_ep *ep)
{
	return ep->sep ? &ep->sep->core->progress : &ep->progress;
}

int wf_ep_progress_attach(struct wf_ep *ep)
{
	int ret = attach(ep, item_of(ep));

	if (ret)
		return ret;
	if (!is_run_by_owner(ep, item_of(ep))) {
		ret = wf_counted_attach(ep->domain, &ep->counted, item_of(ep));
		if (ret)
			goto err_lists;
	}
	if (!ep->transfer)
		return 0;
	ret = attach(ep, wf_transfer_progress(ep->transfer));
	if (ret)
		goto err_counted;
	return 0;

err_counted:
	wf_counted_detach(ep->domain, &ep->counted);
err_lists:
	detach(ep, item_of(ep));
	return ret;
}

void wf_ep_progress_detach(struct wf_ep *ep)
{
	if (!ep->enabled)
		return;
	wf_counted_detach(ep->domain, &ep->counted);
	detach(ep, item_of(ep));
	if (ep->transfer)
		detach(ep, wf_transfer_progress(ep->transfer));
	if (atomic_load_explicit(&ep->triggers, memory_order_acquire))
		detach(ep, &ep->domain->triggers.ready.progress);
}

int wf_ep_progress_reattach(struct wf_ep *ep)
{
	int ret = wf_ep_progress_attach(ep);

	if (!ret && atomic_load_explicit(&ep->triggers, memory_order_acquire))
		ret = attach(ep, &ep->domain->triggers.ready.progress);
	return ret;
}

int wf_ep_progress_triggers(struct wf_ep *ep)
{
	int ret = 0;

	/* acquire: pairs with the release below. */
	if (atomic_load_explicit(&ep->triggers, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&ep->control);
	if (!atomic_load_explicit(&ep->triggers, memory_order_relaxed)) {
		ret = attach(ep, &ep->domain->triggers.ready.progress);
		if (!ret)
			atomic_store_explicit(
				&ep->triggers, true, memory_order_release);
	}
	pthread_mutex_unlock(&ep->control);
	return ret;
}
