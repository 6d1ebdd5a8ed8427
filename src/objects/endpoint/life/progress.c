/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/life/progress.h"
#include "objects/endpoint/scalable/scalable.h"

/*
 * An endpoint is run by the threads that read one of its completion queues or counters,
 * and by the domain's progress thread where there is one. A thread that reads a queue
 * or counter of a context of a scalable endpoint runs the scalable endpoint.
 *
 * Where the endpoint's completions come through sources of its CQs (wf_cq.source),
 * those are run instead. A CQ and the domain run a source as long as the CQ is open, so
 * that here only counters are added.
 */

enum { MAX_LISTS = 2 + WF_CNTR_COUNT, MAX_ITEMS = 3 };

static struct wf_ep *life_progress_ep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct wf_ep, progress);
}

static void progress_ep_run(struct wf_progress *item)
{
	struct wf_ep *ep = life_progress_ep_of_item(item);
	struct wf_lock *lock = ep->srx_lock;

	wf_async_ran(&ep->async);
	if (!lock || lock->gate) {
		wf_ep_progress(ep);
		return;
	}
	/* No wait for the lock: a thread that is about to sleep calls arm() first, and
	 * arm() does wait. */
	if (!wf_trylock(lock))
		return;
	wf_ep_progress(ep);
	wf_unlock(lock);
}

static int progress_ep_wait_fd(struct wf_progress *item)
{
	struct wf_ep *ep = life_progress_ep_of_item(item);
	int fd;

	wf_lock(&ep->lock);
	fd = ep->xfer->wait_fd(ep);
	wf_unlock(&ep->lock);
	return fd;
}

static struct wf_fds *progress_ep_wait_fds(struct wf_progress *item)
{
	struct wf_ep *ep = life_progress_ep_of_item(item);

	return ep->xfer->wait_fds(ep);
}

static bool progress_ep_arm(struct wf_progress *item)
{
	struct wf_ep *ep = life_progress_ep_of_item(item);
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
		.run = progress_ep_run,
		.wait_fd = ep->xfer->wait_fd ? progress_ep_wait_fd : NULL,
		.wait_fds = ep->xfer->wait_fds ? progress_ep_wait_fds : NULL,
		.arm = ep->xfer->arm ? progress_ep_arm : NULL,
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

static bool progress_may_sleep_on(const struct wf_wait *wait)
{
	return wait->obj != FI_WAIT_NONE;
}

/* Does @is hold for the wait object of a queue or counter that is bound to @ep? */
static bool progress_any_wait(
	const struct wf_ep *ep, bool (*is)(const struct wf_wait *wait))
{
	if ((ep->tx_cq && is(&ep->tx_cq->wait)) || (ep->rx_cq && is(&ep->rx_cq->wait)))
		return true;
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i] && is(&ep->cntr[i]->wait))
			return true;
	return false;
}

bool wf_ep_may_sleep(const struct wf_ep *ep)
{
	return wf_domain_has_thread(ep->domain) ||
	       progress_any_wait(ep, progress_may_sleep_on) ||
	       wf_counted_may_sleep(ep->domain);
}

bool wf_ep_is_armed(const struct wf_ep *ep)
{
	return progress_any_wait(ep, wf_wait_is_armed);
}

static struct wf_progress *progress_source_of(const struct wf_cq *cq)
{
	return cq ? cq->source : NULL;
}

static bool progress_is_source(const struct wf_ep *ep, const struct wf_progress *item)
{
	return item == progress_source_of(ep->tx_cq) ||
	       item == progress_source_of(ep->rx_cq);
}

/* The bound queues and counters that do not run @item yet. */
static unsigned int progress_bound_lists(const struct wf_ep *ep,
	const struct wf_progress *item, struct wf_progress_list **lists)
{
	bool cqs = !progress_is_source(ep, item);
	unsigned int count = 0;

	if (ep->tx_cq && cqs)
		lists[count++] = &ep->tx_cq->progress;
	if (ep->rx_cq && cqs)
		lists[count++] = &ep->rx_cq->progress;
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		if (ep->cntr[i])
			lists[count++] = &ep->cntr[i]->progress;
	return count;
}

/* The owner of an imported receive context runs the endpoint, with its lock held. */
static bool progress_is_run_by_owner(
	const struct wf_ep *ep, const struct wf_progress *item)
{
	return item == &ep->progress && ep->srx && !ep->srx_lock;
}

static bool progress_is_run_by_domain(
	const struct wf_ep *ep, const struct wf_progress *item)
{
	return !progress_is_run_by_owner(ep, item) && !progress_is_source(ep, item);
}

static int progress_attach(struct wf_ep *ep, struct wf_progress *item)
{
	struct wf_progress_list *lists[MAX_LISTS];
	unsigned int count = progress_bound_lists(ep, item, lists), added;
	int ret = 0;

	for (added = 0; added < count; added++) {
		ret = wf_progress_list_add(lists[added], item);
		if (ret)
			goto err_lists;
	}
	if (progress_is_run_by_domain(ep, item))
		ret = wf_domain_progress_add(ep->domain, item);
	if (ret)
		goto err_lists;
	return 0;

err_lists:
	while (added--)
		wf_progress_list_del(lists[added], item);
	return ret;
}

static void progress_detach(struct wf_ep *ep, struct wf_progress *item)
{
	struct wf_progress_list *lists[MAX_LISTS];
	unsigned int count = progress_bound_lists(ep, item, lists);

	if (progress_is_run_by_domain(ep, item))
		wf_domain_progress_del(ep->domain, item);
	while (count--)
		wf_progress_list_del(lists[count], item);
}

/* List the items that make progress for the endpoint: its own, or its core's if it is a
 * context, and the sources of its CQs. Returns their number. */
static unsigned int progress_items_of(struct wf_ep *ep, struct wf_progress **items)
{
	struct wf_progress *tx = progress_source_of(ep->tx_cq),
			   *rx = progress_source_of(ep->rx_cq);
	unsigned int count = 0;

	if (!ep->xfer->run_by_cqs)
		items[count++] = ep->sep ? &ep->sep->core->progress : &ep->progress;
	if (rx)
		items[count++] = rx;
	if (tx && tx != rx)
		items[count++] = tx;
	return count;
}

void wf_ep_run(struct wf_ep *ep)
{
	struct wf_progress *items[MAX_ITEMS];
	unsigned int count = progress_items_of(ep, items);

	/* The lists that run items otherwise are inside the gate. */
	if (ep->domain->gate)
		wf_gate_enter(ep->domain->gate);
	for (unsigned int i = 0; i < count; i++)
		items[i]->run(items[i]);
	if (wf_transfer_owned(ep))
		wf_transfer_progress(ep->transfer)
			->run(wf_transfer_progress(ep->transfer));
	if (ep->coll_ops)
		ep->coll_ops->item(ep)->run(ep->coll_ops->item(ep));
	if (ep->domain->gate)
		wf_gate_leave(ep->domain->gate);
}

static void progress_detach_items(struct wf_ep *ep)
{
	struct wf_progress *items[MAX_ITEMS];
	unsigned int count = progress_items_of(ep, items);

	while (count--)
		progress_detach(ep, items[count]);
}

static int progress_attach_items(struct wf_ep *ep)
{
	struct wf_progress *items[MAX_ITEMS];
	unsigned int count = progress_items_of(ep, items), added;
	int ret;

	for (added = 0; added < count; added++) {
		ret = progress_attach(ep, items[added]);
		if (ret)
			goto err_items;
	}
	return 0;

err_items:
	while (added--)
		progress_detach(ep, items[added]);
	return ret;
}

/* Counters of regions run the endpoint's item, too, or, if it has none, the source of
 * its CQ, the receive CQ first. */
static int progress_attach_counted(struct wf_ep *ep)
{
	struct wf_progress *items[MAX_ITEMS];

	if (!progress_items_of(ep, items) || progress_is_run_by_owner(ep, items[0]))
		return 0;
	return wf_counted_attach(ep->domain, &ep->counted, items[0]);
}

int wf_ep_progress_attach(struct wf_ep *ep)
{
	int ret = progress_attach_items(ep);

	if (ret)
		return ret;
	ret = progress_attach_counted(ep);
	if (ret)
		goto err_items;
	if (wf_transfer_owned(ep))
		ret = progress_attach(ep, wf_transfer_progress(ep->transfer));
	if (ret)
		goto err_counted;
	if (ep->coll_ops)
		ret = progress_attach(ep, ep->coll_ops->item(ep));
	if (ret)
		goto err_transfer;
	return 0;

err_transfer:
	if (wf_transfer_owned(ep))
		progress_detach(ep, wf_transfer_progress(ep->transfer));
err_counted:
	wf_counted_detach(ep->domain, &ep->counted);
err_items:
	progress_detach_items(ep);
	return ret;
}

void wf_ep_progress_detach(struct wf_ep *ep)
{
	if (!ep->enabled)
		return;
	wf_counted_detach(ep->domain, &ep->counted);
	progress_detach_items(ep);
	if (ep->coll_ops)
		progress_detach(ep, ep->coll_ops->item(ep));
	if (wf_transfer_owned(ep))
		progress_detach(ep, wf_transfer_progress(ep->transfer));
	if (atomic_load_explicit(&ep->triggers, memory_order_acquire))
		progress_detach(ep, &ep->domain->triggers.ready.progress);
}

int wf_ep_progress_reattach(struct wf_ep *ep)
{
	int ret = wf_ep_progress_attach(ep);

	if (!ret && atomic_load_explicit(&ep->triggers, memory_order_acquire))
		ret = progress_attach(ep, &ep->domain->triggers.ready.progress);
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
		ret = progress_attach(ep, &ep->domain->triggers.ready.progress);
		if (!ret)
			atomic_store_explicit(
				&ep->triggers, true, memory_order_release);
	}
	pthread_mutex_unlock(&ep->control);
	return ret;
}
