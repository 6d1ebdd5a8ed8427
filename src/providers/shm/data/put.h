/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PUT_H
#define SHM_PUT_H

#include "providers/shm/conn/conn.h"

/*
 * Large RMA operations that the kernel copies between the initiator's memory and the
 * target's region, by one end or by both, in pieces (share.c). ep.lock.
 *
 * A write (put.c) is a request with the addresses of its payload, as that of a message
 * is. The target checks key, access and range, takes a lease of the region's memory
 * (lease.h), and reads; the initiator may write pieces. The target copies such writes
 * one after the other, and the initiator keeps back all other operations meanwhile, so
 * the order is that of the lane.
 *
 * A read (get.c) is answered by the addresses of the region's memory, after the same
 * checks. The initiator reads, and the target may write pieces. A target that makes no
 * progress then delays nothing.
 *
 * If the memory cannot be accessed after all, the payload comes through the lane.
 */

/* Shorter operations go through the lane, unless they are direct (grant.h). */
enum { SHM_PUT_MIN = (32 << 10) + 1 };

/* May the kernel copy a read or write of that length? */
static inline bool shm_put_is_possible(
	const struct shm_conn *conn, const struct wf_op *op)
{
	return op->len >= SHM_PUT_MIN && conn->copies && conn->cma && !op->atomic;
}

/* May the kernel copy the operation @tx, and is it to? The method is chosen once. */
bool shm_put_is_chosen(struct shm_conn *conn, struct shm_tx *tx);

/* put.c, the initiator: write the request. The values of shm_out_send_ops. */
int shm_put_send(struct shm_conn *conn, struct shm_tx *tx);
/* The write was answered. */
void shm_put_settle(struct shm_conn *conn, struct shm_tx *tx);
/* The target: all other bytes of the write are copied. Its lease is entered. */
void shm_put_store_tail(struct shm_sink *sink);
/* The target: all bytes of the write came, or its lease was revoked. Frees the sink. */
void shm_put_finish(struct shm_sink *sink);
void shm_put_revoked(struct shm_sink *sink);
/* The payload of the write is to come through the lane. */
void shm_put_clear(struct shm_sink *sink);

/* get.c, the target: answer a read of @seg, which is granted, by an offer. False: it
 * has to be answered by a stream. */
bool shm_get_offer(struct shm_conn *conn, const struct fi_rma_iov *seg, uint64_t id);
/* The initiator has read, or gave up because of a revocation. */
int shm_get_acked(struct shm_conn *conn, struct shm_tx *tx);
/* The initiator cannot read: the payload is sent as a stream to its sink. */
void shm_get_stream(struct shm_tx *tx);
/* Free the id and the token of the offer. */
void shm_get_forget(struct shm_conn *conn, struct shm_tx *tx);
/* The initiator: the read is complete, or its lease was revoked. Frees the sink. */
void shm_get_finish(struct shm_sink *sink, int err);
/* The read @tx ends: stop the copy into its buffers. */
void shm_get_drop(struct shm_tx *tx);

#endif
