/* SPDX-License-Identifier: BSD-2-Clause */
/* Operations that start when a counter reaches a threshold. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_trigger.h>

#include "suites.h"

static const struct cf_options options = {
	.caps = FI_TRIGGER, .split_cqs = true, .counters = true
};

/* ---- the flag of a call ---- */

static void trigger_send(struct cf_env *env, struct fi_triggered_context2 *context,
	struct fid_cntr *cntr, size_t threshold, const uint32_t *value)
{
	struct cf_side *from = &env->side[0];
	struct iovec iov = { (void *)(uintptr_t)value, sizeof(*value) };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = from->peer, .context = context
	};

	memset(context, 0, sizeof(*context));
	context->event_type = FI_TRIGGER_THRESHOLD;
	context->trigger.threshold.cntr = cntr;
	context->trigger.threshold.threshold = threshold;
	CF_RETRY(from->tx_cq, fi_sendmsg(from->ep, &msg, FI_TRIGGER));
}

static uint32_t receive(struct cf_env *env)
{
	struct fi_context2 context;
	uint32_t in = 0;

	cf_post_recv(env, &in, sizeof(in), &context);
	(void)cf_cq_wait_for(env->side[1].rx_cq, &context);
	return in;
}

static void a_send_waits_for_its_threshold(void)
{
	static const uint32_t values[] = { 1, 2, 3 };
	struct fi_triggered_context2 contexts[3];
	struct fid_cntr *cntr;
	struct cf_env env;

	cf_open_pair(&env, &options);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	trigger_send(&env, &contexts[0], cntr, 2, &values[0]);
	cf_cq_quiet(env.side[0].tx_cq);
	CHECK_OK(fi_cntr_add(cntr, 1));
	cf_cq_quiet(env.side[0].tx_cq);
	CHECK_OK(fi_cntr_add(cntr, 1));
	CHECK_EQ(receive(&env), 1);
	(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[0]);
	/* One that is reached already starts at once. */
	trigger_send(&env, &contexts[1], cntr, 2, &values[1]);
	CHECK_EQ(receive(&env), 2);
	(void)cf_cq_wait_for(env.side[0].tx_cq, &contexts[1]);
	CF_CLOSE(cntr);
	cf_close(&env);
}

static void lower_thresholds_start_first(void)
{
	static const size_t thresholds[] = { 5, 2, 5, 3, 2, 1 };
	static const uint32_t values[] = { 0, 1, 2, 3, 4, 5 };
	static const uint32_t wanted[] = { 5, 1, 4, 3, 0, 2 };
	struct fi_triggered_context2 contexts[6];
	struct fi_cq_data_entry entry;
	struct fid_cntr *cntr;
	struct cf_env env;

	cf_open_pair(&env, &options);
	cntr = cf_new_cntr(&env, FI_WAIT_NONE);
	cf_exchange(&env, 4);
	for (int i = 0; i < 6; i++)
		trigger_send(&env, &contexts[i], cntr, thresholds[i], &values[i]);
	CHECK_OK(fi_cntr_add(cntr, 10)); /* past all of them at once */
	for (int i = 0; i < 6; i++)
		CHECK_EQ(receive(&env), wanted[i]);
	for (int i = 0; i < 6; i++)
		cf_cq_wait(env.side[0].tx_cq, &entry);
	CF_CLOSE(cntr);
	cf_close(&env);
}

/* A message that arrives sends the answer. */
static void a_receive_triggers_an_answer(void)
{
	struct fi_triggered_context2 context = {
		.event_type = FI_TRIGGER_THRESHOLD,
	};
	struct fi_context2 contexts[2];
	uint32_t question = 7, answer = 8, in[2] = { 0 };
	struct cf_env env;
	struct cf_side *to = &env.side[1];
	struct iovec iov = { &answer, sizeof(answer) };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = &context };

	cf_open_pair(&env, &options);
	context.trigger.threshold.cntr = to->rx_cntr;
	context.trigger.threshold.threshold = 1;
	msg.addr = to->peer;
	CF_RETRY(to->tx_cq, fi_sendmsg(to->ep, &msg, FI_TRIGGER));
	CF_RETRY(env.side[0].rx_cq,
		fi_recv(env.side[0].ep, &in[0], 4, NULL, FI_ADDR_UNSPEC, &contexts[0]));
	cf_post_recv(&env, &in[1], 4, &contexts[1]);
	CF_RETRY(env.side[0].tx_cq,
		fi_inject(env.side[0].ep, &question, 4, env.side[0].peer));
	(void)cf_cq_wait_for(env.side[0].rx_cq, &contexts[0]);
	CHECK_EQ(in[0], 8);
	CHECK_EQ(in[1], 7);
	cf_close(&env);
}

/* ---- deferred work ---- */

static void need_deferred(struct cf_env *env)
{
	if (fi_control(&env->domain->fid, FI_FLUSH_WORK, NULL) == -FI_ENOSYS)
		SKIP("work cannot be deferred");
}

static void check_counter(struct fid_cntr *cntr, uint64_t wanted)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	while (fi_cntr_read(cntr) < wanted && cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(fi_cntr_read(cntr), wanted);
}

struct work {
	struct cf_env env;
	struct fid_cntr *start, *done;
	struct fi_deferred_work work[2];
	uint32_t out, in;
	struct iovec iov[2];
	struct fi_op_msg msg[2];
	struct fi_context2 contexts[2];
};

static void open_work(struct work *w, uint64_t caps)
{
	struct cf_options more = options;

	more.caps |= caps;
	memset(w, 0, sizeof(*w));
	if (!cf_offers(&more))
		SKIP("not offered together");
	cf_open_pair(&w->env, &more);
	need_deferred(&w->env);
	w->start = cf_new_cntr(&w->env, FI_WAIT_NONE);
	w->done = cf_new_cntr(&w->env, FI_WAIT_NONE);
	for (int i = 0; i < 2; i++) {
		w->work[i].triggering_cntr = w->start;
		w->work[i].completion_cntr = w->done;
		w->work[i].threshold = 1;
	}
}

static void close_work(struct work *w)
{
	for (int i = 0; i < 2; i++)
		CF_CLOSE(w->env.side[i].ep);
	CF_CLOSE(w->start);
	CF_CLOSE(w->done);
	cf_close(&w->env);
}

static int queue(struct work *w, int i)
{
	return fi_control(&w->env.domain->fid, FI_QUEUE_WORK, &w->work[i]);
}

static void prepare_send(struct work *w, int i)
{
	struct cf_side *from = &w->env.side[0];

	w->out = 4711;
	w->iov[i] = (struct iovec){ &w->out, sizeof(w->out) };
	w->msg[i] = (struct fi_op_msg){ .ep = from->ep,
		.msg = { .msg_iov = &w->iov[i],
			.iov_count = 1,
			.addr = from->peer,
			.context = &w->contexts[i] } };
	w->work[i].op_type = FI_OP_SEND;
	w->work[i].op.msg = &w->msg[i];
}

static void deferred_send_and_receive(void)
{
	static struct work w;

	open_work(&w, 0);
	cf_exchange(&w.env, 4);
	prepare_send(&w, 0);
	w.iov[1] = (struct iovec){ &w.in, sizeof(w.in) };
	w.msg[1] = (struct fi_op_msg){ .ep = w.env.side[1].ep,
		.msg = { .msg_iov = &w.iov[1],
			.iov_count = 1,
			.addr = FI_ADDR_UNSPEC,
			.context = &w.contexts[1] } };
	w.work[1].op_type = FI_OP_RECV;
	w.work[1].op.msg = &w.msg[1];
	CHECK_OK(queue(&w, 0));
	CHECK_OK(queue(&w, 1));
	for (int i = 0; i < 200; i++)
		cf_progress();
	CHECK_EQ(fi_cntr_read(w.done), 0);
	CHECK_OK(fi_cntr_add(w.start, 1));
	check_counter(w.done, 2);
	CHECK_EQ(w.in, 4711);
	/* No entries, and the counters of the endpoints saw the exchange only. */
	cf_cq_quiet(w.env.side[0].tx_cq);
	cf_cq_quiet(w.env.side[1].rx_cq);
	CHECK_EQ(fi_cntr_read(w.env.side[0].tx_cntr), 1);
	CHECK_EQ(fi_cntr_read(w.env.side[1].rx_cntr), 1);
	close_work(&w);
}

/* What is not work completes and counts as ever while work is under way, and after. */
static void messages_pass_work_that_waits(void)
{
	static struct work w;
	const struct cf_side *from = &w.env.side[0], *to = &w.env.side[1];
	struct fi_op_tagged op;

	open_work(&w, FI_TAGGED);
	w.out = 4711;
	w.iov[0] = (struct iovec){ &w.in, sizeof(w.in) };
	op = (struct fi_op_tagged){ .ep = to->ep,
		.msg = { .msg_iov = &w.iov[0],
			.iov_count = 1,
			.addr = FI_ADDR_UNSPEC,
			.tag = 77,
			.context = &w.contexts[0] } };
	w.work[0].op_type = FI_OP_TRECV;
	w.work[0].op.tagged = &op;
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	for (int i = 0; i < 3; i++)
		cf_exchange(&w.env, 4);
	CHECK_EQ(fi_cntr_read(w.done), 0);
	CHECK_OK(fi_tinject(from->ep, &w.out, sizeof(w.out), from->peer, 77));
	check_counter(w.done, 1);
	CHECK_EQ(w.in, 4711);
	cf_exchange(&w.env, 4);
	cf_cq_quiet(from->tx_cq);
	cf_cq_quiet(to->rx_cq);
	CHECK_EQ(fi_cntr_read(from->tx_cntr), 5);
	CHECK_EQ(fi_cntr_read(to->rx_cntr), 4);
	close_work(&w);
}

static void errors_count_for_the_threshold(void)
{
	static struct work w;

	open_work(&w, 0);
	prepare_send(&w, 0);
	w.work[0].threshold = 2;
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	CHECK_OK(fi_cntr_adderr(w.start, 1));
	CHECK_EQ(receive(&w.env), 4711);
	check_counter(w.done, 1);
	close_work(&w);
}

static void deferred_counter_operations(void)
{
	static struct work w;
	struct fi_op_cntr ops[2];

	open_work(&w, 0);
	ops[0] = (struct fi_op_cntr){ .cntr = w.done, .value = 10 };
	ops[1] = (struct fi_op_cntr){ .cntr = w.done, .value = 5 };
	w.work[0].op_type = FI_OP_CNTR_SET;
	w.work[1].op_type = FI_OP_CNTR_ADD;
	for (int i = 0; i < 2; i++) {
		w.work[i].completion_cntr = NULL;
		w.work[i].op.cntr = &ops[i];
		CHECK_OK(queue(&w, i));
	}
	CHECK_EQ(fi_cntr_read(w.done), 0);
	CHECK_OK(fi_cntr_add(w.start, 1));
	check_counter(w.done, 15);
	close_work(&w);
}

/* One piece of work ends, which starts the next. */
static void work_forms_a_chain(void)
{
	static struct work w;
	struct fi_op_cntr op;
	struct fid_cntr *last;

	open_work(&w, 0);
	last = cf_new_cntr(&w.env, FI_WAIT_NONE);
	prepare_send(&w, 0);
	op = (struct fi_op_cntr){ .cntr = last, .value = 3 };
	w.work[1].op_type = FI_OP_CNTR_ADD;
	w.work[1].op.cntr = &op;
	w.work[1].triggering_cntr = w.done;
	w.work[1].completion_cntr = NULL;
	CHECK_OK(queue(&w, 1));
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	CHECK_EQ(receive(&w.env), 4711);
	check_counter(last, 3);
	CF_CLOSE(w.env.side[0].ep);
	CF_CLOSE(last);
	close_work(&w);
}

static void cancelled_work_never_starts(void)
{
	static struct work w;
	struct cf_env *env = &w.env;

	open_work(&w, 0);
	prepare_send(&w, 0);
	prepare_send(&w, 1);
	CHECK_OK(queue(&w, 0));
	CHECK_OK(queue(&w, 1));
	CHECK_OK(fi_control(&env->domain->fid, FI_CANCEL_WORK, &w.work[0]));
	CHECK_OK(fi_cntr_add(w.start, 1));
	CHECK_EQ(receive(env), 4711);
	check_counter(w.done, 1);
	w.work[0].threshold = 2;
	w.work[1].threshold = 2;
	CHECK_OK(queue(&w, 0));
	CHECK_OK(queue(&w, 1));
	CHECK_OK(fi_control(&env->domain->fid, FI_FLUSH_WORK, NULL));
	CHECK_OK(fi_cntr_add(w.start, 1));
	for (int i = 0; i < 500; i++)
		cf_progress();
	CHECK_EQ(fi_cntr_read(w.done), 1);
	close_work(&w);
}

static void deferred_remote_access(void)
{
	static struct work w;
	struct fi_rma_iov targets[2];
	struct fi_op_rma ops[2];
	struct cf_region region;
	uint8_t local[2][64];

	open_work(&w, FI_RMA);
	cf_open_region(&w.env, 1, &region, NULL, 64, FI_REMOTE_READ | FI_REMOTE_WRITE);
	cf_fill(local[0], 64, 1);
	memset(local[1], 0, 64);
	for (int i = 0; i < 2; i++) {
		w.iov[i] = (struct iovec){ local[i], 64 };
		targets[i] = (struct fi_rma_iov){ region.addr, 64, region.key };
		ops[i] = (struct fi_op_rma){ .ep = w.env.side[0].ep,
			.msg = { .msg_iov = &w.iov[i],
				.iov_count = 1,
				.addr = w.env.side[0].peer,
				.rma_iov = &targets[i],
				.rma_iov_count = 1,
				.context = &w.contexts[i] } };
		w.work[i].op_type = i ? FI_OP_READ : FI_OP_WRITE;
		w.work[i].op.rma = &ops[i];
	}
	w.work[1].threshold = 2;
	CHECK_OK(queue(&w, 1));
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	check_counter(w.done, 1);
	CHECK_OK(fi_cntr_add(w.start, 1));
	check_counter(w.done, 2);
	cf_verify(local[1], 64, 1);
	cf_cq_quiet(w.env.side[0].tx_cq);
	cf_close_region(&region);
	close_work(&w);
}

static void wait_error(struct work *w, struct fid_cntr *cntr)
{
	struct fid_cq *cq = w->env.side[0].tx_cq;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_cq_err_entry entry = { 0 };

	while (!fi_cntr_readerr(cntr) && cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(fi_cntr_readerr(cntr), 1);
	cf_cq_wait_err(cq, &entry);
}

/* Work that fails counts at its completion counter alone; an operation of the endpoint
 * that fails after it counts at the endpoint's. */
static void failed_work_counts_where_it_belongs(void)
{
	static struct work w;
	struct fi_rma_iov target;
	struct fid_cntr *reads;
	struct fi_op_rma op;
	struct cf_side *from = &w.env.side[0];
	struct cf_region region;
	uint8_t local[64];

	open_work(&w, FI_RMA);
	reads = cf_new_cntr(&w.env, FI_WAIT_NONE);
	CHECK_OK(fi_ep_bind(from->ep, &reads->fid, FI_READ));
	cf_open_region(&w.env, 1, &region, NULL, 64, FI_REMOTE_READ);
	w.iov[0] = (struct iovec){ local, sizeof(local) };
	target = (struct fi_rma_iov){ region.addr, sizeof(local), region.key + 1 };
	op = (struct fi_op_rma){ .ep = from->ep,
		.msg = { .msg_iov = &w.iov[0],
			.iov_count = 1,
			.addr = from->peer,
			.rma_iov = &target,
			.rma_iov_count = 1,
			.context = &w.contexts[0] } };
	w.work[0].op_type = FI_OP_READ;
	w.work[0].op.rma = &op;
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	wait_error(&w, w.done);
	CHECK_EQ(fi_cntr_readerr(reads), 0);
	CF_RETRY(from->tx_cq, fi_read(from->ep, local, sizeof(local), NULL, from->peer,
				      region.addr, region.key + 1, &w.contexts[1]));
	wait_error(&w, reads);
	CHECK_EQ(fi_cntr_readerr(w.done), 1);
	CHECK_EQ(fi_cntr_read(reads), 0);
	cf_close_region(&region);
	CF_CLOSE(from->ep);
	CF_CLOSE(reads);
	from->ep = NULL;
	close_work(&w);
}

static void deferred_atomic(void)
{
	static struct work w;
	struct fi_op_fetch_atomic op = { 0 };
	struct fi_ioc ioc, result_ioc;
	struct fi_rma_ioc target;
	struct cf_region region;
	uint64_t operand = 5, result = 99, before = 37;

	open_work(&w, FI_ATOMIC);
	cf_open_region(&w.env, 1, &region, NULL, 64, FI_REMOTE_READ | FI_REMOTE_WRITE);
	memcpy(region.bytes, &before, 8);
	ioc = (struct fi_ioc){ &operand, 1 };
	result_ioc = (struct fi_ioc){ &result, 1 };
	target = (struct fi_rma_ioc){ region.addr, 1, region.key };
	op.ep = w.env.side[0].ep;
	op.msg = (struct fi_msg_atomic){ .msg_iov = &ioc,
		.iov_count = 1,
		.addr = w.env.side[0].peer,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.datatype = FI_UINT64,
		.op = FI_SUM,
		.context = &w.contexts[0] };
	op.fetch.msg_iov = &result_ioc;
	op.fetch.iov_count = 1;
	w.work[0].op_type = FI_OP_FETCH_ATOMIC;
	w.work[0].op.fetch_atomic = &op;
	CHECK_OK(queue(&w, 0));
	CHECK_OK(fi_cntr_add(w.start, 1));
	check_counter(w.done, 1);
	CHECK_EQ(result, 37);
	memcpy(&before, region.bytes, 8);
	CHECK_EQ(before, 42);
	cf_close_region(&region);
	close_work(&w);
}

static void bad_work_is_refused(void)
{
	static struct work w;
	struct fi_op_cntr op;

	open_work(&w, 0);
	op = (struct fi_op_cntr){ .cntr = w.done, .value = 1 };
	w.work[0].op_type = (enum fi_op_type)99;
	w.work[0].op.cntr = &op;
	CHECK_FAILS(queue(&w, 0));
	w.work[0].op_type = FI_OP_CNTR_ADD; /* with a completion counter */
	CHECK_FAILS(queue(&w, 0));
	close_work(&w);
}

CF_SUITE(trigger,
	CF_CASE(a_send_waits_for_its_threshold, "TRG-001 TRG-002", FI_MSG | FI_TRIGGER),
	CF_CASE(lower_thresholds_start_first, "TRG-003", FI_MSG | FI_TRIGGER),
	CF_CASE(a_receive_triggers_an_answer, "TRG-002", FI_MSG | FI_TRIGGER),
	CF_CASE(deferred_send_and_receive, "TRG-004 TRG-005 TRG-006 TRG-009",
		FI_MSG | FI_TRIGGER),
	CF_CASE(messages_pass_work_that_waits, "TRG-004 TRG-006",
		FI_MSG | FI_TAGGED | FI_TRIGGER),
	CF_CASE(errors_count_for_the_threshold, "TRG-004", FI_MSG | FI_TRIGGER),
	CF_CASE(deferred_counter_operations, "TRG-004 TRG-005", FI_MSG | FI_TRIGGER),
	CF_CASE(work_forms_a_chain, "TRG-004 TRG-005", FI_MSG | FI_TRIGGER),
	CF_CASE(cancelled_work_never_starts, "TRG-007", FI_MSG | FI_TRIGGER),
	CF_CASE(deferred_remote_access, "TRG-004 TRG-006", FI_RMA | FI_TRIGGER),
	CF_CASE(failed_work_counts_where_it_belongs, "TRG-006 CNT-009",
		FI_RMA | FI_TRIGGER),
	CF_CASE(deferred_atomic, "TRG-004", FI_ATOMIC | FI_TRIGGER),
	CF_CASE(bad_work_is_refused, "TRG-005 TRG-008", FI_MSG | FI_TRIGGER));
