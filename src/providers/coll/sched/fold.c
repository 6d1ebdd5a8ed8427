/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/sched/fold.h"
#include "sys/compiler.h"

uint32_t coll_fold_rank(const struct coll_fold *fold, uint32_t slot)
{
	uint32_t number = slot < fold->rest ? 2 * slot : slot + fold->rest;

	return coll_after(fold->root, number, fold->members);
}

uint32_t coll_fold_partner(const struct coll_fold *fold)
{
	return coll_after(fold->root, fold->number ^ 1, fold->members);
}

/* The second member of a pair stands aside, so the root never does. */
struct coll_fold coll_fold(struct coll_build *b, size_t count, uint32_t root, char *acc)
{
	const struct coll_args *args = b->args;
	struct coll_fold fold = {
		.root = root,
		.members = args->members,
		.slots = 1,
		.number = coll_before(args->rank, root, args->members),
		.count = count,
		.cur = args->buf,
		.acc = acc,
	};
	struct coll_exchange x = { .out = fold.cur, .own = fold.cur, .dst = acc };

	while (fold.slots <= args->members / 2)
		fold.slots *= 2;
	fold.rest = args->members - fold.slots;
	if (fold.number >= 2 * fold.rest) {
		fold.slot = fold.number - fold.rest;
		return fold;
	}
	fold.slot = fold.number / 2;
	fold.aside = fold.number % 2;
	x.peer = coll_fold_partner(&fold);
	if (fold.aside) {
		x.out_count = count;
	} else {
		x.in_count = count;
		fold.cur = acc;
	}
	coll_exchange(b, &x);
	return fold;
}

size_t coll_fold_part(const struct coll_fold *fold, bool by_rank, uint32_t slot)
{
	if (by_rank)
		return fold->count / fold->members * (slot + WF_MIN(slot, fold->rest));
	return coll_part(fold->count, fold->slots, slot);
}

void coll_fold_halve(struct coll_build *b, struct coll_fold *fold, bool by_rank)
{
	size_t size = b->args->size;
	uint32_t low = 0; /* this member reduces parts @low to @low + 2 * @half */

	for (uint32_t half = fold->slots / 2; half; half /= 2) {
		bool upper = fold->slot & half;
		uint32_t keep = upper ? low + half : low,
			 give = upper ? low : low + half;
		size_t kept = coll_fold_part(fold, by_rank, keep),
		       given = coll_fold_part(fold, by_rank, give);
		struct coll_exchange x = {
			.peer = coll_fold_rank(fold, fold->slot ^ half),
			.out = fold->cur + given * size,
			.out_count = coll_fold_part(fold, by_rank, give + half) - given,
			.in_count = coll_fold_part(fold, by_rank, keep + half) - kept,
			.own = fold->cur + kept * size,
			.dst = fold->acc + kept * size,
			.own_second = upper,
		};

		coll_exchange(b, &x);
		fold->cur = fold->acc;
		low = keep;
	}
}

void coll_fold_gather(struct coll_build *b, const struct coll_fold *fold)
{
	size_t size = b->args->size;

	for (uint32_t step = 1; step < fold->slots; step *= 2) {
		uint32_t mine = fold->slot & ~(step - 1), theirs = mine ^ step,
			 peer = coll_fold_rank(fold, fold->slot ^ step);
		size_t begin = coll_fold_part(fold, false, theirs),
		       end = coll_fold_part(fold, false, theirs + step);

		coll_recv(b, peer, fold->acc + begin * size, (end - begin) * size);
		begin = coll_fold_part(fold, false, mine);
		end = coll_fold_part(fold, false, mine + step);
		coll_send(b, peer, fold->acc + begin * size, (end - begin) * size);
		coll_wait(b);
	}
}

void coll_fold_return(struct coll_build *b, const struct coll_fold *fold)
{
	size_t len = fold->count * b->args->size;

	if (fold->number >= 2 * fold->rest)
		return;
	if (fold->aside)
		coll_recv(b, coll_fold_partner(fold), fold->acc, len);
	else
		coll_send(b, coll_fold_partner(fold), fold->acc, len);
}
