/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/flow/rtt.h"

#include "sys/compiler.h"

enum { DOUBLINGS_MAX = 20 };

void rxd_rtt_init(struct rxd_rtt *rtt)
{
	*rtt = (struct rxd_rtt){ 0 };
}

void rxd_rtt_sample(struct rxd_rtt *rtt, uint64_t sample)
{
	uint64_t deviation;

	/* 0 means that there is no sample. A sample above the longest timeout counts
	 * like that timeout. */
	sample = WF_MIN(WF_MAX(sample, UINT64_C(1)), RXD_RTO_MAX);
	if (rtt->min == 0 || sample < rtt->min)
		rtt->min = sample;
	if (rtt->smoothed == 0) {
		rtt->smoothed = sample;
		rtt->variation = sample / 2;
		return;
	}
	deviation = sample > rtt->smoothed ? sample - rtt->smoothed
					   : rtt->smoothed - sample;
	rtt->variation = (3 * rtt->variation + deviation) / 4;
	rtt->smoothed = WF_MAX((7 * rtt->smoothed + sample) / 8, UINT64_C(1));
}

uint64_t rxd_rtt_timeout(const struct rxd_rtt *rtt)
{
	uint64_t timeout = RXD_RTO_FIRST;
	uint64_t least = rtt->backoff ? RXD_RTO_MIN : RXD_PROBE_MIN;

	if (rtt->smoothed > 0)
		timeout = WF_MAX(rtt->smoothed + 4 * rtt->variation, least);
	timeout <<= WF_MIN(rtt->backoff, (unsigned int)DOUBLINGS_MAX);
	return WF_MIN(timeout, RXD_RTO_MAX);
}
