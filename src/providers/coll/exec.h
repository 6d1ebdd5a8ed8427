/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_EXEC_H
#define WF_COLL_EXEC_H

#include "providers/coll/group.h"
#include "providers/coll/sched/sched.h"

struct coll_call;

/*
 * An operation of a group, from the call until its last transfer has ended. The
 * endpoint's lock is held in all functions.
 */
struct coll_op {
	struct wf_list link; /* link in coll_group.ops or coll_ep.ending */
	/* In coll_group.node_ops while @node_acts is not 0. */
	struct wf_list node_link;
	size_t node_acts; /* number of actions for the node engine that are left */
	bool is_in_node;  /* One of these actions is running. */
	struct coll_ep *ep;
	/* NULL after the end was reported or the group was closed. */
	struct coll_group *group;
	bool is_reported; /* The end was reported to the application. */
	struct coll_args args;
	struct coll_sched sched;
	size_t next;          /* index of the next action */
	struct wf_list xfers; /* transfers that have not ended, by coll_xfer.link */
	unsigned int sends, recvs; /* numbers of sends and of receives in @xfers */
	uint16_t number;           /* number of the operation in its group */
	uint16_t *steps; /* for each member, messages so far to and from it; or NULL */
	void *context;   /* the application's context */
	uint64_t flags;  /* operation flags, including the default FI_COMPLETION */
	/* Buffers used instead of the application's; NULL: none. */
	struct coll_staging *stage;
	int err;             /* negative fi_errno after it has failed; else 0 */
	uint64_t failed_ns;  /* time of the failure */
	uint64_t waits_ns;   /* time when it was last found waiting; 0: not yet */
	size_t moved;        /* number of transfers that ended */
	size_t moved_before; /* value of @moved when it was last found waiting */
};

/* Allocate the memory of an operation in advance: the next coll_op_new does not fail.
 * False: no memory. */
bool coll_op_reserve(struct coll_ep *ep);

/* Make an operation of @group, in which it is until its end; NULL: no memory. @stage is
 * freed with it. */
struct coll_op *coll_op_new(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call);

/* Start the operation, whose schedule is built. It may end before this returns. */
void coll_exec_start(struct coll_op *op);

/* End it with @err, a negative fi_errno, as soon as its transfers have ended. */
void coll_exec_fail(struct coll_op *op, int err);

/* End an operation without transfers: report it to the application, and free @op. */
void coll_op_end(struct coll_op *op, int err);

/* Free an operation that was not begun, or whose end was reported. */
void coll_op_free(struct coll_op *op);

/* Continue an operation, because an action for the node engine has ended, or can begin.
 * The operation may end before this returns. */
void coll_exec_resume(struct coll_op *op);

/* Free the memory that is kept for later operations; the endpoint is being closed. */
void coll_op_free_spare(struct coll_ep *ep);

/* Detach the operations, which have failed, from a group that is being closed: they are
 * reported when their transfers have ended. */
void coll_exec_detach(struct coll_group *group);

/* Called now and then: end failed operations whose transfers do not end, and probe the
 * members that operations wait for. */
void coll_exec_watch(struct coll_ep *ep, uint64_t now_ns);

#endif
