/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "providers/tcp/conn/conn.h"
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/cm/listen.h"
#include "sys/calls.h"
#include "sys/clock.h"

/*
 * Detection of hosts that vanished: nothing arrives from them any more, so only the
 * time shows it.
 *
 * While a connection is idle, the kernel's keep-alive finds out. It does not run while
 * bytes are not acknowledged, and the kernel itself gives up only after about a quarter
 * of an hour: until then it would take messages that are lost. So each connection with
 * such bytes is on ep->owing, where it is checked from time to time until the peer's
 * kernel has acknowledged all bytes. The kernel of a live host acknowledges whether the
 * process reads or not.
 */

static uint64_t keepalive_period_ns(const struct tcp_ep *ep)
{
	enum { SHORTEST_MS = 10, LONGEST_MS = 1000 };
	int ms = ep->conf.keepalive_ms / 4;

	return WF_MIN(WF_MAX(ms, SHORTEST_MS), LONGEST_MS) * 1000000ull;
}

/* Has the peer been silent for too long? @alive_ns is the latest time at which it is
 * known to have been alive. */
static bool keepalive_silent(
	struct tcp_conn *conn, const struct tcp_sock_debt *debt, uint64_t now)
{
	/* The kernel probes a peer whose window is closed, at growing intervals; each
	 * answer resets the count of probes. */
	enum { PROBES = 3 };
	uint64_t limit_ns = (uint64_t)conn->ep->conf.keepalive_ms * 1000000u;
	uint64_t silent_ns = (uint64_t)debt->silent_ms * 1000000u;

	if (!conn->alive_ns)
		conn->alive_ns = now;
	else if (now - conn->alive_ns > silent_ns)
		conn->alive_ns = now - silent_ns;
	return now - conn->alive_ns >= limit_ns &&
	       (debt->unacked || debt->probes >= PROBES);
}

static void keepalive_check(struct tcp_conn *conn, uint64_t now)
{
	struct tcp_sock_debt debt;

	if (conn->err)
		return;
	if (!tcp_sock_owes(conn->watch.fd, &debt)) {
		conn->alive_ns = 0;
		wf_list_remove(&conn->owing_link);
	} else if (keepalive_silent(conn, &debt, now)) {
		tcp_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"connection closed: the peer's host has not answered for %d "
			"ms\n",
			conn->ep->conf.keepalive_ms);
		tcp_conn_fail(conn, FI_ETIMEDOUT);
	}
}

void tcp_keepalive_check(struct tcp_ep *ep, uint64_t now)
{
	if (!ep->conf.keepalive_ms || now < ep->keepalive_ns)
		return;
	ep->keepalive_ns = now + keepalive_period_ns(ep);
	wf_list_foreach_safe(link, &ep->owing)
	{
		keepalive_check(wf_list_entry(link, struct tcp_conn, owing_link), now);
	}
}

uint64_t tcp_keepalive_deadline(struct tcp_ep *ep)
{
	uint64_t now;

	if (!ep->conf.keepalive_ms || wf_list_empty(&ep->owing))
		return UINT64_MAX;
	now = wf_now_ns();
	/* Bytes that have just been sent are checked after a full period. */
	if (ep->keepalive_ns <= now)
		ep->keepalive_ns = now + keepalive_period_ns(ep);
	return ep->keepalive_ns;
}

/*
 * The peer behaves as if this connection had ended. If it has, any byte makes the
 * peer's kernel reset it.
 */
void tcp_conn_probe(struct tcp_conn *conn)
{
	int second = 1;
	struct tcp_tx *tx;

	if (conn->err || conn->probing)
		return;
	conn->probing = true;
	if (!(conn->wire.have & TCP_HAVE_PROBE)) {
		(void)setsockopt(conn->watch.fd, IPPROTO_TCP, TCP_KEEPIDLE, &second,
			sizeof(second));
		return;
	}
	tx = tcp_tx_answer(conn, TCP_REC_PROBE, 0);
	if (!tx)
		return;
	tx->rec.id = 1;
	tcp_tx_dirty(conn);
}

bool tcp_conn_gone(struct tcp_conn *conn)
{
	enum { PAUSE_NS = 10000000 };
	uint64_t now = wf_coarse_ns();
	char byte;
	ssize_t n;

	if (wf_likely(now - conn->checked_ns < PAUSE_NS))
		return false;
	conn->checked_ns = now;
	n = wf_sys_recv(conn->watch.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0 && !tcp_rx_ended(conn))
		return false;
	conn->unread = true;
	tcp_conn_fail(conn, FI_ECONNRESET);
	return true;
}
