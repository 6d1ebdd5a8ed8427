/* SPDX-License-Identifier: BSD-2-Clause */
#include "provider_fixture.h"

#include "providers/coll/tag.h"

/* Control messages that a member may get from another one, and joins: their ranks, and
 * which of them are refused. */

/* ---- control messages ---- */

enum { PROBE = 1, ABORT, NO_KIND };

/* Little-endian. */
struct message {
	uint16_t kind, err;
	uint32_t members, from, to;
	uint64_t secret, from_secret;
};

static void control_sent(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	assert_int_equal(err, 0);
	coll_xfer_free(xfer);
}

/* From member 1 to member 0. */
static void send_control(struct message *message, size_t len)
{
	struct coll_ep *ep = eps[1];
	struct coll_xfer *xfer;

	wf_lock(&ep->ep.lock);
	xfer = coll_xfer_new(ep, control_sent, NULL);
	assert_non_null(xfer);
	xfer->addr = 0;
	xfer->tag = COLL_TAG_PEER | UINT64_C(2) << 61;
	xfer->buf = message;
	xfer->len = len;
	assert_int_equal(coll_xfer_post(xfer), 0);
	wf_unlock(&ep->ep.lock);
	poll_on();
}

static struct message message_of(uint16_t kind, uint16_t err)
{
	return (struct message){
		.kind = kind,
		.err = err,
		.members = MEMBERS,
		.from = 1,
		.secret = groups[0]->secret,
		.from_secret = groups[1] ? groups[1]->secret : 0,
	};
}

/* The negative codes with which the groups have failed; 0: they have not. */
static void check_failed(int err0, int err1)
{
	assert_int_equal(groups[0]->state, err0 ? COLL_FAILED : COLL_OPEN);
	assert_int_equal(groups[0]->err, err0);
	assert_int_equal(groups[1]->state, err1 ? COLL_FAILED : COLL_OPEN);
	assert_int_equal(groups[1]->err, err1);
}

/* Each in a group of its own. @failed: member 0 has failed before, unknown to
 * member 1. */
static const struct control_row {
	struct message message; /* XOR the one of a member */
	size_t less;            /* bytes that it is shorter */
	int failed, err0, err1;
} control_rows[] = {
	{ { ABORT, FI_EIO }, 0, 0, -FI_EIO, -FI_EIO },
	{ { ABORT, 0 }, 0, 0, -FI_ECONNRESET, -FI_ECONNRESET },
	{ { ABORT, FI_ERRNO_MAX }, 0, 0, -FI_ECONNRESET, -FI_ECONNRESET },
	{ { ABORT, FI_ERRNO_MAX - 1 }, 0, 0, 1 - FI_ERRNO_MAX, 1 - FI_ERRNO_MAX },
	/* Not of this group, or of no other member. */
	{ { ABORT, FI_EIO, .secret = 1 }, 0, 0, 0, 0 },
	{ { ABORT, FI_EIO, .to = 1 }, 0, 0, 0, 0 },
	{ { ABORT, FI_EIO, .from = 1 }, 0, 0, 0, 0 },
	{ { ABORT, FI_EIO }, 1, 0, 0, 0 },
	{ { NO_KIND, FI_EIO }, 0, 0, 0, 0 },
	/* The group is there; or it is not, and member 1 is told. */
	{ { PROBE }, 0, 0, 0, 0 },
	{ { PROBE, .secret = 1 }, 0, 0, -FI_ECONNRESET, -FI_ECONNRESET },
	{ { PROBE }, 0, -FI_ETIMEDOUT, -FI_ETIMEDOUT, -FI_ETIMEDOUT },
	/* The answer is for another member. */
	{ { PROBE, .from = 1 }, 0, -FI_ETIMEDOUT, -FI_ETIMEDOUT, 0 },
};

static void members_send_control_messages(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(control_rows); i++) {
		const struct control_row *row = &control_rows[i];
		struct message message;

		open_joined("p2p");
		message = message_of(row->message.kind, row->message.err);
		message.from ^= row->message.from;
		message.to ^= row->message.to;
		message.secret ^= row->message.secret;
		if (row->failed) {
			groups[0]->state = COLL_FAILED;
			groups[0]->err = row->failed;
		}
		send_control(&message, sizeof(message) - row->less);
		check_failed(row->err0, row->err1);
		close_all();
	}
}

static struct coll_control *probe(uint32_t rank)
{
	wf_lock(&eps[0]->ep.lock);
	coll_control_probe(groups[0], rank);
	wf_unlock(&eps[0]->ep.lock);
	return groups[0]->probe;
}

static void close_group(int i)
{
	CLOSE(members[i].mc);
	members[i].mc = NULL;
}

/* One at a time. A member that has closed the group says so. */
static void members_are_probed(void **state)
{
	struct coll_control *first;

	open_joined("p2p");
	assert_null(probe(MEMBERS));
	first = probe(1);
	assert_non_null(first);
	assert_ptr_equal(probe(1), first);
	assert_ptr_equal(eps[0]->controls.next->next, &eps[0]->controls);
	poll_on();
	assert_null(groups[0]->probe);
	assert_true(wf_list_empty(&eps[0]->controls));
	check_failed(0, 0);
	close_group(1);
	assert_non_null(probe(1));
	poll_on();
	assert_int_equal(groups[0]->state, COLL_FAILED);
	assert_int_equal(groups[0]->err, -FI_ECONNRESET);
	close_all();
}

/* The group is closed while its probe is under way. */
static void probes_outlive_groups(void **state)
{
	open_joined("p2p");
	assert_non_null(probe(1));
	close_group(0);
	assert_false(wf_list_empty(&eps[0]->controls));
	poll_on();
	assert_true(wf_list_empty(&eps[0]->controls));
	assert_int_equal(groups[1]->err, 0);
	close_all();
	/* And the endpoint. */
	open_joined("p2p");
	assert_non_null(probe(1));
	close_all();
}

/* A member that has not got the secret yet names the group by ranks. */
static void groups_are_found_by_ranks(void **state)
{
	static const struct {
		uint16_t kind;
		uint32_t members, to;
		bool failed, answered;
	} rows[] = {
		{ PROBE, MEMBERS, 0, true, true },
		{ PROBE, MEMBERS, 0, false, false },
		{ PROBE, MEMBERS + 1, 0, true, false },
		{ PROBE, MEMBERS, 1, true, false },
		/* Whether it can be joined is not the question any more. */
		{ ABORT, MEMBERS, 0, false, false },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct message message;

		open_joined("p2p");
		message = message_of(rows[i].kind, FI_EIO);
		message.secret = 0;
		message.members = rows[i].members;
		message.to = rows[i].to;
		if (rows[i].failed) {
			groups[0]->state = COLL_FAILED;
			groups[0]->err = -FI_ETIMEDOUT;
		}
		send_control(&message, sizeof(message));
		check_failed(rows[i].failed ? -FI_ETIMEDOUT : 0,
			rows[i].answered ? -FI_ETIMEDOUT : 0);
		close_all();
	}
}

/* Messages are in order in a group if they are at all of its members. */
static void all_members_have_order_or_none(void **state)
{
	for (int bits = 0; bits < 4; bits++) {
		open_apart();
		for (int i = 0; i < MEMBERS; i++) {
			assert_true(eps[i]->is_ordered);
			eps[i]->is_ordered = bits >> i & 1;
		}
		for (int i = 0; i < MEMBERS; i++)
			assert_int_equal(join(&members[i]), 0);
		assert_int_equal(wait_joined(), 0);
		for (int i = 0; i < MEMBERS; i++)
			assert_int_equal(groups[i]->is_ordered, bits == 3);
		assert_int_equal(run_op(FI_ALLREDUCE, COUNT), 0);
		check_sums(COUNT);
		close_all();
	}
}

/* The other member gives up while this one joins. */
static void a_join_is_aborted(void **state)
{
	for (uint16_t kind = PROBE; kind <= ABORT; kind++) {
		struct message message;

		open_apart();
		for (int i = 0; i < MEMBERS; i++)
			assert_int_equal(fi_av_insert(members[1].av, members[i].name, 1,
						 NULL, 0, NULL),
				1);
		groups[1] = NULL;
		assert_int_equal(join(&members[0]), 0);
		message = message_of(kind, FI_EIO);
		message.secret = 0;
		send_control(&message, sizeof(message));
		assert_int_equal(members[0].joined, kind == ABORT ? -FI_EIO : 0);
		close_all();
	}
}

/* ---- ranks ---- */

static void ranks_are_found(void **state)
{
	enum { COUNT_MAX = 9 };
	struct coll_member member[COUNT_MAX];
	uint32_t by_addr[COUNT_MAX];

	for (uint32_t n = 1; n <= COUNT_MAX; n++) {
		struct coll_group group = { .members = n, .member = member };

		/* Without an index each rank is its address. */
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(coll_group_rank(&group, i), i);
		assert_int_equal(coll_group_rank(&group, n), n);
		/* The last rank has the least address. */
		group.by_addr = by_addr;
		for (uint32_t i = 0; i < n; i++) {
			member[i].addr = 10 + 2 * (fi_addr_t)(n - 1 - i);
			by_addr[i] = n - 1 - i;
		}
		for (uint32_t i = 0; i < n; i++) {
			fi_addr_t addr = member[i].addr;

			assert_int_equal(coll_group_rank(&group, addr), i);
			assert_int_equal(coll_group_rank(&group, addr + 1), n);
			assert_int_equal(coll_group_rank(&group, addr - 1), n);
		}
	}
}

/* All ids but 0, which there is not, are those of some group. */
static void open_groups_of(struct coll_ep *ep)
{
	static struct coll_group some;

	ep->ids = calloc(COLL_GROUPS_MAX, sizeof(struct coll_group *));
	assert_non_null(ep->ids);
	for (uint32_t i = 1; i < COLL_GROUPS_MAX; i++)
		ep->ids[i] = &some;
	ep->last_id = 5;
}

static void close_groups_of(struct coll_ep *ep)
{
	free(ep->ids);
	ep->ids = NULL;
	ep->last_id = COLL_GROUPS_MAX - 1;
}

static int join_set(struct member *m, fi_addr_t first, fi_addr_t last)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL };
	int ret;

	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(
			fi_av_insert(m->av, members[i].name, 1, NULL, 0, NULL), 1);
	assert_int_equal(fi_av_set(m->av, &attr, &m->set, NULL), 0);
	assert_int_equal(fi_av_set_insert(m->set, first), 0);
	if (last != first)
		assert_int_equal(fi_av_set_insert(m->set, last), 0);
	ret = fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, m->set, 0, &m->mc, m);
	if (ret)
		assert_null(m->mc);
	return ret;
}

/* The ranks are in the order of the set, whatever the addresses are. */
static void ranks_are_those_of_the_set(void **state)
{
	open_apart();
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(join_set(&members[i], 1, 0), 0);
	assert_int_equal(wait_joined(), 0);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		assert_int_equal(groups[i]->rank, 1 - i);
		assert_int_equal(groups[i]->member[i].addr, 1 - i);
		assert_int_equal(groups[i]->by_addr[i], 1 - i);
	}
	assert_int_equal(run_op(FI_ALLREDUCE, COUNT), 0);
	check_sums(COUNT);
	assert_int_equal(run_op(FI_REDUCE_SCATTER, 1), 0);
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(members[i].out[0], 3 * (1 - i));
	close_all();
}

/* An endpoint joins groups that it is a member of, as long as there are ids. */
static void joins_are_refused(void **state)
{
	open_apart();
	assert_int_equal(join_set(&members[0], 1, 1), -FI_EINVAL);
	CLOSE(members[0].set);
	members[0].set = NULL;
	assert_int_equal(eps[0]->last_id, 0);
	open_groups_of(eps[0]);
	assert_int_equal(join_set(&members[0], 0, 1), -FI_EAGAIN);
	CLOSE(members[0].set);
	members[0].set = NULL;
	close_groups_of(eps[0]);
	for (int i = 0; i < MEMBERS; i++)
		assert_int_equal(join_set(&members[i], 0, 1), 0);
	assert_int_equal(wait_joined(), 0);
	assert_int_equal(groups[0]->id, 1);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_send_control_messages),
		cmocka_unit_test(members_are_probed),
		cmocka_unit_test(probes_outlive_groups),
		cmocka_unit_test(groups_are_found_by_ranks),
		cmocka_unit_test(all_members_have_order_or_none),
		cmocka_unit_test(a_join_is_aborted),
		cmocka_unit_test(ranks_are_found),
		cmocka_unit_test(ranks_are_those_of_the_set),
		cmocka_unit_test(joins_are_refused),
	};

	return cmocka_run_group_tests(tests, find, forget);
}
