/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

#include <sched.h>

/*
 * One owner, two peers, and everybody at once: receives are posted, messages come, both
 * peers are let progress, addresses become known. threads_test PROVIDER.
 */

enum { MESSAGES = 4000, WINDOW = 64, AHEAD = 256 };

struct run {
	struct rig *rig;
	uint64_t end;
	uint64_t in[MESSAGES], out[MESSAGES];
	atomic_bool stop, failed;
	atomic_uint received;
};

static bool late(struct run *run)
{
	if (now_ms() > run->end)
		atomic_store(&run->failed, true);
	return atomic_load(&run->failed);
}

/* Tag and content are the number of the message. */
static void *send_all(void *arg)
{
	struct run *run = arg;
	struct rig *rig = run->rig;
	struct owner_result result;
	unsigned int done = 0;
	ssize_t ret;

	for (unsigned int i = 0; i < MESSAGES || done < MESSAGES;) {
		if (late(run))
			return NULL;
		if (i < MESSAGES && i - done < WINDOW) {
			run->out[i] = i * 3ULL + 1;
			ret = i % 5 ? fi_tsend(rig->s.ep, &run->out[i], 8, NULL,
					      rig->to[i % 2], i, &run->out[i])
				    : fi_tsend(rig->s.ep, &run->out[i], 8, NULL,
					      rig->to[1], i, &run->out[i]);
			i += !ret;
		}
		owner_progress_cq(&rig->b, rig->s.cq);
		while (owner_read(&rig->b, &result))
			done += !result.err;
	}
	/* A thread that still waits may need more than one poll. */
	while (!atomic_load(&run->stop) && !late(run)) {
		owner_progress_cq(&rig->b, rig->s.cq);
		(void)sched_yield();
	}
	return NULL;
}

static void *progress_cq(void *arg)
{
	struct run *run = arg;

	while (!atomic_load(&run->stop)) {
		owner_progress_cq(&run->rig->a, run->rig->r[0].cq);
		owner_progress_cntr(&run->rig->a, run->rig->r[1].rx_cntr);
		(void)sched_yield();
	}
	return NULL;
}

static void *progress_other(void *arg)
{
	struct run *run = arg;

	while (!atomic_load(&run->stop)) {
		owner_progress_cq(&run->rig->a, run->rig->r[1].cq);
		owner_progress_cq(&run->rig->a, run->rig->r[0].cq);
		(void)sched_yield();
	}
	return NULL;
}

/* This thread posts half of the receives, out of order. */
static void *post_odd(void *arg)
{
	struct run *run = arg;

	for (unsigned int i = 0; i < MESSAGES && !late(run); i += 2) {
		unsigned int n = i ^ 2;

		while (atomic_load(&run->received) + AHEAD < i && !late(run))
			(void)sched_yield();
		n = n + 1 < MESSAGES ? n + 1 : i + 1;
		(void)owner_trecv(&run->rig->a, &run->in[n], 8, FI_ADDR_UNSPEC, n, 0,
			&run->in[n], FI_COMPLETION);
	}
	return NULL;
}

static void *insert_later(void *arg)
{
	struct run *run = arg;

	while (atomic_load(&run->received) < MESSAGES / 8 && !late(run))
		(void)sched_yield();
	for (int i = 0; i < 2; i++)
		(void)side_insert(&run->rig->r[i], &run->rig->s);
	return NULL;
}

static void take_results(struct run *run)
{
	struct owner_result result;

	while (atomic_load(&run->received) < MESSAGES && !late(run)) {
		if (!owner_read(&run->rig->a, &result)) {
			(void)sched_yield();
			continue;
		}
		assert_int_equal(result.err, 0);
		assert_true(result.tag < MESSAGES);
		assert_ptr_equal(result.context, &run->in[result.tag]);
		assert_int_equal(run->in[result.tag], result.tag * 3 + 1);
		/* Once. */
		run->in[result.tag] = 0;
		atomic_fetch_add(&run->received, 1);
	}
}

static void everybody(void **state)
{
	static void *(*const work[])(void *) = { send_all, progress_cq, progress_other,
		post_odd, insert_later };
	enum { THREADS = sizeof(work) / sizeof(work[0]) };
	struct run *run = calloc(1, sizeof(*run));
	pthread_t threads[THREADS];

	assert_non_null(run);
	run->rig = rig_open((struct rig_options){ .unknown = true });
	run->end = now_ms() + 6 * PATIENCE_MS;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work[i], run), 0);
	for (unsigned int i = 0; i < MESSAGES; i += 2)
		assert_int_equal(
			owner_trecv(&run->rig->a, &run->in[i], 8, FI_ADDR_UNSPEC, i, 0,
				&run->in[i], FI_COMPLETION),
			0);
	take_results(run);
	atomic_store(&run->stop, true);
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	assert_false(atomic_load(&run->failed));
	assert_int_equal(atomic_load(&run->rig->a.rx), MESSAGES);
	assert_int_equal(run->rig->a.entries, 0);
	rig_close(run->rig);
	free(run);
}

/* Endpoints are opened and closed, with messages of unknown senders among others, while
 * addresses become known: no thread waits for ever, and all messages that were reported
 * are still there. */

enum { REOPENED = 100 };

static void *insert_many(void *arg)
{
	struct run *run = arg;
	struct side *side = &run->rig->r[0];
	fi_addr_t addr;

	while (!atomic_load(&run->stop)) {
		if (fi_av_insert(side->av, run->rig->s.name, 1, &addr, 0, NULL) == 1)
			(void)fi_av_remove(side->av, &addr, 1, 0);
		(void)sched_yield();
	}
	return NULL;
}

static void *progress_own(void *arg)
{
	struct run *run = arg;

	while (!atomic_load(&run->stop))
		rig_progress(run->rig);
	return NULL;
}

static void closing_while_inserting(void **state)
{
	struct run *run;
	struct side *side;
	struct owner_result result;
	pthread_t threads[3];
	fi_addr_t to;

	run = calloc(1, sizeof(*run));
	assert_non_null(run);
	run->rig = rig_open((struct rig_options){ .unknown = true });
	side = &run->rig->r[0];
	assert_int_equal(pthread_create(&threads[0], NULL, insert_many, run), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, insert_many, run), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, progress_own, run), 0);
	for (int i = 0; i < REOPENED; i++) {
		to = side_insert(&run->rig->s, side);
		(void)fi_tinject(run->rig->s.ep, "message", 8, to, 1);
		(void)sched_yield();
		assert_int_equal(side_close_ep(side), 0);
		/* The owner's lock is not held, because closing waits for threads in
		 * callbacks. */
		assert_int_equal(fi_close(&side->srx->fid), 0);
		side_reopen_ep(side);
		while (owner_read(&run->rig->b, &result))
			;
	}
	atomic_store(&run->stop, true);
	for (int i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	rig_close(run->rig);
	free(run);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everybody),
		cmocka_unit_test(closing_while_inserting),
	};

	rig_choose(argc, argv);
	/* The test peer takes its own threads less seriously. */
	return rig_run(tests, sizeof(tests) / sizeof(tests[0]), 0, 1);
}
