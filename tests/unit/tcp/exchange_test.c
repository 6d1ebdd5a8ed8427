/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exchange that begins the connection of an FI_EP_MSG endpoint, from both sides.
 */
#include "exchange_fixture.h"

#include <rdma/fi_eq.h>

#include "providers/tcp/cm/pep.h"

/* ---- both ends ---- */

struct world {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep; /* NULL: none */
	struct fid_ep *ep;   /* NULL: none */
};

static struct world *the_world;

static struct tcp_pep *pep_of(const struct world *w)
{
	return tcp_pep_of(wf_container_of(w->pep, struct wf_pep, fid));
}

static struct tcp_ep *ep_of(const struct world *w)
{
	return tcp_ep_of(wf_container_of(w->ep, struct wf_ep, fid));
}

static int world_setup(void **state)
{
	static struct fi_provider *prov;
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	if (!prov)
		prov = tcp_prov_ini();
	kernel.takes = SIZE_MAX;
	kernel.err = 0;
	w->info = pair_info(prov);
	assert_int_equal(prov->fabric(w->info->fabric_attr, &w->fabric, NULL), 0);
	assert_int_equal(fi_domain(w->fabric, w->info, &w->domain, NULL), 0);
	assert_int_equal(fi_eq_open(w->fabric, &eq_attr, &w->eq, NULL), 0);
	assert_int_equal(fi_cq_open(w->domain, &cq_attr, &w->cq, NULL), 0);
	*state = the_world = w;
	return 0;
}

static void close_ep(struct world *w)
{
	if (w->ep)
		assert_int_equal(fi_close(&w->ep->fid), 0);
	w->ep = NULL;
}

static void close_pep(struct world *w)
{
	if (w->pep)
		assert_int_equal(fi_close(&w->pep->fid), 0);
	w->pep = NULL;
}

static int world_teardown(void **state)
{
	struct world *w = *state;

	close_other();
	close_ep(w);
	close_pep(w);
	assert_int_equal(fi_close(&w->cq->fid), 0);
	assert_int_equal(fi_close(&w->eq->fid), 0);
	assert_int_equal(fi_close(&w->domain->fid), 0);
	assert_int_equal(fi_close(&w->fabric->fid), 0);
	fi_freeinfo(w->info);
	free(w);
	return 0;
}

#define WORLD_TEST(name)                                                               \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

/* An event of a connection, with its data. */
struct event {
	uint32_t type;
	struct fi_eq_cm_entry *entry;
	size_t data_len;
	uint64_t bytes[(sizeof(struct fi_eq_cm_entry) + TCP_CM_DATA_MAX) / 8];
};

/* Whatever the endpoints can do now is done. */
static void nothing_happens(struct world *w)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;

	for (int i = 0; i < 4; i++)
		assert_int_equal(
			fi_eq_read(w->eq, &type, &entry, sizeof(entry), 0), -FI_EAGAIN);
}

static void next_event(struct world *w, struct event *ret, uint32_t type)
{
	ssize_t n;

	do
		n = fi_eq_read(w->eq, &ret->type, ret->bytes, sizeof(ret->bytes), 0);
	while (n == -FI_EAGAIN);
	assert_true(n >= (ssize_t)sizeof(struct fi_eq_cm_entry));
	assert_int_equal(ret->type, type);
	ret->entry = (struct fi_eq_cm_entry *)ret->bytes;
	ret->data_len = (size_t)n - sizeof(struct fi_eq_cm_entry);
}

static struct fi_eq_err_entry next_error(struct world *w)
{
	struct fi_eq_err_entry err = { 0 };
	uint64_t bytes[16];
	uint32_t type;
	ssize_t n;

	do
		n = fi_eq_read(w->eq, &type, bytes, sizeof(bytes), 0);
	while (n == -FI_EAGAIN);
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(w->eq, &err, 0), sizeof(err));
	return err;
}

static void new_ep(struct world *w, struct fi_info *info)
{
	assert_int_equal(fi_endpoint(w->domain, info, &w->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(w->ep, &w->eq->fid, 0), 0);
	assert_int_equal(fi_ep_bind(w->ep, &w->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(w->ep), 0);
}

static void step(void)
{
	struct fi_eq_cm_entry entry;
	uint32_t type;

	(void)fi_eq_read(the_world->eq, &type, &entry, sizeof(entry), FI_PEEK);
}

static void put_text(enum tcp_cm_type type, uint32_t features, const char *text)
{
	const struct tcp_cm_ext ext = { .features = features, .instance = INSTANCE };

	put_message(type, features ? &ext : NULL, text, strlen(text));
}

static struct tcp_cm_msg get_text(enum tcp_cm_type type, const char *text)
{
	char data[TCP_CM_DATA_MAX];
	struct tcp_cm_msg msg = get_message(type, data, strlen(text));

	assert_memory_equal(data, text, strlen(text));
	return msg;
}

/* ---- passive endpoints ---- */

static void listen_at_any_port(struct world *w)
{
	assert_int_equal(fi_passive_ep(w->fabric, w->info, &w->pep, NULL), 0);
	assert_int_equal(fi_pep_bind(w->pep, &w->eq->fid, 0), 0);
	assert_int_equal(fi_listen(w->pep), 0);
}

static void call(struct world *w)
{
	struct sockaddr_in addr;
	size_t len = sizeof(addr);

	assert_int_equal(fi_getname(&w->pep->fid, &addr, &len), 0);
	assert_int_equal(len, sizeof(addr));
	assert_int_not_equal(addr.sin_port, 0);
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(other, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

/* Until the endpoint has accepted the test's connection. */
static void until_accepted(struct world *w, unsigned int asks)
{
	while (pep_of(w)->ask_count != asks)
		nothing_happens(w);
}

/* A request with @data arrives: the application gets it with the addresses of both
 * ends. */
static struct fi_info *requested(struct world *w, uint32_t features, const char *data)
{
	struct sockaddr_in own, name;
	socklen_t len = sizeof(own);
	size_t name_len = sizeof(name);
	struct event event;

	call(w);
	put_text(TCP_CM_REQUEST, features, data);
	next_event(w, &event, FI_CONNREQ);
	assert_ptr_equal(event.entry->fid, &w->pep->fid);
	assert_true(event.data_len >= strlen(data));
	assert_memory_equal(event.entry->data, data, strlen(data));
	assert_int_equal(pep_of(w)->ask_count, 0);
	assert_true(wf_list_empty(&pep_of(w)->asks));
	assert_int_equal(getsockname(other, (struct sockaddr *)&own, &len), 0);
	assert_int_equal(fi_getname(&w->pep->fid, &name, &name_len), 0);
	assert_memory_equal(event.entry->info->dest_addr, &own, sizeof(own));
	assert_memory_equal(event.entry->info->src_addr, &name, sizeof(name));
	return event.entry->info;
}

static void rejected_by_the_application(void **state)
{
	struct world *w = *state;
	struct fi_info *info;
	struct tcp_cm_msg msg;

	listen_at_any_port(w);
	info = requested(w, TCP_HAVE_ERROR, "hello");
	assert_int_equal(fi_reject(w->pep, info->handle, "why", 3), 0);
	msg = get_text(TCP_CM_REJECT, "why");
	assert_int_equal(msg.ext.reason, TCP_REASON_REFUSED);
	get_end();
	/* It is gone. */
	assert_int_equal(fi_reject(w->pep, info->handle, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_endpoint(w->domain, info, &w->ep, NULL), -FI_EINVAL);
	fi_freeinfo(info);
}

/* What the two ends agree on, and what the events tell. */
static void accepted_by_the_application(void **state)
{
	static const struct {
		uint32_t offer, have;
	} rows[] = {
		{ TCP_HAVE_ERROR | TCP_HAVE_MATCH, TCP_HAVE_ERROR | TCP_HAVE_MATCH },
		{ TCP_HAVE_TAGGED_MSG, TCP_HAVE_TAGGED_MSG | TCP_HAVE_TAGGED },
		{ TCP_HAVE_RDV_MSG, TCP_HAVE_RDV_MSG | TCP_HAVE_RDV },
		{ TCP_HAVE_LOCAL | TCP_HAVE_PROBE | TCP_HAVE_ATOMIC,
			TCP_HAVE_PROBE | TCP_HAVE_ATOMIC },
		/* An old peer. */
		{ 0, TCP_HAVE_RAW_TAGGED },
	};
	struct world *w = *state;

	listen_at_any_port(w);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fi_info *info = requested(w, rows[i].offer, "hello");
		struct tcp_cm_msg msg;
		struct event event;

		assert_int_equal(info->caps & FI_TAGGED, FI_TAGGED);
		new_ep(w, info);
		fi_freeinfo(info);
		assert_int_equal(fi_accept(w->ep, "hi", 2), 0);
		msg = get_text(TCP_CM_REPLY, "hi");
		assert_int_equal(msg.ext.instance != 0, rows[i].offer != 0);
		next_event(w, &event, FI_CONNECTED);
		assert_ptr_equal(event.entry->fid, &w->ep->fid);
		assert_int_equal(event.data_len, 0);
		assert_non_null(ep_of(w)->cm->conn);
		assert_int_equal(ep_of(w)->cm->conn->wire.have, rows[i].have);
		assert_int_equal(ep_of(w)->cm->watch.fd, -1);
		close_other();
		while (ep_of(w)->cm->conn)
			(void)fi_cq_read(w->cq, NULL, 0);
		next_event(w, &event, FI_SHUTDOWN);
		assert_ptr_equal(event.entry->fid, &w->ep->fid);
		assert_int_equal(fi_shutdown(w->ep, 0), -FI_ENOTCONN);
		nothing_happens(w);
		close_ep(w);
	}
}

/* Neither is told to the application. */
static void strangers_and_the_impatient(void **state)
{
	struct world *w = *state;

	listen_at_any_port(w);
	call(w);
	put("GET / HTTP/1.1", 14);
	get_end();
	assert_int_equal(pep_of(w)->ask_count, 0);
	call(w);
	until_accepted(w, 1);
	close_other();
	until_accepted(w, 0);
	/* A reply is no request. */
	call(w);
	put_text(TCP_CM_REPLY, 0, "");
	get_end();
}

/* A request may come in parts, within its limit. */
static void requests_have_a_limit(void **state)
{
	struct world *w = *state;
	uint8_t buf[TCP_CM_MAX];
	size_t len = tcp_cm_encode(buf, TCP_CM_REQUEST, NULL, "x", 1);
	struct event event;

	listen_at_any_port(w);
	assert_true(pep_of(w)->conf.connect_ms > 0);
	for (int late = 0; late < 2; late++) {
		call(w);
		put(buf, 5);
		until_accepted(w, 1);
		seconds_pass((unsigned int)pep_of(w)->conf.connect_ms / 1000 +
			     (late ? 1 : -2u));
		nothing_happens(w);
		assert_int_equal(pep_of(w)->ask_count, late ? 0 : 1);
		if (late) {
			get_end();
			continue;
		}
		put(buf + 5, len - 5);
		next_event(w, &event, FI_CONNREQ);
		assert_int_equal(
			fi_reject(w->pep, event.entry->info->handle, NULL, 0), 0);
		fi_freeinfo(event.entry->info);
		(void)get_text(TCP_CM_REJECT, "");
		get_end();
	}
}

/* Where no descriptor is left, the oldest that has said nothing for a second gives its
 * own back. */
static void the_silent_give_way(void **state)
{
	struct world *w = *state;
	struct tcp_listener *listener;
	int first;

	listen_at_any_port(w);
	listener = &pep_of(w)->listener;
	assert_false(listener->free_descriptor(listener));
	call(w);
	until_accepted(w, 1);
	first = other;
	assert_false(listener->free_descriptor(listener));
	assert_int_equal(pep_of(w)->ask_count, 1);
	seconds_pass(2);
	call(w);
	until_accepted(w, 2);
	assert_true(listener->free_descriptor(listener));
	assert_int_equal(pep_of(w)->ask_count, 1);
	assert_false(listener->free_descriptor(listener));
	/* The other one is heard. */
	put("\x02", 1);
	get_end();
	other = first;
	get_end();
}

/* Their closing ends what waits: connections without a request, and requests. */
static void passive_endpoint_closed(void **state)
{
	struct world *w = *state;
	struct fi_info *info;
	struct tcp_cm_msg msg;
	int silent;

	listen_at_any_port(w);
	info = requested(w, TCP_HAVE_ERROR, "");
	silent = other;
	call(w);
	until_accepted(w, 1);
	close_pep(w);
	get_end();
	other = silent;
	msg = get_text(TCP_CM_REJECT, "");
	assert_int_equal(msg.ext.reason, TCP_REASON_REFUSED);
	get_end();
	fi_freeinfo(info);
}

/* Without memory or a descriptor for a request, the peer is told to try later. */
static void no_means_for_a_request(void **state)
{
	static const char *const calls[] = { "memory", "epoll_create1", "getsockname" };
	struct world *w = *state;
	struct tcp_cm_msg msg;

	listen_at_any_port(w);
	for (size_t i = 0; i < WF_ARRAY_SIZE(calls); i++) {
		int next;

		call(w);
		until_accepted(w, 1);
		next = refuse_next_fd();
		put_text(TCP_CM_REQUEST, TCP_HAVE_ERROR, "");
		refuse_one(calls[i], 1, ENOMEM);
		nothing_happens(w);
		assert_true(refuse_end());
		msg = get_text(TCP_CM_REJECT, "");
		assert_int_equal(msg.ext.reason, TCP_REASON_BUSY);
		assert_int_equal(pep_of(w)->ask_count, 0);
		get_end();
		assert_true(refuse_next_fd() < next);
	}
}

/* ---- endpoints that connect ---- */

/* An endpoint of @info connects to the test with @data. */
static void connect_ep(struct world *w, struct fi_info *info, const char *data)
{
	struct sockaddr_in addr;
	int listener = listen_at(INADDR_LOOPBACK, 0, &addr);

	new_ep(w, info);
	assert_int_equal(fi_connect(w->ep, &addr, data, strlen(data)), 0);
	accept_other(listener);
	close(listener);
}

static void accepted_by_the_other_end(void **state)
{
	struct world *w = *state;
	struct tcp_cm_msg msg;
	struct fi_cq_err_entry cancelled = { 0 };
	struct event event;
	uint8_t in[4];

	connect_ep(w, w->info, "hello");
	msg = get_text(TCP_CM_REQUEST, "hello");
	assert_int_not_equal(msg.ext.instance, 0);
	assert_int_equal(msg.ext.features,
		TCP_HAVE_ATOMIC | TCP_HAVE_RDV_MSG | TCP_HAVE_RDV_MANY |
			TCP_HAVE_ERROR | TCP_HAVE_MATCH | TCP_HAVE_PROBE |
			TCP_HAVE_LDBL_OWN | TCP_HAVE_TAGGED_MSG);
	/* Messages wait for the connection, or are refused. */
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), -FI_EAGAIN);
	put_text(TCP_CM_REPLY, TCP_HAVE_TAGGED_MSG, "hi");
	next_event(w, &event, FI_CONNECTED);
	assert_ptr_equal(event.entry->fid, &w->ep->fid);
	assert_int_equal(event.data_len, 2);
	assert_memory_equal(event.entry->data, "hi", 2);
	assert_int_equal(
		ep_of(w)->cm->conn->wire.have, TCP_HAVE_TAGGED_MSG | TCP_HAVE_TAGGED);
	assert_int_equal(fi_recv(w->ep, in, sizeof(in), NULL, 0, in), 0);
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), 0);
	/* The endpoint ends it: what it sent arrives, and its receive is cancelled. */
	assert_int_equal(fi_shutdown(w->ep, 0), 0);
	next_event(w, &event, FI_SHUTDOWN);
	assert_int_equal(event.data_len, 0);
	assert_null(ep_of(w)->cm->conn);
	assert_int_equal(fi_shutdown(w->ep, 0), -FI_ENOTCONN);
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), -FI_ENOTCONN);
	wait_for(other, POLLIN);
	assert_int_equal(recv(other, in, 1, MSG_DONTWAIT), 1);
	assert_int_equal(fi_cq_readerr(w->cq, &cancelled, 0), 1);
	assert_int_equal(cancelled.err, FI_ECANCELED);
	assert_ptr_equal(cancelled.op_context, in);
}

static void rejected_by_the_other_end(void **state)
{
	struct world *w = *state;
	struct fi_eq_err_entry err;

	connect_ep(w, w->info, "");
	(void)get_text(TCP_CM_REQUEST, "");
	put_text(TCP_CM_REJECT, TCP_HAVE_ERROR, "why");
	err = next_error(w);
	assert_ptr_equal(err.fid, &w->ep->fid);
	assert_int_equal(err.err, FI_ECONNREFUSED);
	assert_int_equal(err.prov_errno, FI_ECONNREFUSED);
	assert_int_equal(err.err_data_size, 3);
	assert_memory_equal(err.err_data, "why", 3);
	assert_int_equal(ep_of(w)->cm->watch.fd, -1);
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), -FI_ENOTCONN);
	get_end();
}

/* No answer: the other end goes away in the middle of one, or is silent. */
static void no_answer(void **state)
{
	struct world *w = *state;
	struct fi_eq_err_entry err;

	connect_ep(w, w->info, "");
	(void)get_text(TCP_CM_REQUEST, "");
	put("\x03\x06\x00\x03", 4);
	close_other();
	err = next_error(w);
	assert_int_equal(err.err, FI_ECONNRESET);
	assert_int_equal(err.err_data_size, 0);
	close_ep(w);

	connect_ep(w, w->info, "");
	ep_of(w)->conf.reply_ms = 0;
	(void)get_text(TCP_CM_REQUEST, "");
	assert_int_equal(tcp_msg_deadline(ep_of(w)), ep_of(w)->cm->cm.deadline_ns);
	ep_of(w)->cm->cm.deadline_ns = wf_now_ns() + UINT64_C(5000000000);
	seconds_pass(4);
	wf_lock(&ep_of(w)->ep.lock);
	tcp_msg_tick(ep_of(w));
	wf_unlock(&ep_of(w)->ep.lock);
	nothing_happens(w);
	seconds_pass(1);
	wf_lock(&ep_of(w)->ep.lock);
	tcp_msg_tick(ep_of(w));
	assert_int_equal(tcp_msg_deadline(ep_of(w)), UINT64_MAX);
	wf_unlock(&ep_of(w)->ep.lock);
	err = next_error(w);
	assert_int_equal(err.err, FI_ETIMEDOUT);
	assert_int_equal(err.prov_errno, FI_ETIMEDOUT);
	get_end();
}

/* Without memory for the connection it ends at once. */
static void no_memory_for_the_connection(void **state)
{
	struct world *w = *state;
	struct fi_eq_err_entry err;

	connect_ep(w, w->info, "");
	(void)get_text(TCP_CM_REQUEST, "");
	put_text(TCP_CM_REPLY, TCP_HAVE_ERROR, "data");
	refuse_one("memory", 1, ENOMEM);
	err = next_error(w);
	assert_true(refuse_end());
	assert_int_equal(err.err, FI_ENOMEM);
	assert_int_equal(err.prov_errno, FI_ENOMEM);
	assert_int_equal(err.err_data_size, 0);
	assert_null(ep_of(w)->cm->conn);
	get_end();
}

/* An endpoint that is opened for a passive endpoint connects from its address. */
static void connects_from_a_passive_endpoint(void **state)
{
	struct world *w = *state;
	struct sockaddr_in name, from;
	size_t name_len = sizeof(name);
	socklen_t len = sizeof(from);
	struct fi_info *info = fi_dupinfo(w->info);

	listen_at_any_port(w);
	assert_int_equal(fi_getname(&w->pep->fid, &name, &name_len), 0);
	close_pep(w);
	assert_int_equal(fi_passive_ep(w->fabric, w->info, &w->pep, NULL), 0);
	assert_int_equal(fi_setname(&w->pep->fid, &name, sizeof(name)), 0);
	info->handle = &w->pep->fid;
	connect_ep(w, info, "");
	assert_int_equal(getpeername(other, (struct sockaddr *)&from, &len), 0);
	assert_memory_equal(&from, &name, sizeof(name));
	(void)get_text(TCP_CM_REQUEST, "");
	info->handle = NULL;
	fi_freeinfo(info);
}

/* The random number of an endpoint does not depend on the kernel's generator alone. */
static void random_numbers(void **state)
{
	uint64_t before = wf_now_ns(), instance;

	refuse_one("getrandom", 1, ENOSYS);
	instance = tcp_msg_instance();
	assert_true(refuse_end());
	assert_in_range(instance, before, wf_now_ns());
	assert_int_not_equal(tcp_msg_instance(), tcp_msg_instance());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(rejected_by_the_application),
		WORLD_TEST(accepted_by_the_application),
		WORLD_TEST(strangers_and_the_impatient),
		WORLD_TEST(requests_have_a_limit),
		WORLD_TEST(the_silent_give_way),
		WORLD_TEST(passive_endpoint_closed),
		WORLD_TEST(no_means_for_a_request),
		WORLD_TEST(accepted_by_the_other_end),
		WORLD_TEST(rejected_by_the_other_end),
		WORLD_TEST(no_answer),
		WORLD_TEST(no_memory_for_the_connection),
		WORLD_TEST(connects_from_a_passive_endpoint),
		cmocka_unit_test(random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
