/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CHOICE_H
#define WF_SYS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Chooses by measurement which of several methods for the same work
 * takes the least time. That depends on the machine, on the processors of the threads
 * and on other work there, so real operations are measured: in a round some operations
 * take each method, their costs are compared, and another method is kept from then on
 * if it is clearly better, or a little better in two rounds one after the other. After
 * a pause, which grows from round to round, the next round begins.
 *
 * Where several operations are under way at a time, the cost of a single one says
 * little: two may end one soon after the other, and the next one much later. So
 * operations are measured in groups, and the medians of the groups are compared. All
 * operations that begin while a method is measured take that method, and they count
 * while no operation of another method is under way.
 *
 * All rounds have the same number of operations and the same order of methods,
 * independent of the method that is kept. So two processes that answer each other
 * measure the same methods at the same time, and each has costs of both directions,
 * which may depend on each other.
 *
 * A choice has one owner, whose lock guards it.
 */
enum {
	WF_CHOICE_METHODS = 2,
	/* Operations at the beginning of each measurement that do not count: operations
	 * of the method before are under way, or have left other data in the caches. */
	WF_CHOICE_SKIPPED = 4,
	WF_CHOICE_GROUP = 4, /* operations in a group */
	WF_CHOICE_GROUPS_MAX = 4,
};

struct wf_choice {
	uint8_t methods; /* bit mask of the methods; 0: not begun */
	uint8_t groups;  /* groups that each method is measured by */
	uint8_t kept;    /* number of the best method at the last comparison */
	uint8_t method;  /* number of the method that is measured, during a round */
	uint8_t ended;   /* operations of @method that have ended */
	uint8_t count;   /* groups in @cost */
	bool settled;    /* no round is under way */
	bool incomplete; /* a cost of the group is not known */
	/* The other method that was a little better in the last round, plus 1; 0: none.
	 */
	uint8_t doubt;
	uint16_t unended[WF_CHOICE_METHODS]; /* operations that have not ended, by
						  method */
	uint16_t left;  /* operations to the next round, while settled */
	uint16_t pause; /* operations between this round and the next one */
	uint64_t sum;   /* costs of the group that is measured */
	uint64_t cost[WF_CHOICE_GROUPS_MAX]; /* costs of groups, in ascending order */
	/* Cost of one operation by method, in this round; UINT64_MAX: unknown. */
	uint64_t median[WF_CHOICE_METHODS];
};

/* Begin with the method @kept. @choice is zero, or in use with other methods, which
 * operations may still be under way by. @methods: bit mask of the possible methods;
 * with one bit only, nothing is measured. @groups: from 1 to WF_CHOICE_GROUPS_MAX; less
 * than that for operations that take long. */
void wf_choice_init(struct wf_choice *choice, unsigned int methods, unsigned int kept,
	unsigned int groups);

/* An operation begins: returns the number of its method. wf_choice_add follows. */
static inline unsigned int wf_choice_take(struct wf_choice *choice)
{
	unsigned int method = choice->settled ? choice->kept : choice->method;

	choice->unended[method]++;
	return method;
}

/* An operation that took @method has ended with @cost, in a unit of the owner's choice;
 * 0: the cost is not known. True: methods were compared, and another method may be kept
 * now. */
bool wf_choice_add(struct wf_choice *choice, unsigned int method, uint64_t cost);

#endif
