/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_METHOD_H
#define SHM_METHOD_H

#include "providers/shm/conn/conn.h"

/*
 * Method for the payload of a rendezvous message: either it goes through the lane, or
 * the kernel copies it from memory to memory, in pieces that both ends move (share.c).
 * Which one is faster depends on the machine, on the caches that hold the buffers, and
 * on whether the peer has a processor for itself. So both are measured, for each
 * connection and for messages of about the same length, unless parameters decide;
 * parameters can also choose that this endpoint reads the whole payload. ep.lock.
 *
 * The cost of a message is the time from the end of the previous message to its own
 * end, if both used the same method. That is more than the time of the copy, and has to
 * be: a method that leaves cache lines in the wrong cache costs time when the
 * application reads what it received, or writes its next message.
 */

enum { SHM_METHOD_LANE, SHM_METHOD_SHARE, SHM_METHOD_READ, SHM_METHODS };

/* Choose the method for a message whose buffers are known. @may_read: the peer has sent
 * the addresses of the payload, and its memory can be accessed. */
void shm_method_begin(struct shm_sink *sink, bool may_read);

/* The payload is complete: count the cost of the method. */
void shm_method_end(struct shm_sink *sink);

#endif
