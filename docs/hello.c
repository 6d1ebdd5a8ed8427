/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest program over libfabric: an endpoint that sends itself a message. */
#include <stdio.h>
#include <stdlib.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#define MUST(call)                                                                     \
	do {                                                                           \
		int ret_ = (int)(call);                                                \
		if (ret_ < 0) {                                                        \
			fprintf(stderr, "%s: %s\n", #call, fi_strerror(-ret_));        \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

/* The first endpoint that needs no connection. */
static struct fi_info *choose(struct fi_info *list)
{
	while (list && list->ep_attr->type == FI_EP_MSG)
		list = list->next;
	if (!list) {
		fprintf(stderr, "no connectionless endpoint is offered\n");
		exit(1);
	}
	return list;
}

int main(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	char name[256], out[] = "hello", in[sizeof(out)] = "";
	struct fi_info *hints = fi_allocinfo(), *list, *info;
	struct fi_cq_entry entries[2];
	size_t name_len = sizeof(name);
	struct fi_context2 contexts[2];
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t self;

	if (!hints)
		return 1;
	hints->caps = FI_MSG;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	MUST(fi_getinfo(FI_VERSION(1, 20), NULL, NULL, 0, hints, &list));
	info = choose(list);

	MUST(fi_fabric(info->fabric_attr, &fabric, NULL));
	MUST(fi_domain(fabric, info, &domain, NULL));
	MUST(fi_cq_open(domain, &cq_attr, &cq, NULL));
	MUST(fi_av_open(domain, &av_attr, &av, NULL));
	MUST(fi_endpoint(domain, info, &ep, NULL));
	MUST(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_ep_bind(ep, &av->fid, 0));
	MUST(fi_enable(ep));

	MUST(fi_getname(&ep->fid, name, &name_len));
	if (fi_av_insert(av, name, 1, &self, 0, NULL) != 1)
		return 1;
	MUST(fi_recv(ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, &contexts[0]));
	while (fi_send(ep, out, sizeof(out), NULL, self, &contexts[1]) == -FI_EAGAIN)
		(void)fi_cq_read(cq, NULL, 0);
	/* Both completions: that of the send and that of the receive. */
	for (ssize_t done = 0, n; done<2; done += n> 0 ? n : 0) {
		n = fi_cq_read(cq, entries, 2);
		if (n != -FI_EAGAIN)
			MUST(n);
	}
	printf("%s over %s\n", in, info->fabric_attr->prov_name);

	MUST(fi_close(&ep->fid));
	MUST(fi_close(&av->fid));
	MUST(fi_close(&cq->fid));
	MUST(fi_close(&domain->fid));
	MUST(fi_close(&fabric->fid));
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return 0;
}
