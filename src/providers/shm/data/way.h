/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_WAY_H
#define SHM_WAY_H

#include "providers/shm/conn/conn.h"

/*
 * Does the payload of a rendezvous message come through the lane, or does the kernel
 * copy it from memory to memory, in pieces that both ends move (share.c)? What takes
 * less time depends on the machine, on whether the buffers are in its caches, and
 * whose, and on whether the peer has a processor for itself. So it is measured, for
 * each connection and for messages of about the same length, unless parameters tell:
 * these can also have this endpoint read all. ep.lock.
 *
 * The cost of a message is the time from the end of the one before to its own end, if
 * both went the same way. That is more than the time of the copy, and has to be: the
 * lines that a way leaves in the wrong cache cost time when the application reads what
 * it received, or writes its next message.
 */

enum { SHM_WAY_LANE, SHM_WAY_SHARE, SHM_WAY_READ, SHM_WAYS };

/* Choose the way of a message, once its buffers are known. @may_read: the peer has said
 * where the payload is, and its memory can be accessed. */
void shm_way_begin(struct shm_sink *sink, bool may_read);

/* The payload is complete. */
void shm_way_end(struct shm_sink *sink);

#endif
