/* SPDX-License-Identifier: BSD-2-Clause */
#include "stripe_fixture.h"

#include <sys/timerfd.h>
#include <unistd.h>

/* Peers' private endpoints, and control messages to them (stripe/contact.c). */

static struct lnx_contact contact;
static const struct lnx_stripe_msg probe_msg = { .kind = LNX_STRIPE_PROBE };

static int open_contact(void **state)
{
	contact = (struct lnx_contact){ .rails = 0 };
	reach_by_all(&contact);
	return open_stripe(state);
}

/* A control message that is told by its id. */
static void send_id(uint64_t id)
{
	lnx_control_post(s, &contact,
		&(struct lnx_stripe_msg){ .kind = LNX_STRIPE_DONE, .id = id });
}

/* ---- addresses ---- */

static void fill_name(struct lnx_name *name, unsigned int count)
{
	static const uint8_t bytes[16] = { 1, 2, 3, [15] = 16 };

	name->count = count;
	for (unsigned int i = 0; i < count; i++)
		name->link[i] =
			(struct lnx_name_link){ .addr = bytes, .len = sizeof(bytes) };
}

/* Each combination of rails that insert the address, of names that reach so many. */
static void a_peer_is_reached_by_the_rails_that_know_it(void **state)
{
	struct lnx_name name;

	for (unsigned int known = 0; known < 1u << RAILS; known++) {
		for (unsigned int count = 0; count <= RAILS; count++) {
			unsigned int rails = known & ((1u << count) - 1);

			fill_name(&name, count);
			for (unsigned int i = 0; i < RAILS; i++)
				below.is_unknown[i] = !(known >> i & 1);
			contact.down = 0xff;
			contact.lost_err = contact.pending = 5;
			assert_int_equal(lnx_contact_init(s, &contact, &name),
				rails ? 0 : -FI_EADDRNOTAVAIL);
			assert_int_equal(contact.rails, rails);
			assert_int_equal(contact.down, 0);
			assert_int_equal(contact.lost_err, 0);
			assert_int_equal(contact.pending, 0);
			for (unsigned int i = 0; i < RAILS; i++) {
				assert_int_equal(below.inserted[i], rails >> i & 1);
				if (rails >> i & 1)
					assert_int_equal(
						contact.addr[i], 100 * (i + 1));
			}
			lnx_contact_done(s, &contact);
			for (unsigned int i = 0; i < RAILS; i++)
				assert_int_equal(below.inserted[i], 0);
		}
	}
}

/* A member may read more than the address: zeroes follow it. */
static void an_address_is_followed_by_zeroes(void **state)
{
	static const uint8_t want[32] = { 1, 2, 3, [15] = 16 };
	struct lnx_name name;

	fill_name(&name, 1);
	assert_int_equal(lnx_contact_init(s, &contact, &name), 0);
	assert_memory_equal(below.last_inserted, want, sizeof(want));
}

static void errors_of_the_way_take_a_rail_out(void **state)
{
	assert_false(lnx_contact_failed(s, &contact, 1, FI_EACCES));
	assert_int_equal(contact.down, 0);
	assert_int_equal(ep->rail[2].failures, 1);
	assert_int_equal(lnx_contact_up(s, &contact), 7);
	now_ns += 5;
	assert_true(lnx_contact_failed(s, &contact, 1, FI_ECONNRESET));
	assert_int_equal(contact.down, 2);
	assert_true(contact.down_ns == now_ns);
	assert_int_equal(ep->rail[2].failures, 2);
	assert_int_equal(ep->rail[0].failures + ep->rail[1].failures, 0);
	assert_int_equal(lnx_contact_up(s, &contact), 5);
	assert_true(lnx_contact_failed(s, &contact, 0, FI_ETIMEDOUT));
	assert_int_equal(contact.down, 3);
	assert_int_equal(lnx_contact_up(s, &contact), 4);
}

/* ---- control messages ---- */

/* Each combination of rails that are down: the first that is up is taken, or, where
 * none is, the first of all. */
static void the_first_rail_that_works_is_taken(void **state)
{
	static const unsigned int first[1 << RAILS] = { 0, 1, 0, 2, 0, 1, 0, 0 };

	for (uint8_t down = 0; down < 1u << RAILS; down++) {
		contact.down = down;
		contact.down_ns = now_ns;
		send_id(down);
		assert_int_equal(below.posted_count, 1);
		assert_int_equal(below.posted[0].rail, first[down]);
		assert_int_equal(contact.pending, 1);
		assert_int_equal(busy(), 1);
		assert_int_equal(heard(LNX_STRIPE_DONE).id, down);
		assert_int_equal(contact.pending, 0);
		assert_int_equal(busy(), 0);
		assert_int_equal(contact.down, down);
	}
	/* Only rails that reach the peer. */
	contact.down = 0;
	contact.rails = 4;
	send_id(1);
	assert_int_equal(below.posted[0].rail, 2);
	(void)heard(LNX_STRIPE_DONE);
}

/* A rail that refuses or loses a message: the next one has it. When all have, the peer
 * is lost, which the next poll sees; the rails are tried again by what comes next. */
static void messages_go_over_the_next_rail(void **state)
{
	static const int errors[] = { FI_ECONNREFUSED, FI_EIO, FI_ENETDOWN };

	for (int refused = 0; refused < 2; refused++) {
		for (unsigned int fail = 0; fail <= RAILS; fail++) {
			memset(below.refuses, 0, sizeof(below.refuses));
			contact.down = 0;
			contact.lost_err = 0;
			s->any_lost = false;
			for (unsigned int i = 0; i < fail && refused; i++)
				below.refuses[i] = -errors[i];
			send_id(fail);
			for (unsigned int i = 0; i < fail && !refused; i++) {
				assert_int_equal(below.posted_count, 1);
				assert_int_equal(below.posted[0].rail, i);
				finish(pop(0), errors[i]);
			}
			assert_int_equal(s->any_lost, fail == RAILS);
			assert_int_equal(
				contact.lost_err, fail == RAILS ? FI_ENETDOWN : 0);
			assert_int_equal(below.posted_count, fail < RAILS);
			assert_int_equal(contact.pending, fail < RAILS);
			if (fail == RAILS) {
				assert_int_equal(contact.down, 0);
				continue;
			}
			/* FI_EIO does not take its rail out. */
			assert_int_equal(contact.down, fail ? 1 : 0);
			assert_int_equal(below.posted[0].rail, fail);
			assert_int_equal(heard(LNX_STRIPE_DONE).id, fail);
		}
	}
	assert_int_equal(busy(), 0);
}

/* A thread that sleeps is woken, so that a poll sees the loss. */
static void no_rail_reaches_the_peer(void **state)
{
	uint64_t expired;

	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	contact.rails = 0;
	send_id(1);
	while (read(s->timer_fd, &expired, sizeof(expired)) != sizeof(expired))
		;
	assert_int_equal(close(s->timer_fd), 0);
	s->timer_fd = -1;
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(contact.lost_err, FI_EHOSTUNREACH);
	assert_true(s->any_lost);
	assert_int_equal(contact.pending + busy(), 0);
}

/* Messages that no rail takes now wait, and leave in the order that they came in. */
static void messages_wait_in_order(void **state)
{
	below.refuses[0] = -FI_EAGAIN;
	for (uint64_t id = 1; id <= 5; id++)
		send_id(id);
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(contact.down, 0);
	lnx_control_retry(s);
	assert_int_equal(below.refused[0], 10);
	assert_int_equal(contact.pending, 5);
	below.refuses[0] = 0;
	lnx_control_retry(s);
	assert_true(wf_list_empty(&s->waiting));
	for (uint64_t id = 1; id <= 5; id++)
		assert_int_equal(heard(LNX_STRIPE_DONE).id, id);
	assert_int_equal(contact.pending + busy(), 0);
}

static void there_is_no_memory_for_a_message(void **state)
{
	allocations_left = 0;
	send_id(1);
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(contact.pending + busy(), 0);
	assert_false(s->any_lost);
	allocations_left = UINT32_MAX;
}

/* A message that is freed before it was sent leaves the list where it waits. */
static void a_message_is_freed(void **state)
{
	struct lnx_control *control = lnx_control_new(s, &contact, &probe_msg);

	assert_non_null(control);
	wf_list_push(&s->waiting, &control->link);
	lnx_control_free(s, control);
	assert_true(wf_list_empty(&s->waiting));
	assert_int_equal(contact.pending + busy(), 0);
}

/* ---- probes ---- */

#define DOWN_NS UINT64_C(10000000000)

/* The first rail that is down is probed ten seconds after the last failure, and is used
 * again if the peer is reached. */
static void rails_that_failed_are_probed(void **state)
{
	struct posted posted;

	(void)lnx_contact_failed(s, &contact, 1, FI_ECONNRESET);
	(void)lnx_contact_failed(s, &contact, 2, FI_ECONNRESET);
	now_ns += DOWN_NS;
	assert_int_equal(lnx_contact_up(s, &contact), 1);
	assert_int_equal(below.posted_count, 0);
	now_ns += 1;
	assert_int_equal(lnx_contact_up(s, &contact), 1);
	assert_int_equal(below.posted_count, 1);
	assert_true(contact.down_ns == now_ns);
	/* Not twice. */
	assert_int_equal(lnx_contact_up(s, &contact), 1);
	posted = pop(0);
	assert_int_equal(below.posted_count, 0);
	assert_int_equal(posted.msg.kind, LNX_STRIPE_PROBE);
	assert_int_equal(posted.rail, 1);
	assert_int_equal(contact.pending, 1);
	finish(posted, FI_ECONNREFUSED);
	assert_int_equal(contact.down, 6);
	assert_int_equal(contact.pending + busy(), 0);
	/* The next one arrives. */
	now_ns += DOWN_NS + 1;
	(void)lnx_contact_up(s, &contact);
	posted = pop(0);
	assert_int_equal(posted.rail, 1);
	finish(posted, 0);
	assert_int_equal(contact.down, 4);
	assert_int_equal(lnx_contact_up(s, &contact), 3);
	assert_int_equal(contact.pending + busy(), 0);
}

static void probes_are_refused(void **state)
{
	(void)lnx_contact_failed(s, &contact, 0, FI_ECONNRESET);
	for (int i = 0; i < 2; i++) {
		now_ns += DOWN_NS + 1;
		below.refuses[0] = i ? 0 : -FI_EAGAIN;
		allocations_left = i ? 0 : UINT32_MAX;
		assert_int_equal(lnx_contact_up(s, &contact), 6);
		assert_int_equal(below.posted_count, 0);
		assert_int_equal(contact.pending + busy(), 0);
		assert_int_equal(contact.down, 1);
		assert_true(contact.down_ns == now_ns);
	}
	allocations_left = UINT32_MAX;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_contact, close_stripe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_peer_is_reached_by_the_rails_that_know_it),
		CASE(an_address_is_followed_by_zeroes),
		CASE(errors_of_the_way_take_a_rail_out),
		CASE(the_first_rail_that_works_is_taken),
		CASE(messages_go_over_the_next_rail),
		CASE(no_rail_reaches_the_peer),
		CASE(messages_wait_in_order),
		CASE(there_is_no_memory_for_a_message),
		CASE(a_message_is_freed),
		CASE(rails_that_failed_are_probed),
		CASE(probes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
