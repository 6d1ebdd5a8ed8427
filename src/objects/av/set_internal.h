/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_SET_INTERNAL_H
#define WF_OBJECTS_AV_SET_INTERNAL_H

/* Declarations that only the files of the AV set share. */

#include "objects/av/set.h"

/* The operations of a set with members of its own, and of an imported set. */
extern struct fi_ops_av_set wf_av_set_ops;
extern struct fi_ops_av_set wf_av_set_imported_ops;

/* Add a new member. The AV's lock is held. -FI_ENOMEM, also when the set is full. */
int wf_av_set_append(struct wf_av_set *set, fi_addr_t addr);

/* All addresses of @av are below this: its capacity, or the owner's count for an
 * imported AV. */
uint64_t wf_av_set_address_limit(const struct wf_av *av);
/* True if @addr is inserted, or for an imported AV only if it is below @limit. */
bool wf_av_set_is_address(struct wf_av *av, fi_addr_t addr, uint64_t limit);

#endif
