/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/query.h"

#include "provider_fixture.h"

#include <poll.h>

#include "../../time_limits.h"
#include "providers/coll/node/node.h"

/* What the provider refuses to open, what it says of operations, which of them take the
 * fast path, and when a thread may sleep. */

/* ---- the fast path ---- */

static unsigned int fast, tried;

bool __wrap_coll_node_fast_path(
	struct coll_node *node, const struct coll_node_tiny *tiny);
bool __real_coll_node_fast_path(
	struct coll_node *node, const struct coll_node_tiny *tiny);

bool __wrap_coll_node_fast_path(
	struct coll_node *node, const struct coll_node_tiny *tiny)
{
	bool ret = __real_coll_node_fast_path(node, tiny);

	tried++;
	fast += ret;
	return ret;
}

/* Operations that are tried there, after the first one of each kind. */
static const struct {
	enum fi_collective_op kind;
	size_t count;
	bool is_tiny;
} tiny_rows[] = {
	{ FI_BARRIER, 0, true },
	{ FI_ALLREDUCE, 1, true },
	{ FI_ALLREDUCE, COLL_NODE_TINY / 8, true },
	{ FI_ALLREDUCE, COLL_NODE_TINY / 8 + 1, false },
	{ FI_ALLTOALL, 1, false },
	{ FI_ALLGATHER, 1, false },
	{ FI_REDUCE_SCATTER, 1, false },
};

static void check_results(enum fi_collective_op kind, size_t count)
{
	if (kind == FI_ALLREDUCE)
		check_sums(count);
	for (int i = 0; i < MEMBERS && kind == FI_REDUCE_SCATTER; i++)
		assert_int_equal(members[i].out[0], 3 * i);
	if (kind != FI_ALLTOALL && kind != FI_ALLGATHER)
		return;
	for (int i = 0; i < MEMBERS; i++)
		for (int k = 0; k < MEMBERS; k++)
			assert_int_equal(members[i].out[k],
				members[k].in[kind == FI_ALLTOALL ? i : 0]);
}

static void some_operations_are_fast(void **state)
{
	open_joined("node");
	for (size_t i = 0; i < WF_ARRAY_SIZE(tiny_rows); i++) {
		/* The first one of the kind is logged. */
		groups[0]->logged = groups[1]->logged = 0;
		tried = fast = 0;
		assert_int_equal(run_op(tiny_rows[i].kind, tiny_rows[i].count), 0);
		check_results(tiny_rows[i].kind, tiny_rows[i].count);
		assert_int_equal(tried, 0);
		assert_int_equal(groups[0]->logged, 1u << tiny_rows[i].kind);
		assert_int_equal(run_op(tiny_rows[i].kind, tiny_rows[i].count), 0);
		check_results(tiny_rows[i].kind, tiny_rows[i].count);
		assert_int_equal(tried, tiny_rows[i].is_tiny ? MEMBERS : 0);
		/* The last member has the data of all. */
		assert_int_equal(fast, tiny_rows[i].is_tiny);
	}
	close_all();
	/* Not with the other engine. */
	open_joined("p2p");
	tried = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(run_op(FI_BARRIER, 0), 0);
	assert_int_equal(tried, 0);
	close_all();
}

static enum fi_collective_op kind_of_msg = FI_ALLREDUCE;

static int start_msg(struct member *m, size_t pieces, size_t result_pieces)
{
	struct fi_ioc in[2] = { { m->in, 2 }, { m->in + 2, 1 } };
	struct fi_ioc out[2] = { { m->out, 2 }, { m->out + 2, 1 } };
	struct fi_msg_collective msg = {
		.msg_iov = in,
		.iov_count = pieces,
		.coll_addr = fi_mc_addr(m->mc),
		.coll = kind_of_msg,
		.datatype = FI_INT64,
		.op = FI_SUM,
		.context = m,
	};

	if (pieces == 1)
		in[0].count = 3;
	if (result_pieces == 1)
		out[0].count = 3;
	return (int)m->ep->collective->msg(m->ep, &msg, out, NULL, result_pieces, 0);
}

/* An allreduce of no elements, of one vector that is missing. */
static void check_vectors(struct member *m, size_t pieces, bool lacks_result,
	size_t result_pieces, int ret)
{
	static struct fi_ioc none[COLL_IOV_MAX + 1];
	struct fi_msg_collective msg = {
		.msg_iov = lacks_result ? none : NULL,
		.iov_count = pieces,
		.coll_addr = fi_mc_addr(m->mc),
		.coll = FI_ALLREDUCE,
		.datatype = FI_INT64,
		.op = FI_SUM,
	};

	assert_int_equal(m->ep->collective->msg(m->ep, &msg, lacks_result ? NULL : none,
				 NULL, result_pieces, 0),
		ret);
}

/* Vectors are not: the fast path takes one buffer. */
static void vectors_are_not_fast(void **state)
{
	open_joined("node");
	assert_int_equal(run_op(FI_ALLREDUCE, 3), 0);
	for (size_t i = 0; i < 4; i++) {
		tried = 0;
		for (int k = 0; k < MEMBERS; k++) {
			members[k].ended = members[k].op_err = 0;
			memset(members[k].out, 0, sizeof(members[k].out));
			assert_int_equal(
				start_msg(&members[k], 1 + i % 2, 1 + i / 2), 0);
		}
		poll_on();
		for (int k = 0; k < MEMBERS; k++)
			assert_int_equal(members[k].ended, 1);
		check_sums(3);
		assert_int_equal(tried, 0);
	}
	/* The last kind, and what is none. */
	members[0].ended = members[1].ended = 0;
	kind_of_msg = FI_GATHER;
	assert_int_equal(start_msg(&members[1], 2, 1), 0);
	assert_int_equal(
		fi_gather(members[0].ep, members[0].in, 3, NULL, members[0].out, NULL,
			fi_mc_addr(members[0].mc), 0, FI_INT64, 0, NULL),
		0);
	poll_on();
	assert_int_equal(members[0].ended + members[1].ended, MEMBERS);
	assert_memory_equal(members[0].out + 3, members[1].in, 3 * sizeof(int64_t));
	kind_of_msg = FI_GATHER + 1;
	assert_int_equal(start_msg(&members[0], 1, 1), -FI_EINVAL);
	kind_of_msg = FI_ALLREDUCE;
	assert_int_equal(
		members[0].ep->collective->msg(members[0].ep, NULL, NULL, NULL, 0, 0),
		-FI_EINVAL);
	check_vectors(&members[0], 1, true, 1, -FI_EINVAL);
	check_vectors(&members[0], 1, false, 1, -FI_EINVAL);
	assert_int_equal(start_msg(&members[0], COLL_IOV_MAX + 1, 1), -FI_EINVAL);
	assert_int_equal(start_msg(&members[0], 1, COLL_IOV_MAX + 1), -FI_EINVAL);
	close_all();
}

/* ---- endpoints ---- */

/* What an owner with such attributes can do. NULL: it does not say. */
static void check_owner(struct wf_domain *at, struct fi_info *with,
	const struct fi_peer_transfer_context *context, const struct fi_info *owner,
	int ret)
{
	struct fi_peer_transfer_context own = *context;
	struct fid_ep *fid = NULL;
	struct coll_ep *ep;
	bool names =
		owner && owner->caps & (FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV);

	own.info = (struct fi_info *)owner;
	own.peer_ops = NULL;
	assert_int_equal(__real_coll_endpoint(at, with, &fid, 0, &own), ret);
	if (ret) {
		assert_null(fid);
		assert_null(own.peer_ops);
		return;
	}
	ep = coll_ep_of(wf_container_of(fid, struct wf_ep, fid));
	assert_ptr_equal(ep->owner, context->ep);
	assert_non_null(own.peer_ops);
	assert_int_equal(ep->max_msg_size,
		owner && owner->ep_attr && owner->ep_attr->max_msg_size
			? owner->ep_attr->max_msg_size
			: SIZE_MAX);
	assert_int_equal(ep->has_sources,
		names && owner->caps & FI_SOURCE && !(owner->caps & FI_AV_USER_ID));
	assert_int_equal(
		ep->is_ordered, owner && owner->tx_attr && owner->rx_attr &&
					owner->tx_attr->msg_order & FI_ORDER_SAS &&
					owner->rx_attr->msg_order & FI_ORDER_SAS);
	assert_int_equal(ep->probe_flags,
		owner && owner->tx_attr &&
				owner->tx_attr->op_flags & FI_DELIVERY_COMPLETE
			? FI_DELIVERY_COMPLETE
			: 0);
	/* Nothing is bound to it. */
	assert_int_equal(fi_enable(fid), -FI_ENOCQ);
	assert_int_equal(fi_close(&fid->fid), 0);
}

static void check_owners(struct wf_domain *at, struct fi_info *with,
	const struct fi_peer_transfer_context *context)
{
	struct fi_tx_attr tx = { .msg_order = FI_ORDER_SAS };
	struct fi_rx_attr rx = { .msg_order = FI_ORDER_SAS };
	struct fi_ep_attr ep = { .max_msg_size = 1000 };
	struct fi_domain_attr local = { .mr_mode = FI_MR_LOCAL };
	struct fi_info owner = { .caps = FI_TAGGED };

	check_owner(at, with, context, NULL, 0);
	check_owner(at, with, context, &owner, 0);
	owner.caps |= FI_SOURCE;
	check_owner(at, with, context, &owner, 0);
	owner.caps |= FI_DIRECTED_RECV;
	check_owner(at, with, context, &owner, 0);
	owner.caps ^= FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV;
	check_owner(at, with, context, &owner, 0);
	owner.caps |= FI_AV_USER_ID;
	check_owner(at, with, context, &owner, 0);
	owner.tx_attr = &tx;
	owner.ep_attr = &ep;
	check_owner(at, with, context, &owner, 0);
	owner.rx_attr = &rx;
	check_owner(at, with, context, &owner, 0);
	tx.op_flags = FI_DELIVERY_COMPLETE;
	rx.msg_order = FI_ORDER_RAW;
	ep.max_msg_size = 0;
	check_owner(at, with, context, &owner, 0);
	owner.domain_attr = &local;
	check_owner(at, with, context, &owner, -FI_EINVAL);
	owner.domain_attr = NULL;
	owner.caps &= ~FI_TAGGED;
	check_owner(at, with, context, &owner, -FI_EINVAL);
}

static int check_endpoint(struct wf_domain *at, struct fi_info *with,
	struct fid_ep **ret_ep, uint64_t flags, void *arg)
{
	struct fi_peer_transfer_context *context = arg, bad = *context;
	struct fid_ep *none = NULL;

	opens_endpoint = NULL;
	check_owners(at, with, context);
	assert_int_equal(
		__real_coll_endpoint(at, with, &none, flags, NULL), -FI_EINVAL);
	bad.size--;
	assert_int_equal(
		__real_coll_endpoint(at, with, &none, flags, &bad), -FI_EINVAL);
	bad = *context;
	bad.ep = NULL;
	assert_int_equal(
		__real_coll_endpoint(at, with, &none, flags, &bad), -FI_EINVAL);
	with->mode &= ~FI_PEER_TRANSFER;
	assert_int_equal(__real_coll_endpoint(at, with, &none, flags, arg), -FI_EINVAL);
	with->mode |= FI_PEER_TRANSFER;
	assert_null(none);
	/* A later version may have a longer context. */
	bad = *context;
	bad.size++;
	assert_int_equal(__real_coll_endpoint(at, with, ret_ep, flags, &bad), 0);
	context->peer_ops = bad.peer_ops;
	return 0;
}

static void endpoints_are_checked(void **state)
{
	opens_endpoint = check_endpoint;
	use_engine("p2p");
	assert_int_equal(run_all(), 0);
	assert_null(opens_endpoint);
	close_all();
}

/* They have collectives only. */
static void endpoints_send_nothing(void **state)
{
	open_joined("p2p");
	assert_int_equal(
		fi_send(&eps[0]->ep.fid, members[0].in, 8, NULL, 1, NULL), -FI_ENOSYS);
	assert_int_equal(fi_tsend(&eps[0]->ep.fid, members[0].in, 8, NULL, 1, 5, NULL),
		-FI_ENOSYS);
	close_all();
}

/* ---- sleeping ---- */

/* A thread may sleep unless an operation is under way: its members are probed. */
static void threads_may_sleep(void **state)
{
	struct fid *fids[1];

	open_joined("p2p");
	fids[0] = &members[0].cq->fid;
	poll_on();
	assert_int_equal(fi_trywait(fabric, fids, 1), 0);
	members[0].ended = members[1].ended = 0;
	assert_int_equal(start_op(&members[0], FI_BARRIER, 0), 0);
	poll_on();
	assert_int_equal(fi_trywait(fabric, fids, 1), -FI_EAGAIN);
	assert_int_equal(start_op(&members[1], FI_BARRIER, 0), 0);
	poll_on();
	assert_int_equal(members[0].ended, 1);
	assert_int_equal(members[1].ended, 1);
	assert_int_equal(fi_trywait(fabric, fids, 1), 0);
	close_all();
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* A thread that sleeps on the endpoint's descriptor is woken by the first operation. */
static void sleepers_are_woken(void **state)
{
	const struct wf_progress *item;
	struct wf_progress *own;
	int fd;

	open_joined("p2p");
	poll_on();
	item = eps[0]->ep.xfer->item;
	own = &eps[0]->ep.progress;
	/* Without a descriptor nothing is set. */
	assert_true(item->arm(own));
	assert_false(eps[0]->is_armed);
	fd = item->wait_fd(own);
	assert_true(fd >= 0);
	assert_int_equal(item->wait_fd(own), fd);
	assert_true(item->arm(own));
	assert_true(eps[0]->is_armed);
	assert_false(is_readable(fd, 0));
	members[0].ended = members[1].ended = 0;
	assert_int_equal(start_op(&members[0], FI_BARRIER, 0), 0);
	assert_true(is_readable(fd, (int)limit_ms(10000)));
	assert_false(eps[0]->is_armed);
	assert_false(item->arm(own));
	assert_false(eps[0]->is_armed);
	poll_members();
	assert_false(is_readable(fd, 0));
	assert_int_equal(start_op(&members[1], FI_BARRIER, 0), 0);
	poll_on();
	assert_int_equal(members[0].ended + members[1].ended, MEMBERS);
	assert_true(item->arm(own));
	assert_true(eps[0]->is_armed);
	close_all();
}

/* ---- questions ---- */

static int query(enum fi_collective_op kind, enum fi_datatype datatype, enum fi_op op,
	size_t size)
{
	struct fi_collective_attr attr = { .datatype = datatype, .op = op };
	int ret = coll_query(NULL, kind, &attr, 0);

	assert_int_equal(attr.max_members, ret ? 0 : COLL_MEMBERS_MAX);
	assert_int_equal(attr.datatype_attr.size, ret ? 0 : size);
	assert_int_equal(attr.datatype_attr.count, ret || !size ? 0 : SIZE_MAX / size);
	return ret;
}

static void questions_are_answered(void **state)
{
	struct fi_collective_attr attr = { .datatype = FI_INT32, .op = FI_SUM };

	assert_int_equal(query(FI_ALLREDUCE, FI_INT32, FI_SUM, 4), 0);
	assert_int_equal(query(FI_GATHER, FI_INT64, FI_NOOP, 8), 0);
	assert_int_equal(query(FI_BARRIER, FI_INT64, FI_NOOP, 0), 0);
	assert_int_equal(query(FI_ALLREDUCE, FI_FLOAT, FI_BOR, 0), -FI_ENOSYS);
	assert_int_equal(query(FI_REDUCE, FI_INT32, FI_NOOP, 0), -FI_ENOSYS);
	assert_int_equal(query(FI_BROADCAST, FI_VOID, FI_NOOP, 0), -FI_ENOSYS);
	assert_int_equal(query(FI_GATHER + 1, FI_INT32, FI_SUM, 0), -FI_ENOSYS);
	assert_int_equal(coll_query(NULL, FI_ALLREDUCE, NULL, 0), -FI_EINVAL);
	assert_int_equal(coll_query(NULL, FI_ALLREDUCE, &attr, 1), -FI_EINVAL);
	attr.mode = 1;
	assert_int_equal(coll_query(NULL, FI_ALLREDUCE, &attr, 0), -FI_EINVAL);
}

/* Only a main provider gets an answer of fi_getinfo. */
static void offers_are_for_main_providers(void **state)
{
	struct fi_info *hints = fi_allocinfo(), *found = NULL;

	assert_non_null(hints);
	assert_int_equal(coll->getinfo(FI_VERSION(2, 6), NULL, NULL, 0, NULL, &found),
		-FI_ENODATA);
	assert_int_equal(coll->getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found),
		-FI_ENODATA);
	assert_null(found);
	hints->mode = FI_PEER_TRANSFER;
	assert_int_equal(
		coll->getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found), 0);
	assert_int_equal(found->mode, FI_PEER_TRANSFER);
	assert_null(found->next);
	fi_freeinfo(found);
	hints->caps = FI_COLLECTIVE | FI_PEER;
	assert_int_equal(
		coll->getinfo(FI_VERSION(2, 6), NULL, NULL, 0, hints, &found), 0);
	assert_int_equal(found->caps, FI_COLLECTIVE | FI_PEER);
	fi_freeinfo(found);
	fi_freeinfo(hints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_operations_are_fast),
		cmocka_unit_test(vectors_are_not_fast),
		cmocka_unit_test(endpoints_are_checked),
		cmocka_unit_test(endpoints_send_nothing),
		cmocka_unit_test(threads_may_sleep),
		cmocka_unit_test(sleepers_are_woken),
		cmocka_unit_test(questions_are_answered),
		cmocka_unit_test(offers_are_for_main_providers),
	};

	return cmocka_run_group_tests(tests, find, forget);
}
