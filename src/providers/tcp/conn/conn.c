/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/cm/listen.h"
#include "providers/tcp/cm/msg_cm.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/data/unexp.h"
#include "providers/tcp/local/unread.h"
#include "providers/tcp/local/local.h"
#include "sys/calls.h"

/* The life of a connection from the end of its exchange on. */

/* May another connection be read in each progress call? Beyond the limit the reads
 * would cost more than polls of the epoll set. */
static bool conn_may_be_hot(const struct tcp_conn *conn)
{
	return conn->ep->hot_count < TCP_HOT_MAX;
}

static void tcp_conn_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_conn *conn = wf_container_of(watch, struct tcp_conn, watch);

	(void)events;
	if (conn->err)
		return;
	if (conn_may_be_hot(conn))
		tcp_conn_make_hot(conn);
	(void)tcp_rx_poll(conn);
	/* The epoll set reports bytes in the socket. Bytes that were read already are
	 * found by reading the connection. */
	if (!conn->err && !conn->hot &&
		(conn->rx.held || !(tcp_conn_events(conn) & EPOLLIN)))
		tcp_conn_make_hot(conn);
}

struct tcp_conn *tcp_conn_new(struct tcp_ep *ep, int fd,
	const struct tcp_wire_peer *wire, struct tcp_peer *peer)
{
	struct tcp_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->watch = (struct wf_watch){ .ready = tcp_conn_ready, .fd = fd };
	conn->ep = ep;
	conn->peer = peer;
	conn->wire = *wire;
	conn->same_host = tcp_sock_connected(fd);
	conn->sent_epoch = ep->epoch - 1;
	wf_list_init(&conn->hot_link);
	wf_list_init(&conn->dirty_link);
	wf_list_init(&conn->failed_link);
	wf_list_init(&conn->owing_link);
	wf_list_init(&conn->unconfirmed_link);
	wf_list_init(&conn->held_link);
	wf_list_init(&conn->answers);
	wf_list_init(&conn->txq);
	wf_list_init(&conn->acks);
	wf_list_init(&conn->resps);
	wf_list_init(&conn->matches);
	wf_list_push(&ep->conns, &conn->link);
	ep->conn_count++;
	if (peer)
		wf_remote_ref(&peer->ip.remote);
	return conn;
}

void tcp_conn_watch(struct tcp_conn *conn, uint32_t events)
{
	int ret = tcp_watch_set(conn->ep, &conn->watch, events);

	if (ret)
		tcp_conn_fail(conn, -ret);
}

void tcp_conn_start_reading(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;

	wf_progress_wake(&ep->ep.progress);
	if (conn_may_be_hot(conn))
		tcp_conn_make_hot(conn);
	else
		tcp_conn_watch(conn, EPOLLIN);
}

void tcp_conn_fail(struct tcp_conn *conn, int err)
{
	if (conn->err)
		return;
	conn->err = err;
	/* The socket is readable from now on, which wakes sleeping threads. */
	(void)shutdown(conn->watch.fd, SHUT_RDWR);
	wf_progress_wake(&conn->ep->ep.progress);
	wf_list_push(&conn->ep->failed, &conn->failed_link);
}

static void conn_end_tx(struct tcp_conn *conn, struct tcp_tx *tx, int err)
{
	if (err)
		tcp_tx_fail(tx, err, tcp_conn_addr(conn));
	else
		tcp_tx_free(tx);
}

static void conn_end_list(struct tcp_conn *conn, struct wf_list *list, int err)
{
	struct wf_list *link;

	while ((link = wf_list_pop(list)))
		conn_end_tx(conn, wf_list_entry(link, struct tcp_tx, link), err);
}

/* End the operations in the order in which they were posted, as far as it is known. */
static void conn_end_all_tx(struct tcp_conn *conn, int err)
{
	conn_end_list(conn, &conn->acks, err);
	conn_end_list(conn, &conn->resps, err);
	conn_end_list(conn, &conn->matches, err);
	if (conn->cur && conn->cur->want != TCP_WANT_CTS)
		conn_end_tx(conn, conn->cur, err);
	conn->cur = NULL;
	tcp_tx_drop_stage(conn, err);
	for (unsigned int i = 0; i < conn->rts.capacity; i++) {
		struct tcp_tx *tx = conn->rts.at[i];

		/* One with a clear to send is in txq. */
		if (tx && tx->want == TCP_WANT_CTS)
			conn_end_tx(conn, tx, err);
	}
	conn_end_list(conn, &conn->answers, 0);
	wf_budget_give(&conn->ep->answers, &conn->answer_bytes, conn->answer_bytes);
	conn_end_list(conn, &conn->txq, err);
}

void tcp_conn_end(struct tcp_conn *conn, int err)
{
	struct tcp_ep *ep = conn->ep;

	(void)tcp_watch_set(ep, &conn->watch, 0);
	if (conn->peer)
		tcp_peers_close(ep, conn->watch.fd);
	else
		(void)wf_sys_close(conn->watch.fd);
	conn->watch.fd = -1;
	conn->err = err ? err : FI_ECANCELED;
	if (conn->hot)
		ep->hot_count--;
	conn->hot = false;
	wf_list_remove(&conn->hot_link);
	wf_list_remove(&conn->dirty_link);
	wf_list_remove(&conn->failed_link);
	wf_list_remove(&conn->owing_link);
	wf_list_remove(&conn->unconfirmed_link);
	wf_list_remove(&conn->held_link);
	if (err && conn->peer)
		tcp_unread_keep(conn);
	conn_end_all_tx(conn, err);
	tcp_unexp_break(conn, err ? err : FI_ECANCELED, !err);
	tcp_slots_free(&conn->rts);
	tcp_slots_free(&conn->rdv);
	free(conn->rx.buf);
	free(conn->rx.held);
	tcp_local_end(conn, err);
	if (conn->peer)
		tcp_peer_lost(ep, conn->peer, conn);
	conn->peer = NULL;
	wf_list_remove(&conn->link);
	ep->conn_count--;
	wf_list_push(&ep->dead, &conn->link);
}

void tcp_conn_hang_up(struct tcp_conn *conn)
{
	enum { READS_MAX = 4096 };
	struct tcp_ep *ep = conn->ep;
	int fd = conn->watch.fd;

	if (conn->stage)
		tcp_tx_flush(conn);
	(void)shutdown(fd, SHUT_WR);
	for (int i = 0; ep->rbuf && i < READS_MAX; i++)
		if (wf_sys_recv(fd, ep->rbuf, ep->rbuf_size, MSG_DONTWAIT) <= 0)
			break;
}

void tcp_conn_free_dead(struct tcp_ep *ep)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&ep->dead)))
		free(wf_list_entry(link, struct tcp_conn, link));
}

void tcp_conn_make_hot(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;

	conn->quiet = 0;
	wf_progress_wake(&ep->ep.progress);
	if (conn->hot || conn->err)
		return;
	conn->hot = true;
	ep->hot_count++;
	wf_list_push(&ep->hot, &conn->hot_link);
	/* While no thread sleeps, the socket is not in the epoll set: an event for each
	 * segment costs more than the reads that it would save. A thread may sleep
	 * while another one makes the connection: then the socket is added. */
	tcp_conn_watch(conn, ep->watches.sleepers ? tcp_conn_events(conn) : 0);
}

void tcp_conn_make_cold(struct tcp_conn *conn)
{
	struct tcp_ep *ep = conn->ep;

	conn->hot = false;
	ep->hot_count--;
	wf_list_remove(&conn->hot_link);
	tcp_conn_watch(conn, tcp_conn_events(conn));
}

uint32_t tcp_conn_events(struct tcp_conn *conn)
{
	const struct tcp_rx *rx = &conn->rx;
	bool hold = (rx->body && rx->sink == TCP_SINK_HOLD) || tcp_rx_is_stopped(conn);
	bool blocked = conn->cur || conn->flushed < conn->staged;

	return (hold ? 0u : EPOLLIN) | (blocked ? EPOLLOUT : 0u);
}

const union wf_sockaddr *tcp_conn_addr(const struct tcp_conn *conn)
{
	return conn->peer ? &conn->peer->ip.addr : tcp_msg_peer(conn->ep);
}

bool tcp_conn_is_known(struct tcp_conn *conn)
{
	return !conn->peer || tcp_peer_index(conn->ep, conn->peer) != FI_ADDR_NOTAVAIL;
}

fi_addr_t tcp_conn_index(struct tcp_conn *conn)
{
	if (!conn->peer || !conn->ep->unexp.wants.index)
		return FI_ADDR_UNSPEC;
	return tcp_peer_index(conn->ep, conn->peer);
}

fi_addr_t tcp_conn_source(struct tcp_conn *conn)
{
	fi_addr_t index;

	if (!conn->peer || !conn->ep->unexp.wants.source)
		return FI_ADDR_NOTAVAIL;
	index = tcp_peer_index(conn->ep, conn->peer);
	return wf_recv_source(&conn->ep->ep, index);
}
