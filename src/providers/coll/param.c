/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/param.h"

#include <stdio.h>
#include <strings.h>

#include "objects/notice.h"
#include "objects/param.h"
#include "providers/coll/coll.h"
#include "providers/coll/sched/choose.h"

struct coll_params coll_params = { .probe_ms = 500 };

static const struct wf_param rows[] = {
	WF_PARAM_SIZE("probe_time", &coll_params.probe_ms, 1, 3600 * 1000,
		"Milliseconds after which a member that waits for another one checks "
		"whether that one can be reached (default: 500)"),
	WF_PARAM_SIZE("node_size", &coll_params.node_size, 0, COLL_MEMBERS_MAX,
		"Members of one machine that count as one node at most, the others "
		"are reached by messages (default: 0, all)"),
};

/* The parameter of a setting of the engines. */
struct setting_row {
	const char *name, *help;
};

static const struct setting_row node_rows[COLL_NODE_SETTINGS] = {
	[COLL_NODE_DEGREE] = { "degree",
		"Members of one machine that one member waits for in small barriers, "
		"broadcasts, reduces and allreduces: the children of a tree; 1: all "
		"others, without a tree; 0: by the number of members" },
	[COLL_NODE_TREE_MEMBERS] = { "tree_members",
		"Smallest number of members of one machine that have a tree if the "
		"degree is 0" },
	[COLL_NODE_TREE_MEMBERS_OVERSUBSCRIBED] = { "tree_oversubscribed_members",
		"The same for members that are more processes than their processors" },
	[COLL_NODE_TREE_BYTES] = { "tree_size",
		"Bytes of the largest operation that goes through a tree" },
	[COLL_NODE_SHARE_MEMBERS] = { "share_members",
		"Smallest number of members of one machine that each reduce a share of "
		"a vector" },
	[COLL_NODE_SHARE_BYTES] = { "share_size",
		"Bytes of the smallest vector of which members of one machine each "
		"reduce a share" },
	[COLL_NODE_CHUNK_BYTES] = { "chunk_size",
		"Bytes that members of one machine copy through shared memory at once, "
		"before larger data are divided" },
	[COLL_NODE_DIRECT_BYTES] = { "direct_size",
		"Bytes of the smallest data that members of one machine may copy from "
		"each other's memory" },
	[COLL_NODE_DIRECT_BYTES_OVERSUBSCRIBED] = { "direct_oversubscribed_size",
		"The same for members that are more processes than their processors" },
	[COLL_NODE_STREAM_BYTES] = { "stream_size",
		"Bytes that all members of one machine together get, from which on "
		"alltoall and allgather write results around the caches" },
};

static const struct setting_row p2p_rows[COLL_SCHED_SETTINGS] = {
	[COLL_BROADCAST_BINOMIAL_BYTES] = { "broadcast_binomial_size",
		"Bytes of the largest binomial broadcast of more than two members" },
	[COLL_ALLREDUCE_DOUBLING_BYTES] = { "allreduce_doubling_size",
		"Bytes of the largest allreduce by recursive doubling" },
	[COLL_ALLREDUCE_DOUBLING_BYTES_OF_TWO] = { "allreduce_doubling_size_of_two",
		"The same for two members" },
	[COLL_ALLREDUCE_RABENSEIFNER_BYTES] = { "allreduce_rabenseifner_size",
		"Bytes of the largest allreduce by Rabenseifner's algorithm if the "
		"members are no power of two" },
	[COLL_ALLGATHER_DOUBLING_BYTES] = { "allgather_doubling_size",
		"Bytes of the largest result of an allgather by recursive doubling" },
	[COLL_ALLGATHER_BRUCK_BYTES] = { "allgather_bruck_size",
		"Bytes of the largest result of an allgather by Bruck's algorithm" },
	[COLL_ALLTOALL_BRUCK_BYTES] = { "alltoall_bruck_size",
		"Bytes for one member in the largest alltoall by Bruck's algorithm" },
	[COLL_ALLTOALL_BRUCK_MEMBERS] = { "alltoall_bruck_members",
		"Smallest number of members of an alltoall by Bruck's algorithm" },
	[COLL_REDUCE_BINOMIAL_BYTES] = { "reduce_binomial_size",
		"Bytes of the largest binomial reduce" },
	[COLL_REDUCE_SCATTER_HALVING_BYTES] = { "reduce_scatter_halving_size",
		"Bytes of the largest input of a reduce_scatter by recursive halving "
		"if the members are a power of two" },
	[COLL_REDUCE_SCATTER_FOLDED_BYTES] = { "reduce_scatter_folded_size",
		"The same if they are none" },
	[COLL_SCATTER_BINOMIAL_BYTES] = { "scatter_binomial_size",
		"Bytes for one member in the largest binomial scatter or gather" },
	[COLL_SCATTER_BINOMIAL_MEMBERS] = { "scatter_binomial_members",
		"Smallest number of members of a binomial scatter or gather" },
	[COLL_PIECE_BYTES] = { "piece_size",
		"Bytes of the pieces in which messages to reduce move, rounded down to "
		"a multiple of 64" },
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

static void coll_param_tell(const char *param, const char *text, const char *possible)
{
	char var[64];

	wf_notice(&coll_fi, "%s is \"%s\": possible %s; the default is used",
		wf_notice_var(&coll_fi, param, var, sizeof(var)), text, possible);
}

static void param_read_engine(void)
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

static void param_read_copy(void)
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
static void param_list_algos(enum fi_collective_op kind, char *buf, size_t len)
{
	size_t used = (size_t)snprintf(buf, len, "auto");

	for (int algo = COLL_ALGO_AUTO + 1; algo < COLL_ALGO_COUNT; algo++)
		if (coll_algo_fits(kind, (enum coll_algo)algo) && used < len)
			used += (size_t)snprintf(buf + used, len - used, ", %s",
				coll_algo_name((enum coll_algo)algo));
}

static void param_read_algo(enum fi_collective_op kind)
{
	const char *param = kinds[kind].param;
	char possible[256], *text;

	param_list_algos(kind, possible, sizeof(possible));
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
	coll_param_tell(param, text, possible);
}

static void param_read_settings(
	struct coll_setting *settings, const struct setting_row *names, int count)
{
	char help[256];

	for (int i = 0; i < count; i++) {
		struct wf_param param = WF_PARAM_SIZE(names[i].name, &settings[i].value,
			settings[i].min, settings[i].max, help);

		(void)snprintf(help, sizeof(help), "%s (default: %zu)", names[i].help,
			settings[i].value);
		wf_params_read(&coll_fi, &param, 1);
	}
}

void coll_params_init(void)
{
	wf_params_read(&coll_fi, rows, WF_ARRAY_SIZE(rows));
	param_read_settings(coll_node_settings, node_rows, COLL_NODE_SETTINGS);
	param_read_settings(coll_sched_settings, p2p_rows, COLL_SCHED_SETTINGS);
	param_read_engine();
	param_read_copy();
	for (int kind = 0; kind < COLL_KINDS; kind++)
		param_read_algo((enum fi_collective_op)kind);
}
