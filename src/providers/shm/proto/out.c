/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/out.h"

#include <sys/socket.h>

#include "sys/calls.h"
#include "sys/clock.h"

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

__attribute__((noinline)) void shm_out_tell(struct shm_conn *conn)
{
	shm_reader_tell(&conn->in);
	if (conn->wake)
		shm_out_ring(conn, &conn->in.lane->reader.waiting);
}

void shm_out_poll_soon(struct shm_ep *ep)
{
	if (ep->watches.sleepers)
		wf_watches_expect(&ep->watches, wf_now_ns() + SHM_FULL_NS);
}

void shm_out_dirty(struct shm_conn *conn)
{
	conn->queue.idle = false;
	conn->ep->chores = true;
	if (!wf_list_empty(&conn->queue.dirty_link))
		return;
	wf_list_push(&conn->ep->dirty, &conn->queue.dirty_link);
	wf_ep_want(&conn->ep->ep);
	shm_out_poll_soon(conn->ep);
}
