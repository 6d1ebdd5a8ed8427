/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_CALLS_H
#define WF_COLL_CALLS_H

#include "providers/coll/coll.h"
#include "providers/coll/vector.h"

/* One collective call of any form. */
struct coll_call {
	enum fi_collective_op kind;
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count; /* number of elements, as in struct coll_args */
	const void *buf;
	void *result;
	fi_addr_t coll_addr, root_addr;
	/* Flags, including the FI_COMPLETION that the endpoint's default decides. */
	uint64_t flags;
	void *context;
	/* Vectors of a call in message form, used instead of @buf and @result. NULL:
	 * none. */
	const struct fi_ioc *bufv, *resultv;
	size_t buf_count, result_count; /* numbers of entries */
};

/* start.c: check the call and start it. Returns 0, and the end is reported later; or a
 * negative fi_errno, and no end is reported. Takes the endpoint's lock. */
ssize_t coll_start(struct coll_ep *ep, const struct coll_call *call);

#endif
