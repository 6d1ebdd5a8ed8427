/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_DOMAIN_H
#define WF_HOOK_MONITOR_DOMAIN_H

#include <pthread.h>
#include <rdma/fi_domain.h>

#include "providers/hook_monitor/file.h"

/*
 * A monitored domain. The state of an endpoint is freed with the endpoint, unless the
 * endpoint had aliases, which may be closed later and have its tables: then it is kept
 * until the domain is closed.
 */
struct mon_domain {
	struct fi_ops_domain ops; /* replace @below, and call it */
	struct fi_ops_mr mr;      /* replace @below_mr */
	struct fi_ops fid_ops;    /* replace @below_fid */
	struct fi_ops_domain *below;
	struct fi_ops_mr *below_mr;
	struct fi_ops *below_fid;
	struct mon_file *file;
	pthread_mutex_t lock; /* guards the fields below */
	unsigned int opened;  /* A provider may open one domain several times. */
	struct wf_list kept;  /* struct mon_ep of closed endpoints, by link */
};

/* Monitor @fid. If there is no memory, nothing is changed, which is logged. */
void mon_domain_put(struct fid_domain *fid, struct mon_file *file);

#endif
