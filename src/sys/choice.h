/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CHOICE_H
#define WF_SYS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Chooses by measurement which of several ways, that is, methods for the same work,
 * takes the least time. That depends on the machine, on the processors of the threads
 * and on other work there, so real operations are measured: in a round some operations
 * take each way, the medians of their costs are compared, and another way is kept from
 * then on if it is clearly better. After a pause, which grows from round to round, the
 * next round begins.
 *
 * All rounds have the same number of operations and the same order of ways, independent
 * of the way that is kept. So two processes that answer each other measure the same
 * ways at the same time, and each has costs of both directions, which may depend on
 * each other.
 *
 * A choice has one owner, whose lock guards it.
 */
enum {
	WF_CHOICE_WAYS = 2,
	/* Operations that take each way in a round. The first WF_CHOICE_SKIPPED of them
	 * do not count, because the way before has left other data in the caches. */
	WF_CHOICE_TRIES = 12,
	WF_CHOICE_SKIPPED = 4,
	WF_CHOICE_SAMPLES = WF_CHOICE_TRIES - WF_CHOICE_SKIPPED,
};

struct wf_choice {
	uint8_t ways;   /* bit mask of the ways; 0: not begun */
	uint8_t kept;   /* number of the best way at the last comparison */
	uint8_t way;    /* number of the way that is measured, during a round */
	uint8_t taken;  /* operations that began to measure @way */
	uint8_t ended;  /* operations among @taken that have ended */
	uint8_t count;  /* costs in @cost */
	bool settled;   /* no round is under way */
	uint16_t left;  /* operations to the next round, while settled */
	uint16_t pause; /* operations between this round and the next one */
	uint64_t cost[WF_CHOICE_SAMPLES]; /* costs of @way, in ascending order */
	uint64_t
		median[WF_CHOICE_WAYS]; /* by way, in this round; UINT64_MAX: unknown */
};

/* Begin with the way @kept. @ways: bit mask of the possible ways; with one bit only,
 * nothing is measured. */
void wf_choice_init(struct wf_choice *choice, unsigned int ways, unsigned int kept);

/* An operation begins: returns the number of its way. If many operations are under way
 * at the same time, only as many as the measurement needs take a way that may be worse.
 */
unsigned int wf_choice_take(struct wf_choice *choice);

/* An operation that took @way has ended with @cost, in a unit of the owner's choice; 0:
 * the cost is not known. True: ways were compared, and another way may be kept now. */
bool wf_choice_add(struct wf_choice *choice, unsigned int way, uint64_t cost);

#endif
