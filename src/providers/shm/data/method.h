/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_METHOD_H
#define SHM_METHOD_H

#include "providers/shm/conn/conn.h"

/*
 * Method for the payload of a rendezvous message: either it goes through the lane, or
 * the kernel copies it from memory to memory, in pieces that both ends move (share.c),
 * or by one end, the receiver. Which one is faster
 * depends on the machine, on the caches that hold the buffers, and on whether the peer
 * has a processor for itself. So both are measured, for each connection, each use and
 * transfers of about the same length, unless parameters decide; parameters can also
 * choose that the receiver reads the whole payload. ep.lock.
 *
 * The cost of a transfer is the time in which as many transfers end as are under way
 * together, but at least two, divided by their number, if all used the same method:
 * many of them may end together. That is more than the time of the copy, and has to be:
 * a method that leaves cache lines in the wrong cache costs time when the application
 * reads what it received, or writes its next message.
 *
 * The receiver chooses. Messages that could be sent at once come through the lane,
 * unless the receiver finds that reading them takes less time: it tells the sender to
 * send requests instead (shm_progress.by_request).
 */

enum { SHM_METHOD_LANE, SHM_METHOD_SHARE, SHM_METHOD_READ, SHM_METHODS };

/* Choose the method for a transfer of @len bytes: *ret. @may_read: the kernel may copy
 * it. */
void shm_method_begin(struct shm_conn *conn, enum shm_use use, uint64_t len,
	bool may_read, struct shm_chosen *ret);

/* For shm_method_end: it is complete now, and the clock is read if measurements are
 * under way. */
#define SHM_METHOD_NOW 1u

/* The transfer of @len bytes was complete at the time @now: count the cost of its
 * method. All times of one use are of the same clock. @now is 0 if it failed. Called
 * for each transfer, unless the connection ends. */
void shm_method_end(struct shm_conn *conn, const struct shm_chosen *chosen,
	uint64_t len, uint64_t now);

/* A message of @len bytes, which is more than SHM_CLASS_MIN, was sent at once and is in
 * the buffers of its receive. */
void shm_method_arrived(struct shm_conn *conn, uint64_t len);

/* The kernel does not copy between this process and the peer any more. */
void shm_method_no_copies(struct shm_conn *conn);

#endif
