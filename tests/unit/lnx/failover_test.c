/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdlib.h>

#include "providers/lnx/failover.h"
#include "providers/lnx/record.h"
#include "providers/lnx/stats.h"
#include "providers/lnx/stripe/stripe.h"

/* Which rail is used for a peer after one failed. */

enum { RAILS = 3, PEER = 0 };

/* What failover.c uses of the rest of the provider. */
struct fi_provider lnx_fi = { .name = "lnx" };

struct rig {
	struct lnx_link link;
	struct lnx_domain domain;
	struct wf_av wf_av;
	struct lnx_av av;
	struct lnx_ep ep;
	struct lnx_peer *peer;
};

static struct rig *new_rig(uint8_t rails, uint32_t first)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->link.count = rig->link.rails = RAILS;
	rig->domain.link = &rig->link;
	rig->domain.count = RAILS;
	rig->wf_av.index_mask = UINT64_MAX;
	rig->av.wf = &rig->wf_av;
	rig->av.domain = &rig->domain;
	rig->av.stride = sizeof(struct lnx_peer) + RAILS * sizeof(fi_addr_t);
	rig->peer = calloc(wf_av_segment_size(0), rig->av.stride);
	assert_non_null(rig->peer);
	atomic_init(&rig->av.segment[0], (uintptr_t)rig->peer);
	atomic_init(&rig->peer->rails, rails);
	atomic_init(&rig->peer->rail, first);
	rig->ep.av = &rig->av;
	rig->ep.domain = &rig->domain;
	rig->ep.count = RAILS;
	return rig;
}

static void free_rig(struct rig *rig)
{
	free(rig->peer);
	free(rig);
}

static uint32_t rail_of(struct rig *rig)
{
	return lnx_rail_next(&rig->ep, rig->peer);
}

static bool fails(struct rig *rig, uint32_t rail)
{
	return lnx_rail_failed(&rig->ep, PEER, rail, FI_ECONNRESET);
}

static void the_next_rail_takes_over(void **state)
{
	struct rig *rig = new_rig(7, 0);

	(void)state;
	assert_true(fails(rig, 0));
	assert_int_equal(rail_of(rig), 1);
	/* Further errors of operations that it lost change nothing. */
	assert_false(fails(rig, 0));
	assert_int_equal(rail_of(rig), 1);
	assert_true(fails(rig, 1));
	assert_int_equal(rail_of(rig), 2);
	free_rig(rig);
}

/* When none is left all are tried again, and one that fails again is taken out
 * again. */
static void a_rail_comes_back_and_fails_again(void **state)
{
	struct rig *rig = new_rig(7, 0);

	(void)state;
	for (int round = 0; round < 3; round++) {
		assert_true(fails(rig, 0));
		assert_true(fails(rig, 1));
		assert_int_equal(rail_of(rig), 2);
		assert_false(fails(rig, 2));
		assert_int_equal(rail_of(rig), 0);
	}
	assert_true(fails(rig, 0));
	assert_int_equal(rail_of(rig), 1);
	free_rig(rig);
}

static void other_errors_take_no_rail_out(void **state)
{
	struct rig *rig = new_rig(7, 1);

	(void)state;
	assert_false(lnx_rail_failed(&rig->ep, PEER, 1, FI_ETRUNC));
	assert_false(lnx_rail_failed(&rig->ep, PEER, 1, FI_EACCES));
	assert_int_equal(rail_of(rig), 1);
	assert_int_equal(atomic_load(&rig->ep.rail[1].failures), 2);
	free_rig(rig);
}

static void the_only_rail_stays(void **state)
{
	struct rig *rig = new_rig(2, 1);

	(void)state;
	assert_false(fails(rig, 1));
	assert_int_equal(rail_of(rig), 1);
	free_rig(rig);
}

/* A failure of a rail that is not in use does not move what is. */
static void a_rail_out_of_use_fails(void **state)
{
	struct rig *rig = new_rig(7, 0);

	(void)state;
	assert_true(fails(rig, 2));
	assert_int_equal(rail_of(rig), 0);
	assert_true(fails(rig, 0));
	assert_int_equal(rail_of(rig), 1);
	free_rig(rig);
}

static void messages_take_turns(void **state)
{
	struct rig *rig = new_rig(7, 0);

	(void)state;
	rig->ep.per_msg = true;
	assert_int_equal(rail_of(rig), 1);
	assert_int_equal(rail_of(rig), 2);
	assert_int_equal(rail_of(rig), 0);
	assert_true(fails(rig, 1));
	assert_int_equal(rail_of(rig), 2);
	assert_int_equal(rail_of(rig), 0);
	assert_int_equal(rail_of(rig), 2);
	free_rig(rig);
}

/* ---- operations ---- */

static struct wf_ep member[RAILS];
static ssize_t answer[RAILS];
static unsigned int asked[RAILS];

static ssize_t member_start(struct wf_ep *wf, struct wf_op *op)
{
	size_t rail = (size_t)(wf - member);

	assert_int_equal(op->addr, 70 + rail);
	asked[rail]++;
	return answer[rail];
}

/* No rail keeps records, and no message is striped. */
struct lnx_op *lnx_op_new(struct lnx_ep *ep, const struct wf_op *op, uint32_t rail)
{
	fail();
	return NULL;
}

void lnx_op_free(struct lnx_ep *ep, struct lnx_op *op)
{
	fail();
}

void lnx_rail_count(struct lnx_ep *ep, uint32_t rail, size_t len)
{
	fail();
}

ssize_t lnx_stripe_start(
	struct lnx_ep *ep, struct lnx_peer *peer, const struct wf_op *op)
{
	fail();
	return 0;
}

/* What an operation refuses on the first rails; and on which rail the next one is. */
static void an_operation_is_refused(void **state)
{
	static const struct {
		ssize_t first, second, ret;
		unsigned int tried, failures, next;
	} rows[] = {
		{ 0, 0, 0, 1, 0, 0 },
		/* It is only full, which is no failure. */
		{ -FI_EAGAIN, 0, -FI_EAGAIN, 1, 0, 0 },
		{ -FI_EINVAL, 0, -FI_EINVAL, 1, 1, 0 },
		{ -FI_ECONNRESET, 0, 0, 2, 1, 1 },
		{ -FI_ECONNRESET, -FI_EAGAIN, -FI_EAGAIN, 2, 1, 1 },
		{ -FI_ECONNRESET, -FI_EHOSTUNREACH, 0, 3, 1, 2 },
	};
	struct wf_xfer_ops xfer = { .start = member_start };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct rig *rig = new_rig(7, 0);
		struct wf_op op = { .kind = WF_OP_SEND, .addr = PEER };

		for (unsigned int rail = 0; rail < RAILS; rail++) {
			member[rail].xfer = &xfer;
			rig->ep.rail[rail].below.builtin = &member[rail];
			rig->peer->addr[rail] = 70 + rail;
			asked[rail] = 0;
		}
		answer[0] = rows[i].first;
		answer[1] = rows[i].second;
		assert_int_equal(lnx_start(&rig->ep.wf, &op), rows[i].ret);
		assert_int_equal(op.addr, PEER);
		for (unsigned int rail = 0; rail < RAILS; rail++)
			assert_int_equal(asked[rail], rail < rows[i].tried);
		assert_int_equal(
			atomic_load(&rig->ep.rail[0].failures), rows[i].failures);
		assert_int_equal(rail_of(rig), rows[i].next);
		free_rig(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_rail_takes_over),
		cmocka_unit_test(a_rail_comes_back_and_fails_again),
		cmocka_unit_test(other_errors_take_no_rail_out),
		cmocka_unit_test(the_only_rail_stays),
		cmocka_unit_test(a_rail_out_of_use_fails),
		cmocka_unit_test(messages_take_turns),
		cmocka_unit_test(an_operation_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
