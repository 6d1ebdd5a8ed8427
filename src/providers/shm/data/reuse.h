/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_REUSE_H
#define SHM_REUSE_H

#include "providers/shm/conn/conn.h"

/*
 * Messages of medium length to a peer that answers each of them: it has read all bytes
 * when the next message comes, so the same bytes of the ring can be used again, whose
 * lines are in the caches of both ends. Either
 *
 *   - at once: the next message is written over the last one; or
 *   - ahead: messages take turns in a few pages, and when one was sent, the lines of
 *     the next one are prefetched for writing, while the peer handles this one.
 *
 * Which takes less time depends on how the machine moves lines, so both are measured,
 * for each connection, as the time from one such message to the next. A ring without
 * reuse is not tried: it took no less time on any machine that was measured. ep.lock.
 */

enum { SHM_REUSE_AT_ONCE, SHM_REUSE_AHEAD, SHM_REUSE_NONE };

/* Shorter messages have no positions of the peer (struct shm_long); longer ones, which
 * fill the first caches, gained nothing. */
enum { SHM_REUSE_MIN = SHM_POSITION_MIN, SHM_REUSE_MAX = 4096 };

/* Both methods are measured, unless FI_SHM_MEASURE_COPIES forbids it. */
void shm_reuse_init(struct shm_conn *conn);

/* The part of shm_reuse_begin for messages that may use bytes again. */
unsigned int shm_reuse_choose(struct shm_conn *conn);

/* Prefetch the lines of a message of @len bytes that may come next. */
void shm_reuse_prefetch(struct shm_conn *conn, size_t len);

/* A message of @len bytes is about to be written to the byte ring. Returns the method,
 * for shm_reuse_end. */
static inline unsigned int shm_reuse_begin(struct shm_conn *conn, size_t len)
{
	if (len - SHM_REUSE_MIN > SHM_REUSE_MAX - SHM_REUSE_MIN ||
		!shm_writer_is_read(&conn->out))
		return SHM_REUSE_NONE;
	return shm_reuse_choose(conn);
}

/* The message was published. */
static inline void shm_reuse_end(struct shm_conn *conn, unsigned int method, size_t len)
{
	if (method == SHM_REUSE_AHEAD)
		shm_reuse_prefetch(conn, len);
}

#endif
