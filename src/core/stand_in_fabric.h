/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_STAND_IN_FABRIC_H
#define WF_CORE_STAND_IN_FABRIC_H

#include <rdma/fi_domain.h>

/* The fabric callback of every stand-in (fi_provider.fabric). With one base it is that
 * base's fabric; with several, one that chooses when a domain is opened. */
int wf_stand_in_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

/* For hints that name an open fabric: the fabric of @base within @fabric, NULL if there
 * is none; @fabric itself if it is not a stand-in's. */
struct fid_fabric *wf_stand_in_fabric_under(
	struct fid_fabric *fabric, const char *base);

#endif
