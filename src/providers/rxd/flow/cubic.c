/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/cubic.h"

#include "sys/compiler.h"

enum {
	INITIAL_PACKETS = 10,
	INITIAL_BYTES = 14600,
	MIN_PACKETS = 2,
	/* Factor of a reduction, 0.7, and its Reno-friendly slope, 3 * 0.3 / 1.7, each
	 * as a fraction. */
	BETA_NUM = 7,
	BETA_DEN = 10,
	ALPHA_NUM = 9,
	ALPHA_DEN = 17,
	/* A time beyond this many seconds has no influence on the cubic function, so
	 * that its numbers stay within 64 bits. */
	T_MAX_S = 100,
};

#define NS_PER_S   UINT64_C(1000000000)
#define WINDOW_MAX (UINT64_C(1) << 40)

/* The largest number whose cube is at most @x. */
static uint64_t cubic_cube_root(uint64_t x)
{
	uint64_t root = 0;

	for (int bit = 20; bit >= 0; bit--) {
		uint64_t more = root | UINT64_C(1) << bit;

		if (more * more * more <= x)
			root = more;
	}
	return root;
}

void rxd_cubic_init(struct rxd_cubic *cc, uint32_t packet)
{
	*cc = (struct rxd_cubic){ .ssthresh = UINT64_MAX, .packet = packet };
	cc->cwnd = WF_MIN((uint64_t)INITIAL_PACKETS * packet,
		WF_MAX((uint64_t)MIN_PACKETS * packet, (uint64_t)INITIAL_BYTES));
}

void rxd_cubic_packet(struct rxd_cubic *cc, uint32_t packet)
{
	cc->packet = packet;
	cc->cwnd = WF_MAX(cc->cwnd, (uint64_t)MIN_PACKETS * packet);
}

/* C * t^3 packets in bytes for a time @t_ms, with C = 0.4 packets per second cubed. */
static uint64_t cubic_cubed(const struct rxd_cubic *cc, uint64_t t_ms)
{
	t_ms = WF_MIN(t_ms, (uint64_t)T_MAX_S * 1000);
	/* At most 10^15 / 10^6, times 2^16, times 4. */
	return t_ms * t_ms * t_ms / 1000000 * cc->packet * 4 / 10000;
}

static void cubic_begin_phase(struct rxd_cubic *cc, uint64_t now_ns)
{
	uint64_t packets = 0;

	cc->start_ns = WF_MAX(now_ns, UINT64_C(1));
	cc->w_reno = cc->cwnd;
	cc->reno_acked = 0;
	if (cc->w_max > cc->cwnd)
		packets = (cc->w_max - cc->cwnd) / cc->packet;
	else
		cc->w_max = cc->cwnd;
	/* K = cbrt(packets / C) seconds; in milliseconds the cube root of
	 * packets * 2.5 * 10^9. */
	packets = WF_MIN(packets, UINT64_C(1) << 31);
	cc->k_ns = cubic_cube_root(packets * UINT64_C(2500000000)) * 1000000;
}

/* W_cubic at @t_ns after the start of the phase. */
static uint64_t cubic_w(const struct rxd_cubic *cc, uint64_t t_ns)
{
	uint64_t less;

	if (t_ns >= cc->k_ns)
		return cc->w_max + cubic_cubed(cc, (t_ns - cc->k_ns) / 1000000);
	less = cubic_cubed(cc, (cc->k_ns - t_ns) / 1000000);
	return cc->w_max > less ? cc->w_max - less : 0;
}

static void cubic_avoid_congestion(
	struct rxd_cubic *cc, uint64_t bytes, uint64_t rtt_ns, uint64_t now_ns)
{
	uint64_t target;

	if (cc->start_ns == 0)
		cubic_begin_phase(cc, now_ns);
	/* Below the window before the reduction Reno's slope is that of the smaller
	 * factor, above it one packet per window. */
	cc->reno_acked += bytes * (cc->w_reno < cc->prior ? ALPHA_NUM : ALPHA_DEN);
	if (cc->reno_acked >= cc->cwnd * ALPHA_DEN) {
		cc->reno_acked -= cc->cwnd * ALPHA_DEN;
		cc->w_reno += cc->packet;
	}
	target = cubic_w(cc, now_ns - WF_MIN(now_ns, cc->start_ns) + rtt_ns);
	target = WF_MIN(target, cc->cwnd + cc->cwnd / 2);
	if (target > cc->cwnd)
		cc->cwnd += (target - cc->cwnd) * WF_MIN(bytes, cc->cwnd) / cc->cwnd;
	cc->cwnd = WF_MAX(cc->cwnd, cc->w_reno);
}

void rxd_cubic_acked(
	struct rxd_cubic *cc, uint64_t bytes, uint64_t rtt_ns, uint64_t now_ns)
{
	if (cc->cwnd < cc->ssthresh)
		cc->cwnd += bytes;
	else
		cubic_avoid_congestion(cc, bytes, rtt_ns, now_ns);
	cc->cwnd = WF_MIN(cc->cwnd, WINDOW_MAX);
}

void rxd_cubic_lost(struct rxd_cubic *cc, uint64_t least)
{
	if (cc->cwnd <= least)
		return;
	cc->prior = cc->cwnd;
	/* Fast convergence: a flow that did not reach its last maximum makes space for
	 * new flows. */
	if (cc->cwnd < cc->w_max)
		cc->w_max = cc->cwnd * (BETA_DEN + BETA_NUM) / (2 * BETA_DEN);
	else
		cc->w_max = cc->cwnd;
	cc->ssthresh = WF_MAX(WF_MAX(cc->cwnd * BETA_NUM / BETA_DEN, least),
		(uint64_t)MIN_PACKETS * cc->packet);
	cc->cwnd = cc->ssthresh;
	cc->start_ns = 0;
}

void rxd_cubic_collapsed(struct rxd_cubic *cc)
{
	rxd_cubic_lost(cc, 0);
	cc->cwnd = (uint64_t)MIN_PACKETS * cc->packet;
}
