/* SPDX-License-Identifier: BSD-2-Clause */
/* Several operations at a time, their completions, and messages beside them. */
#include <pthread.h>
#include <stdatomic.h>

#include "coll_env.h"

static struct cl_env env;

enum { GROUPS = 4, QUEUED = 6, COUNT = 7 };

/* ---- several groups ---- */

struct flight {
	struct cl_group group[GROUPS];
	struct cl_work work[GROUPS][QUEUED];
	uint32_t next[GROUPS][CL_MEMBERS_MAX]; /* operation, by group and rank */
	uint64_t random;
	uint32_t left; /* calls not made */
};

static uint32_t any(struct flight *f, uint32_t below)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return (uint32_t)(f->random >> 33) % below;
}

/* Groups that overlap: all, all in reverse, every second one, and two. */
static void form_groups(struct flight *f)
{
	cl_range(&f->group[0], COUNT, 0, 1);
	cl_range(&f->group[1], COUNT, COUNT - 1, (uint32_t)-1);
	cl_range(&f->group[2], 4, 0, 2);
	cl_range(&f->group[3], 2, 2, 1);
	for (int g = 0; g < GROUPS; g++)
		cl_form(&env, &f->group[g]);
}

static void prepare_flight(struct flight *f)
{
	static const size_t counts[] = { 1, 3, 40, 700, 9000 };

	f->left = 0;
	for (int g = 0; g < GROUPS; g++) {
		for (uint32_t q = 0; q < QUEUED; q++) {
			struct cl_work *work = &f->work[g][q];
			uint32_t n = f->group[g].count;

			*work = (struct cl_work){ .group = &f->group[g],
				.call = { .kind = cl_kinds[any(f, CL_KINDS)],
					.type = cl_type(FI_INT32),
					.op = FI_SUM,
					.members = n,
					.root = any(f, n),
					.count = counts[any(f, CF_COUNT(counts))],
					.seed = q } };
			work->in_place = any(f, 2);
			cl_prepare(work);
			f->left += n;
		}
		memset(f->next[g], 0, sizeof(f->next[g]));
	}
}

/* Make the next call of a member of a group, each drawn by chance. */
static void one_call(struct flight *f)
{
	int g = (int)any(f, GROUPS);
	uint32_t r = any(f, f->group[g].count), q = f->next[g][r];
	ssize_t ret;

	if (q == QUEUED)
		return;
	ret = cl_call(&env, &f->work[g][q], r);
	if (ret != -FI_EAGAIN) {
		CHECK_OK(ret);
		f->next[g][r]++;
		f->left--;
	}
}

static void fly(struct flight *f)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	prepare_flight(f);
	while (f->left) {
		CHECK(cf_now_ms() < deadline);
		one_call(f);
		if (!any(f, 3))
			cl_step_one(&env, &env.member[any(f, COUNT)]);
	}
	for (int g = 0; g < GROUPS; g++) {
		for (int q = 0; q < QUEUED; q++) {
			CL_UNTIL(&env, cl_done(&f->work[g][q]));
			cl_verify(&f->work[g][q]);
		}
	}
}

static void groups_at_the_same_time(void)
{
	static struct flight flight = { .random = 0x2545f4914f6cdd1d };
	struct cl_options options = { .room = true };
	int rounds = limit_amount() ? 3 : 20;

	cl_open(&env, COUNT, &options);
	form_groups(&flight);
	for (int i = 0; i < rounds; i++)
		fly(&flight);
	for (int g = 0; g < GROUPS; g++)
		cl_leave(&flight.group[g]);
	cl_close(&env);
}

/* A member that is never asked for its queue while the others wait for it. */
static void progress_without_calls(void)
{
	struct cl_options options = { .progress = FI_PROGRESS_AUTO };
	struct cl_work work = { .call = { .kind = FI_ALLREDUCE,
					.type = cl_type(FI_DOUBLE),
					.op = FI_SUM,
					.members = 5,
					.count = 20000 } };
	static struct cl_group group;

	cl_open(&env, 5, &options);
	cl_range(&group, 5, 0, 1);
	cl_form(&env, &group);
	work.group = &group;
	cl_prepare(&work);
	for (uint32_t r = 0; r < 5; r++)
		cl_start(&env, &work, r);
	/* Each member is read alone, the other four make no calls. */
	for (uint32_t r = 0; r < 5; r++) {
		uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

		while (!work.op[r].done) {
			CHECK(cf_now_ms() < deadline);
			cl_step_one(&env, &env.member[r]);
		}
	}
	cl_verify(&work);
	cl_leave(&group);
	cl_close(&env);
}

/* ---- sleeping ---- */

enum { SLEEPERS = 3, SLEEPS = 20 };

struct sleeper {
	pthread_t thread;
	struct cl_group *group;
	uint32_t rank;
};

/* Sleep until each of some operations has ended. */
static void *sleep_and_wake(void *arg)
{
	const struct sleeper *sleeper = arg;
	uint32_t rank = sleeper->rank;
	struct cl_member *member = &env.member[rank];
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	int64_t mine = rank, sum;

	for (int i = 0; i < SLEEPS; i++) {
		sum = 0;
		CHECK_OK(fi_allreduce(member->ep, &mine, 1, NULL, &sum, NULL,
			sleeper->group->addr[rank], FI_INT64, FI_SUM, 0, &context));
		CHECK_EQ(fi_cq_sread(member->cq, &entry, 1, NULL, CF_TIMEOUT_MS), 1);
		CHECK(entry.op_context == &context);
		CHECK_EQ(sum, SLEEPERS * (SLEEPERS - 1) / 2);
	}
	return NULL;
}

static void sleep_in_threads(enum fi_progress progress)
{
	struct cl_options options = { .progress = progress, .sleeps = true };
	struct sleeper sleeper[SLEEPERS];
	static struct cl_group group;

	cl_open(&env, SLEEPERS, &options);
	cl_range(&group, SLEEPERS, 0, 1);
	cl_form(&env, &group);
	for (uint32_t i = 0; i < SLEEPERS; i++) {
		sleeper[i] = (struct sleeper){ .group = &group, .rank = i };
		CHECK_OK(pthread_create(
			&sleeper[i].thread, NULL, sleep_and_wake, &sleeper[i]));
	}
	for (uint32_t i = 0; i < SLEEPERS; i++)
		CHECK_OK(pthread_join(sleeper[i].thread, NULL));
	cl_leave(&group);
	cl_close(&env);
}

static void sleepers_are_woken(void)
{
	sleep_in_threads(FI_PROGRESS_MANUAL);
	sleep_in_threads(FI_PROGRESS_AUTO);
}

/* ---- threads ---- */

enum { THREADS = 3, TURNS = 200 };

struct turn {
	struct fi_context2 context;
	atomic_bool done;
};

/* Read what comes, for whichever thread it is. */
static void read_for_all(struct cl_member *member)
{
	struct fi_cq_data_entry entry;
	ssize_t n = fi_cq_read(member->cq, &entry, 1);
	struct turn *turn;

	if (n == -FI_EAGAIN)
		return;
	CHECK_EQ(n, 1);
	turn = entry.op_context;
	CHECK(!atomic_exchange(&turn->done, true));
}

/* Both members of one group; other threads use the same endpoints for theirs. */
static void *work_in_group(void *arg)
{
	struct cl_group *group = arg;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	int32_t mine[2][50], sum[2][50];
	struct turn turn[2];

	memset(mine, 1, sizeof(mine));
	for (int i = 0; i < TURNS; i++) {
		for (int r = 0; r < 2; r++) {
			struct fid_ep *ep = env.member[r].ep;
			ssize_t ret;

			atomic_store(&turn[r].done, false);
			while ((ret = fi_allreduce(ep, mine[r], 50, NULL, sum[r], NULL,
					group->addr[r], FI_INT32, FI_SUM, 0,
					&turn[r].context)) == -FI_EAGAIN)
				read_for_all(&env.member[r]);
			CHECK_OK(ret);
		}
		while (!atomic_load(&turn[0].done) || !atomic_load(&turn[1].done)) {
			CHECK(cf_now_ms() < deadline);
			read_for_all(&env.member[0]);
			read_for_all(&env.member[1]);
		}
		CHECK_EQ(sum[0][49], 2 * 0x01010101);
		CHECK_EQ(sum[1][0], 2 * 0x01010101);
	}
	return NULL;
}

static void threads_share_an_endpoint(void)
{
	static struct cl_group group[THREADS];
	pthread_t thread[THREADS];

	cl_open(&env, 2, NULL);
	for (int i = 0; i < THREADS; i++) {
		cl_range(&group[i], 2, 0, 1);
		cl_form(&env, &group[i]);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&thread[i], NULL, work_in_group, &group[i]));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(thread[i], NULL));
	for (int i = 0; i < THREADS; i++)
		cl_leave(&group[i]);
	cl_close(&env);
}

/* ---- leaving ---- */

/* What is in progress ends when its group is closed, with an error. */
static void leave_with_operations(const struct cl_options *options)
{
	static struct cl_group group, next;
	struct cl_work work = { .group = &group,
		.call = { .kind = FI_ALLREDUCE,
			.type = cl_type(FI_INT32),
			.op = FI_SUM,
			.members = 3,
			.count = 20000 } };

	cl_open(&env, 3, options);
	cl_range(&group, 3, 0, 1);
	cl_form(&env, &group);
	cl_prepare(&work);
	cl_start(&env, &work, 0);
	cl_start(&env, &work, 1);
	for (int i = 0; i < 10; i++)
		cl_step(&env);
	CF_CLOSE(group.mc[0]);
	CL_UNTIL(&env, work.op[0].done);
	CHECK(work.op[0].err > 0);
	/* It cannot end well for the others either. */
	CL_UNTIL(&env, work.op[1].done);
	CHECK(work.op[1].err > 0);
	cl_leave(&group);
	for (uint32_t r = 0; r < 3; r++) {
		free(work.buf[r]);
		free(work.result[r]);
	}
	cl_range(&next, 3, 0, 1);
	cl_form(&env, &next);
	work = (struct cl_work){ .group = &next, .call = work.call };
	cl_run(&env, &work);
	cl_leave(&next);
	cl_close(&env);
}

static void leaving_with_operations_in_progress(void)
{
	leave_with_operations(NULL);
}

/* Members know each other by their addresses, whatever completions report. */
static void leaving_members_that_have_ids(void)
{
	const struct cl_options options = { .ids = true };

	NEED_API(1, 20);
	leave_with_operations(&options);
}

/* ---- completions ---- */

static uint64_t counted(struct cl_member *member)
{
	return fi_cntr_read(member->cntr);
}

static void completions_that_are_asked_for(void)
{
	struct cl_options options = { .cq_flags = FI_SELECTIVE_COMPLETION,
		.counters = true };
	static struct cl_group group;
	struct cl_work work = { .group = &group,
		.call = { .kind = FI_ALLREDUCE,
			.type = cl_type(FI_INT32),
			.op = FI_SUM,
			.members = 3,
			.count = 2 } };
	uint64_t before[3];
	size_t wrong;

	cl_open(&env, 3, &options);
	cl_range(&group, 3, 0, 1);
	cl_form(&env, &group);
	for (uint32_t r = 0; r < 3; r++)
		before[r] = counted(&env.member[r]);
	cl_prepare(&work);
	for (uint32_t r = 0; r < 3; r++)
		cl_start(&env, &work, r);
	for (uint32_t r = 0; r < 3; r++) {
		CL_UNTIL(&env, counted(&env.member[r]) == before[r] + 1);
		CHECK(cm_check(&work.call, r, work.result[r], &wrong));
	}
	for (int i = 0; i < 50; i++)
		cl_step(&env);
	CHECK(!work.op[0].done && !work.op[1].done && !work.op[2].done);
	for (uint32_t r = 0; r < 3; r++) {
		free(work.buf[r]);
		free(work.result[r]);
	}
	work.flags = FI_COMPLETION;
	cl_run(&env, &work);
	for (uint32_t r = 0; r < 3; r++)
		CHECK_EQ(counted(&env.member[r]), before[r] + 2);
	cl_leave(&group);
	cl_close(&env);
}

/* ---- messages of the application ---- */

struct traffic {
	struct fi_context2 rx[3], tx[3];
	char in[3][8];
};

/* Receives that would match anything: untagged, and tagged with all bits ignored. */
static void post_wildcards(struct traffic *t)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct fid_ep *ep = env.member[i].ep;

		if (i == 1)
			CL_RETRY(&env, fi_recv(ep, t->in[i], sizeof(t->in[i]), NULL,
					       FI_ADDR_UNSPEC, &t->rx[i]));
		else
			CL_RETRY(&env, fi_trecv(ep, t->in[i], sizeof(t->in[i]), NULL,
					       FI_ADDR_UNSPEC, 0, ~0ull, &t->rx[i]));
	}
}

static void send_to_wildcards(struct traffic *t)
{
	for (uint32_t i = 0; i < 3; i++) {
		struct cl_member *from = &env.member[(i + 1) % 3];

		if (i == 1)
			CL_RETRY(&env, fi_send(from->ep, "message", 8, NULL,
					       from->addr[i], &t->tx[i]));
		else
			CL_RETRY(&env, fi_tsend(from->ep, "message", 8, NULL,
					       from->addr[i], 5, &t->tx[i]));
	}
}

static void run_every_kind(struct cl_group *group)
{
	for (int k = 0; k < CL_KINDS; k++) {
		struct cl_work work = { .group = group,
			.call = { .kind = cl_kinds[k],
				.type = cl_type(FI_INT16),
				.op = FI_SUM,
				.count = 500 } };

		cl_run(&env, &work);
	}
}

static void messages_and_collectives_do_not_meet(void)
{
	static struct cl_group group;
	static struct traffic traffic;

	cl_open(&env, 3, NULL);
	cl_range(&group, 3, 0, 1);
	/* Joining sends messages, too. */
	post_wildcards(&traffic);
	cl_form(&env, &group);
	run_every_kind(&group);
	CHECK_EQ(env.stray, 0);
	send_to_wildcards(&traffic);
	CL_UNTIL(&env, env.stray == 6);
	for (int i = 0; i < 3; i++)
		CHECK_STR(traffic.in[i], "message");
	/* Messages that wait for receives are no matter of collectives. */
	send_to_wildcards(&traffic);
	CL_UNTIL(&env, env.stray == 9);
	run_every_kind(&group);
	CHECK_EQ(env.stray, 9);
	memset(traffic.in, 0, sizeof(traffic.in));
	post_wildcards(&traffic);
	CL_UNTIL(&env, env.stray == 12);
	for (int i = 0; i < 3; i++)
		CHECK_STR(traffic.in[i], "message");
	cl_leave(&group);
	cl_close(&env);
}

/* Bits of the tag that the application may use. */
static void tags_of_the_application(void)
{
	struct cf_options options = { .caps = FI_TAGGED | FI_COLLECTIVE };
	struct cf_env base;

	cf_open_domain(&base, &options);
	CHECK_EQ(base.info->ep_attr->mem_tag_format >> 63, 0);
	CHECK(base.info->ep_attr->mem_tag_format);
	cf_close(&base);
}

CF_SUITE(coll_flight,
	CF_CASE(groups_at_the_same_time, "COL-005 COL-010", FI_COLLECTIVE),
	CF_CASE(progress_without_calls, "COL-010", FI_COLLECTIVE),
	CF_CASE(sleepers_are_woken, "COL-010", FI_COLLECTIVE),
	CF_CASE(threads_share_an_endpoint, "COL-005", FI_COLLECTIVE),
	CF_CASE(leaving_with_operations_in_progress, "COL-016", FI_COLLECTIVE),
	CF_CASE(leaving_members_that_have_ids, "AV-048 COL-016", FI_COLLECTIVE),
	CF_CASE(completions_that_are_asked_for, "COL-010", FI_COLLECTIVE),
	CF_CASE(messages_and_collectives_do_not_meet, "COL-005", FI_COLLECTIVE),
	CF_CASE(tags_of_the_application, "COL-005", FI_COLLECTIVE));
