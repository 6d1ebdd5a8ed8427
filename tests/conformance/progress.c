/* SPDX-License-Identifier: BSD-2-Clause */
/* What moves without being asked under FI_PROGRESS_AUTO, and what under MANUAL. */
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"

static void automatic(struct fi_info *hints)
{
	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
}

static void manual(struct fi_info *hints)
{
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
}

static void need_auto(void)
{
	struct fi_info *hints = cf_hints(), *info;

	automatic(hints);
	if (cf_getinfo(cf_target.version, hints, &info))
		SKIP("progress is manual");
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* A provider may ask for another attempt; progress is its own affair. */
static void inject(struct cf_env *env, const void *buf, size_t len)
{
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	ssize_t ret;

	while ((ret = fi_inject(env->side[0].ep, buf, len, env->side[0].peer)) ==
			-FI_EAGAIN &&
		cf_now_ms() < deadline)
		(void)sched_yield();
	CHECK_OK(ret);
}

static void data_arrives_without_any_call(void)
{
	struct cf_options options = { .adjust = automatic };
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;
	struct fi_context2 context;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct cf_env env;
	int fd = memfd_create("conformance", 0), out = 4711;
	volatile int *in;
	void *seen;

	need_auto();
	/* The same page is mapped twice: one mapping to receive into, one to read
	 * from. */
	CHECK(fd >= 0 && ftruncate(fd, (off_t)page) == 0);
	in = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	seen = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(in != MAP_FAILED && seen != MAP_FAILED);
	cf_open_pair(&env, &options);
	CHECK_EQ(env.info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	cf_post_recv(&env, (void *)(uintptr_t)in, sizeof(*in), &context);
	inject(&env, &out, sizeof(out));
	while (*(volatile int *)seen != 4711 && cf_now_ms() < deadline)
		(void)sched_yield();
	CHECK_EQ(*(volatile int *)seen, 4711);
	cf_close(&env);
	(void)munmap((void *)(uintptr_t)in, page);
	(void)munmap(seen, page);
	close(fd);
}

static void descriptors_tell_without_any_call(void)
{
	struct cf_options options = {
		.adjust = automatic, .wait_obj = FI_WAIT_FD, .split_cqs = true
	};
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_cq_data_entry entry;
	struct fi_context2 context;
	struct cf_env env;
	char in, out = 1;

	need_auto();
	cf_open_pair(&env, &options);
	CHECK_OK(fi_control(&env.side[1].rx_cq->fid, FI_GETWAIT, &poll_fd.fd));
	for (int i = 0; i < 10; i++) {
		/* No fi_trywait: under automatic progress none is needed. */
		cf_post_recv(&env, &in, 1, &context);
		inject(&env, &out, 1);
		CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
		cf_cq_wait(env.side[1].rx_cq, &entry);
		CHECK(entry.op_context == &context);
	}
	cf_close(&env);
}

static void counters_count_without_reading_queues(void)
{
	struct cf_options options = {
		.adjust = automatic, .counters = true, .wait_obj = FI_WAIT_FD
	};
	struct pollfd poll_fd = { .events = POLLIN };
	struct fi_context2 context;
	struct fid *fids[1];
	struct cf_env env;
	char in, out = 1;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS;

	need_auto();
	cf_open_pair(&env, &options);
	fids[0] = &env.side[1].rx_cntr->fid;
	CHECK_OK(fi_control(fids[0], FI_GETWAIT, &poll_fd.fd));
	cf_post_recv(&env, &in, 1, &context);
	while (fi_trywait(env.fabric, fids, 1) == -FI_EAGAIN)
		CHECK(cf_now_ms() < deadline);
	inject(&env, &out, 1);
	CHECK_EQ(poll(&poll_fd, 1, CF_TIMEOUT_MS), 1);
	while (fi_cntr_read(env.side[1].rx_cntr) < 1)
		CHECK(cf_now_ms() < deadline);
	cf_close(&env);
}

static void reading_drives_manual_progress(void)
{
	struct cf_options options = { .adjust = manual };
	struct cf_env env;

	cf_open_pair(&env, &options);
	for (int i = 0; i < 20; i++)
		cf_exchange(&env, 100);
	cf_close(&env);
}

static void waiting_drives_manual_progress(void)
{
	struct cf_options options = {
		.adjust = manual, .wait_obj = FI_WAIT_UNSPEC, .split_cqs = true
	};
	struct fi_cq_data_entry entry;
	struct fi_context2 contexts[2];
	struct cf_env env;
	char in, out = 1;

	cf_open_pair(&env, &options);
	cf_post_recv(&env, &in, 1, &contexts[0]);
	cf_post_send(&env, &out, 1, &contexts[1]);
	cf_cq_wait(env.side[0].tx_cq, &entry);
	CHECK_EQ(fi_cq_sread(env.side[1].rx_cq, &entry, 1, NULL, CF_TIMEOUT_MS), 1);
	CHECK(entry.op_context == &contexts[0]);
	cf_close(&env);
}

CF_SUITE(progress, CF_CASE(data_arrives_without_any_call, "THR-006", FI_MSG),
	CF_CASE(descriptors_tell_without_any_call, "THR-006 CQ-026", FI_MSG),
	CF_CASE(counters_count_without_reading_queues, "THR-006 CNT-017 POL-012",
		FI_MSG),
	CF_CASE(reading_drives_manual_progress, "THR-007 DAT-006", FI_MSG),
	CF_CASE(waiting_drives_manual_progress, "THR-007 CQ-020", FI_MSG));
