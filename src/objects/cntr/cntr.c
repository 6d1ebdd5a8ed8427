/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/cntr/cntr.h"
#include "objects/cntr/internal.h"
#include "sys/cancel.h"
#include "sys/clock.h"

static struct wf_cntr *cntr_of_fid(struct fid *fid)
{
	return wf_container_of(fid, struct wf_cntr, fid.fid);
}

/* acquire: pairs with the release in wf_cntr_add_n, so that the data that was counted
 * is visible. */
static uint64_t cntr_value_of(struct wf_cntr *cntr)
{
	return atomic_load_explicit(&cntr->value, memory_order_acquire);
}

static uint64_t cntr_err_of(struct wf_cntr *cntr)
{
	return atomic_load_explicit(&cntr->err, memory_order_acquire);
}

bool wf_cntr_changed(struct wf_cntr *cntr)
{
	return cntr_value_of(cntr) !=
		       atomic_load_explicit(&cntr->seen, memory_order_relaxed) ||
	       cntr_err_of(cntr) !=
		       atomic_load_explicit(&cntr->seen_err, memory_order_relaxed);
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);
	uint64_t value;

	wf_progress_list_run(&cntr->progress);
	value = cntr_value_of(cntr);
	if (atomic_load_explicit(&cntr->seen, memory_order_relaxed) == value &&
		wf_patience_ends(&cntr->patience))
		wf_give_way(&cntr->patience, (unsigned int)value,
			wf_progress_list_moved(&cntr->progress));
	atomic_store_explicit(&cntr->seen, value, memory_order_relaxed);
	return value;
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);
	uint64_t err;

	wf_progress_list_run(&cntr->progress);
	err = cntr_err_of(cntr);
	atomic_store_explicit(&cntr->seen_err, err, memory_order_relaxed);
	return err;
}

void wf_cntr_add_value(struct wf_cntr *cntr, uint64_t value)
{
	atomic_fetch_add_explicit(&cntr->value, value, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

void wf_cntr_set_value(struct wf_cntr *cntr, uint64_t value)
{
	atomic_store_explicit(&cntr->value, value, memory_order_seq_cst);
	wf_cntr_tell(cntr);
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);

	wf_cntr_add_value(cntr, value);
	wf_triggers_run(&cntr->domain->triggers);
	return 0;
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);

	atomic_fetch_add_explicit(&cntr->err, value, memory_order_seq_cst);
	wf_cntr_tell(cntr);
	wf_triggers_run(&cntr->domain->triggers);
	return 0;
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);

	wf_cntr_set_value(cntr, value);
	wf_triggers_run(&cntr->domain->triggers);
	return 0;
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);

	atomic_store_explicit(&cntr->err, value, memory_order_seq_cst);
	wf_cntr_tell(cntr);
	wf_triggers_run(&cntr->domain->triggers);
	return 0;
}

/* 0: the value has reached @threshold. -FI_EAVAIL: the error value differs from
 * @start_err, its value at the start of the wait. -FI_EAGAIN: wait on. */
static int cntr_check(struct wf_cntr *cntr, uint64_t threshold, uint64_t start_err)
{
	uint64_t value = cntr_value_of(cntr);

	if (value >= threshold) {
		atomic_store_explicit(&cntr->seen, value, memory_order_relaxed);
		return 0;
	}
	return cntr_err_of(cntr) != start_err ? -FI_EAVAIL : -FI_EAGAIN;
}

/* The time at which a sleep ends at the latest, in wf_now_ns time. An endpoint without
 * a wait object has no descriptor that reports messages. So a thread that waits for a
 * counter of a memory region, or for a counter that was bound to such an endpoint late,
 * wakes every 100 microseconds. */
static uint64_t cntr_sleep_until(const struct wf_cntr *cntr, uint64_t deadline_ns)
{
	enum { NAP_NS = 100000 };

	/* relaxed: a binding that happens meanwhile wakes no sleeper anyway. */
	return atomic_load_explicit(&cntr->counted.regions, memory_order_relaxed) ||
			       atomic_load_explicit(
				       &cntr->needs_polling, memory_order_relaxed)
		       ? WF_MIN(deadline_ns, wf_now_ns() + NAP_NS)
		       : deadline_ns;
}

/* fi_cntr_wait(3). A signal handler may interrupt the sleep but does not end the wait,
 * because fi_cntr_wait has no result for that. With FI_WAIT_NONE and FI_WAIT_SET the
 * loop makes progress without sleeping. */
static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout_ms)
{
	struct wf_cntr *cntr = wf_cntr_of(fid);
	uint64_t deadline_ns = wf_deadline_ns(timeout_ms);
	uint64_t start_err = cntr_err_of(cntr), ticket;
	int cancel_state = wf_cancel_off(), ret;
	bool expired;

	for (;;) {
		/* Before the check, so that the counter is checked after the
		 * deadline. */
		expired = wf_expired(deadline_ns);
		wf_progress_list_run(&cntr->progress);
		ticket = wf_wait_arm(&cntr->wait);
		ret = cntr_check(cntr, threshold, start_err);
		if (ret == -FI_EAGAIN && expired)
			ret = -FI_ETIMEDOUT;
		if (ret != -FI_EAGAIN)
			break;
		if (!wf_progress_list_arm(&cntr->progress))
			continue;
		wf_cancel_set(cancel_state);
		(void)wf_wait_sleep(
			&cntr->wait, ticket, cntr_sleep_until(cntr, deadline_ns));
		(void)wf_cancel_off();
	}
	wf_cancel_set(cancel_state);
	return ret;
}

static int cntr_close(struct fid *fid)
{
	struct wf_cntr *cntr = cntr_of_fid(fid);
	struct wf_domain *domain = cntr->domain;
	/* acquire: pairs with the release of the object that was unbound last. */
	int refs = atomic_load_explicit(&cntr->refs, memory_order_acquire);

	if (refs) {
		FI_INFO(domain->prov->fi, FI_LOG_CNTR,
			"counter not closed: bound to %d objects or waited for\n",
			refs);
		return -FI_EBUSY;
	}
	if (domain->prov->cntr_closing)
		domain->prov->cntr_closing(cntr);
	wf_fork_hook_remove(&cntr->fork_hook);
	wf_trigger_forget(cntr);
	wf_wait_done(&cntr->wait);
	wf_progress_list_done(&cntr->progress);
	free(cntr);
	wf_domain_unref(domain);
	return 0;
}

static int cntr_control(struct fid *fid, int command, void *arg)
{
	return wf_wait_control(&cntr_of_fid(fid)->wait, command, arg);
}

static struct fi_ops cntr_fid_ops =
	WF_FID_OPS(cntr_close, wf_absent_bind, cntr_control);

static struct fi_ops_cntr cntr_ops = {
	.size = sizeof(struct fi_ops_cntr),
	.read = cntr_read,
	.readerr = cntr_readerr,
	.add = cntr_add,
	.set = cntr_set,
	.wait = cntr_wait,
	.adderr = cntr_adderr,
	.seterr = cntr_seterr,
	.export_xpu = wf_absent_cntr_export_xpu,
};

int wf_cntr_refused(const struct wf_domain *domain, const char *why)
{
	FI_WARN(domain->prov->fi, FI_LOG_CNTR, "counter refused: %s\n", why);
	return -FI_EINVAL;
}

static int cntr_check_attr(const struct wf_domain *domain,
	const struct fi_cntr_attr *attr, const struct fi_peer_cntr_context *peer)
{
	if (!attr)
		return wf_cntr_refused(domain, "no attributes");
	if (attr->flags && attr->flags != FI_PEER)
		return wf_cntr_refused(domain, "flags are 0 or FI_PEER");
	if (attr->events != FI_CNTR_EVENTS_COMP && attr->events != FI_CNTR_EVENTS_BYTES)
		return wf_cntr_refused(domain, "completions or bytes can be counted");
	return attr->flags ? wf_cntr_check_owner(domain, peer) : 0;
}

static int cntr_init(struct wf_cntr *cntr, const struct fi_cntr_attr *attr)
{
	bool imported = cntr->owner != &cntr->self;
	int err;

	wf_progress_list_init(&cntr->progress, WF_LOCK_SPIN, &cntr->wait);
	wf_lock_set_gate(&cntr->progress.lock, cntr->domain->gate);
	err = wf_wait_init(
		&cntr->wait, imported ? FI_WAIT_NONE : attr->wait_obj, attr->wait_set);
	if (err) {
		FI_WARN(cntr->domain->prov->fi, FI_LOG_CNTR,
			"counter refused: wait object %d: %s\n", attr->wait_obj,
			fi_strerror(-err));
		goto err_progress;
	}
	if (wf_wait_needs_thread(&cntr->wait)) {
		err = wf_domain_need_thread(cntr->domain);
		if (err)
			goto err_wait;
	}
	return 0;

err_wait:
	wf_wait_done(&cntr->wait);
err_progress:
	wf_progress_list_done(&cntr->progress);
	return err;
}

int wf_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr,
	struct fid_cntr **ret_cntr, void *context)
{
	struct wf_domain *domain = wf_domain_of(fid);
	const struct fi_peer_cntr_context *peer = context;
	struct wf_cntr *cntr;
	int err;

	if (!ret_cntr)
		return -FI_EINVAL;
	err = cntr_check_attr(domain, attr, peer);
	if (err)
		return err;
	if (posix_memalign((void **)&cntr, WF_CACHELINE, sizeof(*cntr)))
		return -FI_ENOMEM;
	memset(cntr, 0, sizeof(*cntr));
	cntr->domain = domain;
	cntr->owner = attr->flags & FI_PEER ? peer->cntr : &cntr->self;
	cntr->events = attr->events;
	cntr->fid.fid.fclass = FI_CLASS_CNTR;
	/* The context of an import is gone after this call. */
	cntr->fid.fid.context = attr->flags & FI_PEER ? peer->cntr : context;
	cntr->fid.fid.ops = &cntr_fid_ops;
	cntr->fid.ops = attr->flags & FI_PEER ? &wf_cntr_imported_ops : &cntr_ops;
	atomic_init(&cntr->value, 0);
	atomic_init(&cntr->err, 0);
	atomic_init(&cntr->seen, 0);
	atomic_init(&cntr->seen_err, 0);
	atomic_init(&cntr->refs, 0);
	atomic_init(&cntr->has_work, false);
	atomic_init(&cntr->needs_polling, false);
	atomic_init(&cntr->watched, false);
	wf_list_init(&cntr->work);
	wf_list_init(&cntr->work_link);
	err = cntr_init(cntr, attr);
	if (err)
		goto err_free;
	err = wf_fork_hook_add(&cntr->fork_hook, wf_cntr_in_child);
	if (!err && domain->prov->cntr_opened)
		err = domain->prov->cntr_opened(cntr);
	if (err)
		goto err_init;
	wf_domain_ref(domain);
	wf_wait_attach(&cntr->wait, &cntr->fid.fid);
	*ret_cntr = &cntr->fid;
	return 0;

err_init:
	wf_fork_hook_remove(&cntr->fork_hook);
	wf_wait_done(&cntr->wait);
	wf_progress_list_done(&cntr->progress);
err_free:
	free(cntr);
	return err;
}
