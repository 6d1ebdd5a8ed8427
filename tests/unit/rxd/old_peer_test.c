/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

/*
 * A flow and a peer of another library, as docs/rxd-wire.md describes one: it takes
 * packets in order only, acknowledges no more than it has to, resends everything by a
 * timer, and leaves old memory in undefined fields. It knows nothing of extensions.
 */
enum { OLD_WINDOW = 128, OLD_PACKETS = 4096, OLD_INDEX = 7 };

struct old_peer {
	struct sim_side side;
	bool known;         /* the other's index is known */
	uint32_t index;     /* of it */
	uint64_t expected;  /* number */
	uint64_t una, next; /* own numbers */
	uint64_t total; /* packets to be sent, of transfers with 1 + n % 5 packets */
	uint16_t window;
	uint64_t last_sent_ns;
	bool greeting;
	unsigned int retries;
	/* Id of a transfer that it never takes, with a window of 0: a bad key. */
	uint32_t refused;
	bool shut;           /* nothing was taken since then */
	uint64_t operations; /* that came */
};

static struct old_peer *old_of(const struct sim_side *side)
{
	return wf_container_of(side, struct old_peer, side);
}

static void old_ack(struct old_peer *old)
{
	const struct rxd_base base = { RXD_VERSION, RXD_ACK, 0xffff, old->index,
		old->expected };
	const uint32_t window = old->shut ? 0 : OLD_WINDOW;
	uint8_t packet[RXD_ACK_SIZE];

	if (!old->known)
		return;
	memset(packet, 0x5a, sizeof(packet));
	memcpy(packet, &base, sizeof(base));
	memcpy(packet + 20, &window, sizeof(window));
	sim_transmit(&old->side, packet, sizeof(packet));
}

static void old_greeted(struct old_peer *old, const uint8_t *packet, bool rts)
{
	uint64_t echo, index;

	memcpy(&echo, packet + 16, sizeof(echo));
	memcpy(&index, packet + (rts ? 16 : 24), sizeof(index));
	old->known = true;
	old->index = (uint32_t)index;
	old->greeting = false;
	old->retries = 0;
	if (rts) {
		uint8_t cts[RXD_CTS_SIZE];
		const uint64_t own = OLD_INDEX;

		/* Fields that are undefined keep what the RTS had there. */
		memcpy(cts, packet, sizeof(cts));
		cts[1] = RXD_CTS;
		memcpy(cts + 16, &echo, sizeof(echo));
		memcpy(cts + 24, &own, sizeof(own));
		sim_transmit(&old->side, cts, sizeof(cts));
	}
}

static void old_numbered(struct old_peer *old, const struct rxd_base *base,
	const uint8_t *packet, size_t len)
{
	bool op = rxd_type_is_op(base->type);
	uint32_t head[3];

	assert_int_equal(base->flags & (RXD_FLAG_EXT | RXD_FLAG_ACK_NOW), 0);
	assert_true(len <= 1472);
	if (base->seq != old->expected) {
		old_ack(old);
		return;
	}
	memcpy(head, packet + sizeof(*base), sizeof(head));
	if (head[0] == old->refused) {
		old->shut = true;
		old_ack(old);
		return;
	}
	sim_check(&old->side, packet + sizeof(*base), len - sizeof(*base));
	old->operations += op;
	old->expected++;
	old->shut = false;
	if (op || head[1] + 1 == head[2] || old->expected % OLD_WINDOW == 0)
		old_ack(old);
}

static void old_acked(
	struct old_peer *old, const struct rxd_base *base, const uint8_t *packet)
{
	uint32_t window;

	memcpy(&window, packet + 20, sizeof(window));
	old->window = (uint16_t)window;
	if (base->seq <= old->una)
		return;
	assert_true(base->seq <= old->next);
	old->una = base->seq;
	old->retries = 0;
}

static void old_receive(struct sim_side *side, const uint8_t *packet, size_t len)
{
	struct old_peer *old = old_of(side);
	struct rxd_base base;

	memcpy(&base, packet, sizeof(base));
	if (base.type == RXD_RTS || base.type == RXD_CTS) {
		old_greeted(old, packet, base.type == RXD_RTS);
		return;
	}
	assert_int_equal(base.peer, OLD_INDEX);
	if (base.type == RXD_ACK)
		old_acked(old, &base, packet);
	else if (rxd_type_is_numbered(base.type))
		old_numbered(old, &base, packet, len);
	else
		fail_msg("packet of type %u", base.type);
}

/* The packet with a number belongs to transfer id, as packet k of 1 + id % 5. */
static void old_locate(uint64_t number, uint32_t *id, uint32_t *k)
{
	*id = 0;
	while (number >= 1 + *id % 5) {
		number -= 1 + *id % 5;
		(*id)++;
	}
	*k = (uint32_t)number;
}

static void old_send_number(struct old_peer *old, uint64_t number)
{
	struct rxd_base base = { RXD_VERSION, 0, 0, old->index, number };
	uint8_t packet[1472];
	uint32_t id, k;
	size_t len;

	old_locate(number, &id, &k);
	len = sim_build(packet, base, id, k, 1 + id % 5, 50);
	sim_transmit(&old->side, packet, len);
	old->last_sent_ns = old->side.net->now_ns;
}

static uint64_t old_deadline(const struct sim_side *side)
{
	const struct old_peer *old = old_of(side);

	if (!old->greeting && old->una == old->next)
		return old->total > old->next ? old->side.net->now_ns : UINT64_MAX;
	return old->last_sent_ns + (UINT64_C(1000000) << WF_MIN(old->retries, 12u));
}

static void old_greet(struct old_peer *old)
{
	const struct rxd_base base = { RXD_VERSION, RXD_RTS, 0x2020, 0, 5 };
	uint8_t packet[RXD_RTS_SIZE] = { 0 };
	const uint64_t own = OLD_INDEX;

	memcpy(packet, &base, sizeof(base));
	memcpy(packet + 16, &own, sizeof(own));
	memcpy(packet + 24, "old", 3);
	sim_transmit(&old->side, packet, sizeof(packet));
	old->greeting = true;
	old->last_sent_ns = old->side.net->now_ns;
}

static void old_run(struct sim_side *side)
{
	struct old_peer *old = old_of(side);
	bool due = side->net->now_ns >= old_deadline(side);

	if (old->total > old->next && !old->known && (!old->greeting || due)) {
		old->retries += old->greeting;
		old_greet(old);
		return;
	}
	if (due && old->known && old->una != old->next) {
		old->retries++;
		for (uint64_t n = old->una; n != old->next; n++)
			old_send_number(old, n);
	}
	while (old->known && old->next < old->total &&
		old->next - old->una < old->window)
		old_send_number(old, old->next++);
}

struct world {
	struct sim_net net;
	struct sim_side a;
	struct old_peer old;
};

static void setup(struct world *w, uint64_t seed)
{
	sim_net_init(&w->net, seed);
	sim_side_init(&w->net, &w->a, &w->old.side, "a", 65507);
	w->old = (struct old_peer){ .window = OLD_WINDOW, .refused = UINT32_MAX };
	w->old.side = (struct sim_side){ .net = &w->net,
		.peer = &w->a,
		.refuse_id = UINT32_MAX,
		.receive = old_receive,
		.deadline = old_deadline,
		.run = old_run };
}

static void teardown(struct world *w)
{
	sim_side_done(&w->a);
	sim_net_done(&w->net);
}

static void run_to_end(struct world *w)
{
	assert_true(sim_run(&w->net, &w->a, &w->old.side, 100000));
	assert_true(rxd_flow_idle(&w->a.flow));
	assert_false(w->a.flow.extended);
	assert_int_equal(w->a.flow.packet_size, 1472);
}

static void expect_sent(struct world *w)
{
	assert_int_equal(w->a.acked, w->a.next_id);
	assert_int_equal(w->a.failed, 0);
	assert_int_equal(w->old.side.expect_id, w->a.next_id);
}

static void sends_to_old_peer(void **state)
{
	static const uint32_t losses[] = { 0, 1000, 10000, 100000, 300000 };

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct world w;

		setup(&w, i + 1);
		w.net.loss = losses[i];
		w.net.dup = i % 2 ? 50000 : 0;
		w.net.reorder = i % 2 ? 50000 : 0;
		for (unsigned int j = 0; j < 100; j++)
			(void)sim_start(
				&w.a, sim_random(&w.net, j % 8 ? 3000 : 300000));
		run_to_end(&w);
		expect_sent(&w);
		teardown(&w);
	}
}

/* Long transfers do not wait for timers, though nothing in the midst of them has to be
 * acknowledged: 8 MiB in less than a second. */
static void long_transfer_flows(void **state)
{
	struct world w;
	uint64_t start_ns;

	(void)state;
	setup(&w, 3);
	start_ns = w.net.now_ns;
	(void)sim_start(&w.a, 8 << 20);
	run_to_end(&w);
	expect_sent(&w);
	print_message(
		"# %.1f MB/s\n", (8 << 20) * 1e3 / (double)(w.net.now_ns - start_ns));
	assert_true(w.net.now_ns - start_ns < 1000000000);
	teardown(&w);
}

/* Nor does one that is a little longer than the congestion window. */
static void transfer_beyond_first_window(void **state)
{
	struct world w;
	uint64_t start_ns;

	(void)state;
	setup(&w, 3);
	start_ns = w.net.now_ns;
	(void)sim_start(&w.a, 12 * 1400);
	run_to_end(&w);
	expect_sent(&w);
	assert_true(w.net.now_ns - start_ns < 2000000);
	teardown(&w);
}

static void receives_from_old_peer(void **state)
{
	static const uint32_t losses[] = { 0, 10000, 100000, 300000 };

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct world w;

		setup(&w, i + 1);
		w.net.loss = losses[i];
		w.net.dup = i % 2 ? 50000 : 0;
		w.old.total = 600;
		for (unsigned int j = 0; j < 20; j++)
			(void)sim_start(&w.a, 5000);
		run_to_end(&w);
		expect_sent(&w);
		assert_int_equal(w.old.una, 600);
		assert_int_equal(w.a.delivered, 600);
		teardown(&w);
	}
}

/* A transfer that the peer never takes fails, what follows it arrives. */
static void shut_window_ends(void **state)
{
	struct world w;

	(void)state;
	setup(&w, 3);
	for (unsigned int i = 0; i < 10; i++)
		(void)sim_start(&w.a, 100);
	w.old.refused = 4;
	w.old.side.lenient = true;
	assert_true(sim_run(&w.net, &w.a, &w.old.side, 60));
	assert_int_equal(w.a.acked, 9);
	assert_int_equal(w.a.failed, 1);
	assert_int_equal(w.a.last_err, FI_EREMOTEIO);
	teardown(&w);
}

/* This endpoint is new, but the peer has met an earlier one at the address. */
static void peer_knows_an_earlier_life(void **state)
{
	struct world w;

	(void)state;
	setup(&w, 3);
	w.old.expected = 1000;
	for (unsigned int i = 0; i < 10; i++)
		(void)sim_start(&w.a, 5000);
	run_to_end(&w);
	expect_sent(&w);
	teardown(&w);
}

/* The peer starts anew at its address. */
static void old_peer_restarts(void **state)
{
	struct world w;

	(void)state;
	for (int silent = 0; silent < 2; silent++) {
		setup(&w, 3);
		w.old.total = 100;
		for (unsigned int i = 0; i < 10; i++)
			(void)sim_start(&w.a, 5000);
		run_to_end(&w);
		w.net.now_ns += 2000000000;
		w.old.known = false;
		w.old.expected = w.old.una = w.old.next = w.old.total = 0;
		w.old.side.lenient = true;
		w.a.expect_id = w.a.expect_k = 0;
		w.old.total = silent ? 0 : 50;
		if (!silent)
			run_to_end(&w);
		assert_int_equal(w.a.delivered, silent ? 100 : 150);
		w.a.acked = 0;
		(void)sim_start(&w.a, 5000);
		assert_true(sim_run(&w.net, &w.a, &w.old.side, 1000));
		assert_int_equal(w.a.restarted, 1);
		(void)sim_start(&w.a, 5000);
		run_to_end(&w);
		assert_int_equal(w.a.acked, silent ? 1 : 2);
		teardown(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sends_to_old_peer),
		cmocka_unit_test(long_transfer_flows),
		cmocka_unit_test(transfer_beyond_first_window),
		cmocka_unit_test(receives_from_old_peer),
		cmocka_unit_test(shut_window_ends),
		cmocka_unit_test(peer_knows_an_earlier_life),
		cmocka_unit_test(old_peer_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
