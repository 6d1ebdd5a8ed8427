/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_ENDPOINT_H
#define LNX_ENDPOINT_H

#include "objects/endpoint/endpoint.h"
#include "providers/lnx/av.h"
#include "providers/lnx/domain.h"
#include "providers/lnx/rail.h"
#include "sys/pool.h"

/* How small messages leave over a rail; see fast_path.c. */
struct lnx_fast_path {
	ssize_t (*send)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	struct wf_ep *ep; /* the builtin member's */
	size_t limit;     /* messages are shorter, in bytes; 0: none leaves this way */
};

/* The endpoint of lnx. Constant once it is enabled, but for atomic fields and what is
 * marked otherwise. */
struct lnx_ep {
	struct wf_ep wf;
	struct lnx_av *av;      /* NULL until enabled */
	struct wf_list av_link; /* in av->eps; guarded by domain->control */
	unsigned int count;     /* of rails that are open */
	bool tracked;           /* every rail is recorded: several rails, or stats */
	bool per_msg;           /* rails are chosen for each message */
	bool may_sleep;         /* a thread may sleep until there is work */
	/* The first builtin member in memory, which each progress call runs; NULL. */
	struct wf_ep *first;
	/* Progress calls to the next poll of network members, how often those were
	 * polled, and wf_ep_activity() at the last poll; see progress.c. */
	_Atomic uint32_t calls_left, rounds;
	_Atomic uint64_t activity;
	bool has_memory;             /* some member does not go through sockets */
	uint8_t more[LNX_MAX_LINKS]; /* rails that are neither network nor @first */
	unsigned int more_count;
	struct lnx_fast_path fast_path[LNX_MAX_LINKS + 1]; /* none over LNX_NO_RAIL */
	struct lnx_domain *domain;
	struct wf_fds fds; /* for sleepers: the members' descriptors and @timer_fd */
	/* A timer, if some member has no descriptor; else -1. */
	int timer_fd;
	bool needs_timer;
	/* Guarded by the lock of the receive context, as is the next one. */
	unsigned int sleeps_refused; /* since @sleep_activity changed */
	uint64_t sleep_activity; /* wf_ep_activity() when a sleep was refused last */
	/* The calls that the fast path leaves messages to: those of the skeleton. */
	struct fi_ops_msg plain_msg;
	struct fi_ops_tagged plain_tagged;
	struct wf_lock ops_lock; /* guards @ops_pool and @ops */
	struct wf_pool ops_pool;
	struct wf_list ops; /* all struct lnx_op that have not ended */
	struct lnx_rail rail[LNX_MAX_LINKS];
};

static inline struct lnx_ep *lnx_ep_of(struct wf_ep *wf)
{
	return wf_container_of(wf, struct lnx_ep, wf);
}

static inline struct lnx_ep *lnx_ep_of_fid(struct fid_ep *fid)
{
	return wf_container_of(fid, struct lnx_ep, wf.fid);
}

/* Hook of struct wf_prov. */
int lnx_endpoint(struct wf_domain *domain, struct fi_info *info, struct fid_ep **ret_ep,
	uint64_t flags, void *context);

/* start.c: start any operation that the fast path does not take; contract as struct
 * wf_xfer_ops.start. */
ssize_t lnx_start(struct wf_ep *ep, struct wf_op *op);

#endif
