/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/listen.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/memory.h"
#include "providers/tcp/data/stage.h"
#include "sys/calls.h"

/*
 * Sends a connection's records: decides when, and how much in one system call.
 *
 * A message is sent at once if none was sent since the last progress call; the next
 * ones wait in the stage for the next progress call, or until the stage is full. So a
 * single message has no delay, and a burst costs one system call for many messages.
 */

enum {
	SEND_IOV = 2 + 2 * TCP_IOV_LIMIT,
	AT_ONCE = 16, /* limit of successive injected messages that are sent at once */
};

/* The unsent payload of the current record, as iovecs. */
static size_t flush_rest(const struct tcp_tx *tx, struct iovec *to)
{
	uint64_t skip = tx->done > tx->hdr_len ? tx->done - tx->hdr_len : 0;
	size_t n = 0;

	if (!tx->rec.payload_len)
		return 0;
	for (size_t i = 0; i < tx->iov_count; i++) {
		size_t len = tx->iov[i].iov_len;

		if (skip >= len) {
			skip -= len;
			continue;
		}
		to[n].iov_base = (uint8_t *)tx->iov[i].iov_base + skip;
		to[n++].iov_len = len - skip;
		skip = 0;
	}
	return n;
}

/* The same for a payload in registered memory; after a return of 0 the lock of the
 * region map is held. */
static int flush_mr_rest(struct tcp_conn *conn, const struct tcp_tx *tx,
	struct iovec *to, size_t *ret_count)
{
	uint64_t skip = tx->done > tx->hdr_len ? tx->done - tx->hdr_len : 0;

	return tcp_mr_pieces(
		conn->ep, &tx->rec, skip, FI_REMOTE_READ, to, TCP_IOV_LIMIT, ret_count);
}

static ssize_t flush_write_iov(int fd, struct iovec *iov, size_t count, int flags)
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = count };

	if (count == 1)
		return wf_sys_send(
			fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | flags);
	return wf_sys_sendmsg(fd, &msg, MSG_NOSIGNAL | flags);
}

static void flush_advance(struct tcp_conn *conn, size_t n)
{
	size_t staged = WF_MIN(n, conn->staged - conn->flushed);
	struct tcp_tx *tx = conn->cur;

	if (staged)
		tcp_stage_sent(conn, staged);
	n -= staged;
	if (!tx)
		return;
	tx->done += n;
	if (tx->done == tx->hdr_len + tx->rec.payload_len) {
		conn->cur = NULL;
		tcp_tx_sent(conn, tx);
	}
}

/* One system call. False: the socket takes no more now, or it failed. */
static bool flush_write_some(struct tcp_conn *conn)
{
	struct iovec iov[SEND_IOV];
	struct tcp_tx *tx = conn->cur;
	size_t count = 0, want = 0, pieces = 0;
	bool locked = false;
	ssize_t n;
	int err;

	if (conn->flushed < conn->staged) {
		iov[count].iov_base = conn->stage->bytes + conn->stage->head;
		iov[count++].iov_len = conn->staged - conn->flushed;
	}
	if (tx && tx->done < tx->hdr_len) {
		iov[count].iov_base = tx->hdr + tx->done;
		iov[count++].iov_len = tx->hdr_len - tx->done;
	}
	if (tx && tx->from_mr) {
		err = flush_mr_rest(conn, tx, iov + count, &pieces);
		if (err) {
			tcp_conn_fail(conn, -err);
			return false;
		}
		locked = true;
		count += pieces;
	} else if (tx) {
		count += flush_rest(tx, iov + count);
	}
	for (size_t i = 0; i < count; i++)
		want += iov[i].iov_len;
	n = flush_write_iov(conn->watch.fd, iov, count, MSG_DONTWAIT);
	err = errno;
	if (locked)
		tcp_mr_release(conn->ep);
	if (n < 0) {
		if (err != EAGAIN && err != EINTR) {
			conn->unread = true;
			tcp_conn_fail(conn, err);
		}
		return err == EINTR;
	}
	tcp_conn_owes(conn);
	conn->sent += (size_t)n;
	flush_advance(conn, (size_t)n);
	return (size_t)n == want;
}

static void flush_add_dirty(struct tcp_conn *conn)
{
	wf_progress_wake(&conn->ep->ep.progress);
	wf_ep_want(&conn->ep->ep);
	if (wf_list_empty(&conn->dirty_link))
		wf_list_push(&conn->ep->dirty, &conn->dirty_link);
}

void tcp_tx_dirty(struct tcp_conn *conn)
{
	flush_add_dirty(conn);
	tcp_wake_sleepers(conn->ep);
}

/* The next progress call tries again; sleeping threads wake when the socket has
 * space. */
static void flush_blocked(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;

	flush_add_dirty(conn);
	if (!ep->manual || ep->watches.sleepers)
		tcp_conn_watch(conn, tcp_conn_events(conn));
}

/* Cork the socket, so that the end of one record and the beginning of the next go in
 * one segment, if segments are large and each has a cost. */
static bool flush_cork(struct tcp_conn *conn)
{
	if (!conn->same_host || !conn->cur ||
		(wf_list_empty(&conn->answers) && wf_list_empty(&conn->txq)))
		return false;
	tcp_sock_cork(conn->watch.fd, true);
	return true;
}

/* Write until all is sent (true), or the socket is full or there is no memory for
 * acknowledgements (false). */
static bool flush_write_all(struct tcp_conn *conn, bool *ret_corked)
{
	while (!conn->err) {
		if (!conn->cur)
			tcp_tx_fill(conn);
		if (!conn->cur && conn->staged == conn->flushed)
			return !conn->acks_due;
		if (!*ret_corked)
			*ret_corked = flush_cork(conn);
		if (!flush_write_some(conn))
			return false;
	}
	return true;
}

void tcp_tx_flush(struct tcp_conn *conn)
{
	bool corked = false, all = flush_write_all(conn, &corked);

	/* Uncork in any case, because it is unknown when the next call comes. */
	if (corked)
		tcp_sock_cork(conn->watch.fd, false);
	if (!all) {
		if (!tcp_tx_idle(conn) && !conn->err)
			flush_blocked(conn);
		return;
	}
	if (conn->stage && conn->staged == conn->flushed)
		tcp_stage_put(conn);
	wf_list_remove(&conn->dirty_link);
	if (conn->watch.events & EPOLLOUT)
		tcp_conn_watch(conn, tcp_conn_events(conn));
}

/* Is the operation's completion reported? */
static bool flush_is_reported(const struct wf_list *link)
{
	return wf_op_is_reported(wf_list_entry(link, struct tcp_tx, link)->op_flags);
}

/* Does the application wait for a completion of this connection? Then it makes progress
 * calls. */
static bool flush_will_be_asked_for(const struct tcp_conn *conn)
{
	return conn->cur ||
	       (!wf_list_empty(&conn->txq) && flush_is_reported(conn->txq.next)) ||
	       (conn->stage && conn->stage->mark_head != conn->stage->mark_tail);
}

/*
 * May a message wait for the next progress call? An application that only injects need
 * not make progress calls: so its first AT_ONCE messages are sent at once, and further
 * ones as well unless it made a progress call between two of them.
 */
static bool flush_may_wait(const struct tcp_conn *conn)
{
	return conn->sent_epoch == conn->ep->epoch &&
	       (flush_will_be_asked_for(conn) ||
		       (conn->polled && conn->at_once >= AT_ONCE));
}

static void flush_count_at_once(struct tcp_conn *conn)
{
	if (conn->sent_epoch != conn->ep->epoch) {
		conn->polled = conn->at_once > 0;
		conn->at_once = 0;
		conn->sent_epoch = conn->ep->epoch;
	}
	if (conn->at_once < AT_ONCE)
		conn->at_once++;
}

void tcp_tx_kick(struct tcp_conn *conn, bool more)
{
	struct tcp_ep *ep = conn->ep;

	if (conn->err)
		return;
	/* An answer is likely to arrive: this endpoint has to make progress. */
	wf_progress_wake(&ep->ep.progress);
	if (ep->manual && (more || flush_may_wait(conn))) {
		tcp_tx_dirty(conn);
		return;
	}
	flush_count_at_once(conn);
	if (wf_unlikely(conn->local && conn->local->out == TCP_OUT_WAITS))
		tcp_switch_behind(conn);
	tcp_tx_flush(conn);
}
