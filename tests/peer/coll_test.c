/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>

#include "coll_rig.h"

/* The collective provider off_coll under a main provider that this test plays:
 * coll_test PROVIDER. */

static const unsigned int in_order[NODES_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
	12, 13, 14, 15 };

static bool is_p2p(void)
{
	const char *engine = getenv("FI_OFF_COLL_ENGINE");

	return engine && !strcmp(engine, "p2p");
}

/* Wait for one success of each of the first @count nodes. */
static void expect_all(struct coll_rig *rig, unsigned int count, void *context)
{
	for (unsigned int i = 0; i < count; i++) {
		void *got;

		assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
		assert_ptr_equal(got, context);
	}
}

static fi_addr_t addr_of(const struct coll_mc *mc)
{
	return fi_mc_addr(mc->mc);
}

static void barrier(struct coll_rig *rig, const struct coll_mc *mc, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(
			fi_barrier(rig->node[i].coll_ep, addr_of(&mc[i]), &rig->count),
			0);
	expect_all(rig, count, &rig->count);
}

static void broadcast(struct coll_rig *rig, const struct coll_mc *mc,
	unsigned int count, unsigned int root, size_t len)
{
	unsigned char *buf = calloc(count, len);

	assert_non_null(buf);
	memset(buf + root * len, 'a' + (int)root, len);
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf + i * len, len,
					 NULL, addr_of(&mc[i]), rig->node[i].addr[root],
					 FI_UINT8, 0, buf),
			0);
	expect_all(rig, count, buf);
	for (size_t i = 0; i < count * len; i++)
		assert_int_equal(buf[i], 'a' + (int)root);
	free(buf);
}

static void allreduce(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count, size_t n)
{
	uint64_t *in = calloc(count * n, sizeof(*in)), *out = calloc(count * n, 8);

	assert_non_null(in);
	assert_non_null(out);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			in[i * n + k] = (i + 1) * 1000 + k;
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(fi_allreduce(rig->node[i].coll_ep, in + i * n, n, NULL,
					 out + i * n, NULL, addr_of(&mc[i]), FI_UINT64,
					 FI_SUM, 0, in),
			0);
	expect_all(rig, count, in);
	for (unsigned int i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++)
			assert_int_equal(out[i * n + k],
				count * (count + 1) / 2 * 1000 + count * k);
	free(in);
	free(out);
}

static void every_kind(struct coll_rig *rig, const struct coll_mc *mc, unsigned int n)
{
	barrier(rig, mc, n);
	for (unsigned int root = 0; root < n; root++)
		broadcast(rig, mc, n, root, 1000 * root + 1);
	allreduce(rig, mc, n, 1);
	allreduce(rig, mc, n, 10000);
}

/* COL-003, COL-006, COL-007 */
static void groups_of_every_size(void **state)
{
	struct coll_rig *rig = coll_rig_open(9, NULL);
	struct coll_mc mc[NODES_MAX];

	for (unsigned int n = 1; n <= 9; n++) {
		coll_rig_join_all(rig, in_order, n, mc);
		every_kind(rig, mc, n);
		coll_rig_leave(mc, n);
	}
	coll_rig_close(rig);
}

/* P-71: messages are split, and steps are numbered where order is not promised. */
static void limits_of_the_main_endpoint(void **state)
{
	static const struct coll_options options[] = {
		{ .max_msg_size = 1000 },
		{ .max_msg_size = 1000, .unordered = 1 << 1 },
		{ .no_source = true },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		struct coll_rig *rig = coll_rig_open(5, &options[i]);
		struct coll_mc mc[NODES_MAX];

		coll_rig_join_all(rig, in_order, 5, mc);
		every_kind(rig, mc, 5);
		coll_rig_leave(mc, 5);
		coll_rig_close(rig);
	}
}

enum { AT_ONCE = 30, FLYING = 5 };

/* Each member begins all operations before any makes progress, and then they end in an
 * order of their own. */
static void many_at_once(void **state)
{
	static uint64_t in[FLYING][AT_ONCE], out[FLYING][AT_ONCE];
	struct coll_rig *rig = coll_rig_open(FLYING, NULL);
	struct coll_mc mc[NODES_MAX];
	void *got;

	coll_rig_join_all(rig, in_order, FLYING, mc);
	for (unsigned int i = 0; i < FLYING; i++)
		for (unsigned int k = 0; k < AT_ONCE; k++) {
			struct coll_node *node = &rig->node[i];
			fi_addr_t root = node->addr[k % FLYING];

			in[i][k] = i + 100 * k;
			out[i][k] = k % FLYING == i ? 7 + k : 0;
			if (k % 2)
				assert_int_equal(
					fi_allreduce(node->coll_ep, &in[i][k], 1, NULL,
						&out[i][k], NULL, addr_of(&mc[i]),
						FI_UINT64, FI_SUM, 0, in),
					0);
			else
				assert_int_equal(fi_broadcast(node->coll_ep, &out[i][k],
							 1, NULL, addr_of(&mc[i]), root,
							 FI_UINT64, 0, in),
					0);
		}
	for (unsigned int i = 0; i < FLYING; i++)
		for (unsigned int k = 0; k < AT_ONCE; k++)
			assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
	for (unsigned int i = 0; i < FLYING; i++)
		for (unsigned int k = 0; k < AT_ONCE; k++)
			assert_int_equal(out[i][k],
				k % 2 ? FLYING * (FLYING - 1) / 2 + FLYING * 100 * k
				      : 7 + k);
	coll_rig_leave(mc, FLYING);
	coll_rig_close(rig);
}

enum { THREADS = 3, ROUNDS = 60 };

/* One member. Threads of other members make progress for this one, too. */
struct worker {
	struct coll_rig *rig;
	struct coll_mc *mc;
	unsigned int self;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct coll_node *node = &worker->rig->node[worker->self];
	fi_addr_t group = addr_of(&worker->mc[worker->self]);
	void *got;

	for (uint64_t k = 0; k < ROUNDS; k++) {
		uint64_t in = k + worker->self, out = 0;

		assert_int_equal(fi_allreduce(node->coll_ep, &in, 1, NULL, &out, NULL,
					 group, FI_UINT64, FI_SUM, 0, &in),
			0);
		assert_int_equal(fi_barrier(node->coll_ep, group, &in), 0);
		assert_int_equal(coll_rig_wait(worker->rig, node, &got), 0);
		assert_int_equal(coll_rig_wait(worker->rig, node, &got), 0);
		assert_int_equal(out, THREADS * k + THREADS * (THREADS - 1) / 2);
	}
	return NULL;
}

/* Calls, callbacks and progress of one endpoint in several threads. */
static void threads(void **state)
{
	struct coll_rig *rig = coll_rig_open(THREADS, NULL);
	struct worker worker[THREADS];
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, in_order, THREADS, mc);
	for (unsigned int i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){ rig, mc, i, 0 };
		assert_int_equal(
			pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
	coll_rig_leave(mc, THREADS);
	coll_rig_close(rig);
}

/* A main endpoint that is out of resources at every other call, at random. */
static struct fi_ops_tagged *full_ops;
static unsigned int full_seed, full_answers;

static bool is_full(void)
{
	bool full = rand_r(&full_seed) % 2;

	full_answers += full;
	return full;
}

static ssize_t full_sendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return is_full() ? -FI_EAGAIN : full_ops->sendmsg(ep, msg, flags);
}

static ssize_t full_recvmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return is_full() ? -FI_EAGAIN : full_ops->recvmsg(ep, msg, flags);
}

/* Transfers that the main endpoint does not take are posted later, in their order: the
 * pieces of a message have one tag. */
static void out_of_resources(void **state)
{
	static const struct coll_options options = { .max_msg_size = 1000 };
	struct coll_rig *rig = coll_rig_open(4, &options);
	struct fi_ops_tagged ops[4], *own[4];
	struct coll_mc mc[NODES_MAX];

	full_seed = 5;
	full_ops = rig->node[0].ep->tagged;
	for (unsigned int i = 0; i < 4; i++) {
		ops[i] = *full_ops;
		ops[i].sendmsg = full_sendmsg;
		ops[i].recvmsg = full_recvmsg;
	}
	for (unsigned int i = 0; i < 4; i++) {
		own[i] = rig->node[i].ep->tagged;
		rig->node[i].ep->tagged = &ops[i];
	}
	for (int round = 0; round < 10; round++) {
		coll_rig_join_all(rig, in_order, 4, mc);
		every_kind(rig, mc, 4);
		allreduce(rig, mc, 4, 1001);
		coll_rig_leave(mc, 4);
	}
	if (is_p2p())
		assert_true(full_answers > 1000);
	for (unsigned int i = 0; i < 4; i++)
		rig->node[i].ep->tagged = own[i];
	coll_rig_close(rig);
}

static ssize_t refuse_control(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return msg->tag >> 61 == 6 ? -FI_ECONNREFUSED
				   : full_ops->sendmsg(ep, msg, flags);
}

/* The main endpoint knows at once that a member cannot be reached: everything that
 * waits for it ends. */
static void probes_that_are_refused(void **state)
{
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct coll_node *node = &rig->node[0];
	struct coll_mc mc[NODES_MAX], alone[2];
	struct fi_ops_tagged ops, *own = node->ep->tagged;
	void *got;

	coll_rig_join_all(rig, in_order, 2, mc);
	full_ops = own;
	ops = *own;
	ops.sendmsg = refuse_control;
	node->ep->tagged = &ops;
	for (int i = 0; i < 2; i++)
		assert_int_equal(coll_rig_join(node, in_order, 2, &alone[i]), 0);
	for (int i = 0; i < 2; i++)
		coll_rig_joined(rig, &alone[i], -FI_ECONNREFUSED);
	if (is_p2p()) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(
				fi_barrier(node->coll_ep, addr_of(&mc[0]), NULL), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(
				coll_rig_wait(rig, node, &got), -FI_ECONNREFUSED);
	}
	node->ep->tagged = own;
	coll_rig_leave(alone, 2);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* A main provider without a callback gets the event in its own queue. P-46, COL-002 */
static void joined_by_event(void **state)
{
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct fid_eq *eq[2], *coll_eq[2];
	struct coll_mc mc[NODES_MAX];

	for (unsigned int i = 0; i < 2; i++) {
		struct coll_node *node = &rig->node[i];
		struct fi_eq_attr attr = { 0 };
		struct fi_peer_eq_context context = { sizeof(context), NULL };

		assert_int_equal(fi_eq_open(node->fabric, &attr, &eq[i], NULL), 0);
		context.eq = eq[i];
		attr.flags = FI_PEER;
		assert_int_equal(
			fi_eq_open(node->coll_fabric, &attr, &coll_eq[i], &context), 0);
		assert_int_equal(fi_ep_bind(node->coll_ep, &coll_eq[i]->fid, 0), 0);
		assert_int_equal(coll_rig_join_event(node, in_order, 2, &mc[i]), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t end = now_ms() + PATIENCE_MS;
		struct fi_eq_entry entry;
		uint32_t event;
		ssize_t ret;

		while ((ret = fi_eq_read(eq[i], &event, &entry, sizeof(entry), 0)) ==
			-FI_EAGAIN) {
			assert_true(now_ms() < end);
			coll_rig_progress(rig);
		}
		assert_int_equal(ret, sizeof(entry));
		assert_int_equal(event, FI_JOIN_COMPLETE);
		assert_ptr_equal(entry.fid, &mc[i].main.fid);
		assert_ptr_equal(entry.context, &mc[i]);
	}
	barrier(rig, mc, 2);
	coll_rig_leave(mc, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(fi_close(&rig->node[i].ep->fid), 0);
		assert_int_equal(fi_close(&coll_eq[i]->fid), 0);
		assert_int_equal(fi_close(&eq[i]->fid), 0);
		rig->node[i].ep = NULL;
	}
	coll_rig_close(rig);
}

enum { GRID = 5, PAIRS = GRID * (GRID - 1) };

/* Each node joins a group of two with each other one, in an order of its own: messages
 * of all these joins look alike but for their source. */
static void joins_at_the_same_time(void **state)
{
	struct coll_rig *rig = coll_rig_open(GRID, NULL);
	unsigned int pair[PAIRS][2], pairs = 0;
	struct coll_mc mc[PAIRS][2];

	for (unsigned int i = 0; i < GRID; i++)
		for (unsigned int j = i + 1; j < GRID; j++) {
			pair[pairs][0] = i;
			pair[pairs++][1] = j;
		}
	/* Nodes with even numbers join in order, the others in the reverse order. */
	for (unsigned int i = 0; i < GRID; i++) {
		for (unsigned int k = 0; k < pairs; k++) {
			unsigned int p = i % 2 ? pairs - 1 - k : k;

			for (unsigned int r = 0; r < 2; r++)
				if (pair[p][r] == i)
					assert_int_equal(coll_rig_join(&rig->node[i],
								 pair[p], 2, &mc[p][r]),
						0);
		}
		/* The messages of this node come before later ones join. */
		coll_rig_settle(rig);
	}
	for (unsigned int p = 0; p < pairs; p++) {
		coll_rig_joined(rig, &mc[p][0], 0);
		coll_rig_joined(rig, &mc[p][1], 0);
	}
	for (unsigned int p = 0; p < pairs; p++) {
		unsigned char buf[2] = { (unsigned char)(p + 1), 0 };

		for (unsigned int r = 0; r < 2; r++) {
			struct coll_node *node = &rig->node[pair[p][r]];

			assert_int_equal(
				fi_broadcast(node->coll_ep, &buf[r], 1, NULL,
					addr_of(&mc[p][r]), node->addr[pair[p][0]],
					FI_UINT8, 0, buf),
				0);
		}
		for (unsigned int r = 0; r < 2; r++) {
			void *got;

			assert_int_equal(
				coll_rig_wait(rig, &rig->node[pair[p][r]], &got), 0);
			assert_ptr_equal(got, buf);
		}
		assert_int_equal(buf[1], p + 1);
		coll_rig_leave(mc[p], 2);
	}
	coll_rig_close(rig);
}

/* Ids return late, and a group of a former id is not mistaken. */
static void joined_again_and_again(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];
	fi_addr_t before = FI_ADDR_NOTAVAIL;

	for (int i = 0; i < 300; i++) {
		coll_rig_join_all(rig, in_order, 3, mc);
		assert_int_not_equal(addr_of(&mc[0]), before);
		before = addr_of(&mc[0]);
		barrier(rig, mc, 3);
		coll_rig_leave(mc, 3);
		assert_int_equal(
			fi_barrier(rig->node[0].coll_ep, before, NULL), -FI_EINVAL);
	}
	coll_rig_close(rig);
}

/* A member leaves while the others are in an operation. */
static void left_behind(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];
	char buf[8];
	void *got;

	coll_rig_join_all(rig, in_order, 3, mc);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf, 8, NULL,
					 addr_of(&mc[i]), rig->node[i].addr[2],
					 FI_UINT8, 0, rig),
			0);
	assert_int_equal(fi_close(&mc[0].mc->fid), 0);
	assert_int_equal(coll_rig_wait(rig, &rig->node[0], &got), -FI_ECANCELED);
	assert_ptr_equal(got, rig);
	assert_int_not_equal(coll_rig_wait(rig, &rig->node[1], &got), 0);
	assert_ptr_equal(got, rig);
	/* The third one has heard of it, or hears of it with its next call. */
	coll_rig_settle(rig);
	if (!fi_barrier(rig->node[2].coll_ep, addr_of(&mc[2]), NULL))
		assert_int_not_equal(coll_rig_wait(rig, &rig->node[2], &got), 0);
	assert_true(fi_barrier(rig->node[1].coll_ep, addr_of(&mc[1]), NULL) < 0);
	coll_rig_leave(mc + 1, 2);
	coll_rig_close(rig);
}

/* The barriers of the first two members, whose third one is missing. */
static void barriers_fail(struct coll_rig *rig, const struct coll_mc *mc)
{
	void *got;

	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(
			fi_barrier(rig->node[i].coll_ep, addr_of(&mc[i]), NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_not_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
}

/* The endpoint of a member is gone before the others call. */
static void gone_before(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, in_order, 3, mc);
	barrier(rig, mc, 3);
	coll_rig_leave(mc + 2, 1);
	coll_node_end(&rig->node[2]);
	barriers_fail(rig, mc);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* The endpoint is there, but its member has left. */
static void left_before(void **state)
{
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];

	coll_rig_join_all(rig, in_order, 3, mc);
	barrier(rig, mc, 3);
	coll_rig_leave(mc + 2, 1);
	barriers_fail(rig, mc);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* The members' calls differ: messages have lengths that are checked. */
static void calls_that_differ(void **state)
{
	struct coll_mc mc[NODES_MAX];
	struct coll_rig *rig;
	char buf[2][64];
	void *got;

	if (!is_p2p())
		skip();
	rig = coll_rig_open(2, NULL);
	coll_rig_join_all(rig, in_order, 2, mc);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(fi_broadcast(rig->node[i].coll_ep, buf[i], 8 + 8 * i,
					 NULL, addr_of(&mc[i]), rig->node[i].addr[0],
					 FI_UINT8, 0, rig),
			0);
	(void)coll_rig_wait(rig, &rig->node[0], &got);
	assert_int_equal(coll_rig_wait(rig, &rig->node[1], &got), -FI_EIO);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

static void too_many_in_flight(void **state)
{
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned int started[2] = { 0, 0 };
	ssize_t ret;
	void *got;

	coll_rig_join_all(rig, in_order, 2, mc);
	for (unsigned int i = 0; i < 2; i++) {
		while (!(ret = fi_barrier(
				 rig->node[i].coll_ep, addr_of(&mc[i]), NULL))) {
			started[i]++;
			assert_true(started[i] < 100000);
			if (started[i] == started[0] && i)
				break;
		}
		assert_true(ret == -FI_EAGAIN || (i && !ret));
	}
	assert_int_equal(started[0], started[1]);
	for (unsigned int i = 0; i < 2; i++)
		while (started[i]--)
			assert_int_equal(coll_rig_wait(rig, &rig->node[i], &got), 0);
	barrier(rig, mc, 2);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* What a hostile or broken member sends instead of its record: the join fails, and
 * nothing else happens. */
struct bad_record {
	size_t len;
	uint32_t word[3]; /* magic; id and base; error */
};

enum { RECORD_LEN = 92, MAGIC = 0x6c6f6301 };

static void send_raw(struct coll_rig *rig, struct coll_node *from, fi_addr_t to,
	uint64_t tag, const void *buf, size_t len)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = to, .tag = tag, .context = rig
	};
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	while ((ret = fi_tsendmsg(from->ep, &msg, 0)) == -FI_EAGAIN)
		coll_rig_progress(rig);
	assert_int_equal(ret, 0);
	while ((ret = fi_cq_read(from->cq, &entry, 1)) == -FI_EAGAIN) {
		assert_true(now_ms() < end);
		coll_rig_progress(rig);
	}
	assert_int_equal(ret, 1);
	assert_ptr_equal(entry.op_context, rig);
}

static void bad_records(void **state)
{
	static const struct bad_record bad[] = {
		{ 0, { 0 } },
		{ 4, { MAGIC } },
		{ RECORD_LEN - 1, { MAGIC, 1 } },
		{ RECORD_LEN, { 0, 1 } },
		{ RECORD_LEN, { MAGIC + 1, 1 } },
		{ RECORD_LEN, { MAGIC, 0 } },
		{ RECORD_LEN, { MAGIC, 0x4000 } },
		{ RECORD_LEN, { MAGIC, 1, FI_ENOMEM } },
		{ RECORD_LEN, { MAGIC, 1, UINT32_MAX } },
		{ RECORD_LEN + 1, { MAGIC, 1 } },
		{ 4096, { MAGIC, 1 } },
	};
	const uint64_t tag = UINT64_C(1) << 63 | UINT64_C(1) << 61 | UINT64_C(2) << 41 |
			     UINT64_C(1) << 21;
	struct coll_rig *rig = coll_rig_open(2, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned char buf[4096];
	uint64_t end;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(buf, 0, sizeof(buf));
		memcpy(buf, bad[i].word, sizeof(bad[i].word));
		assert_int_equal(coll_rig_join(&rig->node[0], in_order, 2, &mc[0]), 0);
		send_raw(
			rig, &rig->node[1], rig->node[1].addr[0], tag, buf, bad[i].len);
		end = now_ms() + PATIENCE_MS;
		while (!mc[0].joined) {
			assert_true(now_ms() < end);
			coll_rig_progress(rig);
		}
		assert_true(mc[0].err < 0);
		assert_int_equal(
			fi_barrier(rig->node[0].coll_ep, addr_of(&mc[0]), NULL),
			mc[0].err);
		coll_rig_leave(mc, 1);
	}
	coll_rig_close(rig);
}

/* Control messages with any content change nothing, but for an abort from a member. */
static void bad_control_messages(void **state)
{
	const uint64_t tag = UINT64_C(1) << 63 | UINT64_C(2) << 61;
	struct coll_rig *rig = coll_rig_open(3, NULL);
	struct coll_mc mc[NODES_MAX];
	unsigned char buf[256];

	coll_rig_join_all(rig, in_order, 2, mc);
	srand(7);
	for (int i = 0; i < 3000; i++) {
		for (size_t k = 0; k < sizeof(buf); k++)
			buf[k] = (unsigned char)(rand() >> 8);
		/* Kinds and ids that exist, ranks that do not or are others'. */
		buf[0] = (unsigned char)(i % 4);
		buf[1] = 0;
		buf[2] = (unsigned char)(i % 3);
		buf[3] = 0;
		if (i % 5 == 0)
			memset(buf + 12, 0, 12);
		send_raw(rig, &rig->node[2], rig->node[2].addr[0], tag, buf,
			i % 7 ? 24 : (size_t)(rand() % (int)sizeof(buf)));
	}
	every_kind(rig, mc, 2);
	coll_rig_leave(mc, 2);
	coll_rig_close(rig);
}

/* FI_PEER_TRANSFER and FI_PEER are conditions. P-07, P-10, EP-005 */
static void refusals(void **state)
{
	struct coll_rig *rig = coll_rig_open(1, NULL);
	struct coll_node *node = &rig->node[0];
	struct fi_info *hints = coll_rig_hints(), *info = NULL;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_peer_transfer_context context = { sizeof(context), node->info,
		node->ep, NULL };
	struct fid_domain *domain;
	struct fid_cntr *cntr;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;

	hints->mode = 0;
	assert_int_equal(
		fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	hints->mode = FI_PEER_TRANSFER;
	free(hints->fabric_attr->prov_name);
	hints->fabric_attr->prov_name = NULL;
	if (!fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &info))
		for (struct fi_info *it = info; it; it = it->next)
			assert_string_not_equal(it->fabric_attr->prov_name, "off_coll");
	fi_freeinfo(info);
	fi_freeinfo(hints);

	assert_int_equal(fi_domain(node->coll_fabric, node->coll_info, &domain, NULL),
		-FI_ENOSYS);
	assert_int_equal(
		fi_cq_open(node->coll_domain, &cq_attr, &cq, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_av_open(node->coll_domain, &av_attr, &av, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_cntr_open(node->coll_domain, &cntr_attr, &cntr, NULL), -FI_EINVAL);

	node->coll_info->mode = 0;
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	node->coll_info->mode = FI_PEER_TRANSFER;
	context.size--;
	assert_int_equal(fi_endpoint(node->coll_domain, node->coll_info, &ep, &context),
		-FI_EINVAL);
	context.size++;
	assert_int_equal(
		fi_endpoint(node->coll_domain, node->coll_info, &ep, NULL), -FI_EINVAL);
	assert_null(context.peer_ops);
	coll_rig_close(rig);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_of_every_size),
		cmocka_unit_test(limits_of_the_main_endpoint),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(threads),
		cmocka_unit_test(out_of_resources),
		cmocka_unit_test(probes_that_are_refused),
		cmocka_unit_test(joined_by_event),
		cmocka_unit_test(joins_at_the_same_time),
		cmocka_unit_test(joined_again_and_again),
		cmocka_unit_test(left_behind),
		cmocka_unit_test(gone_before),
		cmocka_unit_test(left_before),
		cmocka_unit_test(calls_that_differ),
		cmocka_unit_test(too_many_in_flight),
		cmocka_unit_test(bad_records),
		cmocka_unit_test(bad_control_messages),
		cmocka_unit_test(refusals),
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
