/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchange of an endpoint that connects to the test. */
#include "msg_fixture.h"

static bool lowest; /* close the standard input before */

/* An endpoint of @info connects to the test with @data. */
static void connect_ep(struct world *w, struct fi_info *info, const char *data)
{
	struct sockaddr_in addr;
	int listener = listen_at(INADDR_LOOPBACK, 0, &addr);

	new_ep(w, info);
	if (lowest)
		close(STDIN_FILENO);
	assert_int_equal(fi_connect(w->ep, &addr, data, strlen(data)), 0);
	accept_other(listener);
	close(listener);
}

static void accepted_by_the_other_end(void **state)
{
	struct world *w = *state;
	struct tcp_cm_msg msg;
	const struct tcp_record behind = { .kind = TCP_REC_TAGGED, .payload_len = 4 };
	struct fi_cq_err_entry cancelled = { 0 };
	uint8_t in[4], got[64];
	struct event event;

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
	kernel.takes = 0;
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), 0);
	kernel.takes = SIZE_MAX;
	/* Bytes that the endpoint has not read when it ends the connection would let
	 * the kernel reset it. */
	ep_of(w)->unexp.budget.limit = ep_of(w)->unexp.budget.share = 0;
	for (int i = 0; i < 4; i++) {
		put(got, tcp_record_encode(got, &ep_of(w)->cm->conn->wire, &behind));
		put("abcd", 4);
		nothing_happens(w);
	}
	/* The endpoint ends it: what it sent arrives, and its receive is cancelled. */
	assert_int_equal(fi_shutdown(w->ep, 0), 0);
	next_event(w, &event, FI_SHUTDOWN);
	assert_int_equal(event.data_len, 0);
	assert_null(ep_of(w)->cm->conn);
	assert_int_equal(ep_of(w)->cm->base.state, WF_CM_DOWN);
	assert_int_equal(fi_shutdown(w->ep, 0), -FI_ENOTCONN);
	assert_int_equal(fi_inject(w->ep, "abcd", 4, 0), -FI_ENOTCONN);
	wait_for(other, POLLIN);
	assert_int_equal(
		recv(other, got, sizeof(got), MSG_DONTWAIT), TCP_WIRE_BASE + 4);
	wait_for(other, POLLIN);
	assert_int_equal(recv(other, got, sizeof(got), MSG_DONTWAIT), 0);
	assert_int_equal(fi_cq_readerr(w->cq, &cancelled, 0), 1);
	assert_int_equal(cancelled.err, FI_ECANCELED);
	assert_ptr_equal(cancelled.op_context, in);
}

/* An endpoint without tagged messages does not offer them, nor take an old peer's. */
static void no_tagged_messages(void **state)
{
	struct world *w = *state;
	struct fi_info *info = fi_dupinfo(w->info);
	struct tcp_cm_msg msg;
	struct event event;

	info->caps &= ~FI_TAGGED;
	connect_ep(w, info, "");
	fi_freeinfo(info);
	msg = get_text(TCP_CM_REQUEST, "");
	assert_int_equal(msg.ext.features & TCP_HAVE_TAGGED_MSG, 0);
	put_text(TCP_CM_REPLY, 0, "");
	next_event(w, &event, FI_CONNECTED);
	assert_int_equal(ep_of(w)->cm->conn->wire.have, 0);
}

/* The socket may get the descriptor of the standard input, if that is closed. */
static void lowest_descriptor(void **state)
{
	struct world *w = *state;
	int input = dup(STDIN_FILENO);

	assert_true(input > STDIN_FILENO);
	lowest = true;
	connect_ep(w, w->info, "");
	lowest = false;
	assert_int_equal(ep_of(w)->cm->watch.fd, STDIN_FILENO);
	(void)get_text(TCP_CM_REQUEST, "");
	close_ep(w);
	get_end();
	assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
	close(input);
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
	nothing_happens(w);
	seconds_pass(1);
	err = next_error(w);
	assert_true(tcp_msg_deadline(ep_of(w)) == UINT64_MAX);
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
	assert_memory_equal(&ep_of(w)->name.in, &name, sizeof(name));
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
		WORLD_TEST(no_tagged_messages),
		WORLD_TEST(lowest_descriptor),
		WORLD_TEST(accepted_by_the_other_end),
		WORLD_TEST(rejected_by_the_other_end),
		WORLD_TEST(no_answer),
		WORLD_TEST(no_memory_for_the_connection),
		WORLD_TEST(connects_from_a_passive_endpoint),
		cmocka_unit_test(random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
