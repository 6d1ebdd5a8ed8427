/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_UNIT_SHM_KERNEL_COPY_H
#define WF_TESTS_UNIT_SHM_KERNEL_COPY_H

/* For tests of large reads and writes that the kernel copies: the test is the peer, in
 * the same process. */
#include "conn_fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "providers/shm/data/bulk.h"
#include "providers/shm/data/put.h"

enum {
	LARGE = 100 << 10,
	PIECE = 52 << 10, /* half of it, in whole pages */
	ID = 5,
	TOKEN = 3,
	AT = 1000, /* of the access, in the region */
};

static uint8_t local[LARGE], other[LARGE];

static inline void allow(struct pair *p)
{
	if (!pair_may_attach(p))
		skip();
	p->conn->cma = true;
	p->conn->copies = true;
	fill(local, LARGE, 9);
	memset(other, 0xee, sizeof(other));
	memset(p->region, 0xee, sizeof(p->region));
}

/* All bytes of @mem from @from to @to are those of allow(). */
static inline void assert_untouched(const uint8_t *mem, size_t from, size_t to)
{
	for (size_t at = from; at < to; at++)
		assert_int_equal(mem[at], 0xee);
}

/* Start a write from, or a read into, two buffers of @mem that are LARGE bytes in all,
 * copied as @copy says, and get the record that asks for it. */
static inline struct shm_record start_access(
	struct pair *p, enum shm_kind kind, uint8_t *mem, int copy)
{
	struct iovec iov[] = { { mem, 1000 }, { mem + 1000, LARGE - 1000 } };
	struct fi_rma_iov seg = { AT, LARGE, KEY };
	struct fi_msg_rma msg = { .msg_iov = iov,
		.iov_count = 2,
		.addr = p->addr,
		.rma_iov = &seg,
		.rma_iov_count = 1,
		.context = mem };

	shm_params.copy = copy;
	assert_int_equal(kind == SHM_REC_PUT ? fi_writemsg(p->ep, &msg, FI_COMPLETION)
					     : fi_readmsg(p->ep, &msg, FI_COMPLETION),
		0);
	shm_params.copy = SHM_COPY_AUTO;
	return peer_expect(p, kind);
}

static inline void assert_segment(const void *seg)
{
	const struct fi_rma_iov want = { AT, LARGE, KEY };

	assert_memory_equal(seg, &want, sizeof(want));
}

static inline void expect_error(struct pair *p, uint64_t word, uint32_t err)
{
	struct shm_record rec = peer_expect(p, SHM_REC_ERROR);
	uint32_t code;

	assert_int_equal(rec.word, word);
	memcpy(&code, rec.blob, sizeof(code));
	assert_int_equal(code, err);
}

static inline uint64_t expect_clearance(struct pair *p, uint64_t id)
{
	struct shm_record rec = peer_expect(p, SHM_REC_CTS);
	uint64_t sink;

	assert_int_equal(rec.word, id);
	memcpy(&sink, rec.blob, sizeof(sink));
	return sink;
}

static inline struct shm_share expect_share(struct pair *p, uint64_t id)
{
	struct shm_record rec = peer_expect(p, SHM_REC_SHARE);
	struct shm_share share;

	assert_int_equal(rec.word, id);
	assert_int_equal(rec.len, sizeof(share));
	memcpy(&share, rec.blob, sizeof(share));
	return share;
}

static inline void stream_local(struct pair *p, uint64_t sink)
{
	for (size_t at = 0; at < LARGE; at += LARGE / 4)
		peer_record(p, SHM_REC_DATA, 0, sink, local + at, LARGE / 4);
}

/* Expect the payload @from as a stream to @word. */
static inline void expect_stream(struct pair *p, uint64_t word, const uint8_t *from)
{
	struct shm_record rec;

	for (size_t got = 0; got < LARGE; got += rec.len) {
		rec = peer_expect(p, SHM_REC_DATA);
		assert_int_equal(rec.word, word);
		assert_memory_equal(rec.blob, from + got, rec.len);
		peer_tell(p);
		pair_progress(p);
	}
}

#endif
