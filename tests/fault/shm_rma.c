/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Large reads and writes between processes of which one dies, and of regions that are
 * closed, in the middle of a copy.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "converse.h"

enum { LEN = 1 << 20, WINDOW = 8, PEERS = 2, KEY = 77, ENOUGH = 50 };

/* The region of this process. */
static uint8_t memory[LEN];

/* ---- operations under way ---- */

struct stream {
	fi_addr_t to;
	bool reads;
	uint8_t bufs[WINDOW][LEN];
	struct fi_context2 contexts[WINDOW];
	bool busy[WINDOW];
	unsigned int done, failed;
	int err; /* of the last operation that failed */
};

static void stream_open(struct stream *s, fi_addr_t to, bool reads)
{
	memset(s, 0, sizeof(*s));
	s->to = to;
	s->reads = reads;
	for (size_t i = 0; i < WINDOW; i++)
		fill(s->bufs[i], LEN, 5);
}

/* Start as many operations as the window has space for. */
static void pump(struct node *node, struct stream *s)
{
	for (int i = 0; i < WINDOW; i++) {
		uint8_t *buf = s->bufs[i];
		ssize_t ret;

		if (s->busy[i])
			continue;
		ret = s->reads ? fi_read(node->ep, buf, LEN, NULL, s->to, 0, KEY,
					 &s->contexts[i])
			       : fi_write(node->ep, buf, LEN, NULL, s->to, 0, KEY,
					 &s->contexts[i]);
		CHECK(!ret || ret == -FI_EAGAIN);
		if (ret)
			return;
		s->busy[i] = true;
	}
}

static bool account(struct stream *s, const void *context, int err)
{
	const struct fi_context2 *c = context;

	if (c < s->contexts || c >= s->contexts + WINDOW)
		return false;
	CHECK(s->busy[c - s->contexts]);
	s->busy[c - s->contexts] = false;
	s->done += !err;
	s->failed += err != 0;
	if (err)
		s->err = err;
	return true;
}

static int in_flight(const struct stream *s)
{
	int n = 0;

	for (int i = 0; i < WINDOW; i++)
		n += s->busy[i];
	return n;
}

/* Wait for an operation of one of the streams to end. */
static void one_ends(struct node *node, struct stream *streams, int count)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	int got = node_wait(node, &entry, &err, LIMIT_MS), i = 0;

	CHECK(got);
	while (i < count &&
		!account(&streams[i], got > 0 ? entry.op_context : err.op_context,
			got > 0 ? 0 : err.err))
		i++;
	CHECK(i < count);
}

/* ---- targets that die ---- */

struct target {
	uint16_t port;
	struct signal_pipe ready;
};

static void serve(void *arg)
{
	struct target *target = arg;
	struct fid_mr *mr;
	struct node node;

	fill(memory, LEN, 5);
	CHECK_OK(node_try(&node, target->port, FI_RMA));
	CHECK_OK(fi_mr_reg(node.domain, memory, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE,
		0, KEY, 0, &mr, NULL));
	pipe_tell(&target->ready);
	for (;;)
		(void)fi_cq_read(node.cq, NULL, 0);
}

static pid_t start_target(struct target *target)
{
	pid_t pid;

	target->port = free_port();
	pipe_open(&target->ready);
	pid = child(serve, target, 120);
	pipe_wait(&target->ready);
	return pid;
}

/* All operations on the killed target end, with errors; the other ones go on. */
static void a_killed_target_fails_alone(bool reads)
{
	static struct stream streams[PEERS];
	struct target targets[PEERS];
	pid_t pids[PEERS];
	struct node node;

	CHECK(!setenv("FI_SHM_REFUSED_TIMEOUT", "200", 1));
	CHECK_OK(node_try(&node, 0, FI_RMA));
	for (int i = 0; i < PEERS; i++) {
		pids[i] = start_target(&targets[i]);
		stream_open(&streams[i], node_peer(&node, targets[i].port), reads);
	}
	while (streams[0].done < ENOUGH || streams[1].done < ENOUGH) {
		pump(&node, &streams[0]);
		pump(&node, &streams[1]);
		one_ends(&node, streams, PEERS);
	}
	pump(&node, &streams[0]);
	CHECK(in_flight(&streams[0]) == WINDOW);
	kill_and_reap(pids[0]);
	while (in_flight(&streams[0]) || streams[1].done < 2 * ENOUGH) {
		/* All of those may have been complete. */
		if (!streams[0].failed)
			pump(&node, &streams[0]);
		pump(&node, &streams[1]);
		one_ends(&node, streams, PEERS);
	}
	while (in_flight(&streams[1]))
		one_ends(&node, streams, PEERS);
	CHECK(streams[0].failed && !streams[1].failed);
	/* What was written is what was read. */
	CHECK(filled(streams[1].bufs[0], LEN, 5) || !reads);
	node_close(&node);
	kill_and_reap(pids[1]);
}

static void a_target_killed_under_writes(void)
{
	a_killed_target_fails_alone(false);
}

static void a_target_killed_under_reads(void)
{
	a_killed_target_fails_alone(true);
}

/* ---- initiators that die, regions that are closed ---- */

struct initiator {
	uint16_t port; /* of the target */
	bool reads;
	struct signal_pipe busy, stop;
};

static void access_on(void *arg)
{
	static struct stream stream;
	struct initiator *me = arg;
	struct node node;

	CHECK_OK(node_try(&node, 0, FI_RMA));
	stream_open(&stream, node_peer(&node, me->port), me->reads);
	while (stream.done < ENOUGH) {
		pump(&node, &stream);
		one_ends(&node, &stream, 1);
	}
	pipe_tell(&me->busy);
	while (!pipe_told(&me->stop) || in_flight(&stream)) {
		if (!pipe_told(&me->stop))
			pump(&node, &stream);
		if (in_flight(&stream))
			one_ends(&node, &stream, 1);
		/* The region is closed at times. */
		CHECK(!stream.failed || stream.err == FI_EKEYREJECTED);
	}
	node_close(&node);
}

static pid_t start_initiator(struct initiator *me, uint16_t port, bool reads)
{
	me->port = port;
	me->reads = reads;
	pipe_open(&me->busy);
	pipe_open(&me->stop);
	return child(access_on, me, 120);
}

static struct fid_mr *reg(struct node *node)
{
	struct fid_mr *mr;

	CHECK_OK(fi_mr_reg(node->domain, memory, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE,
		0, KEY, 0, &mr, NULL));
	return mr;
}

/* Progress until the process has ended: its last operations may need it. */
static void stop(struct node *node, struct initiator *who, pid_t pid)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err;
	int status = 0;
	pid_t ended;

	pipe_tell(&who->stop);
	while (!(ended = waitpid(pid, &status, WNOHANG)))
		(void)node_wait(node, &entry, &err, 1);
	CHECK(ended == pid && status == 0);
}

static void an_initiator_is_killed(bool reads)
{
	struct initiator who[PEERS];
	pid_t pids[PEERS];
	struct fid_mr *mr;
	struct node node;

	fill(memory, LEN, 5);
	CHECK_OK(node_try(&node, 0, FI_RMA));
	mr = reg(&node);
	for (int i = 0; i < PEERS; i++)
		pids[i] = start_initiator(&who[i], node_port(&node), reads);
	for (int i = 0; i < PEERS; i++)
		node_drive_until(&node, &who[i].busy);
	kill_and_reap(pids[0]);
	node_idle(&node, 50);
	stop(&node, &who[1], pids[1]);
	CHECK_OK(fi_close(&mr->fid));
	CHECK(filled(memory, LEN, 5));
	node_close(&node);
}

static void an_initiator_killed_under_writes(void)
{
	an_initiator_is_killed(false);
}

static void an_initiator_killed_under_reads(void)
{
	an_initiator_is_killed(true);
}

/* When fi_close of the region has returned, no byte of it changes any more, and the
 * initiator is told. */
static void a_region_closes(bool reads)
{
	enum { ROUNDS = 100 };
	struct initiator who;
	struct fid_mr *mr;
	struct node node;
	pid_t pid;

	fill(memory, LEN, 5);
	CHECK_OK(node_try(&node, 0, FI_RMA));
	mr = reg(&node);
	pid = start_initiator(&who, node_port(&node), reads);
	node_drive_until(&node, &who.busy);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (unsigned int polls = i * 7 % 50; polls; polls--)
			(void)fi_cq_read(node.cq, NULL, 0);
		CHECK_OK(fi_close(&mr->fid));
		fill(memory, LEN, 9 + i);
		node_idle(&node, 1);
		CHECK(filled(memory, LEN, 9 + i));
		fill(memory, LEN, 5);
		mr = reg(&node);
		node_idle(&node, 1);
	}
	stop(&node, &who, pid);
	CHECK_OK(fi_close(&mr->fid));
	node_close(&node);
}

static void a_region_closes_under_writes(void)
{
	a_region_closes(false);
}

static void a_region_closes_under_reads(void)
{
	a_region_closes(true);
}

int main(int argc, char **argv)
{
	static const struct fault_case cases[] = {
		{ "a_target_killed_under_writes", a_target_killed_under_writes, 120 },
		{ "a_target_killed_under_reads", a_target_killed_under_reads, 120 },
		{ "an_initiator_killed_under_writes", an_initiator_killed_under_writes,
			120 },
		{ "an_initiator_killed_under_reads", an_initiator_killed_under_reads,
			120 },
		{ "a_region_closes_under_writes", a_region_closes_under_writes, 120 },
		{ "a_region_closes_under_reads", a_region_closes_under_reads, 120 },
	};

	return fault_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
