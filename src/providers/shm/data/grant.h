/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_GRANT_H
#define SHM_GRANT_H

#include "objects/mr/mr.h"
#include "providers/shm/conn/conn.h"

/*
 * Direct access to a peer's registered memory. Where that is a mapping of memory that
 * cannot shrink, a peer maps it as well, and its RMA and atomic operations are loads,
 * stores and atomic instructions of its own.
 *
 * An initiator that accesses a region often asks (SHM_REC_ASK). The target (grant.c)
 * answers by a packet on the socket of the connection, with the file's descriptor, or
 * refuses. The initiator checks what it got (window.c), maps it, and accesses it as
 * long as the grant is valid (direct.c; the protocol: struct shm_grants). All that
 * cannot go this way, and any operation after a revocation, is a record in the lane as
 * ever, and it is the target that refuses it.
 */

enum { SHM_GRANT_MAGIC = 0x77660a02 };

enum shm_grant_how { SHM_GRANT_REFUSED, SHM_GRANT_FILE, SHM_GRANT_SYSV };

struct shm_grant_packet {
	uint32_t magic;
	uint8_t how; /* enum shm_grant_how */
	/* The target cannot execute a barrier for both ends: the initiator needs a
	 * fence.
	 */
	uint8_t fence;
	uint16_t index;  /* in struct shm_grants */
	uint64_t serial; /* what the word has while the grant is valid; not 0 */
	uint64_t key, base, len, access; /* as in struct wf_mr */
	uint64_t offset;                 /* of the region in the file or segment */
	uint64_t shmid, ipc_ns; /* of the segment, and the namespace of its id */
};

/* One region that the peer of a connection may access directly; the lock of the
 * domain's mr_map. */
struct shm_grant {
	struct wf_list link; /* mr->grants */
	struct shm_conn *conn;
	struct wf_mr *mr; /* NULL: not in use */
};

/* What the target of one connection has. */
struct shm_granting {
	struct shm_grant grant[SHM_GRANTS];
	uint64_t serial;    /* last one that was used */
	uint32_t questions; /* number of questions answered */
};

/* wf_prov.mr_revoke */
void shm_grant_revoke(struct wf_mr *mr);
/* The connection ends: forget its grants. ep.lock held. */
void shm_grant_end(struct shm_conn *conn);

/* A peer's region that this endpoint may access directly, or wants to. ep.lock. */
struct shm_window {
	uint64_t key;
	uint64_t base, len, access;
	uint8_t *at; /* of the first byte; NULL: not mapped */
	uint64_t serial;
	uint32_t index;
	/* Operations by the lane since this window has the key; it asks when there were
	 * enough of them. */
	uint32_t count;
	bool fence, sysv;
	void *map; /* what was mapped, or attached */
	size_t map_len;
};

enum { SHM_WINDOWS = 32 };

static inline struct shm_window *shm_window_at(struct shm_window *windows, uint64_t key)
{
	return &windows[(key * 0x9e3779b97f4a7c15u >> 32) % SHM_WINDOWS];
}

/* An operation goes by the lane: ask for direct access if that is worth it. */
void shm_window_want(struct shm_conn *conn, const struct fi_rma_iov *seg);
/* A packet of the peer. */
void shm_window_packet(
	struct shm_conn *conn, const struct shm_grant_packet *packet, int fd);
/* Unmap: the grant was revoked. */
void shm_window_close(struct shm_window *window);
void shm_windows_end(struct shm_conn *conn);
/* The inode of this process's namespace of System V ids; 0: unknown. */
uint64_t shm_ipc_namespace(void);

/* direct.c: perform the operation on the peer's memory. False: nothing was done, and it
 * goes by the lane. */
bool shm_direct_start(struct shm_conn *conn, const struct wf_op *op);

#endif
