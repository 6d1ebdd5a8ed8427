/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/uio.h>

#include "providers/shm/conn/socket.h"
#include "providers/shm/data/bulk.h"
#include "providers/shm/data/lease.h"
#include "providers/shm/data/put.h"
#include "sys/clock.h"

/* Payloads that are read from the sender's memory, whole or in pieces. */

enum {
	/* How long the sender may leave a message with a clear to send unsent, in
	 * nanoseconds. */
	PATIENCE_NS = 30000,
	PULL_STEP = 1 << 20, /* bytes that one progress call reads */
};

size_t shm_bulk_rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
	struct iovec *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count && max; i++) {
		size_t len = iov[i].iov_len;

		if (offset >= len) {
			offset -= len;
			continue;
		}
		len = WF_MIN(len - offset, max);
		to[n].iov_base = (uint8_t *)iov[i].iov_base + offset;
		to[n++].iov_len = len;
		max -= len;
		offset = 0;
	}
	return n;
}

void shm_bulk_pull_alone(struct shm_sink *sink)
{
	sink->pull = true;
	sink->piece = shm_bulk_len(sink);
	sink->pieces = sink->front = 1;
}

/* Number of payload bytes, from the front, in the pieces that this endpoint took. */
static uint64_t end_of_front(const struct shm_sink *sink)
{
	return WF_MIN(sink->front * sink->piece, shm_bulk_len(sink));
}

/* Read the next bytes of the payload, up to the offset @end; returns their number, or 0
 * if the memory cannot be read. The same system call reads the peer's probe value,
 * which proves that the process with that number is still the peer. */
static size_t read_on(const struct shm_sink *sink, uint64_t end)
{
	const struct shm_conn *conn = sink->conn;
	struct iovec to[1 + SHM_IOV_LIMIT], from[1 + SHM_IOV_LIMIT];
	size_t max = WF_MIN(end - sink->done, (uint64_t)PULL_STEP);
	size_t to_count =
		shm_bulk_rest(sink->to.iov, sink->to.count, sink->done, max, to + 1);
	size_t from_count =
		shm_bulk_rest(sink->from, sink->from_count, sink->done, max, from + 1);
	uint64_t probe = 0;
	ssize_t ret;

	to[0] = (struct iovec){ &probe, sizeof(probe) };
	from[0] = (struct iovec){ (void *)(uintptr_t)conn->probe_addr, sizeof(probe) };
	ret = process_vm_readv(conn->pid, to, 1 + to_count, from, 1 + from_count, 0);
	if (ret < (ssize_t)sizeof(probe) || probe != conn->probe_value)
		return 0;
	return (size_t)ret - sizeof(probe);
}

/* The memory cannot be read any more, or the addresses are wrong: let the sender write
 * the payload into the lane instead. */
static void give_up(struct shm_sink *sink)
{
	sink->conn->cma = false;
	sink->pull = false;
	sink->done = 0;
	wf_list_remove(&sink->pull_link);
	atomic_store_explicit(
		&shm_bulk_sink_token(sink)->id, sink->request, memory_order_release);
	if (sink->entry || sink->tx)
		shm_bulk_clear(sink);
	else
		shm_put_clear(sink);
}

/* The region that this end writes or reads was closed. */
static void revoked(struct shm_sink *sink)
{
	if (sink->tx)
		shm_get_finish(sink, FI_EKEYREJECTED);
	else
		shm_put_revoked(sink);
}

/* The payload was read. If the peer's socket is still open, the peer and its buffers
 * existed all the time. */
static void pulled(struct shm_sink *sink)
{
	if (shm_socket_ended(sink->conn->watch.fd))
		shm_conn_fail(sink->conn, FI_ECONNRESET);
	else
		shm_bulk_finish(sink);
}

/* What becomes of a transfer after a step. */
enum step { STEP_ON, STEP_OVER, STEP_FAILED, STEP_REVOKED };

static enum step after_front(struct shm_sink *sink)
{
	if (!sink->shared)
		return STEP_OVER;
	if (sink->tx)
		shm_share_tell_read(sink);
	if (shm_share_next(sink))
		return STEP_ON;
	if (sink->tx && shm_share_is_revoked(sink))
		return STEP_REVOKED;
	return shm_share_is_over(sink) ? STEP_OVER : STEP_ON;
}

/* Read the next bytes; the lease is entered. */
static enum step read_step(struct shm_sink *sink)
{
	uint64_t end = end_of_front(sink);
	size_t got = 0;

	if (sink->done < end) {
		got = read_on(sink, end);
		if (!got) {
			if (sink->shared)
				shm_share_revoke(sink);
			return STEP_FAILED;
		}
		sink->done += got;
		wf_progress_found_some(&sink->conn->ep->ep.progress);
	}
	return sink->done < end ? STEP_ON : after_front(sink);
}

static void pull(struct shm_sink *sink)
{
	enum step step = STEP_REVOKED;

	if (shm_lease_enter(sink->lease)) {
		step = read_step(sink);
		if (step == STEP_OVER && sink->lease)
			shm_put_store_tail(sink);
		shm_lease_leave(sink->lease);
	}
	if (step == STEP_OVER)
		pulled(sink);
	else if (step == STEP_FAILED)
		give_up(sink);
	else if (step == STEP_REVOKED)
		revoked(sink);
}

/* The sender of a message with a clear to send makes no progress: read the payload.
 * False: the sender has begun to write. */
static bool take_over(struct shm_sink *sink)
{
	if (!shm_bulk_take_token(shm_bulk_sink_token(sink), sink->request)) {
		wf_list_remove(&sink->pull_link);
		return false;
	}
	shm_bulk_pull_alone(sink);
	return true;
}

void shm_bulk_progress(struct shm_ep *ep)
{
	uint64_t now = wf_now_ns();

	wf_list_foreach_safe(link, &ep->pulls)
	{
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);

		if (!sink->pull && now - sink->asked_ns < PATIENCE_NS)
			continue;
		if (!sink->conn->err && (sink->pull || take_over(sink)))
			pull(sink);
	}
}
