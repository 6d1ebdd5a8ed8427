/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/algorithms.h"
#include "providers/coll/sched/fold.h"
#include "providers/coll/sched/ring.h"

static bool allreduce_fold_all(struct coll_build *b, struct coll_fold *ret_fold)
{
	const struct coll_args *args = b->args;
	char *none;

	if (!coll_temp(b, 0, coll_exchange_piece(args, args->count), &none))
		return false;
	*ret_fold = coll_fold(b, args->count, 0, args->result);
	return true;
}

void coll_allreduce_doubling(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	struct coll_fold fold;

	if (!allreduce_fold_all(b, &fold))
		return;
	for (uint32_t step = 1; step < fold.slots && !fold.aside; step *= 2) {
		struct coll_exchange x = {
			.peer = coll_fold_rank(&fold, fold.slot ^ step),
			.out = fold.cur,
			.out_count = args->count,
			.in_count = args->count,
			.own = fold.cur,
			.dst = fold.acc,
			.own_second = fold.slot & step,
		};

		coll_exchange(b, &x);
		fold.cur = fold.acc;
	}
	coll_fold_return(b, &fold);
}

/* Rabenseifner: scatter the parts of the result, then gather them at all members. */
void coll_allreduce_rabenseifner(struct coll_build *b)
{
	struct coll_fold fold;

	if (!allreduce_fold_all(b, &fold))
		return;
	if (!fold.aside) {
		coll_fold_halve(b, &fold, false);
		coll_fold_gather(b, &fold);
	}
	coll_fold_return(b, &fold);
}

void coll_allreduce_ring(struct coll_build *b)
{
	const struct coll_args *args = b->args;
	char *none, *all = args->result;
	uint32_t last = coll_after(args->rank, 1, args->members);

	if (!coll_temp(b, 0, coll_ring_piece(args, args->count, args->members), &none))
		return;
	coll_ring_reduce(b, args->result);
	coll_ring_gather(b, args->count, 1,
		all + coll_part(args->count, args->members, last) * args->size);
}
