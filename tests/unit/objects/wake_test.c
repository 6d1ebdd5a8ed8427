/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No wake-up is lost: in each call that sleeps, each event that ends the sleep comes
 * just before the thread has announced itself, and just after that. The function that
 * announces it (wf_wait_arm) is replaced by one that lets the event come then, so a
 * second look that is missing hangs the case, every time. What only processors do at
 * the same time is in wait_test.c.
 */
#include "domain_fixture.h"

#include <poll.h>

#include <rdma/fi_eq.h>

#include "objects/cntr/cntr.h"
#include "objects/cq/cq.h"
#include "objects/eq/eq.h"
#include "objects/poll/poll.h"

/* The calls of wait sets are deprecated, and work. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { BEFORE, AFTER, MOMENTS };

typedef void event_function(void *object);

/* Of the thread that sleeps: that of a domain announces its sleeps, too. */
static _Thread_local struct {
	event_function *come; /* NULL: it came */
	void *object;
	int moment;
} event;

uint64_t __real_wf_wait_arm(struct wf_wait *wait);
uint64_t __wrap_wf_wait_arm(struct wf_wait *wait);

static void event_comes(int moment)
{
	event_function *come = event.come;

	if (!come || event.moment != moment)
		return;
	event.come = NULL;
	come(event.object);
}

uint64_t __wrap_wf_wait_arm(struct wf_wait *wait)
{
	uint64_t ticket;

	event_comes(BEFORE);
	ticket = __real_wf_wait_arm(wait);
	event_comes(AFTER);
	return ticket;
}

static void event_set(event_function *come, void *object, int moment)
{
	event.come = come;
	event.object = object;
	event.moment = moment;
}

static const enum fi_wait_obj wait_objs[] = { FI_WAIT_FD, FI_WAIT_POLLFD,
	FI_WAIT_MUTEX_COND };

/* ---- completion queues ---- */

static struct wf_cq *cq_open(struct domain_fixture *f, enum fi_wait_obj obj)
{
	struct fi_cq_attr attr = { .wait_obj = obj };
	struct fid_cq *fid = NULL;

	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, NULL), 0);
	return wf_cq_of(fid);
}

static void cq_entry_comes(void *cq)
{
	assert_int_equal(wf_cq_write(cq, NULL, FI_RECV, 0, NULL, 0, 0, 0), 0);
}

static void cq_error_comes(void *cq)
{
	struct fi_cq_err_entry entry = { .err = FI_EIO };

	assert_int_equal(wf_cq_write_err(cq, &entry), 0);
}

static void cq_signal_comes(void *cq)
{
	assert_int_equal(fi_cq_signal(&((struct wf_cq *)cq)->fid), 0);
}

/* fi_cq_sread(3), CQ-020, CQ-023. */
static void cq_sleeps(void **state, event_function *come, ssize_t result)
{
	struct fi_cq_entry entry;
	struct wf_cq *cq;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		cq = cq_open(*state, wait_objs[i / MOMENTS]);
		event_set(come, cq, (int)(i % MOMENTS));
		assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), result);
		assert_null(event.come);
		assert_int_equal(fi_close(&cq->fid.fid), 0);
	}
}

static void cq_entry_ends_sread(void **state)
{
	cq_sleeps(state, cq_entry_comes, 1);
}

static void cq_error_ends_sread(void **state)
{
	cq_sleeps(state, cq_error_comes, -FI_EAVAIL);
}

static void cq_signal_ends_sread(void **state)
{
	cq_sleeps(state, cq_signal_comes, -FI_EAGAIN);
}

/* A transport with work that no descriptor reports: it refuses to be armed. */
struct transport {
	struct wf_progress item;
	event_function *completes; /* what its work leads to, for @object */
	void *object;
	bool has_work;
};

static struct transport *transport_of(struct wf_progress *item)
{
	return wf_container_of(item, struct transport, item);
}

static void transport_run(struct wf_progress *item)
{
	struct transport *transport = transport_of(item);

	if (transport->has_work)
		transport->completes(transport->object);
	transport->has_work = false;
}

static bool transport_arm(struct wf_progress *item)
{
	return !transport_of(item)->has_work;
}

static void work_comes(void *transport)
{
	((struct transport *)transport)->has_work = true;
}

/* The transport of the object that @list belongs to gets work at the moment. */
static void transport_begin(struct transport *transport, struct wf_progress_list *list,
	event_function *completes, void *object, int moment)
{
	*transport = (struct transport){ { .run = transport_run, .arm = transport_arm },
		completes, object, false };
	assert_int_equal(wf_progress_list_add(list, &transport->item), 0);
	event_set(work_comes, transport, moment);
}

static void work_of_a_transport_ends_sread(void **state)
{
	struct transport transport;
	struct fi_cq_entry entry;
	struct wf_cq *cq;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		cq = cq_open(*state, wait_objs[i / MOMENTS]);
		transport_begin(&transport, &cq->progress, cq_entry_comes, cq,
			(int)(i % MOMENTS));
		assert_int_equal(fi_cq_sread(&cq->fid, &entry, 1, NULL, -1), 1);
		wf_progress_list_del(&cq->progress, &transport.item);
		assert_int_equal(fi_close(&cq->fid.fid), 0);
	}
}

/* fi_trywait(3), POL-012: a descriptor on which the application sleeps is readable, or
 * fi_trywait says that it must not sleep. */
static void cq_entry_ends_a_sleep_of_the_application(void **state)
{
	struct domain_fixture *f = *state;
	struct pollfd pollfd = { .events = POLLIN };
	struct fi_cq_entry entry;
	struct wf_cq *cq;
	struct fid *fid;
	int ret;

	for (int moment = 0; moment < MOMENTS; moment++) {
		cq = cq_open(f, FI_WAIT_FD);
		fid = &cq->fid.fid;
		assert_int_equal(fi_control(fid, FI_GETWAIT, &pollfd.fd), 0);
		event_set(cq_entry_comes, cq, moment);
		ret = wf_trywait(&f->fabric.fid, &fid, 1);
		assert_null(event.come);
		if (!ret)
			assert_int_equal(poll(&pollfd, 1, 0), 1);
		else
			assert_int_equal(ret, -FI_EAGAIN);
		assert_int_equal(fi_cq_read(&cq->fid, &entry, 1), 1);
		assert_int_equal(fi_close(fid), 0);
	}
}

/* ---- counters ---- */

static struct fid_cntr *cntr_open(
	struct domain_fixture *f, enum fi_wait_obj obj, struct fid_wait *set)
{
	struct fi_cntr_attr attr = { .wait_obj = obj, .wait_set = set };
	struct fid_cntr *cntr = NULL;

	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &cntr, NULL), 0);
	return cntr;
}

static void count_comes(void *cntr)
{
	assert_int_equal(fi_cntr_add(cntr, 1), 0);
}

static void count_of_errors_comes(void *cntr)
{
	assert_int_equal(fi_cntr_adderr(cntr, 1), 0);
}

/* fi_cntr_wait(3) */
static void cntr_sleeps(void **state, event_function *come, int result)
{
	struct fid_cntr *cntr;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		cntr = cntr_open(*state, wait_objs[i / MOMENTS], NULL);
		event_set(come, cntr, (int)(i % MOMENTS));
		assert_int_equal(fi_cntr_wait(cntr, 1, -1), result);
		assert_null(event.come);
		assert_int_equal(fi_close(&cntr->fid), 0);
	}
}

static void count_ends_cntr_wait(void **state)
{
	cntr_sleeps(state, count_comes, 0);
}

static void count_of_errors_ends_cntr_wait(void **state)
{
	cntr_sleeps(state, count_of_errors_comes, -FI_EAVAIL);
}

static void work_of_a_transport_ends_cntr_wait(void **state)
{
	struct wf_progress_list *list;
	struct transport transport;
	struct fid_cntr *cntr;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		cntr = cntr_open(*state, wait_objs[i / MOMENTS], NULL);
		list = &wf_cntr_of(cntr)->progress;
		transport_begin(
			&transport, list, count_comes, cntr, (int)(i % MOMENTS));
		assert_int_equal(fi_cntr_wait(cntr, 1, -1), 0);
		wf_progress_list_del(list, &transport.item);
		assert_int_equal(fi_close(&cntr->fid), 0);
	}
}

/* ---- event queues ---- */

static void eq_entry_comes(void *eq)
{
	struct fi_eq_entry entry = { 0 };

	assert_int_equal(
		fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
}

static void eq_error_comes(void *eq)
{
	struct fi_eq_err_entry entry = { .err = FI_EIO };

	assert_int_equal(wf_eq_write_err(wf_eq_of(eq), &entry), 0);
}

/* fi_eq_sread(3) */
static void eq_sleeps(void **state, event_function *come, ssize_t result)
{
	struct domain_fixture *f = *state;
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	uint32_t kind;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		struct fi_eq_attr attr = { .wait_obj = wait_objs[i / MOMENTS],
			.flags = FI_WRITE };

		assert_int_equal(wf_eq_open(&f->fabric.fid, &attr, &eq, NULL), 0);
		event_set(come, eq, (int)(i % MOMENTS));
		assert_int_equal(
			fi_eq_sread(eq, &kind, &entry, sizeof(entry), -1, 0), result);
		assert_null(event.come);
		assert_int_equal(fi_close(&eq->fid), 0);
	}
}

static void eq_entry_ends_sread(void **state)
{
	eq_sleeps(state, eq_entry_comes, sizeof(struct fi_eq_entry));
}

static void eq_error_ends_sread(void **state)
{
	eq_sleeps(state, eq_error_comes, -FI_EAVAIL);
}

static void work_of_a_transport_ends_eq_sread(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_progress_list *list;
	struct transport transport;
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	uint32_t kind;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		struct fi_eq_attr attr = { .wait_obj = wait_objs[i / MOMENTS],
			.flags = FI_WRITE };

		assert_int_equal(wf_eq_open(&f->fabric.fid, &attr, &eq, NULL), 0);
		list = &wf_eq_of(eq)->progress;
		transport_begin(
			&transport, list, eq_entry_comes, eq, (int)(i % MOMENTS));
		assert_int_equal(fi_eq_sread(eq, &kind, &entry, sizeof(entry), -1, 0),
			sizeof(entry));
		wf_progress_list_del(list, &transport.item);
		assert_int_equal(fi_close(&eq->fid), 0);
	}
}

/* ---- wait sets ---- */

/* fi_wait(3): what comes to a member. */
static void count_of_a_member_ends_wait(void **state)
{
	struct domain_fixture *f = *state;
	struct fid_cntr *cntr;
	struct fid_wait *set;

	for (size_t i = 0; i < WF_ARRAY_SIZE(wait_objs) * MOMENTS; i++) {
		struct fi_wait_attr attr = { .wait_obj = wait_objs[i / MOMENTS] };

		assert_int_equal(wf_wait_set_open(&f->fabric.fid, &attr, &set), 0);
		cntr = cntr_open(f, FI_WAIT_SET, set);
		event_set(count_comes, cntr, (int)(i % MOMENTS));
		assert_int_equal(fi_wait(set, -1), 0);
		assert_null(event.come);
		assert_int_equal(fi_close(&cntr->fid), 0);
		assert_int_equal(fi_close(&set->fid), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(cq_entry_ends_sread),
		DOMAIN_TEST(cq_error_ends_sread),
		DOMAIN_TEST(cq_signal_ends_sread),
		DOMAIN_TEST(work_of_a_transport_ends_sread),
		DOMAIN_TEST(cq_entry_ends_a_sleep_of_the_application),
		DOMAIN_TEST(count_ends_cntr_wait),
		DOMAIN_TEST(count_of_errors_ends_cntr_wait),
		DOMAIN_TEST(work_of_a_transport_ends_cntr_wait),
		DOMAIN_TEST(eq_entry_ends_sread),
		DOMAIN_TEST(eq_error_ends_sread),
		DOMAIN_TEST(work_of_a_transport_ends_eq_sread),
		DOMAIN_TEST(count_of_a_member_ends_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
