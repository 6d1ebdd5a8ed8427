/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_REMOTE_H
#define SHM_REMOTE_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/data/regions.h"

/*
 * Registered memory of peers, accessed without a request: this file is the initiator's
 * side of regions.h. An operation finds its regions in the peer's table, which tells
 * range and access, and then reads or writes their memory while the peer does something
 * else, or nothing.
 *
 * Memory that is a shared mapping which cannot shrink is mapped here as well
 * (remote_map.c): operations are loads, stores and atomic instructions. Other memory is
 * copied by the kernel. What neither can do is a request in the lane: atomics on memory
 * that is not mapped, and everything where the kernel permits no copies.
 *
 * An operation that the peer wants to be told of is followed by a record
 * (SHM_REC_DONE). ep.lock.
 */

/* What this endpoint knows of one region of a peer. */
struct shm_window {
	uint64_t serial;  /* of the region's entry; 0: nothing is known */
	uint32_t index;   /* of its entry */
	uint32_t uses;    /* number of operations, until the mapping is looked for */
	bool is_examined; /* whether it can be mapped */
	bool no_copies;   /* the kernel does not copy this memory */
	bool sysv;
	/* Address of the region's first byte in this process; NULL: not mapped. */
	uint8_t *at;
	void *map; /* the mapped memory or attached segment */
	size_t map_len;
	struct shm_described region;
};

enum { SHM_WINDOWS = 64 };

/* The regions of the peer of one connection. */
struct shm_remote {
	const struct shm_table *table; /* the peer's */
	struct shm_visits *visits;
	bool fence; /* an access begins with a fence of its own */
	bool used;  /* there was an access */
	/* The key of memory that is not mapped, whose small reads and writes are
	 * requests: it is looked up in one of SHM_REMOTE_AGAIN of these. */
	uint64_t small_key;
	uint32_t small_left; /* operations until it is; 0: there is no such key */
	/* Windows by key. One that is mapped is kept until its region is closed; other
	 * keys with the same window use @spare, whose memory is never mapped. */
	struct shm_window window[SHM_WINDOWS];
	struct shm_window spare;
};

/* How an operation is performed: by a request; on the memory itself; not at all. */
enum shm_reach { SHM_REACH_LANE, SHM_REACH_MEMORY, SHM_REACH_REFUSED };

/* remote.c: the window of @key, if the result is SHM_REACH_MEMORY; REFUSED: there is no
 * such region. */
enum shm_reach shm_remote_find(
	struct shm_conn *conn, uint64_t key, struct shm_window **ret_window);
/* The connection ends. */
void shm_remote_done(struct shm_conn *conn);
void shm_window_close(struct shm_window *window);

/* remote_map.c: map the memory of the window, if it can be. */
void shm_window_map(struct shm_conn *conn, struct shm_window *window);

/* Begin the first access. */
void shm_visit_first(struct shm_remote *remote);

/* Begin an access, which no earlier operation must follow. True: the memory is
 * accessible until shm_visit_leave. */
static inline bool shm_visit_enter(
	struct shm_remote *remote, const struct shm_window *window)
{
	struct shm_visits *words = remote->visits;

	if (wf_unlikely(!remote->used))
		shm_visit_first(remote);
	atomic_store_explicit(
		&words->busy, window->index + 1, memory_order_relaxed); /* G1 */
	if (wf_unlikely(remote->fence))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	/* G2: acquire, so that no access is executed earlier. */
	return wf_likely(
		atomic_load_explicit(&words->open, memory_order_acquire) == 1 &&
		atomic_load_explicit(&remote->table->entry[window->index].serial,
			memory_order_acquire) == window->serial);
}

static inline void shm_visit_leave(struct shm_remote *remote)
{
	/* Order later stores of this endpoint after the access, also for its next
	 * access. */
	atomic_thread_fence(memory_order_acq_rel);
	/* G3: release, pairs with G5. */
	atomic_store_explicit(&remote->visits->busy, 0, memory_order_release);
}

/* ---- operations: remote_op.c ---- */

/*
 * Limits in bytes. FIRST: the call that posts an operation performs at most so much of
 * it, and progress calls go on in steps. SMALL_READ, SMALL_WRITE: up to there they are
 * requests, which take less time where the target makes progress.
 */
enum {
	SHM_REMOTE_FIRST = 256 << 10,
	SHM_REMOTE_STEP = 1 << 20,
	SHM_REMOTE_SMALL_READ = 1 << 30, /* the answer is a stream */
	SHM_REMOTE_SMALL_WRITE = 16 << 10,
	SHM_REMOTE_AGAIN = 256,
};

/* Has the peer executed all earlier operations of this endpoint, as far as an access to
 * its memory is ordered behind them? Acknowledgements of some may end them now. */
bool shm_remote_is_in_order(struct shm_conn *conn);

/* How far an operation is. */
struct shm_step {
	uint64_t done; /* bytes */
	uint32_t tell; /* SHM_TELL_* of its regions */
	int err;       /* positive fi_errno; SHM_REACH_REFUSED */
};

/* How is @op to be performed? Finds all of its regions, and checks access and ranges.
 */
enum shm_reach shm_remote_judge(
	struct shm_conn *conn, const struct wf_op *op, struct shm_step *step);
/* Perform @op, which is in order, from byte @step->done on up to byte @end. */
enum shm_reach shm_remote_perform(struct shm_conn *conn, const struct wf_op *op,
	uint64_t end, struct shm_step *step);

/* Does the target want to be told of the operation, which was performed? */
static inline bool shm_remote_tells(const struct wf_op *op, const struct shm_step *step)
{
	return op->flags & FI_REMOTE_CQ_DATA ||
	       step->tell & (op->kind == WF_OP_READ ? SHM_TELL_READ : SHM_TELL_WRITE);
}

/* Write the record that tells of it. @id: SHM_ID_NONE: no answer is needed. False: the
 * lane has no space. */
bool shm_remote_tell(struct shm_conn *conn, const struct wf_op *op, uint64_t id);

/* Is the record that tells of it to be acknowledged? */
static inline bool shm_remote_wants_ack(const struct wf_op *op)
{
	return op->kind != WF_OP_READ && op->flags & FI_DELIVERY_COMPLETE;
}

/* What the call that posts an RMA or atomic operation does with it: nothing more; write
 * or queue a request; or queue it. */
enum shm_started { SHM_STARTED, SHM_START_LANE, SHM_START_QUEUE };

enum shm_started shm_remote_start(struct shm_conn *conn, const struct wf_op *op);

#endif
