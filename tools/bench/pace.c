/* SPDX-License-Identifier: BSD-2-Clause */
#include "pace.h"
#include "../clock.h"
#include "median.h"
#include "say.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCHES = 101, BATCH = 100, CORES_MAX = 64 };

static double pace_batch_ns(void)
{
	uint64_t start = tool_now_ns();

	for (int i = 0; i < BATCH; i++)
		__asm__ volatile(".rept 1000\n\tnop\n\t.endr");
	return (double)(tool_now_ns() - start) / BATCH;
}

/* The median of some batches, which an interrupt does not change. 0: this process may
 * not run there. */
static double pace_ns(uint32_t core)
{
	double ns[BATCHES];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 0;
	for (int i = 0; i < BATCHES; i++)
		ns[i] = pace_batch_ns();
	return fb_median(ns, BATCHES);
}

void fb_paces_init(
	struct fb_paces *paces, uint32_t rounds, const struct fb_cores cores[2])
{
	*paces = (struct fb_paces){ .rounds = rounds };
	paces->core = fb_alloc(CORES_MAX, sizeof(*paces->core));
	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < cores[side].count; i++)
			if (paces->cores < CORES_MAX)
				paces->core[paces->cores++] = cores[side].core[i];
	paces->best = fb_alloc(CORES_MAX, sizeof(*paces->best));
	paces->worst = fb_alloc((size_t)rounds * CORES_MAX, sizeof(*paces->worst));
}

void fb_paces_done(struct fb_paces *paces)
{
	free(paces->core);
	free(paces->best);
	free(paces->worst);
}

static double *pace_worst_of(const struct fb_paces *paces, uint32_t round)
{
	return &paces->worst[(size_t)round * paces->cores];
}

void fb_paces_sample(struct fb_paces *paces, uint32_t round)
{
	double *worst = pace_worst_of(paces, round);
	cpu_set_t before;

	if (!paces->cores || sched_getaffinity(0, sizeof(before), &before))
		return;
	for (uint32_t i = 0; i < paces->cores; i++) {
		double ns = pace_ns(paces->core[i]);

		if (ns > worst[i])
			worst[i] = ns;
		if (ns > 0 && (ns < paces->best[i] || !(paces->best[i] > 0)))
			paces->best[i] = ns;
	}
	(void)sched_setaffinity(0, sizeof(before), &before);
}

bool fb_paces_quiet(const struct fb_paces *paces, uint32_t round)
{
	const double *worst = pace_worst_of(paces, round);

	for (uint32_t i = 0; i < paces->cores; i++)
		if (worst[i] > 1.1 * paces->best[i])
			return false;
	return true;
}

void fb_paces_describe(const struct fb_paces *paces)
{
	double least = 0, most = 0;
	uint32_t quiet = 0;

	for (uint32_t round = 0; round < paces->rounds; round++)
		quiet += fb_paces_quiet(paces, round);
	for (uint32_t i = 0; i < paces->cores; i++) {
		if (paces->best[i] > least)
			least = paces->best[i];
		for (uint32_t round = 0; round < paces->rounds; round++)
			if (pace_worst_of(paces, round)[i] > most)
				most = pace_worst_of(paces, round)[i];
	}
	printf("# quiet: the ratio of the %u rounds in which no other work slowed down "
	       "the processors\n# (1000 instructions that do nothing: %.1f ns, and up "
	       "to %.1f)\n",
		quiet, least, most);
}
