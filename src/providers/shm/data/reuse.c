/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/reuse.h"

#include <sys/mman.h>

#include "sys/clock.h"

enum {
	/* Stretches after which a connection asks for a wide ring, and after which it
	 * asks again. To populate all pages takes some milliseconds. */
	ASK_AFTER = 64,
	ASK_AGAIN = 64,
	/* Bytes of the ring that are populated at a time: more than a stretch of short
	 * messages takes, with the gaps between them. */
	POPULATE = 2 * SHM_STRETCH,
};

static_assert(SHM_STRETCH + SHM_STRETCH / SHM_POSITION_MIN * SHM_BYTES_GAP <= POPULATE,
	"the next stretch finds its pages");

/* Bytes behind which a method begins again. At once: not behind fewer, since two
 * processors of one core wait for each other when one overwrites what the other has
 * just read. */
static const uint32_t behind[] = {
	[SHM_REUSE_AT_ONCE] = 2048,
	[SHM_REUSE_AHEAD] = 8192,
};

/* ---- memory ---- */

/* Pages that are populated together cost less than a fault each; where the kernel does
 * not know how, the first accesses populate them. */
static void populate(struct shm_conn *conn)
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
static void give_back(struct shm_conn *conn)
{
	/* Where that fails the pages stay until the connection ends. */
	(void)madvise(conn->out.lane->bytes + SHM_LAP_SHORT, SHM_BYTES - SHM_LAP_SHORT,
		MADV_REMOVE);
	shm_reuse_end(conn);
	shm_reuse_init(conn);
}

/* Has the peer read everything? */
static bool is_empty(struct shm_conn *conn)
{
	return !conn->err && shm_writer_refresh(&conn->out) &&
	       shm_writer_is_read(&conn->out);
}

/* Take the wide ring of a connection that is polled rarely, since it has no traffic. */
static bool take_from_another(struct shm_ep *ep)
{
	for (uint32_t i = ep->hot; i < ep->conn_count; i++) {
		struct shm_conn *conn = ep->conns[i];

		if (!conn->reuse.is_wide || !is_empty(conn))
			continue;
		give_back(conn);
		return true;
	}
	return false;
}

/* ---- methods ---- */

static void choose_among(struct shm_conn *conn, unsigned int methods, unsigned int kept)
{
	if (!shm_params.measure_copies)
		methods = 1u << kept;
	wf_choice_init(&conn->reuse.choice, methods, kept);
	conn->reuse.begun_ns = 0;
}

static void set_method(struct shm_conn *conn, unsigned int method)
{
	conn->reuse.method = (uint8_t)method;
	conn->out.lap = method == SHM_REUSE_WIDE ? SHM_BYTES : SHM_LAP_SHORT;
}

void shm_reuse_init(struct shm_conn *conn)
{
	conn->reuse =
		(struct shm_reuse){ .ask = ASK_AFTER, .populated = SHM_LAP_SHORT };
	choose_among(
		conn, 1u << SHM_REUSE_AHEAD | 1u << SHM_REUSE_AT_ONCE, SHM_REUSE_AHEAD);
	set_method(conn, SHM_REUSE_AHEAD);
}

void shm_reuse_end(struct shm_conn *conn)
{
	if (conn->reuse.is_wide)
		conn->ep->wide_rings--;
	conn->reuse.is_wide = false;
}

static void ask(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;
	size_t limit = shm_params.ring_memory / SHM_BYTES;

	if (ep->wide_rings >= limit && (!limit || !take_from_another(ep))) {
		conn->reuse.ask = ASK_AGAIN;
		return;
	}
	ep->wide_rings++;
	conn->reuse.is_wide = true;
	choose_among(conn,
		1u << SHM_REUSE_AT_ONCE | 1u << SHM_REUSE_AHEAD | 1u << SHM_REUSE_WIDE,
		SHM_REUSE_WIDE);
	/* Its lines are where they are in a long stream after a lap. */
	wf_choice_skip(&conn->reuse.choice, SHM_REUSE_WIDE, SHM_BYTES / SHM_STRETCH);
}

static void tell(struct shm_conn *conn)
{
	static const char *const names[] = {
		[SHM_REUSE_AT_ONCE] = "at once",
		[SHM_REUSE_AHEAD] = "ahead",
		[SHM_REUSE_WIDE] = "wide",
	};
	const struct wf_choice *choice = &conn->reuse.choice;

	if (conn->reuse.logged == choice->kept + 1)
		return;
	conn->reuse.logged = choice->kept + 1;
	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"bytes of the ring to %s are used again: %s (ns for %u KiB: at once "
		"%llu, ahead %llu, wide %llu)\n",
		shm_conn_name(conn), names[choice->kept], SHM_STRETCH >> 10,
		wf_choice_cost(choice, SHM_REUSE_AT_ONCE),
		wf_choice_cost(choice, SHM_REUSE_AHEAD),
		wf_choice_cost(choice, SHM_REUSE_WIDE));
}

/* The clock is read only while methods are measured. */
void shm_reuse_next(struct shm_conn *conn)
{
	struct shm_reuse *reuse = &conn->reuse;
	uint64_t now = reuse->choice.settled ? 0 : wf_now_ns();
	uint64_t cost = now && reuse->begun_ns ? now - reuse->begun_ns : 0;

	/* The last blob made it longer than a stretch. */
	if (wf_choice_add(
		    &reuse->choice, reuse->method, cost * SHM_STRETCH / reuse->bytes))
		tell(conn);
	reuse->begun_ns = now;
	reuse->bytes = 0;
	if (!reuse->is_wide && !--reuse->ask)
		ask(conn);
	set_method(conn, wf_choice_take(&reuse->choice));
	if (reuse->method == SHM_REUSE_WIDE)
		populate(conn);
}

void shm_reuse_interrupt(struct shm_conn *conn)
{
	wf_choice_interrupt(&conn->reuse.choice);
	conn->reuse.begun_ns = 0;
}

void shm_reuse_restart(struct shm_conn *conn)
{
	shm_writer_restart(&conn->out, behind[conn->reuse.method]);
}

void shm_reuse_prefetch(struct shm_conn *conn, size_t len)
{
	struct shm_writer *w = &conn->out;
	uint64_t at = w->pos % SHM_BYTES;
	uint8_t *to;

	if (at >= behind[SHM_REUSE_AHEAD])
		at = 0;
	to = w->lane->bytes + at;
	for (size_t i = 0; i < len; i += WF_CACHELINE)
		wf_prefetch_write(to + i);
}
