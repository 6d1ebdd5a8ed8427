/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOWER_CNTR_H
#define WF_OBJECTS_LOWER_CNTR_H

#include <rdma/providers/fi_peer.h>

#include "objects/cntr/cntr.h"
#include "objects/lower/domain.h"

/* A counter of this library that a provider below imported (fi_peer(3)): completions of
 * that provider are counted by it. */
struct wf_lower_cntr {
	struct fid_peer_cntr port; /* what the provider below calls */
	struct fid_cntr *fid;      /* its counter, to be bound there; NULL: none */
};

/* Import @cntr into @below. @ops: operations that the provider below calls instead of
 * counting by @cntr; they find @cntr in port.fid.context. NULL: @cntr counts. 0 or a
 * negative FI_E code with a log line; then nothing was imported. */
int wf_lower_cntr_import(struct wf_lower_cntr *ret, const struct wf_lower_domain *below,
	struct wf_cntr *cntr, struct fi_ops_cntr_owner *ops);

/* Close the import, after the objects that it is bound to. No-op if there is none. */
void wf_lower_cntr_close(
	struct wf_lower_cntr *imported, const struct wf_lower_domain *below);

#endif
