/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_SIM_H
#define TESTS_UNIT_COLL_SIM_H

#include "../../model/coll_model.h"
#include "providers/coll/sched/sched.h"
#include "unit.h"

/*
 * Runs the schedules of all members of a group in this process.
 *
 * Before it runs them it checks what must hold in every run: each action stays in the
 * member's memory and writes what it may; between two WAITs no action touches what a
 * transfer under way writes, nor writes what one reads; each SEND has its RECV of the
 * same length. The run itself goes on at a random member each time, and moves data as
 * late as it likes; if no member can go on, that is a deadlock.
 */

enum { SIM_MEMBERS = 33, SIM_ACTS = 4096 };

struct sim_member {
	struct coll_args args;
	struct coll_sched sched;
	unsigned char *buf, *result;
	size_t buf_len, result_len;
	size_t next;      /* index of the next action */
	size_t waits;     /* number of transfers that it waits for */
	uint64_t entered; /* bits of the members that it knows to take part */
	/* By action: the members that a SEND reports to take part. */
	uint64_t sent[SIM_ACTS];
	bool started[SIM_ACTS];   /* by action: a transfer was started */
	uint32_t match[SIM_ACTS]; /* by action: the peer's action for a transfer */
};

struct sim {
	struct cm_call call;
	enum coll_algo algo;
	bool in_place;
	/* Division of the members into nodes; NULL: none. */
	const struct coll_nodes *nodes;
	/* Used instead of the schedules' function, if it is not NULL. */
	coll_reduce_fn *reduce;
	uint64_t random;
	struct sim_member member[SIM_MEMBERS];
};

/* Only one simulation at a time. */
static struct sim sim;

static void sim_fail(uint32_t rank, size_t at, const char *what)
{
	fail_msg("%s %s, %u members, root %u, count %zu of %s, op %d%s: member %u, "
		 "action %zu: %s",
		cm_kind_name(sim.call.kind), coll_algo_name(sim.algo), sim.call.members,
		sim.call.root, sim.call.count, sim.call.type->name, sim.call.op,
		sim.in_place ? ", in place" : "", rank, at, what);
}

/* ---- memory of the members ---- */

static void sim_alloc(uint32_t rank, const void *values)
{
	struct sim_member *m = &sim.member[rank];
	size_t size = sim.call.type->size, rank_part = 0;

	m->buf_len = cm_buf_elems(&sim.call, rank) * size;
	m->result_len = cm_result_elems(&sim.call, rank) * size;
	if (sim.in_place && m->result_len)
		m->result_len = WF_MAX(m->result_len, m->buf_len);
	/* A separate allocation, so that AddressSanitizer detects accesses beyond its
	 * ends. */
	m->result = m->result_len ? malloc(m->result_len) : NULL;
	m->buf = m->buf_len ? malloc(m->buf_len) : NULL;
	if (m->result)
		memset(m->result, 0xa5, m->result_len);
	if (m->buf)
		memset(m->buf, 0, m->buf_len);
	if (m->buf && values)
		memcpy(m->buf, (const char *)values + rank * m->buf_len, m->buf_len);
	else if (m->buf)
		cm_fill(&sim.call, rank, m->buf);
	m->args = (struct coll_args){
		.kind = sim.call.kind,
		.datatype = sim.call.type->datatype,
		.op = sim.call.op,
		.count = sim.call.count,
		.size = size,
		.buf = m->buf,
		.result = m->result,
		.root = sim.call.root,
		.rank = rank,
		.members = sim.call.members,
	};
	if (sim.call.kind != FI_BROADCAST && (!sim.in_place || !m->result_len))
		return;
	if (sim.call.kind == FI_ALLGATHER || sim.call.kind == FI_GATHER)
		rank_part = rank * m->buf_len;
	if (m->buf_len)
		memcpy(m->result + rank_part, m->buf, m->buf_len);
	m->args.buf = m->result;
}

static void sim_free(uint32_t rank)
{
	free(sim.member[rank].buf);
	free(sim.member[rank].result);
}

static bool sim_inside(const void *at, size_t len, const void *area, size_t area_len)
{
	uintptr_t offset = (uintptr_t)at - (uintptr_t)area;

	return area && (uintptr_t)at >= (uintptr_t)area && offset <= area_len &&
	       len <= area_len - offset;
}

static bool sim_writable(const struct sim_member *m, const void *at, size_t len)
{
	return sim_inside(at, len, m->result, m->result_len) ||
	       sim_inside(at, len, m->sched.temp, m->sched.temp_size) ||
	       sim_inside(at, len, m->sched.partial, m->sched.partial_size);
}

static bool sim_readable(const struct sim_member *m, const void *at, size_t len)
{
	return sim_writable(m, at, len) ||
	       (m->args.buf == m->buf && sim_inside(at, len, m->buf, m->buf_len));
}

/* ---- checks before the run ---- */

static bool sim_overlap(const void *a, size_t a_len, const void *b, size_t b_len)
{
	return (uintptr_t)a < (uintptr_t)b + b_len &&
	       (uintptr_t)b < (uintptr_t)a + a_len;
}

/* Does @act access memory that @transfer, which is under way, uses? */
static bool sim_conflict(const struct coll_act *act, const struct coll_act *transfer)
{
	const void *used =
		transfer->kind == COLL_ACT_SEND ? transfer->src : transfer->dst;

	if (act->kind >= COLL_ACT_WAIT)
		return false;
	if (act->kind != COLL_ACT_SEND &&
		sim_overlap(act->dst, act->len, used, transfer->len))
		return true;
	if (transfer->kind == COLL_ACT_SEND)
		return false;
	return (act->kind != COLL_ACT_RECV &&
		       sim_overlap(act->src, act->len, used, transfer->len)) ||
	       (act->kind == COLL_ACT_REDUCE &&
		       sim_overlap(act->src2, act->len, used, transfer->len));
}

static bool sim_reduce_overlap(
	const struct coll_act *act, const void *operand, size_t elem)
{
	return act->len % elem ||
	       (act->dst != operand &&
		       sim_overlap(act->dst, act->len, operand, act->len));
}

/* Check an operation of the node: its buffers, and its members, which are the same at
 * all of them. */
static void sim_check_node(uint32_t rank, size_t i)
{
	const struct sim_member *m = &sim.member[rank];
	const struct coll_args *args = &m->sched.node[m->sched.act[i].peer];
	size_t len = args->kind == FI_BARRIER ? 0 : args->count * args->size;

	if (!sim.nodes || args->members != sim.nodes[rank].members ||
		args->rank != sim.nodes[rank].rank_in_node[rank] ||
		args->root >= args->members)
		sim_fail(rank, i, "members of a node");
	if (len && !sim_readable(m, args->buf, len))
		sim_fail(rank, i, "a node reads what it may not");
	if (len && (args->kind == FI_BROADCAST || args->rank == args->root) &&
		!sim_writable(m, args->result, len))
		sim_fail(rank, i, "a node writes what it may not");
}

static void sim_check_act(uint32_t rank, size_t i)
{
	const struct sim_member *m = &sim.member[rank];
	const struct coll_act *act = &m->sched.act[i];
	bool reads = act->kind != COLL_ACT_RECV && act->len,
	     writes = act->kind != COLL_ACT_SEND && act->len;

	if (act->kind == COLL_ACT_NODE)
		sim_check_node(rank, i);
	if (act->kind >= COLL_ACT_WAIT)
		return;
	if (reads && !sim_readable(m, act->src, act->len))
		sim_fail(rank, i, "reads what it may not");
	if (writes && !sim_writable(m, act->dst, act->len))
		sim_fail(rank, i, "writes what it may not");
	if (act->kind == COLL_ACT_COPY &&
		sim_overlap(act->src, act->len, act->dst, act->len))
		sim_fail(rank, i, "copies memory onto itself");
	if (act->kind == COLL_ACT_REDUCE &&
		(!sim_readable(m, act->src2, act->len) ||
			sim_reduce_overlap(act, act->src, m->sched.elem) ||
			sim_reduce_overlap(act, act->src2, m->sched.elem)))
		sim_fail(rank, i, "operands");
	if (act->kind <= COLL_ACT_RECV &&
		(act->peer >= sim.call.members || act->peer == rank))
		sim_fail(rank, i, "peer");
}

static void sim_check_member(uint32_t rank)
{
	const struct sim_member *m = &sim.member[rank];
	size_t since = 0; /* the first action after the last WAIT */

	if (m->sched.count > SIM_ACTS)
		sim_fail(rank, m->sched.count, "too many actions for this test");
	for (size_t i = 0; i < m->sched.count; i++) {
		sim_check_act(rank, i);
		for (size_t j = since; j < i; j++)
			if (m->sched.act[j].kind <= COLL_ACT_RECV &&
				sim_conflict(&m->sched.act[i], &m->sched.act[j]))
				sim_fail(rank, i, "memory of a transfer under way");
		if (m->sched.act[i].kind >= COLL_ACT_WAIT)
			since = i + 1;
	}
}

/* Find for each SEND its RECV: the n-th SEND matches the n-th RECV between the two
 * members. */
static void sim_match(void)
{
	static uint32_t found[SIM_MEMBERS][SIM_MEMBERS]; /* by receiver and sender */
	size_t recvs = 0, sends = 0;

	memset(found, 0, sizeof(found));
	for (uint32_t rank = 0; rank < sim.call.members; rank++)
		for (size_t i = 0; i < sim.member[rank].sched.count; i++)
			recvs += sim.member[rank].sched.act[i].kind == COLL_ACT_RECV;
	for (uint32_t rank = 0; rank < sim.call.members; rank++) {
		struct sim_member *m = &sim.member[rank];

		for (size_t i = 0; i < m->sched.count; i++) {
			const struct coll_act *act = &m->sched.act[i];
			struct sim_member *peer = &sim.member[act->peer];
			uint32_t at;

			if (act->kind != COLL_ACT_SEND)
				continue;
			at = found[act->peer][rank];
			while (at < peer->sched.count &&
				(peer->sched.act[at].kind != COLL_ACT_RECV ||
					peer->sched.act[at].peer != rank))
				at++;
			if (at == peer->sched.count ||
				peer->sched.act[at].len != act->len)
				sim_fail(rank, i, "SEND without its RECV");
			found[act->peer][rank] = at + 1;
			m->match[i] = at;
			peer->match[at] = (uint32_t)i;
			sends++;
		}
	}
	if (sends != recvs)
		sim_fail(0, 0, "RECV without its SEND");
}

/* ---- the run ---- */

/* Both ends of a transfer have started it: move the data. */
static void sim_move(struct sim_member *m, size_t i)
{
	struct coll_act *act = &m->sched.act[i];
	struct sim_member *peer = &sim.member[act->peer];
	struct coll_act *other = &peer->sched.act[m->match[i]];

	if (act->len && act->kind == COLL_ACT_SEND)
		memcpy(other->dst, act->src, act->len);
	else if (act->len)
		memcpy(act->dst, other->src, act->len);
	m->entered |= peer->sent[m->match[i]];
	peer->entered |= m->sent[i];
	m->started[i] = peer->started[m->match[i]] = false;
	m->waits--;
	peer->waits--;
}

static void sim_start(struct sim_member *m, size_t i)
{
	const struct coll_act *act = &m->sched.act[i];

	m->started[i] = true;
	m->waits++;
	m->sent[i] = act->kind == COLL_ACT_SEND ? m->entered : 0;
	/* Until the data has been moved, the contents of the buffer of a RECV are
	 * undefined. */
	if (act->kind == COLL_ACT_RECV && act->len)
		memset(act->dst, 0x5a, act->len);
}

/* Move the transfers that @m waits for; if @lazy, not all of them. */
static bool sim_advance(struct sim_member *m, bool lazy)
{
	bool moved = false;

	for (size_t i = m->next; i-- > 0 && m->waits;) {
		struct coll_act *act = &m->sched.act[i];

		if (act->kind >= COLL_ACT_WAIT)
			break;
		if (act->kind > COLL_ACT_RECV || !m->started[i] ||
			!sim.member[act->peer].started[m->match[i]] ||
			(lazy && random_next(&sim.random) % 4 == 0))
			continue;
		sim_move(m, i);
		moved = true;
	}
	return moved;
}

static const struct coll_act *sim_node_act(const struct sim_member *m)
{
	const struct coll_act *act = &m->sched.act[m->next];

	return m->next < m->sched.count && act->kind == COLL_ACT_NODE && !m->waits
		       ? act
		       : NULL;
}

/* Execute the operation of a node with the root's @args; all of its members take
 * part. */
static void sim_node_op(const struct coll_args *args, const uint32_t *ranks)
{
	size_t len = args->count * args->size;

	for (uint32_t i = 0; i < args->members; i++) {
		struct sim_member *m = &sim.member[ranks[i]];
		const struct coll_args *other = &m->sched.node[sim_node_act(m)->peer];

		if (other->kind != args->kind || other->root != args->root ||
			other->rank != i)
			sim_fail(ranks[i], m->next, "another operation of the node");
		if (args->kind == FI_BROADCAST && other->result != args->buf)
			memcpy(other->result, args->buf, len);
	}
	if (args->kind == FI_REDUCE) {
		unsigned char *sum = malloc(len);

		memcpy(sum, sim.member[ranks[0]].sched.node[0].buf, len);
		for (uint32_t i = 1; i < args->members; i++)
			sim.member[0].sched.reduce(sum, sum,
				sim.member[ranks[i]].sched.node[0].buf, args->count);
		memcpy(args->result, sum, len);
		free(sum);
	}
}

/* Execute the operation of the node that @m waits for, if all its members have reached
 * it. */
static bool sim_node(uint32_t rank)
{
	const struct coll_nodes *nodes = sim.nodes;
	const struct coll_args *args =
		&sim.member[rank].sched.node[sim_node_act(&sim.member[rank])->peer];
	uint32_t ranks[SIM_MEMBERS], count = 0, root;
	uint64_t entered = 0;

	for (uint32_t i = 0; i < sim.call.members; i++)
		if (nodes->node_of[i] == nodes->node_of[rank]) {
			if (!sim_node_act(&sim.member[i]))
				return false;
			entered |= sim.member[i].entered;
			ranks[count++] = i;
		}
	root = ranks[args->root];
	sim_node_op(&sim.member[root].sched.node[sim_node_act(&sim.member[root])->peer],
		ranks);
	for (uint32_t i = 0; i < count; i++) {
		sim.member[ranks[i]].entered = entered;
		sim.member[ranks[i]].next++;
	}
	return true;
}

/* Execute actions up to the next WAIT that has to wait. True: some were executed. */
static bool sim_go_on(struct sim_member *m, bool lazy)
{
	size_t before = m->next;

	for (; m->next < m->sched.count; m->next++) {
		struct coll_act *act = &m->sched.act[m->next];

		switch (act->kind) {
		case COLL_ACT_SEND:
		case COLL_ACT_RECV:
			sim_start(m, m->next);
			break;
		case COLL_ACT_COPY:
			memcpy(act->dst, act->src, act->len);
			break;
		case COLL_ACT_REDUCE:
			m->sched.reduce(act->dst, act->src, act->src2,
				act->len / m->sched.elem);
			break;
		case COLL_ACT_WAIT:
			if (m->waits)
				return sim_advance(m, lazy) || m->next != before;
			break;
		case COLL_ACT_NODE:
			if (m->waits)
				return sim_advance(m, lazy) || m->next != before;
			if (sim_node((uint32_t)(m - sim.member)))
				return true;
			return m->next != before;
		}
	}
	return (m->waits && sim_advance(m, lazy)) || m->next != before;
}

static void sim_execute(void)
{
	uint32_t members = sim.call.members, idle = 0, left;

	do {
		uint32_t rank = (uint32_t)(random_next(&sim.random) % members);

		left = 0;
		for (uint32_t i = 0; i < members; i++) {
			struct sim_member *m = &sim.member[(rank + i) % members];

			idle = sim_go_on(m, idle <= members) ? 0 : idle + 1;
			left += m->next < m->sched.count || m->waits;
		}
	} while (left && idle <= 2 * members);
	if (left)
		sim_fail(0, sim.member[0].next, "deadlock");
}

static void sim_build(uint32_t rank)
{
	struct sim_member *m = &sim.member[rank];
	int ret;

	if (!sim.nodes)
		ret = coll_sched_build(&m->sched, &m->args, sim.algo);
	else
		ret = coll_sched_build_levels(
			&m->sched, &m->args, &sim.nodes[rank], sim.algo);
	assert_int_equal(ret, 0);
}

/* Build the schedules of all members and run them. The results stay until sim_end.
 * @values: the buffers of the members, one after the other; NULL: those of the
 * model. */
static void sim_run(const void *values)
{
	sim.random = 0x2545f491 + sim.call.members + sim.call.count;
	for (uint32_t rank = 0; rank < sim.call.members; rank++) {
		struct sim_member *m = &sim.member[rank];

		sim_alloc(rank, values);
		m->next = m->waits = 0;
		m->entered = (uint64_t)1 << rank;
		/* In place, use the memory of the previous schedule; else new
		 * memory. */
		if (!sim.in_place)
			coll_sched_done(&m->sched);
		sim_build(rank);
		if (sim.reduce)
			m->sched.reduce = sim.reduce;
		if (m->sched.temp_size)
			memset(m->sched.temp, 0x77, m->sched.temp_size);
		sim_check_member(rank);
	}
	sim_match();
	sim_execute();
}

static void sim_end(void)
{
	for (uint32_t rank = 0; rank < sim.call.members; rank++)
		sim_free(rank);
}

/* ---- results ---- */

static const struct am_type *sim_type(enum fi_datatype datatype)
{
	for (size_t i = 0; i < am_type_count; i++)
		if (am_types[i].datatype == datatype)
			return &am_types[i];
	fail_msg("no type %d", datatype);
	return NULL;
}

/* All members have the same result, which is checked once. */
static bool sim_is_common(enum fi_collective_op kind)
{
	return kind == FI_BROADCAST || kind == FI_ALLREDUCE || kind == FI_ALLGATHER;
}

static void sim_check_results(void)
{
	size_t wrong;

	for (uint32_t rank = 0; rank < sim.call.members; rank++) {
		const struct sim_member *m = &sim.member[rank];

		if (sim.call.kind == FI_BARRIER &&
			m->entered != ((uint64_t)1 << sim.call.members) - 1)
			sim_fail(rank, 0, "leaves before all have entered");
		if (rank && sim_is_common(sim.call.kind) &&
			sim.call.type->datatype != FI_LONG_DOUBLE &&
			sim.call.type->datatype != FI_LONG_DOUBLE_COMPLEX) {
			if (m->result_len &&
				memcmp(m->result, sim.member[0].result, m->result_len))
				sim_fail(rank, 0, "differs from member 0");
		} else if (!cm_check(&sim.call, rank, m->result, &wrong)) {
			sim_fail(rank, wrong, "wrong result (element)");
		}
		/* What was not given to be written is unchanged. */
		if (m->args.buf == m->buf && m->buf) {
			unsigned char *before = calloc(1, m->buf_len);

			cm_fill(&sim.call, rank, before);
			assert_memory_equal(m->buf, before, m->buf_len);
			free(before);
		}
	}
}

static void sim_run_and_check(void)
{
	sim_run(NULL);
	sim_check_results();
	sim_end();
}

static void sim_done(void)
{
	for (uint32_t rank = 0; rank < SIM_MEMBERS; rank++)
		coll_sched_done(&sim.member[rank].sched);
}

#endif
