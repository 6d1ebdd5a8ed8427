/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/conn/reuse.h"
#include "providers/shm/wire/segment.h"
#include "sys/calls.h"

/* A connection from its beginning to its end. */

enum {
	FIRST_CAPACITY = 16,
	LAST_READS = 4096,
	/* The pages of this many connections are populated when they begin; an endpoint
	 * with more peers leaves the memory of idle ones untouched. */
	WARM_FEW = 16,
};

void shm_watch_close(struct shm_ep *ep, struct wf_watch *watch)
{
	if (watch->fd < 0)
		return;
	/* The socket is removed from the epoll set first: it would stay in it if a
	 * forked child has the file open. */
	(void)wf_watch_set(&ep->watches, watch, 0);
	shm_socket_close(watch->fd);
	watch->fd = -1;
}

static bool conn_enter(struct shm_ep *ep, struct shm_conn *conn)
{
	uint32_t capacity =
		ep->conns.capacity ? ep->conns.capacity * 2 : FIRST_CAPACITY;
	struct shm_conn **conns;

	if (ep->conns.count == ep->conns.capacity) {
		conns = realloc(ep->conns.at, capacity * sizeof(struct shm_conn *));
		if (!conns)
			return false;
		ep->conns.at = conns;
		ep->conns.capacity = capacity;
	}
	conn->position = ep->conns.count;
	ep->conns.at[ep->conns.count++] = conn;
	return true;
}

static void conn_swap(struct shm_ep *ep, uint32_t a, uint32_t b)
{
	struct shm_conn *conn = ep->conns.at[a];

	ep->conns.at[a] = ep->conns.at[b];
	ep->conns.at[a]->position = a;
	ep->conns.at[b] = conn;
	conn->position = b;
}

void shm_conn_make_hot(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	conn->quiet = 0;
	if (conn->position < ep->conns.hot)
		return;
	conn_swap(ep, conn->position, ep->conns.hot);
	ep->conns.hot++;
}

void shm_conn_make_cold(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	if (conn->position >= ep->conns.hot)
		return;
	ep->conns.hot--;
	conn_swap(ep, conn->position, ep->conns.hot);
}

static void conn_leave(struct shm_ep *ep, struct shm_conn *conn)
{
	shm_conn_make_cold(conn);
	conn_swap(ep, conn->position, ep->conns.count - 1);
	ep->conns.count--;
}

/* Read one packet from the socket. It wakes a sleeping thread; the end of the stream
 * means that the peer has died or closed the endpoint. False: there are no more packets
 * for now. */
static bool conn_read_packet(struct shm_conn *conn)
{
	char byte;
	int pass;
	ssize_t len = shm_socket_recv(conn->watch.fd, &byte, sizeof(byte), &pass);

	if (pass >= 0)
		(void)wf_sys_close(pass);
	/* A descriptor that this process has no number for is not wanted either. */
	if (len > 0 || len == -EMFILE)
		return true;
	if (len != -EAGAIN && len != -EINTR)
		shm_conn_fail(conn, len == -EPROTO ? FI_EPROTO : FI_ECONNRESET);
	return false;
}

static void shm_conn_ready(struct wf_watch *watch, uint32_t events)
{
	struct shm_conn *conn = wf_container_of(watch, struct shm_conn, watch);

	(void)events;
	shm_conn_make_hot(conn);
	for (int i = 0; i < LAST_READS && conn_read_packet(conn); i++)
		;
}

struct shm_conn *shm_conn_new(struct shm_ep *ep, struct shm_peer *peer, int fd,
	struct shm_segment *segment, unsigned int out_lane)
{
	struct shm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->ep = ep;
	conn->peer = peer;
	conn->segment = segment;
	conn->out_lane = (uint8_t)out_lane;
	conn->out = shm_writer_of(&segment->lane[out_lane]);
	conn->in = (struct shm_reader){ .lane = &segment->lane[!out_lane], .next = 1 };
	conn->heard = conn->in.next;
	shm_reuse_init(conn);
	conn->queue.idle = true;
	conn->access.copied = true;
	conn->access.table_fd = -1;
	conn->index = FI_ADDR_NOTAVAIL;
	conn->watch = (struct wf_watch){ .ready = shm_conn_ready, .fd = fd };
	wf_list_init(&conn->failed_link);
	wf_list_init(&conn->queue.dirty_link);
	wf_list_init(&conn->waits.verdict_link);
	wf_list_init(&conn->access.visit_link);
	wf_list_init(&conn->patience.link);
	wf_list_init(&conn->queue.answers);
	wf_list_init(&conn->queue.txq);
	wf_list_init(&conn->queue.streams);
	wf_list_init(&conn->waits.settling);
	wf_list_init(&conn->arriving.sinks);
	if (!conn_enter(ep, conn))
		goto err_free;
	if (wf_watch_set(&ep->watches, &conn->watch, EPOLLIN))
		goto err_leave;
	shm_conn_make_hot(conn);
	if (ep->conns.count <= WARM_FEW)
		shm_segment_warm(segment);
	wf_remote_ref(&peer->remote);
	return conn;

err_leave:
	conn_leave(ep, conn);
err_free:
	free(conn);
	return NULL;
}

const char *shm_conn_name(const struct shm_conn *conn)
{
	return conn->peer->name;
}

fi_addr_t shm_conn_index_slow(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	fi_addr_t index;

	if (shm_av_seq(ep) != ep->av_seq.seen)
		shm_peer_forget_indices(ep);
	index = wf_av_index(ep->ep.av, conn->peer->name, SHM_NAME_MAX);
	conn->index = index != FI_ADDR_NOTAVAIL && shm_peer_set_index(conn, index)
			      ? index
			      : FI_ADDR_NOTAVAIL;
	return index;
}

void shm_conn_fail(struct shm_conn *conn, int err)
{
	if (conn->err)
		return;
	conn->err = err;
	conn->queue.idle = false;
	conn->ep->chores = true;
	wf_list_push(&conn->ep->failed, &conn->failed_link);
}

/* Receive the records that the peer wrote before the connection ended. */
static void conn_read_rest(struct shm_conn *conn)
{
	if (conn->err == FI_EPROTO)
		return;
	for (int i = 0; i < LAST_READS && conn->ep->conn_ops->read(conn); i++)
		;
}

void shm_conn_end(struct shm_conn *conn, int err)
{
	struct shm_ep *ep = conn->ep;
	bool replay;

	if (err)
		conn_read_rest(conn);
	shm_reader_close(&conn->in);
	wf_list_remove(&conn->failed_link);
	replay = conn->peer->conn == conn && err && conn->err == FI_ECONNRESET;
	ep->conn_ops->end(conn, err, replay);
	shm_watch_close(ep, &conn->watch);
	conn_leave(ep, conn);
	shm_peer_lost(ep, conn);
	if (replay)
		ep->conn_ops->replay(conn);
	wf_remote_unref(&ep->peers->remotes, &conn->peer->remote);
	wf_list_remove(&conn->queue.dirty_link);
	wf_list_remove(&conn->patience.link);
	shm_reuse_end(conn);
	shm_segment_unmap(conn->segment);
	conn->segment = NULL;
	free(conn->queue.acks);
	free(conn->ids.at);
	wf_list_push(&ep->dead, &conn->failed_link);
}

void shm_conn_free_dead(struct shm_ep *ep)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&ep->dead)))
		free(wf_list_entry(link, struct shm_conn, failed_link));
}
