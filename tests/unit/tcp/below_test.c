/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The endpoint of shm below an endpoint of tcp: two of them in one process, without the
 * connection that would tell them of each other.
 */
#include "conn_fixture.h"

#include <rdma/fi_cm.h>

#include "providers/tcp/local/below.h"
#include "sys/clock.h"
#include "../../time_limits.h"

/* The provider below is asked for through the library, which has another copy of it:
 * the copy beside this test is what a program finds. */

struct end {
	struct pair pair;
	struct fid_av *av;
	fi_addr_t other, below; /* the other end in tcp's AV, and below */
};

static void open_end(struct end *end, uint64_t caps)
{
	memset(end, 0, sizeof(*end));
	pair_open_rdm(&end->pair, caps, &end->av);
}

static void close_end(struct end *end)
{
	assert_int_equal(fi_close(&end->pair.ep->fid), 0);
	end->pair.ep = NULL;
	assert_int_equal(fi_close(&end->av->fid), 0);
	pair_close(&end->pair);
}

static int insert(struct end *end, const void *name, size_t len)
{
	int ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_insert(end->pair.tcp, end->other, name, len, &end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static void know(struct end *end, struct end *other)
{
	const char *name = tcp_below_name(other->pair.tcp);
	union wf_sockaddr addr;
	size_t len = sizeof(addr);

	assert_non_null(name);
	assert_int_equal(fi_getname(&other->pair.ep->fid, &addr, &len), 0);
	/* So that the index is not 0 as well below. */
	assert_int_equal(fi_av_insert(end->av, "\2\0\0\1\177\0\0\1\0\0\0\0\0\0\0\0", 1,
				 NULL, 0, NULL),
		1);
	assert_int_equal(fi_av_insert(end->av, &addr, 1, &end->other, 0, NULL), 1);
	assert_int_equal(insert(end, name, strlen(name) + 1), 0);
}

static ssize_t start(struct end *end, const void *text, size_t len, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)text, len };
	struct wf_op op = { .kind = WF_OP_TSEND,
		.flags = FI_COMPLETION,
		.iov = &iov,
		.iov_count = 1,
		.len = len,
		.addr = end->other,
		.tag = 7,
		.context = context };
	ssize_t ret;

	wf_lock(&end->pair.tcp->ep.lock);
	ret = tcp_below_start(end->pair.tcp, end->below, &op);
	wf_unlock(&end->pair.tcp->ep.lock);
	return ret;
}

/* The next completion of @end, while both make progress. */
static struct fi_cq_tagged_entry wait_for(
	struct end *end, struct end *other, fi_addr_t *src)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));
	struct fi_cq_tagged_entry entry;

	while (fi_cq_readfrom(end->pair.cq, &entry, 1, src) != 1) {
		assert_false(wf_expired(deadline));
		/* Progress alone: the other end's completions stay. */
		(void)fi_cq_read(other->pair.cq, NULL, 0);
	}
	return entry;
}

static void a_message_goes_below(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct end a, b;
	char in[16] = "";
	fi_addr_t src = 0;

	(void)state;
	open_end(&a, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	open_end(&b, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	assert_int_equal(tcp_below_open(b.pair.tcp), 0);
	know(&a, &b);
	know(&b, &a);
	assert_int_equal(
		fi_trecv(b.pair.ep, in, sizeof(in), NULL, b.other, 7, 0, in), 0);
	assert_int_equal(start(&a, "below", 6, &a), 0);
	entry = wait_for(&b, &a, &src);
	assert_ptr_equal(entry.op_context, in);
	assert_int_equal(entry.len, 6);
	assert_string_equal(in, "below");
	assert_int_equal(src, b.other);
	assert_ptr_equal(wait_for(&a, &b, &src).op_context, &a);
	assert_true(wf_list_empty(&a.pair.tcp->conns));
	close_end(&a);
	close_end(&b);
}

static void names_are_checked(void **state)
{
	char name[TCP_PROOF_NAME + 1];
	struct end a;

	(void)state;
	open_end(&a, FI_TAGGED);
	assert_int_equal(insert(&a, "x", 2), -FI_ENOSYS);
	assert_int_equal(tcp_below_open(a.pair.tcp), 0);
	memset(name, 'x', sizeof(name));
	assert_int_equal(insert(&a, name, 0), -FI_EINVAL);
	assert_int_equal(insert(&a, name, 8), -FI_EINVAL);
	assert_int_equal(insert(&a, "a\0b", 4), -FI_EINVAL);
	name[TCP_PROOF_NAME] = 0;
	assert_int_equal(insert(&a, name, sizeof(name)), -FI_EINVAL);
	close_end(&a);
}

static void only_messages(void **state)
{
	struct end a;

	(void)state;
	open_end(&a, FI_MSG | FI_RMA);
	assert_int_equal(tcp_below_open(a.pair.tcp), -FI_ENOSYS);
	assert_null(tcp_below_name(a.pair.tcp));
	close_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_goes_below),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(only_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
