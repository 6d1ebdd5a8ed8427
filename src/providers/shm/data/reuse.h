/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_REUSE_H
#define SHM_REUSE_H

#include "providers/shm/conn/conn.h"

/*
 * Which bytes of the byte ring the next blob takes. A line that the reader has read is
 * in its cache, and the writer waits for it when it writes there again. A method is one
 * of
 *
 *   - at once: if the peer has read everything, since it answers each message, the next
 *     message is written over the last one; else as short;
 *   - ahead: the same, with messages that take turns in a few pages, and with the lines
 *     of the next one prefetched for writing when one was sent, while the peer handles
 *     it; else as short;
 *   - wide: all of the ring, which is larger than the caches of one core: the lines of
 *     the next blob have left the reader's cache when the writer comes to them again.
 *
 * Short: the first SHM_LAP_SHORT bytes of the ring. Which method takes the least time
 * depends on how the machine moves lines: wide gains where two cores share the last
 * cache only, at once where two processors share one core. So all three are measured,
 * for each connection, as the time of stretches of SHM_STRETCH bytes of payload.
 *
 * The pages of a wide ring are memory that an endpoint has only for a few peers
 * (FI_SHM_RING_MEMORY). A connection gets one when it has sent some stretches, from a
 * connection without traffic if there is none left. ep.lock.
 */

enum { SHM_REUSE_AT_ONCE, SHM_REUSE_AHEAD, SHM_REUSE_WIDE };

/* Answered messages that may use the same bytes again. Shorter ones have no positions
 * of the peer (struct shm_long); longer ones, which fill the first caches, gained
 * nothing. */
enum { SHM_REUSE_MIN = SHM_POSITION_MIN, SHM_REUSE_MAX = 4096 };

/* Length in bytes: the operations of a struct wf_choice. Those that do not count fill
 * the short lap once. */
enum { SHM_STRETCH = 64 << 10 };

static_assert(SHM_STRETCH * WF_CHOICE_SKIPPED >= SHM_LAP_SHORT,
	"the lines of a short lap are in the reader's cache when it is measured");

void shm_reuse_init(struct shm_conn *conn);
/* The connection ends, and gives its wide ring back. */
void shm_reuse_end(struct shm_conn *conn);

/* Messages go another way meanwhile, and leave other lines in the caches: a measurement
 * that is under way has no result. */
void shm_reuse_interrupt(struct shm_conn *conn);

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
	if (len - SHM_REUSE_MIN > SHM_REUSE_MAX - SHM_REUSE_MIN ||
		conn->reuse.method == SHM_REUSE_WIDE || !shm_writer_is_read(&conn->out))
		return false;
	shm_reuse_restart(conn);
	return conn->reuse.method == SHM_REUSE_AHEAD;
}

#endif
