/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SHM_REMOTE_FIXTURE_H
#define TESTS_UNIT_SHM_REMOTE_FIXTURE_H

/* A peer with a table of published regions, and operations on its memory. The test is
 * the peer, in the same process, and writes its table. */
#include "conn_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "providers/shm/proto/remote_op.h"
#include "providers/shm/proto/withdraw.h"
#include "sys/sealed.h"

enum { LEN = 2 << 20, THEIRS = 4242 };

static uint8_t there[LEN], buffer[LEN];
/* Segments of the operations that are posted; with 2 they are no small requests. */
static unsigned int segs;

static struct shm_table *table;
static int table_fd;

static inline struct shm_entry *entry(void)
{
	return &table->entry[shm_table_first(THEIRS)];
}

/* Publish @mem with the serial number @serial. */
static inline void publish(uint8_t *mem, uint64_t len, uint32_t flags, uint64_t serial)
{
	struct shm_described *region = &entry()->region;

	*region = (struct shm_described){
		.key = THEIRS, .len = len, .flags = flags, .count = 1
	};
	region->piece[0].base = (uintptr_t)mem;
	region->piece[0].len = len;
	atomic_store(&entry()->serial, serial);
}

/* The peer has a table with one region. */
static inline void open_table(struct pair *p)
{
	void *mem;

	if (!pair_may_attach(p))
		skip();
	assert_int_equal(
		wf_sealed_new(SHM_TABLE_NAME, sizeof(*table), &table_fd, &mem), 0);
	table = mem;
	segs = 1;
	table->instance = 99;
	publish(there, LEN, SHM_MAY_READ | SHM_MAY_WRITE, 9);
	atomic_store(&p->memory->visits[1].open, 1);
	p->conn->process.instance = 99;
	p->conn->access.table_fd = table_fd;
	p->conn->process.cma = true;
	memset(there, 0xee, sizeof(there));
	fill(buffer, sizeof(buffer), 3);
}

static inline void close_table(void)
{
	wf_sealed_unmap(table, sizeof(*table));
	close(table_fd);
}

static inline void post(
	struct pair *p, bool reads, uint64_t addr, size_t len, uint64_t flags)
{
	struct iovec iov = { buffer, len };
	struct fi_rma_iov seg[] = { { addr, len / segs, THEIRS },
		{ addr + len / segs, len / segs, THEIRS } };
	struct fi_msg_rma msg = { .msg_iov = &iov,
		.iov_count = 1,
		.addr = p->addr,
		.rma_iov = seg,
		.rma_iov_count = segs,
		.context = buffer,
		.data = 5 };

	p->ended_count = 0;
	assert_int_equal(reads ? fi_readmsg(p->ep, &msg, flags | FI_COMPLETION)
			       : fi_writemsg(p->ep, &msg, flags | FI_COMPLETION),
		0);
}

static inline void wait_until_ended(struct pair *p, unsigned int count)
{
	uint64_t deadline = wf_deadline_ns(limit_ms(20000));

	while (p->ended_count < count) {
		assert_true(wf_now_ns() < deadline);
		pair_progress(p);
	}
}

#endif
