/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_ENGINE_H
#define WF_PROVIDERS_COLL_ENGINE_H

#include "providers/coll/args.h"
#include "providers/coll/calls.h"
#include "providers/coll/group.h"

struct coll_op;

/*
 * The choice of an engine for each operation. The endpoint's lock is held.
 */

/* Begin an operation of @group, which is open. @stage is freed at its end, and also
 * when the result is not 0. 0 or a negative fabric errno; the end is reported in the
 * first case. */
ssize_t coll_engine_start(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call);

/* The fast path of barriers and small allreduces: if @call is one that the node engine
 * ends at once, do it, report its end and return true. False: nothing was reported, and
 * coll_engine_start has to follow. */
bool coll_engine_fast_path(struct coll_group *group, const struct coll_call *call);

/* Run @args, a part of @op, in the node engine, when @op is the first operation that
 * has such parts. 0: it has ended. -FI_EAGAIN: coll_exec_resume is called later.
 * Another negative fabric errno: the node engine does not work any more. */
int coll_engine_node(struct coll_op *op, const struct coll_args *args);

/* Go on with the operations in the node engine. */
void coll_engine_progress(struct coll_ep *ep);

/* A coll_node_tell_fn: log how operations of the group @arg copy from now on. */
void coll_engine_tell_copy(void *arg, const struct coll_node_choice *choice);

#endif
