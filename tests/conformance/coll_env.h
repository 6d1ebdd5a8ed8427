/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFORMANCE_COLL_ENV_H
#define TESTS_CONFORMANCE_COLL_ENV_H

#include <rdma/fi_collective.h>

#include "../model/coll_model.h"
#include "suites.h"

/*
 * Groups of endpoints in one process, each with an AV, a CQ and an EQ of its own. A
 * thread drives all of them in turn.
 */
enum { CL_MEMBERS_MAX = 33 };

/* One operation at one member. The operation's context is that of this structure. */
struct cl_op {
	struct fi_context2 context;
	bool done;
	int err;        /* positive fi_errno of an error entry */
	uint64_t flags; /* flags of the completion */
};

struct cl_member {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_av *av;
	struct fid_eq *eq;
	/* AV indices of all endpoints, in this one's AV. */
	fi_addr_t addr[CL_MEMBERS_MAX];
	/* The fid of the latest FI_JOIN_COMPLETE, or its error. */
	struct fid *joined;
	void *joined_context;
	int join_err;
	unsigned int joins; /* number of joins */
};

struct cl_env {
	struct cf_env base; /* without the pair of endpoints */
	uint32_t count;
	struct cl_member member[CL_MEMBERS_MAX];
	size_t stray; /* completions with other contexts than cl_ops */
};

struct cl_options {
	uint64_t caps; /* capabilities besides FI_MSG, FI_TAGGED and FI_COLLECTIVE */
	uint64_t cq_flags; /* flags of the binding */
	bool counters; /* bound to the direction of FI_COLLECTIVE, which is FI_SEND */
	bool mixed;    /* Each AV has the addresses in a different order. */
	bool ids;      /* Completions report ids instead of the addresses. */
	bool room;     /* Queues are large, for many operations in flight. */
	bool sleeps;   /* Threads can sleep on the queues. */
	enum fi_progress progress;
};

/* Open @count endpoints, which all have each other's addresses. Skips the case if
 * collectives are not offered. @options may be NULL. */
void cl_open(struct cl_env *env, uint32_t count, const struct cl_options *options);
void cl_close(struct cl_env *env);
/* Read all queues once; results are stored in cl_ops and members. */
void cl_step(struct cl_env *env);
/* Read the queues of @member only, without progress of other members. */
void cl_step_one(struct cl_env *env, struct cl_member *member);

/* Repeat @call, and cl_step, while it returns -FI_EAGAIN. */
#define CL_RETRY(env, call)                                                            \
	do {                                                                           \
		uint64_t deadline_ = cf_now_ms() + CF_TIMEOUT_MS;                      \
		long long again_;                                                      \
		while ((again_ = (long long)(call)) == -FI_EAGAIN &&                   \
			cf_now_ms() < deadline_)                                       \
			cl_step(env);                                                  \
		CHECK_OK(again_);                                                      \
	} while (0)

/* Make progress at all members until @cond. */
#define CL_UNTIL(env, cond)                                                            \
	do {                                                                           \
		uint64_t deadline_ = cf_now_ms() + CF_TIMEOUT_MS;                      \
		while (!(cond)) {                                                      \
			if (cf_now_ms() > deadline_)                                   \
				cf_fail(__FILE__, __LINE__, "never: %s", #cond);       \
			cl_step(env);                                                  \
		}                                                                      \
	} while (0)

/* ---- groups ---- */

/* A group: its rank r is endpoint at[r] of the environment. */
struct cl_group {
	uint32_t count;
	uint32_t at[CL_MEMBERS_MAX];
	struct fid_av_set *set[CL_MEMBERS_MAX];
	struct fid_mc *mc[CL_MEMBERS_MAX];
	fi_addr_t addr[CL_MEMBERS_MAX]; /* address of the group at each member */
};

/* The ranks of @group are the endpoints @first, @first + @stride, ... */
void cl_range(struct cl_group *group, uint32_t count, uint32_t first, uint32_t stride);
/* An empty set of @member's AV. */
struct fid_av_set *cl_empty_set(struct cl_member *member);
/* Make sets of @group's members by inserting them one after the other. */
void cl_insert_sets(struct cl_env *env, struct cl_group *group);
/* Start joining at rank @rank, with the set alone. */
void cl_start_join(struct cl_env *env, struct cl_group *group, uint32_t rank);
/* Wait until rank @rank has joined, and store the group's address. */
void cl_end_join(struct cl_env *env, struct cl_group *group, uint32_t rank);
/* Join at all members, which have sets. */
void cl_join(struct cl_env *env, struct cl_group *group);
/* Make the sets and join. */
void cl_form(struct cl_env *env, struct cl_group *group);
/* Leave the group, and close the sets. */
void cl_leave(struct cl_group *group);

/* ---- operations ---- */

/* One operation of a whole group, with its buffers. */
struct cl_work {
	struct cm_call call;
	struct cl_group *group;
	bool in_place;
	bool message;   /* call in message form, with vectors of several entries */
	uint64_t flags; /* flags of the calls */
	void *desc[CL_MEMBERS_MAX], *result_desc[CL_MEMBERS_MAX];
	/* Buffers of each member, which cl_prepare allocates. */
	void *buf[CL_MEMBERS_MAX], *result[CL_MEMBERS_MAX];
	struct cl_op op[CL_MEMBERS_MAX];
};

/* Fill the buffers of all members. */
void cl_prepare(struct cl_work *work);
/* Make the call at rank @rank; returns its result. */
ssize_t cl_call(struct cl_env *env, struct cl_work *work, uint32_t rank);
/* The same with CL_RETRY. */
void cl_start(struct cl_env *env, struct cl_work *work, uint32_t rank);
bool cl_done(const struct cl_work *work);
/* Check the results of operations that succeeded, and free the buffers. */
void cl_verify(struct cl_work *work);
/* Prepare, start at all members, wait, verify. */
void cl_run(struct cl_env *env, struct cl_work *work);

extern const enum fi_collective_op cl_kinds[];
enum { CL_KINDS = 9 };
/* A datatype of the model. */
const struct am_type *cl_type(enum fi_datatype datatype);

#endif
