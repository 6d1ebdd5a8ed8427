/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inline functions and macros of the public headers that do more than call a slot of an
 * operations table. The library's functions they need are replaced by mocks here, so
 * this program tests headers alone and is linked without the library.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_profile.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_xpu_device.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

static int passed, failed;

#define CHECK(condition) check(condition, #condition, __LINE__)

static void check(bool ok, const char *what, int line)
{
	if (ok) {
		passed++;
		return;
	}
	failed++;
	printf("line %d: not true: %s\n", line, what);
}

/* Numbers and addresses. */

static void test_values(void)
{
	CHECK(fi_tc_dscp_set(46) == 0x12e);
	CHECK(fi_tc_dscp_get(0x12e) == 46);
	CHECK(fi_tc_dscp_get(FI_TC_LOW_LATENCY) == 0);

	CHECK(fi_rx_addr(5, 3, 8) == 0x0300000000000005);
	CHECK(fi_rx_addr(5, 1, 1) == 0x8000000000000005);
	CHECK(fi_rx_addr(5, 0, 0) == 5);
	CHECK(fi_group_addr(5, 7) == 0x0000000700000005);
	CHECK(fi_group_addr(5, UINT32_MAX) == 0xffffffff00000005);

	CHECK(fi_tag_mpi(9, 2) == 0x0000000200000009);
	CHECK(fi_tag_mpi(-1, 0xff) == 0x000000ffffffffff);
	CHECK((fi_tag_mpi(-1, 0) & ~FI_MPI_IGNORE_TAG) == 0);
	CHECK((fi_tag_mpi(0, 0xff) & ~FI_MPI_IGNORE_PAYLOAD) == 0);

	CHECK(fi_hmem_ze_device(2, 3) == 0x20003); /* MR-050 */

	CHECK(FI_MAJOR(FI_VERSION(2, 6)) == 2);
	CHECK(FI_MINOR(FI_VERSION(2, 6)) == 6);
	CHECK(FI_VERSION_GE(FI_VERSION(1, 10), FI_VERSION(1, 9)));
	CHECK(FI_VERSION_LT(FI_VERSION(1, 22), FI_VERSION(2, 0)));
}

/* Commands: what the struct passed to the control operation holds. */

static int any_int;
static uint64_t any_u64;
static size_t any_size = 11;
static uint8_t any_bytes[4];

static int seen_command;
static union {
	struct fi_alias alias;
	struct fi_fid_var var;
	struct fi_mr_raw_attr raw;
	struct fi_mr_map_raw map;
	struct fi_mr_modify modify;
	struct fi_mr_xpu_desc xpu;
	struct fi_fid_export exported;
	uint64_t key;
} seen;

static struct fid_ep the_alias;

static int mock_control(struct fid *fid, int command, void *arg)
{
	static const size_t sizes[] = {
		[FI_ALIAS] = sizeof(seen.alias),
		[FI_GET_VAL] = sizeof(seen.var),
		[FI_SET_VAL] = sizeof(seen.var),
		[FI_GET_RAW_MR] = sizeof(seen.raw),
		[FI_MAP_RAW_MR] = sizeof(seen.map),
		[FI_REFRESH] = sizeof(seen.modify),
		[FI_GET_MR_XPU_DESC] = sizeof(seen.xpu),
		[FI_EXPORT_FID] = sizeof(seen.exported),
		[FI_UNMAP_KEY] = sizeof(seen.key),
	};

	seen_command = command;
	CHECK((arg == NULL) == (command == FI_ENABLE));
	if (arg)
		memcpy(&seen, arg, sizes[command]);
	if (command == FI_ALIAS)
		*seen.alias.fid = &the_alias.fid;
	return fid->context ? *(int *)fid->context : 0;
}

static struct fi_ops mock_fid_ops = {
	.size = sizeof(struct fi_ops),
	.control = mock_control,
};

static void test_commands(void)
{
	struct fid_mr mr = {
		.fid.ops = &mock_fid_ops, .mem_desc = any_bytes, .key = 77
	};
	struct fid_domain domain = { .fid.ops = &mock_fid_ops };
	struct iovec iov[2] = { 0 };
	static const struct fi_mr_attr no_attr;
	struct fid *fid;

	CHECK(fi_get_val(&domain.fid, 3, &any_int) == 0);
	CHECK(seen_command == FI_GET_VAL && seen.var.name == 3 &&
		seen.var.val == &any_int);
	CHECK(fi_set_val(&domain.fid, 4, &any_u64) == 0);
	CHECK(seen_command == FI_SET_VAL && seen.var.name == 4 &&
		seen.var.val == &any_u64);

	CHECK(fi_mr_desc(&mr) == any_bytes && fi_mr_key(&mr) == 77);
	CHECK(fi_mr_raw_attr(&mr, &any_u64, any_bytes, &any_size, 9) == 0);
	CHECK(seen_command == FI_GET_RAW_MR && seen.raw.flags == 9);
	CHECK(seen.raw.base_addr == &any_u64 && seen.raw.raw_key == any_bytes);
	CHECK(seen.raw.key_size == &any_size);

	CHECK(fi_mr_map_raw(&domain, 1, any_bytes, 4, &any_u64, 9) == 0);
	CHECK(seen_command == FI_MAP_RAW_MR && seen.map.flags == 9);
	CHECK(seen.map.base_addr == 1 && seen.map.raw_key == any_bytes);
	CHECK(seen.map.key_size == 4 && seen.map.key == &any_u64);

	CHECK(fi_mr_unmap_key(&domain, 5) == 0);
	CHECK(seen_command == FI_UNMAP_KEY && seen.key == 5);

	CHECK(fi_mr_refresh(&mr, iov, 2, 9) == 0);
	CHECK(seen_command == FI_REFRESH && seen.modify.flags == 9);
	CHECK(seen.modify.attr.mr_iov == iov && seen.modify.attr.iov_count == 2);
	seen.modify.attr.mr_iov = NULL;
	seen.modify.attr.iov_count = 0;
	CHECK(!memcmp(&seen.modify.attr, &no_attr, sizeof(no_attr)));

	CHECK(fi_mr_enable(&mr) == 0 && seen_command == FI_ENABLE);

	CHECK(fi_mr_get_xpu_desc(&mr, any_bytes, &any_size, 9, NULL) == 0);
	CHECK(seen_command == FI_GET_MR_XPU_DESC && seen.xpu.flags == 9);
	CHECK(seen.xpu.buf == any_bytes && seen.xpu.len == &any_size && !seen.xpu.ctx);

	CHECK(fi_export_fid(&mr.fid, 9, &fid, any_bytes) == 0);
	CHECK(seen_command == FI_EXPORT_FID && seen.exported.fid == &fid);
	CHECK(seen.exported.flags == 9 && seen.exported.context == any_bytes);
}

static void test_alias(void)
{
	int result = 0;
	struct fid_ep ep = { .fid = { .ops = &mock_fid_ops, .context = &result } };
	struct fid_ep *alias = NULL;

	CHECK(fi_ep_alias(&ep, &alias, FI_RECV) == 0);
	CHECK(seen_command == FI_ALIAS && seen.alias.flags == FI_RECV);
	CHECK(alias == &the_alias);

	alias = NULL;
	result = -FI_EINVAL;
	CHECK(fi_ep_alias(&ep, &alias, FI_RECV) == -FI_EINVAL && !alias);
}

/* Calls that fall back to an older slot when there are no flags. */

static int mock_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **domain, void *context)
{
	(void)fabric;
	(void)info;
	(void)domain;
	return context == any_bytes ? 1 : -1;
}

static int mock_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **ep, void *context)
{
	(void)domain;
	(void)info;
	(void)ep;
	return context == any_bytes ? 1 : -1;
}

static ssize_t mock_barrier(struct fid_ep *ep, fi_addr_t coll_addr, void *context)
{
	(void)ep;
	return context == any_bytes && coll_addr == 6 ? 1 : -1;
}

static void test_fallbacks(void)
{
	struct fi_ops_fabric fabric_ops = { .size = sizeof(fabric_ops),
		.domain = mock_domain };
	struct fi_ops_domain domain_ops = { .size = sizeof(domain_ops),
		.endpoint = mock_endpoint };
	struct fi_ops_collective coll_ops = { .size = sizeof(coll_ops),
		.barrier = mock_barrier };
	struct fid_fabric fabric = { .ops = &fabric_ops };
	struct fid_domain domain = { .ops = &domain_ops };
	struct fid_ep ep = { .collective = &coll_ops };

	CHECK(fi_domain2(&fabric, NULL, NULL, 0, any_bytes) == 1);
	CHECK(fi_domain2(&fabric, NULL, NULL, FI_PEER, any_bytes) == -FI_ENOSYS);
	CHECK(fi_endpoint2(&domain, NULL, NULL, 0, any_bytes) == 1);
	CHECK(fi_endpoint2(&domain, NULL, NULL, FI_XPU, any_bytes) == -FI_ENOSYS);
	CHECK(fi_barrier2(&ep, 6, 0, any_bytes) == 1);
	CHECK(fi_barrier2(&ep, 6, FI_COMPLETION, any_bytes) == -FI_ENOSYS);

	ep.collective = NULL;
	CHECK(fi_barrier2(&ep, 6, FI_COMPLETION, any_bytes) == -FI_ENOSYS);
}

/* Groups. */

/* COL-001 */
static int mock_join(struct fid_ep *ep, const void *addr, uint64_t flags,
	struct fid_mc **mc, void *context)
{
	const struct fi_collective_addr *coll = addr;

	(void)ep;
	(void)mc;
	CHECK(coll->coll_addr == 6 && !coll->set);
	CHECK(flags == (FI_COLLECTIVE | FI_SEND));
	return context == any_bytes ? 1 : -1;
}

static void test_groups(void)
{
	struct fi_ops_cm cm = { .size = sizeof(cm), .join = mock_join };
	struct fid_ep ep = { .cm = &cm };
	struct fid_mc mc = { .fi_addr = 12 };

	CHECK(fi_join_collective(&ep, 6, NULL, FI_SEND, NULL, any_bytes) == 1);
	CHECK(fi_mc_addr(&mc) == 12);
}

/* Completion errors: old providers do not know src_addr and leave it alone. */

static ssize_t mock_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
{
	(void)cq;
	(void)flags;
	return buf && buf->src_addr == FI_ADDR_NOTAVAIL ? 1 : 0;
}

static void test_readerr(void)
{
	struct fi_ops_cq ops = { .size = sizeof(ops), .readerr = mock_readerr };
	struct fid_cq cq = { .ops = &ops };
	struct fi_cq_err_entry entry = { .src_addr = 1 };

	CHECK(fi_cq_readerr(&cq, &entry, 0) == 1);
	CHECK(fi_cq_readerr(&cq, NULL, 0) == 0);
}

/* Import of objects, fi_open being a mock. */

static struct {
	int open_result, bind_result, closed;
	uint32_t version;
	const char *name;
	struct fid *bound;
	void *context;
} import;

static int mock_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)flags;
	import.bound = bfid;
	return import.bind_result;
}

static int mock_close(struct fid *fid)
{
	(void)fid;
	import.closed++;
	return 0;
}

int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len,
	uint64_t flags, struct fid **fid, void *context)
{
	static struct fi_ops ops = {
		.size = sizeof(ops), .bind = mock_bind, .close = mock_close
	};
	static struct fid opened = { .ops = &ops };

	(void)flags;
	CHECK(!attr && !attr_len);
	import.version = version;
	import.name = name;
	import.context = context;
	if (!import.open_result)
		*fid = &opened;
	return import.open_result;
}

static void test_import(void)
{
	struct fi_ops_log ops = { 0 };
	struct fid_logging log = { .ops = &ops };
	struct fid fid;

	CHECK(fi_import(7, "mr_cache", NULL, 0, 0, &fid, any_bytes) == 0);
	CHECK(import.version == 7 && !strcmp(import.name, "mr_cache"));
	CHECK(import.context == any_bytes && import.bound == &fid &&
		import.closed == 1);

	import.bind_result = -FI_EINVAL;
	CHECK(fi_import(7, "mr_cache", NULL, 0, 0, &fid, NULL) == -FI_EINVAL);
	CHECK(import.closed == 2);
	import.bind_result = 0;

	import.open_result = -FI_ENOSYS;
	CHECK(fi_import(7, "mr_cache", NULL, 0, 0, &fid, NULL) == -FI_ENOSYS);
	CHECK(import.closed == 2);
	import.open_result = 0;

	CHECK(fi_import_log(7, 0, &log) == 0);
	CHECK(!strcmp(import.name, "logging") && import.bound == &log.fid);
	CHECK(log.fid.fclass == FI_CLASS_LOG && ops.size == sizeof(ops));
	CHECK(import.context == &log);
}

/* Profiles. */

static struct fid_profile the_profile;

static int mock_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)flags;
	(void)context;
	if (strcmp(name, "fi_profile_ops"))
		return -FI_ENOSYS;
	*ops = &the_profile.ops;
	return 0;
}

static ssize_t mock_read_var(
	struct fid_profile *prof_fid, uint32_t var_id, void *data, size_t *size)
{
	(void)prof_fid;
	CHECK(*size == sizeof(uint64_t));
	if (var_id != FI_VAR_UNEXP_MSG_CNT)
		return -FI_EINVAL;
	*(uint64_t *)data = 42;
	return *size;
}

static void test_profile(void)
{
	struct fi_ops fid_ops = { .size = sizeof(fid_ops), .ops_open = mock_ops_open };
	struct fi_ops close_ops = { .size = sizeof(close_ops), .close = mock_close };
	struct fi_profile_ops ops = { .size = sizeof(ops), .read_var = mock_read_var };
	struct fid_profile *profile = NULL;
	struct fid fid = { .ops = &fid_ops };
	uint64_t value = 0;

	the_profile.fid.ops = &close_ops;
	the_profile.ops = &ops;
	CHECK(fi_profile_open(&fid, 0, &profile, NULL) == 0 && profile == &the_profile);
	CHECK(fi_profile_read_u64(profile, FI_VAR_UNEXP_MSG_CNT, &value) == 0);
	CHECK(value == 42);
	CHECK(fi_profile_read_u64(profile, 999, &value) == -FI_EINVAL);
	import.closed = 0;
	CHECK(fi_profile_close(profile) == 0 && import.closed == 1);
}

/* Infos and parameters. */

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	static struct fi_info fresh;

	return info ? NULL : &fresh;
}

int fi_param_get(struct fi_provider *provider, const char *param_name, void *value)
{
	(void)provider;
	CHECK(!strcmp(param_name, "param"));
	return value == &any_int || value == &any_size ? 1 : 2;
}

static void test_parameters(void)
{
	char *string;

	CHECK(fi_allocinfo() != NULL);
	CHECK(fi_param_get_int(NULL, "param", &any_int) == 1);
	CHECK(fi_param_get_bool(NULL, "param", &any_int) == 1);
	CHECK(fi_param_get_size_t(NULL, "param", &any_size) == 1);
	CHECK(fi_param_get_str(NULL, "param", &string) == 2);
}

/* Logging. */

static struct {
	int level;
	int lines;
	enum fi_log_level last_level;
	enum fi_log_subsys last_subsys;
	char last[64];
} logged;

int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	(void)prov;
	(void)subsys;
	errno = EIO;
	return (int)level <= logged.level;
}

int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t *showtime)
{
	return fi_log_enabled(prov, level, subsys) && !(*showtime)++;
}

void fi_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
{
	va_list args;

	(void)prov;
	CHECK(!strcmp(func, "test_logging") && line > 0);
	logged.lines++;
	logged.last_level = level;
	logged.last_subsys = subsys;
	va_start(args, fmt);
	vsnprintf(logged.last, sizeof(logged.last), fmt, args);
	va_end(args);
	errno = EIO;
}

static void test_logging(void)
{
	errno = ENOENT;
	logged.level = FI_LOG_INFO;

	FI_WARN(NULL, FI_LOG_CQ, "%s %d", "answer", 42);
	CHECK(logged.lines == 1 && !strcmp(logged.last, "answer 42"));
	CHECK(logged.last_level == FI_LOG_WARN && logged.last_subsys == FI_LOG_CQ);
	FI_TRACE(NULL, FI_LOG_AV, "trace");
	CHECK(logged.lines == 2 && logged.last_level == FI_LOG_TRACE);
	FI_INFO(NULL, FI_LOG_AV, "info");
	CHECK(logged.lines == 3 && logged.last_level == FI_LOG_INFO);

	/* Without ENABLE_DEBUG these are nothing, whatever the level. */
	logged.level = FI_LOG_DEBUG;
	FI_DBG(NULL, FI_LOG_AV, "debug");
	FI_DBG_TRACE(NULL, FI_LOG_AV, "debug");
	CHECK(logged.lines == 3);

	for (int i = 0; i < 3; i++)
		FI_WARN_ONCE(NULL, FI_LOG_EQ, "once");
	CHECK(logged.lines == 4);
	for (int i = 0; i < 3; i++)
		FI_WARN_SPARSE(NULL, FI_LOG_EQ, "sparse");
	CHECK(logged.lines == 5 && !strcmp(logged.last, "sparse"));

	logged.level = -1;
	FI_WARN(NULL, FI_LOG_CQ, "hidden");
	CHECK(logged.lines == 5);

	CHECK(errno == ENOENT);
}

/* Device functions: no provider is built in. */

static void test_xpu(void)
{
	struct fid_xpu_cntr cntr = { .fid.prov_id = 99 };
	struct fid_xpu_ep ep = { .fid.prov_id = 99 };
	struct fid_xpu_cq cq = { .fid.prov_id = 99 };
	int scope = FI_XPU_WORK_ITEM;

	CHECK(fi_xpu_send(&ep, NULL, 0, NULL, 0, NULL, NULL, 0, scope) == -FI_ENOSYS);
	CHECK(fi_xpu_cq_read(&cq, NULL, 0, scope) == -FI_ENOSYS);
	CHECK(fi_xpu_cntr_add(&cntr, 1, scope) == -FI_ENOSYS);
	CHECK(fi_xpu_cntr_read(&cntr, scope) == 0);
	CHECK(fi_xpu_cntr_readerr(&cntr, scope) == 0);
	fi_xpu_cntr_wait(&cntr, 1, -1, scope);
}

int main(void)
{
	test_values();
	test_commands();
	test_alias();
	test_fallbacks();
	test_groups();
	test_readerr();
	test_import();
	test_profile();
	test_parameters();
	test_logging();
	test_xpu();
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
