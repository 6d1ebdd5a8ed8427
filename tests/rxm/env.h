/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_ENV_H
#define RXM_ENV_H

/* An endpoint of tcp;ofi_rxm on the loopback interface. */
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

struct env {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct sockaddr_in addr;
};

static inline void setup(struct env *env)
{
	struct fi_info *hints = fi_allocinfo();
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	size_t len = sizeof(env->addr);

	hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->addr_format = FI_SOCKADDR_IN;
	assert_int_equal(fi_getinfo(FI_VERSION(1, 20), "127.0.0.1", NULL, FI_SOURCE,
				 hints, &env->info),
		0);
	fi_freeinfo(hints);
	assert_int_equal(fi_fabric(env->info->fabric_attr, &env->fabric, NULL), 0);
	assert_int_equal(fi_domain(env->fabric, env->info, &env->domain, NULL), 0);
	assert_int_equal(fi_av_open(env->domain, &av_attr, &env->av, NULL), 0);
	assert_int_equal(fi_cq_open(env->domain, &cq_attr, &env->cq, NULL), 0);
	assert_int_equal(fi_endpoint(env->domain, env->info, &env->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(env->ep, &env->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(env->ep, &env->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(env->ep), 0);
	assert_int_equal(fi_getname(&env->ep->fid, &env->addr, &len), 0);
}

static inline void teardown(struct env *env)
{
	assert_int_equal(fi_close(&env->ep->fid), 0);
	assert_int_equal(fi_close(&env->cq->fid), 0);
	assert_int_equal(fi_close(&env->av->fid), 0);
	assert_int_equal(fi_close(&env->domain->fid), 0);
	assert_int_equal(fi_close(&env->fabric->fid), 0);
	fi_freeinfo(env->info);
}

#endif
