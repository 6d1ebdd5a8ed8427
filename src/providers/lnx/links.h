/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_LINKS_H
#define LNX_LINKS_H

#include <stdbool.h>
#include <rdma/fabric.h>

#include "providers/lnx/name.h"

/* Capabilities that a link offers where every member offers them. */
#define LNX_MEMBER_CAPS                                                                \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |           \
		FI_SOURCE | FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV |               \
		FI_EXACT_DIRECTED_RECV | FI_FENCE | FI_RMA_PMEM)

/* One provider's domain that takes part in a link. */
struct lnx_member {
	struct fi_info *info;       /* as its provider answered */
	char name[FI_NAME_MAX * 2]; /* "tcp:eth0" */
	uint16_t provider;          /* hash of the provider's name */
	uint64_t locality;          /* see locality.h */
	uint64_t op_flags;          /* that it accepts as default flags */
	bool local;                 /* it does not leave the machine */
	bool memory; /* it goes through shared memory, not through sockets */
};

/*
 * What is linked: an lnx domain opens the domains of all members. Found at the first
 * fi_getinfo of the process and constant from then on.
 */
struct lnx_link {
	struct fi_info *tmpl; /* what all members can do */
	unsigned int count;
	unsigned int rails;        /* members that leave the machine */
	bool local[LNX_MAX_LINKS]; /* a copy of each member's @local */
	struct lnx_member member[LNX_MAX_LINKS];
};

enum { LNX_LINKS_MAX = 16 };

/* Ends with NULL; for struct wf_prov. */
extern const struct fi_info *lnx_templates[LNX_LINKS_MAX + 1];

/* Find the links, once. -FI_EINVAL: FI_LNX_PROV_LINKS is wrong; all with the reason
 * logged. No links at all is no error. */
int lnx_links_init(void);
void lnx_links_done(void);

/* The link whose domain has that name, or NULL. */
const struct lnx_link *lnx_link_find(const char *domain_name);

/* template.c: what @link offers, from its members; NULL: no memory. */
struct fi_info *lnx_template(const struct lnx_link *link);

#endif
