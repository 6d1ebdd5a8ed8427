/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_FABRIC_H
#define WF_OBJECTS_FABRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fabric.h>

#include "objects/provider.h"
#include "sys/list.h"

/*
 * An open fabric (fi_fabric(3)). A process-wide list has all open fabrics, because
 * fi_getinfo returns the first open instance of a name (GI-052).
 */
struct wf_fabric {
	struct fid_fabric fid; /* fid.api_version is that of the caller */
	const struct wf_prov *prov;
	char *name;
	atomic_int refs;     /* domains, passive endpoints, EQs, wait sets */
	struct wf_list link; /* in the list of open fabrics */
};

static inline struct wf_fabric *wf_fabric_of(struct fid_fabric *fid)
{
	return wf_container_of(fid, struct wf_fabric, fid);
}

/* Open a fabric of @prov with the operations of @ops; wf_fabric_open
 * (objects/open/open.h) implements fi_fabric(3) with it. -FI_EINVAL without a name,
 * -FI_ENOMEM. The caller holds no lock. */
int wf_fabric_new(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fi_ops_fabric *ops, struct fid_fabric **ret_fabric, void *context);

/* The first open fabric of @prov with the name @name, or NULL. */
struct fid_fabric *wf_fabric_find(const struct wf_prov *prov, const char *name);
/* Is @fid, which may be any address, an open fabric of @prov with the name @name? */
bool wf_fabric_is_open(
	const struct wf_prov *prov, const struct fid_fabric *fid, const char *name);

/*
 * An open domain that fi_getinfo finds by its name; a member of struct wf_domain. Its
 * fields are constant while it is in the process-wide list.
 */
struct wf_open_domain {
	struct wf_list link; /* in the list of open domains */
	struct fid_domain *fid;
	const struct wf_fabric *fabric;
	const char *name; /* name of the domain */
};

void wf_open_domain_add(struct wf_open_domain *open);
void wf_open_domain_remove(struct wf_open_domain *open);

/* The first domain called @name that was opened on a fabric of @prov called
 * @fabric_name, or NULL. */
struct fid_domain *wf_domain_find(
	const struct wf_prov *prov, const char *fabric_name, const char *name);
/* Is @fid, which may be any address, an open domain with these names? */
bool wf_domain_is_open(const struct wf_prov *prov, const struct fid_domain *fid,
	const char *fabric_name, const char *name);

#endif
