/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_CALLS_H
#define WF_PROVIDERS_COLL_CALLS_H

#include "providers/coll/coll.h"
#include "providers/coll/stage.h"

/* One collective call of any form. */
struct coll_call {
	enum fi_collective_op kind;
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count; /* elements, as in struct coll_args */
	const void *buf;
	void *result;
	fi_addr_t coll_addr, root_addr;
	uint64_t flags; /* with FI_COMPLETION settled */
	void *context;
	/* Vectors of the message form, instead of @buf and @result. NULL: none. */
	const struct fi_ioc *bufv, *resultv;
	size_t buf_count, result_count; /* entries in them */
};

/* Check the call and begin it. 0, or the negative fabric errno of the call; its end is
 * reported in the first case. Takes the endpoint's lock. start.c. */
ssize_t coll_start(struct coll_ep *ep, const struct coll_call *call);

#endif
