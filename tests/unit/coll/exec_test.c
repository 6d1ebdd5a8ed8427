/* SPDX-License-Identifier: BSD-2-Clause */
#include "exec_fixture.h"

/* Execution of schedules by messages (exec.c), and the failures of groups
 * (outcome.c). */

enum { BUF = 1000 };

static char memory[BUF], other[BUF];
static struct coll_op *op;
static int context;
/* Only its address is used. */
static struct coll_staging *const stage = (struct coll_staging *)&context;

static struct coll_op *new_op(void)
{
	const struct coll_args args = { .kind = FI_ALLREDUCE };
	const struct coll_call call = { .context = &context, .flags = FI_COMPLETION };

	return coll_op_new(group, &args, stage, &call);
}

static struct coll_act *add(struct coll_op *at, enum coll_act_kind kind)
{
	struct coll_sched *sched = &at->sched;

	if (!sched->act) {
		sched->act = calloc(16, sizeof(*sched->act));
		sched->capacity = 16;
	}
	assert_true(sched->count < 16);
	sched->act[sched->count] = (struct coll_act){ .kind = kind };
	return &sched->act[sched->count++];
}

static void add_send(struct coll_op *at, uint32_t peer, const void *src, size_t len)
{
	struct coll_act *act = add(at, COLL_ACT_SEND);

	act->peer = peer;
	act->src = src;
	act->len = len;
}

static void add_recv(struct coll_op *at, uint32_t peer, void *dst, size_t len)
{
	struct coll_act *act = add(at, COLL_ACT_RECV);

	act->peer = peer;
	act->dst = dst;
	act->len = len;
}

static int open_op(void **state)
{
	(void)open_group(state);
	for (int i = 0; i < BUF; i++) {
		memory[i] = (char)(i * 7);
		other[i] = 0;
	}
	op = new_op();
	assert_non_null(op);
	op->sched.count = 0;
	wf_list_push(&group->ops, &op->link);
	return 0;
}

static void run(void)
{
	wf_lock(&ep->ep.lock);
	coll_exec_start(op);
	wf_unlock(&ep->ep.lock);
}

static void watch(void)
{
	wf_lock(&ep->ep.lock);
	coll_exec_watch(ep, now_ns);
	wf_unlock(&ep->ep.lock);
}

static void check_ended(int err)
{
	assert_int_equal(ended_count, 1);
	assert_int_equal(ended[0].err, err);
	assert_ptr_equal(ended[0].context, &context);
	assert_true(ended[0].op_flags == FI_COMPLETION);
	assert_true(ended[0].flags == FI_COLLECTIVE);
	assert_int_equal(group->in_flight, 0);
	assert_int_equal(ep->in_flight, 0);
	assert_int_equal(calls.finished, !err);
	assert_true(wf_list_empty(&group->ops));
}

/* ---- actions ---- */

/* An action is as many messages as the owner's limit makes of it, at least one. */
static void messages_have_the_owners_limit(void **state)
{
	static const struct {
		size_t len, count, last;
	} rows[] = {
		{ 0, 1, 0 },
		{ 1, 1, 1 },
		{ MSG_MAX - 1, 1, MSG_MAX - 1 },
		{ MSG_MAX, 1, MSG_MAX },
		{ MSG_MAX + 1, 2, 1 },
		{ 2 * MSG_MAX, 2, MSG_MAX },
		{ 2 * MSG_MAX + 1, 3, 1 },
	};

	for (unsigned int i = 0; i < 2 * WF_ARRAY_SIZE(rows); i++) {
		size_t at = 0;

		(void)open_op(state);
		if (i & 1)
			add_recv(op, 2, other, rows[i / 2].len);
		else
			add_send(op, 2, memory, rows[i / 2].len);
		run();
		assert_int_equal(owner.count, rows[i / 2].count);
		while (owner.count) {
			struct posted posted = pop(0);

			assert_int_equal(posted.is_recv, i & 1);
			assert_int_equal(posted.addr, 12);
			assert_true(posted.flags == FI_PEER_TRANSFER);
			assert_int_equal(
				posted.len, owner.count ? MSG_MAX : rows[i / 2].last);
			if (posted.len)
				assert_ptr_equal(
					posted.buf, (i & 1 ? other : memory) + at);
			at += posted.len;
			assert_int_equal(ended_count, 0);
			finish(posted, 0);
		}
		assert_int_equal(at, rows[i / 2].len);
		check_ended(0);
		assert_int_equal(calls.freed, 1);
		(void)close_group(state);
	}
	(void)open_op(state);
}

/* The tag has the receiver's secret, the sender's rank, the number of the operation,
 * and, where messages are not in order, the number of messages before it. */
static void messages_have_their_tags(void **state)
{
	for (int ordered = 0; ordered < 2; ordered++) {
		(void)open_op(state);
		op->number = 0xabcd;
		op->steps = ordered ? NULL
				    : calloc(2 * (size_t)MEMBERS, sizeof(*op->steps));
		for (int i = 0; i < 2; i++) {
			add_send(op, 0, memory, 1);
			add_recv(op, 0, other, 1);
			add_send(op, 2, memory, 1);
		}
		run();
		for (unsigned int i = 0; i < 6; i++) {
			struct posted posted = pop(0);
			uint32_t step = ordered ? 0 : i / 3, peer = i % 3 == 2 ? 2 : 0;

			assert_int_equal(posted.addr, 10 + peer);
			assert_int_equal(posted.is_recv, i % 3 == 1);
			assert_true(posted.tag ==
				    (posted.is_recv ? coll_tag_data(group->secret, peer,
							      0xabcd, step)
						    : coll_tag_data(member[peer].secret,
							      RANK, 0xabcd, step)));
			finish(posted, 0);
		}
		check_ended(0);
		(void)close_group(state);
	}
	(void)open_op(state);
}

/* A wait ends when all transfers before it have; copies are made at once. */
static void actions_are_in_order(void **state)
{
	struct coll_act *act;

	add_recv(op, 0, other, 10);
	add_send(op, 2, memory, 10);
	act = add(op, COLL_ACT_COPY);
	act->dst = other + 10;
	act->src = memory + 10;
	act->len = 5;
	(void)add(op, COLL_ACT_WAIT);
	add_send(op, 0, memory, 20);
	run();
	assert_int_equal(owner.count, 2);
	assert_memory_equal(other + 10, memory + 10, 5);
	assert_int_equal(other[15], 0);
	finish(pop(1), 0);
	assert_int_equal(owner.count, 1);
	finish(pop(0), 0);
	assert_int_equal(owner.count, 1);
	assert_int_equal(owner.posted[0].len, 20);
	assert_int_equal(ended_count, 0);
	finish(pop(0), 0);
	check_ended(0);
}

static void elements_are_reduced(void **state)
{
	const int32_t x[] = { 1, 20, 300 }, y[] = { 4, 50, 600 };
	int32_t sum[4] = { 0, 0, 0, 7 };
	struct coll_act *act = add(op, COLL_ACT_REDUCE);

	op->sched.reduce = coll_reduce(FI_INT32, FI_SUM);
	op->sched.elem = sizeof(int32_t);
	act->dst = sum;
	act->src = x;
	act->src2 = y;
	act->len = sizeof(x);
	run();
	assert_int_equal(sum[0], 5);
	assert_int_equal(sum[1], 70);
	assert_int_equal(sum[2], 900);
	assert_int_equal(sum[3], 7);
	check_ended(0);
}

/* An action of the node engine begins after the transfers before it. */
static void the_node_engine_comes_after_transfers(void **state)
{
	/* As many sends as receives. */
	add_send(op, 0, memory, 1);
	add_recv(op, 0, other, 1);
	add(op, COLL_ACT_NODE)->peer = 1;
	add_send(op, 2, memory, 2);
	run();
	assert_int_equal(calls.acts, 0);
	calls.node_ret = -FI_EAGAIN;
	finish(pop(0), 0);
	assert_int_equal(calls.acts, 0);
	finish(pop(0), 0);
	assert_int_equal(calls.acts, 1);
	assert_ptr_equal(calls.node_args, &op->sched.node[1]);
	assert_int_equal(owner.count, 0);
	calls.node_ret = 0;
	wf_lock(&ep->ep.lock);
	coll_exec_resume(op);
	wf_unlock(&ep->ep.lock);
	assert_int_equal(calls.acts, 2);
	finish(pop(0), 0);
	check_ended(0);
}

static void the_node_engine_fails(void **state)
{
	(void)add(op, COLL_ACT_NODE);
	wf_list_push(&group->node_ops, &op->node_link);
	calls.node_ret = -FI_EIO;
	run();
	check_ended(FI_EIO);
	assert_true(wf_list_empty(&group->node_ops));
	assert_int_equal(group->state, COLL_FAILED);
	assert_int_equal(group->err, -FI_EIO);
}

/* ---- failures ---- */

/* A message of another length: the members' calls differ. */
static void a_message_has_the_wrong_length(void **state)
{
	for (int longer = 0; longer < 2; longer++) {
		struct posted posted;

		(void)open_op(state);
		add_recv(op, 0, other, 10);
		add_send(op, 0, memory, 10);
		run();
		posted = pop(0);
		posted.len = longer ? 11 : 9;
		finish(posted, 0);
		assert_int_equal(group->state, COLL_FAILED);
		assert_int_equal(calls.abort_err, -FI_EIO);
		/* What was sent is not checked. */
		posted = pop(0);
		posted.len = 0;
		finish(posted, 0);
		check_ended(FI_EIO);
		(void)close_group(state);
	}
	(void)open_op(state);
}

/* What the owner says of a send's length does not matter. */
static void a_send_has_no_length(void **state)
{
	struct posted posted;

	add_send(op, 0, memory, 10);
	run();
	posted = pop(0);
	posted.len = 0;
	finish(posted, 0);
	check_ended(0);
}

/* A transfer fails: the others are cancelled, and the end is told once, after all of
 * them. */
static void a_transfer_fails(void **state)
{
	struct posted posted;

	add_send(op, 0, memory, 1);
	add_recv(op, 0, other, 1);
	add_send(op, 2, memory, 1);
	(void)add(op, COLL_ACT_WAIT);
	add_send(op, 2, memory, 1);
	run();
	posted = pop(1);
	finish(posted, FI_ECONNRESET);
	assert_int_equal(group->state, COLL_FAILED);
	assert_int_equal(group->err, -FI_ECONNRESET);
	assert_int_equal(calls.aborts, 1);
	assert_int_equal(calls.abort_err, -FI_ECONNRESET);
	assert_int_equal(owner.cancelled_count, 2);
	assert_ptr_equal(owner.cancelled[0], owner.posted[0].context);
	assert_ptr_equal(owner.cancelled[1], owner.posted[1].context);
	finish(pop(1), FI_ECANCELED);
	assert_int_equal(ended_count, 0);
	/* One that ended well all the same does not go on with the schedule. */
	finish(pop(0), 0);
	assert_int_equal(owner.count, 0);
	check_ended(FI_ECONNRESET);
	assert_int_equal(calls.aborts, 1);
	assert_int_equal(calls.freed, 1);
}

/* An error without a code is one. */
static void an_error_has_no_code(void **state)
{
	struct fi_cq_err_entry error = { .err = 0 };

	add_send(op, 0, memory, 1);
	run();
	error.op_context = pop(0).context;
	(void)coll_xfer_callbacks.comperr(&ep->ep.fid, &error);
	check_ended(FI_EIO);
}

/* The owner refuses a transfer, the first one or a later one. */
static void a_transfer_is_refused(void **state)
{
	add_send(op, 0, memory, 1);
	owner.ret = -FI_EINVAL;
	run();
	check_ended(FI_EINVAL);
	assert_int_equal(owner.refused, 1);
	(void)close_group(state);
	(void)open_op(state);
	add_send(op, 0, memory, 1);
	(void)add(op, COLL_ACT_WAIT);
	add_send(op, 2, memory, 3 * MSG_MAX);
	run();
	owner.ret = -FI_EOPNOTSUPP;
	finish(pop(0), 0);
	check_ended(FI_EOPNOTSUPP);
	/* The messages behind it are not tried. */
	assert_int_equal(owner.refused, 1);
}

/* Transfers that wait for the owner end when they are cancelled, inside the loop. */
static void waiting_transfers_are_cancelled(void **state)
{
	owner.ret = -FI_EAGAIN;
	add_send(op, 0, memory, 1);
	add_recv(op, 0, other, 1);
	run();
	assert_int_equal(owner.refused, 1);
	wf_lock(&ep->ep.lock);
	coll_group_fail(group, -FI_ETIMEDOUT);
	coll_group_fail(group, -FI_EIO);
	wf_unlock(&ep->ep.lock);
	check_ended(FI_ETIMEDOUT);
	assert_int_equal(owner.cancelled_count, 0);
	assert_int_equal(calls.aborts, 1);
	assert_true(wf_list_empty(&ep->pending));
}

/* Sends that nobody receives: after twice the time of a probe the end is told, and the
 * memory stays until they have ended. A receive, which uses the application's memory,
 * is waited for. */
static void sends_do_not_end(void **state)
{
	uint64_t limit_ns = 2 * coll_probe_ns();
	struct posted posted;

	add_send(op, 0, memory, 1);
	add_recv(op, 0, other, 1);
	run();
	wf_lock(&ep->ep.lock);
	coll_group_fail(group, -FI_ENOTCONN);
	wf_unlock(&ep->ep.lock);
	now_ns += 3 * limit_ns;
	watch();
	assert_int_equal(ended_count, 0);
	finish(pop(1), FI_ECANCELED);
	watch();
	check_ended(FI_ENOTCONN);
	assert_int_equal(calls.freed, 0);
	watch();
	posted = pop(0);
	finish(posted, FI_ECANCELED);
	assert_int_equal(ended_count, 1);
	assert_int_equal(calls.freed, 1);
	assert_true(wf_list_empty(&ep->ending));
	/* Not before that time. */
	(void)close_group(state);
	(void)open_op(state);
	add_send(op, 0, memory, 1);
	run();
	wf_lock(&ep->ep.lock);
	coll_group_fail(group, -FI_ENOTCONN);
	wf_unlock(&ep->ep.lock);
	now_ns += limit_ns - 1;
	watch();
	assert_int_equal(ended_count, 0);
	now_ns++;
	watch();
	check_ended(FI_ENOTCONN);
	finish(pop(0), FI_ECANCELED);
	assert_int_equal(ended_count, 1);
}

/* A group that is closed leaves its operations, which have failed, to the endpoint. */
static void a_group_is_closed(void **state)
{
	struct coll_op *at = op;

	add_send(op, 0, memory, 1);
	wf_list_push(&group->node_ops, &op->node_link);
	run();
	wf_lock(&ep->ep.lock);
	coll_group_fail(group, -FI_ECANCELED);
	coll_exec_detach(group);
	wf_unlock(&ep->ep.lock);
	assert_true(wf_list_empty(&group->node_ops));
	assert_null(at->group);
	assert_true(wf_list_empty(&group->ops));
	assert_ptr_equal(ep->ending.next, &at->link);
	assert_int_equal(ep->in_flight, 1);
	group->in_flight = 0;
	now_ns += 2 * coll_probe_ns();
	watch();
	check_ended(FI_ECANCELED);
	finish(pop(0), FI_ECANCELED);
	assert_int_equal(ended_count, 1);
	assert_true(wf_list_empty(&ep->ending));
}

/* ---- probes ---- */

/* The member is probed for which an operation waits, after each time of a probe in
 * which no transfer ended. */
static void members_are_probed(void **state)
{
	add_recv(op, 2, other, 1);
	add_recv(op, 0, other, 1);
	add_recv(op, 0, other, 1);
	run();
	watch();
	now_ns += coll_probe_ns() - 1;
	watch();
	assert_int_equal(calls.probes, 0);
	now_ns++;
	watch();
	assert_int_equal(calls.probes, 1);
	assert_int_equal(calls.probed, 2);
	watch();
	assert_int_equal(calls.probes, 1);
	now_ns += coll_probe_ns();
	watch();
	assert_int_equal(calls.probes, 2);
	/* Something moved: the time begins again. */
	finish(pop(0), 0);
	now_ns += coll_probe_ns();
	watch();
	assert_int_equal(calls.probes, 2);
	now_ns += coll_probe_ns();
	watch();
	assert_int_equal(calls.probes, 3);
	assert_int_equal(calls.probed, 0);
	finish(pop(0), 0);
	finish(pop(0), 0);
	check_ended(0);
}

/* Nothing is under way while the node engine works. */
static void a_node_is_not_probed(void **state)
{
	(void)add(op, COLL_ACT_NODE);
	calls.node_ret = -FI_EAGAIN;
	run();
	watch();
	now_ns += 2 * coll_probe_ns();
	watch();
	assert_int_equal(calls.probes, 0);
	calls.node_ret = 0;
	wf_lock(&ep->ep.lock);
	coll_exec_resume(op);
	wf_unlock(&ep->ep.lock);
	check_ended(0);
}

/* A probe that fails at once ends all operations of the group, also those behind it. */
static void a_probe_fails_at_once(void **state)
{
	struct coll_op *second = new_op();

	second->sched.count = 0;
	wf_list_push(&group->ops, &second->link);
	owner.ret = -FI_EAGAIN;
	add_recv(op, 2, other, 1);
	add_recv(second, 0, other, 1);
	run();
	op = second;
	run();
	watch();
	now_ns += coll_probe_ns();
	calls.probe_fails = true;
	watch();
	assert_int_equal(calls.probes, 1);
	assert_int_equal(ended_count, 2);
	assert_int_equal(ended[0].err, FI_ENOTCONN);
	assert_int_equal(ended[1].err, FI_ENOTCONN);
	assert_int_equal(group->in_flight, 0);
}

/* Operations of several groups, of which one has failed, are all looked after. */
static void all_groups_are_watched(void **state)
{
	struct coll_group *first = group;
	struct coll_op *second;

	add_send(op, 0, memory, 1);
	run();
	wf_lock(&ep->ep.lock);
	coll_group_fail(group, -FI_EIO);
	wf_unlock(&ep->ep.lock);
	group = new_group();
	second = op = new_op();
	second->sched.count = 0;
	wf_list_push(&group->ops, &second->link);
	add_recv(op, 2, other, 1);
	run();
	watch();
	now_ns += 2 * coll_probe_ns();
	watch();
	assert_int_equal(ended_count, 1);
	assert_int_equal(calls.probes, 1);
	finish(pop(0), FI_ECANCELED);
	finish(pop(0), 0);
	assert_int_equal(ended_count, 2);
	assert_int_equal(ended[1].err, 0);
	free(first);
}

/* ---- memory ---- */

/* The memory of small schedules is kept for the next operation, that of others is
 * not. */
static void small_schedules_are_kept(void **state)
{
	static const struct {
		size_t temp, partial, capacity;
		bool kept;
	} rows[] = {
		{ 16384, 0, 256, true },
		{ 16385, 0, 256, false },
		{ 16000, 384, 1, true },
		{ 16000, 385, 1, false },
		{ 0, 16385, 1, false },
		{ 1, 1, 257, false },
	};

	for (unsigned int i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct coll_op *at = op;

		at->sched.temp = realloc(at->sched.temp, rows[i].temp + 1);
		at->sched.partial = realloc(at->sched.partial, rows[i].partial + 1);
		at->sched.temp_size = rows[i].temp;
		at->sched.partial_size = rows[i].partial;
		at->sched.capacity = rows[i].capacity;
		run();
		assert_int_equal(at->sched.temp != NULL, rows[i].kept);
		assert_int_equal(
			at->sched.capacity, rows[i].kept ? rows[i].capacity : 0);
		op = new_op();
		assert_ptr_equal(op, at);
		wf_list_push(&group->ops, &op->link);
	}
	run();
	assert_int_equal(ended_count, 1 + WF_ARRAY_SIZE(rows));
}

/* An operation that was used before begins as a new one. */
static void an_operation_is_used_again(void **state)
{
	struct coll_op *at = op;

	group->operations = 77;
	op->moved = op->moved_before = op->next = 5;
	op->waits_ns = op->node_acts = 3;
	op->is_in_node = true;
	op->steps = calloc(1, sizeof(*op->steps));
	wf_lock(&ep->ep.lock);
	coll_exec_fail(op, -FI_EIO);
	wf_unlock(&ep->ep.lock);
	check_ended(FI_EIO);
	assert_true(coll_op_reserve(ep));
	op = new_op();
	assert_ptr_equal(op, at);
	assert_int_equal(op->number, 77);
	assert_int_equal(op->err, 0);
	assert_int_equal(op->next, 0);
	assert_int_equal(op->moved + op->moved_before, 0);
	assert_int_equal(op->waits_ns, 0);
	assert_int_equal(op->node_acts, 0);
	assert_false(op->is_in_node);
	assert_false(op->is_reported);
	assert_null(op->steps);
	assert_ptr_equal(op->group, group);
	assert_int_equal(group->in_flight, 1);
	assert_int_equal(ep->in_flight, 1);
	assert_true(wf_list_empty(&ep->spare_ops));
	coll_op_free(op);
	assert_int_equal(group->in_flight, 0);
	assert_int_equal(ep->in_flight, 0);
	assert_int_equal(ended_count, 1);
}

static void an_operation_is_reserved(void **state)
{
	struct wf_list *spare;

	assert_true(wf_list_empty(&ep->spare_ops));
	assert_true(coll_op_reserve(ep));
	assert_false(wf_list_empty(&ep->spare_ops));
	spare = ep->spare_ops.next;
	assert_true(coll_op_reserve(ep));
	assert_ptr_equal(ep->spare_ops.next, spare);
	assert_ptr_equal(spare->next, &ep->spare_ops);
	run();
	check_ended(0);
	(void)close_group(state);
	/* One that is freed before it is in any list. */
	(void)open_group(state);
	op = new_op();
	assert_int_equal(op->args.kind, FI_ALLREDUCE);
	coll_op_free(op);
	assert_int_equal(ep->in_flight, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_op, close_group)
#define ROWS(name) cmocka_unit_test_teardown(name, close_group)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROWS(messages_have_the_owners_limit),
		ROWS(messages_have_their_tags),
		CASE(actions_are_in_order),
		CASE(elements_are_reduced),
		CASE(the_node_engine_comes_after_transfers),
		CASE(the_node_engine_fails),
		ROWS(a_message_has_the_wrong_length),
		CASE(a_send_has_no_length),
		CASE(a_transfer_fails),
		CASE(an_error_has_no_code),
		CASE(a_transfer_is_refused),
		CASE(waiting_transfers_are_cancelled),
		CASE(sends_do_not_end),
		CASE(a_group_is_closed),
		CASE(members_are_probed),
		CASE(a_node_is_not_probed),
		CASE(a_probe_fails_at_once),
		CASE(all_groups_are_watched),
		CASE(small_schedules_are_kept),
		CASE(an_operation_is_used_again),
		CASE(an_operation_is_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
