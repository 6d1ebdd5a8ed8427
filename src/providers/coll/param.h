/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_PARAM_H
#define WF_COLL_PARAM_H

#include <stddef.h>
#include <rdma/fi_collective.h>

#include "providers/coll/node/node.h"
#include "providers/coll/sched/sched.h"

/* FI_OFF_COLL_ENGINE. */
enum coll_engine { COLL_ENGINE_AUTO, COLL_ENGINE_P2P, COLL_ENGINE_NODE };

enum { COLL_KINDS = FI_GATHER + 1 };

/* The parameters but for numbers by which the engines choose (setting.h); constant
 * after the provider was loaded. */
struct coll_params {
	enum coll_engine engine;
	enum coll_copy copy;             /* FI_OFF_COLL_COPY */
	enum coll_algo algo[COLL_KINDS]; /* COLL_ALGO_AUTO: chosen for each operation */
	/* Milliseconds after which a member that waits for another one checks whether
	 * it lives. */
	size_t probe_ms;
	/* Limit of the members of one machine that form a node, so that tests have
	 * several nodes on one machine; 0: none. */
	size_t node_size;
};

extern struct coll_params coll_params;

/* The name of @kind in parameters and in the log. */
const char *coll_kind_name(enum fi_collective_op kind);

/* Define and read the parameters. */
void coll_params_init(void);

#endif
