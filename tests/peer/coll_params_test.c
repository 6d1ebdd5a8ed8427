/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parameters of off_coll decide in a group, as the log tells:
 * coll_params_test PROVIDER. */
#include <stdio.h>

#include "../log_lines.h"
#include "../params/copies.h"
#include "../params/effect.h"
#include "coll_rig.h"
#include "sys/clock.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MEMBERS = 4, LONG = 1 << 20 };

static uint8_t in[MEMBERS][LONG], out[MEMBERS][LONG];

/* A collective of @count bytes for each member. */
static ssize_t start(enum fi_collective_op kind, struct coll_node *node,
	const struct coll_mc *mc, size_t count)
{
	fi_addr_t group = coll_rig_addr(mc), root = node->addr[0];
	uint8_t *from = in[node->self], *to = out[node->self];
	struct fid_ep *ep = node->coll_ep;

	switch (kind) {
	case FI_BARRIER:
		return fi_barrier(ep, group, in);
	case FI_BROADCAST:
		return fi_broadcast(
			ep, from, count, NULL, group, root, FI_UINT8, 0, in);
	case FI_ALLTOALL:
		return fi_alltoall(
			ep, from, count, NULL, to, NULL, group, FI_UINT8, 0, in);
	case FI_ALLREDUCE:
		return fi_allreduce(ep, from, count, NULL, to, NULL, group, FI_UINT8,
			FI_SUM, 0, in);
	case FI_ALLGATHER:
		return fi_allgather(
			ep, from, count, NULL, to, NULL, group, FI_UINT8, 0, in);
	case FI_REDUCE_SCATTER:
		return fi_reduce_scatter(ep, from, count, NULL, to, NULL, group,
			FI_UINT8, FI_SUM, 0, in);
	case FI_REDUCE:
		return fi_reduce(ep, from, count, NULL, to, NULL, group, root, FI_UINT8,
			FI_SUM, 0, in);
	case FI_SCATTER:
		return fi_scatter(
			ep, from, count, NULL, to, NULL, group, root, FI_UINT8, 0, in);
	default:
		return fi_gather(
			ep, from, count, NULL, to, NULL, group, root, FI_UINT8, 0, in);
	}
}

/* A group that executes one collective. */
static void execute(enum fi_collective_op kind, size_t count)
{
	struct coll_rig *rig = coll_rig_open(MEMBERS, NULL);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, coll_rig_in_order, MEMBERS, mc);
	copies = 0;
	for (unsigned int i = 0; i < MEMBERS; i++)
		assert_int_equal(start(kind, &rig->node[i], &mc[i], count), 0);
	coll_rig_expect_all(rig, MEMBERS, in);
	coll_rig_leave(mc, MEMBERS);
	coll_rig_close(rig);
}

/* What a scene executes, and the end of the line that it may log. */
struct choice {
	enum fi_collective_op kind;
	const char *line;
};

static long by_messages(const struct effect *effect)
{
	const struct choice *choice = effect->with;

	(void)setenv("FI_OFF_COLL_ENGINE", "p2p", 1);
	log_lines_start();
	execute(choice->kind, 8);
	return log_lines_have(choice->line);
}

static long by_default(const struct effect *effect)
{
	const struct choice *choice = effect->with;

	log_lines_start();
	execute(choice->kind, 8);
	return log_lines_have(choice->line);
}

static long copies_directly(const struct effect *effect)
{
	(void)effect;
	execute(FI_ALLTOALL, LONG / MEMBERS);
	return copies > 0;
}

/* A member waits for one that has left: does it find out? */
static long finds_out(const struct effect *effect)
{
	enum { MORE_THAN_DEFAULT_MS = 700 };
	bool never = effect_is(effect, "3600000");
	struct coll_mc mc[NODES_MAX];
	struct coll_rig *rig;
	void *context;

	(void)setenv("FI_OFF_COLL_ENGINE", "p2p", 1);
	rig = coll_rig_open(2, NULL);
	coll_rig_join_all(rig, coll_rig_in_order, 2, mc);
	coll_rig_leave(mc + 1, 1);
	assert_int_equal(start(FI_BARRIER, &rig->node[0], &mc[0], 0), 0);
	if (!never)
		return coll_rig_wait(rig, &rig->node[0], &context) < 0;
	for (uint64_t end = wf_deadline_ns(MORE_THAN_DEFAULT_MS); !wf_expired(end);) {
		struct fi_cq_tagged_entry entry;

		if (fi_cq_read(rig->node[0].cq, &entry, 1) != -FI_EAGAIN)
			return 1;
		coll_rig_progress(rig);
	}
	return 0;
}

#define KIND(kind_, line_)                                                             \
	&(const struct choice)                                                         \
	{                                                                              \
		.kind = (kind_), .line = (line_)                                       \
	}
#define ALGORITHM(param, kind, algorithm)                                              \
	{                                                                              \
		param, { { "auto", 0 }, { algorithm, 1 } }, by_messages,               \
			KIND(kind, "engine p2p, " algorithm " (parameter)")            \
	}

static const struct effect algorithms[] = {
	ALGORITHM("FI_OFF_COLL_BARRIER", FI_BARRIER, "dissemination"),
	ALGORITHM("FI_OFF_COLL_BROADCAST", FI_BROADCAST, "linear"),
	ALGORITHM("FI_OFF_COLL_ALLTOALL", FI_ALLTOALL, "bruck"),
	ALGORITHM("FI_OFF_COLL_ALLREDUCE", FI_ALLREDUCE, "ring"),
	ALGORITHM("FI_OFF_COLL_ALLGATHER", FI_ALLGATHER, "ring"),
	ALGORITHM("FI_OFF_COLL_REDUCE_SCATTER", FI_REDUCE_SCATTER, "pairwise"),
	ALGORITHM("FI_OFF_COLL_REDUCE", FI_REDUCE, "rabenseifner"),
	ALGORITHM("FI_OFF_COLL_SCATTER", FI_SCATTER, "linear"),
	ALGORITHM("FI_OFF_COLL_GATHER", FI_GATHER, "linear"),
};

static const struct effect engines[] = {
	{ "FI_OFF_COLL_ENGINE", { { NULL, 1 }, { "p2p", 0 } }, by_default,
		KIND(FI_BARRIER, "engine node, ") },
	{ "FI_OFF_COLL_NODE_SIZE", { { NULL, 0 }, { "2", 1 } }, by_default,
		KIND(FI_BARRIER, "engine node and p2p, ") },
	{ "FI_OFF_COLL_COPY", { { "segment", 0 }, { "direct", 1 } }, copies_directly,
		NULL },
	{ "FI_OFF_COLL_PROBE_TIME", { { "1", 1 }, { "3600000", 0 } }, finds_out, NULL },
};

static void algorithms_by_name(void **state)
{
	(void)state;
	effect_check_all(algorithms, COUNT(algorithms));
}

static void engines_and_copies(void **state)
{
	(void)state;
	effect_check_all(engines, COUNT(engines));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(algorithms_by_name),
		cmocka_unit_test(engines_and_copies),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
