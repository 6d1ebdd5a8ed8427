/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/param.h"

#include <stdio.h>
#include <strings.h>

#include "objects/param.h"
#include "providers/coll/coll.h"

struct coll_params coll_params = { .probe_ms = 500 };

static const struct wf_param rows[] = {
	WF_PARAM_SIZE("probe_time", &coll_params.probe_ms, 1, 3600 * 1000,
		"Milliseconds after which a member that waits for another one checks "
		"whether that one can be reached (default: 500)"),
	WF_PARAM_SIZE("node_size", &coll_params.node_size, 0, COLL_MEMBERS_MAX,
		"Members of one machine that count as one node at most, the others "
		"are reached by messages (default: 0, all)"),
	WF_PARAM_SIZE("degree", &coll_params.degree, COLL_DEGREE_AUTO, COLL_DEGREE_MAX,
		"Members of one machine that one member waits for in small barriers, "
		"broadcasts, reduces and allreduces: the children of a tree; 1: all "
		"others, without a tree (default: 0, by the number of members)"),
};

static const char *const engines[] = {
	[COLL_ENGINE_AUTO] = "auto",
	[COLL_ENGINE_P2P] = "p2p",
	[COLL_ENGINE_NODE] = "node",
};

static const char *const copies[] = {
	[COLL_COPY_DIRECT] = "direct",
	[COLL_COPY_SEGMENT] = "segment",
	[COLL_COPY_AUTO] = "auto",
};

static const struct kind {
	const char *name;  /* name of the call in fi_collective(3) */
	const char *param; /* parameter that forces its algorithm */
} kinds[COLL_KINDS] = {
	[FI_BARRIER] = { "barrier", "barrier" },
	[FI_BROADCAST] = { "broadcast", "broadcast" },
	[FI_ALLTOALL] = { "alltoall", "alltoall" },
	[FI_ALLREDUCE] = { "allreduce", "allreduce" },
	[FI_ALLGATHER] = { "allgather", "allgather" },
	[FI_REDUCE_SCATTER] = { "reduce_scatter", "reduce_scatter" },
	[FI_REDUCE] = { "reduce", "reduce" },
	[FI_SCATTER] = { "scatter", "scatter" },
	[FI_GATHER] = { "gather", "gather" },
};

const char *coll_kind_name(enum fi_collective_op kind)
{
	return kinds[kind].name;
}

static void warn(const char *param, const char *text, const char *possible)
{
	coll_log(FI_LOG_WARN, FI_LOG_CORE,
		"parameter %s: asked %s, possible %s; ignored\n", param, text,
		possible);
}

static void read_engine(void)
{
	int engine = COLL_ENGINE_AUTO;

	(void)fi_param_define(&coll_fi, "engine", FI_PARAM_STRING,
		"The engine for all collectives: auto, p2p (messages between the "
		"members), or node (shared memory, where all members are on one "
		"machine; else p2p) (default: auto)");
	wf_param_read_name(
		&coll_fi, "engine", engines, WF_ARRAY_SIZE(engines), &engine);
	coll_params.engine = (enum coll_engine)engine;
}

static void read_copy(void)
{
	int copy = COLL_COPY_AUTO;

	(void)fi_param_define(&coll_fi, "copy", FI_PARAM_STRING,
		"How members of one machine copy large data: direct (from the memory "
		"of "
		"the other process), segment (through shared memory), or auto (what "
		"the "
		"first member measures to be faster) (default: auto)");
	wf_param_read_name(&coll_fi, "copy", copies, WF_ARRAY_SIZE(copies), &copy);
	coll_params.copy = (enum coll_copy)copy;
}

/* List the names of the algorithms of @kind, separated by commas. */
static void list_algos(enum fi_collective_op kind, char *buf, size_t len)
{
	size_t used = (size_t)snprintf(buf, len, "auto");

	for (int algo = COLL_ALGO_AUTO + 1; algo < COLL_ALGO_COUNT; algo++)
		if (coll_algo_fits(kind, (enum coll_algo)algo) && used < len)
			used += (size_t)snprintf(buf + used, len - used, ", %s",
				coll_algo_name((enum coll_algo)algo));
}

static void read_algo(enum fi_collective_op kind)
{
	const char *param = kinds[kind].param;
	char possible[256], *text;

	list_algos(kind, possible, sizeof(possible));
	(void)fi_param_define(&coll_fi, param, FI_PARAM_STRING,
		"The algorithm of %s over messages: %s (default: auto)",
		kinds[kind].name, possible);
	if (fi_param_get_str(&coll_fi, param, &text) || !strcasecmp(text, "auto"))
		return;
	for (int algo = COLL_ALGO_AUTO + 1; algo < COLL_ALGO_COUNT; algo++) {
		if (!coll_algo_fits(kind, (enum coll_algo)algo) ||
			strcasecmp(text, coll_algo_name((enum coll_algo)algo)))
			continue;
		coll_params.algo[kind] = (enum coll_algo)algo;
		return;
	}
	warn(param, text, possible);
}

void coll_params_init(void)
{
	wf_params_read(&coll_fi, rows, WF_ARRAY_SIZE(rows));
	read_engine();
	read_copy();
	for (int kind = 0; kind < COLL_KINDS; kind++)
		read_algo((enum fi_collective_op)kind);
}
