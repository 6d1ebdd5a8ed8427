/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>

#include "coll_rig.h"

/* The collective provider off_coll under a main provider that this test plays:
 * coll_test PROVIDER. */

/* COL-003, COL-006, COL-007 */
static void groups_of_every_size(void **state)
{
	struct coll_rig *rig = coll_rig_open(9, NULL);
	struct coll_mc mc[NODES_MAX];

	for (unsigned int n = 1; n <= 9; n++) {
		coll_rig_join_all(rig, coll_rig_in_order, n, mc);
		coll_rig_every_kind(rig, mc, n);
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

		coll_rig_join_all(rig, coll_rig_in_order, 5, mc);
		coll_rig_every_kind(rig, mc, 5);
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

	coll_rig_join_all(rig, coll_rig_in_order, FLYING, mc);
	for (unsigned int i = 0; i < FLYING; i++)
		for (unsigned int k = 0; k < AT_ONCE; k++) {
			struct coll_node *node = &rig->node[i];
			fi_addr_t root = node->addr[k % FLYING];

			in[i][k] = i + 100 * k;
			out[i][k] = k % FLYING == i ? 7 + k : 0;
			if (k % 2)
				assert_int_equal(
					fi_allreduce(node->coll_ep, &in[i][k], 1, NULL,
						&out[i][k], NULL, coll_rig_addr(&mc[i]),
						FI_UINT64, FI_SUM, 0, in),
					0);
			else
				assert_int_equal(fi_broadcast(node->coll_ep, &out[i][k],
							 1, NULL, coll_rig_addr(&mc[i]),
							 root, FI_UINT64, 0, in),
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
	fi_addr_t group = coll_rig_addr(&worker->mc[worker->self]);
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

	coll_rig_join_all(rig, coll_rig_in_order, THREADS, mc);
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
		coll_rig_join_all(rig, coll_rig_in_order, 4, mc);
		coll_rig_every_kind(rig, mc, 4);
		coll_rig_allreduce(rig, mc, 4, 1001);
		coll_rig_leave(mc, 4);
	}
	if (coll_rig_is_p2p())
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

	coll_rig_join_all(rig, coll_rig_in_order, 2, mc);
	full_ops = own;
	ops = *own;
	ops.sendmsg = refuse_control;
	node->ep->tagged = &ops;
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			coll_rig_join(node, coll_rig_in_order, 2, &alone[i]), 0);
	for (int i = 0; i < 2; i++)
		coll_rig_joined(rig, &alone[i], -FI_ECONNREFUSED);
	if (coll_rig_is_p2p()) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(
				fi_barrier(node->coll_ep, coll_rig_addr(&mc[0]), NULL),
				0);
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
		assert_int_equal(
			coll_rig_join_event(node, coll_rig_in_order, 2, &mc[i]), 0);
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
	coll_rig_barrier(rig, mc, 2);
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
					coll_rig_addr(&mc[p][r]),
					node->addr[pair[p][0]], FI_UINT8, 0, buf),
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
		coll_rig_join_all(rig, coll_rig_in_order, 3, mc);
		assert_int_not_equal(coll_rig_addr(&mc[0]), before);
		before = coll_rig_addr(&mc[0]);
		coll_rig_barrier(rig, mc, 3);
		coll_rig_leave(mc, 3);
		assert_int_equal(
			fi_barrier(rig->node[0].coll_ep, before, NULL), -FI_EINVAL);
	}
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
	};

	rig_choose(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
