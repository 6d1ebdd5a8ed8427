/* SPDX-License-Identifier: BSD-2-Clause */
#include "../../time_limits.h"
#include "sim.h"

/*
 * Two streams that share a link with a queue. One has the congestion control of the
 * library, the other one plain CUBIC, as TCP connections have.
 */

struct lane {
	struct sim_side from, to;
};

/* Of the link: kilobits per second, microseconds one way, bytes of the queue. */
struct share_link {
	uint32_t kbit, delay_us, queue;
};

static void open_lane(struct sim_net *net, struct lane *lane, bool westwood)
{
	sim_side_init(net, &lane->from, &lane->to, "from", 0);
	sim_side_init(net, &lane->to, &lane->from, "to", 0);
	lane->from.config.westwood = westwood;
}

/* Transfers wait at any time. */
static void feed(struct lane *lane)
{
	while (lane->from.next_id - lane->from.acked < 8)
		(void)sim_start(&lane->from, 65536);
}

/* Jain's index of what arrives in @s seconds. */
static double share(const struct share_link *link, unsigned int s)
{
	struct lane *lanes = calloc(2, sizeof(*lanes));
	double bytes[2], sum, squares;
	struct sim_side *sides[4];
	struct sim_net net;
	uint64_t end_ns;

	assert_non_null(lanes);
	sim_net_init(&net, 1);
	net.ns_per_byte_1024 = UINT64_C(8000000) * 1024 / link->kbit;
	net.delay_ns = link->delay_us * UINT64_C(1000);
	net.queue_ns = link->queue * UINT64_C(8000000) / link->kbit;
	for (int i = 0; i < 2; i++) {
		open_lane(&net, &lanes[i], i == 0);
		sides[2 * i] = &lanes[i].from;
		sides[2 * i + 1] = &lanes[i].to;
	}
	lanes[1].from.link = &lanes[0].from.busy_until_ns;
	end_ns = net.now_ns + s * UINT64_C(1000000000);
	while (net.now_ns < end_ns) {
		for (int i = 0; i < 2; i++)
			feed(&lanes[i]);
		assert_true(sim_step_all(&net, sides, 4));
	}
	for (int i = 0; i < 2; i++)
		bytes[i] = (double)lanes[i].to.delivered_bytes;
	sum = bytes[0] + bytes[1];
	squares = bytes[0] * bytes[0] + bytes[1] * bytes[1];
	print_message("# %u kbit/s, %u us, %u bytes: %.1f and %.1f Mbit/s, Jain %.3f\n",
		link->kbit, 2 * link->delay_us, link->queue, bytes[0] * 8e-6 / s,
		bytes[1] * 8e-6 / s, sum * sum / (2 * squares));
	/* Together they use the link. */
	assert_true(sum * 8e-3 / s >= 0.85 * link->kbit);
	for (int i = 0; i < 4; i++)
		sim_side_done(sides[i]);
	sim_net_done(&net);
	free(lanes);
	return sum * sum / (2 * squares);
}

/* Links with the queues that routers have, of half to three times what is on the
 * way. */
static void shares_with_cubic(void **state)
{
	static const struct share_link links[] = {
		{ 40000, 1000, 30000 },
		{ 40000, 5000, 25000 },
		{ 40000, 5000, 50000 },
		{ 40000, 5000, 100000 },
		{ 40000, 20000, 200000 },
	};

	(void)state;
	/* Sanitizers need one of them. */
	for (size_t i = limit_amount() ? WF_ARRAY_SIZE(links) - 1 : 0;
		i < WF_ARRAY_SIZE(links); i++)
		assert_true(share(&links[i], 20) >= 0.95);
}

/* A queue of a fifth of what is on the way shows little in the round trips. */
static void short_queue(void **state)
{
	static const struct share_link link = { 40000, 5000, 10000 };

	(void)state;
	assert_true(share(&link, 20) >= 0.85);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_with_cubic),
		cmocka_unit_test(short_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
