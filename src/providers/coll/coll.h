/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_H
#define WF_PROVIDERS_COLL_H

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

/* The name that applications and parameters use. */
#define COLL_NAME "off_coll"

extern struct fi_provider coll_fi;

#define coll_log(level, subsys, ...) FI_LOG(&coll_fi, level, subsys, __VA_ARGS__)

enum {
	/* Operations in flight in one group; one more is answered with -FI_EAGAIN. */
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
 * transfers are posted to or cancelled at the owner, whose locks come after it. The
 * owner's callbacks come without a lock and take it. The functions of fi_peer_coll.h
 * that a main provider is called by are called without it.
 */
struct coll_ep {
	struct wf_ep ep;
	struct fid_ep *owner;
	size_t max_msg_size;      /* of the owner, in bytes */
	bool has_sources;         /* the owner reports the sources of messages */
	bool is_ordered;          /* messages between two endpoints match in order */
	struct wf_pool xfers;     /* struct coll_xfer */
	struct wf_pool ops;       /* struct coll_op */
	struct wf_list spare_ops; /* unused ones, with the memory of their schedules */
	size_t in_flight;         /* operations whose end was not reported */
	struct wf_list posted;    /* transfers at the owner; coll_xfer.all */
	struct wf_list pending;   /* transfers that the owner did not take yet */
	bool is_retrying;         /* coll_xfer_retry is running */
	struct coll_group **ids;  /* open groups by id; NULL before the first join */
	uint32_t last_id; /* the latest id; ids ascend, so that an id is used again late
			   */
	uint64_t joins;   /* groups joined so far */
	struct wf_list groups;  /* open groups; coll_group.link */
	struct wf_list joining; /* groups that join, in the order of their calls */
	struct wf_list joined;  /* groups whose callback is due; joined_link */
	struct coll_group
		*telling; /* whose callback runs, in thread @teller; or NULL */
	pthread_t teller;
	bool has_ended_joins;     /* joins that waited for another one may begin */
	struct wf_list exchanges; /* exchanges of joins that wait for a message */
	struct wf_list early; /* join messages that came before this endpoint joined */
	size_t early_bytes;
	struct wf_list node_groups; /* groups with an operation in the node engine */
	struct wf_list stopped; /* exchanges that were stopped, until they are freed */
	struct wf_list ending;  /* operations that ended for the application */
	struct coll_control *control; /* the standing receive, NULL before a join */
	struct wf_list controls;      /* control messages that are being sent */
	uint64_t probe_flags;         /* so that a probe ends when the member has it */

	/* Is @joined not empty? Written with the lock held, read without. */
	atomic_bool has_joined;
	/* Does run() have work to look for? Written with the lock held, read without.
	 */
	atomic_bool is_busy;
	struct wf_list remains_link; /* after it was closed; see remains.h */
	bool has_remains;            /* its transfers are still there */
	bool is_armed;               /* a thread may sleep on @timer */
	struct wf_timer timer;       /* wakes sleepers */
	unsigned int runs;  /* calls of run(), for work that is done now and then */
	bool is_crowded;    /* a group has more processes than processors for them */
	unsigned int moves; /* transfers that ended */
	unsigned int moves_before; /* the same at the last call of run() */
	unsigned int idle_runs;    /* calls of run() in a row in which none had ended */
};

static inline struct coll_ep *coll_ep_of(struct wf_ep *ep)
{
	return wf_container_of(ep, struct coll_ep, ep);
}

/* wf_prov.endpoint. */
int coll_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context);

/* The calls of fi_collective(3); calls.c. */
extern struct fi_ops_collective coll_calls;

/* wf_xfer_ops.join; group.c. */
int coll_join(struct wf_ep *wf, const void *addr, uint64_t flags,
	struct fid_mc **ret_mc, void *context);

/* Call the `joined` callbacks that are due. No lock is held. */
void coll_tell_joined(struct coll_ep *ep);

/* Last step of everything that takes the endpoint's lock to change something: note
 * whether run() has work, wake sleepers if so, and release the lock. */
void coll_ep_unlock(struct coll_ep *ep);

#endif
