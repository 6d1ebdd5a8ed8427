/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that poll in vain leave the processor to others. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suites.h"

static atomic_uint yields;

/* Instead of the system's, for the library, too. */
__attribute__((visibility("default"))) int sched_yield(void)
{
	atomic_fetch_add(&yields, 1);
	return (int)syscall(SYS_sched_yield);
}

static void read_queue(struct fid *fid)
{
	struct fi_cq_data_entry entry;
	struct fid_cq *cq = (struct fid_cq *)fid;

	CHECK_EQ(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
}

static void read_counter(struct fid *fid)
{
	CHECK_EQ(fi_cntr_read((struct fid_cntr *)fid), 0);
}

static void poll_in_vain(struct fid *fid, void (*read)(struct fid *))
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	atomic_store(&yields, 0);
	while (!atomic_load(&yields) && cf_now_ms() < deadline)
		read(fid);
	CHECK(atomic_load(&yields));
}

/* With more threads than processors the peer runs when the one that polls lets it. */
static void pollers_give_way(void)
{
	struct cf_options options = { .split_cqs = true };
	struct fid_cntr *cntr;
	struct cf_env env;

	cf_open_pair(&env, &options);
	poll_in_vain(&env.side[1].rx_cq->fid, read_queue);
	if (env.info->domain_attr->cntr_cnt) {
		cntr = cf_new_cntr(&env, FI_WAIT_NONE);
		poll_in_vain(&cntr->fid, read_counter);
		CF_CLOSE(cntr);
	}
	cf_close(&env);
}

/* The target of reads has no completions of its own and is busy all the same: each
 * time slice that it gave up would be a delay for its peer. */
static void a_target_keeps_the_processor(void)
{
	enum { ROUNDS = 3000 };
	struct cf_options options = { .caps = FI_RMA, .split_cqs = true };
	struct fi_cq_data_entry entry;
	struct cf_region region;
	struct cf_side *from;
	struct cf_env env;
	uint64_t word = 7;

	/* A thread of the library that has just helped to connect may hold a lock. */
	CHECK(!setenv("FI_BACKGROUND_PROGRESS", "no", 1));
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, NULL, sizeof(word), FI_REMOTE_READ);
	from = &env.side[0];
	atomic_store(&yields, 0);
	for (int i = 0; i < ROUNDS; i++) {
		CF_RETRY(from->tx_cq,
			fi_read(from->ep, &word, sizeof(word), NULL, from->peer,
				region.addr, region.key, NULL));
		while (fi_cq_read(from->tx_cq, &entry, 1) == -FI_EAGAIN)
			read_queue(&env.side[1].rx_cq->fid);
	}
	CHECK_EQ(atomic_load(&yields), 0);
	cf_close_region(&region);
	cf_close(&env);
}

CF_SUITE(give_way, CF_CASE(pollers_give_way, "THR-007", FI_MSG),
	CF_CASE(a_target_keeps_the_processor, "THR-007", FI_RMA));
