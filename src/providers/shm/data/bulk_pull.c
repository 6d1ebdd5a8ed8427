/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/uio.h>

#include "providers/shm/conn/socket.h"
#include "providers/shm/data/bulk.h"
#include "sys/clock.h"

/* Payloads that are read out of the sender's memory. */

enum {
	/* How long the sender may leave a cleared message unsent. */
	PATIENCE_NS = 30000,
	PULL_STEP = 1 << 20, /* bytes in one progress call */
};

/* The rest of @iov behind @offset, at most @max bytes. */
static size_t rest(const struct iovec *iov, size_t count, uint64_t offset, size_t max,
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

/* Read the next piece; returns its bytes, or 0 if the memory cannot be read. The same
 * system call reads the peer's probe value, which proves that the process with that
 * number is still the peer. */
static size_t pull_piece(const struct shm_sink *sink)
{
	const struct shm_conn *conn = sink->conn;
	struct iovec to[1 + SHM_IOV_LIMIT], from[1 + SHM_IOV_LIMIT];
	uint64_t probe = 0;
	size_t to_count =
		rest(sink->to.iov, sink->to.count, sink->done, PULL_STEP, to + 1);
	size_t from_count =
		rest(sink->from, sink->from_count, sink->done, PULL_STEP, from + 1);
	ssize_t ret;

	to[0] = (struct iovec){ &probe, sizeof(probe) };
	from[0] = (struct iovec){ (void *)(uintptr_t)conn->probe_addr, sizeof(probe) };
	ret = process_vm_readv(conn->pid, to, 1 + to_count, from, 1 + from_count, 0);
	if (ret < (ssize_t)sizeof(probe) || probe != conn->probe_value)
		return 0;
	return (size_t)ret - sizeof(probe);
}

static void pull(struct shm_sink *sink)
{
	uint64_t len = WF_MIN(sink->len, sink->to.len);
	struct shm_conn *conn = sink->conn;
	size_t got = sink->done < len ? pull_piece(sink) : 0;

	if (!got && sink->done < len) {
		/* No permission any more, or wrong addresses: have the sender write the
		 * payload into the lane instead. */
		conn->cma = false;
		sink->pull = false;
		sink->done = 0;
		wf_list_remove(&sink->pull_link);
		atomic_store_explicit(
			shm_bulk_claim(conn, !conn->out_lane, sink->claim),
			sink->request, memory_order_release);
		shm_bulk_clear(sink);
		return;
	}
	sink->done += got;
	wf_progress_found_some(&conn->ep->ep.progress);
	if (sink->done < len)
		return;
	/* If the peer's socket is open now, the peer and its buffers existed during the
	 * whole read. */
	if (shm_socket_ended(conn->watch.fd))
		shm_conn_fail(conn, FI_ECONNRESET);
	else
		shm_bulk_finish(sink);
}

void shm_bulk_progress(struct shm_ep *ep)
{
	uint64_t now = wf_now_ns();

	wf_list_foreach_safe(link, &ep->pulls)
	{
		struct shm_sink *sink = wf_list_entry(link, struct shm_sink, pull_link);
		struct shm_conn *conn = sink->conn;

		if (!sink->pull && now - sink->asked_ns < PATIENCE_NS)
			continue;
		if (!sink->pull &&
			!shm_bulk_take_claim(
				shm_bulk_claim(conn, !conn->out_lane, sink->claim),
				sink->request)) {
			wf_list_remove(&sink->pull_link);
			continue;
		}
		sink->pull = true;
		pull(sink);
	}
}
