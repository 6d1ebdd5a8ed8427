/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_EXEC_H
#define WF_PROVIDERS_COLL_EXEC_H

#include "providers/coll/group.h"
#include "providers/coll/sched/sched.h"

struct coll_call;

/*
 * An operation of a group, from the call until its last transfer has ended. The
 * endpoint's lock is held for all calls.
 */
struct coll_op {
	struct wf_list link; /* in coll_group.ops, or coll_ep.ending */
	/* In coll_group.node_ops while @node_acts is not 0. */
	struct wf_list node_link;
	size_t node_acts; /* actions for the node engine that are left */
	bool is_in_node;  /* one of them is running */
	struct coll_ep *ep;
	struct coll_group *group; /* NULL after the end was reported, or group closed */
	bool is_reported;         /* the application knows of the end */
	struct coll_args args;
	struct coll_sched sched;
	size_t next;               /* the action to execute */
	struct wf_list xfers;      /* transfers that did not end; coll_xfer.link */
	unsigned int sends, recvs; /* their number */
	uint16_t number;           /* of the operation in its group */
	uint16_t *steps; /* messages so far to and from each member, or NULL */
	void *context;   /* the application's */
	uint64_t flags;  /* operation flags, with FI_COMPLETION settled */
	struct coll_staging *stage; /* buffers that stand for the application's */
	int err;                    /* negative fabric errno, once it failed */
	uint64_t failed_ns;         /* when that was */
	uint64_t waits_ns;          /* when it was last found waiting; 0: not yet */
	size_t moved;               /* transfers that ended */
	size_t moved_before;        /* the same when it was last found waiting */
};

/* Get the memory of an operation: the next coll_op_new does not fail. False: there is
 * no memory. */
bool coll_op_reserve(struct coll_ep *ep);

/* A new operation of @group, which leaves it at its end; NULL: no memory. @stage is
 * freed with it. */
struct coll_op *coll_op_new(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call);

/* Begin the operation, whose schedule is built. It may end inside. */
void coll_exec_start(struct coll_op *op);

/* End it with @err, a negative fabric errno, as soon as its transfers allow. */
void coll_exec_fail(struct coll_op *op, int err);

/* The end of an operation without transfers: report it to the application, and free
 * @op. */
void coll_op_end(struct coll_op *op, int err);

/* Free an operation that was not begun, or whose end was reported. */
void coll_op_free(struct coll_op *op);

/* Go on with an operation of which an action for the node engine has ended, or may
 * begin. It may end inside. */
void coll_exec_resume(struct coll_op *op);

/* Free the memory that is kept for later operations; the endpoint is closed. */
void coll_op_free_spare(struct coll_ep *ep);

/* Take the operations, which have failed, from a group that is being closed: they are
 * reported when their transfers have ended. */
void coll_exec_detach(struct coll_group *group);

/* Now and then: end operations that failed and whose transfers do not end, and probe
 * the members that others wait for. */
void coll_exec_watch(struct coll_ep *ep, uint64_t now_ns);

#endif
