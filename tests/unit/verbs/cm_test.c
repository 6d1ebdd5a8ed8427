/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection management over a librdmacm that the test plays: which calls the exchange
 * makes for which events, the attributes of the queue pair, and the application's
 * events.
 */
#include "cm_fixture.h"

/* ---- connecting ---- */

static void the_active_side_connects(void **state)
{
	const uint8_t reply[] = { 3, 7, 8, 9, 0, 0, 0, 0 };
	struct fi_eq_cm_entry *entry;
	size_t len;

	(void)state;
	connect_up_to_the_request("abcd", 4);
	assert_int_equal(sent.private_data_len, 5);
	assert_memory_equal(sent_data, "\4abcd", 5);
	assert_int_equal(sent.qp_num, QP_NUM);
	assert_int_equal(sent.rnr_retry_count, 7);
	assert_int_equal(attr_count, 0);
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, reply, sizeof(reply));
	assert_non_null(strstr(calls, "establish"));
	entry = read_event(FI_CONNECTED, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(entry->data, reply + 1, 3);
	assert_true(atomic_load(&ep->ready));
	assert_int_equal(verbs_cm_not_ready(ep), 0);
	assert_int_equal(acked, 3);
}

static void the_queue_pair_gets_what_was_negotiated(void **state)
{
	(void)state;
	device.attr.atomic_cap = IBV_ATOMIC_HCA;
	connect_up_to_the_request(NULL, 0);
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
	assert_int_equal(attr_count, 3);
	assert_int_equal(attrs[0].qp_state, IBV_QPS_INIT);
	assert_true(attrs[0].qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC);
	assert_true(attrs[0].qp_access_flags & IBV_ACCESS_REMOTE_READ);
	assert_int_equal(attrs[1].qp_state, IBV_QPS_RTR);
	assert_int_equal(attrs[1].min_rnr_timer, RNR_TIMER);
	assert_int_equal(attrs[1].max_dest_rd_atomic, RD_ATOMIC);
	assert_int_equal(attrs[2].qp_state, IBV_QPS_RTS);
	assert_int_equal(attrs[2].max_rd_atomic, 4);
}

static void the_passive_side_is_ready_before_it_answers(void **state)
{
	size_t len;

	(void)state;
	open_endpoint(WF_CM_ASKED);
	assert_int_equal(fi_accept(&ep->ep.fid, "xy", 2), 0);
	assert_string_equal(calls, "accept ");
	assert_int_equal(attr_count, 3);
	assert_int_equal(sent.private_data_len, 3);
	assert_memory_equal(sent_data, "\2xy", 3);
	nothing_is_told();
	assert_int_equal(verbs_cm_not_ready(ep), -FI_EAGAIN);
	happen(RDMA_CM_EVENT_ESTABLISHED, 0, "\2no", 3);
	(void)read_event(FI_CONNECTED, &len);
	assert_int_equal(len, 0);
	assert_int_equal(fi_accept(&ep->ep.fid, NULL, 0), -FI_EOPBADSTATE);
}

static void data_up_to_the_limit(void **state)
{
	uint8_t data[VERBS_CM_DATA_SIZE + 1];

	(void)state;
	memset(data, 5, sizeof(data));
	connect_up_to_the_request(data, VERBS_CM_DATA_SIZE);
	assert_int_equal(fi_connect(&ep->ep.fid, NULL, data, sizeof(data)), -FI_EINVAL);
	assert_int_equal(sent.private_data_len, VERBS_CM_DATA_SIZE + 1);
	assert_int_equal(sent_data[0], VERBS_CM_DATA_SIZE);
}

/* ---- what a peer may send ---- */

static void a_peers_length_is_checked(void **state)
{
	const uint8_t lie[] = { 255, 1, 2 };
	struct verbs_cm_data data;

	(void)state;
	open_endpoint(WF_CM_NEW);
	verbs_cm_data_read(&data, lie, sizeof(lie));
	assert_int_equal(data.len, 2);
	assert_memory_equal(data.bytes, lie + 1, 2);
	verbs_cm_data_read(&data, lie, 1);
	assert_int_equal(data.len, 0);
	verbs_cm_data_read(&data, lie, 0);
	assert_int_equal(data.len, 0);
	verbs_cm_data_read(&data, NULL, 9);
	assert_int_equal(data.len, 0);
}

static void events_out_of_turn_change_nothing(void **state)
{
	(void)state;
	open_endpoint(WF_CM_NEW);
	cm.id = &rdma_id;
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
	happen(RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
	happen(RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	happen(RDMA_CM_EVENT_REJECTED, 28, NULL, 0);
	assert_string_equal(calls, "");
	assert_int_equal(cm.base.state, WF_CM_NEW);
	assert_false(atomic_load(&ep->ready));
	nothing_is_told();
}

/* ---- failures ---- */

static void a_reject_has_its_data(void **state)
{
	(void)state;
	connect_up_to_the_request(NULL, 0);
	happen(RDMA_CM_EVENT_REJECTED, 28, "\3why..", 6);
	error_is_told(FI_ECONNREFUSED, "why", 3);
	assert_int_equal(attr_count, 0);
}

static void failures_have_their_codes(void **state)
{
	(void)state;
	start(NULL, 0);
	happen(RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, NULL, 0);
	error_is_told(FI_ENETUNREACH, NULL, 0);
	assert_int_equal(
		verbs_cm_error(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT), FI_ETIMEDOUT);
	assert_int_equal(verbs_cm_error(RDMA_CM_EVENT_UNREACHABLE, 4), FI_EHOSTUNREACH);
	assert_int_equal(verbs_cm_error(RDMA_CM_EVENT_ADDR_ERROR, 0), FI_EADDRNOTAVAIL);
	assert_int_equal(verbs_cm_error(RDMA_CM_EVENT_REJECTED, 8), FI_ECONNREFUSED);
	assert_int_equal(
		verbs_cm_error(RDMA_CM_EVENT_CONNECT_ERROR, 1), FI_ECONNABORTED);
}

static void another_device_is_refused(void **state)
{
	(void)state;
	start(NULL, 0);
	rdma_id.verbs = &other_context;
	happen(RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	error_is_told(FI_ENODEV, NULL, 0);
	assert_null(strstr(calls, "resolve_route"));
}

static void a_queue_pair_that_fails_refuses_the_peer(void **state)
{
	(void)state;
	connect_up_to_the_request(NULL, 0);
	refused_state = IBV_QPS_RTR;
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
	assert_non_null(strstr(calls, "reject"));
	assert_null(strstr(calls, "establish"));
	error_is_told(FI_EINVAL, NULL, 0);
}

/* ---- the end ---- */

static void the_peers_end_is_told_once(void **state)
{
	(void)state;
	connect_all();
	happen(RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	is_down();
	happen(RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
	happen(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
	nothing_is_told();
}

static void a_removed_device_ends_the_connection(void **state)
{
	(void)state;
	connect_all();
	happen(RDMA_CM_EVENT_DEVICE_REMOVAL, 0, NULL, 0);
	is_down();
}

static void a_broken_queue_pair_ends_the_connection(void **state)
{
	(void)state;
	connect_all();
	verbs_cm_broken(ep);
	is_down();
	verbs_cm_broken(ep);
	nothing_is_told();
}

/* Like a request that is retried in vain: found while a CQ is polled, reported by the
 * readers of the event queue. */
static void a_failed_request_ends_the_connection(void **state)
{
	struct wf_progress *item = &domain.async->item;

	(void)state;
	connect_all();
	assert_true(item->arm(item));
	verbs_cm_lost(ep);
	nothing_is_told();
	assert_false(item->arm(item));
	wf_list_push(&domain.async->cms, &cm.link);
	item->run(item);
	is_down();
	assert_true(item->arm(item));
	verbs_cm_lost(ep);
	item->run(item);
	nothing_is_told();
	wf_list_remove(&cm.link);
}

/* A thread that sleeps in fi_eq_sread hears of it, and of a second failure of the same
 * endpoint nothing. */
static void a_failed_request_wakes(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_eq *slept;
	struct wf_wait *wait;
	uint64_t ticket;

	(void)state;
	connect_all();
	assert_int_equal(wf_eq_open(&fabric.fid, &attr, &slept, NULL), 0);
	atomic_store(&ep->ep.eq, wf_eq_of(slept));
	wait = &wf_eq_of(slept)->wait;
	ticket = wf_wait_arm(wait);
	assert_int_equal(wf_wait_sleep(wait, ticket, 0), -FI_EAGAIN);
	verbs_cm_lost(ep);
	assert_int_equal(wf_wait_sleep(wait, ticket, 0), 0);
	ticket = wf_wait_arm(wait);
	verbs_cm_lost(ep);
	assert_int_equal(wf_wait_sleep(wait, ticket, 0), -FI_EAGAIN);
	atomic_store(&ep->ep.eq, wf_eq_of(eq));
	assert_int_equal(fi_close(&slept->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_active_side_connects),
		TEST(the_queue_pair_gets_what_was_negotiated),
		TEST(the_passive_side_is_ready_before_it_answers),
		TEST(data_up_to_the_limit),
		TEST(a_peers_length_is_checked),
		TEST(events_out_of_turn_change_nothing),
		TEST(a_reject_has_its_data),
		TEST(failures_have_their_codes),
		TEST(another_device_is_refused),
		TEST(a_queue_pair_that_fails_refuses_the_peer),
		TEST(the_peers_end_is_told_once),
		TEST(a_removed_device_ends_the_connection),
		TEST(a_broken_queue_pair_ends_the_connection),
		TEST(a_failed_request_ends_the_connection),
		TEST(a_failed_request_wakes),
	};

	return cmocka_run_group_tests_name("verbs_cm", tests, NULL, NULL);
}
