/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>

#include "core/init.h"
#include "core/log/log.h"
#include "core/mr_cache.h"

#define V FI_VERSION(2, 6)

static struct fi_provider tcp = { .name = "tcp" };

void wf_core_init(void)
{
}

static int try_open(uint32_t version, const char *name, size_t attr_len, uint64_t flags)
{
	struct fid *fid = NULL;
	int ret = fi_open(version, name, NULL, attr_len, flags, &fid, NULL);

	if (ret == 0)
		assert_int_equal(fi_close(fid), 0);
	else
		assert_null(fid);
	return ret;
}

/* PRV-044, PRV-045 */
static void names_and_refusals(void **state)
{
	struct fid *fid;
	int context;

	assert_int_equal(try_open(V, "logging", 0, 0), 0);
	assert_int_equal(try_open(V, "LogGing", 0, 0), 0);
	assert_int_equal(try_open(V, "MR_cache", 0, 0), 0);
	assert_int_equal(try_open(FI_VERSION(1, 13), "mr_cache", 0, 0), 0);
	assert_int_equal(try_open(FI_VERSION(1, 12), "mr_cache", 0, 0), -FI_EINVAL);
	assert_int_equal(try_open(V, "mr_caches", 0, 0), -FI_ENOSYS);
	assert_int_equal(try_open(V, "", 0, 0), -FI_ENOSYS);
	assert_int_equal(try_open(V, NULL, 0, 0), -FI_EINVAL);
	assert_int_equal(try_open(V, "logging", 0, 1), -FI_EBADFLAGS);
	assert_int_equal(try_open(V, "mr_cache", 0, 1), -FI_EBADFLAGS);
	assert_int_equal(try_open(V, "logging", 4, 0), -FI_EINVAL);
	assert_int_equal(fi_open(V, "logging", NULL, 0, 0, NULL, NULL), -FI_EINVAL);

	assert_int_equal(fi_open(V, "logging", NULL, 0, 0, &fid, &context), 0);
	assert_int_equal(fid->fclass, FI_CLASS_LOG);
	assert_ptr_equal(fid->context, &context);
	assert_int_equal(fi_control(fid, FI_DUP, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(fid), 0);
	assert_int_equal(fi_open(V, "mr_cache", NULL, 0, 0, &fid, &context), 0);
	assert_int_equal(fid->fclass, FI_CLASS_MR_CACHE);
	assert_ptr_equal(fid->context, &context);
	assert_int_equal(fi_close(fid), 0);
}

static char said[256];

static void say(char who, const struct fi_provider *prov, const char *msg)
{
	size_t len = strlen(said);

	(void)snprintf(
		said + len, sizeof(said) - len, "%c:%s:%s", who, prov->name, msg);
}

#define LOGGER(who)                                                                    \
	static void log_##who(const struct fi_provider *prov, enum fi_log_level level, \
		enum fi_log_subsys subsys, const char *func, int line,                 \
		const char *msg)                                                       \
	{                                                                              \
		say(*#who, prov, msg);                                                 \
	}
LOGGER(a)
LOGGER(b)

static uint64_t seen_flags;
static int enabled_answer, ready_calls;

static int enabled_a(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	seen_flags = flags;
	return enabled_answer;
}

static int ready_a(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	ready_calls++;
	return 1;
}

/* PRV-046, PRV-047 */
static void logging_import_and_close(void **state)
{
	struct fi_ops_log ops_a = {
		.enabled = enabled_a, .ready = ready_a, .log = log_a
	};
	struct fi_ops_log ops_b = { .log = log_b };
	struct fid_logging a = { .ops = &ops_a }, b = { .ops = &ops_b };
	uint64_t showtime = UINT64_MAX;

	said[0] = '\0';
	assert_false(fi_log_enabled(&tcp, FI_LOG_WARN, FI_LOG_CQ));
	assert_int_equal(fi_import_log(V, 0, &a), 0);
	enabled_answer = 1;
	FI_WARN(&tcp, FI_LOG_CQ, "x%d", 1);
	enabled_answer = 0;
	FI_WARN(&tcp, FI_LOG_CQ, "x%d", 2);
	assert_string_equal(said, "a:tcp:x1");
	assert_int_equal(seen_flags, 0);
	assert_true(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &showtime));
	assert_int_equal(ready_calls, 1);

	/* The last import wins; closing the one it replaced changes nothing. NULL
	 * callbacks are the default ones: silent without FI_LOG_LEVEL. */
	assert_int_equal(fi_import_log(V, 0, &b), 0);
	FI_WARN(&tcp, FI_LOG_CQ, "x%d", 3);
	assert_false(fi_log_ready(&tcp, FI_LOG_WARN, FI_LOG_CQ, &(uint64_t){ 0 }));
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "x%d", 4);
	assert_int_equal(fi_close(&a.fid), 0);
	fi_log(&tcp, FI_LOG_WARN, FI_LOG_CQ, "fn", 1, "x%d", 5);
	assert_string_equal(said, "a:tcp:x1b:tcp:x4b:tcp:x5");

	assert_int_equal(fi_close(&b.fid), 0);
	enabled_answer = 1;
	assert_false(fi_log_enabled(&tcp, FI_LOG_WARN, FI_LOG_CQ));
	FI_WARN(&tcp, FI_LOG_CQ, "x%d", 6);
	assert_string_equal(said, "a:tcp:x1b:tcp:x4b:tcp:x5");
}

/* PRV-041, PRV-046: a provider that FI_LOG_PROV rules out is marked as such. */
static void filtered_providers_are_marked(void **state)
{
	struct fi_ops_log ops = { .enabled = enabled_a };
	struct fid_logging log = { .ops = &ops };

	assert_int_equal(setenv("FI_LOG_PROV", "^tcp", 1), 0);
	wf_log_reset();
	assert_int_equal(fi_import_log(V, 0, &log), 0);
	assert_true(fi_log_enabled(&tcp, FI_LOG_WARN, FI_LOG_CQ));
	assert_int_equal(seen_flags, FI_LOG_PROV_FILTERED);
	assert_true(fi_log_enabled(&wf_core_prov, FI_LOG_WARN, FI_LOG_CQ));
	assert_int_equal(seen_flags, 0);
	assert_int_equal(fi_close(&log.fid), 0);
	assert_int_equal(unsetenv("FI_LOG_PROV"), 0);
	wf_log_reset();
}

/* PRV-046 */
static void logging_refusals(void **state)
{
	struct fi_ops_log ops = { .size = sizeof(ops) - 1 };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	struct fid *fid;

	assert_int_equal(
		fi_import(V, "logging", NULL, 0, 0, &log.fid, NULL), -FI_EINVAL);
	ops.size = sizeof(ops);
	log.fid.fclass = FI_CLASS_EP;
	assert_int_equal(
		fi_import(V, "logging", NULL, 0, 0, &log.fid, NULL), -FI_EINVAL);
	log.fid.fclass = FI_CLASS_LOG;
	assert_int_equal(
		fi_import(V, "logging", NULL, 0, 1, &log.fid, NULL), -FI_EBADFLAGS);
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &log.fid, NULL), -FI_EINVAL);
	assert_int_equal(fi_open(V, "logging", NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(fi_import_fid(fid, &log.fid, 1), -FI_EINVAL);
	assert_int_equal(fi_import_fid(fid, NULL, 0), -FI_EINVAL);
	log.ops = NULL;
	assert_int_equal(fi_import_fid(fid, &log.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(fid), 0);
}

static int started, stopped, start_answer;

static int mon_start(struct fid_mem_monitor *monitor)
{
	started++;
	/* Allowed as soon as it runs. */
	monitor->import_ops->notify(monitor, monitor, 8);
	return start_answer;
}

static void mon_stop(struct fid_mem_monitor *monitor)
{
	stopped++;
}

static int subscribed, unsubscribed;
static bool is_valid = true;

static int mon_subscribe(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	subscribed++;
	return len == 1 ? -FI_EINVAL : 0;
}

static void mon_unsubscribe(
	struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	unsubscribed++;
}

static bool mon_valid(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	return is_valid;
}

static struct wf_mem_monitor_ops *cache_ops(void)
{
	struct wf_mem_monitor_ops *ops = NULL;
	struct fid *fid;

	assert_int_equal(fi_open(V, "mr_cache", NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(
		fi_open_ops(fid, "another", 0, (void **)&ops, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(fid, WF_MEM_MONITOR, 0, (void **)&ops, NULL), 0);
	assert_int_equal(fi_close(fid), 0);
	assert_int_equal(ops->size, sizeof(*ops));
	/* FI_MR_CACHE_MAX_COUNT is not set: fi_mr(3). */
	assert_int_equal(ops->max_count(), 1024);
	return ops;
}

/* What caches learn of the application's monitor. MR-052 */
static void caches_and_the_monitor(void **state)
{
	const struct wf_mem_monitor_ops *ops = cache_ops();
	struct fi_ops_mem_monitor own = { sizeof(own), mon_start, mon_stop,
		mon_subscribe, mon_unsubscribe, mon_valid };
	struct fid_mem_monitor monitor = { .fid.fclass = FI_CLASS_MEM_MONITOR,
		.export_ops = &own };
	struct wf_mem_range range;
	uint64_t pos, era;

	assert_int_equal(setenv("FI_MR_CACHE_MONITOR", "disabled", 1), 0);
	assert_int_equal(ops->start(), -FI_ENOSYS);
	assert_int_equal(setenv("FI_MR_CACHE_MONITOR", "memhooks", 1), 0);
	assert_int_equal(ops->start(), -FI_ENOSYS);
	assert_int_equal(fi_import(V, "mr_cache", NULL, 0, 0, &monitor.fid, NULL), 0);
	assert_int_equal(setenv("FI_MR_CACHE_MAX_COUNT", "0", 1), 0);
	assert_int_equal(ops->start(), -FI_ENOSYS);
	assert_int_equal(setenv("FI_MR_CACHE_MAX_COUNT", "17", 1), 0);
	assert_int_equal(setenv("FI_MR_CACHE_MAX_SIZE", "65536", 1), 0);
	assert_int_equal(ops->start(), 0);
	assert_int_equal(ops->max_count(), 17);
	assert_int_equal(ops->max_size(), 65536);

	pos = ops->now();
	assert_int_equal(ops->subscribe(&range, 1, &era), -FI_EINVAL);
	assert_int_equal(ops->subscribe(&range, 8, &era), 0);
	assert_int_equal(subscribed, 2);
	assert_true(ops->valid(&range, 8, era));
	is_valid = false;
	assert_false(ops->valid(&range, 8, era));
	is_valid = true;
	assert_false(ops->next(&pos, &range));
	monitor.import_ops->notify(&monitor, (void *)4096, SIZE_MAX);
	assert_true(ops->next(&pos, &range));
	assert_int_equal(range.start, 4096);
	assert_int_equal(range.end, UINTPTR_MAX);
	ops->unsubscribe(&range, 8, era);
	assert_int_equal(unsubscribed, 1);

	/* The next monitor has not seen what was subscribed with this one. */
	assert_int_equal(ops->subscribe(&range, 8, &era), 0);
	assert_int_equal(fi_close(&monitor.fid), 0);
	assert_true(ops->next(&pos, &range));
	assert_int_equal(range.start, 0);
	assert_int_equal(range.end, UINTPTR_MAX);
	assert_false(ops->valid(&range, 8, era));
	ops->unsubscribe(&range, 8, era);
	assert_int_equal(unsubscribed, 1);
	assert_int_equal(ops->subscribe(&range, 8, &era), -FI_ENOSYS);
	ops->stop();
	assert_int_equal(unsetenv("FI_MR_CACHE_MONITOR"), 0);
	assert_int_equal(unsetenv("FI_MR_CACHE_MAX_COUNT"), 0);
	assert_int_equal(unsetenv("FI_MR_CACHE_MAX_SIZE"), 0);
}

/* PRV-048, PRV-049 */
static void memory_monitor(void **state)
{
	struct fi_ops_mem_monitor ops = { sizeof(ops), mon_start, mon_stop,
		mon_subscribe, mon_unsubscribe, mon_valid };
	struct fid_mem_monitor one = { .fid.fclass = FI_CLASS_MEM_MONITOR,
		.export_ops = &ops };
	struct fid_mem_monitor two = one;
	uint64_t notified = wf_mr_cache_ops.now();

	started = stopped = 0;
	assert_int_equal(fi_import(V, "mr_cache", NULL, 0, 0, &one.fid, NULL), 0);
	assert_int_equal(started, 1);
	assert_non_null(one.import_ops);
	assert_int_equal(one.import_ops->size, sizeof(struct fi_ops_mem_notify));
	one.import_ops->notify(&one, &ops, sizeof(ops));
	/* Both, and that this monitor sees what happens from now on. */
	assert_int_equal(wf_mr_cache_ops.now(), notified + 3);
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &two.fid, NULL), -FI_EBUSY);
	assert_int_equal(started, 1);
	assert_int_equal(stopped, 0);
	assert_int_equal(fi_close(&one.fid), 0);
	assert_int_equal(stopped, 1);
	assert_int_equal(fi_close(&one.fid), -FI_EINVAL);
	assert_int_equal(stopped, 1);

	start_answer = -FI_ENOSPC;
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &two.fid, NULL), -FI_ENOSPC);
	start_answer = 0;
	assert_int_equal(fi_import(V, "mr_cache", NULL, 0, 0, &two.fid, NULL), 0);
	assert_int_equal(fi_close(&two.fid), 0);

	ops.valid = NULL;
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &one.fid, NULL), -FI_EINVAL);
	ops.valid = mon_valid;
	ops.size--;
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &one.fid, NULL), -FI_EINVAL);
	one.fid.fclass = FI_CLASS_LOG;
	assert_int_equal(
		fi_import(V, "mr_cache", NULL, 0, 0, &one.fid, NULL), -FI_EINVAL);
}

static int setup(void **state)
{
	return unsetenv("FI_LOG_LEVEL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_refusals),
		cmocka_unit_test(logging_import_and_close),
		cmocka_unit_test(filtered_providers_are_marked),
		cmocka_unit_test(logging_refusals),
		cmocka_unit_test(caches_and_the_monitor),
		cmocka_unit_test(memory_monitor),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
