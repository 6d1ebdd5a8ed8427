/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_trywait: when it is safe to block on descriptors. */
#include <poll.h>
#include <pthread.h>

#include "suites.h"

static const struct cf_options with_fd = { .wait_obj = FI_WAIT_FD, .split_cqs = true };

static int trywait(struct cf_env *env, struct fid *fid)
{
	return fi_trywait(env->fabric, &fid, 1);
}

static void other_classes_are_refused(void)
{
	struct cf_env env;

	cf_need_connectionless();
	cf_open_pair(&env, &with_fd);
	CHECK_EITHER(trywait(&env, &env.side[0].av->fid), -FI_EINVAL, -FI_ENOSYS);
	CHECK_EITHER(trywait(&env, &env.domain->fid), -FI_EINVAL, -FI_ENOSYS);
	cf_close(&env);
}

static void queued_entries_forbid_blocking(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fid_cq *cq;
	struct cf_env env;
	char in, out = 1;

	cf_open_pair(&env, &with_fd);
	cq = env.side[1].rx_cq;
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	/* Either the entry is in the queue, or it will wake the thread that blocks. */
	while (trywait(&env, &cq->fid) == 0) {
		struct pollfd poll_fd = { .events = POLLIN };

		CHECK(cf_now_ms() < deadline);
		CHECK_OK(fi_control(&cq->fid, FI_GETWAIT, &poll_fd.fd));
		CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
		/* Progress, but leave what there is. */
		(void)fi_cq_read(cq, NULL, 0);
	}
	CHECK_EQ(trywait(&env, &cq->fid), -FI_EAGAIN);
	cf_cq_wait(cq, &entry);
	while (trywait(&env, &cq->fid) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		CHECK_EQ(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	}
	CHECK_OK(trywait(&env, &cq->fid));
	cf_close(&env);
}

static void several_objects_at_once(void)
{
	struct fi_context2 contexts[2];
	struct fi_cq_data_entry entry;
	struct fid *fids[2];
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct cf_env env;
	char in, out = 1;
	int ret;

	cf_open_pair(&env, &with_fd);
	fids[0] = &env.side[1].tx_cq->fid;
	fids[1] = &env.side[1].rx_cq->fid;
	while ((ret = fi_trywait(env.fabric, fids, 2)) == -FI_EAGAIN &&
		cf_now_ms() < deadline)
		cf_progress();
	CHECK_OK(ret);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	while ((ret = fi_trywait(env.fabric, fids, 2)) == 0 && cf_now_ms() < deadline)
		cf_progress();
	CHECK_EQ(ret, -FI_EAGAIN);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	cf_close(&env);
}

enum { ROUNDS = 200 };

/* The other end of no_wake_up_is_lost: answers each message. */
static void *echo(void *arg)
{
	struct cf_env *env = arg;
	struct cf_side *side = &env->side[1];
	uint64_t deadline = cf_now_ms() + 4 * CF_TIMEOUT_MS;

	for (int i = 0; i < ROUNDS; i++) {
		struct fi_cq_data_entry entry;
		ssize_t ret;

		while ((ret = fi_cq_read(side->rx_cq, &entry, 1)) == -FI_EAGAIN)
			CHECK(cf_now_ms() < deadline);
		CHECK_EQ(ret, 1);
		CF_RETRY(side->tx_cq, fi_recv(side->ep, entry.op_context, 4, NULL,
					      FI_ADDR_UNSPEC, entry.op_context));
		CF_RETRY(side->tx_cq, fi_inject(side->ep, &i, 4, side->peer));
	}
	return NULL;
}

/* One message at a time comes from another thread while this one may be just about
 * to block: each must end the poll. */
static void no_wake_up_is_lost(void)
{
	struct pollfd poll_fd = { .events = POLLIN };
	static struct fi_context2 contexts[2][2];
	struct fi_cq_data_entry entry;
	struct cf_side *side;
	pthread_t thread;
	struct cf_env env;
	int in;

	cf_open_pair(&env, &with_fd);
	side = &env.side[0];
	CHECK_OK(fi_control(&side->rx_cq->fid, FI_GETWAIT, &poll_fd.fd));
	cf_post_recv(&env, &contexts[1][0], 4, &contexts[1][0]);
	CHECK_OK(pthread_create(&thread, NULL, echo, &env));
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t ret;

		CF_RETRY(side->rx_cq, fi_recv(side->ep, &in, 4, NULL, FI_ADDR_UNSPEC,
					      &contexts[0][0]));
		CF_RETRY(side->tx_cq, fi_inject(side->ep, &i, 4, side->peer));
		while ((ret = fi_cq_read(side->rx_cq, &entry, 1)) == -FI_EAGAIN) {
			if (trywait(&env, &side->rx_cq->fid) != 0)
				continue;
			CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
		}
		CHECK_EQ(ret, 1);
		CHECK_EQ(in, i);
	}
	CHECK_OK(pthread_join(thread, NULL));
	cf_close(&env);
}

CF_SUITE(trywait, CF_CASE(other_classes_are_refused, "POL-010", FI_MSG),
	CF_CASE(queued_entries_forbid_blocking, "POL-009 POL-011", FI_MSG),
	CF_CASE(several_objects_at_once, "POL-009 POL-010", FI_MSG),
	CF_CASE(no_wake_up_is_lost, "POL-012 THR-001", FI_MSG));
