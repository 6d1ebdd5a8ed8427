/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_CM_FIXTURE_H
#define TESTS_UNIT_VERBS_CM_FIXTURE_H

/* An endpoint over a librdmacm that the test plays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "objects/absent/absent.h"
#include "objects/eq/eq.h"
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"

enum { EVENTS = 40, STATES = 8, RD_ATOMIC = 16, RNR_TIMER = 12, QP_NUM = 77 };

/* ---- the libraries ---- */

static struct rdma_cm_event events[EVENTS];
static unsigned int event_count, event_next, acked;
static char calls[256]; /* names of the calls of librdmacm, each with a space */
static struct rdma_conn_param sent; /* of rdma_connect or rdma_accept */
static uint8_t sent_data[256];
static struct ibv_qp_attr attrs[STATES]; /* of ibv_modify_qp */
static int masks[STATES];
static unsigned int attr_count;
static enum ibv_qp_state refused_state; /* ibv_modify_qp to it fails; RESET: none */

static struct ibv_device rdma_device, other_device;
static struct ibv_context context = { .device = &rdma_device };
static struct ibv_context other_context = { .device = &other_device };
static struct rdma_cm_id rdma_id;

/* A call that fails, with this errno; NULL: none. */
static const char *refused_call;
static int refused_errno;

static inline int called(const char *name)
{
	strncat(calls, name, sizeof(calls) - strlen(calls) - 1);
	strncat(calls, " ", sizeof(calls) - strlen(calls) - 1);
	if (!refused_call || strcmp(refused_call, name) != 0)
		return 0;
	errno = refused_errno;
	return -1;
}

static int fake_get_cm_event(
	struct rdma_event_channel *channel, struct rdma_cm_event **ret)
{
	(void)channel;
	if (event_next == event_count) {
		errno = EAGAIN;
		return -1;
	}
	*ret = &events[event_next++];
	return 0;
}

static int fake_ack_cm_event(struct rdma_cm_event *event)
{
	(void)event;
	acked++;
	return 0;
}

static int fake_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **ret,
	void *ctx, enum rdma_port_space ps)
{
	(void)channel;
	(void)ctx;
	assert_int_equal(ps, RDMA_PS_TCP);
	*ret = &rdma_id;
	return called("create_id");
}

static int fake_resolve_addr(
	struct rdma_cm_id *id, struct sockaddr *source, struct sockaddr *dest, int ms)
{
	(void)id;
	assert_true(ms > 0);
	assert_int_equal(dest->sa_family, AF_INET);
	return called(source ? "resolve_addr_from" : "resolve_addr");
}

static int fake_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)id;
	assert_true(ms > 0);
	return called("resolve_route");
}

static inline void keep(const struct rdma_conn_param *param)
{
	sent = *param;
	memcpy(sent_data, param->private_data, param->private_data_len);
}

static int fake_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	keep(param);
	return called("connect");
}

static int fake_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	(void)id;
	keep(param);
	return called("accept");
}

static int fake_establish(struct rdma_cm_id *id)
{
	(void)id;
	return called("establish");
}

static int fake_disconnect(struct rdma_cm_id *id)
{
	(void)id;
	return called("disconnect");
}

static int fake_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	(void)id;
	(void)data;
	(void)len;
	return called("reject");
}

/* The kernel knows what it negotiated, not the limits of the device. */
static int fake_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	(void)id;
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_INIT) {
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	} else if (attr->qp_state == IBV_QPS_RTR) {
		*mask |= IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_DEST_RD_ATOMIC;
		attr->max_dest_rd_atomic = 255;
	} else {
		*mask |= IBV_QP_MAX_QP_RD_ATOMIC;
		attr->max_rd_atomic = 4;
	}
	return 0;
}

static int fake_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	(void)ctx;
	(void)event;
	return -1;
}

static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	if (attr->qp_state == refused_state)
		return EINVAL;
	assert_true(attr_count < STATES);
	masks[attr_count] = mask;
	attrs[attr_count++] = *attr;
	return 0;
}

static inline const char *fake_get_device_name(struct ibv_device *device)
{
	return device == &rdma_device ? "rxa" : "rxb";
}

static inline void play(void)
{
	verbs_lib.rdma.get_cm_event = fake_get_cm_event;
	verbs_lib.rdma.ack_cm_event = fake_ack_cm_event;
	verbs_lib.rdma.create_id = fake_create_id;
	verbs_lib.rdma.resolve_addr = fake_resolve_addr;
	verbs_lib.rdma.resolve_route = fake_resolve_route;
	verbs_lib.rdma.connect = fake_connect;
	verbs_lib.rdma.accept = fake_accept;
	verbs_lib.rdma.establish = fake_establish;
	verbs_lib.rdma.disconnect = fake_disconnect;
	verbs_lib.rdma.reject = fake_reject;
	verbs_lib.rdma.init_qp_attr = fake_init_qp_attr;
	verbs_lib.ibv.get_async_event = fake_get_async_event;
	verbs_lib.ibv.modify_qp = fake_modify_qp;
	verbs_lib.ibv.get_device_name = fake_get_device_name;
}

/* ---- an endpoint ---- */

static struct wf_fabric fabric = {
	.fid.api_version = FI_VERSION(2, 0),
	.prov = &verbs_prov,
};
static struct wf_domain wf_domain = { .prov = &verbs_prov };
static struct verbs_device device;
static struct verbs_domain domain = { .device = &device };
static struct ibv_qp qp = { .qp_num = QP_NUM };
static struct rdma_event_channel channel;
static struct fid_eq *eq;
static struct verbs_ep *ep;
static struct verbs_cm cm;

static inline void open_endpoint(enum wf_cm_state state)
{
	ep = aligned_alloc(WF_CACHELINE, sizeof(*ep));
	assert_non_null(ep);
	*ep = (struct verbs_ep){ .domain = &domain, .qp = &qp, .cm = &cm };
	ep->ep.fid.fid.fclass = FI_CLASS_EP;
	ep->ep.fid.cm = &wf_absent_cm;
	ep->ep.domain = &wf_domain;
	ep->ep.type = FI_EP_MSG;
	ep->ep.enabled = true;
	atomic_init(&ep->ep.eq, wf_eq_of(eq));
	cm = (struct verbs_cm){
		.base = { .state = state, .eq = wf_eq_of(eq) },
		.ep = ep,
		.channel = &channel,
		.id = state == WF_CM_NEW ? NULL : &rdma_id,
		.own = wf_sockaddr_any(AF_INET),
	};
	wf_lock_init(&cm.lock, WF_LOCK_MUTEX);
	wf_cm_init(&cm.base, &verbs_cm_ops, &ep->ep, &cm.lock, AF_INET);
}

static inline int setup(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };

	(void)state;
	play();
	context.async_fd = eventfd(0, EFD_CLOEXEC);
	verbs_params.min_rnr_timer = RNR_TIMER;
	device = (struct verbs_device){ .name = (char *)(uintptr_t) "rxa" };
	device.attr.max_qp_rd_atom = RD_ATOMIC;
	device.attr.max_qp_init_rd_atom = RD_ATOMIC;
	rdma_id = (struct rdma_cm_id){ .verbs = &context, .port_num = 1 };
	event_count = event_next = acked = attr_count = 0;
	calls[0] = '\0';
	refused_state = IBV_QPS_RESET;
	refused_call = NULL;
	domain.wf = &wf_domain;
	domain.context = &context;
	wf_progress_list_init(&wf_domain.items, WF_LOCK_MUTEX, NULL);
	assert_int_equal(verbs_async_open(&domain), 0);
	return wf_eq_open(&fabric.fid, &attr, &eq, NULL);
}

static inline int teardown(void **state)
{
	(void)state;
	verbs_async_close(&domain);
	wf_progress_list_done(&wf_domain.items);
	(void)close(context.async_fd);
	wf_lock_done(&cm.lock);
	free(ep);
	return fi_close(&eq->fid);
}

/* Let the endpoint see an event with private data. */
static inline void happen(
	enum rdma_cm_event_type type, int status, const void *data, size_t len)
{
	event_count = event_next = 0;
	events[event_count++] = (struct rdma_cm_event){
		.id = &rdma_id,
		.event = type,
		.status = status,
		.param.conn = { .private_data = data,
			.private_data_len = (uint8_t)len },
	};
	wf_lock(&cm.lock);
	assert_true(verbs_cm_events(&cm));
	assert_false(verbs_cm_events(&cm));
	wf_unlock(&cm.lock);
}

static inline struct fi_eq_cm_entry *read_event(uint32_t wanted, size_t *ret_len)
{
	static union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + VERBS_CM_DATA_MAX];
	} out;
	uint32_t event = 0;
	ssize_t len = fi_eq_read(eq, &event, &out, sizeof(out), 0);

	assert_true(len >= (ssize_t)sizeof(out.entry));
	assert_int_equal(event, wanted);
	assert_ptr_equal(out.entry.fid, &ep->ep.fid.fid);
	*ret_len = (size_t)len - sizeof(out.entry);
	return &out.entry;
}

static inline void nothing_is_told(void)
{
	uint8_t bytes[512];
	uint32_t event;

	assert_int_equal(fi_eq_read(eq, &event, bytes, sizeof(bytes), 0), -FI_EAGAIN);
}

static inline void error_is_told(int err, const void *data, size_t len)
{
	uint8_t seen[VERBS_CM_DATA_MAX];
	struct fi_eq_err_entry entry = { .err_data = seen,
		.err_data_size = sizeof(seen) };

	assert_int_equal(fi_eq_readerr(eq, &entry, 0), sizeof(entry));
	assert_ptr_equal(entry.fid, &ep->ep.fid.fid);
	assert_int_equal(entry.err, err);
	assert_int_equal(entry.err_data_size, len);
	if (len)
		assert_memory_equal(seen, data, len);
	assert_int_equal(cm.base.state, WF_CM_DOWN);
	assert_false(atomic_load(&ep->ready));
	nothing_is_told();
}

static inline void start(const void *data, size_t len)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(0xc0a84d01) };

	open_endpoint(WF_CM_NEW);
	assert_int_equal(fi_connect(&ep->ep.fid, &to, data, len), 0);
	assert_int_equal(verbs_cm_not_ready(ep), -FI_EAGAIN);
}

static inline void connect_up_to_the_request(const void *data, size_t len)
{
	start(data, len);
	happen(RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
	happen(RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	assert_string_equal(calls, "create_id resolve_addr resolve_route connect ");
}

static inline void connect_all(void)
{
	size_t len;

	connect_up_to_the_request(NULL, 0);
	happen(RDMA_CM_EVENT_CONNECT_RESPONSE, 0, NULL, 0);
	(void)read_event(FI_CONNECTED, &len);
	calls[0] = '\0';
	attr_count = 0;
}

static inline void is_down(void)
{
	size_t len;

	(void)read_event(FI_SHUTDOWN, &len);
	nothing_is_told();
	assert_false(atomic_load(&ep->ready));
	assert_int_equal(verbs_cm_not_ready(ep), -FI_ENOTCONN);
	assert_int_equal(attr_count, 1);
	assert_int_equal(attrs[0].qp_state, IBV_QPS_ERR);
	assert_string_equal(calls, "disconnect ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
