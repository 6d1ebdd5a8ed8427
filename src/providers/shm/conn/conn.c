/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/data/pieces.h"
#include "providers/shm/data/region.h"
#include "providers/shm/data/remote.h"
#include "providers/shm/data/reuse.h"
#include "providers/shm/data/verdict.h"
#include "sys/calls.h"

/* A connection from its beginning to its end. */

enum {
	FIRST_CAPACITY = 16,
	LAST_READS = 4096,
	/* The pages of this many connections are populated when they begin; an endpoint
	 * with more peers leaves the memory of idle ones untouched. */
	WARM_FEW = 16,
};

static bool enter(struct shm_ep *ep, struct shm_conn *conn)
{
	uint32_t capacity = ep->conn_capacity ? ep->conn_capacity * 2 : FIRST_CAPACITY;
	struct shm_conn **conns;

	if (ep->conn_count == ep->conn_capacity) {
		conns = realloc(ep->conns, capacity * sizeof(struct shm_conn *));
		if (!conns)
			return false;
		ep->conns = conns;
		ep->conn_capacity = capacity;
	}
	conn->position = ep->conn_count;
	ep->conns[ep->conn_count++] = conn;
	return true;
}

static void swap(struct shm_ep *ep, uint32_t a, uint32_t b)
{
	struct shm_conn *conn = ep->conns[a];

	ep->conns[a] = ep->conns[b];
	ep->conns[a]->position = a;
	ep->conns[b] = conn;
	conn->position = b;
}

void shm_conn_make_hot(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	conn->quiet = 0;
	if (conn->position < ep->hot)
		return;
	swap(ep, conn->position, ep->hot);
	ep->hot++;
}

void shm_conn_make_cold(struct shm_conn *conn)
{
	struct shm_ep *ep = conn->ep;

	if (conn->position >= ep->hot)
		return;
	ep->hot--;
	swap(ep, conn->position, ep->hot);
}

static void leave(struct shm_ep *ep, struct shm_conn *conn)
{
	shm_conn_make_cold(conn);
	swap(ep, conn->position, ep->conn_count - 1);
	ep->conn_count--;
}

/* Read one packet from the socket. It wakes a sleeping thread; the end of the stream
 * means that the peer has died or closed the endpoint. False: there are no more packets
 * for now. */
static bool read_packet(struct shm_conn *conn)
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

static void ready(struct wf_watch *watch, uint32_t events)
{
	struct shm_conn *conn = wf_container_of(watch, struct shm_conn, watch);

	(void)events;
	shm_conn_make_hot(conn);
	for (int i = 0; i < LAST_READS && read_packet(conn); i++)
		;
}

struct shm_conn *shm_conn_new(struct shm_ep *ep, struct shm_peer *peer, int fd,
	struct shm_region *region, unsigned int out_lane)
{
	struct shm_conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		return NULL;
	conn->ep = ep;
	conn->peer = peer;
	conn->region = region;
	conn->out_lane = (uint8_t)out_lane;
	conn->out = shm_writer_of(&region->lane[out_lane]);
	conn->in = (struct shm_reader){ .lane = &region->lane[!out_lane], .next = 1 };
	conn->heard = conn->in.next;
	shm_reuse_init(conn);
	conn->idle = true;
	conn->copies_regions = true;
	conn->table_fd = -1;
	conn->index = FI_ADDR_NOTAVAIL;
	conn->watch = (struct wf_watch){ .ready = ready, .fd = fd };
	wf_list_init(&conn->failed_link);
	wf_list_init(&conn->dirty_link);
	wf_list_init(&conn->verdict_link);
	wf_list_init(&conn->visit_link);
	wf_list_init(&conn->patience.link);
	wf_list_init(&conn->answers);
	wf_list_init(&conn->txq);
	wf_list_init(&conn->streams);
	wf_list_init(&conn->settling);
	wf_list_init(&conn->sinks);
	if (!enter(ep, conn))
		goto err_free;
	if (wf_watch_set(&ep->watches, &conn->watch, EPOLLIN))
		goto err_leave;
	shm_conn_make_hot(conn);
	if (ep->conn_count <= WARM_FEW)
		shm_region_warm(region);
	wf_remote_ref(&peer->remote);
	return conn;

err_leave:
	leave(ep, conn);
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

	if (shm_av_seq(ep) != ep->av_seq)
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
	conn->idle = false;
	conn->ep->chores = true;
	wf_list_push(&conn->ep->failed, &conn->failed_link);
}

static void end_tx(struct shm_conn *conn, struct shm_tx *tx, int err)
{
	if (err)
		shm_tx_fail(conn->ep, tx, err, conn->peer->name);
	else
		shm_tx_free(conn->ep, tx);
}

static void end_list(struct shm_conn *conn, struct wf_list *list, int err)
{
	struct wf_list *link;

	while ((link = wf_list_pop(list)))
		end_tx(conn, wf_list_entry(link, struct shm_tx, link), err);
}

/* End the operations that were not written into the lane. @replay: replayed messages
 * stay in the queue, for shm_replay. */
static void end_txq(struct shm_conn *conn, int err, bool replay)
{
	wf_list_foreach_safe(link, &conn->txq)
	{
		struct shm_tx *tx = wf_list_entry(link, struct shm_tx, link);

		if (replay && tx->is_completed)
			continue;
		wf_list_remove(link);
		end_tx(conn, tx, err);
	}
}

/* Receive the records that the peer wrote before the connection ended. */
static void read_rest(struct shm_conn *conn)
{
	if (conn->err == FI_EPROTO)
		return;
	for (int i = 0; i < LAST_READS && shm_rx_poll(conn); i++)
		;
}

void shm_conn_end(struct shm_conn *conn, int err)
{
	struct shm_ep *ep = conn->ep;
	bool replay;

	if (err)
		read_rest(conn);
	shm_reader_close(&conn->in);
	shm_regions_leave(conn);
	shm_remote_done(conn);
	wf_list_remove(&conn->failed_link);
	shm_bulk_end(conn, err ? err : FI_ECANCELED, !err);
	shm_pieces_end(conn, err ? err : FI_ECANCELED, !err);
	wf_unexp_break(&conn->unexp, FI_ECONNRESET);
	shm_verdict_end(conn, err);
	end_list(conn, &conn->settling, err);
	end_list(conn, &conn->answers, 0);
	end_list(conn, &conn->streams, err);
	wf_budget_give(&ep->answers, &conn->answer_bytes, conn->answer_bytes);
	replay = conn->peer->conn == conn && err && conn->err == FI_ECONNRESET;
	end_txq(conn, err, replay);
	shm_watch_close(ep, &conn->watch);
	leave(ep, conn);
	shm_peer_lost(ep, conn);
	if (replay)
		shm_replay(conn);
	wf_remote_unref(&ep->peers->remotes, &conn->peer->remote);
	wf_list_remove(&conn->dirty_link);
	wf_list_remove(&conn->patience.link);
	shm_reuse_end(conn);
	shm_region_unmap(conn->region);
	conn->region = NULL;
	free(conn->acks);
	free(conn->ids);
	wf_list_push(&ep->dead, &conn->failed_link);
}

void shm_conn_free_dead(struct shm_ep *ep)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&ep->dead)))
		free(wf_list_entry(link, struct shm_conn, failed_link));
}
