/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <rdma/fi_ext.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "providers/verbs/mr/cache.h"

/* Registrations that outlive their regions. MR-052, MR-054 */

enum { ROOM = 64 };

static struct ibv_mr regs[ROOM];
static unsigned int reg_count, live;
static int refuse_above = ROOM; /* registrations that the system has room for */

static struct ibv_mr *count_reg_mr(
	struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = &regs[reg_count % ROOM];

	(void)pd;
	if ((int)live >= refuse_above) {
		errno = ENOMEM;
		return NULL;
	}
	*mr = (struct ibv_mr){ .addr = addr,
		.length = length,
		.lkey = 100 + reg_count,
		.rkey = (uint32_t)access };
	reg_count++;
	live++;
	return mr;
}

static int count_dereg_mr(struct ibv_mr *mr)
{
	assert_true(mr >= regs && mr < regs + ROOM);
	live--;
	return 0;
}

/* What the application's monitor saw. */
static unsigned int watched;
static int started;
static bool is_valid;
static struct fid_mem_monitor monitor;

static int mon_start(struct fid_mem_monitor *own)
{
	(void)own;
	started++;
	return 0;
}

static void mon_stop(struct fid_mem_monitor *own)
{
	(void)own;
	started--;
}

static int mon_subscribe(struct fid_mem_monitor *own, const void *addr, size_t len)
{
	(void)own;
	(void)addr;
	/* Memory that it cannot watch. */
	if (len == 77)
		return -FI_EINVAL;
	watched++;
	return 0;
}

static void mon_unsubscribe(struct fid_mem_monitor *own, const void *addr, size_t len)
{
	(void)own;
	(void)addr;
	(void)len;
	watched--;
}

static bool mon_valid(struct fid_mem_monitor *own, const void *addr, size_t len)
{
	(void)own;
	(void)addr;
	(void)len;
	return is_valid;
}

static struct fi_ops_mem_monitor monitor_ops = { sizeof(monitor_ops), mon_start,
	mon_stop, mon_subscribe, mon_unsubscribe, mon_valid };

static struct fid_mr *reg(struct env *env, void *buf, size_t len, uint64_t access)
{
	struct fid_mr *mr;

	assert_int_equal(
		fi_mr_reg(env->domain, buf, len, access, 0, 0, 0, &mr, NULL), 0);
	return mr;
}

static uint32_t lkey(struct fid_mr *mr)
{
	return verbs_lkey(fi_mr_desc(mr));
}

/* Register, close, and return the local key. */
static uint32_t use(struct env *env, void *buf, size_t len, uint64_t access)
{
	struct fid_mr *mr = reg(env, buf, len, access);
	uint32_t key = lkey(mr);

	assert_int_equal(fi_close(&mr->fid), 0);
	return key;
}

static void open_with_monitor(struct env *env)
{
	monitor = (struct fid_mem_monitor){ .fid.fclass = FI_CLASS_MEM_MONITOR,
		.export_ops = &monitor_ops };
	is_valid = true;
	assert_int_equal(
		fi_import(FI_VERSION(2, 0), "mr_cache", NULL, 0, 0, &monitor.fid, NULL),
		0);
	if (open_env(env, FI_EP_MSG, 0, false))
		return;
	assert_int_equal(fi_close(&monitor.fid), 0);
	skip();
}

static void close_with_monitor(struct env *env)
{
	close_env(env);
	assert_int_equal(live, 0);
	assert_int_equal(watched, 0);
	assert_int_equal(started, 1);
	assert_int_equal(fi_close(&monitor.fid), 0);
	assert_int_equal(started, 0);
}

/* In the middle of memory, so that there is some before it. */
static char memory[8192], *const buf = memory + 4096;

static void test_kept(void **state)
{
	struct fid_mr *a, *b;
	struct env env;
	unsigned int base;
	uint32_t key;

	(void)state;
	open_with_monitor(&env);
	base = live;
	key = use(&env, buf, 1024, FI_SEND);
	assert_int_equal(live, base + 1);
	/* The same, a part of it, and two at a time. */
	assert_int_equal(use(&env, buf, 1024, FI_SEND), key);
	a = reg(&env, buf + 1000, 24, FI_SEND);
	b = reg(&env, buf, 1, FI_WRITE);
	assert_int_equal(lkey(a), key);
	assert_int_equal(lkey(b), key);
	assert_int_equal(fi_mr_key(a), FI_KEY_NOTAVAIL);
	assert_int_equal(fi_close(&a->fid), 0);
	/* More than it, memory before it, and another access. */
	assert_int_not_equal(use(&env, buf + 1000, 25, FI_SEND), key);
	assert_int_not_equal(use(&env, buf, 1024, FI_RECV), key);
	assert_int_equal(live, base + 3);
	assert_int_equal(fi_close(&b->fid), 0);
	assert_int_equal(live, base + 3);
	/* What peers may access ends with its region. */
	(void)use(&env, buf, 1024, FI_REMOTE_READ);
	(void)use(&env, buf, 1024, FI_REMOTE_WRITE);
	assert_int_equal(live, base + 3);
	/* So does what cannot be watched. */
	key = use(&env, buf + 2000, 77, FI_SEND);
	assert_int_equal(live, base + 3);
	assert_int_not_equal(use(&env, buf + 2000, 77, FI_SEND), key);
	close_with_monitor(&env);
}

static void notify(void *addr, size_t len)
{
	monitor.import_ops->notify(&monitor, addr, len);
}

static void test_changes(void **state)
{
	struct env env;
	struct fid_mr *mr;
	unsigned int base;
	uint32_t key;

	(void)state;
	open_with_monitor(&env);
	base = live;
	key = use(&env, buf, 1024, FI_SEND);
	notify(buf + 1024, 8);
	notify(buf - 8, 8);
	assert_int_equal(use(&env, buf, 1024, FI_SEND), key);
	notify(buf + 1023, 1);
	assert_int_not_equal(use(&env, buf, 1024, FI_SEND), key);
	assert_int_equal(live, base + 1);
	/* A region in use keeps its registration. */
	mr = reg(&env, buf, 1024, FI_SEND);
	key = lkey(mr);
	notify(buf - 100, 101);
	assert_int_not_equal(use(&env, buf, 1024, FI_SEND), key);
	assert_int_equal(live, base + 2);
	assert_int_equal(lkey(mr), key);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(live, base + 1);
	/* More changes than the log holds. */
	key = use(&env, buf, 1024, FI_SEND);
	for (int i = 0; i <= WF_MEM_CHANGES; i++)
		notify((void *)(uintptr_t)8, 8);
	assert_int_not_equal(use(&env, buf, 1024, FI_SEND), key);
	/* A change that the monitor reports only when it is asked. */
	key = use(&env, buf, 1024, FI_SEND);
	is_valid = false;
	assert_int_not_equal(use(&env, buf, 1024, FI_SEND), key);
	assert_int_equal(live, base + 1);
	close_with_monitor(&env);
}

static void test_limits(void **state)
{
	struct fid_mr *mr[3];
	struct env env;
	unsigned int base;
	uint32_t key;

	(void)state;
	assert_int_equal(setenv("FI_MR_CACHE_MAX_COUNT", "2", 1), 0);
	assert_int_equal(setenv("FI_MR_CACHE_MAX_SIZE", "300", 1), 0);
	open_with_monitor(&env);
	base = live;
	/* The least recently used registration is ended. */
	key = use(&env, buf, 100, FI_SEND);
	(void)use(&env, buf + 100, 100, FI_SEND);
	assert_int_equal(use(&env, buf, 100, FI_SEND), key);
	(void)use(&env, buf + 200, 100, FI_SEND);
	assert_int_equal(live, base + 2);
	assert_int_equal(use(&env, buf, 100, FI_SEND), key);
	/* Bytes count as well; what is larger than all is not kept. */
	(void)use(&env, buf + 1000, 250, FI_SEND);
	assert_int_equal(live, base + 1);
	(void)use(&env, buf + 2000, 301, FI_SEND);
	assert_int_equal(live, base + 1);
	/* Regions in use stay, and make room when they are closed. */
	for (int i = 0; i < 3; i++)
		mr[i] = reg(&env, buf + 10 * i, 5, FI_SEND);
	assert_int_equal(live, base + 3);
	assert_int_equal(use(&env, buf, 5, FI_SEND), lkey(mr[0]));
	for (int i = 0; i < 3; i++)
		assert_int_equal(fi_close(&mr[i]->fid), 0);
	assert_int_equal(live, base + 2);
	/* Where the system has no room, idle registrations make it. */
	refuse_above = (int)live;
	(void)use(&env, buf + 3000, 5, FI_REMOTE_READ);
	assert_int_equal(live, base);
	refuse_above = (int)live;
	assert_int_equal(fi_mr_reg(env.domain, buf, 5, FI_SEND, 0, 0, 0, &mr[0], NULL),
		-FI_ENOMEM);
	refuse_above = ROOM;
	close_with_monitor(&env);
	assert_int_equal(unsetenv("FI_MR_CACHE_MAX_COUNT"), 0);
	assert_int_equal(unsetenv("FI_MR_CACHE_MAX_SIZE"), 0);
}

static void test_disabled(void **state)
{
	struct env env;
	unsigned int base;

	(void)state;
	assert_int_equal(setenv("FI_MR_CACHE_MONITOR", "disabled", 1), 0);
	OPEN(FI_EP_MSG, 0, false);
	assert_null(env.ep->domain->cache);
	base = live;
	(void)use(&env, buf, 100, FI_SEND);
	assert_int_equal(live, base);
	close_env(&env);
	assert_int_equal(unsetenv("FI_MR_CACHE_MONITOR"), 0);
}

/* The library's own monitor, and memory that is really unmapped. */
static void test_unmapped(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct env env;
	uint32_t key;
	void *mem, *again;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	if (!env.ep->domain->cache) {
		close_env(&env);
		skip();
	}
	mem = mmap(
		NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(mem, MAP_FAILED);
	key = use(&env, mem, page, FI_SEND);
	assert_int_equal(use(&env, mem, page, FI_SEND), key);
	/* Other pages take their place: between an unmap and a map another thread could
	 * get the address. */
	again = mmap(mem, page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_ptr_equal(again, mem);
	assert_int_not_equal(use(&env, mem, page, FI_SEND), key);
	assert_int_equal(munmap(mem, page), 0);
	close_env(&env);
	assert_int_equal(live, 0);
}

static int setup(void **state)
{
	int ret = fake_setup(state);

	verbs_lib.ibv.reg_mr = count_reg_mr;
	verbs_lib.ibv.dereg_mr = count_dereg_mr;
	return ret;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_unmapped),
	};

	return cmocka_run_group_tests(tests, setup, fake_teardown);
}
