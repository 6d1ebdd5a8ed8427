/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/eventfd.h>

#include "objects/trigger/internal.h"

static struct wf_work *work_of(struct wf_list *link)
{
	return wf_container_of(link, struct wf_work, link);
}

/* @work no longer waits. lock held. */
static void end_wait(struct wf_work *work)
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

/* Whoever sleeps may have armed before there was ready work. */
static void wake(struct wf_triggers *triggers)
{
	const uint64_t one = 1;
	int fd = atomic_load(&triggers->fd);

	if (atomic_exchange(&triggers->armed, false) && fd >= 0)
		(void)!write(fd, &one, sizeof(one));
}

/* FI_TRIGGER waits for successes, deferred work for successes and errors. Both are
 * read once: what is due must not depend on the place in the list. */
void wf_trigger_fire(struct wf_cntr *cntr)
{
	struct wf_triggers *triggers = &cntr->domain->triggers;
	uint64_t successes, all;
	bool any = false;

	wf_lock(&triggers->lock);
	successes = atomic_load(&cntr->value);
	if (__builtin_add_overflow(successes, atomic_load(&cntr->err), &all))
		all = UINT64_MAX;
	wf_list_foreach_safe(link, &cntr->work)
	{
		struct wf_work *work = work_of(link);

		if (work->threshold > all)
			break;
		if (work->threshold > successes && !work->deferred)
			continue;
		end_wait(work);
		wf_list_push(&triggers->ready, &work->link);
		any = true;
	}
	if (any)
		atomic_store(&triggers->is_ready, true);
	wf_unlock(&triggers->lock);
	if (any)
		wake(triggers);
}

static struct wf_work *pop_ready(struct wf_triggers *triggers)
{
	struct wf_list *link;

	wf_lock(&triggers->lock);
	link = wf_list_pop(&triggers->ready);
	if (!link)
		atomic_store(&triggers->is_ready, false);
	wf_unlock(&triggers->lock);
	return link ? work_of(link) : NULL;
}

/* False: the first one cannot start now, and the others have to wait for it. */
static bool run_all(struct wf_triggers *triggers)
{
	struct wf_work *work;
	ssize_t ret;

	while ((work = pop_ready(triggers))) {
		ret = work->deferred ? wf_trigger_start_work(work)
				     : wf_trigger_start_op(work);
		if (ret != -FI_EAGAIN)
			continue;
		wf_lock(&triggers->lock);
		wf_list_insert_after(&triggers->ready, &work->link);
		wf_unlock(&triggers->lock);
		return false;
	}
	return true;
}

void wf_triggers_run_slow(struct wf_triggers *triggers)
{
	bool done;

	do {
		/* Whoever runs looks again after he let go: below. */
		if (!wf_trylock(&triggers->run_lock))
			return;
		done = run_all(triggers);
		wf_unlock(&triggers->run_lock);
		/* Full fence: who found the lock taken set is_ready before, and we
		 * see it. */
		atomic_thread_fence(memory_order_seq_cst);
	} while (done && atomic_load(&triggers->is_ready));
}

static struct wf_triggers *triggers_of(struct wf_progress *item)
{
	return wf_container_of(item, struct wf_triggers, progress);
}

static void triggers_run(struct wf_progress *item)
{
	wf_triggers_run(triggers_of(item));
}

static int triggers_wait_fd(struct wf_progress *item)
{
	struct wf_triggers *triggers = triggers_of(item);
	int none = -1, fd = atomic_load(&triggers->fd);

	if (fd >= 0)
		return fd;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (atomic_compare_exchange_strong(&triggers->fd, &none, fd))
		return fd;
	(void)close(fd); /* another list asked at the same time */
	return none;
}

/* Work that the transport refuses for now keeps everybody awake until it is started:
 * nobody can say what will let it pass. */
static bool triggers_arm(struct wf_progress *item)
{
	struct wf_triggers *triggers = triggers_of(item);
	uint64_t count;
	int fd = atomic_load(&triggers->fd);

	if (fd >= 0)
		(void)!read(fd, &count, sizeof(count));
	atomic_store(&triggers->armed, true);
	return !atomic_load(&triggers->is_ready);
}

int wf_triggers_init(struct wf_triggers *triggers)
{
	int ret = wf_lock_init(&triggers->lock, WF_LOCK_SPIN);

	if (ret)
		return ret;
	ret = wf_lock_init(&triggers->run_lock, WF_LOCK_MUTEX);
	if (ret) {
		wf_lock_done(&triggers->lock);
		return ret;
	}
	(void)pthread_mutex_init(&triggers->control, NULL);
	wf_list_init(&triggers->cntrs);
	wf_list_init(&triggers->ready);
	atomic_init(&triggers->is_ready, false);
	atomic_init(&triggers->armed, false);
	atomic_init(&triggers->fd, -1);
	triggers->progress = (struct wf_progress){
		.run = triggers_run,
		.wait_fd = triggers_wait_fd,
		.arm = triggers_arm,
	};
	return 0;
}

void wf_triggers_done(struct wf_triggers *triggers)
{
	int fd = atomic_load(&triggers->fd);

	if (fd >= 0)
		(void)close(fd);
	(void)pthread_mutex_destroy(&triggers->control);
	wf_lock_done(&triggers->run_lock);
	wf_lock_done(&triggers->lock);
}

/* Reading the counter starts work from now on. */
static int watch(struct wf_domain *domain, struct wf_cntr *cntr)
{
	struct wf_progress *item = &domain->triggers.progress;
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
	struct wf_progress *item = &cntr->domain->triggers.progress;

	if (!atomic_load_explicit(&cntr->watched, memory_order_acquire))
		return;
	wf_domain_progress_del(cntr->domain, item);
	wf_progress_list_del(&cntr->progress, item);
}

/* By threshold, and those of one threshold as they came: most come last. */
static void insert(struct wf_cntr *cntr, struct wf_work *work)
{
	struct wf_list *pos = cntr->work.prev;

	while (pos != &cntr->work && work_of(pos)->threshold > work->threshold)
		pos = pos->prev;
	wf_list_insert_after(pos, &work->link);
}

int wf_trigger_wait(struct wf_domain *domain, struct wf_work *work)
{
	struct wf_triggers *triggers = &domain->triggers;
	struct wf_cntr *cntr = work->cntr;
	int ret = watch(domain, cntr);

	if (!ret && work->ep)
		ret = wf_ep_progress_triggers(work->ep);
	if (ret)
		return ret;
	work->waiting = true;
	wf_lock(&triggers->lock);
	atomic_fetch_add_explicit(&cntr->refs, 1, memory_order_relaxed);
	if (wf_list_empty(&cntr->work))
		wf_list_push(&triggers->cntrs, &cntr->work_link);
	insert(cntr, work);
	atomic_store(&cntr->has_work, true);
	wf_unlock(&triggers->lock);
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
	wf_lock(&triggers->run_lock);
	wf_lock(&triggers->lock);
	wf_list_foreach_safe(link, &triggers->ready)
	{
		if (!wanted(work_of(link), arg))
			continue;
		wf_list_remove(link);
		wf_list_push(ret_taken, link);
	}
	wf_list_foreach_safe(at, &triggers->cntrs)
	{
		struct wf_cntr *cntr = wf_list_entry(at, struct wf_cntr, work_link);

		wf_list_foreach_safe(link, &cntr->work)
		{
			if (!wanted(work_of(link), arg))
				continue;
			end_wait(work_of(link));
			wf_list_push(ret_taken, link);
		}
	}
	wf_unlock(&triggers->lock);
	wf_unlock(&triggers->run_lock);
}

static bool is_of_ep(const struct wf_work *work, const void *ep)
{
	return work->ep == ep;
}

void wf_trigger_purge(struct wf_ep *ep)
{
	struct wf_list taken;

	if (!atomic_load_explicit(&ep->triggers, memory_order_acquire))
		return;
	wf_trigger_take(&ep->domain->triggers, is_of_ep, ep, &taken);
	wf_list_foreach_safe(link, &taken)
	{
		if (!work_of(link)->deferred)
			wf_trigger_free_op(work_of(link));
	}
}

void wf_trigger_failed(struct wf_ep *ep, const struct wf_op *op, int err)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];
	struct fi_cq_err_entry entry = {
		.op_context = op->context,
		.flags = report->comp_flags,
		.tag = op->kind == WF_OP_TRECV ? op->tag : 0,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	if (report->cntr == WF_CNTR_RECV)
		wf_ep_rx_err(ep, op->flags, &entry);
	else
		wf_ep_tx_err(ep, report->cntr, op->context, op->flags,
			report->comp_flags, 0, err);
}
