/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchange at a passive endpoint, to which the test connects. */
#include "msg_fixture.h"

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

/* The request of the test with @data arrives: the application gets it with the addresses
 * of both ends. */
static struct fi_info *requested_info(struct world *w, const char *data)
{
	struct sockaddr_in own, name;
	socklen_t len = sizeof(own);
	size_t name_len = sizeof(name);
	struct event event;

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

static struct fi_info *requested(struct world *w, uint32_t features, const char *data)
{
	call(w);
	put_text(TCP_CM_REQUEST, features, data);
	return requested_info(w, data);
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
	info->handle = &w->domain->fid;
	assert_int_equal(fi_endpoint(w->domain, info, &w->ep, NULL), -FI_EINVAL);
	info->handle = NULL;
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

/* A child that was forked meanwhile has the descriptor as well: the peer is told all the
 * same. */
static void a_copy_is_open(void **state)
{
	struct world *w = *state;
	struct fi_info *info;
	int next, copy;

	listen_at_any_port(w);
	call(w);
	next = refuse_next_fd();
	until_accepted(w, 1);
	copy = dup(next);
	put("\x02", 1);
	get_end();
	close(copy);
	call(w);
	next = refuse_next_fd();
	put_text(TCP_CM_REQUEST, TCP_HAVE_ERROR, "");
	info = requested_info(w, "");
	copy = dup(next);
	assert_int_equal(fi_reject(w->pep, info->handle, NULL, 0), 0);
	(void)get_text(TCP_CM_REJECT, "");
	get_end();
	close(copy);
	fi_freeinfo(info);
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
	int asked, silent[2];

	listen_at_any_port(w);
	info = requested(w, TCP_HAVE_ERROR, "");
	asked = other;
	for (int i = 0; i < 2; i++) {
		call(w);
		until_accepted(w, (unsigned int)i + 1);
		silent[i] = other;
	}
	close_pep(w);
	for (int i = 0; i < 2; i++) {
		other = silent[i];
		get_end();
	}
	other = asked;
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
		int next, copy;

		call(w);
		copy = refuse_next_fd();
		until_accepted(w, 1);
		/* It is shut down, so that no copy in a forked child matters. */
		copy = dup(copy);
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
		close(copy);
	}
}

static void no_memory_for_a_caller(void **state)
{
	struct world *w = *state;
	int next;

	listen_at_any_port(w);
	call(w);
	next = refuse_next_fd();
	refuse_one("memory", 1, ENOMEM);
	nothing_happens(w);
	assert_true(refuse_end());
	assert_int_equal(pep_of(w)->ask_count, 0);
	assert_int_equal(refuse_next_fd(), next);
	get_end();
}

static void no_means_for_a_passive_endpoint(void **state)
{
	struct world *w = *state;

	REFUSE_EACH("memory", ENOMEM,
		int ret = fi_passive_ep(w->fabric, w->info, &w->pep, NULL),
		assert_int_equal(ret, -FI_ENOMEM));
	close_pep(w);
	REFUSE_EACH("epoll_create1", EMFILE,
		int ret = fi_passive_ep(w->fabric, w->info, &w->pep, NULL),
		assert_int_equal(ret, -FI_EMFILE));
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
		WORLD_TEST(a_copy_is_open),
		WORLD_TEST(no_memory_for_a_caller),
		WORLD_TEST(no_means_for_a_passive_endpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
