/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways in which a connection is not made, or ends: each call of librdmacm fails,
 * each event comes at each stage; and the events of the device.
 */
#include "cm_fixture.h"
#include "providers/verbs/srx.h"

enum { BUSY = 16 /* events that one progress call handles */ };

/* ---- calls ---- */

static void refuse(const char *call, int err)
{
	refused_call = call;
	refused_errno = err;
}

/* What fails within fi_connect is told by an event, too. */
static void refused_at_once(void **state)
{
	static const char *const names[] = { "create_id", "resolve_addr" };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };

	(void)state;
	open_endpoint(WF_CM_NEW);
	for (size_t i = 0; i < WF_ARRAY_SIZE(names); i++) {
		refuse(names[i], i ? ENETUNREACH : EMFILE);
		assert_int_equal(fi_connect(&ep->ep.fid, &to, NULL, 0), 0);
		error_is_told(refused_errno, NULL, 0);
		cm.base.state = WF_CM_NEW;
	}
	/* The identifier is there, and the next attempt uses it. */
	calls[0] = '\0';
	refuse(NULL, 0);
	assert_int_equal(fi_connect(&ep->ep.fid, &to, NULL, 0), 0);
	assert_string_equal(calls, "resolve_addr ");
}

/* Bound to an address, the endpoint connects from it. */
static void connects_from_its_address(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };

	(void)state;
	open_endpoint(WF_CM_NEW);
	cm.own.in.sin_addr.s_addr = htonl(0xc0a84d02);
	assert_int_equal(fi_connect(&ep->ep.fid, &to, NULL, 0), 0);
	assert_string_equal(calls, "create_id resolve_addr_from ");
}

/* What fails later is told by an event. */
static void refused_later(void **state)
{
	(void)state;
	start(NULL, 0);
	rdma_id.verbs = &other_context;
	happen(RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	error_is_told(FI_ENODEV, NULL, 0);
	assert_null(strstr(calls, "resolve_route"));
	rdma_id.verbs = &context;
	cm.base.state = WF_CM_CONNECTING;
	refuse("resolve_route", ENETUNREACH);
	happen(RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	error_is_told(FI_ENETUNREACH, NULL, 0);
	assert_null(strstr(calls, "reject"));
}

static void the_request_is_refused(void **state)
{
	(void)state;
	start(NULL, 0);
	happen(RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	refuse("connect", EADDRINUSE);
	happen(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	error_is_told(FI_EADDRINUSE, NULL, 0);
	assert_null(strstr(calls, "reject"));
}

/* The peer waits for the end of the exchange: it is told. */
static void the_end_of_the_exchange_is_refused(void **state)
{
	(void)state;
	connect_up_to_the_request(NULL, 0);
	calls[0] = '\0';
	refuse("establish", ENETDOWN);
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
	assert_string_equal(calls, "establish reject ");
	error_is_told(FI_ENETDOWN, NULL, 0);
}

/* Each state of the queue pair is refused, at the active side and at the passive
 * one. */
static void refused_states(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR,
		IBV_QPS_RTS };

	(void)state;
	connect_up_to_the_request(NULL, 0);
	for (unsigned int i = 0; i < 3; i++) {
		cm.base.state = WF_CM_CONNECTING;
		attr_count = 0;
		calls[0] = '\0';
		refused_state = states[i];
		happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
		assert_int_equal(attr_count, i);
		assert_string_equal(calls, "reject ");
		error_is_told(FI_EINVAL, NULL, 0);
	}
	for (unsigned int i = 0; i < 3; i++) {
		cm.base.state = WF_CM_ASKED;
		attr_count = 0;
		calls[0] = '\0';
		refused_state = states[i];
		assert_int_equal(fi_accept(&ep->ep.fid, NULL, 0), 0);
		assert_int_equal(attr_count, i);
		assert_string_equal(calls, "reject ");
		error_is_told(FI_EINVAL, NULL, 0);
	}
}

static void the_answer_is_refused(void **state)
{
	(void)state;
	open_endpoint(WF_CM_ASKED);
	refuse("accept", ENOTCONN);
	assert_int_equal(fi_accept(&ep->ep.fid, NULL, 0), 0);
	error_is_told(FI_ENOTCONN, NULL, 0);
}

/* ---- events ---- */

static const struct row {
	enum rdma_cm_event_type event;
	int status, err, prov_errno;
} rows[] = {
	{ RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH, FI_ENETUNREACH, FI_ENETUNREACH },
	{ RDMA_CM_EVENT_ADDR_ERROR, 0, FI_EADDRNOTAVAIL, FI_EADDRNOTAVAIL },
	{ RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT, FI_ETIMEDOUT, FI_ETIMEDOUT },
	{ RDMA_CM_EVENT_ROUTE_ERROR, 3, FI_EHOSTUNREACH, FI_EHOSTUNREACH },
	{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, FI_ETIMEDOUT, FI_ETIMEDOUT },
	{ RDMA_CM_EVENT_UNREACHABLE, 1, FI_EHOSTUNREACH, FI_EHOSTUNREACH },
	{ RDMA_CM_EVENT_REJECTED, 28, FI_ECONNREFUSED, FI_ECONNREFUSED },
	{ RDMA_CM_EVENT_REJECTED, -EBADE, FI_ECONNREFUSED, EBADE },
	{ RDMA_CM_EVENT_CONNECT_ERROR, -EIO, FI_EIO, FI_EIO },
	{ RDMA_CM_EVENT_CONNECT_ERROR, 7, FI_ECONNABORTED, FI_ECONNABORTED },
	{ RDMA_CM_EVENT_DISCONNECTED, 0, FI_ECONNABORTED, FI_ECONNABORTED },
	{ RDMA_CM_EVENT_DEVICE_REMOVAL, 0, FI_ENODEV, FI_ENODEV },
};

/* Each while connecting: the attempt has failed, once. */
static void events_that_end_an_attempt(void **state)
{
	(void)state;
	start(NULL, 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fi_eq_err_entry entry = { 0 };

		cm.base.state = WF_CM_CONNECTING;
		happen(rows[i].event, rows[i].status, NULL, 0);
		assert_int_equal(fi_eq_readerr(eq, &entry, 0), sizeof(entry));
		assert_ptr_equal(entry.fid, &ep->ep.fid.fid);
		assert_int_equal(entry.err, rows[i].err);
		assert_int_equal(entry.prov_errno, rows[i].prov_errno);
		assert_int_equal(cm.base.state, WF_CM_DOWN);
		happen(rows[i].event, rows[i].status, NULL, 0);
		nothing_is_told();
	}
	assert_null(strstr(calls, "disconnect"));
}

/* Only DISCONNECTED and DEVICE_REMOVAL end a connection; late events of the exchange do
 * not, nor does any in another state. */
static void events_in_other_states(void **state)
{
	static const enum wf_cm_state states[] = { WF_CM_NEW, WF_CM_ASKED,
		WF_CM_CONNECTED, WF_CM_DOWN };

	(void)state;
	open_endpoint(WF_CM_NEW);
	cm.id = &rdma_id;
	for (size_t s = 0; s < WF_ARRAY_SIZE(states); s++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
			bool ends = rows[i].event == RDMA_CM_EVENT_DISCONNECTED ||
				    rows[i].event == RDMA_CM_EVENT_DEVICE_REMOVAL;
			size_t len;

			cm.base.state = states[s];
			happen(rows[i].event, rows[i].status, NULL, 0);
			if (states[s] == WF_CM_CONNECTED && ends) {
				(void)read_event(FI_SHUTDOWN, &len);
				assert_int_equal(cm.base.state, WF_CM_DOWN);
			} else {
				assert_int_equal(cm.base.state, states[s]);
			}
			nothing_is_told();
		}
}

/* Events of another identifier, which the endpoint had before, are acknowledged
 * only. */
static void events_of_another_identifier(void **state)
{
	struct rdma_cm_id other;

	(void)state;
	connect_all();
	acked = 0;
	event_count = event_next = 0;
	for (unsigned int i = 0; i < EVENTS; i++)
		events[event_count++] = (struct rdma_cm_event){ .id = &other,
			.event = RDMA_CM_EVENT_DISCONNECTED };
	wf_lock(&cm.lock);
	/* Many events do not keep the caller. */
	for (unsigned int seen = 0; seen < EVENTS; seen += BUSY) {
		assert_int_equal(acked, seen);
		assert_true(verbs_cm_events(&cm));
	}
	assert_false(verbs_cm_events(&cm));
	wf_unlock(&cm.lock);
	assert_int_equal(acked, EVENTS);
	assert_int_equal(cm.base.state, WF_CM_CONNECTED);
	nothing_is_told();
}

/* ---- the application ends it ---- */

static void shut_down(void **state)
{
	(void)state;
	open_endpoint(WF_CM_NEW);
	assert_int_equal(verbs_cm_ops.shutdown(&cm.base), -FI_ENOTCONN);
	assert_string_equal(calls, "");
	cm.base.state = WF_CM_CONNECTING;
	assert_int_equal(verbs_cm_ops.shutdown(&cm.base), -FI_ENOTCONN);
	cm.base.state = WF_CM_CONNECTED;
	cm.id = &rdma_id;
	atomic_store(&ep->ready, true);
	assert_int_equal(verbs_cm_ops.shutdown(&cm.base), 0);
	is_down();
	assert_true(atomic_load(&ep->failed));
	assert_int_equal(verbs_cm_ops.shutdown(&cm.base), -FI_ENOTCONN);
	assert_string_equal(calls, "disconnect ");
}

/* ---- parameters ---- */

/* Outstanding reads: what the peer asks for, within what the device has. */
static void depths(void **state)
{
	static const struct {
		int limit;
		uint8_t in, out; /* 255 and 4 are asked for */
	} limits[] = { { 3, 3, 3 }, { 4, 4, 4 }, { 5, 5, 4 }, { 255, 255, 4 },
		{ 1000, 255, 4 }, { 0, 0, 0 }, { -1, 0, 0 } };

	(void)state;
	connect_up_to_the_request(NULL, 0);
	for (size_t i = 0; i < WF_ARRAY_SIZE(limits); i++) {
		device.attr.max_qp_rd_atom = limits[i].limit;
		device.attr.max_qp_init_rd_atom = limits[i].limit;
		attr_count = 0;
		assert_int_equal(verbs_cm_qp_connect(&cm), 0);
		assert_int_equal(attrs[1].max_dest_rd_atomic, limits[i].in);
		assert_int_equal(attrs[2].max_rd_atomic, limits[i].out);
	}
	/* What the identifier does not set, nobody sets. */
	assert_int_equal(attrs[2].min_rnr_timer, 0);
	assert_int_equal(attrs[2].qp_access_flags, 0);
	device.attr.atomic_cap = IBV_ATOMIC_NONE;
	attr_count = 0;
	assert_int_equal(verbs_cm_qp_connect(&cm), 0);
	assert_int_equal(attrs[0].qp_access_flags, IBV_ACCESS_LOCAL_WRITE |
							   IBV_ACCESS_REMOTE_WRITE |
							   IBV_ACCESS_REMOTE_READ);
}

static void what_is_asked_of_the_peer(void **state)
{
	struct verbs_srx srx = { .size = 1 };

	(void)state;
	open_endpoint(WF_CM_ASKED);
	for (unsigned int shared = 0; shared < 2; shared++) {
		cm.base.state = WF_CM_ASKED;
		ep->srx = shared ? &srx : NULL;
		assert_int_equal(fi_accept(&ep->ep.fid, NULL, 0), 0);
		assert_int_equal(sent.responder_resources, RDMA_MAX_RESP_RES);
		assert_int_equal(sent.initiator_depth, RDMA_MAX_INIT_DEPTH);
		assert_int_equal(sent.flow_control, 1);
		assert_int_equal(sent.retry_count, 7);
		assert_int_equal(sent.rnr_retry_count, 7);
		assert_int_equal(sent.srq, shared);
		assert_int_equal(sent.qp_num, QP_NUM);
		assert_int_equal(sent.private_data_len, 1);
	}
}

/* ---- the device ---- */

static struct ibv_async_event async_events[2 * BUSY];
static unsigned int async_count, async_next, async_acked;

static int get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	if (async_next == async_count)
		return -1;
	*event = async_events[async_next++];
	return 0;
}

static void ack_async_event(struct ibv_async_event *event)
{
	(void)event;
	async_acked++;
}

static const char *event_type_str(enum ibv_event_type type)
{
	(void)type;
	return "event";
}

static void device_says(enum ibv_event_type type, unsigned int count)
{
	async_count = async_next = async_acked = 0;
	while (async_count < count)
		async_events[async_count++] =
			(struct ibv_async_event){ .element.qp = &qp,
				.event_type = type };
	verbs_lib.ibv.get_async_event = get_async_event;
	verbs_lib.ibv.ack_async_event = ack_async_event;
	verbs_lib.ibv.event_type_str = event_type_str;
	qp.qp_context = ep;
	domain.async->item.run(&domain.async->item);
}

static void device_error_is_told(struct fid *fid, int err)
{
	struct fi_eq_err_entry entry = { 0 };

	assert_int_equal(fi_eq_readerr(eq, &entry, 0), sizeof(entry));
	assert_ptr_equal(entry.fid, fid);
	assert_ptr_equal(entry.context, fid->context);
	assert_int_equal(entry.err, err);
	assert_int_equal(entry.prov_errno, err);
}

/* Which events of the device the application gets: those of a queue pair for its
 * endpoint, those of the device for the domain. */
static void events_of_the_device(void **state)
{
	static const struct {
		enum ibv_event_type type;
		int err;
	} told[] = {
		{ IBV_EVENT_DEVICE_FATAL, FI_ENODEV },
		{ IBV_EVENT_PORT_ERR, FI_ENETDOWN },
		{ IBV_EVENT_CQ_ERR, FI_EIO },
		{ IBV_EVENT_SRQ_ERR, FI_EIO },
		{ IBV_EVENT_COMM_EST, 0 },
		{ IBV_EVENT_SQ_DRAINED, 0 },
		{ IBV_EVENT_PATH_MIG, 0 },
		{ IBV_EVENT_PATH_MIG_ERR, 0 },
		{ IBV_EVENT_PORT_ACTIVE, 0 },
		{ IBV_EVENT_LID_CHANGE, 0 },
		{ IBV_EVENT_PKEY_CHANGE, 0 },
		{ IBV_EVENT_SM_CHANGE, 0 },
		{ IBV_EVENT_SRQ_LIMIT_REACHED, 0 },
		{ IBV_EVENT_QP_LAST_WQE_REACHED, 0 },
		{ IBV_EVENT_CLIENT_REREGISTER, 0 },
		{ IBV_EVENT_GID_CHANGE, 0 },
	};
	static int mine;

	(void)state;
	connect_all();
	wf_domain.fid.fid.context = &mine;
	for (size_t i = 0; i < WF_ARRAY_SIZE(told); i++)
		for (unsigned int bound = 0; bound < 2; bound++) {
			wf_domain.eq = bound ? wf_eq_of(eq) : NULL;
			device_says(told[i].type, 1);
			assert_int_equal(async_acked, 1);
			if (told[i].err && bound)
				device_error_is_told(&wf_domain.fid.fid, told[i].err);
			nothing_is_told();
			assert_int_equal(cm.base.state, WF_CM_CONNECTED);
		}
	wf_domain.eq = NULL;
}

static void failures_of_a_queue_pair(void **state)
{
	static const enum ibv_event_type types[] = { IBV_EVENT_QP_FATAL,
		IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR };

	(void)state;
	connect_all();
	for (size_t i = 0; i < WF_ARRAY_SIZE(types); i++) {
		cm.base.state = WF_CM_CONNECTED;
		attr_count = 0;
		calls[0] = '\0';
		device_says(types[i], 1);
		device_error_is_told(&ep->ep.fid.fid, FI_EIO);
		is_down();
		assert_int_equal(async_acked, 1);
	}
}

/* A device that says much does not keep a reader of the event queue. */
static void some_events_at_a_time(void **state)
{
	(void)state;
	connect_all();
	device_says(IBV_EVENT_COMM_EST, 2 * BUSY);
	assert_int_equal(async_acked, BUSY);
	domain.async->item.run(&domain.async->item);
	assert_int_equal(async_acked, 2 * BUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refused_at_once),
		TEST(connects_from_its_address),
		TEST(refused_later),
		TEST(the_request_is_refused),
		TEST(the_end_of_the_exchange_is_refused),
		TEST(refused_states),
		TEST(the_answer_is_refused),
		TEST(events_that_end_an_attempt),
		TEST(events_in_other_states),
		TEST(events_of_another_identifier),
		TEST(shut_down),
		TEST(depths),
		TEST(what_is_asked_of_the_peer),
		TEST(events_of_the_device),
		TEST(failures_of_a_queue_pair),
		TEST(some_events_at_a_time),
	};

	return cmocka_run_group_tests_name("verbs_cm_failure", tests, NULL, NULL);
}
