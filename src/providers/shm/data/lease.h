/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_LEASE_H
#define SHM_LEASE_H

#include "providers/shm/data/grant.h"

/*
 * Leases: the memory of a region while the kernel copies a peer's large read or write,
 * which happens without the lock of the region map. Closing the region revokes the
 * lease: no piece is copied any more, and the pieces that an end is copying are waited
 * for. The endpoint then finds that the lease has ended, and refuses the operation.
 *
 * @state decides between the endpoint, which holds ep.lock while it copies, and a
 * thread that closes the region, which holds the map's lock.
 */
struct shm_lease {
	struct shm_grant grant; /* in mr->grants */
	_Atomic uint32_t state; /* bits: the endpoint copies; the lease is revoked */
	struct fi_rma_iov seg;
	/* The transfer: one of these is set. */
	struct shm_sink *sink; /* a peer's write */
	struct shm_tx *tx;     /* the answer to a peer's read */
};

/* Look up @seg for @access, and take a lease of its memory: *@ret_memory. NULL with
 * *@ret_err 0: the memory has too many pieces, or there is no memory for the lease;
 * with a negative fi_errno: the access is refused. The lease is entered; the
 * caller sets sink or tx before it leaves it. */
struct shm_lease *shm_lease_new(struct shm_conn *conn, const struct fi_rma_iov *seg,
	uint64_t access, struct shm_span *ret_memory, int *ret_err);
/* Begin to access the memory, or the words of the transfer's token. False: the lease is
 * revoked. NULL is a transfer without a lease. */
bool shm_lease_enter(struct shm_lease *lease);
void shm_lease_leave(struct shm_lease *lease);
/* End and free the lease, which is not entered. */
void shm_lease_end(struct shm_lease *lease);

/* For shm_grant_revoke: the map's lock is held. */
void shm_lease_revoke(struct shm_lease *lease);

#endif
