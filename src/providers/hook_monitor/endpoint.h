/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_ENDPOINT_H
#define WF_HOOK_MONITOR_ENDPOINT_H

#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "providers/hook_monitor/domain.h"
#include "providers/hook_monitor/file.h"

/*
 * A monitored endpoint, scalable endpoint, context of one, or shared receive context.
 * Providers replace the tables of data transfer calls when an endpoint is enabled; then
 * the hook replaces the new ones. Aliases are not monitored: their calls end in calls
 * of the endpoint.
 */
struct mon_ep {
	struct fi_ops_msg msg; /* replace the tables below, and call them */
	struct fi_ops_tagged tagged;
	struct fi_ops_rma rma;
	struct fi_ops_ep ops; /* of a scalable endpoint only */
	struct fi_ops fid_ops;
	struct fi_ops_msg *below_msg;
	struct fi_ops_tagged *below_tagged;
	struct fi_ops_rma *below_rma;
	struct fi_ops_ep *below_ops;
	struct fi_ops *below_fid;
	struct mon_file *file;
	struct mon_domain *domain;
	struct fid_ep *fid;
	struct mon_peers peers;
	bool has_aliases;    /* or had some; guarded by domain->lock */
	struct wf_list link; /* in domain->kept, when it was closed */
};

/* Monitor @fid. If there is no memory, nothing is changed, which is logged. */
void mon_ep_put(struct fid_ep *fid, struct mon_domain *domain);

/* Replace the calls of a copied table: msg.c, tagged.c, rma.c. */
void mon_msg_replace(struct fi_ops_msg *ops);
void mon_tagged_replace(struct fi_ops_tagged *ops);
void mon_rma_replace(struct fi_ops_rma *ops);

#endif
