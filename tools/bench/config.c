/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"

#include <rdma/fabric.h>
#include <string.h>

const struct fb_test_info fb_tests[FB_TEST_COUNT] = {
	[FB_LATENCY] = { "latency", "messages to and fro, time one way" },
	[FB_BANDWIDTH] = { "bandwidth", "messages in one direction",
		.unit = FB_UNIT_BANDWIDTH },
	[FB_BIDIRECTIONAL] = { "bidirectional", "messages in both directions at once",
		.unit = FB_UNIT_BANDWIDTH },
	[FB_RATE] = { "rate", "small messages in one direction", .unit = FB_UNIT_RATE },
	[FB_EXCHANGE] = { "exchange",
		"both sides post a receive, send, and wait for both" },
	[FB_BURST] = { "burst", "the same with a window of messages at once" },
	[FB_WRITE_LATENCY] = { "write_latency",
		"writes to and fro, seen in memory, time one way",
		.need = FB_NEED_RMA },
	[FB_WRITE_BANDWIDTH] = { "write_bandwidth", "writes in one direction",
		.unit = FB_UNIT_BANDWIDTH, .need = FB_NEED_RMA },
	[FB_READ_LATENCY] = { "read_latency", "reads, one after the other",
		.need = FB_NEED_RMA },
	[FB_READ_BANDWIDTH] = { "read_bandwidth", "reads in one direction",
		.unit = FB_UNIT_BANDWIDTH, .need = FB_NEED_RMA },
	[FB_FETCH_ADD] = { "fetch_add", "fetching additions, one after the other",
		.need = FB_NEED_ATOMIC, .only_bytes = 8 },
	[FB_COMPARE_SWAP] = { "compare_swap", "compare-and-swaps, one after the other",
		.need = FB_NEED_ATOMIC, .only_bytes = 8 },
	[FB_ADD_RATE] = { "add_rate", "additions without a result",
		.unit = FB_UNIT_RATE, .need = FB_NEED_ATOMIC, .only_bytes = 8 },
	[FB_CONNECT] = { "connect",
		"new endpoints until their first message is answered",
		.only_bytes = 1 },
	[FB_RAMP] = { "ramp",
		"the first messages to and fro of new endpoints, time one way" },
	[FB_BARRIER] = { "barrier", "barriers", .need = FB_NEED_COLLECTIVE,
		.no_payload = true },
	[FB_BROADCAST] = { "broadcast", "broadcasts, roots in turn",
		.need = FB_NEED_COLLECTIVE },
	[FB_ALLREDUCE] = { "allreduce", "sums of doubles", .need = FB_NEED_COLLECTIVE },
	[FB_ALLGATHER] = { "allgather", "gathering at all members",
		.need = FB_NEED_COLLECTIVE },
	[FB_ALLTOALL] = { "alltoall", "from all members to all",
		.need = FB_NEED_COLLECTIVE },
	[FB_REDUCE_BROADCAST] = { "reduce+broadcast",
		"a reduction, and a broadcast of its result",
		.need = FB_NEED_COLLECTIVE },
};

void fb_config_init(struct fb_config *c)
{
	memset(c, 0, sizeof(*c));
	c->type = FI_EP_RDM;
	c->threads = 1;
	c->members = 2;
	c->timeout_s = 30;
	c->duration_ns = 200 * 1000000u;
	c->touch = true;
	c->percentiles = true;
}

static bool config_is_text(const char text[FB_NAME_MAX])
{
	return memchr(text, 0, FB_NAME_MAX) != NULL;
}

static const char *config_check_numbers(const struct fb_config *c)
{
	if (!c->threads || c->threads > FB_THREADS_MAX)
		return "threads: from 1 to 256";
	if (c->members < 2 || c->members > FB_MEMBERS_MAX)
		return "members: from 2 to 256";
	if (c->window > FB_WINDOW_MAX)
		return "window: at most 4096 messages";
	if (c->buffers > FB_BUFFERS_MAX)
		return "buffers: at most 1048576";
	if (c->idle > FB_IDLE_MAX)
		return "idle peers: at most 1048576";
	if (!c->timeout_s || c->timeout_s > FB_TIMEOUT_MAX_S)
		return "timeout: from 1 to 86400 seconds";
	if (c->count > FB_COUNT_MAX || c->batch > FB_COUNT_MAX ||
		c->warmup > FB_COUNT_MAX)
		return "count, batch and warm-up: at most 2^40 messages";
	if (!c->duration_ns || c->duration_ns > FB_DURATION_MAX)
		return "duration: more than nothing, at most a day";
	if (c->size_count > FB_SIZES_MAX)
		return "sizes: at most 64";
	for (uint32_t i = 0; i < c->size_count; i++)
		if (!c->size[i] || c->size[i] > FB_SIZE_MAX)
			return "sizes: from 1 byte to 1 TiB";
	return NULL;
}

static const char *config_check_words(const struct fb_config *c)
{
	if (!c->tests || c->tests >> FB_TEST_COUNT)
		return "there is no test of that name";
	if (c->type != FI_EP_RDM && c->type != FI_EP_MSG && c->type != FI_EP_DGRAM)
		return "endpoint type: rdm, msg or dgram";
	if (c->call >= FB_CALL_COUNT || c->flow >= FB_FLOW_COUNT)
		return "unknown kind of calls or flow";
	if (c->progress > FI_PROGRESS_MANUAL)
		return "progress: auto or manual";
	if (c->threading > FI_THREAD_ENDPOINT)
		return "unknown threading level";
	if (c->inject > 1 || c->verify > 1 || c->touch > 1 || c->sleep > 1 ||
		c->percentiles > 1 || c->narrow > 1 || c->shared > 1 || c->silent > 1)
		return "a choice that is neither yes nor no";
	if (!config_is_text(c->provider) || !config_is_text(c->domain) ||
		!config_is_text(c->fabric))
		return "provider, domain, fabric: names of at most 127 characters";
	return NULL;
}

/* All tests of operations that a silent target can take part in. */
static const char *config_check_silence(const struct fb_config *c)
{
	for (int test = 0; test < FB_TEST_COUNT; test++)
		if (fb_config_has(c, test) && fb_tests[test].need != FB_NEED_RMA &&
			fb_tests[test].need != FB_NEED_ATOMIC)
			return "a silent target: tests of RMA and atomic operations "
			       "only";
	if (c->inject)
		return "a silent target: not with --inject, which does not tell when "
		       "an operation is complete";
	if (c->threads > 1)
		return "a silent target: one thread";
	return NULL;
}

static const char *config_check_sense(const struct fb_config *c)
{
	bool coll = fb_config_needs(c, FB_NEED_COLLECTIVE);
	bool own_buffers = c->touch || c->verify;

	if (c->members > 2 && c->tests & (((uint64_t)1 << FB_BARRIER) - 1))
		return "more than two members take part in collectives only";
	if (coll && c->type != FI_EP_RDM)
		return "collectives have endpoints of type rdm";
	for (uint32_t i = 0; coll && i < c->size_count; i++)
		if (c->size[i] % sizeof(double))
			return "collectives move doubles: sizes are multiples of 8";
	if (coll && c->threads > 1)
		return "collectives run in one thread of each member";
	if (c->type == FI_EP_DGRAM &&
		(c->idle || c->verify || c->call == FB_CALL_TAGGED ||
			c->tests & ~((uint64_t)1 << FB_LATENCY |
					   (uint64_t)1 << FB_BANDWIDTH |
					   (uint64_t)1 << FB_RATE)))
		return "datagrams, which may be lost: latency, bandwidth and rate of "
		       "untagged messages only, without verification and idle peers";
	if (c->threads > 1 &&
		(fb_config_has(c, FB_CONNECT) || fb_config_has(c, FB_RAMP) ||
			c->type == FI_EP_DGRAM || c->idle))
		return "new endpoints, idle peers and datagrams: one thread";
	if (c->sleep && c->tests >> FB_WRITE_LATENCY)
		return "blocking reads: tests of messages only";
	if (c->inject && c->verify &&
		(fb_config_needs(c, FB_NEED_RMA) || fb_config_needs(c, FB_NEED_ATOMIC)))
		return "injected writes are not verified: when they arrive is not told";
	if (c->buffers && own_buffers && c->buffers < 2)
		return "one buffer for all messages: only with --touch=no and without "
		       "--verify";
	return c->silent ? config_check_silence(c) : NULL;
}

const char *fb_config_check(const struct fb_config *config)
{
	const char *wrong = config_check_words(config);

	if (!wrong)
		wrong = config_check_numbers(config);
	return wrong ? wrong : config_check_sense(config);
}

bool fb_config_needs(const struct fb_config *config, enum fb_need need)
{
	for (int test = 0; test < FB_TEST_COUNT; test++)
		if (fb_config_has(config, test) && fb_tests[test].need == need)
			return true;
	return false;
}

void fb_config_drop(struct fb_config *config, enum fb_need need)
{
	for (int test = 0; test < FB_TEST_COUNT; test++)
		if (fb_tests[test].need == need)
			config->tests &= ~((uint64_t)1 << test);
}

/* Powers of @factor times @first, up to @last. */
static uint32_t config_powers(
	uint64_t first, uint64_t last, uint64_t factor, uint64_t *sizes)
{
	uint32_t n = 0;

	for (uint64_t size = first; size <= last && n < FB_SIZES_MAX; size *= factor)
		sizes[n++] = size;
	return n;
}

uint32_t fb_config_sizes(
	const struct fb_config *config, enum fb_test test, uint64_t sizes[FB_SIZES_MAX])
{
	const struct fb_test_info *info = &fb_tests[test];

	if (info->only_bytes || info->no_payload) {
		sizes[0] = info->only_bytes;
		return 1;
	}
	if (config->size_count) {
		memcpy(sizes, config->size, config->size_count * sizeof(*sizes));
		return config->size_count;
	}
	if (info->need == FB_NEED_COLLECTIVE)
		return config_powers(8, 1 << 20, 8, sizes);
	if (test == FB_RAMP)
		return config_powers(8, 32 << 10, 64, sizes);
	if (info->unit == FB_UNIT_RATE)
		return config_powers(8, 512, 8, sizes);
	return config_powers(8, 1 << 20, 2, sizes);
}

uint32_t fb_config_window(const struct fb_config *config, uint64_t bytes)
{
	enum { LEAST = 4, MOST = 64 };
	static const uint64_t in_flight_bytes = 16 << 20;
	uint64_t fit;

	if (config->window)
		return config->window;
	fit = bytes ? in_flight_bytes / bytes : MOST;
	return fit < LEAST ? LEAST : fit > MOST ? MOST : (uint32_t)fit;
}

uint32_t fb_config_burst(const struct fb_config *config)
{
	enum { BURST = 16 };

	return config->window ? config->window : BURST;
}
