/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/trigger/queue.h"

/* Take @work out of its counter's list. The lock of @ready is held. */
static void queue_end_wait(struct wf_work *work)
{
	struct wf_cntr *cntr = work->cntr;

	wf_list_remove(&work->link);
	work->waiting = false;
	if (wf_list_empty(&cntr->work)) {
		atomic_store(&cntr->has_work, false);
		wf_list_remove(&cntr->work_link);
	}
	/* release: the counter may be closed now. */
	atomic_fetch_sub_explicit(&cntr->refs, 1, memory_order_release);
}

/* FI_TRIGGER waits for successes, deferred work for successes and errors. Each number
 * is read once, so that all operations of the list are compared with the same value. */
void wf_trigger_fire(struct wf_cntr *cntr)
{
	struct wf_triggers *triggers = &cntr->domain->triggers;
	uint64_t successes, all;
	bool any = false;

	wf_lock(&triggers->ready.lock);
	successes = atomic_load(&cntr->value);
	if (__builtin_add_overflow(successes, atomic_load(&cntr->err), &all))
		all = UINT64_MAX;
	wf_list_foreach_safe(link, &cntr->work)
	{
		struct wf_work *work = wf_work_of(link);

		if (work->threshold > all)
			break;
		if (work->threshold > successes && !work->deferred)
			continue;
		queue_end_wait(work);
		wf_list_push(&triggers->ready.list, &work->link);
		any = true;
	}
	if (any)
		atomic_store(&triggers->ready.is_ready, true);
	wf_unlock(&triggers->ready.lock);
	if (any)
		wf_later_wake(&triggers->ready);
}

static bool queue_start(struct wf_later *ready, struct wf_list *link)
{
	(void)ready;
	return wf_work_of(link)->start(wf_work_of(link));
}

void wf_triggers_init(struct wf_triggers *triggers)
{
	wf_later_init(&triggers->ready, queue_start);
	(void)pthread_mutex_init(&triggers->control, NULL);
	wf_list_init(&triggers->cntrs);
}

void wf_triggers_done(struct wf_triggers *triggers)
{
	(void)pthread_mutex_destroy(&triggers->control);
	wf_later_done(&triggers->ready);
}

/* Add the progress item to the counter's list and to the domain's: from now on reading
 * the counter starts ready operations. */
static int queue_watch(struct wf_domain *domain, struct wf_cntr *cntr)
{
	struct wf_progress *item = &domain->triggers.ready.progress;
	int ret = 0;

	/* acquire: pairs with the release below. */
	if (atomic_load_explicit(&cntr->watched, memory_order_acquire))
		return 0;
	pthread_mutex_lock(&domain->triggers.control);
	if (atomic_load_explicit(&cntr->watched, memory_order_relaxed))
		goto out;
	ret = wf_progress_list_add(&cntr->progress, item);
	if (ret)
		goto out;
	ret = wf_domain_progress_add(domain, item);
	if (ret)
		wf_progress_list_del(&cntr->progress, item);
	else
		atomic_store_explicit(&cntr->watched, true, memory_order_release);
out:
	pthread_mutex_unlock(&domain->triggers.control);
	return ret;
}

void wf_trigger_forget(struct wf_cntr *cntr)
{
	struct wf_progress *item = &cntr->domain->triggers.ready.progress;

	if (!atomic_load_explicit(&cntr->watched, memory_order_acquire))
		return;
	wf_domain_progress_del(cntr->domain, item);
	wf_progress_list_del(&cntr->progress, item);
}

/* Insert by threshold; operations of the same threshold keep their order of arrival.
 * The search starts at the end, where most belong. */
static void queue_insert(struct wf_cntr *cntr, struct wf_work *work)
{
	struct wf_list *pos = cntr->work.prev;

	while (pos != &cntr->work && wf_work_of(pos)->threshold > work->threshold)
		pos = pos->prev;
	wf_list_insert_after(pos, &work->link);
}

int wf_trigger_wait(struct wf_domain *domain, struct wf_work *work)
{
	struct wf_triggers *triggers = &domain->triggers;
	struct wf_cntr *cntr = work->cntr;
	int ret = queue_watch(domain, cntr);

	if (ret)
		return ret;
	work->waiting = true;
	wf_lock(&triggers->ready.lock);
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
	if (wf_list_empty(&cntr->work))
		wf_list_push(&triggers->cntrs, &cntr->work_link);
	queue_insert(cntr, work);
	atomic_store(&cntr->has_work, true);
	wf_unlock(&triggers->ready.lock);
	wf_trigger_fire(cntr);
	wf_triggers_run(triggers);
	return 0;
}

struct wf_cntr *wf_trigger_cntr(struct wf_domain *domain, struct fid_cntr *fid)
{
	const char *why = NULL;

	if (!fid || fid->fid.fclass != FI_CLASS_CNTR)
		why = "no counter";
	else if (wf_cntr_of(fid)->domain != domain)
		why = "counter of another domain";
	else if (wf_cntr_of(fid)->owner != &wf_cntr_of(fid)->self)
		why = "counter of a peer, whose value is not known here";
	if (!why)
		return wf_cntr_of(fid);
	FI_WARN(domain->prov->fi, FI_LOG_CNTR, "work refused: %s\n", why);
	return NULL;
}

void wf_trigger_take(struct wf_triggers *triggers,
	bool (*wanted)(const struct wf_work *work, const void *arg), const void *arg,
	struct wf_list *ret_taken)
{
	wf_list_init(ret_taken);
	wf_lock(&triggers->ready.run_lock);
	wf_lock(&triggers->ready.lock);
	wf_list_foreach_safe(link, &triggers->ready.list)
	{
		if (!wanted(wf_work_of(link), arg))
			continue;
		wf_list_remove(link);
		wf_list_push(ret_taken, link);
	}
	wf_list_foreach_safe(at, &triggers->cntrs)
	{
		struct wf_cntr *cntr = wf_list_entry(at, struct wf_cntr, work_link);

		wf_list_foreach_safe(link, &cntr->work)
		{
			if (!wanted(wf_work_of(link), arg))
				continue;
			queue_end_wait(wf_work_of(link));
			wf_list_push(ret_taken, link);
		}
	}
	wf_unlock(&triggers->ready.lock);
	wf_unlock(&triggers->ready.run_lock);
}
