/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "objects/endpoint/inbox.h"
#include "providers/tcp/local/local.h"
#include "providers/tcp/memory.h"
#include "sys/calls.h"

/*
 * Reads a connection.
 *
 * Bytes are read into the endpoint's only buffer and handled before the next read; only
 * an incomplete header is kept, in the connection. While a payload is expected, it is
 * read directly into its buffers, and only the bytes behind it go to the endpoint's
 * buffer. So an idle connection owns no buffer.
 */

enum {
	READS_PER_POLL = 16, /* then the other connections are read */
	SINK_PIECES = 8,
};

static const struct tcp_handler handlers[TCP_REC_KINDS] = {
	[TCP_REC_MSG] = { tcp_msg_head, tcp_msg_done },
	[TCP_REC_TAGGED] = { tcp_msg_head, tcp_msg_done },
	[TCP_REC_ACK] = { tcp_ack_head, NULL },
	[TCP_REC_READ] = { tcp_read_head, NULL },
	[TCP_REC_READ_RESP] = { tcp_resp_head, tcp_resp_done },
	[TCP_REC_WRITE] = { tcp_write_head, tcp_write_done },
	[TCP_REC_RTS] = { tcp_rts_head, NULL },
	[TCP_REC_CTS] = { tcp_cts_head, NULL },
	[TCP_REC_RDV_DATA] = { tcp_rdv_head, tcp_rdv_done },
	[TCP_REC_ATOMIC] = { tcp_atomic_head, tcp_atomic_done },
	[TCP_REC_FETCH] = { tcp_atomic_head, tcp_atomic_done },
	[TCP_REC_COMPARE] = { tcp_atomic_head, tcp_atomic_done },
	[TCP_REC_ATOMIC_RESP] = { tcp_resp_head, tcp_resp_done },
	[TCP_REC_MSG_RTS] = { tcp_rts_head, NULL },
	[TCP_REC_ERROR] = { tcp_error_head, NULL },
	[TCP_REC_MATCHED] = { tcp_matched_head, NULL },
	[TCP_REC_PROBE] = { tcp_probe_head, NULL },
	[TCP_REC_PROBE_RESP] = { tcp_probe_head, NULL },
	[TCP_REC_CARD] = { tcp_card_head, tcp_card_done },
};

void tcp_rx_sink(struct tcp_conn *conn, const struct iovec *iov, size_t count)
{
	struct tcp_rx *rx = &conn->rx;

	rx->sink = TCP_SINK_IOV;
	rx->iov = rx->iovs;
	rx->iov_count = (unsigned int)count;
	rx->capacity = 0;
	for (size_t i = 0; i < count; i++) {
		rx->iovs[i] = iov[i];
		rx->capacity += iov[i].iov_len;
	}
	rx->capacity = WF_MIN(rx->capacity, rx->left);
}

void tcp_rx_drop(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;

	rx->sink = TCP_SINK_IOV;
	rx->iov_count = 0;
	rx->capacity = 0;
}

/* @n bytes of the sink's buffers were filled. */
static void rx_iov_advance(struct tcp_rx *rx, size_t n)
{
	while (n) {
		size_t step = WF_MIN(n, rx->iov->iov_len);

		rx->iov->iov_base = (uint8_t *)rx->iov->iov_base + step;
		rx->iov->iov_len -= step;
		n -= step;
		if (!rx->iov->iov_len) {
			rx->iov++;
			rx->iov_count--;
		}
	}
}

/* @n bytes of the payload were stored in the sink. */
static void rx_sink_advance(struct tcp_rx *rx, size_t n)
{
	rx->capacity -= n;
	if (rx->sink == TCP_SINK_MR)
		rx->offset += n;
	else
		rx_iov_advance(rx, n);
}

void tcp_rx_move(struct tcp_conn *conn, const struct iovec *iov, size_t count,
	const uint8_t *from)
{
	struct tcp_rx *rx = &conn->rx;
	size_t done = rx->rec.payload_len - rx->left, moved;

	tcp_rx_sink(conn, iov, count);
	moved = wf_iov_scatter(iov, count, from, done);
	rx->capacity = WF_MIN(wf_iov_len(iov, count) - moved, rx->left);
	rx_iov_advance(rx, moved);
}

/* A region was closed while the payload arrived: drop the rest. */
static void rx_mr_gone(struct tcp_rx *rx, int ret)
{
	rx->err = -ret;
	rx->capacity = 0;
}

static void rx_to_mr(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_rx *rx = &conn->rx;
	struct iovec iov[SINK_PIECES];
	size_t count, step;
	int ret;

	n = WF_MIN(n, rx->capacity);
	while (n) {
		ret = tcp_mr_pieces(conn->ep, &rx->rec, rx->offset, FI_REMOTE_WRITE,
			iov, SINK_PIECES, &count);
		if (ret) {
			rx_mr_gone(rx, ret);
			return;
		}
		step = wf_iov_scatter(iov, count, p, n);
		tcp_mr_release(conn->ep);
		rx_sink_advance(rx, step);
		p += step;
		n -= step;
	}
}

/* Handle @n bytes of payload at @p. */
static void rx_payload(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_rx *rx = &conn->rx;
	size_t fit = WF_MIN(n, rx->capacity);

	rx->left -= n;
	if (rx->sink == TCP_SINK_MR) {
		rx_to_mr(conn, p, n);
		return;
	}
	(void)wf_iov_scatter(rx->iov, rx->iov_count, p, fit);
	rx_sink_advance(rx, fit);
}

static void rx_body_done(struct tcp_conn *conn)
{
	const struct tcp_handler *handler = &handlers[conn->rx.rec.kind];

	conn->rx.body = false;
	if (handler->done)
		handler->done(conn);
}

/* @ret: a negative fi_errno. */
static void rx_refuse(struct tcp_conn *conn, int ret, const char *what)
{
	tcp_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"connection closed: bad record from the peer: %s\n", what);
	tcp_conn_fail(conn, -ret);
}

/* A record arrives at an endpoint with an inbox; @n bytes behind its header are at @p.
 * False: it is no message, or the message is passed. */
static bool rx_to_inbox(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct wf_inbox_feed *feed = conn->ep->ep.inbox;
	const struct tcp_record *rec = &conn->rx.rec;

	switch (rec->kind) {
	case TCP_REC_MSG:
		if (wf_likely(!rec->flags && rec->payload_len <= n))
			return wf_inbox_put(feed, p, rec->payload_len);
		break;
	case TCP_REC_TAGGED:
	case TCP_REC_RTS:
	case TCP_REC_MSG_RTS:
		break;
	default:
		return false;
	}
	wf_inbox_pass(feed);
	return false;
}

/* Handle a record that begins at @p. Returns the bytes used, or 0 if its header is
 * incomplete or the connection failed. */
static size_t tcp_rx_head(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_rx *rx = &conn->rx;
	int ret = tcp_record_decode(p, n, &conn->wire, &rx->rec);
	size_t used;

	if (wf_unlikely(ret)) {
		if (ret < 0) {
			rx_refuse(conn, -FI_EPROTO, tcp_fault_text(-ret));
			return 0;
		}
		memcpy(rx->carry, p, n);
		rx->carry_len = (uint8_t)n;
		return 0;
	}
	if (wf_unlikely(rx->rec.context && rx->rec.context >= conn->ep->rx_contexts)) {
		rx_refuse(conn, -FI_EPROTO, "receive context that is not there");
		return 0;
	}
	used = rx->rec.hdr_len;
	if (conn->ep->ep.inbox && rx_to_inbox(conn, p + used, n - used))
		return used + rx->rec.payload_len;
	rx->left = rx->rec.payload_len;
	rx->body = true;
	rx->err = 0;
	tcp_rx_drop(conn);
	ret = handlers[rx->rec.kind].head(conn);
	if (wf_unlikely(ret)) {
		rx_refuse(conn, ret, tcp_rec_kind_text(rx->rec.kind));
		return 0;
	}
	if (!rx->left && rx->sink != TCP_SINK_HOLD)
		rx_body_done(conn);
	return used;
}

static void rx_hold(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_rx *rx = &conn->rx;

	rx->held = malloc(n);
	if (!rx->held) {
		tcp_conn_fail(conn, FI_ENOMEM);
		return;
	}
	memcpy(rx->held, p, n);
	rx->held_len = n;
}

/* Handle the @n bytes at @p, until the connection fails, the sink becomes
 * TCP_SINK_HOLD, or there are too many answers. */
static void rx_parse(struct tcp_conn *conn, const uint8_t *p, size_t n)
{
	struct tcp_rx *rx = &conn->rx;
	size_t used;

	while (n && !conn->err) {
		if (!rx->body) {
			used = tcp_rx_head(conn, p, n);
			if (!used)
				return;
		} else if (wf_unlikely(rx->sink == TCP_SINK_HOLD)) {
			rx_hold(conn, p, n);
			return;
		} else {
			used = WF_MIN(n, rx->left);
			rx_payload(conn, p, used);
			if (!rx->left)
				rx_body_done(conn);
		}
		p += used;
		n -= used;
		if (wf_unlikely(conn->answer_bytes) && n && !rx->body && !conn->err &&
			tcp_answers_full(conn)) {
			rx_hold(conn, p, n);
			return;
		}
	}
}

/* Continue with the bytes that were read behind a held message, which a receive has
 * matched now, or behind the last record; or complete the held message if it is
 * empty. */
static void rx_replay(struct tcp_conn *conn)
{
	uint8_t *held = conn->rx.held;
	size_t len = conn->rx.held_len;

	conn->rx.held = NULL;
	conn->rx.held_len = 0;
	if (len)
		rx_parse(conn, held, len);
	else
		rx_body_done(conn);
	free(held);
}

/* The buffers for the next read: the sink for the rest of a payload, then the
 * endpoint's buffer. If *@ret_locked is set, the lock of the region map is held. */
static size_t rx_read_iov(
	struct tcp_conn *conn, struct iovec *iov, size_t *ret_direct, bool *ret_locked)
{
	struct tcp_ep *ep = conn->ep;
	struct tcp_rx *rx = &conn->rx;
	size_t count = 0, n = 0;
	int ret;

	*ret_direct = 0;
	*ret_locked = false;
	if (rx->body && rx->capacity && rx->sink == TCP_SINK_MR) {
		ret = tcp_mr_pieces(ep, &rx->rec, rx->offset, FI_REMOTE_WRITE, iov,
			SINK_PIECES, &count);
		if (ret)
			rx_mr_gone(rx, ret);
		else
			*ret_locked = true;
	} else if (rx->body && rx->capacity) {
		for (; count < rx->iov_count; count++)
			iov[count] = rx->iov[count];
	}
	for (size_t i = 0; i < count; i++) {
		iov[i].iov_len = WF_MIN(iov[i].iov_len, rx->capacity - *ret_direct);
		*ret_direct += iov[i].iov_len;
	}
	/* The endpoint's buffer is added if the sink takes all of the payload's rest,
	 * or nothing of it: otherwise the bytes behind the sink still belong to the
	 * payload. */
	if (*ret_direct == rx->left || !rx->body || !*ret_direct) {
		n = rx->carry_len;
		memcpy(ep->rbuf, rx->carry, n);
		iov[count].iov_base = ep->rbuf + n;
		iov[count++].iov_len = ep->rbuf_size - n;
	}
	return count;
}

/* A read returned @n, which is not positive, with errno @err. */
static void rx_read_failed(struct tcp_conn *conn, ssize_t n, int err)
{
	if (!n)
		tcp_conn_fail(conn, FI_ECONNRESET);
	else if (err != EAGAIN && err != EINTR)
		tcp_conn_fail(conn, err);
}

/* Read the rest of a payload or of a header, and what is behind it. Results as
 * rx_read_once. */
static __attribute__((noinline)) bool rx_read_rest(struct tcp_conn *conn, bool *ret_any)
{
	struct iovec iov[SINK_PIECES + 1];
	struct tcp_rx *rx = &conn->rx;
	size_t direct, count, capacity, carry = rx->carry_len, got;
	bool locked;
	ssize_t n;
	int err;

	count = rx_read_iov(conn, iov, &direct, &locked);
	capacity = wf_iov_len(iov, count);
	n = count == 1
		    ? wf_sys_recv(conn->watch.fd, iov->iov_base, capacity, MSG_DONTWAIT)
		    : wf_sys_readv(conn->watch.fd, iov, (int)count);
	err = errno;
	if (locked)
		tcp_mr_release(conn->ep);
	if (n <= 0) {
		rx_read_failed(conn, n, err);
		return false;
	}
	*ret_any = true;
	conn->received += (size_t)n;
	got = WF_MIN((size_t)n, direct);
	if (got) {
		rx_sink_advance(rx, got);
		rx->left -= got;
		if (!rx->left)
			rx_body_done(conn);
	}
	if ((size_t)n > got) {
		rx->carry_len = 0;
		rx_parse(conn, conn->ep->rbuf, carry + (size_t)n - got);
	}
	return (size_t)n == capacity;
}

/* Read once. False: the socket had fewer bytes than there was space for. */
static inline bool rx_read_once(struct tcp_conn *conn, bool *ret_any)
{
	struct tcp_ep *ep = conn->ep;
	ssize_t n;

	if (wf_unlikely(conn->rx.body || conn->rx.carry_len))
		return rx_read_rest(conn, ret_any);
	n = wf_sys_recv(conn->watch.fd, ep->rbuf, ep->rbuf_size, MSG_DONTWAIT);
	if (n <= 0) {
		rx_read_failed(conn, n, errno);
		return false;
	}
	*ret_any = true;
	conn->received += (size_t)n;
	rx_parse(conn, ep->rbuf, (size_t)n);
	return (size_t)n == ep->rbuf_size;
}

bool tcp_rx_poll(struct tcp_conn *conn)
{
	bool any = false;

	if (wf_unlikely(tcp_rx_goes_on(&conn->rx)) && !tcp_rx_is_stopped(conn)) {
		rx_replay(conn);
		any = true;
	}
	for (int i = 0; i < READS_PER_POLL && !conn->err; i++) {
		if ((conn->rx.body && conn->rx.sink == TCP_SINK_HOLD) ||
			tcp_rx_is_stopped(conn) || wf_unlikely(conn->rx.held != NULL))
			break;
		if (!rx_read_once(conn, &any))
			break;
	}
	/* The peer's marker may be for the bytes that were just read. */
	if (any && conn->local)
		tcp_local_poll(conn);
	return any;
}

void tcp_rx_drain(struct tcp_conn *conn)
{
	enum { POLLS_MAX = 4096 }; /* a limit for a peer that never stops sending */

	for (int i = 0; i < POLLS_MAX && !conn->err; i++)
		if (!tcp_rx_poll(conn))
			break;
}

void tcp_rx_last_words(struct tcp_conn *conn)
{
	int err = conn->err;

	if (!conn->unread)
		return;
	conn->unread = false;
	conn->err = 0;
	tcp_rx_drain(conn);
	conn->err = err;
}

bool tcp_rx_ended(struct tcp_conn *conn)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(conn->watch.fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return true;
	return info.tcpi_state != TCP_ESTABLISHED;
}
