/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

/* An endpoint of type FI_EP_RDM on the loopback interface. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

struct loopback {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct sockaddr_in addr;
};

static inline void loopback_open(
	struct loopback *end, const char *provider, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	size_t len = sizeof(end->addr);

	hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 20), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &end->info),
		0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(end->info->fabric_attr, &end->fabric, NULL), 0);
	assert_int_equal(fi_domain(end->fabric, end->info, &end->domain, NULL), 0);
	assert_int_equal(fi_av_open(end->domain, &av_attr, &end->av, NULL), 0);
	assert_int_equal(fi_cq_open(end->domain, &cq_attr, &end->cq, NULL), 0);
	assert_int_equal(fi_endpoint(end->domain, end->info, &end->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(end->ep, &end->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(end->ep), 0);
	assert_int_equal(fi_getname(&end->ep->fid, &end->addr, &len), 0);
}

static inline void loopback_close(struct loopback *end)
{
	assert_int_equal(fi_close(&end->ep->fid), 0);
	assert_int_equal(fi_close(&end->cq->fid), 0);
	assert_int_equal(fi_close(&end->av->fid), 0);
	assert_int_equal(fi_close(&end->domain->fid), 0);
	assert_int_equal(fi_close(&end->fabric->fid), 0);
	fi_freeinfo(end->info);
}

#endif
