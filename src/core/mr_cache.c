/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/mr_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <rdma/fi_errno.h>

#include "core/log/log.h"
#include "core/refuse.h"
#include "sys/compiler.h"

/*
 * The builtin providers access memory with the CPU, keep no registrations beyond the
 * application's own and so have no cache that a changed mapping could make stale. The
 * monitor is started and stopped as it expects; no memory is subscribed, and its
 * notifications are counted and ignored.
 *
 * One monitor at a time. It is set before start() and cleared after stop(), so that
 * neither runs under the lock: both may call back.
 */

static pthread_mutex_t monitor_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fid_mem_monitor *current; /* monitor_lock */
static atomic_uint_fast64_t notified;

static void cache_notify(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	(void)monitor;
	(void)addr;
	(void)len;
	/* relaxed: a statistic. */
	atomic_fetch_add_explicit(&notified, 1, memory_order_relaxed);
}

uint64_t wf_mr_cache_notified(void)
{
	return atomic_load_explicit(&notified, memory_order_relaxed);
}

static int monitor_replace(struct fid_mem_monitor *from, struct fid_mem_monitor *to)
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

static int monitor_is_current(struct fid_mem_monitor *monitor)
{
	return monitor_replace(monitor, monitor) == 0;
}

static int monitor_close(struct fid *fid)
{
	struct fid_mem_monitor *monitor =
		wf_container_of(fid, struct fid_mem_monitor, fid);

	if (!monitor_is_current(monitor))
		return -FI_EINVAL;
	monitor->export_ops->stop(monitor);
	/* import_ops stays valid: a late notification from another thread of the
	 * monitor does no harm. */
	return monitor_replace(monitor, NULL);
}

/* In the application's structs these pointers are not const. */
static struct fi_ops monitor_fid_ops = WF_REFUSE_FID_OPS(monitor_close);

static struct fi_ops_mem_notify notify_ops = {
	.size = sizeof(struct fi_ops_mem_notify),
	.notify = cache_notify,
};

static int check_ops(const struct fi_ops_mem_monitor *ops)
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

	ret = check_ops(monitor->export_ops);
	if (ret)
		return ret;
	ret = monitor_replace(NULL, monitor);
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
		(void)monitor_replace(monitor, NULL);
	}
	return ret;
}
