/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/uio.h>

#include "providers/shm/conn/proof.h"
#include "providers/shm/proto/answers.h"
#include "providers/shm/proto/bulk.h"
#include "sys/clock.h"

/* Payloads that are read from the sender's memory. */

enum {
	/* How long the sender may leave a message with a clear to send unsent, in
	 * nanoseconds. */
	PATIENCE_NS = 30000,
	PULL_STEP = 1 << 20, /* bytes of a payload that one progress call reads */
	/* Transfers that end together, for one look at the peer's socket. */
	TOGETHER = 8,
};

/* Read the next bytes of the payload; returns their number, or 0 if the memory cannot
 * be read. Whether it was the peer's is known afterwards (finish). */
static size_t bulk_pull_read_on(const struct shm_sink *sink)
{
	struct iovec to[SHM_IOV_LIMIT], from[SHM_IOV_LIMIT];
	size_t max = WF_MIN(shm_bulk_len(sink) - sink->done, (uint64_t)PULL_STEP);
	size_t to_count =
		shm_iov_rest(sink->to.iov, sink->to.count, sink->done, max, to);
	size_t from_count =
		shm_iov_rest(sink->from, sink->from_count, sink->done, max, from);
	ssize_t ret = process_vm_readv(
		sink->conn->process.pid, to, to_count, from, from_count, 0);

	return ret > 0 ? (size_t)ret : 0;
}

/* The memory cannot be read any more, or the addresses are wrong: let the sender write
 * the payload into the lane instead. */
static void bulk_pull_give_up(struct shm_sink *sink)
{
	sink->conn->process.cma = false;
	sink->pull = false;
	sink->done = 0;
	wf_list_remove(&sink->pull_link);
	atomic_store_explicit(
		&shm_bulk_sink_token(sink)->id, sink->request, memory_order_release);
	shm_bulk_clear(sink);
}

/*
 * The payload was read by @now. Was it the peer's, and was the message not given up?
 * The peer tells in the segment when it ends the connection, before its buffers are its
 * application's again.
 */
static bool bulk_pull_is_valid(struct shm_conn *conn, uint64_t now)
{
	return shm_writer_is_open(&conn->out) && shm_proof_is_recent(conn, now);
}

static const struct shm_conn *bulk_pull_next_conn(const struct wf_list *over)
{
	return wf_list_empty(over)
		       ? NULL
		       : wf_list_entry(over->next, struct shm_sink, pull_link)->conn;
}

/* End the transfers of @over, by pull_link, whose payloads were read. */
static void bulk_pull_finish(struct wf_list *over)
{
	uint64_t now = wf_list_empty(over) ? 0 : wf_now_ns();
	struct wf_list *link;

	while ((link = wf_list_pop(over))) {
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);
		struct shm_conn *conn = sink->conn;

		if (!conn->err && !bulk_pull_is_valid(conn, now))
			shm_conn_fail(conn, FI_ECONNRESET);
		if (conn->err)
			continue;
		/* Acknowledgements of one peer are sent together. */
		conn->polling = true;
		shm_bulk_finish(sink);
		conn->polling = false;
		if (conn->queue.ack_count && conn != bulk_pull_next_conn(over))
			shm_answer_acks(conn);
	}
}

/* What becomes of a transfer after a step. */
enum step { STEP_ON, STEP_OVER, STEP_FAILED };

/* Read the next bytes. */
static enum step bulk_pull_read_step(struct shm_sink *sink)
{
	uint64_t len = shm_bulk_len(sink);
	size_t got = len ? bulk_pull_read_on(sink) : 0;

	if (len && !got)
		return STEP_FAILED;
	sink->done += got;
	wf_progress_found_some(&sink->conn->ep->ep.progress);
	return sink->done < len ? STEP_ON : STEP_OVER;
}

/* A transfer that is over is moved to @over. */
static void bulk_pull_pull(struct shm_sink *sink, struct wf_list *over)
{
	enum step step = bulk_pull_read_step(sink);

	if (step == STEP_OVER) {
		wf_list_remove(&sink->pull_link);
		wf_list_push(over, &sink->pull_link);
	} else if (step == STEP_FAILED) {
		bulk_pull_give_up(sink);
	}
}

/* The sender of a message with a clear to send makes no progress: read the payload.
 * False: the sender has begun to write. */
static bool bulk_pull_take_over(struct shm_sink *sink)
{
	if (!shm_bulk_take_token(shm_bulk_sink_token(sink), sink->request)) {
		wf_list_remove(&sink->pull_link);
		return false;
	}
	sink->pull = true;
	return true;
}

void shm_bulk_progress(struct shm_ep *ep)
{
	uint64_t now = 0;
	struct wf_list over;
	unsigned int count = 0;

	wf_list_init(&over);
	wf_list_foreach_safe(link, &ep->pulls)
	{
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);

		if (sink->conn->err)
			continue;
		if (!sink->pull && !now)
			now = wf_now_ns();
		if (!sink->pull && now - sink->asked_ns < PATIENCE_NS)
			continue;
		if (sink->pull || bulk_pull_take_over(sink))
			bulk_pull_pull(sink, &over);
		if (++count % TOGETHER == 0)
			bulk_pull_finish(&over);
	}
	bulk_pull_finish(&over);
}
