/* SPDX-License-Identifier: BSD-2-Clause */
/* RMA and atomics on regions in memory that processes can share, by whatever system
 * call it was made: a provider may map it into the peer. */
#include "suites.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>

enum { LEN = 1 << 16, ROUNDS = 60, PIECE = 200 };

/* A file whose size is sealed, one that may shrink, a file and a segment whose handles
 * are gone, and memory without either. */
enum kind { SEALED, LOOSE, CLOSED, SYSV, ANONYMOUS, KINDS };

/* The descriptor of a file that stays open; -1: there is none. */
static int file = -1;

static void *map_file(enum kind kind)
{
	int fd = memfd_create("rma_shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void *mem;

	CHECK(fd >= 0);
	CHECK(!ftruncate(fd, LEN));
	if (kind != LOOSE)
		CHECK(!fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK));
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(mem != MAP_FAILED);
	if (kind == CLOSED)
		(void)close(fd);
	else
		file = fd;
	return mem;
}

static void *attach_segment(void)
{
	int id = shmget(IPC_PRIVATE, LEN, IPC_CREAT | 0600);
	void *mem;

	if (id < 0)
		SKIP("no System V segments here");
	mem = shmat(id, NULL, 0);
	CHECK(!shmctl(id, IPC_RMID, NULL));
	CHECK(mem != (void *)-1);
	return mem;
}

static void *memory(enum kind kind)
{
	void *mem;

	if (kind == SYSV)
		return attach_segment();
	if (kind != ANONYMOUS)
		return map_file(kind);
	mem = mmap(
		NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(mem != MAP_FAILED);
	return mem;
}

static bool is_shm(void)
{
	return !strcmp(cf_target.provider, "shm");
}

/* An operation that the target has no part in takes effect without its progress. It may
 * take some operations and some progress until one does. */
static void becomes_direct(struct cf_side *from, const struct cf_region *region)
{
	volatile uint64_t *there = (volatile uint64_t *)(void *)region->bytes;
	uint64_t deadline = cf_now_ms() + CF_TIMEOUT_MS, value = 1;

	do {
		for (int i = 0; i < 100; i++)
			cf_progress();
		value++;
		CHECK(cf_now_ms() < deadline);
		CF_RETRY(from->tx_cq, fi_inject_write(from->ep, &value, sizeof(value),
					      from->peer, region->addr, region->key));
	} while (*there != value);
}

static void one_round(struct cf_side *from, const struct cf_region *region, uint64_t i)
{
	uint8_t out[PIECE], in[PIECE];
	struct fi_context2 context;
	uint64_t at = PIECE + i * 991 % (LEN - 2 * PIECE), found, add = i;

	cf_fill(out, sizeof(out), (unsigned int)i);
	CF_RETRY(from->tx_cq, fi_write(from->ep, out, sizeof(out), NULL, from->peer,
				      region->addr + at, region->key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CF_RETRY(from->tx_cq, fi_read(from->ep, in, sizeof(in), NULL, from->peer,
				      region->addr + at, region->key, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	cf_verify(in, sizeof(in), (unsigned int)i);
	cf_verify(region->bytes + at, sizeof(in), (unsigned int)i);
	CF_RETRY(from->tx_cq,
		fi_fetch_atomic(from->ep, &add, 1, NULL, &found, NULL, from->peer,
			region->addr + 8, region->key, FI_UINT64, FI_SUM, &context));
	(void)cf_cq_wait_for(from->tx_cq, &context);
	CHECK_EQ(found, i * (i - 1) / 2);
}

static void each_kind(enum kind kind)
{
	struct cf_options options = { .caps = FI_MSG | FI_RMA | FI_ATOMIC,
		.split_cqs = true,
		.adjust = cf_delivered };
	struct fi_cq_err_entry err = { 0 };
	struct cf_region region;
	struct cf_env env;
	struct cf_side *from = &env.side[0];
	uint64_t one = 1;
	void *mem = memory(kind);

	cf_open_pair(&env, &options);
	cf_open_region(&env, 1, &region, mem, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE);
	for (uint64_t i = 1; i <= ROUNDS; i++)
		one_round(from, &region, i);
	if (is_shm() && (kind == SEALED || kind == SYSV))
		becomes_direct(from, &region);
	for (uint64_t i = 1; i <= ROUNDS; i++) {
		if (i == 1)
			memset(region.bytes, 0, LEN);
		one_round(from, &region, i);
	}
	cf_exchange(&env, 64);
	memset(region.bytes, 0, LEN);
	CF_CLOSE(region.mr);
	if (is_shm()) {
		CF_RETRY(from->tx_cq, fi_inject_write(from->ep, &one, 8, from->peer,
					      region.addr, region.key));
		cf_cq_wait_err(from->tx_cq, &err);
		CHECK(err.err > 0);
	}
	for (size_t i = 0; i < LEN; i++)
		CHECK_EQ(((uint8_t *)mem)[i], 0);
	cf_close_region(&region);
	cf_close(&env);
	if (kind == SYSV)
		(void)shmdt(mem);
	else
		(void)munmap(mem, LEN);
	if (file >= 0)
		(void)close(file);
	file = -1;
}

static void memory_of_a_sealed_file(void)
{
	each_kind(SEALED);
}

static void memory_of_a_file_that_may_shrink(void)
{
	each_kind(LOOSE);
}

static void memory_of_a_file_that_was_closed(void)
{
	each_kind(CLOSED);
}

static void memory_of_a_segment(void)
{
	each_kind(SYSV);
}

static void memory_without_a_file(void)
{
	each_kind(ANONYMOUS);
}

CF_SUITE(rma_shared,
	CF_CASE(memory_of_a_sealed_file, "RMA-006 MR-031", FI_MSG | FI_RMA | FI_ATOMIC),
	CF_CASE(memory_of_a_file_that_may_shrink, "RMA-006 MR-031",
		FI_MSG | FI_RMA | FI_ATOMIC),
	CF_CASE(memory_of_a_file_that_was_closed, "RMA-006 MR-031",
		FI_MSG | FI_RMA | FI_ATOMIC),
	CF_CASE(memory_of_a_segment, "RMA-006 MR-031", FI_MSG | FI_RMA | FI_ATOMIC),
	CF_CASE(memory_without_a_file, "RMA-006 MR-031", FI_MSG | FI_RMA | FI_ATOMIC));
