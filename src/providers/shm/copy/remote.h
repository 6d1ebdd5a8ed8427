/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_COPY_REMOTE_H
#define WF_SHM_COPY_REMOTE_H

#include "providers/shm/conn/conn.h"
#include "providers/shm/copy/regions.h"

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
/* Can the kernel not copy the memory of @key? False where that was not tried. */
bool shm_remote_has_no_copies(struct shm_conn *conn, uint64_t key);
/* The connection ends. */
void shm_remote_done(struct shm_conn *conn);
/* Unmap its memory, if it is mapped; and forget the region as well. */
void shm_window_unmap(struct shm_window *window);
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

/* ---- operations: perform.c ---- */

/* How far an operation is. */
struct shm_step {
	uint64_t done; /* bytes */
	uint32_t tell; /* SHM_TELL_* of its regions */
	int err;       /* positive fi_errno; SHM_REACH_REFUSED */
};

/* Find the region of @seg, a segment of @op, and check access and range. *@ret_window
 * is set with MEMORY, and *@ret_err with REFUSED. */
enum shm_reach shm_remote_reach(struct shm_conn *conn, const struct wf_op *op,
	const struct fi_rma_iov *seg, struct shm_window **ret_window, int *ret_err);
/* Perform @op, which is in order, from byte @step->done on up to byte @end. */
enum shm_reach shm_remote_perform(struct shm_conn *conn, const struct wf_op *op,
	uint64_t end, struct shm_step *step);

static inline uint64_t shm_remote_length(const struct wf_op *op)
{
	/* Some atomic operations have no operands. */
	return op->atomic ? op->rma->len : op->len;
}

#endif
