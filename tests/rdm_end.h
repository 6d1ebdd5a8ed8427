/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RDM_END_H
#define TESTS_RDM_END_H

/* An endpoint of type FI_EP_RDM with the objects that it needs, by the public
 * interface. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

enum { NAME_ROOM = 256 };

struct rdm_end {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	union {
		struct sockaddr_in addr;
		uint8_t name[NAME_ROOM];
	};
	size_t name_len;
};

/* Open an endpoint as @info says, which rdm_end_close frees. */
static inline void rdm_end_open(struct rdm_end *end, struct fi_info *info,
	uint64_t av_flags, enum fi_wait_obj wait_obj)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = wait_obj };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .flags = av_flags };

	assert_non_null(info);
	*end = (struct rdm_end){ .info = info, .name_len = sizeof(end->name) };
	assert_int_equal(fi_fabric(info->fabric_attr, &end->fabric, NULL), 0);
	assert_int_equal(fi_domain(end->fabric, info, &end->domain, NULL), 0);
	assert_int_equal(fi_av_open(end->domain, &av_attr, &end->av, NULL), 0);
	assert_int_equal(fi_cq_open(end->domain, &cq_attr, &end->cq, NULL), 0);
	assert_int_equal(fi_endpoint(end->domain, info, &end->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(end->ep, &end->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(end->ep), 0);
	assert_int_equal(fi_getname(&end->ep->fid, end->name, &end->name_len), 0);
}

static inline void rdm_end_close(struct rdm_end *end)
{
	assert_int_equal(fi_close(&end->ep->fid), 0);
	assert_int_equal(fi_close(&end->cq->fid), 0);
	assert_int_equal(fi_close(&end->av->fid), 0);
	assert_int_equal(fi_close(&end->domain->fid), 0);
	assert_int_equal(fi_close(&end->fabric->fid), 0);
	fi_freeinfo(end->info);
}

#endif
