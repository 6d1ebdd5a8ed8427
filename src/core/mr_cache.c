/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/mr_cache.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <strings.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "core/log/log.h"
#include "core/refuse.h"
#include "sys/compiler.h"
#include "sys/uffd.h"

/*
 * The memory monitor of the process: the application's own, or a watch of the library.
 *
 * There is one monitor at a time. The application's monitor is set before
 * mr_cache_start() and cleared after mr_cache_stop(), so that neither runs under the
 * lock, because both may call the library. Its other functions run with the lock held;
 * they may call notify, which does not take the lock.
 */

static pthread_mutex_t monitor_lock = PTHREAD_MUTEX_INITIALIZER;
/* Guarded by monitor_lock. */
static struct fid_mem_monitor *current; /* the application's; NULL: none */
static bool ready;                      /* @current was started */
static struct wf_uffd *uffd;            /* NULL: not open */
static unsigned int users;              /* number of caches that use the monitor */
/* Increases with each change of the monitor. */
static uint64_t era;

static struct wf_mem_changes changes = WF_MEM_CHANGES_INIT;

static void mr_cache_notify(
	struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	const uintptr_t start = (uintptr_t)addr;

	(void)monitor;
	wf_mem_changes_add(&changes,
		(struct wf_mem_range){
			.start = start,
			.end = len > UINTPTR_MAX - start ? UINTPTR_MAX : start + len,
		});
}

/* Another monitor is used from now on: begin a new era, in which earlier subscriptions
 * are void. monitor_lock is held. */
static void mr_cache_change_era(bool is_ready)
{
	ready = is_ready;
	era++;
	wf_mem_changes_add(&changes, WF_MEM_ALL);
}

static int mr_cache_monitor_replace(
	struct fid_mem_monitor *from, struct fid_mem_monitor *to)
{
	int ret = -FI_EBUSY;

	(void)pthread_mutex_lock(&monitor_lock);
	if (current == from) {
		current = to;
		ret = 0;
	}
	(void)pthread_mutex_unlock(&monitor_lock);
	return ret;
}

/* -FI_EINVAL: @monitor is not the current one. */
static int mr_cache_set_ready(const struct fid_mem_monitor *monitor, bool is_ready)
{
	int ret = -FI_EINVAL;

	(void)pthread_mutex_lock(&monitor_lock);
	if (current == monitor) {
		mr_cache_change_era(is_ready);
		ret = 0;
	}
	(void)pthread_mutex_unlock(&monitor_lock);
	return ret;
}

static int mr_cache_monitor_close(struct fid *fid)
{
	struct fid_mem_monitor *monitor =
		wf_container_of(fid, struct fid_mem_monitor, fid);
	int ret = mr_cache_set_ready(monitor, false);

	if (ret)
		return ret;
	monitor->export_ops->stop(monitor);
	/* import_ops stays valid: a late notification from another thread of the
	 * monitor does no harm. */
	return mr_cache_monitor_replace(monitor, NULL);
}

/* In the application's structs these pointers are not const. */
static struct fi_ops monitor_fid_ops = WF_REFUSE_FID_OPS(mr_cache_monitor_close);

static struct fi_ops_mem_notify notify_ops = {
	.size = sizeof(struct fi_ops_mem_notify),
	.notify = mr_cache_notify,
};

static int mr_cache_check_ops(const struct fi_ops_mem_monitor *ops)
{
	if (ops && ops->size >= sizeof(*ops) && ops->start && ops->stop &&
		ops->subscribe && ops->unsubscribe && ops->valid)
		return 0;
	FI_WARN(&wf_core_prov, FI_LOG_MR,
		"memory monitor refused: export_ops must be complete\n");
	return -FI_EINVAL;
}

int wf_mr_cache_import(struct fid_mem_monitor *monitor)
{
	struct fi_ops *own_ops = monitor->fid.ops;
	int ret;

	ret = mr_cache_check_ops(monitor->export_ops);
	if (ret)
		return ret;
	ret = mr_cache_monitor_replace(NULL, monitor);
	if (ret) {
		FI_WARN(&wf_core_prov, FI_LOG_MR,
			"memory monitor refused: another one is installed\n");
		return ret;
	}
	monitor->import_ops = &notify_ops;
	monitor->fid.ops = &monitor_fid_ops;
	ret = monitor->export_ops->start(monitor);
	if (ret) {
		FI_WARN(&wf_core_prov, FI_LOG_MR, "memory monitor did not start: %s\n",
			fi_strerror(ret));
		monitor->fid.ops = own_ops;
		(void)mr_cache_monitor_replace(monitor, NULL);
		return ret;
	}
	return mr_cache_set_ready(monitor, true);
}

/* ---- for caches ---- */

static size_t mr_cache_size_param(const char *name, size_t value)
{
	(void)fi_param_get(NULL, name, &value);
	return value;
}

static size_t core_mr_cache_max_count(void)
{
	return mr_cache_size_param("mr_cache_max_count", 1024);
}

static size_t core_mr_cache_max_size(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	size_t all = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;

	return mr_cache_size_param(
		"mr_cache_max_size", all / (cores > 0 ? (size_t)cores : 1) / 2);
}

/* Does the user want the library's own monitor? */
static bool mr_cache_wants_uffd(void)
{
	char *name = NULL;

	if (fi_param_get_str(NULL, "mr_cache_monitor", &name) || !name)
		return true;
	if (!strcasecmp(name, "userfaultfd"))
		return true;
	if (strcasecmp(name, "disabled"))
		FI_WARN(&wf_core_prov, FI_LOG_MR,
			"FI_MR_CACHE_MONITOR: asked %s, possible userfaultfd, "
			"disabled; registrations are not cached\n",
			name);
	return false;
}

/* monitor_lock is held. */
static int mr_cache_open_uffd(void)
{
	int ret;

	if (uffd)
		return 0;
	if (!mr_cache_wants_uffd())
		return -FI_ENOSYS;
	ret = wf_uffd_open(&changes, &uffd);
	if (!ret)
		return 0;
	uffd = NULL;
	FI_INFO(&wf_core_prov, FI_LOG_MR,
		"userfaultfd: %s; registrations are not cached\n", fi_strerror(-ret));
	return -FI_ENOSYS;
}

static int mr_cache_start(void)
{
	int ret = core_mr_cache_max_count() ? 0 : -FI_ENOSYS;

	(void)pthread_mutex_lock(&monitor_lock);
	if (!ret && !ready)
		ret = mr_cache_open_uffd();
	users += !ret;
	(void)pthread_mutex_unlock(&monitor_lock);
	return ret;
}

static void mr_cache_stop(void)
{
	struct wf_uffd *unused = NULL;

	(void)pthread_mutex_lock(&monitor_lock);
	if (!--users) {
		unused = uffd;
		uffd = NULL;
	}
	(void)pthread_mutex_unlock(&monitor_lock);
	wf_uffd_close(unused);
}

static int mr_cache_subscribe(const void *addr, size_t len, uint64_t *ret_era)
{
	int ret;

	(void)pthread_mutex_lock(&monitor_lock);
	*ret_era = era;
	if (ready)
		ret = current->export_ops->subscribe(current, addr, len);
	else if (!(ret = mr_cache_open_uffd()))
		ret = wf_uffd_watch(uffd, addr, len);
	(void)pthread_mutex_unlock(&monitor_lock);
	return ret;
}

static void mr_cache_unsubscribe(const void *addr, size_t len, uint64_t subscribed)
{
	(void)pthread_mutex_lock(&monitor_lock);
	/* userfaultfd goes on: other regions may be in the same pages. */
	if (ready && subscribed == era)
		current->export_ops->unsubscribe(current, addr, len);
	(void)pthread_mutex_unlock(&monitor_lock);
}

static bool mr_cache_valid(const void *addr, size_t len, uint64_t subscribed)
{
	bool is_valid;

	(void)pthread_mutex_lock(&monitor_lock);
	is_valid = subscribed == era &&
		   (!ready || current->export_ops->valid(current, addr, len));
	(void)pthread_mutex_unlock(&monitor_lock);
	return is_valid;
}

static uint64_t mr_cache_now(void)
{
	return wf_mem_changes_now(&changes);
}

static bool mr_cache_next(uint64_t *pos, struct wf_mem_range *ret_range)
{
	return wf_mem_changes_next(&changes, pos, ret_range);
}

struct wf_mem_monitor_ops wf_mr_cache_ops = {
	.size = sizeof(struct wf_mem_monitor_ops),
	.start = mr_cache_start,
	.stop = mr_cache_stop,
	.max_count = core_mr_cache_max_count,
	.max_size = core_mr_cache_max_size,
	.subscribe = mr_cache_subscribe,
	.unsubscribe = mr_cache_unsubscribe,
	.valid = mr_cache_valid,
	.now = mr_cache_now,
	.next = mr_cache_next,
};
