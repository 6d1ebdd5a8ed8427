/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_GRANT_H
#define SHM_GRANT_H

#include "objects/mr/mr.h"
#include "providers/shm/conn/conn.h"

/*
 * Direct access to a peer's registered memory. If the memory is a mapping that cannot
 * shrink, a peer maps it as well, and the peer's RMA and atomic operations are loads,
 * stores and atomic instructions of its own. Other memory is copied by the kernel where
 * it permits that, for reads and writes that take less time so (direct_copy.c).
 *
 * An initiator that often accesses a region asks for direct access (SHM_REC_ASK). The
 * target (grant.c) answers by a packet on the socket of the connection, with the file's
 * descriptor, or refuses. The initiator checks the answer (window.c), maps the memory,
 * and accesses it as long as the grant is valid (direct.c; for the protocol see struct
 * shm_grants). An operation that direct access cannot do, and any operation after a
 * revocation, is a record in the lane, which the target may refuse.
 */

enum { SHM_GRANT_MAGIC = 0x77660a02 };

enum shm_grant_how {
	SHM_GRANT_REFUSED,
	SHM_GRANT_FILE,
	SHM_GRANT_SYSV,
	SHM_GRANT_COPY
};

struct shm_grant_packet {
	uint32_t magic;
	uint8_t how; /* enum shm_grant_how */
	/* The target cannot execute a barrier for both ends, so the initiator needs a
	 * fence. */
	uint8_t fence;
	uint16_t index;  /* index in struct shm_grants */
	uint64_t serial; /* value of the grant's word while the grant is valid; not 0 */
	uint64_t key, base, len, access; /* the region, as in struct wf_mr */
	/* Offset of the region in the file or segment, in bytes; COPY: its address in
	 * the target's process. */
	uint64_t offset;
	/* Id of the System V segment, and the namespace of that id. */
	uint64_t shmid, ipc_ns;
};

/* A region that the peer of a connection may access directly. Guarded by the lock of
 * the domain's mr_map. */
struct shm_grant {
	struct wf_list link; /* link in mr->grants */
	struct shm_conn *conn;
	struct wf_mr *mr; /* NULL: the entry is free, or revoked */
	/* The grant is for one transfer that the kernel copies (lease.h); NULL: it is
	 * one for direct access. */
	struct shm_lease *lease;
};

/* The grants of one connection, at the target. */
struct shm_granting {
	struct shm_grant grant[SHM_GRANTS];
	uint64_t serial;    /* the last serial number that was used */
	uint32_t questions; /* number of requests that were answered */
};

/* wf_prov.mr_revoke: revoke all grants of @mr, whose map's lock is held. When it
 * returns no peer accesses the region, unless a peer's process is stopped in an access;
 * that is logged. */
void shm_grant_revoke(struct wf_mr *mr);
/* The connection ends: remove its grants. ep.lock held. */
void shm_grant_end(struct shm_conn *conn);

/* A peer's region that this endpoint accesses directly, or may ask for. Guarded by
 * ep.lock. */
struct shm_window {
	uint64_t key;
	uint64_t base, len, access;
	/* Address of the region's first byte in this process; NULL: not mapped. */
	uint8_t *at;
	/* Its address in the target's process, if the kernel copies; 0: it does not. */
	uint64_t remote;
	uint64_t serial;
	uint32_t index;
	/* Number of operations through the lane since the window has this key; after
	 * enough of them the endpoint asks for direct access. */
	uint32_t count;
	bool fence, sysv;
	void *map; /* The mapped memory or attached segment. */
	size_t map_len;
};

enum { SHM_WINDOWS = 32 };

static inline struct shm_window *shm_window_at(struct shm_window *windows, uint64_t key)
{
	return &windows[(key * 0x9e3779b97f4a7c15u >> 32) % SHM_WINDOWS];
}

/* An operation to @seg goes through the lane: ask for direct access if it is worth it.
 */
void shm_window_want(struct shm_conn *conn, const struct fi_rma_iov *seg);
/* Handle the target's answer @packet, with the descriptor @fd or -1. */
void shm_window_packet(
	struct shm_conn *conn, const struct shm_grant_packet *packet, int fd);
/* Unmap the memory, because the grant was revoked. */
void shm_window_close(struct shm_window *window);
void shm_windows_end(struct shm_conn *conn);
/* The inode of this process's namespace of System V ids; 0: unknown. */
uint64_t shm_ipc_namespace(void);

static inline bool shm_window_is_open(const struct shm_window *window)
{
	return window->at || window->remote;
}

/* direct.c: perform the operation on the peer's memory. False: nothing was done, and
 * the operation has to go through the lane; if *@ret_how is measured, its end has to be
 * told (method.h). */
bool shm_direct_start(
	struct shm_conn *conn, const struct wf_op *op, struct shm_chosen *ret_how);

/* Has the peer executed all earlier operations of this endpoint? Acknowledgements of
 * some may end them now. */
bool shm_direct_is_in_order(struct shm_conn *conn);

/* Begin an access, which no earlier operation must follow. True: the memory is
 * accessible until shm_direct_leave. */
static inline bool shm_direct_enter(struct shm_conn *conn, struct shm_window *window)
{
	struct shm_grants *words = &conn->region->grants[!conn->out_lane];

	atomic_store_explicit(
		&words->busy, window->index + 1, memory_order_relaxed); /* G1 */
	if (wf_unlikely(window->fence))
		atomic_thread_fence(memory_order_seq_cst);
	else
		atomic_signal_fence(memory_order_seq_cst);
	/* G2: acquire, so that no access is executed earlier. */
	return wf_likely(atomic_load_explicit(&words->serial[window->index],
				 memory_order_acquire) == window->serial);
}

static inline void shm_direct_leave(struct shm_conn *conn)
{
	struct shm_grants *words = &conn->region->grants[!conn->out_lane];

	/* Order later stores of this endpoint after the access, also for its next
	 * access. */
	atomic_thread_fence(memory_order_acq_rel);
	/* G3: release, pairs with G5. */
	atomic_store_explicit(&words->busy, 0, memory_order_release);
}

/*
 * Limits in bytes. Longer transfers than MAX go through the lane, or are copied by both
 * ends: then fi_close of the region does not wait for them. The kernel copies reads of
 * more than READ_MIN, and writes of more than WRITE_MIN: a read waits for its answer,
 * so a request takes longer.
 */
enum {
	SHM_DIRECT_MAX = 256 << 10,
	SHM_DIRECT_READ_MIN = 512,
	SHM_DIRECT_WRITE_MIN = 2 << 10,
};

/* Transfers for @use that are measured, or that an initiator copies alone, are longer
 * than this, in bytes. */
static inline size_t shm_copy_min(enum shm_use use)
{
	static const size_t mins[] = {
		[SHM_USE_MESSAGE] = SHM_CLASS_MIN,
		[SHM_USE_WRITE] = SHM_DIRECT_WRITE_MIN,
		[SHM_USE_READ] = SHM_DIRECT_READ_MIN,
	};

	return mins[use];
}

/* direct_copy.c: copy between the buffers of @op, of at most SHM_DIRECT_MAX bytes, and
 * the region at @offset, if that is the method that is chosen: *ret_how. False: as for
 * shm_direct_start. */
bool shm_direct_copy(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint64_t offset, struct shm_chosen *ret_how);

#endif
