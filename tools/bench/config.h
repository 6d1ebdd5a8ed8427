/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_BENCH_CONFIG_H
#define TOOLS_BENCH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is measured. The client sends this struct to the server as it is, so it holds no
 * pointers, and the server checks it like a command line (fb_config_check).
 */
enum fb_test {
	FB_LATENCY,
	FB_BANDWIDTH,
	FB_BIDIRECTIONAL,
	FB_RATE,
	FB_EXCHANGE,
	FB_BURST,
	FB_WRITE_LATENCY,
	FB_WRITE_BANDWIDTH,
	FB_READ_LATENCY,
	FB_READ_BANDWIDTH,
	FB_FETCH_ADD,
	FB_COMPARE_SWAP,
	FB_ADD_RATE,
	FB_CONNECT,
	FB_RAMP,
	FB_BARRIER,
	FB_BROADCAST,
	FB_ALLREDUCE,
	FB_ALLGATHER,
	FB_ALLTOALL,
	FB_REDUCE_BROADCAST,
	FB_TEST_COUNT,
};

/* The unit of a test's result. */
enum fb_unit { FB_UNIT_TIME, FB_UNIT_BANDWIDTH, FB_UNIT_RATE };

/* The capability that a test needs of an endpoint besides messages. */
enum fb_need { FB_NEED_NOTHING, FB_NEED_RMA, FB_NEED_ATOMIC, FB_NEED_COLLECTIVE };

struct fb_test_info {
	const char *name;
	const char *what;
	enum fb_unit unit;
	enum fb_need need;
	/* Bytes of a message if the test has one size only, else 0. */
	uint32_t only_bytes;
	/* The test has no payload, so the size list does not apply. */
	bool no_payload;
};

extern const struct fb_test_info fb_tests[FB_TEST_COUNT];

/* Calls that move messages. */
enum fb_call { FB_CALL_AUTO, FB_CALL_TAGGED, FB_CALL_MSG, FB_CALL_COUNT };

/* When the next message of a stream is started. */
enum fb_flow {
	FB_FLOW_SLIDE,  /* as soon as one of the window is complete */
	FB_FLOW_BURST,  /* when the whole window is complete */
	FB_FLOW_ANSWER, /* when the receiver has answered the whole window */
	FB_FLOW_COUNT,
};

enum {
	FB_SIZES_MAX = 64,
	FB_NAME_MAX = 128,
	FB_WINDOW_MAX = 4096,
	FB_THREADS_MAX = 256,
	FB_MEMBERS_MAX = 256,
	FB_IDLE_MAX = 1 << 20,
	FB_BUFFERS_MAX = 1 << 20,
	FB_TIMEOUT_MAX_S = 86400,
};

#define FB_SIZE_MAX     ((uint64_t)1 << 40)
#define FB_COUNT_MAX    ((uint64_t)1 << 40)
#define FB_DURATION_MAX ((uint64_t)86400 * 1000000000u)

struct fb_config {
	uint64_t tests; /* one bit for each enum fb_test */
	uint64_t size[FB_SIZES_MAX];
	uint32_t size_count; /* 0: the default sizes of each test */
	uint32_t type;       /* enum fi_ep_type */
	uint32_t call;       /* enum fb_call */
	uint32_t flow;       /* enum fb_flow */
	uint32_t
		threading; /* enum fi_threading; FI_THREAD_UNSPEC: as threads need it */
	uint32_t threads;  /* of each process, each with an endpoint of its own */
	uint32_t members;  /* processes */
	uint32_t window;   /* messages in flight; 0: chosen by their size */
	uint32_t buffers;  /* for each direction; 0: chosen by the window */
	uint32_t idle;     /* connected peers that are silent */
	uint32_t timeout_s; /* the run fails after this time without progress */
	uint32_t progress;  /* enum fi_progress of data; FI_PROGRESS_UNSPEC: by the
			     * test */
	uint64_t count;     /* messages of each size; 0: as many as duration_ns takes */
	uint64_t batch;     /* messages between two reads of the clock; 0: chosen */
	uint64_t warmup;    /* warm-up messages of each size; 0: chosen by size */
	uint64_t duration_ns; /* measuring time of each size */
	uint8_t inject;
	uint8_t verify;
	uint8_t touch; /* senders write and receivers read every buffer */
	uint8_t sleep; /* blocking reads of the queue */
	uint8_t percentiles;
	uint8_t narrow; /* tests that the endpoint does not have are left out */
	uint8_t shared; /* buffers are in a sealed memory file, which peers may map */
	uint8_t silent; /* the target makes no calls while operations are timed */
	char provider[FB_NAME_MAX], domain[FB_NAME_MAX], fabric[FB_NAME_MAX];
};

void fb_config_init(struct fb_config *config);

/* NULL, or a text that says what is wrong with @config. */
const char *fb_config_check(const struct fb_config *config);

static inline bool fb_config_has(const struct fb_config *config, enum fb_test test)
{
	return config->tests >> test & 1;
}

/* Removes the tests that need the capability @need. */
void fb_config_drop(struct fb_config *config, enum fb_need need);

/* Does any test need the capability @need? */
bool fb_config_needs(const struct fb_config *config, enum fb_need need);

/* Stores the sizes of a test in @sizes; returns their number. */
uint32_t fb_config_sizes(const struct fb_config *config, enum fb_test test,
	uint64_t sizes[FB_SIZES_MAX]);

/* Messages in flight of @bytes each. */
uint32_t fb_config_window(const struct fb_config *config, uint64_t bytes);

/* Messages of each side in an exchange of FB_BURST. */
uint32_t fb_config_burst(const struct fb_config *config);

#endif
