/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_MEMBERS_H
#define WF_LNX_MEMBERS_H

#include "providers/lnx/links.h"
#include "providers/lnx/spec.h"

/* List of members, each with an info of its own. All zero: empty. Used by the first
 * fi_getinfo(3) only. */
struct lnx_members {
	struct lnx_member *list;
	unsigned int count, capacity;
};

/* Add the members that @provider of FI_LNX_PROV_LINKS names. Returns 0, also if there
 * are none, or -FI_ENOMEM: @ret_found is unchanged. */
int lnx_members_find(
	const struct lnx_spec_provider *provider, struct lnx_members *ret_found);

/* Remove the member of the loopback interface, which is used as a rail only if it is
 * named or if there is no other interface. */
void lnx_members_drop_loopback(struct lnx_members *found);

/* Free the list and its infos. */
void lnx_members_free(struct lnx_members *found);

/* Tell the user that nothing of @provider can be linked. */
void lnx_members_tell_none(const struct lnx_spec_provider *provider);

#endif
