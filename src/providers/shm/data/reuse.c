/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/reuse.h"

#include "sys/clock.h"

/* Bytes behind which a method begins again. At once: not behind fewer, since two
 * processors of one core wait for each other when one overwrites what the other has
 * just read. */
static const uint32_t behind[] = {
	[SHM_REUSE_AT_ONCE] = 2048,
	[SHM_REUSE_AHEAD] = 8192,
};

void shm_reuse_init(struct shm_conn *conn)
{
	unsigned int methods = 1u << SHM_REUSE_AHEAD;

	if (shm_params.measure_copies)
		methods |= 1u << SHM_REUSE_AT_ONCE;
	wf_choice_init(&conn->reuse.choice, methods, SHM_REUSE_AHEAD);
}

static void tell(struct shm_conn *conn)
{
	const struct wf_choice *choice = &conn->reuse.choice;

	if (conn->reuse.logged == choice->kept + 1)
		return;
	conn->reuse.logged = choice->kept + 1;
	shm_log(FI_LOG_INFO, FI_LOG_EP_DATA,
		"answered messages to %s use the same memory again %s (ns from one to "
		"the next: %llu at once, %llu ahead)\n",
		shm_conn_name(conn),
		choice->kept == SHM_REUSE_AT_ONCE ? "at once" : "ahead",
		(unsigned long long)choice->median[SHM_REUSE_AT_ONCE],
		(unsigned long long)choice->median[SHM_REUSE_AHEAD]);
}

/* The clock is read only while methods are measured. */
unsigned int shm_reuse_choose(struct shm_conn *conn)
{
	struct shm_reuse *reuse = &conn->reuse;
	uint64_t now = reuse->choice.settled ? 0 : wf_now_ns();

	if (wf_choice_add(&reuse->choice, reuse->method,
		    now && reuse->begun_ns ? now - reuse->begun_ns : 0))
		tell(conn);
	reuse->begun_ns = now;
	reuse->method = (uint8_t)wf_choice_take(&reuse->choice);
	shm_writer_restart(&conn->out, behind[reuse->method]);
	return reuse->method;
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
