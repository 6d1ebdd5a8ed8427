/* SPDX-License-Identifier: BSD-2-Clause */
/* Versions, and the rules that every object follows. */
#include "suites.h"

static const uint32_t versions[] = {
	FI_VERSION(1, 0),
	FI_VERSION(1, 1),
	FI_VERSION(1, 4),
	FI_VERSION(1, 5),
	FI_VERSION(1, 9),
	FI_VERSION(1, 17),
	FI_VERSION(1, 20),
	FI_VERSION(2, 0),
	FI_VERSION(2, 5),
	FI_VERSION(2, 6),
};

static void library_is_recent_enough(void)
{
	uint32_t version = fi_version();

	CHECK_EQ(FI_MAJOR(version), version >> 16);
	CHECK_EQ(FI_MINOR(version), version & 0xffff);
	CHECK(FI_VERSION_GE(version, cf_target.version));
}

static void library_reports_2_6(void)
{
	NEED_API(2, 0);
	CHECK_EQ(fi_version(), FI_VERSION(2, 6));
}

static void newer_version_is_refused(void)
{
	struct fi_info *info = NULL;

	CHECK_EQ(fi_getinfo(fi_version() + 1, NULL, NULL, 0, NULL, &info), -FI_ENOSYS);
	CHECK_EQ(fi_getinfo(FI_VERSION(FI_MAJOR(fi_version()) + 1, 0), NULL, NULL, 0,
			 NULL, &info),
		-FI_ENOSYS);
}

/* An old program leaves mr_mode alone or sets what it had; 0 suits all. */
static void every_version_is_served_and_echoed(void)
{
	for (size_t i = 0; i < CF_COUNT(versions); i++) {
		struct fi_info *hints = cf_hints(), *info;

		if (versions[i] > fi_version())
			continue;
		cf_fewest_mr_bits(hints, versions[i]);
		hints->mode |= versions[i] < FI_VERSION(1, 5) ? CF_LOCAL_MR : 0;
		CHECK_OK(cf_getinfo(versions[i], hints, &info));
		for (struct fi_info *cur = info; cur; cur = cur->next)
			CHECK_EQ(cur->fabric_attr->api_version, versions[i]);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}

static void fabric_keeps_the_version(void)
{
	for (size_t i = 0; i < CF_COUNT(versions); i++) {
		struct fi_info *hints = cf_hints(), *info;
		struct fid_fabric *fabric;

		if (versions[i] > fi_version())
			continue;
		cf_fewest_mr_bits(hints, versions[i]);
		hints->mode |= versions[i] < FI_VERSION(1, 5) ? CF_LOCAL_MR : 0;
		CHECK_OK(cf_getinfo(versions[i], hints, &info));
		CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
		CHECK_EQ(fabric->api_version, versions[i]);
		CF_CLOSE(fabric);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}

#define CHECK_FID(object, class, ctx)                                                  \
	do {                                                                           \
		CHECK_EQ((object)->fid.fclass, class);                                 \
		CHECK((object)->fid.context == (ctx));                                 \
		CHECK((object)->fid.ops);                                              \
	} while (0)

static void objects_keep_class_and_context(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	int contexts[8];
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	struct cf_env env;
	char buf[64];

	cf_open_fabric(&env, NULL);
	CHECK_OK(fi_fabric(env.info->fabric_attr, &fabric, &contexts[0]));
	CHECK_FID(fabric, FI_CLASS_FABRIC, &contexts[0]);
	CHECK_OK(fi_domain(fabric, env.info, &domain, &contexts[1]));
	CHECK_FID(domain, FI_CLASS_DOMAIN, &contexts[1]);
	CHECK_OK(fi_eq_open(fabric, &eq_attr, &eq, &contexts[2]));
	CHECK_FID(eq, FI_CLASS_EQ, &contexts[2]);
	CHECK_OK(fi_cq_open(domain, &cq_attr, &cq, &contexts[3]));
	CHECK_FID(cq, FI_CLASS_CQ, &contexts[3]);
	CHECK_OK(fi_cntr_open(domain, &cntr_attr, &cntr, &contexts[4]));
	CHECK_FID(cntr, FI_CLASS_CNTR, &contexts[4]);
	CHECK_OK(fi_av_open(domain, &av_attr, &av, &contexts[5]));
	CHECK_FID(av, FI_CLASS_AV, &contexts[5]);
	CHECK_OK(fi_endpoint(domain, env.info, &ep, &contexts[6]));
	CHECK_FID(ep, FI_CLASS_EP, &contexts[6]);
	CHECK_OK(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND | FI_RECV, 0, 1, 0, &mr,
		&contexts[7]));
	CHECK_FID(mr, FI_CLASS_MR, &contexts[7]);
	CF_CLOSE(mr);
	CF_CLOSE(ep);
	CF_CLOSE(av);
	CF_CLOSE(cntr);
	CF_CLOSE(cq);
	CF_CLOSE(eq);
	CF_CLOSE(domain);
	CF_CLOSE(fabric);
	cf_close(&env);
}

CF_SUITE(version, CF_CASE(library_is_recent_enough, "VER-001 VER-002", 0),
	CF_CASE(library_reports_2_6, "VER-003", 0),
	CF_CASE(newer_version_is_refused, "VER-004", 0),
	CF_CASE(every_version_is_served_and_echoed, "GI-042 VER-005", 0),
	CF_CASE(fabric_keeps_the_version, "FAB-004", 0),
	CF_CASE(objects_keep_class_and_context, "VER-015", 0));
