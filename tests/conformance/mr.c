/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory registration, as far as one process without RMA can see. */
#include <sys/uio.h>

#include "suites.h"

static const uint64_t all_access =
	FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

static char memory[4096];

/* Scalable: the application chooses keys. */
static void scalable(struct fi_info *hints)
{
	/* Before 1.5 that had a value of its own, FI_MR_SCALABLE, whose name warns. */
	if (cf_target.version < FI_VERSION(1, 5))
		hints->domain_attr->mr_mode = 2;
	else
		cf_fewest_mr_bits(hints, cf_target.version);
}

/* With FI_RMA where the provider needs mode bits: some are for that only. */
static void open_scalable(struct cf_env *env)
{
	struct cf_options options = { .adjust = scalable };

	cf_open_domain(env, &options);
	options.caps = FI_RMA;
	if (cf_target.version < FI_VERSION(1, 5) || !env->info->domain_attr->mr_mode ||
		!cf_offers(&options))
		return;
	cf_close(env);
	cf_open_domain(env, &options);
}

/* The keys of a device are its own, also where no RMA needs them and no bit says so. */
static bool keys_are_chosen(const struct cf_env *env)
{
	if (cf_device_matches(env))
		return false;
	return cf_target.version < FI_VERSION(1, 5) ||
	       !(env->info->domain_attr->mr_mode & FI_MR_PROV_KEY);
}

static void open_with_chosen_keys(struct cf_env *env)
{
	open_scalable(env);
	if (!keys_are_chosen(env))
		SKIP("keys are the provider's");
}

static int reg(struct cf_env *env, uint64_t key, struct fid_mr **mr)
{
	return fi_mr_reg(
		env->domain, memory, sizeof(memory), all_access, 0, key, 0, mr, NULL);
}

static void chosen_keys_are_kept(void)
{
	struct fid_mr *mr, *other;
	struct cf_env env;

	open_with_chosen_keys(&env);
	CHECK_OK(reg(&env, 4711, &mr));
	CHECK_EQ(fi_mr_key(mr), 4711);
	CHECK_OK(reg(&env, 4712, &other));
	CHECK_EQ(fi_mr_key(other), 4712);
	CF_CLOSE(other);
	CF_CLOSE(mr);
	cf_close(&env);
}

static void a_key_in_use_is_refused(void)
{
	struct fid_mr *mr, *other;
	struct cf_env env;

	open_with_chosen_keys(&env);
	CHECK_OK(reg(&env, 7, &mr));
	CHECK_EQ(reg(&env, 7, &other), -FI_ENOKEY);
	CF_CLOSE(mr);
	CHECK_OK(reg(&env, 7, &other));
	CF_CLOSE(other);
	cf_close(&env);
}

/* Keys of a domain that was opened for short ones. */
static void a_key_out_of_range_is_refused(void)
{
	struct fid_mr *mr;
	struct cf_env env;

	cf_need_no_mr_bits();
	cf_open_fabric(&env, &(struct cf_options){ .adjust = scalable });
	env.info->domain_attr->mr_key_size = 2;
	if (fi_domain(env.fabric, env.info, &env.domain, NULL))
		SKIP("the size of keys is fixed");
	CHECK_EQ(reg(&env, 1 << 16, &mr), -FI_EKEYREJECTED);
	CHECK_OK(reg(&env, (1 << 16) - 1, &mr));
	CF_CLOSE(mr);
	cf_close(&env);
}

static void many_regions(void)
{
	enum { COUNT = 1000 };
	struct fid_mr *mrs[COUNT];
	struct cf_env env;

	open_with_chosen_keys(&env);
	for (uint64_t i = 0; i < COUNT; i++)
		CHECK_OK(reg(&env, i * 4096, &mrs[i]));
	for (uint64_t i = 0; i < COUNT; i += 2)
		CF_CLOSE(mrs[i]);
	for (uint64_t i = 0; i < COUNT; i += 2)
		CHECK_OK(reg(&env, i * 4096, &mrs[i]));
	for (uint64_t i = 0; i < COUNT; i++) {
		CHECK_EQ(fi_mr_key(mrs[i]), i * 4096);
		CF_CLOSE(mrs[i]);
	}
	cf_close(&env);
}

static void basic(struct fi_info *hints)
{
	hints->domain_attr->mr_mode = 1; /* FI_MR_BASIC, whose name warns */
}

/* With FI_MR_BASIC keys are the provider's, whatever was asked for. */
static void provider_keys_are_distinct(void)
{
	struct fid_mr *mr, *other;
	struct cf_env env;

	cf_need_no_mr_bits();
	cf_open_domain(&env, &(struct cf_options){ .adjust = basic });
	CHECK_OK(reg(&env, 7, &mr));
	CHECK_OK(reg(&env, 7, &other));
	CHECK(fi_mr_key(mr) != FI_KEY_NOTAVAIL);
	CHECK(fi_mr_key(mr) != fi_mr_key(other));
	CF_CLOSE(other);
	CF_CLOSE(mr);
	cf_close(&env);
}

/* Bit 59 of a domain's binding asked for registrations that complete by an event; its
 * name, FI_REG_MR, warns. */
static void registering_is_done_at_once(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_cm_event event;
	struct fid_mr *mr;
	struct cf_env env;
	uint32_t kind;

	open_scalable(&env);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	CHECK_EITHER(fi_domain_bind(env.domain, &env.eq->fid, 1ULL << 59),
		-FI_EBADFLAGS, -FI_EINVAL);
	CHECK_OK(fi_domain_bind(env.domain, &env.eq->fid, 0));
	CHECK_OK(reg(&env, 4711, &mr));
	CHECK(!keys_are_chosen(&env) || fi_mr_key(mr) == 4711);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(fi_eq_read(env.eq, &kind, &event, sizeof(event), 0),
			-FI_EAGAIN);
	CF_CLOSE(mr);
	CF_CLOSE(env.domain);
	cf_close(&env);
}

static void offsets_are_refused(void)
{
	struct fid_mr *mr;
	struct cf_env env;

	open_scalable(&env);
	CHECK_FAILS(fi_mr_reg(
		env.domain, memory, sizeof(memory), all_access, 64, 1, 0, &mr, NULL));
	cf_close(&env);
}

static void unknown_flags_are_refused(void)
{
	struct fid_mr *mr;
	struct cf_env env;

	open_scalable(&env);
	CHECK_EQ(fi_mr_reg(env.domain, memory, sizeof(memory), all_access, 0, 1,
			 1ULL << 2, &mr, NULL),
		-FI_EBADFLAGS);
	cf_close(&env);
}

/* Applications name what a region is for, besides what it permits. */
static void access_with_capabilities(void)
{
	static const uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	struct fid_mr *mr;
	struct cf_env env;

	open_scalable(&env);
	CHECK_OK(fi_mr_reg(env.domain, memory, sizeof(memory), all_access | caps, 0, 1,
		0, &mr, NULL));
	CF_CLOSE(mr);
	CHECK_EQ(fi_mr_reg(env.domain, memory, sizeof(memory), all_access | FI_SOURCE,
			 0, 1, 0, &mr, NULL),
		-FI_EINVAL);
	cf_close(&env);
}

static void vectors_up_to_the_limit(void)
{
	struct iovec *iov;
	struct fid_mr *mr;
	struct cf_env env;
	size_t limit;

	open_scalable(&env);
	limit = env.info->domain_attr->mr_iov_limit;
	if (!limit || limit > 64)
		SKIP("mr_iov_limit is %zu", limit);
	iov = calloc(limit + 1, sizeof(*iov));
	CHECK(iov);
	for (size_t i = 0; i <= limit; i++) {
		iov[i].iov_base = memory + i * 16;
		iov[i].iov_len = 16;
	}
	CHECK_OK(fi_mr_regv(env.domain, iov, limit, all_access, 0, 1, 0, &mr, NULL));
	CF_CLOSE(mr);
	CHECK_EQ(fi_mr_regv(env.domain, iov, limit + 1, all_access, 0, 1, 0, &mr, NULL),
		-FI_EINVAL);
	free(iov);
	cf_close(&env);
}

static struct fi_mr_attr plain_attr(struct iovec *iov)
{
	*iov = (struct iovec){ memory, sizeof(memory) };
	return (struct fi_mr_attr){
		.mr_iov = iov, .iov_count = 1, .access = all_access, .requested_key = 5
	};
}

static void attributes_register_too(void)
{
	struct iovec iov;
	struct fi_mr_attr attr = plain_attr(&iov);
	struct fid_mr *mr;
	struct cf_env env;
	int context;

	open_scalable(&env);
	attr.context = &context;
	CHECK_OK(fi_mr_regattr(env.domain, &attr, 0, &mr));
	CHECK(!keys_are_chosen(&env) || fi_mr_key(mr) == 5);
	CHECK(mr->fid.context == &context);
	CF_CLOSE(mr);
	attr.iov_count = 0;
	CHECK_EQ(fi_mr_regattr(env.domain, &attr, 0, &mr), -FI_EINVAL);
	CHECK_EQ(fi_mr_regattr(env.domain, NULL, 0, &mr), -FI_EINVAL);
	cf_close(&env);
}

static void host_memory_only(void)
{
	struct iovec iov;
	struct fi_mr_attr attr = plain_attr(&iov);
	struct fid_mr *mr;
	struct cf_env env;

	NEED_API(2, 0);
	open_scalable(&env);
	if (env.info->caps & FI_HMEM)
		SKIP("the provider has device memory");
	/* Without FI_HMEM the interface is not looked at. */
	attr.iface = FI_HMEM_CUDA;
	CHECK_OK(fi_mr_regattr(env.domain, &attr, 0, &mr));
	CF_CLOSE(mr);
	attr.iface = FI_HMEM_SYSTEM;
	CHECK_EITHER(fi_mr_regattr(env.domain, &attr, FI_MR_DMABUF, &mr), -FI_EBADFLAGS,
		-FI_ENOSYS);
	cf_close(&env);
}

/* What lies behind the struct of an older caller is no attribute. */
static void members_by_version(void)
{
	static const uint32_t versions[] = { FI_VERSION(1, 4), FI_VERSION(1, 5),
		FI_VERSION(1, 17), FI_VERSION(1, 20) };
	uint32_t version = cf_target.version;

	for (size_t i = 0; i < CF_COUNT(versions); i++) {
		struct iovec iov;
		struct fi_mr_attr attr = plain_attr(&iov);
		struct fid_mr *mr;
		struct cf_env env;

		cf_target.version = versions[i];
		open_scalable(&env);
		attr.page_size = 12345;
		attr.base_mr = (void *)&attr;
		attr.sub_mr_cnt = 99;
		if (versions[i] < FI_VERSION(1, 5)) {
			attr.auth_key_size = 77;
			attr.auth_key = (void *)&attr;
		}
		CHECK_OK(fi_mr_regattr(env.domain, &attr, 0, &mr));
		CF_CLOSE(mr);
		cf_close(&env);
	}
	cf_target.version = version;
}

static void parts_of_a_region(void)
{
	struct iovec iov;
	struct fi_mr_attr attr = plain_attr(&iov);
	struct fid_mr *mr, *part;
	struct cf_env env;
	int ret;

	NEED_API(2, 0);
	open_scalable(&env);
	CHECK_OK(reg(&env, 1, &mr));
	attr.base_mr = mr;
	iov.iov_base = memory + 128;
	iov.iov_len = 64;
	ret = fi_mr_regattr(env.domain, &attr, 0, &part);
	if (ret == -FI_ENOSYS || ret == -FI_EOPNOTSUPP)
		SKIP("regions have no parts");
	CHECK_OK(ret);
	CHECK_EQ(fi_close(&mr->fid), -FI_EBUSY);
	CF_CLOSE(part);
	iov.iov_len = sizeof(memory);
	CHECK_FAILS(fi_mr_regattr(env.domain, &attr, 0, &part));
	CF_CLOSE(mr);
	cf_close(&env);
}

static void raw_keys_answer(void)
{
	uint64_t base = 1, key;
	uint8_t raw[64];
	size_t size = sizeof(raw), small = 0;
	struct fid_mr *mr;
	struct cf_env env;
	int ret;

	open_scalable(&env);
	CHECK_OK(reg(&env, 9, &mr));
	ret = fi_mr_raw_attr(mr, &base, raw, &size, 0);
	if (ret == -FI_ENOSYS)
		SKIP("raw keys are not offered");
	CHECK_OK(ret);
	CHECK(size > 0 && size <= sizeof(raw));
	CHECK_EQ(fi_mr_raw_attr(mr, &base, raw, &small, 0), -FI_ETOOSMALL);
	CHECK_EQ(small, size);
	CHECK_OK(fi_mr_map_raw(env.domain, base, raw, size, &key, 0));
	CHECK_OK(fi_mr_unmap_key(env.domain, key));
	CF_CLOSE(mr);
	cf_close(&env);
}

static void calls_that_software_does_not_need_answer(void)
{
	struct iovec iov = { memory, 16 };
	struct fid_cntr *cntr;
	struct fid_mr *mr;
	struct cf_env env;
	int ret;

	open_scalable(&env);
	CHECK_OK(reg(&env, 9, &mr));
	ret = fi_mr_enable(mr);
	CHECK(ret <= 0);
	CHECK_EITHER(fi_mr_bind(mr, &env.domain->fid, 0), -FI_EINVAL, -FI_ENOSYS);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	/* Counting remote writes has to be asked for with the registration. */
	CHECK_FAILS(fi_mr_bind(mr, &cntr->fid, FI_REMOTE_WRITE));
	ret = fi_mr_refresh(mr, &iov, 1, 0);
	CHECK(ret <= 0);
	CF_CLOSE(mr);
	CF_CLOSE(cntr);
	cf_close(&env);
}

/* Descriptors of one process are of use where FI_MR_LOCAL was asked for, or not. */
static void sending_from_a_region(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid_mr *mr;
	struct cf_env env;
	char in[64];

	cf_open_pair(&env, NULL);
	cf_fill(memory, 64, 1);
	CHECK_OK(fi_mr_reg(
		env.domain, memory, 64, FI_SEND | FI_RECV, 0, 3, 0, &mr, NULL));
	cf_post_recv(&env, in, sizeof(in), &contexts[0]);
	CF_RETRY(env.side[0].tx_cq, fi_send(env.side[0].ep, memory, 64, fi_mr_desc(mr),
					    env.side[0].peer, &contexts[1]));
	cf_cq_wait(env.side[0].tx_cq, &entry);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	cf_verify(in, 64, 1);
	CF_CLOSE(mr);
	cf_close(&env);
}

CF_SUITE(mr, CF_CASE(chosen_keys_are_kept, "MR-001 MR-005", 0),
	CF_CASE(a_key_in_use_is_refused, "MR-006", 0),
	CF_CASE(a_key_out_of_range_is_refused, "MR-007 DAT-020", 0),
	CF_CASE(many_regions, "MR-005 MR-006", 0),
	CF_CASE(provider_keys_are_distinct, "MR-008 MR-021", 0),
	CF_CASE(registering_is_done_at_once, "MR-049 FAB-012", 0),
	CF_CASE(offsets_are_refused, "MR-001", 0),
	CF_CASE(unknown_flags_are_refused, "MR-046", 0),
	CF_CASE(access_with_capabilities, "MR-031", 0),
	CF_CASE(vectors_up_to_the_limit, "MR-003", 0),
	CF_CASE(attributes_register_too, "MR-004 VER-015", 0),
	CF_CASE(host_memory_only, "MR-039 MR-043", 0),
	CF_CASE(members_by_version, "MR-045 VER-006", 0),
	CF_CASE(parts_of_a_region, "MR-035 MR-036", 0),
	CF_CASE(raw_keys_answer, "MR-024 MR-025", 0),
	CF_CASE(calls_that_software_does_not_need_answer, "MR-026 MR-028 MR-029", 0),
	CF_CASE(sending_from_a_region, "MR-011 MR-012 MR-023", FI_MSG));
