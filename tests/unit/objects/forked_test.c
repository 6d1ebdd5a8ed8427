/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects that a forked child inherited: every call is refused, but closing. */
#include "endpoint_fixture.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <sys/wait.h>
#include <unistd.h>

#include "objects/absent/absent.h"
#include "objects/eq/eq.h"
#include "objects/open/open.h"

struct objects {
	struct fid_ep *ep;
	struct around a;
	struct fid_cq *waiting;
	struct fid_eq *eq;
};

static struct objects o;

/* The child: the number of the line that fails, 0 if none does. */
#define CHECK_IS(call, wanted)                                                         \
	do {                                                                           \
		if ((call) != (wanted))                                                \
			return __LINE__;                                               \
	} while (0)
#define CHECK_REFUSED(call) CHECK_IS(call, -FI_EOPBADSTATE)

static int check_queues(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	struct fid_cq *cqs[] = { o.a.cq, o.waiting };
	fi_addr_t src;

	for (int i = 0; i < 2; i++) {
		struct fid_cq *cq = cqs[i];

		CHECK_REFUSED(fi_cq_read(cq, &entry, 1));
		CHECK_REFUSED(fi_cq_readfrom(cq, &entry, 1, &src));
		CHECK_REFUSED(fi_cq_readerr(cq, &err, 0));
		CHECK_REFUSED(fi_cq_sread(cq, &entry, 1, NULL, -1));
		CHECK_REFUSED(fi_cq_sreadfrom(cq, &entry, 1, &src, NULL, -1));
		CHECK_REFUSED(fi_cq_signal(cq));
	}
	return 0;
}

/* A counter has the values that were read last. */
static int check_counter(void)
{
	struct fid_cntr *cntr = o.a.cntr;

	CHECK_IS(fi_cntr_read(cntr), 7);
	CHECK_IS(fi_cntr_readerr(cntr), 2);
	CHECK_REFUSED(fi_cntr_add(cntr, 1));
	CHECK_REFUSED(fi_cntr_set(cntr, 1));
	CHECK_REFUSED(fi_cntr_adderr(cntr, 1));
	CHECK_REFUSED(fi_cntr_seterr(cntr, 1));
	CHECK_REFUSED(fi_cntr_wait(cntr, 100, -1));
	CHECK_IS(fi_cntr_read(cntr), 7);
	CHECK_IS(fi_cntr_readerr(cntr), 2);
	return 0;
}

static int check_event_queue(void)
{
	struct fi_eq_err_entry err = { 0 };
	uint32_t event;
	char buf[64];

	CHECK_REFUSED(fi_eq_read(o.eq, &event, buf, sizeof(buf), 0));
	CHECK_REFUSED(fi_eq_readerr(o.eq, &err, 0));
	CHECK_REFUSED(fi_eq_write(o.eq, FI_NOTIFY, buf, 4, 0));
	CHECK_REFUSED(fi_eq_sread(o.eq, &event, buf, sizeof(buf), -1, 0));
	return 0;
}

static int check_names(void)
{
	size_t len = 16;
	char name[16];
	struct fid_mc *mc;
	struct fid_ep *ep = o.ep;

	CHECK_REFUSED(fi_setname(&ep->fid, name, len));
	CHECK_REFUSED(fi_getname(&ep->fid, name, &len));
	CHECK_REFUSED(fi_getpeer(ep, name, &len));
	CHECK_REFUSED(fi_connect(ep, name, NULL, 0));
	CHECK_REFUSED(fi_accept(ep, NULL, 0));
	CHECK_REFUSED(fi_shutdown(ep, 0));
	CHECK_REFUSED(fi_join(ep, name, 0, &mc, NULL));
	return 0;
}

static unsigned int progresses;

static void count_progress(struct wf_ep *ep)
{
	(void)ep;
	progresses++;
}

static int check_endpoint(void)
{
	struct wf_ep *ep = wf_ep_of(o.ep);
	struct wf_progress *item = &ep->progress;
	char buf[8] = { 0 };

	CHECK_REFUSED(fi_send(o.ep, buf, 8, NULL, 5, NULL));
	CHECK_REFUSED(fi_tsend(o.ep, buf, 8, NULL, 5, 0, NULL));
	CHECK_REFUSED(fi_read(o.ep, buf, 8, NULL, 5, 0, 0, NULL));
	CHECK_REFUSED(fi_atomic(o.ep, buf, 1, NULL, 5, 0, 0, FI_UINT64, FI_SUM, NULL));
	CHECK_REFUSED(fi_barrier(o.ep, 5, NULL));
	CHECK_REFUSED(fi_enable(o.ep));
	CHECK_REFUSED(fi_cancel(&o.ep->fid, buf));
	CHECK_IS(of(o.ep)->starts, 0);
	progresses = 0;
	item->run(item);
	CHECK_IS(progresses, 0);
	CHECK_IS(item->arm(item), true);
	CHECK_IS(item->moved == NULL, true);
	return 0;
}

/* Locks that another thread of the parent held are free. */
static int check_locks(void)
{
	struct wf_ep *ep = wf_ep_of(o.ep);
	struct wf_lock *locks[] = { &ep->lock, &wf_cq_of(o.a.cq)->lock,
		&wf_cq_of(o.a.cq)->progress.lock, &wf_cntr_of(o.a.cntr)->progress.lock,
		&wf_eq_of(o.eq)->lock, &wf_eq_of(o.eq)->progress.lock };

	for (size_t i = 0; i < WF_ARRAY_SIZE(locks); i++) {
		CHECK_IS(wf_trylock(locks[i]), true);
		wf_unlock(locks[i]);
	}
	return 0;
}

static int check_closing(void)
{
	CHECK_IS(fi_close(&o.ep->fid), 0);
	CHECK_IS(destroyed, 1);
	CHECK_IS(fi_close(&o.a.cq->fid), 0);
	CHECK_IS(fi_close(&o.waiting->fid), 0);
	CHECK_IS(fi_close(&o.a.cntr->fid), 0);
	CHECK_IS(fi_close(&o.a.av->fid), 0);
	CHECK_IS(fi_close(&o.eq->fid), 0);
	return 0;
}

static void set_locks(void (*set)(struct wf_lock *lock))
{
	set(&wf_ep_of(o.ep)->lock);
	set(&wf_cq_of(o.a.cq)->lock);
	set(&wf_cq_of(o.a.cq)->progress.lock);
	set(&wf_cntr_of(o.a.cntr)->progress.lock);
	set(&wf_eq_of(o.eq)->lock);
	set(&wf_eq_of(o.eq)->progress.lock);
}

static void take(struct wf_lock *lock)
{
	wf_lock(lock);
}

static void let_go(struct wf_lock *lock)
{
	wf_unlock(lock);
}

static void in_child(int (*check)(void))
{
	int status, line;
	pid_t pid;

	set_locks(take);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		line = check();
		/* An exit status has eight bits. */
		_exit(line ? line % 255 + 1 : 0);
	}
	set_locks(let_go);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static struct fi_ops_collective collective;
static struct wf_xfer_ops ops;

static int setup(void **state)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_FD };
	struct fi_info *info = new_info();
	struct domain_fixture *f;

	if (domain_fixture_setup(state))
		return -1;
	f = *state;
	f->prov.max_atomic_size = 64;
	destroyed = 0;
	info->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	info->ep_attr->type = FI_EP_RDM;
	o.ep = open_enabled(f, &o.a, info, 0);
	collective = wf_absent_collective;
	o.ep->collective = &collective;
	ops = fake_ops;
	ops.progress = count_progress;
	wf_ep_of(o.ep)->xfer = &ops;
	wf_ep_of(o.ep)->progress.run(&wf_ep_of(o.ep)->progress);
	assert_true(progresses > 0);
	assert_int_equal(wf_cq_open(&f->domain.fid, &cq_attr, &o.waiting, NULL), 0);
	assert_int_equal(wf_eq_open(&f->fabric.fid, &eq_attr, &o.eq, NULL), 0);
	assert_int_equal(fi_cntr_add(o.a.cntr, 7), 0);
	assert_int_equal(fi_cntr_adderr(o.a.cntr, 2), 0);
	assert_int_equal(fi_cntr_read(o.a.cntr), 7);
	assert_int_equal(fi_cntr_readerr(o.a.cntr), 2);
	/* Not read: the child does not see it. */
	assert_int_equal(fi_cntr_add(o.a.cntr, 1), 0);
	assert_int_equal(fi_cntr_adderr(o.a.cntr, 1), 0);
	return 0;
}

static int teardown(void **state)
{
	/* In the parent all is as before. */
	assert_int_equal(fi_cntr_read(o.a.cntr), 8);
	assert_int_equal(fi_send(o.ep, state, 8, NULL, 5, NULL), 0);
	close_ep(o.ep);
	assert_int_equal(fi_close(&o.waiting->fid), 0);
	assert_int_equal(fi_close(&o.eq->fid), 0);
	close_around(&o.a);
	return domain_fixture_teardown(state);
}

#define FORKED(what)                                                                   \
	static void what(void **state)                                                 \
	{                                                                              \
		(void)state;                                                           \
		in_child(check_##what);                                                \
	}
FORKED(queues)
FORKED(counter)
FORKED(event_queue)
FORKED(names)
FORKED(endpoint)
FORKED(locks)
FORKED(closing)

#define FORKED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORKED_TEST(queues),
		FORKED_TEST(counter),
		FORKED_TEST(event_queue),
		FORKED_TEST(names),
		FORKED_TEST(endpoint),
		FORKED_TEST(locks),
		FORKED_TEST(closing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
