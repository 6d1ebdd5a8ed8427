/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "../../log_lines.h"

#include <sys/mman.h>
#include <unistd.h>

#include "objects/cntr/cntr.h"
#include "objects/mr/map.h"

enum { MR_BASIC = 1 << 0 };

static const uint64_t REMOTE = FI_REMOTE_READ | FI_REMOTE_WRITE;

struct env {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct wf_mr_map *map;
};

static void open_env_as(struct env *env, uint32_t version, int mr_mode, uint64_t caps)
{
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);

	info->caps = caps;
	info->domain_attr->mr_mode = mr_mode;
	env->fabric = fake_fabric(version);
	env->domain = fake_domain_of(env->fabric, info);
	env->map = &wf_domain_of(env->domain)->mr_map;
}

static void open_env(struct env *env)
{
	open_env_as(env, FI_VERSION(2, 6), 0, FI_RMA);
}

static void close_env(struct env *env)
{
	assert_closed(env->domain);
	assert_closed(env->fabric);
}

static int reg(struct env *env, const void *buf, size_t len, uint64_t access,
	uint64_t key, uint64_t flags, struct fid_mr **mr)
{
	return fi_mr_reg(env->domain, buf, len, access, 0, key, flags, mr, env);
}

static int lookup(struct env *env, uint64_t key, uint64_t addr, size_t len,
	uint64_t access, struct wf_mr **mr)
{
	int err;

	wf_lock(&env->map->lock);
	err = wf_mr_lookup(env->map, key, addr, len, access, mr);
	wf_unlock(&env->map->lock);
	return err;
}

static void arguments_are_checked(void **state)
{
	struct iovec iov[5] = { { .iov_base = iov, .iov_len = 8 } };
	struct iovec wraps = { .iov_base = iov, .iov_len = SIZE_MAX };
	struct fi_mr_attr attr = { 0 };
	struct fid_mr *mr = NULL;
	struct env env;

	open_env(&env);
	/* MR-001 */
	assert_int_equal(
		fi_mr_reg(env.domain, iov, 8, FI_SEND, 1, 0, 0, &mr, NULL), -FI_EINVAL);
	/* MR-003 */
	assert_int_equal(fi_mr_regv(env.domain, iov, 5, FI_SEND, 0, 0, 0, &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(env.domain, iov, 0, FI_SEND, 0, 0, 0, &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(env.domain, NULL, 1, FI_SEND, 0, 0, 0, &mr, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(env.domain, &wraps, 1, FI_SEND, 0, 0, 0, &mr, NULL),
		-FI_EINVAL);
	/* MR-004 */
	assert_int_equal(fi_mr_regattr(env.domain, NULL, 0, &mr), -FI_EINVAL);
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	/* MR-031 */
	assert_int_equal(reg(&env, iov, 8, FI_SEND | 1, 0, 0, &mr), -FI_EINVAL);
	/* MR-046, MR-039, MR-041 */
	assert_int_equal(reg(&env, iov, 8, FI_SEND, 0, FI_PEEK, &mr), -FI_EBADFLAGS);
	assert_int_equal(
		reg(&env, iov, 8, FI_SEND, 0, FI_MR_DMABUF, &mr), -FI_EBADFLAGS);
	assert_int_equal(
		reg(&env, iov, 8, FI_SEND, 0, FI_MR_SINGLE_USE, &mr), -FI_EBADFLAGS);
	assert_int_equal(
		reg(&env, iov, 8, FI_SEND, 0, FI_HMEM_DEVICE_ONLY, &mr), -FI_EBADFLAGS);
	assert_int_equal(
		reg(&env, iov, 8, FI_SEND, 0, FI_RMA_EVENT, &mr), -FI_EBADFLAGS);
	/* The first mistake is the one that is told. */
	assert_int_equal(
		fi_mr_reg(env.domain, iov, 8, FI_SEND | 1, 1, 0, FI_PEEK, &mr, NULL),
		-FI_EBADFLAGS);
	attr = (struct fi_mr_attr){ .mr_iov = iov,
		.iov_count = 1,
		.access = FI_SEND,
		.offset = 1,
		.auth_key_size = 4 };
	assert_int_equal(fi_mr_regattr(env.domain, &attr, FI_PEEK, &mr), -FI_EBADFLAGS);
	log_lines_start();
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	assert_true(log_lines_have("registration refused: offset must be 0\n"));
	assert_false(log_lines_have("authorization key"));
	attr.auth_key_size = 0;
	attr.offset = 0;
	attr.base_mr = (struct fid_mr *)(void *)env.domain;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	attr.base_mr = NULL;
	attr.auth_key_size = 4;
	attr.access |= 1;
	log_lines_start();
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	assert_true(log_lines_have("registration refused: unknown access bits\n"));
	assert_false(log_lines_have("authorization key"));
	attr.access = FI_SEND;
	log_lines_start();
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	assert_true(log_lines_have("the authorization key is not one of the domain's"));
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_reg(env.domain, iov, 8, FI_SEND, 0, 0, 0, NULL, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_mr_regv(env.domain, iov, 1, FI_SEND, 0, 0, 0, NULL, NULL),
		-FI_EINVAL);
	assert_null(mr);
	/* MR-002 */
	assert_int_equal(reg(&env, iov, 0, FI_SEND, 0, 0, &mr), 0);
	assert_int_equal(mr->fid.fclass, FI_CLASS_MR);
	assert_ptr_equal(mr->fid.context, &env);
	assert_closed(mr);
	close_env(&env);
}

static void the_application_chooses_keys(void **state)
{
	struct fid_mr *mr, *second = NULL, *local;
	char buf[64];
	struct env env;

	open_env(&env);
	/* MR-005 */
	assert_int_equal(reg(&env, buf, 64, REMOTE, 17, 0, &mr), 0);
	assert_int_equal(fi_mr_key(mr), 17);
	/* MR-023 */
	assert_non_null(fi_mr_desc(mr));
	/* MR-006 */
	assert_int_equal(reg(&env, buf, 64, REMOTE, 17, 0, &second), -FI_ENOKEY);
	assert_null(second);
	/* MR-009, MR-022, MR-023 */
	assert_int_equal(reg(&env, buf, 64, FI_SEND, 17, 0, &local), 0);
	assert_int_equal(fi_mr_key(local), FI_KEY_NOTAVAIL);
	/* MR-007 */
	assert_int_equal(
		reg(&env, buf, 64, FI_REMOTE_READ, FI_KEY_NOTAVAIL, 0, &second),
		-FI_EKEYREJECTED);
	assert_closed(mr);
	assert_int_equal(reg(&env, buf, 64, REMOTE, 17, 0, &mr), 0);
	assert_closed(mr);
	assert_closed(local);
	close_env(&env);
}

static void keys_fit_the_domain(void **state)
{
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_mr *mr;
	char buf[8];
	struct env env;

	/* MR-007, DAT-020 */
	info->domain_attr->mr_key_size = 2;
	env.fabric = fake_fabric(FI_VERSION(2, 6));
	env.domain = fake_domain_of(env.fabric, info);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 0x10000, 0, &mr), -FI_EKEYREJECTED);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 0xffff, 0, &mr), 0);
	assert_closed(mr);
	close_env(&env);
}

static void the_provider_chooses_keys(void **state)
{
	static const int modes[] = { FI_MR_PROV_KEY, MR_BASIC };
	enum { COUNT = 300 };
	struct fid_mr *mrs[COUNT];
	struct wf_mr *found;
	char buf[COUNT];
	struct env env;

	for (size_t m = 0; m < WF_ARRAY_SIZE(modes); m++) {
		open_env_as(&env, FI_VERSION(2, 6), modes[m], FI_RMA);
		for (int i = 0; i < COUNT; i++) {
			/* MR-008, MR-021 */
			assert_int_equal(reg(&env, &buf[i], 1, REMOTE, FI_KEY_NOTAVAIL,
						 0, &mrs[i]),
				0);
			for (int j = 0; j < i; j++)
				assert_int_not_equal(
					fi_mr_key(mrs[i]), fi_mr_key(mrs[j]));
		}
		for (int i = 0; i < COUNT; i++) {
			uint64_t base = modes[m] == MR_BASIC ? (uintptr_t)&buf[i] : 0;

			assert_int_equal(lookup(&env, fi_mr_key(mrs[i]), base, 1,
						 FI_REMOTE_READ, &found),
				0);
			assert_ptr_equal(&found->fid, mrs[i]);
			assert_closed(mrs[i]);
		}
		close_env(&env);
	}
}

/* Keys of one byte: all in use, then one free. */
static void keys_run_out(void **state)
{
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fid_mr *mrs[256], *mr;
	struct env env;
	char byte;

	info->domain_attr->mr_key_size = 1;
	info->domain_attr->mr_mode = FI_MR_PROV_KEY;
	env.fabric = fake_fabric(FI_VERSION(2, 6));
	env.domain = fake_domain_of(env.fabric, info);
	for (int i = 0; i < 256; i++)
		assert_int_equal(reg(&env, &byte, 1, REMOTE, 0, 0, &mrs[i]), 0);
	assert_int_equal(reg(&env, &byte, 1, REMOTE, 0, 0, &mr), -FI_ENOKEY);
	assert_closed(mrs[77]);
	assert_int_equal(reg(&env, &byte, 1, REMOTE, 0, 0, &mrs[77]), 0);
	assert_int_equal(fi_mr_key(mrs[77]), 77);
	for (int i = 0; i < 256; i++)
		assert_closed(mrs[i]);
	close_env(&env);
}

/* MR-032, for each kind of address. */
static void access_is_checked(void **state)
{
	static const int modes[] = { 0, FI_MR_VIRT_ADDR };
	struct fid_mr *reads, *writes;
	struct wf_mr *found;
	char buf[100];
	struct env env;

	for (size_t m = 0; m < WF_ARRAY_SIZE(modes); m++) {
		/* MR-005, MR-010 */
		uint64_t base = modes[m] ? (uintptr_t)buf : 0;

		open_env_as(&env, FI_VERSION(2, 6), modes[m], FI_RMA);
		assert_int_equal(reg(&env, buf, 100, FI_REMOTE_READ, 1, 0, &reads), 0);
		assert_int_equal(
			reg(&env, buf, 100, FI_REMOTE_WRITE, 2, 0, &writes), 0);
		assert_int_equal(lookup(&env, 1, base, 100, FI_REMOTE_READ, &found), 0);
		assert_ptr_equal(&found->fid, reads);
		assert_int_equal(
			lookup(&env, 1, base + 99, 1, FI_REMOTE_READ, &found), 0);
		assert_int_equal(
			lookup(&env, 1, base + 100, 0, FI_REMOTE_READ, &found), 0);
		assert_int_equal(lookup(&env, 3, base, 1, FI_REMOTE_READ, &found),
			-FI_EKEYREJECTED);
		assert_int_equal(
			lookup(&env, 1, base, 1, FI_REMOTE_WRITE, &found), -FI_EACCES);
		assert_int_equal(lookup(&env, 1, base, 1, REMOTE, &found), -FI_EACCES);
		assert_int_equal(
			lookup(&env, 2, base, 1, FI_REMOTE_READ, &found), -FI_EACCES);
		assert_int_equal(
			lookup(&env, 1, base, 101, FI_REMOTE_READ, &found), -FI_EINVAL);
		assert_int_equal(lookup(&env, 1, base + 100, 1, FI_REMOTE_READ, &found),
			-FI_EINVAL);
		assert_int_equal(lookup(&env, 1, base - 1, 1, FI_REMOTE_READ, &found),
			-FI_EINVAL);
		assert_int_equal(
			lookup(&env, 1, base + 1, SIZE_MAX, FI_REMOTE_READ, &found),
			-FI_EINVAL);
		assert_int_equal(lookup(&env, 1, base + 101, 0, FI_REMOTE_READ, &found),
			-FI_EINVAL);
		/* MR-034 */
		assert_closed(reads);
		assert_int_equal(lookup(&env, 1, base, 1, FI_REMOTE_READ, &found),
			-FI_EKEYREJECTED);
		assert_closed(writes);
		close_env(&env);
	}
}

static void pieces_are_addressed_as_one(void **state)
{
	char a[10], b[20], c[30];
	const struct iovec iov[] = { { a, 10 }, { b, 20 }, { c, 30 } };
	struct iovec out[3];
	struct wf_mr *found;
	struct fid_mr *mr;
	struct env env;

	open_env(&env);
	assert_int_equal(fi_mr_regv(env.domain, iov, 3, REMOTE, 0, 5, 0, &mr, NULL), 0);
	assert_int_equal(lookup(&env, 5, 0, 60, REMOTE, &found), 0);
	assert_int_equal(lookup(&env, 5, 0, 61, REMOTE, &found), -FI_EINVAL);
	assert_int_equal(wf_mr_pieces(found, 0, 60, out, 3), 3);
	assert_memory_equal(out, iov, sizeof(out));
	assert_int_equal(wf_mr_pieces(found, 12, 20, out, 3), 2);
	assert_ptr_equal(out[0].iov_base, b + 2);
	assert_int_equal(out[0].iov_len, 18);
	assert_ptr_equal(out[1].iov_base, c);
	assert_int_equal(out[1].iov_len, 2);
	assert_int_equal(wf_mr_pieces(found, 12, 20, out, 1), 1);
	assert_int_equal(wf_mr_pieces(found, 60, 0, out, 3), 0);
	assert_closed(mr);
	close_env(&env);
}

/* The end of a caller's structure lies against a page that cannot be read. */
static struct fi_mr_attr *attr_of_size(char *page, size_t size)
{
	return (struct fi_mr_attr *)(void *)(page + sysconf(_SC_PAGESIZE) - size);
}

static void nothing_behind_the_callers_structure_is_read(void **state)
{
	static const struct {
		uint32_t version;
		uint64_t caps;
		size_t size;
	} rows[] = {
		{ FI_VERSION(1, 4), FI_RMA | FI_HMEM, 48 },
		{ FI_VERSION(1, 5), FI_RMA, 64 },
		{ FI_VERSION(1, 8), FI_RMA | FI_HMEM, 64 },
		{ FI_VERSION(1, 9), FI_RMA | FI_HMEM, 80 },
		{ FI_VERSION(1, 18), FI_RMA, 64 },
		{ FI_VERSION(1, 19), FI_RMA | FI_HMEM, 88 },
		{ FI_VERSION(1, 21), FI_RMA, 64 },
		{ FI_VERSION(1, 22), FI_RMA | FI_HMEM, 96 },
		{ FI_VERSION(2, 0), FI_RMA | FI_HMEM, 112 },
	};
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = mmap(NULL, 2 * page_size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fid_mr *mr;
	struct env env;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + page_size, page_size, PROT_NONE), 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fi_mr_attr *attr = attr_of_size(page, rows[i].size);
		struct iovec iov = { page, 8 };

		/* MR-045, VER-005 */
		open_env_as(&env, rows[i].version, 0, rows[i].caps);
		memset(attr, 0, rows[i].size);
		attr->mr_iov = &iov;
		attr->iov_count = 1;
		attr->access = REMOTE;
		attr->requested_key = 9;
		attr->context = &env;
		assert_int_equal(fi_mr_regattr(env.domain, attr, 0, &mr), 0);
		assert_int_equal(fi_mr_key(mr), 9);
		assert_ptr_equal(mr->fid.context, &env);
		assert_closed(mr);
		close_env(&env);
	}
	assert_int_equal(munmap(page, 2 * page_size), 0);
}

static void newer_members_are_honoured(void **state)
{
	char buf[8];
	const struct iovec iov = { buf, 8 };
	const struct fi_mr_attr plain = {
		.mr_iov = &iov, .iov_count = 1, .access = FI_SEND
	};
	struct fi_mr_attr attr = plain;
	struct fid_mr *mr;
	struct env env;

	/* MR-043: without FI_HMEM the interface means nothing. */
	open_env(&env);
	attr.iface = FI_HMEM_CUDA;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), 0);
	assert_closed(mr);
	/* MR-038 */
	attr = plain;
	attr.page_size = 12345;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	attr.page_size = (size_t)sysconf(_SC_PAGESIZE);
	attr.sub_mr_cnt = 7;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), 0);
	assert_closed(mr);
	attr = plain;
	attr.auth_key_size = 4;
	attr.auth_key = (uint8_t *)buf;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	close_env(&env);

	open_env_as(&env, FI_VERSION(2, 6), 0, FI_RMA | FI_HMEM);
	attr = plain;
	/* MR-042 */
	attr.iface = FI_HMEM_CUDA;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_ENOSYS);
	/* MR-043 */
	attr.iface = FI_HMEM_SYSTEM;
	attr.device.reserved = 5;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, FI_HMEM_HOST_ALLOC, &mr), 0);
	assert_closed(mr);
	/* MR-044 */
	attr.hmem_data = buf;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	close_env(&env);
}

/* MR-047 */
static void keys_of_addresses_need_regattr(void **state)
{
	struct fi_info *info = fake_info(FI_THREAD_SAFE, FI_PROGRESS_MANUAL);
	struct fi_mr_auth_key key = { 0 };
	char buf[8];
	const struct iovec iov = { buf, 8 };
	struct fi_mr_attr attr = { .mr_iov = &iov,
		.iov_count = 1,
		.auth_key_size = sizeof(key),
		.auth_key = (uint8_t *)&key };
	struct fid_mr *mr;
	struct env env;

	info->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	env.fabric = fake_fabric(FI_VERSION(2, 6));
	env.domain = fake_domain_of(env.fabric, info);
	assert_int_equal(reg(&env, buf, 8, FI_SEND, 0, 0, &mr), -FI_EINVAL);
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &mr), 0);
	assert_closed(mr);
	close_env(&env);
}

static void parts_lie_inside_their_region(void **state)
{
	char buf[100];
	struct iovec iov = { buf + 10, 50 };
	struct fi_mr_attr attr = {
		.mr_iov = &iov, .iov_count = 1, .access = REMOTE, .requested_key = 2
	};
	struct fid_mr *base, *part, *other;
	struct wf_mr *found;
	struct env env, elsewhere;

	open_env(&env);
	open_env(&elsewhere);
	assert_int_equal(reg(&env, buf, 100, FI_SEND, 0, 0, &base), 0);
	assert_int_equal(reg(&elsewhere, buf, 100, FI_SEND, 0, 0, &other), 0);
	/* MR-036 */
	attr.base_mr = base;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &part), 0);
	assert_int_equal(lookup(&env, 2, 0, 50, REMOTE, &found), 0);
	assert_int_equal(lookup(&env, 2, 0, 51, REMOTE, &found), -FI_EINVAL);
	/* MR-035 */
	assert_busy(base);
	assert_closed(part);
	iov.iov_len = 91;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &part), -FI_EINVAL);
	iov = (struct iovec){ (void *)((uintptr_t)buf - 1), 5 };
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &part), -FI_EINVAL);
	iov = (struct iovec){ buf, 5 };
	attr.base_mr = other;
	assert_int_equal(fi_mr_regattr(env.domain, &attr, 0, &part), -FI_EINVAL);
	/* MR-037 */
	attr.base_mr = base;
	assert_int_equal(
		fi_mr_regattr(env.domain, &attr, FI_MR_DMABUF, &part), -FI_EINVAL);
	assert_closed(base);
	assert_closed(other);
	close_env(&env);
	close_env(&elsewhere);
}

static void regions_with_events_are_enabled_later(void **state)
{
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fid_mr *mr, *plain;
	struct fid_cntr *cntr;
	struct wf_mr *found;
	char buf[8];
	struct env env;

	open_env_as(&env, FI_VERSION(2, 6), FI_MR_RMA_EVENT, FI_RMA | FI_RMA_EVENT);
	assert_int_equal(fi_cntr_open(env.domain, &cntr_attr, &cntr, NULL), 0);
	/* MR-015 */
	assert_int_equal(reg(&env, buf, 8, REMOTE, 1, FI_RMA_EVENT, &mr), 0);
	assert_int_equal(lookup(&env, 1, 0, 1, REMOTE, &found), -FI_EKEYREJECTED);
	/* MR-026 */
	assert_int_equal(fi_mr_bind(mr, NULL, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(fi_mr_bind(mr, &env.domain->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_READ), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	/* CNT-022 */
	assert_busy(cntr);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_int_equal(lookup(&env, 1, 0, 1, REMOTE, &found), 0);
	assert_ptr_equal(found->cntr, wf_cntr_of(cntr));
	/* MR-027 */
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), -FI_EOPBADSTATE);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 2, 0, &plain), 0);
	assert_int_equal(fi_mr_bind(plain, &cntr->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	assert_closed(plain);
	assert_closed(mr);
	assert_closed(cntr);
	close_env(&env);

	/* MR-015: without that mode the flag is no condition, and peers may write
	 * before. */
	open_env_as(&env, FI_VERSION(2, 6), 0, FI_RMA | FI_RMA_EVENT);
	assert_int_equal(fi_cntr_open(env.domain, &cntr_attr, &cntr, NULL), 0);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 1, 0, &mr), 0);
	assert_int_equal(lookup(&env, 1, 0, 1, REMOTE, &found), 0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), 0);
	assert_ptr_equal(found->cntr, wf_cntr_of(cntr));
	assert_closed(mr);
	assert_closed(cntr);
	close_env(&env);

	/* MR-026, MR-028: not offered. */
	open_env(&env);
	assert_int_equal(fi_cntr_open(env.domain, &cntr_attr, &cntr, NULL), 0);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 1, 0, &mr), 0);
	assert_int_equal(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE), -FI_ENOSYS);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_closed(mr);
	assert_closed(cntr);
	close_env(&env);
}

static void regions_of_endpoints_are_enabled_later(void **state)
{
	struct fid_ep ep = { .fid.fclass = FI_CLASS_EP };
	struct wf_mr *found;
	struct fid_mr *mr;
	char buf[8];
	struct env env;

	/* MR-016 */
	open_env_as(&env, FI_VERSION(2, 6), FI_MR_ENDPOINT, FI_RMA);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 1, 0, &mr), 0);
	assert_int_equal(lookup(&env, 1, 0, 1, REMOTE, &found), -FI_EKEYREJECTED);
	assert_int_equal(fi_mr_bind(mr, &ep.fid, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_mr_bind(mr, &ep.fid, 0), 0);
	assert_int_equal(fi_mr_enable(mr), 0);
	assert_int_equal(lookup(&env, 1, 0, 1, REMOTE, &found), 0);
	assert_int_equal(fi_mr_bind(mr, &ep.fid, 0), -FI_EOPBADSTATE);
	assert_closed(mr);
	close_env(&env);
}

static void raw_keys_are_the_keys(void **state)
{
	uint64_t base = 1, key = 0;
	uint8_t raw[16];
	size_t size = 4;
	struct fid_mr *mr, *local;
	char buf[8];
	struct env env;

	open_env_as(&env, FI_VERSION(2, 6), FI_MR_VIRT_ADDR, FI_RMA);
	assert_int_equal(reg(&env, buf, 8, REMOTE, 0x1122334455667788, 0, &mr), 0);
	/* MR-024 */
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &size, 0), -FI_ETOOSMALL);
	assert_int_equal(size, 8);
	size = sizeof(raw);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &size, 1), -FI_EINVAL);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_raw_attr(mr, &base, NULL, &size, 0), -FI_EINVAL);
	assert_int_equal(fi_control(&mr->fid, FI_GET_RAW_MR, NULL), -FI_EINVAL);
	assert_int_equal(fi_mr_raw_attr(mr, NULL, raw, &size, 0), 0);
	size = sizeof(raw);
	assert_int_equal(fi_mr_raw_attr(mr, &base, raw, &size, 0), 0);
	assert_int_equal(size, 8);
	assert_int_equal(base, (uintptr_t)buf);
	/* MR-019, MR-025 */
	assert_int_equal(fi_mr_map_raw(env.domain, base, raw, size, &key, 0), 0);
	assert_int_equal(key, fi_mr_key(mr));
	assert_int_equal(fi_mr_unmap_key(env.domain, key), 0);
	assert_int_equal(fi_mr_map_raw(env.domain, base, raw, 9, &key, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_map_raw(env.domain, base, raw, 0, &key, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_map_raw(env.domain, base, raw, 8, &key, 1), -FI_EINVAL);
	assert_int_equal(reg(&env, buf, 8, FI_SEND, 0, 0, &local), 0);
	assert_int_equal(fi_mr_raw_attr(local, &base, raw, &size, 0), -FI_EINVAL);
	assert_closed(local);
	assert_closed(mr);
	close_env(&env);
}

static void refresh_checks_the_range(void **state)
{
	char buf[64];
	struct iovec iov = { buf + 8, 8 };
	struct fid_mr *mr;
	struct env env;

	open_env(&env);
	assert_int_equal(reg(&env, buf, 64, REMOTE, 1, 0, &mr), 0);
	/* MR-014, MR-029 */
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 0), 0);
	/* MR-030 */
	iov.iov_len = 57;
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_refresh(mr, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_refresh(mr, &iov, 0, 0), -FI_EINVAL);
	assert_int_equal(fi_mr_refresh(mr, &iov, 1, 1), -FI_EBADFLAGS);
	/* MR-051 */
	assert_int_equal(fi_control(&mr->fid, FI_GET_MR_XPU_DESC, &iov), -FI_ENOSYS);
	assert_closed(mr);
	close_env(&env);
}

struct churn {
	struct env *env;
	uint64_t first;
};

/* Registers and closes keys of its own while other threads look up all keys. */
static void *churn(void *arg)
{
	struct churn *churn = arg;
	struct fid_mr *mrs[20];
	struct wf_mr *found;
	char buf[8] = "";

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 20; i++)
			assert_int_equal(
				reg(churn->env, buf, 8, REMOTE,
					churn->first + (uint64_t)i, 0, &mrs[i]),
				0);
		wf_lock(&churn->env->map->lock);
		for (uint64_t key = 0; key < 60; key++) {
			/* It may be closed, but not while it is looked at. */
			if (!wf_mr_lookup(churn->env->map, key, 0, 8, REMOTE, &found))
				assert_int_equal(found->len, 8);
		}
		wf_unlock(&churn->env->map->lock);
		for (int i = 0; i < 20; i++)
			assert_closed(mrs[i]);
	}
	return NULL;
}

/* THR-005 */
static void registration_is_thread_safe(void **state)
{
	struct churn jobs[3];
	pthread_t threads[3];
	struct env env;

	open_env(&env);
	for (uint64_t i = 0; i < 3; i++) {
		jobs[i] = (struct churn){ .env = &env, .first = 20 * i };
		assert_int_equal(pthread_create(&threads[i], NULL, churn, &jobs[i]), 0);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked),
		cmocka_unit_test(the_application_chooses_keys),
		cmocka_unit_test(keys_fit_the_domain),
		cmocka_unit_test(the_provider_chooses_keys),
		cmocka_unit_test(keys_run_out),
		cmocka_unit_test(access_is_checked),
		cmocka_unit_test(pieces_are_addressed_as_one),
		cmocka_unit_test(nothing_behind_the_callers_structure_is_read),
		cmocka_unit_test(newer_members_are_honoured),
		cmocka_unit_test(keys_of_addresses_need_regattr),
		cmocka_unit_test(parts_lie_inside_their_region),
		cmocka_unit_test(regions_with_events_are_enabled_later),
		cmocka_unit_test(regions_of_endpoints_are_enabled_later),
		cmocka_unit_test(raw_keys_are_the_keys),
		cmocka_unit_test(refresh_checks_the_range),
		cmocka_unit_test(registration_is_thread_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
