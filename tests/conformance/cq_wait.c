/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocking reads and wait objects of completion queues. */
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "suites.h"

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,
	FI_WAIT_YIELD };

/* Open a pair whose queues wait on @wait_obj; false where that is not offered. */
static bool open_waiting(struct cf_env *env, enum fi_wait_obj wait_obj)
{
	struct cf_options options = { .wait_obj = wait_obj, .split_cqs = true };

	return cf_open_waiting_pair(env, &options);
}

static void waits_time_out(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_cq_data_entry entry;
		struct cf_env env;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		CHECK_EQ(
			fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, 0), -FI_EAGAIN);
		CHECK_EQ(
			fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, 5), -FI_EAGAIN);
		cf_close(&env);
	}
}

static void waits_return_what_is_there(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_cq_data_entry entry;
		struct fi_context2 contexts[2];
		struct cf_env env;
		char out = 5, in = 0;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		cf_post_recv(&env, &in, 1, &contexts[0]);
		cf_post_send(&env, &out, 1, &contexts[1]);
		CHECK_EQ(fi_cq_sread(env.side[0].tx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
			1);
		CHECK(entry.op_context == &contexts[1]);
		CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
			1);
		CHECK(entry.op_context == &contexts[0]);
		CHECK_EQ(in, 5);
		cf_close(&env);
	}
}

struct sender {
	struct cf_env *env;
	struct fi_context2 *context;
	struct fid_cq *cq; /* waited on by the other thread */
};

static char one_byte = 9;

static void *send_later(void *arg)
{
	struct sender *sender = arg;

	cf_post_send(sender->env, &one_byte, 1, sender->context);
	return NULL;
}

static void a_message_wakes_a_waiter(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_cq_data_entry entry;
		struct fi_context2 contexts[2];
		struct sender sender;
		pthread_t thread;
		struct cf_env env;
		char in = 0;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		cf_post_recv(&env, &in, 1, &contexts[0]);
		sender = (struct sender){ .env = &env, .context = &contexts[1] };
		CHECK_OK(pthread_create(&thread, NULL, send_later, &sender));
		CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, -1), 1);
		CHECK(entry.op_context == &contexts[0]);
		CHECK_EQ(in, 9);
		CHECK_OK(pthread_join(thread, NULL));
		cf_close(&env);
	}
}

static void *signal_until_joined(void *arg)
{
	struct sender *sender = arg;

	CHECK_OK(fi_cq_signal(sender->cq));
	return NULL;
}

static void a_signal_wakes_a_waiter(void)
{
	for (size_t i = 0; i < CF_COUNT(wait_objs); i++) {
		struct fi_cq_data_entry entry;
		struct sender sender;
		pthread_t thread;
		struct cf_env env;

		if (!open_waiting(&env, wait_objs[i]))
			continue;
		sender = (struct sender){ .cq = env.side[1].rx_cq };
		CHECK_OK(pthread_create(&thread, NULL, signal_until_joined, &sender));
		/* A signal sent before the wait begins counts for it. */
		CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, -1),
			-FI_EAGAIN);
		CHECK_OK(pthread_join(thread, NULL));
		cf_close(&env);
	}
}

static void an_error_ends_the_wait(void)
{
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	char in;

	if (!open_waiting(&env, FI_WAIT_UNSPEC))
		SKIP("queues cannot be waited on");
	cf_post_recv(&env, &in, 1, &context);
	cf_cancel(&env.side[1].ep->fid, &context);
	CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
		-FI_EAVAIL);
	cf_close(&env);
}

static void one_per_domain(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
}

static void one_per_queue(struct fi_info *hints)
{
	hints->domain_attr->threading = FI_THREAD_COMPLETION;
}

/* Where the application serialises, waiting still works or is refused at once. */
static void waits_without_locks(void)
{
	static void (*const models[])(
		struct fi_info * hints) = { one_per_domain, one_per_queue };

	for (size_t i = 0; i < 2 * CF_COUNT(wait_objs); i++) {
		struct cf_options options = {
			.adjust = models[i % 2],
			.wait_obj = wait_objs[i / 2],
			.split_cqs = true,
		};
		struct fi_cq_data_entry entry;
		struct fi_context2 contexts[2];
		struct cf_env env;
		char in = 0, out = 8;

		if (!cf_open_waiting_pair(&env, &options))
			continue;
		cf_post_recv(&env, &in, 1, &contexts[0]);
		cf_post_send(&env, &out, 1, &contexts[1]);
		cf_cq_wait(env.side[0].tx_cq, &entry);
		CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS),
			1);
		CHECK_EQ(in, 8);
		/* A sleep sends the acknowledgement, which the other side's close waits
		 * for: without locks it makes no progress on this side. */
		CHECK_EQ(
			fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, 5), -FI_EAGAIN);
		cf_close(&env);
	}
}

static void waiting_needs_a_wait_object(void)
{
	struct fi_cq_data_entry entry;
	struct fid_cq *cq;
	struct cf_env env;
	int fd;

	NEED_API(2, 0);
	cf_open_domain(&env, NULL);
	cq = cf_new_cq(&env, FI_WAIT_NONE);
	CHECK_EITHER(fi_cq_sread(cq, &entry, 1, NULL, -1), -FI_ENOSYS, -FI_EINVAL);
	CHECK_EQ(fi_control(&cq->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	CF_CLOSE(cq);
	cf_close(&env);
}

static void a_threshold_is_a_hint(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_UNSPEC,
		.wait_cond = FI_CQ_COND_THRESHOLD };
	struct fi_cq_data_entry entries[2];
	size_t threshold = 2;
	struct fid_cq *cq;
	struct cf_env env;
	int ret;

	cf_open_domain(&env, NULL);
	ret = fi_cq_open(env.domain, &attr, &cq, NULL);
	if (ret == -FI_ENOSYS)
		SKIP("queues cannot be waited on");
	CHECK_OK(ret);
	CHECK_EQ(fi_cq_sread(cq, entries, 2, &threshold, 5), -FI_EAGAIN);
	CF_CLOSE(cq);
	cf_close(&env);
}

/* ---- the descriptor ---- */

static void the_descriptor_tells_of_messages(void)
{
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	enum fi_wait_obj wait_obj;
	struct cf_env env;
	char in, out = 1;

	if (!open_waiting(&env, FI_WAIT_FD))
		SKIP("FI_WAIT_FD is not offered");
	CHECK_OK(fi_control(&env.side[1].rx_cq->fid, FI_GETWAIT, &poll_fd.fd));
	CHECK_OK(fi_control(&env.side[1].rx_cq->fid, FI_GETWAITOBJ, &wait_obj));
	CHECK_EQ(wait_obj, FI_WAIT_FD);
	for (int round = 0; round < 20; round++) {
		cf_post_recv(&env, &in, 1, &contexts[0]);
		cf_arm(&env, env.side[1].rx_cq);
		CHECK_EQ(poll(&poll_fd, 1, 0), 0);
		cf_post_send(&env, &out, 1, &contexts[1]);
		cf_cq_wait(env.side[0].tx_cq, &entry);
		CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &contexts[0]);
	}
	cf_close(&env);
}

static void the_descriptor_works_with_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	int fd, epoll_fd = epoll_create1(0);
	char in, out = 1;

	CHECK(epoll_fd >= 0);
	if (!open_waiting(&env, FI_WAIT_FD))
		SKIP("FI_WAIT_FD is not offered");
	CHECK_OK(fi_control(&env.side[1].rx_cq->fid, FI_GETWAIT, &fd));
	CHECK_OK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event));
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_arm(&env, env.side[1].rx_cq);
	cf_post_send(&env, &out, 1, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK_EQ(epoll_wait(epoll_fd, &event, 1, CF_TIMEOUT_MS), 1);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	close(epoll_fd);
	cf_close(&env);
}

static void pollfd_objects_list_descriptors(void)
{
	struct fi_wait_pollfd query = { 0 };
	struct pollfd fds[16] = { { 0 } };
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	char in, out = 1;
	int ret;

	if (!open_waiting(&env, FI_WAIT_POLLFD))
		SKIP("FI_WAIT_POLLFD is not offered");
	/* No room: the number that there are. */
	ret = fi_control(&env.side[1].rx_cq->fid, FI_GETWAIT, &query);
	CHECK_EITHER(ret, 0, -FI_ETOOSMALL);
	CHECK(query.nfds >= 1);
	CHECK(query.nfds <= CF_COUNT(fds));
	query = (struct fi_wait_pollfd){ .fd = fds, .nfds = CF_COUNT(fds) };
	CHECK_OK(fi_control(&env.side[1].rx_cq->fid, FI_GETWAIT, &query));
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_arm(&env, env.side[1].rx_cq);
	cf_post_send(&env, &out, 1, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK(poll(fds, query.nfds, CF_TIMEOUT_MS) >= 1);
	cf_cq_wait(env.side[1].rx_cq, &entry);
	cf_close(&env);
}

CF_SUITE(cq_wait, CF_CASE(waits_time_out, "CQ-020 CQ-021", FI_MSG),
	CF_CASE(waits_return_what_is_there, "CQ-020", FI_MSG),
	CF_CASE(a_message_wakes_a_waiter, "CQ-020 CQ-021", FI_MSG),
	CF_CASE(a_signal_wakes_a_waiter, "CQ-024", FI_MSG),
	CF_CASE(an_error_ends_the_wait, "CQ-020", FI_MSG),
	CF_CASE(waits_without_locks, "CQ-020 THR-002 THR-003 THR-007", FI_MSG),
	CF_CASE(waiting_needs_a_wait_object, "CQ-006 CQ-022 CQ-025", 0),
	CF_CASE(a_threshold_is_a_hint, "CQ-023", 0),
	CF_CASE(the_descriptor_tells_of_messages, "CQ-025 CQ-026 OPT-019 POL-012",
		FI_MSG),
	CF_CASE(the_descriptor_works_with_epoll, "CQ-026", FI_MSG),
	CF_CASE(pollfd_objects_list_descriptors, "POL-013 POL-014", FI_MSG));
