/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/await.h"
#include "providers/shm/data/bulk.h"

/*
 * Payloads that both ends copy, each with a system call of the kernel: the receiver
 * reads pieces from the sender's memory, from the front on, and the sender writes
 * others into the receiver's memory, from the back on, until they meet. Each piece is
 * taken before it is moved (struct shm_token). So the end that has time moves more, and
 * a sender that makes no progress delays nothing: the receiver moves all.
 *
 * The sender takes a piece and writes it in one step, with its lock held. When the
 * receiver has taken the remaining pieces (shm_share_revoke) and the sender has written
 * those that it took, the sender does not access the receiver's memory any more.
 *
 * This file is the receiver; share_tx.c is the sender.
 */

enum {
	PIECE_ALIGN = 4096, /* so that both ends do not write the same page */
	/* Two pieces take the least time; more of them limit how long one end waits for
	 * the other, and how long a call takes. */
	PIECE_MAX = 512 << 10,
};

static void bad_pieces(struct shm_sink *sink)
{
	shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"connection to %s closed: the pieces that it took make no sense\n",
		shm_conn_name(sink->conn));
	shm_conn_fail(sink->conn, FI_EPROTO);
}

uint64_t shm_share_piece(uint64_t len)
{
	uint64_t piece = (len / 2 + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;

	return WF_MIN(piece, (uint64_t)PIECE_MAX);
}

bool shm_share_is_piece(uint64_t piece, uint64_t len)
{
	/* The count of pieces has 32 bits. */
	return piece && piece < len && len / piece < UINT32_MAX;
}

static void set_pieces(struct shm_sink *sink, uint64_t piece)
{
	uint64_t len = shm_bulk_len(sink);

	sink->shared = true;
	sink->piece = piece;
	sink->pieces = (uint32_t)(len / piece + (len % piece != 0));
}

/* Ask the sender to write pieces. */
static void ask(struct shm_sink *sink)
{
	struct shm_share share = { .piece = sink->piece };
	struct iovec to[SHM_IOV_LIMIT];

	share.count =
		shm_bulk_rest(sink->to.iov, sink->to.count, 0, shm_bulk_len(sink), to);
	for (unsigned int i = 0; i < share.count; i++) {
		share.iov[i].base = (uintptr_t)to[i].iov_base;
		share.iov[i].len = to[i].iov_len;
	}
	shm_out_answer(sink->conn, SHM_REC_SHARE, sink->request, &share, sizeof(share));
}

void shm_share_begin(struct shm_sink *sink)
{
	struct shm_token *token = shm_bulk_sink_token(sink);
	uint64_t len = shm_bulk_len(sink), piece = shm_share_piece(len);

	shm_bulk_pull_alone(sink);
	if (!shm_share_is_piece(piece, len))
		return;
	set_pieces(sink, piece);
	atomic_store_explicit(&token->written, 0, memory_order_relaxed);
	/* The receiver takes the first piece. The record publishes this word. */
	atomic_store_explicit(&token->taken, 1, memory_order_relaxed);
	ask(sink);
}

/* Do the numbers agree with the pieces that this endpoint took? */
static bool is_possible(const struct shm_sink *sink, uint64_t taken)
{
	return shm_share_front(taken) == sink->front &&
	       shm_share_back(taken) <= sink->pieces - sink->front;
}

static uint64_t load_taken(const struct shm_sink *sink)
{
	return atomic_load_explicit(
		&shm_bulk_sink_token(sink)->taken, memory_order_relaxed);
}

/* Take @count pieces; 0: all that are left. False: none is left, or the numbers are
 * impossible. */
static bool take_front(struct shm_sink *sink, uint32_t count)
{
	_Atomic uint64_t *word = &shm_bulk_sink_token(sink)->taken;
	uint64_t taken = load_taken(sink);
	uint32_t left, more;

	do {
		if (!is_possible(sink, taken))
			return false;
		left = sink->pieces - sink->front - (uint32_t)shm_share_back(taken);
		more = count ? WF_MIN(count, left) : left;
		if (!more)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(word, &taken, taken + more,
		memory_order_relaxed, memory_order_relaxed));
	sink->front += more;
	return true;
}

bool shm_share_next(struct shm_sink *sink)
{
	return take_front(sink, 1);
}

/* Number of pieces that the sender took, and has not written. It writes no more than
 * these. */
static uint64_t unwritten(const struct shm_sink *sink, bool *ret_stopped)
{
	/* acquire, pairs with the release in shm_share_write. */
	uint64_t written = atomic_load_explicit(
		&shm_bulk_sink_token(sink)->written, memory_order_acquire);

	*ret_stopped = written & SHM_SHARE_STOPPED;
	return shm_share_back(load_taken(sink)) - (written & ~SHM_SHARE_STOPPED);
}

bool shm_share_is_over(struct shm_sink *sink)
{
	bool stopped;
	uint64_t left = unwritten(sink, &stopped);

	if (!is_possible(sink, load_taken(sink)) || left > sink->pieces - sink->front) {
		bad_pieces(sink);
		return false;
	}
	/* This endpoint reads the piece that the sender could not write. */
	if (left && stopped) {
		sink->shared = false;
		sink->front += (uint32_t)left;
	}
	return !left;
}

/* Can the next step be made? */
static bool has_news(const struct shm_sink *sink)
{
	bool stopped;

	return sink->shared && (!unwritten(sink, &stopped) || stopped);
}

bool shm_share_has_news(struct shm_ep *ep)
{
	wf_list_foreach(link, &ep->pulls)
	{
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);

		if (has_news(sink))
			return true;
	}
	return false;
}

/* Is the sender writing a piece? False if its numbers are impossible. */
static bool is_writing(const void *arg)
{
	const struct shm_sink *sink = arg;
	bool stopped;
	uint64_t left = unwritten(sink, &stopped);

	return left && left <= sink->pieces - sink->front && !stopped;
}

void shm_share_revoke(struct shm_sink *sink)
{
	(void)take_front(sink, 0);
	sink->shared = false;
	if (!shm_await(sink->conn, is_writing, sink))
		shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
			"%s is writing into a buffer of a receive that ends, and does "
			"not go on\n",
			shm_conn_name(sink->conn));
}
