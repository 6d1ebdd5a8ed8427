/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_LINKS_H
#define WF_LNX_LINKS_H

#include <stdbool.h>
#include <rdma/fabric.h>

#include "providers/lnx/name.h"

/* Capabilities that a link offers if every member offers them. */
#define LNX_MEMBER_CAPS                                                                \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV | FI_READ |       \
		FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |           \
		FI_SOURCE | FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV |               \
		FI_EXACT_DIRECTED_RECV | FI_FENCE | FI_RMA_PMEM)

/* The domain of one provider that takes part in a link. */
struct lnx_member {
	struct fi_info *info;       /* the answer of its provider to fi_getinfo(3) */
	char name[FI_NAME_MAX * 2]; /* for log messages, such as "tcp:eth0" */
	uint16_t provider;          /* hash of the provider's name */
	/* Identifies the network or machine that the member reaches; see locality.h. */
	uint64_t locality;
	uint64_t op_flags; /* operation flags that it accepts as default flags */
	bool local;        /* It reaches only peers on this machine. */
	bool memory;       /* It uses shared memory, not sockets. */
};

/*
 * A link: a domain of lnx, which opens the domains of all members. Made by the first
 * fi_getinfo of the process and constant from then on.
 */
struct lnx_link {
	struct fi_info *tmpl; /* capabilities and limits that all members have */
	unsigned int count;
	unsigned int rails;        /* Number of members that reach other machines. */
	bool local[LNX_MAX_LINKS]; /* by member: does it reach this machine only? */
	struct lnx_member member[LNX_MAX_LINKS];
};

enum { LNX_LINKS_MAX = 16 };

/* All links' templates, NULL-terminated, for struct wf_prov. */
extern const struct fi_info *lnx_templates[LNX_LINKS_MAX + 1];

/* Make the links, in the first call. Returns 0, also if there are no links; -FI_EINVAL:
 * FI_LNX_PROV_LINKS is wrong; or another negative fi_errno. The reason is logged. */
int lnx_links_init(void);
void lnx_links_done(void);

/* The link whose domain has the name @domain_name, or NULL. */
const struct lnx_link *lnx_link_find(const char *domain_name);

/* template.c: make the template of @link from its members' infos; NULL: no memory. */
struct fi_info *lnx_template(const struct lnx_link *link);

#endif
