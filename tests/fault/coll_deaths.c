/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Members of a group that are killed at any instant, while they join or in the middle
 * of operations: the operations of all others end, the group answers errors from then
 * on, and the others can form a new one. FI_OFF_COLL_ENGINE chooses the engine, and
 * FAULT_ROUNDS is how often. The long form takes a minute or two for each:
 *
 *   FAULT_ROUNDS=200 FAULT_PROVIDER=tcp FI_TCP_IFACE=lo FI_OFF_COLL_ENGINE=p2p \
 *       build/tests/fault/fault_coll_deaths killed_at_any_instant
 *
 * with the provider tcp, shm or lnx, and the engine p2p or node.
 */
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../model/coll_start.h"
#include "fault.h"

enum { MEMBERS = 4, DEPTH = 3, COUNT_MAX = 20000, KINDS = 9, NONE = MEMBERS };

/* What all processes of a round share. */
struct board {
	/* Members that have published their names, and members that have joined. */
	atomic_uint named, formed;
	atomic_uint dead; /* NONE: they all live */
	atomic_bool silent_done;
	size_t len[MEMBERS];
	char name[MEMBERS][256];
};

struct op {
	struct fi_context2 context;
	struct cm_call call;
	int32_t *buf, *result;
	bool busy;
};

struct member {
	struct node node;
	uint32_t rank, count; /* in the group */
	uint32_t at[MEMBERS]; /* the member of that rank */
	struct fid_av_set *set;
	struct fid_mc *mc;
	fi_addr_t coll;
	struct op op[DEPTH];
	unsigned int seed; /* the same at all members of a group */
	int failed;        /* errno of the first error */
	unsigned long done;
};

static unsigned int random_seed = 4711;
static struct board *board;

static unsigned int below(unsigned int *seed, unsigned int limit)
{
	return (unsigned int)rand_r(seed) % limit;
}

/* ---- the group ---- */

static void tell_name(struct member *m, uint32_t index)
{
	board->len[index] = sizeof(board->name[index]);
	CHECK_OK(fi_getname(&m->node.ep->fid, board->name[index], &board->len[index]));
	atomic_fetch_add(&board->named, 1);
	while (atomic_load(&board->named) < MEMBERS)
		(void)usleep(50);
	for (uint32_t i = 0; i < MEMBERS; i++)
		CHECK(fi_av_insert(m->node.av, board->name[i], 1, &m->node.peer[i], 0,
			      NULL) == 1);
}

static void member_open(struct member *m, uint32_t index, enum fi_progress progress)
{
	memset(m, 0, sizeof(*m));
	m->node.progress = progress;
	m->node.caps = FI_COLLECTIVE;
	m->node.events = true;
	node_open_as(&m->node, 0);
	tell_name(m, index);
	for (int i = 0; i < DEPTH; i++) {
		m->op[i].buf = malloc(sizeof(int32_t) * COUNT_MAX * MEMBERS);
		m->op[i].result = malloc(sizeof(int32_t) * COUNT_MAX * MEMBERS);
		CHECK(m->op[i].buf && m->op[i].result);
	}
}

static void member_close(struct member *m)
{
	for (int i = 0; i < DEPTH; i++) {
		free(m->op[i].buf);
		free(m->op[i].result);
	}
	node_close(&m->node);
}

/* 0, or the positive errno with which the join ended. */
static int wait_join(struct member *m)
{
	uint64_t deadline = now_ms() + LIMIT_MS;
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t ret;

	do {
		CHECK(now_ms() < deadline);
		(void)fi_cq_read(m->node.cq, NULL, 0);
		ret = fi_eq_read(m->node.eq, &event, &entry, sizeof(entry), 0);
	} while (ret == -FI_EAGAIN);
	if (ret == -FI_EAVAIL) {
		CHECK(fi_eq_readerr(m->node.eq, &err, 0) > 0);
		CHECK(err.fid == &m->mc->fid && err.err > 0);
		return err.err;
	}
	CHECK(ret == sizeof(entry) && event == FI_JOIN_COMPLETE);
	CHECK(entry.fid == &m->mc->fid);
	m->coll = fi_mc_addr(m->mc);
	return 0;
}

/* A group of all members but @without. */
static int form(struct member *m, uint32_t index, uint32_t without)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };

	m->count = 0;
	CHECK_OK(fi_av_set(m->node.av, &attr, &m->set, NULL));
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (i == without)
			continue;
		if (i == index)
			m->rank = m->count;
		m->at[m->count++] = i;
		CHECK_OK(fi_av_set_insert(m->set, m->node.peer[i]));
	}
	CHECK_OK(fi_join_collective(
		m->node.ep, FI_ADDR_NOTAVAIL, m->set, 0, &m->mc, NULL));
	return wait_join(m);
}

static void leave(struct member *m)
{
	CHECK_OK(fi_close(&m->mc->fid));
	CHECK_OK(fi_close(&m->set->fid));
}

/* ---- operations ---- */

/* The next of the sequence that all members have in common. */
static void draw(struct member *m, struct op *op)
{
	static const enum fi_collective_op kinds[KINDS] = { FI_BARRIER, FI_BROADCAST,
		FI_ALLTOALL, FI_ALLREDUCE, FI_ALLGATHER, FI_REDUCE_SCATTER, FI_REDUCE,
		FI_SCATTER, FI_GATHER };
	static const size_t counts[] = { 1, 30, 1000, COUNT_MAX };

	op->call = (struct cm_call){ .op = FI_SUM, .members = m->count };
	for (size_t t = 0; t < am_type_count; t++)
		if (am_types[t].datatype == FI_INT32)
			op->call.type = &am_types[t];
	op->call.kind = kinds[below(&m->seed, KINDS)];
	op->call.count = counts[below(&m->seed, 4)];
	op->call.root = below(&m->seed, m->count);
	op->call.seed = below(&m->seed, 1000);
	cm_fill(&op->call, m->rank, op->buf);
}

/* A failed completion, or a call that is refused: the group has failed. */
static void fail(struct member *m, int err)
{
	CHECK(err > 0 && err != FI_EAGAIN);
	if (!m->failed)
		m->failed = err;
}

static void finish(struct member *m, struct op *op)
{
	void *result = op->call.kind == FI_BROADCAST ? op->buf : op->result;
	size_t wrong;

	CHECK(op->busy);
	op->busy = false;
	m->done++;
	if (!cm_check(&op->call, m->rank, result, &wrong)) {
		fprintf(stderr, "%s of %zu, rank %u of %u: element %zu is wrong\n",
			cm_kind_name(op->call.kind), op->call.count, m->rank, m->count,
			wrong);
		_exit(1);
	}
}

static void attend(struct member *m)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(m->node.cq, &entry, 1);
	struct op *op;

	if (ret == -FI_EAGAIN)
		return;
	if (ret == 1) {
		CHECK(entry.flags & FI_COLLECTIVE);
		finish(m, entry.op_context);
		return;
	}
	CHECK(ret == -FI_EAVAIL);
	CHECK(fi_cq_readerr(m->node.cq, &err, 0) == 1);
	CHECK(err.flags & FI_COLLECTIVE);
	op = err.op_context;
	CHECK(op->busy);
	op->busy = false;
	fail(m, err.err);
}

/* Start the operation that was drawn. */
static void start(struct member *m, struct op *op)
{
	struct cm_start how = { .ep = m->node.ep,
		.coll = m->coll,
		.root = m->node.peer[m->at[op->call.root]],
		.buf = op->buf,
		.result = op->result,
		.context = &op->context };
	uint64_t deadline = now_ms() + LIMIT_MS;
	ssize_t ret;

	op->busy = true;
	while ((ret = cm_start(&op->call, &how)) == -FI_EAGAIN) {
		CHECK(now_ms() < deadline);
		attend(m);
	}
	if (!ret)
		return;
	op->busy = false;
	fail(m, (int)-ret);
}

static bool in_flight(const struct member *m)
{
	for (int i = 0; i < DEPTH; i++)
		if (m->op[i].busy)
			return true;
	return false;
}

static void drain(struct member *m)
{
	uint64_t deadline = now_ms() + LIMIT_MS;

	while (in_flight(m)) {
		if (now_ms() > deadline) {
			for (int i = 0; i < DEPTH; i++)
				if (m->op[i].busy)
					fprintf(stderr, "rank %u: %s of %zu: no end\n",
						m->rank,
						cm_kind_name(m->op[i].call.kind),
						m->op[i].call.count);
			_exit(1);
		}
		attend(m);
	}
}

/* Operations, some of them at a time, until one fails or @most are done. */
static void work(struct member *m, unsigned long most)
{
	uint64_t deadline = now_ms() + LIMIT_MS;

	for (unsigned long i = 0; i < most && !m->failed; i++) {
		struct op *op = &m->op[i % DEPTH];

		while (op->busy && !m->failed) {
			CHECK(now_ms() < deadline);
			attend(m);
		}
		if (m->failed)
			break;
		draw(m, op);
		start(m, op);
		deadline = now_ms() + LIMIT_MS;
	}
	drain(m);
}

/* Every further call fails, at once or in the end. */
static void check_group_is_lost(struct member *m)
{
	for (int i = 0; i < 5; i++) {
		m->failed = 0;
		draw(m, &m->op[0]);
		start(m, &m->op[0]);
		drain(m);
		CHECK(m->failed);
	}
	m->failed = 0;
}

/* ---- one round ---- */

static void be_member(void *arg)
{
	uint32_t index = *(uint32_t *)arg, dead;
	struct member m;
	int err;

	member_open(&m, index, FI_PROGRESS_UNSPEC);
	m.seed = random_seed;
	err = form(&m, index, NONE);
	if (!err) {
		atomic_fetch_add(&board->formed, 1);
		work(&m, ULONG_MAX);
		check_group_is_lost(&m);
	}
	leave(&m);
	while ((dead = atomic_load(&board->dead)) == NONE)
		(void)usleep(100);
	/* The survivors form a group without it. */
	CHECK_OK(-form(&m, index, dead));
	m.seed = dead;
	work(&m, 20);
	CHECK_OK(-m.failed);
	leave(&m);
	member_close(&m);
}

static void new_board(void)
{
	memset(board, 0, sizeof(*board));
	atomic_store(&board->dead, NONE);
}

/* @instant_us: counted from when all members have published their names. */
static void one_death(uint32_t dead, unsigned int instant_us)
{
	pid_t pids[MEMBERS];

	new_board();
	for (uint32_t i = 0; i < MEMBERS; i++)
		pids[i] = child(be_member, &i, 100);
	while (atomic_load(&board->named) < MEMBERS)
		(void)usleep(50);
	(void)usleep(instant_us);
	kill_and_reap(pids[dead]);
	atomic_store(&board->dead, dead);
	for (uint32_t i = 0; i < MEMBERS; i++)
		if (i != dead)
			join(pids[i]);
}

static void killed_at_any_instant(void)
{
	unsigned int rounds = setting("FAULT_ROUNDS", 4);

	for (unsigned int r = 0; r < rounds; r++) {
		/* Every third one dies while they join. */
		unsigned int longest = r % 3 ? 30000 : 3000;

		random_seed++;
		one_death(below(&random_seed, MEMBERS), below(&random_seed, longest));
	}
}

/* ---- a member that makes no calls ---- */

enum { SILENT = 1 };

/* Starts all operations and makes no call before the others have finished them. */
static void be_silent(struct member *m)
{
	for (int i = 0; i < DEPTH; i++) {
		draw(m, &m->op[i]);
		start(m, &m->op[i]);
	}
	while (!atomic_load(&board->silent_done))
		(void)usleep(100);
	drain(m);
}

static void be_automatic(void *arg)
{
	uint32_t index = *(uint32_t *)arg;
	struct member m;

	member_open(&m, index, FI_PROGRESS_AUTO);
	m.seed = 99;
	CHECK_OK(-form(&m, index, NONE));
	if (index == SILENT) {
		be_silent(&m);
	} else {
		work(&m, DEPTH);
		atomic_fetch_add(&board->formed, 1);
	}
	CHECK_OK(-m.failed);
	while (atomic_load(&board->formed) < MEMBERS - 1)
		(void)usleep(100);
	atomic_store(&board->silent_done, true);
	leave(&m);
	member_close(&m);
}

static void a_member_without_calls(void)
{
	pid_t pids[MEMBERS];

	new_board();
	for (uint32_t i = 0; i < MEMBERS; i++)
		pids[i] = child(be_automatic, &i, 60);
	for (uint32_t i = 0; i < MEMBERS; i++)
		join(pids[i]);
}

static bool offered(void)
{
	const char *provider = getenv("FAULT_PROVIDER");
	struct fi_info *hints = fi_allocinfo(), *info;
	int ret;

	CHECK(hints && provider);
	hints->fabric_attr->prov_name = strdup(provider);
	hints->caps = FI_COLLECTIVE;
	ret = fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	if (!ret)
		fi_freeinfo(info);
	return !ret;
}

/* A parameter of the library, as it fits an idle machine. */
static void set_ms(const char *name, int ms)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", limit_ms(ms));
	CHECK(!setenv(name, text, 1));
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "killed_at_any_instant", killed_at_any_instant, 3600 },
		{ "a_member_without_calls", a_member_without_calls, 100 },
	};

	set_ms("FI_TCP_CONNECT_TIMEOUT", 2000);
	set_ms("FI_SHM_CONNECT_TIMEOUT", 2000);
	/* No process takes the name of one that died. */
	set_ms("FI_TCP_REFUSED_TIMEOUT", 200);
	set_ms("FI_SHM_REFUSED_TIMEOUT", 200);
	set_ms("FI_OFF_COLL_PROBE_TIME", 50);
	if (!offered()) {
		printf("1..0 # SKIP collectives are not offered\n");
		return 0;
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(board != MAP_FAILED);
	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
