/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_ENDPOINT_H
#define WF_LNX_ENDPOINT_H

#include "objects/endpoint/endpoint.h"
#include "providers/lnx/av.h"
#include "providers/lnx/domain.h"
#include "providers/lnx/rail.h"
#include "sys/pool.h"

struct lnx_stripe;

/* The function that sends small messages over a rail; see fast_path.c. */
struct lnx_fast_path {
	ssize_t (*send)(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
		size_t len, fi_addr_t addr, uint64_t tag);
	struct wf_ep *ep; /* Endpoint of the builtin member. */
	/* The fast path takes messages shorter than this, in bytes; 0: it takes
	 * none. */
	size_t limit;
};

/* The endpoint of lnx. Constant after fi_enable, except atomic fields and unless a
 * field's comment says otherwise. */
struct lnx_ep {
	struct wf_ep wf;
	struct lnx_av *av;      /* NULL until fi_enable */
	struct wf_list av_link; /* Link in av->eps; guarded by domain->control. */
	unsigned int count;     /* Number of rails that are open. */
	/* Every transmission has a record, because there are several rails or because
	 * statistics are kept. */
	bool tracked;
	bool per_msg;   /* A rail is chosen for each message, not for each peer. */
	bool may_sleep; /* Some thread may sleep until the endpoint has work. */
	/* The first builtin member that uses shared memory; each progress call runs it.
	 * NULL: there is none. */
	struct wf_ep *first;
	/* calls_left: progress calls until network members are polled. rounds: polls of
	 * network members so far. activity: wf_ep_activity() at the last of them. See
	 * progress.c. */
	_Atomic uint32_t calls_left, rounds;
	_Atomic uint64_t activity;
	bool has_memory; /* Some member does not use sockets. */
	/* Indices of the rails that are neither network rails nor @first. */
	uint8_t more[LNX_MAX_LINKS];
	unsigned int more_count;
	/* One for each rail; that of LNX_NO_RAIL takes no message. */
	struct lnx_fast_path fast_path[LNX_MAX_LINKS + 1];
	struct lnx_domain *domain;
	struct lnx_stripe *stripe; /* NULL: no message is striped. */
	/* Descriptors that a sleeping thread watches: those of the members, and
	 * timer_fd. */
	struct wf_fds fds;
	/* Timer that ends a sleep if some member has no descriptor; else -1. */
	int timer_fd;
	bool needs_timer;
	/* Number of sleeps refused since sleep_activity changed. Guarded by the lock of
	 * the receive context. */
	unsigned int sleeps_refused;
	/* wf_ep_activity() when a sleep was last refused. Guarded by the same lock. */
	uint64_t sleep_activity;
	/* Calls that the fast path passes a message on to if it does not take it; those
	 * of objects/endpoint. */
	struct fi_ops_msg plain_msg;
	struct fi_ops_tagged plain_tagged;
	struct wf_lock ops_lock; /* Guards ops_pool and ops. */
	struct wf_pool ops_pool;
	struct wf_list ops; /* All struct lnx_op whose operation has not ended. */
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

/* start.c: start an operation that the fast path does not take. The contract is that of
 * struct wf_xfer_ops.start. */
ssize_t lnx_start(struct wf_ep *ep, struct wf_op *op);

#endif
