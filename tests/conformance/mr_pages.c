/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Without FI_MR_ALLOCATED a registration is about a range of addresses: its pages may
 * come later, and be replaced by others.
 */
#include <sys/mman.h>

#include "suites.h"

enum { LEN = 1 << 20 };

/* No FI_MR_ALLOCATED among the modes, and writes whose completion means that the
 * target's memory holds the data. */
static void not_allocated(struct fi_info *hints)
{
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_LOCAL;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static const struct cf_options options = {
	.caps = FI_RMA, .split_cqs = true, .adjust = not_allocated
};

static uint8_t *map(void *at, int access, int flags)
{
	uint8_t *bytes =
		mmap(at, LEN, access, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(bytes != MAP_FAILED);
	return bytes;
}

/* Write to the start of the region and read it back, in small and in large. */
static void check_access(
	struct cf_env *env, struct cf_region *region, unsigned int seed)
{
	static const size_t sizes[] = { 100, LEN };
	struct cf_side *from = &env->side[0];
	struct fi_context2 context;
	uint8_t *local = malloc(LEN);

	CHECK(local);
	for (size_t i = 0; i < CF_COUNT(sizes); i++) {
		cf_fill(local, sizes[i], seed);
		CF_RETRY(from->tx_cq,
			fi_write(from->ep, local, sizes[i], NULL, from->peer,
				region->addr, region->key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
		cf_verify(region->bytes, sizes[i], seed);
		cf_fill(region->bytes, sizes[i], seed + 1);
		CF_RETRY(from->tx_cq,
			fi_read(from->ep, local, sizes[i], NULL, from->peer,
				region->addr, region->key, &context));
		(void)cf_cq_wait_for(from->tx_cq, &context);
		cf_verify(local, sizes[i], seed + 1);
	}
	free(local);
}

static void pages_come_after_the_registration(void)
{
	struct cf_region region;
	struct cf_env env;
	uint8_t *bytes;

	if (!cf_offers(&options))
		SKIP("FI_MR_ALLOCATED is needed");
	bytes = map(NULL, PROT_NONE, MAP_NORESERVE);
	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, bytes, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	(void)map(bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
	check_access(&env, &region, 1);
	cf_close_region(&region);
	cf_close(&env);
	CHECK_OK(munmap(bytes, LEN));
}

/* Registered again at the same address, too, where pages that a provider remembers from
 * the first time would be others than the region's. */
static void replaced_pages_are_the_ones_accessed(void)
{
	struct cf_region region;
	struct cf_env env;
	uint8_t *bytes;

	if (!cf_offers(&options))
		SKIP("FI_MR_ALLOCATED is needed");
	bytes = map(NULL, PROT_READ | PROT_WRITE, 0);
	cf_open_pair(&env, &options);
	for (unsigned int round = 0; round < 3; round++) {
		cf_open_region(
			&env, 1, &region, bytes, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
		check_access(&env, &region, round);
		(void)map(bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
		check_access(&env, &region, round + 3);
		cf_close_region(&region);
		(void)map(bytes, PROT_READ | PROT_WRITE, MAP_FIXED);
	}
	cf_close(&env);
	CHECK_OK(munmap(bytes, LEN));
}

CF_SUITE(mr_pages, CF_CASE(pages_come_after_the_registration, "MR-013", FI_RMA),
	CF_CASE(replaced_pages_are_the_ones_accessed, "MR-013 MR-054", FI_RMA));
