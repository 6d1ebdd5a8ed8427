/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/delivery.h"

#include "sys/compiler.h"

enum {
	/* Number of round trips of a period. */
	ROUNDS = 8,
	/* The part of a usual round trip in which no packet is on the path, because
	 * processes wait for processors: as long as this many shortest round trips, and
	 * at most this time. */
	PAUSE_PART = 2,
	PAUSE_NS = 200000,
};

#define NS_PER_S  UINT64_C(1000000000)
#define BYTES_MAX (UINT64_C(1) << 33) /* of one sample, so that its product fits */
#define RATE_MAX  (UINT64_C(1) << 36) /* bytes per second */

struct rxd_delivery_mark rxd_delivery_sent(
	struct rxd_delivery *delivery, bool idle, uint64_t now_ns)
{
	if (idle)
		delivery->first_sent_ns = delivery->delivered_ns = now_ns;
	return (struct rxd_delivery_mark){ delivery->delivered, delivery->delivered_ns,
		delivery->first_sent_ns };
}

void rxd_delivery_acked(struct rxd_delivery *delivery, uint64_t bytes, uint64_t now_ns)
{
	delivery->delivered += bytes;
	delivery->delivered_ns = now_ns;
}

static bool delivery_end_round(struct rxd_delivery *delivery, uint64_t order,
	uint64_t next_order, bool limited)
{
	if (order < delivery->round_order)
		return false;
	delivery->round_order = next_order;
	if (limited && ++delivery->rounds >= ROUNDS) {
		delivery->rounds = 0;
		delivery->last_max = delivery->now_max;
		delivery->now_max = 0;
	}
	return true;
}

bool rxd_delivery_sample(struct rxd_delivery *delivery,
	const struct rxd_delivery_mark *mark, uint64_t sent_ns, uint64_t order,
	uint64_t next_order, bool limited, uint64_t min_ns)
{
	/* Acknowledgements that were held up come in a bunch: the time in which the
	 * packets were sent counts, if it is longer. */
	uint64_t ns = WF_MAX(sent_ns - WF_MIN(sent_ns, mark->first_sent_ns),
		delivery->delivered_ns - mark->delivered_ns);
	uint64_t bytes = WF_MIN(delivery->delivered - mark->delivered, BYTES_MAX);

	delivery->first_sent_ns = sent_ns;
	if (ns >= WF_MAX(min_ns, UINT64_C(1)))
		delivery->now_max = WF_MIN(
			WF_MAX(delivery->now_max, bytes * NS_PER_S / ns), RATE_MAX);
	return delivery_end_round(delivery, order, next_order, limited);
}

uint64_t rxd_delivery_window(const struct rxd_delivery *delivery, uint64_t min_ns)
{
	uint64_t rate = WF_MAX(delivery->now_max, delivery->last_max);
	uint64_t us = (min_ns + WF_MIN(PAUSE_PART * min_ns, (uint64_t)PAUSE_NS)) / 1000;

	return rate * us / 1000000;
}
