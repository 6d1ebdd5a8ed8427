/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_fabric, fi_domain, their control calls, and closing in the wrong order. */
#include <rdma/providers/fi_peer.h>

#include "suites.h"

static void fabric_needs_names(void)
{
	struct fid_fabric *fabric;
	struct fi_fabric_attr attr;
	struct cf_env env;

	cf_open_fabric(&env, NULL);
	CHECK_EQ(fi_fabric(NULL, &fabric, NULL), -FI_EINVAL);
	attr = *env.info->fabric_attr;
	attr.name = NULL;
	CHECK_EQ(fi_fabric(&attr, &fabric, NULL), -FI_EINVAL);
	attr = *env.info->fabric_attr;
	attr.prov_name = NULL;
	CHECK_EQ(fi_fabric(&attr, &fabric, NULL), -FI_EINVAL);
	cf_close(&env);
}

static void unknown_provider_is_enodev(void)
{
	struct fid_fabric *fabric;
	struct fi_fabric_attr attr;
	struct cf_env env;
	char name[] = "no_such_provider";

	cf_open_fabric(&env, NULL);
	attr = *env.info->fabric_attr;
	attr.prov_name = name;
	CHECK_EQ(fi_fabric(&attr, &fabric, NULL), -FI_ENODEV);
	cf_close(&env);
}

static void fabric2_takes_an_info(void)
{
	struct fid_fabric *fabric;
	struct cf_env env;
	int context;

	NEED_API(2, 0);
	cf_open_fabric(&env, NULL);
	CHECK_EQ(fi_fabric2(NULL, &fabric, 0, NULL), -FI_EINVAL);
	CHECK_EQ(fi_fabric2(env.info, &fabric, 1, NULL), -FI_EINVAL);
	CHECK_OK(fi_fabric2(env.info, &fabric, 0, &context));
	CHECK(fabric->fid.context == &context);
	CHECK_EQ(fabric->api_version, cf_target.version);
	CF_CLOSE(fabric);
	cf_close(&env);
}

static void busy_fabric_stays(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_EQ(fi_close(&env.fabric->fid), -FI_EBUSY);
	CF_CLOSE(env.domain);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	CHECK_EQ(fi_close(&env.fabric->fid), -FI_EBUSY);
	CF_CLOSE(env.eq);
	CHECK_OK(fi_domain(env.fabric, env.info, &env.domain, NULL));
	cf_close(&env);
}

/* Close @object of env.domain after seeing that it keeps the domain open. */
#define CHECK_HOLDS_DOMAIN(object)                                                     \
	do {                                                                           \
		CHECK_EQ(fi_close(&env.domain->fid), -FI_EBUSY);                       \
		CF_CLOSE(object);                                                      \
	} while (0)

static void busy_domain_stays(void)
{
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_mr *mr;
	struct cf_env env;
	char buf[8];

	cf_open_domain(&env, NULL);
	ep = cf_new_ep(&env);
	CHECK_HOLDS_DOMAIN(ep);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_HOLDS_DOMAIN(cq);
	av = cf_new_av(&env);
	CHECK_HOLDS_DOMAIN(av);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	CHECK_HOLDS_DOMAIN(cntr);
	CHECK_OK(fi_mr_reg(env.domain, buf, sizeof(buf), FI_SEND, 0, 1, 0, &mr, NULL));
	CHECK_HOLDS_DOMAIN(mr);
	/* Still usable after all these refusals. */
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void bound_objects_stay(void)
{
	struct cf_options options = { .counters = true, .split_cqs = true };
	struct cf_env env;
	struct cf_side *side = &env.side[0];

	cf_need_connectionless();
	cf_open_pair(&env, &options);
	CHECK_EQ(fi_close(&side->tx_cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&side->rx_cq->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&side->tx_cntr->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&side->rx_cntr->fid), -FI_EBUSY);
	CHECK_EQ(fi_close(&side->av->fid), -FI_EBUSY);
	cf_exchange(&env, 8);
	cf_close(&env);
}

static void bound_queue_stays(void)
{
	struct cf_options options = { .bind_eq = true };
	struct cf_env env;

	cf_open_pair(&env, &options);
	CHECK_EQ(fi_close(&env.eq->fid), -FI_EBUSY);
	cf_close(&env);
}

static void domain_takes_one_queue(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_eq *second;
	struct fid_cq *cq;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	CHECK_OK(fi_eq_open(env.fabric, &attr, &second, NULL));
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EQ(fi_domain_bind(env.domain, &cq->fid, 0), -FI_EINVAL);
	CHECK_OK(fi_domain_bind(env.domain, &env.eq->fid, 0));
	CHECK_EQ(fi_domain_bind(env.domain, &second->fid, 0), -FI_EINVAL);
	CHECK_EQ(fi_close(&env.eq->fid), -FI_EBUSY);
	CF_CLOSE(second);
	CF_CLOSE(cq);
	CF_CLOSE(env.domain);
	cf_close(&env);
}

static void unknown_bind_flags_are_refused(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_OK(fi_eq_open(env.fabric, &attr, &env.eq, NULL));
	CHECK_EITHER(fi_domain_bind(env.domain, &env.eq->fid, 1ULL << 5), -FI_EBADFLAGS,
		-FI_EINVAL);
	cf_close(&env);
}

static void attributes_not_offered_are_refused(void)
{
	struct fid_domain *domain;
	struct cf_env env;

	cf_open_fabric(&env, NULL);
	env.info->domain_attr->mr_mode = FI_MR_RAW | FI_MR_MMU_NOTIFY;
	env.info->domain_attr->cq_data_size = 64;
	CHECK_FAILS(fi_domain(env.fabric, env.info, &domain, NULL));
	cf_close(&env);
}

/* A copy of an entry is as good as the entry, which may be gone. */
static void a_copy_opens_all_the_same(void)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info, *copy;
	struct fid_ep *ep;
	struct fi_info *hints = cf_hints();

	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	copy = fi_dupinfo(info);
	CHECK(copy);
	fi_freeinfo(info);
	fi_freeinfo(hints);
	CHECK_OK(fi_fabric(copy->fabric_attr, &fabric, NULL));
	CHECK_OK(fi_domain(fabric, copy, &domain, NULL));
	CHECK_OK(fi_endpoint(domain, copy, &ep, NULL));
	fi_freeinfo(copy);
	CF_CLOSE(ep);
	CF_CLOSE(domain);
	CF_CLOSE(fabric);
}

static void unknown_operations_are_absent(void)
{
	void *ops = NULL;
	struct cf_env env;

	cf_open_domain(&env, NULL);
	CHECK_EQ(fi_open_ops(&env.fabric->fid, "no such ops", 0, &ops, NULL),
		-FI_ENOSYS);
	CHECK_EITHER(fi_open_ops(&env.domain->fid, "no such ops", 0, &ops, NULL),
		-FI_ENOSYS, -FI_EINVAL);
	CHECK_EQ(
		fi_set_ops(&env.domain->fid, "no such ops", 0, &ops, NULL), -FI_ENOSYS);
	CHECK_EQ(
		fi_set_ops(&env.fabric->fid, "no such ops", 0, &ops, NULL), -FI_ENOSYS);
	cf_close(&env);
}

static ssize_t copy_from(void *dest, size_t size, enum fi_hmem_iface iface,
	uint64_t device, const struct iovec *iov, size_t count, uint64_t offset)
{
	return 0;
}

static ssize_t copy_to(enum fi_hmem_iface iface, uint64_t device,
	const struct iovec *iov, size_t count, uint64_t offset, const void *src,
	size_t size)
{
	return 0;
}

static void device_copies_can_be_overridden(void)
{
	struct fi_hmem_override_ops ops = { .size = sizeof(ops),
		.copy_from_hmem_iov = copy_from,
		.copy_to_hmem_iov = copy_to };
	struct cf_env env;

	NEED_API(2, 0);
	cf_open_domain(&env, NULL);
	CHECK_OK(fi_set_ops(&env.domain->fid, FI_SET_OPS_HMEM_OVERRIDE, 0, &ops, NULL));
	ops.copy_to_hmem_iov = NULL;
	CHECK_FAILS(
		fi_set_ops(&env.domain->fid, FI_SET_OPS_HMEM_OVERRIDE, 0, &ops, NULL));
	cf_close(&env);
}

static void unknown_commands_are_absent(void)
{
	struct cf_env env;
	int value = 0;

	cf_open_domain(&env, NULL);
	CHECK_EQ(fi_control(&env.fabric->fid, 4711, &value), -FI_ENOSYS);
	CHECK_EQ(fi_control(&env.domain->fid, 4711, &value), -FI_ENOSYS);
	CHECK_EQ(fi_get_val(&env.domain->fid, INT32_MIN, &value), -FI_ENOSYS);
	CHECK_EQ(fi_set_val(&env.domain->fid, INT32_MIN, &value), -FI_ENOSYS);
	cf_close(&env);
}

static void peer_domain_is_refused_where_not_offered(void)
{
	struct fi_peer_domain_context peer = { .size = sizeof(peer) };
	struct fid_domain *domain;
	struct cf_env env;

	cf_open_fabric(&env, NULL);
	if (env.info->caps & FI_PEER)
		SKIP("the provider has peer objects");
	CHECK_EITHER(fi_domain2(env.fabric, env.info, &domain, FI_PEER, &peer),
		-FI_EINVAL, -FI_ENOSYS);
	CHECK_FAILS(fi_domain2(env.fabric, env.info, &domain, 1ULL << 3, NULL));
	CHECK_OK(fi_domain2(env.fabric, env.info, &domain, 0, NULL));
	CF_CLOSE(domain);
	cf_close(&env);
}

CF_SUITE(fabric, CF_CASE(fabric_needs_names, "FAB-001", 0),
	CF_CASE(unknown_provider_is_enodev, "FAB-002", 0),
	CF_CASE(fabric2_takes_an_info, "FAB-005", 0),
	CF_CASE(busy_fabric_stays, "FAB-006 VER-018", 0),
	CF_CASE(busy_domain_stays, "FAB-014 VER-018 VER-019", 0),
	CF_CASE(bound_objects_stay, "CQ-029 CNT-022 AV-057 VER-018", FI_MSG),
	CF_CASE(bound_queue_stays, "EQ-024", FI_MSG),
	CF_CASE(domain_takes_one_queue, "FAB-011 FAB-013 EQ-024", 0),
	CF_CASE(unknown_bind_flags_are_refused, "FAB-012", 0),
	CF_CASE(attributes_not_offered_are_refused, "FAB-008", 0),
	CF_CASE(a_copy_opens_all_the_same, "FAB-007 EP-001 GI-008", 0),
	CF_CASE(unknown_operations_are_absent, "FAB-015 FAB-017", 0),
	CF_CASE(device_copies_can_be_overridden, "FAB-016", 0),
	CF_CASE(unknown_commands_are_absent, "FAB-020 OPT-018", 0),
	CF_CASE(peer_domain_is_refused_where_not_offered, "FAB-009 FAB-010", 0));
