/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RDM_ENDPOINT_H
#define TESTS_RDM_ENDPOINT_H

/* A reliable datagram endpoint with its own fabric, domain, queue and address vector,
 * for programs that use the public interface only. */

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

struct rdm_endpoint {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *cq; /* for both directions */
	struct fid_av *av; /* of type FI_AV_TABLE */
};

/* Open everything from @end->info, and enable the endpoint. @open_fabric: fi_fabric of
 * the library that is used. @must ends the program if its first argument, the result of
 * the call that its second argument names, is negative. */
static inline void rdm_endpoint_open(struct rdm_endpoint *end, enum fi_cq_format format,
	int (*open_fabric)(
		struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context),
	void (*must)(ssize_t ret, const char *call))
{
	struct fi_cq_attr cq_attr = { .format = format };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(open_fabric(end->info->fabric_attr, &end->fabric, NULL), "fi_fabric");
	must(fi_domain(end->fabric, end->info, &end->domain, NULL), "fi_domain");
	must(fi_cq_open(end->domain, &cq_attr, &end->cq, NULL), "fi_cq_open");
	must(fi_av_open(end->domain, &av_attr, &end->av, NULL), "fi_av_open");
	must(fi_endpoint(end->domain, end->info, &end->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_ep_bind(end->ep, &end->av->fid, 0), "fi_ep_bind");
	must(fi_enable(end->ep), "fi_enable");
}

#endif
