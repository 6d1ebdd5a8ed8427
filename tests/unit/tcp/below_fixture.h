/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_BELOW_FIXTURE_H
#define TESTS_UNIT_TCP_BELOW_FIXTURE_H

/*
 * The endpoint of shm below an endpoint of tcp: two of them in one process, without the
 * connection that would tell them of each other.
 */
#include "conn_fixture.h"

#include <rdma/fi_cm.h>
#include <stdio.h>
#include <string.h>

#include "objects/local/local.h"
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

static inline void open_end(struct end *end, uint64_t caps)
{
	memset(end, 0, sizeof(*end));
	pair_open_rdm(&end->pair, caps, &end->av);
}

static inline void close_end(struct end *end)
{
	assert_int_equal(fi_close(&end->pair.ep->fid), 0);
	end->pair.ep = NULL;
	assert_int_equal(fi_close(&end->av->fid), 0);
	pair_close(&end->pair);
}

static inline int insert(struct end *end, const void *name, size_t len)
{
	union wf_sockaddr addr = { 0 };
	const void *other = wf_av_addr(wf_av_of(end->av), end->other);
	int ret;

	if (other)
		memcpy(&addr, other, sizeof(addr.in));
	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = wf_local_insert(end->pair.tcp->below, &addr, name, len, &end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static inline void know(struct end *end, struct end *other)
{
	const char *name = wf_local_name(other->pair.tcp->below);
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

static inline ssize_t start_op(struct end *end, struct wf_op *op)
{
	ssize_t ret;

	wf_lock(&end->pair.tcp->ep.lock);
	ret = wf_local_start(end->pair.tcp->below, end->below, op);
	wf_unlock(&end->pair.tcp->ep.lock);
	return ret;
}

/* With @flags besides those of every message. */
static inline ssize_t start_as(
	struct end *end, const void *text, size_t len, void *context, uint64_t flags)
{
	struct iovec iov = { (void *)(uintptr_t)text, len };
	struct wf_op op = { .kind = WF_OP_TSEND,
		.flags = FI_COMPLETION | flags,
		.iov = &iov,
		.iov_count = 1,
		.len = len,
		.addr = end->other,
		.tag = 7,
		.context = context };

	return start_op(end, &op);
}

static inline ssize_t start(
	struct end *end, const void *text, size_t len, void *context)
{
	return start_as(end, text, len, context, 0);
}

/* The next completion of @end, while both make progress. */
static inline struct fi_cq_tagged_entry wait_for(
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

static inline void open_two(struct end *a, struct end *b)
{
	open_end(a, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	open_end(b, FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV);
	assert_int_equal(tcp_below_open(a->pair.tcp), 0);
	assert_int_equal(tcp_below_open(b->pair.tcp), 0);
	know(a, b);
	know(b, a);
}

static inline int reach(struct end *end)
{
	int ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = wf_local_reach(end->pair.tcp->below, end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static inline void part_with(struct end *end, struct wf_unread *unread)
{
	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	wf_local_remove(end->pair.tcp->below, end->below, FI_ECANCELED, unread);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
}

static inline void part(struct end *end)
{
	part_with(end, NULL);
}

static inline bool is_reached(struct end *end)
{
	bool ret;

	wf_ep_srx_lock(&end->pair.tcp->ep);
	wf_lock(&end->pair.tcp->ep.lock);
	ret = wf_local_is_reached(end->pair.tcp->below, end->below);
	wf_unlock(&end->pair.tcp->ep.lock);
	wf_ep_srx_unlock(&end->pair.tcp->ep);
	return ret;
}

static inline void reach_each_other(struct end *a, struct end *b)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(10000));

	while (reach(a)) {
		assert_false(wf_expired(deadline));
		(void)fi_cq_read(a->pair.cq, NULL, 0);
		(void)fi_cq_read(b->pair.cq, NULL, 0);
	}
}

#endif
