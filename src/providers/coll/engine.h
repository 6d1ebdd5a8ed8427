/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_ENGINE_H
#define WF_COLL_ENGINE_H

#include "providers/coll/args.h"
#include "providers/coll/calls.h"
#include "providers/coll/group.h"

struct coll_op;

/*
 * The choice of an engine for each operation. The endpoint's lock is held in all
 * functions.
 */

/* Start an operation of @group, which is open. @stage is freed at its end, and also
 * when the result is not 0. Returns 0, and the end is reported later; or a negative
 * fi_errno. */
ssize_t coll_engine_start(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call);

/* The fast path of barriers and small allreduces: if @call is one that the node engine
 * completes at once, execute it, report its end and return true. False: nothing was
 * reported, and coll_engine_start has to follow. */
bool coll_engine_fast_path(struct coll_group *group, const struct coll_call *call);

/* Execute @args, an action of @op, in the node engine; @op is the first operation with
 * such actions. Returns 0: it has ended; -FI_EAGAIN: coll_exec_resume is called later;
 * another negative fi_errno: the node engine cannot be used any more. */
int coll_engine_node(struct coll_op *op, const struct coll_args *args);

/* Continue the operations in the node engine. */
void coll_engine_progress(struct coll_ep *ep);

/* A coll_node_tell_fn: log how operations of the group @arg copy data from now on. */
void coll_engine_tell_copy(void *arg, const struct coll_node_choice *choice);

#endif
