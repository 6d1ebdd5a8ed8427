/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

/* Two flows of this library over networks of all kinds. */

struct pair {
	struct sim_net net;
	struct sim_side a, b;
};

static void setup(struct pair *p, uint64_t seed)
{
	sim_net_init(&p->net, seed);
	sim_side_init(&p->net, &p->a, &p->b, "a", 0);
	sim_side_init(&p->net, &p->b, &p->a, "b", 0);
}

static void teardown(struct pair *p)
{
	sim_side_done(&p->a);
	sim_side_done(&p->b);
	sim_net_done(&p->net);
}

static void run_to_end(struct pair *p)
{
	assert_true(sim_run(&p->net, &p->a, &p->b, 100000));
	assert_true(rxd_flow_idle(&p->a.flow));
	assert_true(rxd_flow_idle(&p->b.flow));
}

static void expect_all(const struct sim_side *from)
{
	assert_int_equal(from->acked, from->next_id);
	assert_int_equal(from->failed, 0);
	assert_int_equal(from->peer->expect_id, from->next_id);
}

/* Transfers of many sizes in both directions, all of them exact. */
static void exchange(struct pair *p, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		(void)sim_start(&p->a, sim_random(&p->net, i % 4 ? 3000 : 200000));
		(void)sim_start(&p->b, sim_random(&p->net, i % 8 ? 300 : 20000));
		for (unsigned int j = 0; j < 3; j++)
			(void)sim_step(&p->net, &p->a, &p->b);
	}
	run_to_end(p);
	expect_all(&p->a);
	expect_all(&p->b);
	assert_true(p->a.flow.extended && p->b.flow.extended);
}

static void perfect_network(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 1);
	exchange(&p, 200);
	assert_int_equal(p.a.restarted + p.b.restarted, 0);
	teardown(&p);
}

static void lossy_networks(void **state)
{
	static const uint32_t losses[] = { 1000, 10000, 50000, 200000, 500000 };

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		for (uint64_t seed = 1; seed <= 3; seed++) {
			struct pair p;

			setup(&p, seed);
			p.net.loss = losses[i];
			p.a.config.patience_ns = p.b.config.patience_ns =
				UINT64_MAX / 16;
			exchange(&p, losses[i] > 100000 ? 20 : 100);
			assert_true(p.net.dropped > 0 || losses[i] < 10000);
			teardown(&p);
		}
}

static void reordering_and_repeating(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct pair p;

		setup(&p, seed);
		p.net.reorder = 200000;
		p.net.dup = 100000;
		p.net.loss = seed % 2 ? 10000 : 0;
		exchange(&p, 100);
		teardown(&p);
	}
}

/* Bits are flipped on the way, also those of greetings: nothing wrong is delivered. */
static void changing_network(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct pair p;

		setup(&p, seed);
		p.net.change = 30000;
		p.net.loss = seed % 2 ? 10000 : 0;
		exchange(&p, 60);
		assert_true(p.a.flow.sealed && p.b.flow.sealed);
		assert_int_equal(p.a.restarted + p.b.restarted, 0);
		teardown(&p);
	}
}

/* Both sides have to want it. */
static void seals_are_negotiated(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pair p;

		setup(&p, 3);
		p.a.flow.wants_seals = i & 1;
		p.b.flow.wants_seals = i & 2;
		p.net.loss = 20000;
		exchange(&p, 30);
		assert_int_equal(p.a.flow.sealed, i == 3);
		assert_int_equal(p.b.flow.sealed, i == 3);
		teardown(&p);
	}
}

/* A transfer that is larger than all windows, and many that wait behind it. */
static void large_transfer(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 7);
	p.net.loss = 10000;
	(void)sim_start(&p.a, 30 << 20);
	for (unsigned int i = 0; i < 100; i++)
		(void)sim_start(&p.a, 100);
	run_to_end(&p);
	expect_all(&p.a);
	teardown(&p);
}

/* Sides whose path takes large packets, up to @mtu bytes. */
static void setup_path(struct pair *p, size_t known, size_t mtu)
{
	setup(p, 3);
	p->a.path = p->b.path = known;
	p->net.mtu = mtu;
}

static void path_takes_large_packets(void **state)
{
	static const struct {
		size_t known, mtu;
		uint16_t found;
	} cases[] = {
		{ 65507, 0, 65507 },
		{ 65507, 9000, 8972 },
		{ 65507, 1472, 1472 },
		{ 8972, 0, 8972 },
		{ 8972, 5000, 4096 },
		{ 0, 0, 1472 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair p;

		setup_path(&p, cases[i].known, cases[i].mtu);
		exchange(&p, 10);
		assert_int_equal(p.a.flow.packet_size, cases[i].found);
		assert_int_equal(p.b.flow.packet_size, cases[i].found);
		exchange(&p, 50);
		teardown(&p);
	}
}

/* The peer disappears: every transfer gets an error, in bounded time, and nothing
 * happens any more. */
static void silent_peer_is_given_up(void **state)
{
	struct pair p;

	(void)state;
	for (int met = 0; met < 2; met++) {
		setup(&p, 5);
		if (met)
			exchange(&p, 5);
		p.net.cut = true;
		p.a.acked = 0;
		for (unsigned int i = 0; i < 300; i++)
			(void)sim_start(&p.a, 5000);
		assert_true(sim_run(&p.net, &p.a, &p.b, 400));
		assert_int_equal(p.a.acked, 0);
		assert_int_equal(p.a.failed, 300);
		assert_int_equal(p.a.last_err, FI_ECONNREFUSED);
		assert_true(rxd_flow_idle(&p.a.flow));
		assert_int_equal(rxd_flow_deadline(&p.a.flow), UINT64_MAX);
		/* It comes back: new transfers arrive, none of them twice. */
		p.net.cut = false;
		p.b.lenient = true;
		p.b.expect_k = 0;
		(void)sim_start(&p.a, 5000);
		run_to_end(&p);
		assert_int_equal(p.a.acked, 1);
		assert_int_equal(p.b.expect_id, p.a.next_id);
		teardown(&p);
	}
}

/* Only answers are missing: a peer that is gone is noticed as well. */
static void silent_peer_that_owes(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 5);
	exchange(&p, 5);
	p.a.flow.owed = 1;
	rxd_flow_run(&p.a.flow, p.net.now_ns, false);
	assert_false(sim_run(&p.net, &p.a, &p.b, 300));
	assert_int_equal(p.a.restarted, 0);
	p.net.cut = true;
	(void)sim_run(&p.net, &p.a, &p.b, 300);
	assert_int_equal(p.a.restarted, 1);
	teardown(&p);
}

/* The peer starts anew at the same address; its index for this side is another random
 * number. */
static void restart(struct sim_side *side)
{
	side->flow.owed = 0;
	rxd_flow_done(&side->flow, FI_ECANCELED);
	side->config.epoch = rxd_epoch_new();
	rxd_flow_init(&side->flow, &side->config, 0x5a5a0001 + side->config.epoch);
	side->acked = side->failed = side->next_id = side->restarted = 0;
	side->expect_id = side->expect_k = 0;
	side->lenient = true;
}

static void restarted_peer_sends_first(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 9);
	exchange(&p, 10);
	restart(&p.b);
	p.a.expect_id = p.a.expect_k = 0;
	(void)sim_start(&p.b, 30000);
	run_to_end(&p);
	assert_int_equal(p.b.acked, 1);
	assert_int_equal(p.a.expect_id, 1);
	assert_int_equal(p.a.restarted, 1);
	(void)sim_start(&p.a, 30000);
	run_to_end(&p);
	assert_int_equal(p.a.acked, p.a.next_id);
	assert_int_equal(p.b.expect_id, p.a.next_id);
	teardown(&p);
}

static void restarted_peer_is_sent_to(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 9);
	exchange(&p, 10);
	p.a.acked = 0;
	restart(&p.b);
	(void)sim_start(&p.a, 30000);
	run_to_end(&p);
	/* What had begun fails, what comes afterwards arrives. */
	assert_int_equal(p.a.failed, 1);
	assert_int_equal(p.a.last_err, FI_ECONNRESET);
	assert_int_equal(p.a.restarted, 1);
	(void)sim_start(&p.a, 30000);
	run_to_end(&p);
	assert_int_equal(p.a.acked, 1);
	assert_int_equal(p.b.expect_id, p.a.next_id);
	(void)sim_start(&p.b, 300);
	p.a.expect_id = 0;
	run_to_end(&p);
	expect_all(&p.b);
	teardown(&p);
}

/* The peer is restarted and sends at once over a network that loses, repeats and swaps
 * packets: all of it arrives once and in order, whatever this side knew before. */
static void restarted_peer_on_a_bad_network(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct pair p;

		setup(&p, seed);
		/* Numbers of the peer's next packets, and of this side's. */
		for (unsigned int i = 0; i < seed % 4; i++)
			(void)sim_start(&p.b, 100);
		for (unsigned int i = 0; i < seed % 3; i++)
			(void)sim_start(&p.a, 100);
		run_to_end(&p);
		restart(&p.b);
		p.a.expect_id = p.a.expect_k = 0;
		p.net.loss = 300000;
		p.net.reorder = p.net.dup = 100000;
		for (unsigned int i = 0; i < 10; i++)
			(void)sim_start(&p.b, 100);
		run_to_end(&p);
		assert_int_equal(p.b.failed, 0);
		assert_int_equal(p.b.acked, 10);
		assert_int_equal(p.a.expect_id, 10);
		teardown(&p);
	}
}

/* Transfers that are complete for their owner reach the later instance of the peer, in
 * order, with those that were begun when it was restarted. */
static void survivors_of_a_restart(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct pair p;

		setup(&p, seed);
		exchange(&p, 5);
		p.a.survive = true;
		p.a.acked = 0;
		p.a.next_id = 0;
		restart(&p.b);
		p.b.lenient = false;
		p.net.loss = 100000;
		for (unsigned int i = 0; i < 40; i++)
			(void)sim_start(&p.a, 3000);
		run_to_end(&p);
		assert_int_equal(p.a.restarted, 1);
		expect_all(&p.a);
		teardown(&p);
	}
}

/* An RTS as any host may send it, with the address of the peer of @side. */
static void forge_rts(struct sim_side *side, uint64_t index, uint32_t epoch)
{
	struct rxd_rts rts = {
		.index = index, .extended = epoch != 0, .ext = { 9000, epoch, true }
	};
	uint8_t packet[RXD_RTS_SIZE];

	memcpy(rts.name, side->peer->config.name, sizeof(rts.name));
	rxd_rts_write(&rts, packet);
	(void)rxd_flow_receive(&side->flow, packet, sizeof(packet), side->net->now_ns);
}

/* RTS with the address of a peer, that the peer did not send: with later and earlier
 * epochs, with that of the peer and without an extension. Nothing is lost or fails. */
static void forged_greetings(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 5; kind++) {
		struct pair p;

		setup(&p, kind + 1);
		p.net.loss = kind % 2 ? 50000 : 0;
		exchange(&p, 3);
		for (unsigned int i = 0; i < 300; i++) {
			uint32_t epoch = p.b.config.epoch;

			/* Longer than an RTS without extension needs. */
			if (i % 50 == 0)
				p.net.now_ns += 2000000000;
			else if (i % 3 == 0)
				(void)sim_start(i % 2 ? &p.a : &p.b, 3000);
			epoch += kind == 1 ? 5 : kind == 2 ? 0x70000000 : 0;
			epoch = kind == 3 ? 0 : epoch;
			forge_rts(&p.a, kind == 4 ? i + 1 : 77, epoch);
			(void)sim_step(&p.net, &p.a, &p.b);
		}
		run_to_end(&p);
		expect_all(&p.a);
		expect_all(&p.b);
		assert_int_equal(p.a.restarted + p.b.restarted, 0);
		teardown(&p);
	}
}

/* The first RTS is a forged one, in the name of a peer that is not there yet: its own
 * RTS counts later, and nothing that was sent meanwhile is lost. */
static void forged_first_greeting(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 3; kind++) {
		struct pair p;

		setup(&p, kind + 1);
		forge_rts(&p.a, 77, kind ? p.b.config.epoch + (kind << 29) : 0);
		for (unsigned int i = 0; i < 20; i++)
			(void)sim_start(&p.a, 3000);
		for (unsigned int i = 0; i < 10; i++)
			(void)sim_step(&p.net, &p.a, &p.b);
		(void)sim_start(&p.b, 3000);
		run_to_end(&p);
		expect_all(&p.a);
		expect_all(&p.b);
		teardown(&p);
	}
}

/* A refused transfer fails with the error of the target; others are not touched. */
static void refused_transfer(void **state)
{
	static const size_t sizes[] = { 100, 100000 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct pair p;

		setup(&p, 11);
		p.net.loss = i < 2 ? 0 : 100000;
		p.b.refuse_id = 5;
		p.b.refuse_err = FI_EACCES;
		for (unsigned int j = 0; j < 12; j++)
			(void)sim_start(&p.a, sizes[i % 2]);
		run_to_end(&p);
		assert_int_equal(p.a.acked, 11);
		assert_int_equal(p.a.failed, 1);
		assert_int_equal(p.a.last_err, FI_EACCES);
		assert_int_equal(p.b.expect_id, 12);
		teardown(&p);
	}
}

/* A target without room for a while gets everything in the end. */
static void busy_target(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 12);
	p.b.refuse_id = 3;
	p.b.busy = 5;
	exchange(&p, 20);
	assert_int_equal(p.b.busy, 0);
	teardown(&p);
}

/* The same where packets come early, so that what was acknowledged as kept is
 * dropped. */
static void busy_target_with_losses(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct pair p;

		setup(&p, seed);
		p.net.loss = 200000;
		p.b.refuse_id = 3;
		p.b.busy = 5;
		for (unsigned int i = 0; i < 30; i++)
			(void)sim_start(&p.a, 1000);
		run_to_end(&p);
		expect_all(&p.a);
		teardown(&p);
	}
}

static void lower_provider_is_full(void **state)
{
	struct pair p;

	(void)state;
	setup(&p, 13);
	p.a.full = true;
	(void)sim_start(&p.a, 10000);
	assert_true(rxd_flow_deadline(&p.a.flow) <= p.net.now_ns);
	p.a.full = false;
	exchange(&p, 20);
	for (unsigned int i = 0; i < 200; i++) {
		p.a.full = i % 3;
		(void)sim_start(&p.a, 3000);
		(void)sim_step(&p.net, &p.a, &p.b);
	}
	p.a.full = false;
	run_to_end(&p);
	expect_all(&p.a);
	teardown(&p);
}

static void cancelled_before_it_began(void **state)
{
	struct pair p;
	struct sim_xfer *first, *last;

	(void)state;
	setup(&p, 14);
	first = sim_start(&p.a, 10000000);
	last = sim_start(&p.a, 100);
	assert_true(rxd_flow_cancel(&p.a.flow, &last->xfer));
	free(last);
	for (unsigned int i = 0; i < 10; i++)
		(void)sim_step(&p.net, &p.a, &p.b);
	assert_false(rxd_flow_cancel(&p.a.flow, &first->xfer));
	run_to_end(&p);
	assert_int_equal(p.a.acked, 1);
	assert_int_equal(p.b.expect_id, 1);
	teardown(&p);
}

/* A link of 1 Gbit/s, 200 us round trip, a queue of 2 ms: bytes arrive at least at the
 * given share of its rate, in simulated time. */
static void throughput_under_loss(void **state)
{
	static const struct {
		uint32_t loss, percent;
		bool westwood;
	} cases[] = { { 0, 85, false }, { 1000, 60, false }, { 10000, 15, false },
		{ 50000, 4, false }, { 0, 90, true }, { 1000, 90, true },
		{ 10000, 80, true }, { 50000, 60, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pair p;
		uint64_t start_ns;
		double share;

		setup(&p, 15);
		p.net.ns_per_byte_1024 = 8192;
		p.net.queue_ns = 2000000;
		p.net.delay_ns = 100000;
		p.net.loss = cases[i].loss;
		p.a.config.westwood = cases[i].westwood;
		start_ns = p.net.now_ns;
		(void)sim_start(&p.a, 40 << 20);
		run_to_end(&p);
		expect_all(&p.a);
		share = 8.0 * (40 << 20) / (double)(p.net.now_ns - start_ns);
		print_message("# %s, loss %u ppm: %.1f %% of the link\n",
			cases[i].westwood ? "Westwood+" : "CUBIC", cases[i].loss,
			100 * share);
		assert_true(100 * share >= cases[i].percent);
		teardown(&p);
	}
}

/* Single losses do not end slow start: a window of hundreds of packets is reached
 * within some round trips of 20 ms. */
static void slow_start_under_loss(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct pair p;
		uint64_t start_ns;

		setup(&p, seed);
		p.net.ns_per_byte_1024 = 8192;
		p.net.queue_ns = 20000000;
		p.net.delay_ns = 10000000;
		p.net.loss = 10000;
		p.a.config.westwood = true;
		start_ns = p.net.now_ns;
		(void)sim_start(&p.a, 2 << 20);
		run_to_end(&p);
		expect_all(&p.a);
		print_message("# %llu round trips\n",
			(unsigned long long)((p.net.now_ns - start_ns) / 20000000));
		assert_true(p.net.now_ns - start_ns < 13 * 20000000);
		teardown(&p);
	}
}

/* What a closed side does: nothing. */
static void ignore(struct sim_side *side, const uint8_t *packet, size_t len)
{
	(void)side;
	(void)packet;
	(void)len;
}

static uint64_t never(const struct sim_side *side)
{
	(void)side;
	return UINT64_MAX;
}

static void rest(struct sim_side *side)
{
	(void)side;
}

static void leave(struct sim_side *side)
{
	rxd_flow_bye(&side->flow, side->net->now_ns);
	side->receive = ignore;
	side->deadline = never;
	side->run = rest;
}

/* A side that has taken everything is closed: the other one learns that all has
 * arrived, also where the last acknowledgement, a goodbye or both are lost, and waits
 * for nothing. */
static void closing_under_loss(void **state)
{
	unsigned int lost_acks = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 500; seed++) {
		struct pair p;
		bool unacked;

		setup(&p, seed);
		p.net.loss = 50000;
		exchange(&p, 3);
		(void)sim_start(&p.a, 100);
		while (p.b.expect_id < p.a.next_id)
			assert_true(sim_step(&p.net, &p.a, &p.b));
		leave(&p.b);
		unacked = true;
		while (unacked && sim_step(&p.net, &p.a, &p.b))
			unacked = p.a.acked < p.a.next_id && !p.a.gone;
		lost_acks += p.a.gone;
		assert_int_equal(p.a.acked, p.a.next_id);
		assert_true(rxd_flow_idle(&p.a.flow));
		teardown(&p);
	}
	assert_true(lost_acks > 0);
}

/* A side is closed that has not taken everything: the rest fails at once. */
static void left_before_it_took_all(void **state)
{
	struct pair p;
	uint64_t start_ns;

	(void)state;
	setup(&p, 21);
	exchange(&p, 3);
	start_ns = p.net.now_ns;
	(void)sim_start(&p.a, 10 << 20);
	(void)sim_start(&p.a, 10);
	(void)sim_step(&p.net, &p.a, &p.b);
	leave(&p.b);
	while (sim_step(&p.net, &p.a, &p.b))
		continue;
	assert_int_equal(p.a.failed, 2);
	assert_int_equal(p.a.last_err, FI_ECONNRESET);
	assert_true(rxd_flow_idle(&p.a.flow));
	assert_true(p.net.now_ns - start_ns < 10 * p.net.delay_ns);
	teardown(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(perfect_network),
		cmocka_unit_test(lossy_networks),
		cmocka_unit_test(reordering_and_repeating),
		cmocka_unit_test(changing_network),
		cmocka_unit_test(seals_are_negotiated),
		cmocka_unit_test(large_transfer),
		cmocka_unit_test(path_takes_large_packets),
		cmocka_unit_test(silent_peer_is_given_up),
		cmocka_unit_test(silent_peer_that_owes),
		cmocka_unit_test(restarted_peer_sends_first),
		cmocka_unit_test(restarted_peer_is_sent_to),
		cmocka_unit_test(restarted_peer_on_a_bad_network),
		cmocka_unit_test(survivors_of_a_restart),
		cmocka_unit_test(forged_greetings),
		cmocka_unit_test(forged_first_greeting),
		cmocka_unit_test(refused_transfer),
		cmocka_unit_test(busy_target),
		cmocka_unit_test(busy_target_with_losses),
		cmocka_unit_test(lower_provider_is_full),
		cmocka_unit_test(cancelled_before_it_began),
		cmocka_unit_test(throughput_under_loss),
		cmocka_unit_test(slow_start_under_loss),
		cmocka_unit_test(closing_under_loss),
		cmocka_unit_test(left_before_it_took_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
