/* SPDX-License-Identifier: BSD-2-Clause */
#include "histogram.h"

/* Values below 2^BITS have a bucket each. Above, the highest bit chooses 2^BITS buckets
 * and the next BITS bits one of them. */
static uint32_t histogram_bucket_of(uint64_t value)
{
	uint32_t shift;

	if (value >> FB_HIST_BITS == 0)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - FB_HIST_BITS;
	return (shift << FB_HIST_BITS) + (uint32_t)(value >> shift);
}

uint64_t fb_histogram_low(uint32_t bucket)
{
	uint32_t shift;

	if (bucket >> FB_HIST_BITS < 2)
		return bucket;
	shift = (bucket >> FB_HIST_BITS) - 1;
	return (uint64_t)(bucket - (shift << FB_HIST_BITS)) << shift;
}

void fb_histogram_add(struct fb_histogram *h, uint64_t value)
{
	h->bucket[histogram_bucket_of(value)]++;
	h->total++;
	if (value > h->max)
		h->max = value;
}

void fb_histogram_merge(struct fb_histogram *h, const struct fb_histogram *more)
{
	for (uint32_t i = 0; i < FB_HIST_BUCKETS; i++)
		h->bucket[i] += more->bucket[i];
	h->total += more->total;
	if (more->max > h->max)
		h->max = more->max;
}

uint64_t fb_histogram_at(const struct fb_histogram *h, double fraction)
{
	uint64_t below = 0, wanted = (uint64_t)(fraction * (double)h->total);

	if (!h->total)
		return 0;
	if (wanted >= h->total)
		return h->max;
	for (uint32_t i = 0; i < FB_HIST_BUCKETS; i++) {
		uint64_t middle;

		below += h->bucket[i];
		if (below <= wanted)
			continue;
		middle = fb_histogram_low(i);
		if (i + 1 < FB_HIST_BUCKETS)
			middle += (fb_histogram_low(i + 1) - middle) / 2;
		return middle < h->max ? middle : h->max;
	}
	return h->max;
}
