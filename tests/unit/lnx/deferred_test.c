/* SPDX-License-Identifier: BSD-2-Clause */
#include "nothing_below.h"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "objects/endpoint/calls/trigger.h"
#include "objects/srx/srx.h"
#include "providers/lnx/deferred.h"
#include "providers/lnx/record.h"

/*
 * Deferred receives and receives of peer transfers at a member of another library. The
 * test is the member, the receive context, the deferred work and the counter.
 */

static struct lnx_ep ep;
static struct lnx_rail *rail;
static struct fi_peer_rx_entry entry;
static int user, work;

/* ---- records ---- */

static bool no_memory;

struct lnx_op *__wrap_lnx_op_new(
	struct lnx_ep *at, const struct wf_op *op, uint32_t number);
struct lnx_op *__real_lnx_op_new(
	struct lnx_ep *at, const struct wf_op *op, uint32_t number);

struct lnx_op *__wrap_lnx_op_new(
	struct lnx_ep *at, const struct wf_op *op, uint32_t number)
{
	return no_memory ? NULL : __real_lnx_op_new(at, op, number);
}

/* ---- the deferred work ---- */

static struct {
	unsigned int done;
	bool failed, own_counts;
} works;

bool __wrap_wf_work_done(
	void **context, uint64_t op_flags, const struct wf_cntr *own, bool failed);

bool __wrap_wf_work_done(
	void **context, uint64_t op_flags, const struct wf_cntr *own, bool failed)
{
	works.done++;
	works.failed = failed;
	if (op_flags & WF_OP_WORK)
		*context = &user;
	return works.own_counts;
}

/* ---- the receive context ---- */

static int get_ret;
static struct {
	unsigned int count;
	int err;
} srx_failed;

int __wrap_wf_srx_own_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
int __wrap_wf_srx_own_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
void __wrap_wf_srx_fail(struct wf_ep *at, struct fi_peer_rx_entry *failed,
	uint64_t flags, size_t len, size_t olen, uint64_t data, fi_addr_t addr,
	int err);

int __wrap_wf_srx_own_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	*ret_entry = &entry;
	return get_ret;
}

int __wrap_wf_srx_own_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	return __wrap_wf_srx_own_get_msg(fid, attr, ret_entry);
}

void __wrap_wf_srx_fail(struct wf_ep *at, struct fi_peer_rx_entry *failed,
	uint64_t flags, size_t len, size_t olen, uint64_t data, fi_addr_t addr, int err)
{
	assert_ptr_equal(at, &ep.wf);
	assert_ptr_equal(failed, &entry);
	srx_failed.count++;
	srx_failed.err = err;
}

/* ---- the counter ---- */

static struct wf_cntr cntr;
static struct fid_peer_cntr owner;
static unsigned int successes, failures;

static void owner_inc(struct fid_peer_cntr *fid)
{
	successes++;
}

static void owner_incerr(struct fid_peer_cntr *fid)
{
	failures++;
}

static struct fi_ops_cntr_owner owner_ops = {
	.size = sizeof(owner_ops), .inc = owner_inc, .incerr = owner_incerr
};

/* ---- the member ---- */

static int start_ret;
static unsigned int started[2];

static int start_msg(struct fi_peer_rx_entry *at)
{
	assert_ptr_equal(at, &entry);
	started[0]++;
	return start_ret;
}

static int start_tag(struct fi_peer_rx_entry *at)
{
	assert_ptr_equal(at, &entry);
	started[1]++;
	return start_ret;
}

static struct fi_ops_srx_peer member_ops = {
	.size = sizeof(member_ops), .start_msg = start_msg, .start_tag = start_tag
};

static int open_rail(void **state)
{
	memset(&ep, 0, sizeof(ep));
	memset(&works, 0, sizeof(works));
	memset(&srx_failed, 0, sizeof(srx_failed));
	no_memory = false;
	get_ret = start_ret = 0;
	successes = failures = started[0] = started[1] = 0;
	wf_lock_init(&ep.ops_lock, WF_LOCK_MUTEX);
	wf_pool_init(&ep.ops_pool, sizeof(struct lnx_op));
	wf_list_init(&ep.ops);
	rail = &ep.rail[1];
	rail->rx.ep = &ep;
	rail->rx.rail = 1;
	rail->below.builtin = &ep.wf;
	owner = (struct fid_peer_cntr){ .owner_ops = &owner_ops };
	cntr.owner = &owner;
	rail->below.cntr[WF_CNTR_RECV].port.fid.context = &cntr;
	rail->below.cntr[WF_CNTR_RECV].port.owner_ops = &lnx_deferred_cntr_ops;
	rail->below.srx_port.fid.peer_ops = &member_ops;
	lnx_deferred_srx_opened(rail);
	return 0;
}

static int close_rail(void **state)
{
	assert_true(wf_list_empty(&ep.ops));
	assert_int_equal(rail->deferred, 0);
	wf_pool_done(&ep.ops_pool);
	wf_lock_done(&ep.ops_lock);
	return 0;
}

static void set_entry(uint64_t flags)
{
	entry = (struct fi_peer_rx_entry){
		.srx = &rail->below.srx_port.fid, .context = &work, .flags = flags
	};
}

/* What kinds of receives the member does not know. */
static const uint64_t kinds[] = { WF_OP_WORK, WF_OP_WORK | FI_COMPLETION,
	FI_PEER_TRANSFER | FI_COMPLETION };

/* The member has an ordinary receive. */
static void check_recorded(void)
{
	assert_int_equal(rail->deferred, 1);
	assert_ptr_not_equal(entry.context, &work);
	assert_ptr_equal(lnx_op_find(&ep, entry.context, 1), entry.context);
	assert_int_equal(entry.flags & (WF_OP_WORK | FI_PEER_TRANSFER | FI_COMPLETION),
		FI_COMPLETION);
}

static void check_plain(uint64_t flags)
{
	assert_int_equal(rail->deferred, 0);
	assert_ptr_equal(entry.context, &work);
	assert_int_equal(entry.flags, flags);
	assert_true(wf_list_empty(&ep.ops));
}

/* Its end: what the application gets, and what is counted. */
static void end(uint64_t flags, bool failed, bool own_counts)
{
	struct fid_peer_cntr *port = &rail->below.cntr[WF_CNTR_RECV].port;
	void *context = entry.context;
	bool is_transfer = false, transfer = flags & FI_PEER_TRANSFER;

	works.done = 0;
	works.own_counts = own_counts;
	successes = failures = 0;
	/* A success is counted before its completion, a failure after it. */
	if (!failed)
		port->owner_ops->inc(port);
	assert_int_equal(lnx_deferred_done(rail, &context, failed, &is_transfer),
		(flags & FI_COMPLETION) != 0);
	if (failed)
		port->owner_ops->incerr(port);
	assert_int_equal(is_transfer, transfer);
	assert_ptr_equal(context, transfer ? &work : &user);
	assert_int_equal(works.done, !transfer);
	if (!transfer)
		assert_int_equal(works.failed, failed);
	assert_int_equal(successes, !failed && !transfer && own_counts);
	assert_int_equal(failures, failed && !transfer && own_counts);
	assert_int_equal(rail->deferred, 0);
	/* The next one is any receive. */
	port->owner_ops->inc(port);
	port->owner_ops->incerr(port);
	assert_int_equal(successes, 1 + (!failed && !transfer && own_counts));
	assert_int_equal(failures, 1 + (failed && !transfer && own_counts));
}

static void receives_end(void **state)
{
	for (unsigned int i = 0; i < 4 * WF_ARRAY_SIZE(kinds); i++) {
		uint64_t flags = kinds[i / 4] | FI_RECV | FI_TAGGED;

		set_entry(flags);
		assert_int_equal(rail->peer_ops.start_tag(&entry), 0);
		check_recorded();
		end(flags, i & 1, i & 2);
	}
	assert_int_equal(started[1], 4 * WF_ARRAY_SIZE(kinds));
}

/* A success that was held back counts when another receive ends. */
static void another_receive_ends(void **state)
{
	struct fid_peer_cntr *port = &rail->below.cntr[WF_CNTR_RECV].port;
	bool is_transfer = true;
	void *context = &user;

	set_entry(WF_OP_WORK | FI_RECV | FI_MSG);
	assert_int_equal(rail->peer_ops.start_msg(&entry), 0);
	port->owner_ops->inc(port);
	assert_int_equal(successes, 0);
	assert_true(lnx_deferred_done(rail, &context, false, &is_transfer));
	assert_false(is_transfer);
	assert_ptr_equal(context, &user);
	assert_int_equal(successes, 1);
	assert_int_equal(works.done, 0);
	end(WF_OP_WORK, false, true);
}

/* The member does not start it, or there is no memory for a record: it is as before. */
static void receives_are_not_started(void **state)
{
	for (unsigned int i = 0; i < 2 * WF_ARRAY_SIZE(kinds); i++) {
		uint64_t flags = kinds[i / 2] | FI_RECV;

		start_ret = -FI_EAGAIN;
		no_memory = i & 1;
		started[0] = 0;
		set_entry(flags);
		assert_int_equal(rail->peer_ops.start_msg(&entry),
			no_memory ? -FI_ENOMEM : -FI_EAGAIN);
		assert_int_equal(started[0], !no_memory);
		check_plain(flags);
	}
}

/* Others pass. */
static void ordinary_receives_are_started(void **state)
{
	const uint64_t flags = FI_RECV | FI_MSG;

	for (start_ret = 0; start_ret >= -1; start_ret--) {
		set_entry(flags);
		assert_int_equal(rail->peer_ops.start_msg(&entry), start_ret);
		check_plain(flags);
	}
	assert_int_equal(started[0], 2);
	assert_int_equal(started[1], 0);
}

/* The same for a message that comes later. */
static void messages_find_receives(void **state)
{
	struct fi_ops_srx_owner ops = { 0 };
	struct fi_peer_rx_entry *found;
	struct fid_peer_srx *fid = &rail->below.srx_port.fid;

	lnx_deferred_export_srx(&ops);
	for (unsigned int i = 0; i < 2 * WF_ARRAY_SIZE(kinds); i++) {
		set_entry(kinds[i / 2] | FI_RECV);
		assert_int_equal(
			(i & 1 ? ops.get_msg : ops.get_tag)(fid, NULL, &found), 0);
		assert_ptr_equal(found, &entry);
		check_recorded();
		end(kinds[i / 2], false, true);
	}
	/* It is unexpected, or the receive is an ordinary one. */
	get_ret = -FI_ENOENT;
	set_entry(WF_OP_WORK);
	assert_int_equal(ops.get_msg(fid, NULL, &found), -FI_ENOENT);
	check_plain(WF_OP_WORK);
	get_ret = 0;
	set_entry(FI_RECV);
	assert_int_equal(ops.get_msg(fid, NULL, &found), 0);
	check_plain(FI_RECV);
	/* The receive ends with an error. */
	no_memory = true;
	set_entry(WF_OP_WORK);
	assert_int_equal(ops.get_tag(fid, NULL, &found), -FI_ENOMEM);
	assert_int_equal(srx_failed.count, 1);
	assert_int_equal(srx_failed.err, FI_ENOMEM);
	check_plain(WF_OP_WORK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_rail, close_rail)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(receives_end),
		CASE(another_receive_ends),
		CASE(receives_are_not_started),
		CASE(ordinary_receives_are_started),
		CASE(messages_find_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
