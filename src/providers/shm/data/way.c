/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/way.h"

#include <stdlib.h>

#include "providers/shm/data/bulk.h"
#include "sys/choice.h"
#include "sys/clock.h"

enum {
	/* Classes of lengths: each one ends below twice the length with which it
	 * begins; the last one has no end. */
	MEASURED_MIN = 8 << 10,
	CLASSES = 10,
	/* The first class in which copies by the kernel mostly take less time. */
	SHARED_CLASS = 5,
};

struct shm_ways {
	/* The last message that ended, if its class is measured. */
	uint64_t ended_ns;
	uint8_t class;
	uint8_t way;
	struct wf_choice choice[CLASSES];
};

/* Class of the length @len, which is MEASURED_MIN or more. */
static unsigned int class_of(uint64_t len)
{
	unsigned int class = 63 - (unsigned int)__builtin_clzll(len / MEASURED_MIN);

	return WF_MIN(class, CLASSES - 1u);
}

static struct wf_choice *choice_of(struct shm_conn *conn, uint64_t len, bool may_read)
{
	unsigned int ways = 1u << SHM_WAY_LANE, class = class_of(len);
	unsigned int kept = SHM_WAY_LANE;
	struct wf_choice *choice;

	if (may_read) {
		ways |= 1u << SHM_WAY_SHARE;
		kept = class < SHARED_CLASS ? SHM_WAY_LANE : SHM_WAY_SHARE;
	}
	if (!conn->ways)
		conn->ways = calloc(1, sizeof(*conn->ways));
	if (!conn->ways)
		return NULL; /* no memory: measurements can wait */
	choice = &conn->ways->choice[class];
	if (choice->ways != ways)
		wf_choice_init(choice, ways, kept);
	return choice;
}

void shm_way_begin(struct shm_sink *sink, bool may_read)
{
	static const uint8_t forced[] = {
		[SHM_COPY_RING] = SHM_WAY_LANE,
		[SHM_COPY_READ] = SHM_WAY_READ,
		[SHM_COPY_BOTH] = SHM_WAY_SHARE,
	};
	uint64_t len = shm_bulk_len(sink);
	struct wf_choice *choice;

	sink->way = SHM_WAY_LANE;
	if (shm_params.cma_size != SIZE_MAX) {
		if (may_read && sink->len >= shm_params.cma_size)
			sink->way = SHM_WAY_READ;
		return;
	}
	if (shm_params.copy != SHM_COPY_AUTO) {
		if (may_read)
			sink->way = forced[shm_params.copy];
		return;
	}
	if (!shm_params.measure_copies || len < MEASURED_MIN)
		return;
	choice = choice_of(sink->conn, len, may_read);
	if (!choice)
		return;
	sink->way = (uint8_t)wf_choice_take(choice);
	sink->measured = true;
}

static void tell(
	const struct shm_conn *conn, const struct wf_choice *choice, unsigned int class)
{
	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"messages of %llu bytes and more from %s come %s (ns from one to the "
		"next: %llu by shared memory, %llu by the kernel)\n",
		(unsigned long long)MEASURED_MIN << class, shm_conn_name(conn),
		choice->kept == SHM_WAY_SHARE ? "from memory to memory"
					      : "by shared memory",
		(unsigned long long)choice->median[SHM_WAY_LANE],
		(unsigned long long)choice->median[SHM_WAY_SHARE]);
}

void shm_way_end(struct shm_sink *sink)
{
	struct shm_conn *conn = sink->conn;
	unsigned int class;
	/* A message for which the lane was chosen may have been read in the end,
	 * because the sender did not begin: its time is what the choice cost. */
	uint8_t way = sink->way;
	struct shm_ways *ways = conn->ways;
	uint64_t now, cost = 0;

	if (!sink->measured || !ways)
		return;
	class = class_of(shm_bulk_len(sink));
	now = wf_now_ns();
	if (ways->ended_ns && ways->class == class && ways->way == way)
		cost = now - ways->ended_ns + 1;
	if (wf_choice_add(&ways->choice[class], way, cost) && cost)
		tell(conn, &ways->choice[class], class);
	ways->ended_ns = now;
	ways->class = (uint8_t) class;
	ways->way = way;
}
