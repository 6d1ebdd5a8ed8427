/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CHOICE_H
#define WF_SYS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Chooses by measurement which of several methods for the same work takes the least
 * time. That depends on the machine, on the processors of the threads and on other work
 * there, so real operations are measured: in a round some operations take each method,
 * the medians of their costs are compared, each as a mean of some rounds, and another
 * method is kept from then on if it is clearly better. After a pause the next round
 * begins. The first rounds come soon one after the other, since pages and caches are
 * filled meanwhile; then the pauses grow.
 *
 * While one operation ends before the next one begins, all rounds have the same number
 * of operations and the same order of methods, independent of the method that is kept.
 * So two processes that answer each other measure the same methods at the same time,
 * and each has costs of both directions, which may depend on each other.
 *
 * A choice has one owner, whose lock guards it.
 */
enum {
	WF_CHOICE_METHODS = 3,
	/* Operations that take each method in a round. The first WF_CHOICE_SKIPPED of
	 * them, or as many as wf_choice_skip says, do not count, because the method
	 * before has left other data in the caches. */
	WF_CHOICE_TRIES = 12,
	WF_CHOICE_SKIPPED = 4,
	WF_CHOICE_SKIPPED_MAX = 128,
	WF_CHOICE_SPAN_MAX = 64,
	WF_CHOICE_EARLY = 4, /* rounds that begin after the shortest pause */
	WF_CHOICE_SAMPLES = WF_CHOICE_TRIES - WF_CHOICE_SKIPPED,
};

struct wf_choice {
	uint8_t methods; /* bit mask of the methods; 0: not begun */
	uint8_t kept;    /* number of the best method at the last comparison */
	uint8_t method;  /* number of the method that is measured, during a round */
	uint8_t ended;  /* operations that took @method and have ended, in this trial */
	uint8_t count;  /* costs in @cost */
	uint8_t rounds; /* rounds so far with the one to come, up to WF_CHOICE_EARLY */
	bool settled;   /* no round is under way */
	bool again;     /* this trial is measured for the second time */
	/* Operations of a trial that do not count, by method. */
	uint8_t skipped[WF_CHOICE_METHODS];
	/* Operations that have begun and have not ended, up to WF_CHOICE_SPAN_MAX, and
	 * the most of them since a trial began. */
	uint16_t pending, most;
	/* Operations that were under way together before the trial. Some or all of them
	 * may end together, so an owner measures the time in which this many end. */
	uint16_t span;
	/* Operations that have still to end before the trial counts. */
	uint16_t before;
	uint32_t round; /* operations of this round, or of the last one */
	uint32_t left;  /* operations to the next round, while settled */
	uint32_t pause; /* operations between this round and the next one */
	/* Costs of @method in this round, in ascending order. */
	uint64_t cost[WF_CHOICE_SAMPLES];
	/* Median cost in this round, by method; UINT64_MAX: not known. */
	uint64_t median[WF_CHOICE_METHODS];
	/* Mean of the medians of the last rounds, by method; UINT64_MAX: not known. */
	uint64_t mean[WF_CHOICE_METHODS];
	/* Rounds that the mean is made of, by method; 0: of the first round alone. */
	uint8_t averaged[WF_CHOICE_METHODS];
};

/* Begin with the method @kept. @methods: bit mask of the possible methods; with one bit
 * only, nothing is measured. */
void wf_choice_init(struct wf_choice *choice, unsigned int methods, unsigned int kept);

/* The first @count operations of each trial of @method do not count, at most
 * WF_CHOICE_SKIPPED_MAX. */
void wf_choice_skip(struct wf_choice *choice, unsigned int method, unsigned int count);

/* What follows cannot be compared with what was measured in this round: if one is under
 * way, it ends without a comparison, and the next one begins after a pause. */
void wf_choice_interrupt(struct wf_choice *choice);

/* An operation begins: returns the number of its method. During a trial all operations
 * take the method that is measured, since those that are under way at the same time
 * share the processors. */
unsigned int wf_choice_take(struct wf_choice *choice);

/* The method that the next operation takes. */
static inline unsigned int wf_choice_method(const struct wf_choice *choice)
{
	return choice->settled ? choice->kept : choice->method;
}

/* What the last rounds say that @method costs; 0: it was not measured. */
static inline unsigned long long wf_choice_cost(
	const struct wf_choice *choice, unsigned int method)
{
	return choice->mean[method] == UINT64_MAX ? 0 : choice->mean[method];
}

/* An operation that took @method has ended with @cost, in a unit of the owner's choice;
 * 0: the cost is not known. True: methods were compared, and another method may be kept
 * now. */
bool wf_choice_add(struct wf_choice *choice, unsigned int method, uint64_t cost);

#endif
