/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/reuse.h"

#include <sys/mman.h>

enum {
	/* Stretches after which a connection asks for a wide ring, and after which it
	 * asks again. To populate all pages takes some milliseconds. */
	ASK_AFTER = 512,
	ASK_AGAIN = 64,
	/* Bytes of the ring that are populated at a time: more than a stretch of short
	 * messages takes, with the gaps between them. */
	POPULATE = 2 * SHM_STRETCH,
};

static_assert(SHM_STRETCH + SHM_STRETCH / SHM_POSITION_MIN * SHM_BYTES_GAP <= POPULATE,
	"the next stretch finds its pages");

/* Bytes behind which answered messages begin again. */
enum { BEHIND = 8192 };

/* ---- memory ---- */

/* Pages that are populated together cost less than a fault each; where the kernel does
 * not know how, the first accesses populate them. */
static void reuse_populate(struct shm_conn *conn)
{
	struct shm_reuse *reuse = &conn->reuse;
	uint64_t end = conn->out.pos % SHM_BYTES + POPULATE;

	if (end <= reuse->populated || reuse->populated == SHM_BYTES)
		return;
#ifdef MADV_POPULATE_WRITE
	(void)madvise(conn->out.lane->bytes + reuse->populated,
		WF_MIN((uint32_t)POPULATE, SHM_BYTES - reuse->populated),
		MADV_POPULATE_WRITE);
#endif
	reuse->populated += WF_MIN((uint32_t)POPULATE, SHM_BYTES - reuse->populated);
}

/* Return to the short lap. The peer has read everything. */
static void reuse_give_back(struct shm_conn *conn)
{
	/* Where that fails the pages stay until the connection ends. */
	(void)madvise(conn->out.lane->bytes + SHM_LAP_SHORT, SHM_BYTES - SHM_LAP_SHORT,
		MADV_REMOVE);
	shm_reuse_end(conn);
	shm_reuse_init(conn);
}

/* Has the peer read everything? */
static bool reuse_is_empty(struct shm_conn *conn)
{
	return !conn->err && shm_writer_refresh(&conn->out) &&
	       shm_writer_is_read(&conn->out);
}

/* Take the wide ring of a connection that is polled rarely, since it has no traffic. */
static bool reuse_take_from_another(struct shm_ep *ep)
{
	for (uint32_t i = ep->conns.hot; i < ep->conns.count; i++) {
		struct shm_conn *conn = ep->conns.at[i];

		if (!conn->reuse.is_wide || !reuse_is_empty(conn))
			continue;
		reuse_give_back(conn);
		return true;
	}
	return false;
}

/* ---- the lap ---- */

void shm_reuse_init(struct shm_conn *conn)
{
	conn->reuse =
		(struct shm_reuse){ .ask = ASK_AFTER, .populated = SHM_LAP_SHORT };
	conn->out.lap = SHM_LAP_SHORT;
}

void shm_reuse_end(struct shm_conn *conn)
{
	if (conn->reuse.is_wide)
		conn->ep->conns.wide_rings--;
	conn->reuse.is_wide = false;
}

static void reuse_ask(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;
	size_t limit = shm_params.ring_memory / SHM_BYTES;

	if (ep->conns.wide_rings >= limit && (!limit || !reuse_take_from_another(ep))) {
		conn->reuse.ask = ASK_AGAIN;
		return;
	}
	ep->conns.wide_rings++;
	conn->reuse.is_wide = true;
	conn->out.lap = SHM_BYTES;
}

void shm_reuse_next(struct shm_conn *conn)
{
	struct shm_reuse *reuse = &conn->reuse;

	reuse->bytes = 0;
	if (!reuse->is_wide && !--reuse->ask)
		reuse_ask(conn);
	if (reuse->is_wide)
		reuse_populate(conn);
}

void shm_reuse_restart(struct shm_conn *conn)
{
	shm_writer_restart(&conn->out, BEHIND);
}

void shm_reuse_prefetch(struct shm_conn *conn, size_t len)
{
	struct shm_writer *w = &conn->out;
	uint64_t at = w->pos % SHM_BYTES;
	uint8_t *to;

	if (at >= BEHIND)
		at = 0;
	to = w->lane->bytes + at;
	for (size_t i = 0; i < len; i += WF_CACHELINE)
		wf_prefetch_write(to + i);
}
