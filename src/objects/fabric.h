/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_FABRIC_H
#define WF_OBJECTS_FABRIC_H

#include <stdatomic.h>
#include <rdma/fabric.h>

#include "objects/provider.h"
#include "sys/list.h"

/*
 * An open fabric. Every open one is on a process-wide list, because fi_getinfo
 * hands out the first open instance of a name (GI-052).
 */
struct wf_fabric {
	struct fid_fabric fid; /* fid.api_version governs versioned behaviour */
	const struct wf_prov *prov;
	char *name;
	atomic_int refs; /* domains, passive endpoints, EQs, wait sets */
	struct wf_list link;
};

static inline struct wf_fabric *wf_fabric_of(struct fid_fabric *fid)
{
	return wf_container_of(fid, struct wf_fabric, fid);
}

/* The fi_provider.fabric callback of a provider, given its description. */
int wf_fabric_open(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context);

/* The first open fabric of @prov with that name (and, for the second, the first
 * domain opened on such a fabric with that name), or NULL. */
struct fid_fabric *wf_fabric_find(const struct wf_prov *prov, const char *name);
struct fid_domain *wf_domain_find(
	const struct wf_prov *prov, const char *fabric_name, const char *name);

#endif
