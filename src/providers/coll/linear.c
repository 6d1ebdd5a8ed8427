/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "providers/coll/sched/sched.h"

/* Barrier and broadcast with one member that sends to and receives from all others:
 * what there is until sched/ has its algorithms, which replace this file. */

const char *coll_algo_name(enum coll_algo algo)
{
	return algo == COLL_ALGO_LINEAR ? "linear" : "auto";
}

bool coll_algo_fits(enum fi_collective_op kind, enum coll_algo algo)
{
	return algo == COLL_ALGO_LINEAR && (kind == FI_BARRIER || kind == FI_BROADCAST);
}

enum coll_algo coll_choose(const struct coll_args *args, enum coll_algo forced)
{
	(void)args;
	(void)forced;
	return COLL_ALGO_LINEAR;
}

static void add(struct coll_sched *sched, enum coll_act_kind kind, uint32_t peer,
	const struct coll_args *args)
{
	bool has_data = args->kind == FI_BROADCAST;

	sched->act[sched->count++] = (struct coll_act){
		.kind = kind,
		.peer = peer,
		.len = has_data ? args->count * args->size : 0,
		.src = args->buf,
		.dst = args->result,
	};
}

static void add_all(
	struct coll_sched *sched, enum coll_act_kind kind, const struct coll_args *args)
{
	for (uint32_t i = 0; i < args->members; i++)
		if (i != args->rank)
			add(sched, kind, i, args);
	add(sched, COLL_ACT_WAIT, 0, args);
}

int coll_sched_build(
	struct coll_sched *sched, const struct coll_args *args, enum coll_algo algo)
{
	(void)algo;
	if (args->kind != FI_BARRIER && args->kind != FI_BROADCAST)
		return -FI_EOPNOTSUPP;
	sched->act = calloc(2 * ((size_t)args->members + 1), sizeof(*sched->act));
	if (!sched->act)
		return -FI_ENOMEM;
	if (args->rank != args->root) {
		if (args->kind == FI_BARRIER)
			add(sched, COLL_ACT_SEND, args->root, args);
		add(sched, COLL_ACT_RECV, args->root, args);
		return 0;
	}
	if (args->kind == FI_BARRIER)
		add_all(sched, COLL_ACT_RECV, args);
	add_all(sched, COLL_ACT_SEND, args);
	return 0;
}

void coll_sched_done(struct coll_sched *sched)
{
	free(sched->act);
	free(sched->temp);
}
