/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_MEMBERS_H
#define LNX_MEMBERS_H

#include "providers/lnx/links.h"
#include "providers/lnx/spec.h"

/* Members that were found, each with an info of its own. All zero: none. Control calls
 * of the first fi_getinfo(3). */
struct lnx_members {
	struct lnx_member *list;
	unsigned int count, capacity;
};

/* Find what @part of FI_LNX_PROV_LINKS names; nothing found is no error. -FI_ENOMEM:
 * @ret_found is unchanged. */
int lnx_members_find(const struct lnx_spec_part *part, struct lnx_members *ret_found);

/* Drop the loopback interface, which is a rail only by name, unless there is no other
 * one. */
void lnx_members_drop_loopback(struct lnx_members *found);

/* Free the list and the infos in it. */
void lnx_members_free(struct lnx_members *found);

#endif
