/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/socket.h>

#include "providers/shm/data/out.h"
#include "providers/shm/data/withdraw.h"
#include "sys/calls.h"

/*
 * Writes the queued records into the lane, as far as there is space, and wakes the
 * peer.
 */

bool shm_out_refresh(struct shm_conn *conn)
{
	if (wf_likely(shm_writer_refresh(&conn->out)))
		return true;
	shm_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"connection to %s closed: it says that it read what was never sent\n",
		shm_conn_name(conn));
	shm_conn_fail(conn, FI_EPROTO);
	return false;
}

bool shm_out_has_space_slow(struct shm_conn *conn)
{
	return shm_out_refresh(conn) && shm_writer_slots(&conn->out) > 0;
}

void shm_out_ring(struct shm_conn *conn, _Atomic uint32_t *asleep)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(asleep, memory_order_relaxed))
		return;
	atomic_store_explicit(asleep, 0, memory_order_relaxed);
	/* If the socket has no space, it contains enough bytes to wake the peer. */
	(void)!wf_sys_send(conn->watch.fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void shm_out_wake_slow(struct shm_conn *conn)
{
	shm_out_ring(conn, &conn->out.lane->reader.armed);
}

void shm_out_dirty(struct shm_conn *conn)
{
	conn->idle = false;
	conn->ep->chores = true;
	if (!wf_list_empty(&conn->dirty_link))
		return;
	wf_list_push(&conn->ep->dirty, &conn->dirty_link);
	wf_ep_want(&conn->ep->ep);
	shm_poll_soon(conn->ep);
}

/* Write the queued records. False: some are left. */
static bool flush_lane(struct shm_conn *conn)
{
	do {
		conn->full = !shm_out_send_acks(conn) || !shm_out_send_answers(conn) ||
			     !shm_out_send_ops(conn) || !shm_out_send_streams(conn);
		if (conn->full)
			return false;
	} while (shm_out_may_send_ops(conn));
	/* Streams may have added acknowledgements and answers. */
	return !conn->ack_count && wf_list_empty(&conn->answers);
}

void shm_out_flush(struct shm_conn *conn)
{
	bool done;

	if (conn->err)
		return;
	done = flush_lane(conn) && !shm_withdraw_is_asking(conn);
	if (done)
		conn->idle = wf_list_empty(&conn->txq) && !conn->err;
	if (done && !conn->held)
		wf_list_remove(&conn->dirty_link);
}
