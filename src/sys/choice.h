/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CHOICE_H
#define WF_SYS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Which of several ways to do the same work takes the least time. That depends on the
 * machine, on where threads run and on what else runs there, so it is measured while
 * real work is done: some operations go each way, the medians of their costs are
 * compared, and another way is kept from then on if it is clearly better. After many
 * operations all of that begins again, the first times sooner.
 *
 * A round has the same number of operations, and the same order of ways, whatever is
 * kept. So two processes that answer each other measure the same ways at the same time:
 * each has costs of both directions, which may depend on each other.
 *
 * A choice has one owner, whose lock guards it.
 */
enum {
	WF_CHOICE_WAYS = 2,
	/* Operations that go each way in a round; the first ones find the caches as the
	 * way before left them, and do not count. */
	WF_CHOICE_TRIES = 12,
	WF_CHOICE_SKIPPED = 4,
	WF_CHOICE_SAMPLES = WF_CHOICE_TRIES - WF_CHOICE_SKIPPED,
};

struct wf_choice {
	uint8_t ways;  /* bit mask of the ways; 0: not begun */
	uint8_t kept;  /* the best one at the last comparison */
	uint8_t way;   /* the one that is measured, while not settled */
	uint8_t taken; /* operations that were given @way to be measured */
	uint8_t ended; /* those that are over */
	uint8_t count; /* costs that are known of them */
	bool settled;
	uint16_t left;  /* operations to the next round, while settled */
	uint16_t pause; /* operations between this round and the next one */
	uint64_t cost[WF_CHOICE_SAMPLES]; /* in ascending order */
	uint64_t median[WF_CHOICE_WAYS];  /* of this round; UINT64_MAX: not known */
};

/* Begin with @kept. Only one bit in @ways: nothing is measured. */
void wf_choice_init(struct wf_choice *choice, unsigned int ways, unsigned int kept);

/* The way of an operation that begins. Where many are under way at a time, only as many
 * as are needed go a way that may be worse. */
unsigned int wf_choice_take(struct wf_choice *choice);

/* An operation that went @way is over, at that cost; 0: the cost is not known. True:
 * ways were compared, which may have replaced the one that is kept. */
bool wf_choice_add(struct wf_choice *choice, unsigned int way, uint64_t cost);

#endif
