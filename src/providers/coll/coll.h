/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_COLL_H
#define WF_COLL_COLL_H

#include <rdma/fi_collective.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_peer_coll.h>
#include <rdma/providers/fi_prov.h>

#include "objects/endpoint/endpoint.h"
#include "providers/coll/param.h"
#include "providers/coll/tag.h"
#include "sys/list.h"
#include "sys/pool.h"
#include "sys/timer.h"

/* The provider name, which applications and parameters use. */
#define COLL_NAME "off_coll"

extern struct fi_provider coll_fi;

#define coll_log(level, subsys, ...) FI_LOG(&coll_fi, level, subsys, __VA_ARGS__)

enum {
	/* Limit of operations in flight in one group; one more gets -FI_EAGAIN. */
	COLL_OPS_MAX = 1024,
	COLL_IOV_MAX = 8,
	COLL_MEMBERS_MAX = 1 << COLL_RANK_BITS,
	COLL_GROUPS_MAX = 1 << COLL_ID_BITS,
};

struct coll_group;

/*
 * An endpoint: collectives over one endpoint of the main provider, its owner.
 *
 * @ep.lock guards all of this, the groups and everything in them. It is held while peer
 * transfers are posted to or cancelled at the owner, whose locks are taken after it.
 * The owner calls its callbacks without a lock, and they take it. The callbacks of
 * fi_peer_coll.h in a main provider are called without it.
 */
struct coll_ep {
	struct wf_ep ep;
	struct fid_ep *owner;
	size_t max_msg_size; /* of the owner, in bytes */
	/* The owner reports the sources of messages, and a receive can name one. */
	bool has_sources;
	bool is_ordered;      /* Messages between two endpoints match in order. */
	struct wf_pool xfers; /* memory of struct coll_xfer */
	struct wf_pool ops;   /* memory of struct coll_op */
	/* Unused operations, with the memory of their schedules. */
	struct wf_list spare_ops;
	size_t in_flight;      /* number of operations whose end was not reported */
	struct wf_list posted; /* transfers at the owner, by coll_xfer.all */
	/* Transfers that the owner has not taken yet, by coll_xfer.all. */
	struct wf_list pending;
	bool is_retrying;        /* coll_xfer_retry is running */
	struct coll_group **ids; /* open groups by id; NULL before the first join */
	uint32_t last_id; /* the latest id; ids ascend, so that an id is reused late */
	uint32_t id_mask; /* random number that hides ids in secrets (tag.h) */
	uint64_t joins;   /* number of joins so far */
	struct wf_list groups; /* open groups, by coll_group.link */
	/* Groups that are joining, in the order of their calls, by join_link. */
	struct wf_list joining;
	struct wf_list joined; /* groups whose callback is due, by joined_link */
	struct coll_group *
		reporting; /* group whose callback runs, in thread @reporter; or NULL */
	pthread_t reporter;
	bool has_ended_joins;       /* Joins that waited for another one may begin. */
	struct wf_list exchanges;   /* exchanges of joins that wait for a message */
	struct wf_list node_groups; /* groups with an operation in the node engine */
	struct wf_list stopped;     /* stopped exchanges that cannot be freed yet */
	struct wf_list ending;      /* operations that have ended for the application */
	/* The standing receive for control messages; NULL before the first join. */
	struct coll_control *control;
	struct wf_list controls; /* control messages that are being sent */
	struct wf_list answers;  /* the same for answers to probes */
	/* Flags with which a probe ends when the member has received it. */
	uint64_t probe_flags;

	/* Is @joined not empty? Written with the lock held, read without. */
	atomic_bool has_joined;
	/* Does run() have work? Written with the lock held, read without. */
	atomic_bool is_busy;
	/* Link in remains.c after the endpoint was closed; see remains.h. */
	struct wf_list remains_link;
	/* Transfers are still under way after the endpoint was closed. */
	bool has_remains;
	bool is_armed;         /* A thread may sleep on @timer. */
	struct wf_timer timer; /* wakes sleeping threads */
	/* Number of calls of run(), for work that is done only now and then. */
	unsigned int runs;
	/* Some group has more processes than processors for them. */
	bool is_oversubscribed;
	unsigned int moves;        /* number of transfers that ended */
	unsigned int moves_before; /* value of @moves at the last call of run() */
	/* Successive calls of run() during which no transfer ended. */
	unsigned int idle_runs;
};

static inline struct coll_ep *coll_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct coll_ep, ep);
}

/* wf_prov.endpoint. */
int coll_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context);

/* calls.c: the calls of fi_collective(3). */
extern struct fi_ops_collective coll_calls;

/* group.c: wf_xfer_ops.join. */
int coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);

/* Call the `joined` callbacks that are due. No lock is held. */
void coll_report_joined(struct coll_ep *ep);

/* Last step of each function that takes the endpoint's lock to change something: store
 * whether run() has work, wake sleeping threads if so, and release the lock. */
void coll_ep_unlock(struct coll_ep *ep);

#endif
