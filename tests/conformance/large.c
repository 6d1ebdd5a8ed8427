/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers beyond 4 GiB. The memory is one small file mapped over and over, so that
 * they need address space and time, but not memory; the last piece is a file of its
 * own, so that the end can be told from the rest. A few MiB with limit_amount.
 *
 * Pieces overwrite each other at the receiver, so only the last piece and the tail show
 * whether data beyond 4 GiB came from the right place: a piece has a prime number of
 * pages, so that data from 4 GiB before are wrong. Pieces fit into the caches, and all
 * pages are mapped at once, because a million page faults take as long as the transfer.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"

enum { PIECE = 257 * 4096, TAIL = 12345, MORE_MIB = 4096, FEW_MIB = 32 };

static size_t pieces, length;

static uint8_t *map_pieces(void)
{
	int body = memfd_create("body", 0), tail = memfd_create("tail", 0);
	uint8_t *all;

	CHECK(body >= 0 && tail >= 0);
	CHECK(!ftruncate(body, PIECE) && !ftruncate(tail, PIECE));
	all = mmap(NULL, pieces * PIECE, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		SKIP("no address space");
	for (size_t i = 0; i < pieces; i++)
		CHECK(mmap(all + i * PIECE, PIECE, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED | MAP_POPULATE,
			      i + 1 < pieces ? body : tail, 0) != MAP_FAILED);
	close(body);
	close(tail);
	return all;
}

static uint8_t *tail_of(uint8_t *all)
{
	return all + (pieces - 1) * PIECE;
}

struct transfer {
	struct cf_env env;
	struct fi_context2 contexts[2];
	uint8_t *out, *in;
};

static void open_transfer(struct transfer *t, uint64_t caps)
{
	if (cf_target.addr_format == FI_SOCKADDR_IN6)
		SKIP("done once, over IPv4");
	memset(t, 0, sizeof(*t));
	pieces = ((size_t)(limit_amount() ? FEW_MIB : MORE_MIB) << 20) / PIECE + 2;
	length = (pieces - 1) * PIECE + TAIL;
	cf_open_pair(&t->env, &(struct cf_options){ .caps = caps, .split_cqs = true });
	if (t->env.info->ep_attr->max_msg_size < length)
		SKIP("max_msg_size is %zu", t->env.info->ep_attr->max_msg_size);
	t->out = map_pieces();
	t->in = map_pieces();
	cf_fill(t->out, PIECE, 1);
	cf_fill(tail_of(t->out), PIECE, 2);
}

static void close_transfer(struct transfer *t)
{
	cf_verify(t->in, PIECE, 1);
	cf_verify(tail_of(t->in), TAIL, 2);
	/* Not a byte beyond. */
	CHECK_EQ(tail_of(t->in)[TAIL], 0);
	cf_close(&t->env);
	(void)munmap(t->out, pieces * PIECE);
	(void)munmap(t->in, pieces * PIECE);
}

/* As cf_cq_wait, with the time that so much takes. */
static void wait_long(struct fid_cq *cq, struct fi_cq_data_entry *entry)
{
	uint64_t deadline = cf_now_ms() + 9 * CF_TIMEOUT_MS;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, entry, 1)) == -FI_EAGAIN) {
		CHECK(cf_now_ms() < deadline);
		cf_progress();
	}
	CHECK_EQ(ret, 1);
}

static void a_message(void)
{
	static struct transfer t;
	struct fi_cq_data_entry entry;

	open_transfer(&t, FI_MSG);
	cf_post_recv(&t.env, t.in, length, &t.contexts[0]);
	cf_post_send(&t.env, t.out, length, &t.contexts[1]);
	wait_long(t.env.side[1].rx_cq, &entry);
	CHECK(entry.len == length);
	wait_long(t.env.side[0].tx_cq, &entry);
	close_transfer(&t);
}

static void a_remote_write_and_read(void)
{
	static struct transfer t;
	struct fi_cq_data_entry entry;
	struct cf_region regions[2];
	struct cf_side *from = &t.env.side[0];

	open_transfer(&t, FI_MSG | FI_RMA);
	cf_open_region(&t.env, 1, &regions[0], t.in, length, FI_REMOTE_WRITE);
	cf_open_region(&t.env, 1, &regions[1], t.out, length, FI_REMOTE_READ);
	CF_RETRY(from->tx_cq, fi_write(from->ep, t.out, length, NULL, from->peer,
				      regions[0].addr, regions[0].key, &t.contexts[0]));
	wait_long(from->tx_cq, &entry);
	/* The message behind it finds it there, or the write is already visible. */
	CF_RETRY(from->tx_cq, fi_read(from->ep, t.in, length, NULL, from->peer,
				      regions[1].addr, regions[1].key, &t.contexts[1]));
	wait_long(from->tx_cq, &entry);
	CHECK(entry.op_context == &t.contexts[1]);
	cf_close_region(&regions[0]);
	cf_close_region(&regions[1]);
	close_transfer(&t);
}

CF_SUITE(large, CF_CASE(a_message, "MSG-001 CQ-034", FI_MSG),
	CF_CASE(a_remote_write_and_read, "RMA-001", FI_MSG | FI_RMA));
