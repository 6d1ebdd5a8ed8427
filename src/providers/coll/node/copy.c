/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/node/copy.h"

#include "sys/compiler.h"

enum {
	SIZE_MIN =
		/* Lower limit of the first class; that of each next class is four times
		 * larger. */
	128 << 10,
	/* Number of slot uses after publication from which all members see a choice: a
	 * member can begin a use only when the first member has ended that of
	 * COLL_SLOTS before (coll_is_free), or reads from a member that could. */
	USES_TO_SEE = 2 * COLL_SLOTS,
};

int coll_copy_class(const struct coll_plan *plan)
{
	size_t most = (size_t)SIZE_MIN * 4;
	int size = 0, kind;

	switch (plan->kind) {
	case FI_ALLREDUCE:
		kind = 0;
		break;
	case FI_REDUCE_SCATTER:
		kind = 1;
		break;
	case FI_ALLGATHER:
		kind = 2;
		break;
	case FI_ALLTOALL:
		kind = 3;
		break;
	default:
		return -1;
	}
	for (; size < COLL_COPY_SIZES - 1 && plan->part >= most; most *= 4)
		size++;
	return kind * COLL_COPY_SIZES + size;
}

/* A choice as one word: the slot use from which it is valid, the previous choice, and
 * the choice. */
static uint64_t copy_choice_of(uint64_t from, enum coll_copy before, enum coll_copy now)
{
	return from << 2 | (uint64_t)before << 1 | (uint64_t)now;
}

static enum coll_copy copy_choice_at(uint64_t choice, uint64_t use)
{
	return (enum coll_copy)(use >= choice >> 2 ? choice & 1 : choice >> 1 & 1);
}

bool coll_copy_is_direct(const struct coll_node *node, int copy_class)
{
	uint64_t choice;

	if (copy_class < 0)
		return true;
	/* Pairs with coll_copy_publish. */
	choice = atomic_load_explicit(
		&node->segment[0]->choice[copy_class], memory_order_acquire);
	return copy_choice_at(choice, node->base) == COLL_COPY_DIRECT;
}

void coll_copy_publish(struct coll_node *node, int copy_class, enum coll_copy copy)
{
	_Atomic uint64_t *choice = &node->own->choice[copy_class];
	uint64_t before = atomic_load_explicit(choice, memory_order_relaxed);

	atomic_store_explicit(choice,
		copy_choice_of(node->next + USES_TO_SEE,
			copy_choice_at(before, node->next), copy),
		memory_order_release);
}

bool coll_copy_is_in_force(const struct coll_node *node, int copy_class)
{
	uint64_t from = atomic_load_explicit(
				&node->own->choice[copy_class], memory_order_relaxed) >>
			2;

	for (uint32_t i = 0; i < node->members; i++)
		/* Pairs with coll_set_done. */
		if (atomic_load_explicit(
			    &node->segment[i]->done, memory_order_acquire) < from)
			return false;
	return true;
}

void coll_copy_init(struct coll_node *node)
{
	for (int i = 0; i < COLL_COPY_CLASSES; i++)
		atomic_init(&node->own->choice[i],
			copy_choice_of(0, COLL_COPY_DIRECT,
				node->copy == COLL_COPY_SEGMENT ? COLL_COPY_SEGMENT
								: COLL_COPY_DIRECT));
}
