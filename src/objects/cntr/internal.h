/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CNTR_INTERNAL_H
#define WF_OBJECTS_CNTR_INTERNAL_H

#include "objects/cntr/cntr.h"

/* Declarations that the files of the counter share. */

/* The operations of a counter opened with FI_PEER. */
extern struct fi_ops_cntr wf_cntr_imported_ops;

/* forked.c: the counter cannot be used in a forked child from now on. */
void wf_cntr_in_child(struct wf_fork_hook *hook);

/* Log why a counter is not opened. Returns -FI_EINVAL. */
int wf_cntr_refused(const struct wf_domain *domain, const char *why);

/* Check the context of FI_PEER. -FI_EINVAL, logged. */
int wf_cntr_check_owner(
	const struct wf_domain *domain, const struct fi_peer_cntr_context *peer);

#endif
