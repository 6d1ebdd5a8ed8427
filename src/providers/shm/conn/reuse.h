/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_REUSE_H
#define WF_SHM_CONN_REUSE_H

#include "providers/shm/conn/conn.h"

/*
 * Which bytes of the byte ring the next blob takes. A line that the reader has read is
 * in its cache, and the writer waits for it when it writes there again.
 *
 * A connection begins with a short lap, the first SHM_LAP_SHORT bytes of the ring. If
 * the peer has read everything, since it answers each message, messages take turns in
 * the first few pages of it, and the lines of the next one are prefetched for writing
 * when one was sent, while the peer handles it.
 *
 * A connection that has sent much goes through all of the ring, which is larger than
 * the caches of one core: the lines of the next blob have left the reader's cache when
 * the writer comes to them again. The pages of a wide ring are memory that an endpoint
 * has only for a few peers (FI_SHM_RING_MEMORY). A connection gets one when it has sent
 * some stretches, from a connection without traffic if there is none left. ep.lock.
 */

/* Answered messages that may use the same bytes again. Shorter ones have no positions
 * of the peer (struct shm_long); longer ones, which fill the first caches, gained
 * nothing, or less than they do in a wide ring. */
enum {
	SHM_REUSE_MIN = SHM_POSITION_MIN,
	SHM_REUSE_MAX = 4096,
	SHM_REUSE_MAX_WIDE = 2048,
};

/* Length in bytes. */
enum { SHM_STRETCH = 64 << 10 };

void shm_reuse_init(struct shm_conn *conn);
/* The connection ends, and gives its wide ring back. */
void shm_reuse_end(struct shm_conn *conn);

/* A stretch was sent. */
void shm_reuse_next(struct shm_conn *conn);

/* A blob of @len bytes is in the byte ring. */
static inline void shm_reuse_count(struct shm_conn *conn, uint32_t len)
{
	conn->reuse.bytes += len;
	if (wf_unlikely(conn->reuse.bytes >= SHM_STRETCH))
		shm_reuse_next(conn);
}

/* The part of shm_reuse_begin for messages that may use bytes again. */
void shm_reuse_restart(struct shm_conn *conn);

/* Prefetch the lines of a message of @len bytes that may come next. */
void shm_reuse_prefetch(struct shm_conn *conn, size_t len);

/* A message of @len bytes is about to be written to the byte ring. True: the caller
 * calls shm_reuse_prefetch when it is published. */
static inline bool shm_reuse_begin(struct shm_conn *conn, size_t len)
{
	size_t max = conn->reuse.is_wide ? SHM_REUSE_MAX_WIDE : SHM_REUSE_MAX;

	if (len - SHM_REUSE_MIN > max - SHM_REUSE_MIN ||
		!shm_writer_is_read(&conn->out))
		return false;
	shm_reuse_restart(conn);
	return true;
}

#endif
