/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/way.h"

uint32_t tcp_way_offer(const struct tcp_ep *ep)
{
	return tcp_switch_name(ep) ? TCP_HAVE_LOCAL : 0;
}

/* Memory failed for this instance: the card sent is one that the peer refuses, and the
 * peer's is not read. */
static bool is_barred(const struct tcp_conn *conn)
{
	return conn->peer && conn->peer->barred_instance == conn->way->instance;
}

void tcp_way_begin(struct tcp_conn *conn, uint64_t instance)
{
	struct tcp_way *way = calloc(1, sizeof(*way));
	struct tcp_tx *tx;
	int err;

	if (!way) {
		tcp_conn_fail(conn, FI_ENOMEM);
		return;
	}
	way->instance = instance;
	way->proof.fd = -1;
	way->conn = conn;
	way->below = FI_ADDR_NOTAVAIL;
	wf_list_init(&way->link);
	conn->way = way;
	tx = tcp_tx_answer(conn, TCP_REC_CARD, TCP_WIRE_CARD);
	if (!tx)
		return;
	memset(tx->copy, 0, TCP_WIRE_CARD);
	if (is_barred(conn))
		way->apart = TCP_APART_FAILED;
	err = way->apart ? 0
			 : tcp_proof_make(&way->proof, conn->ep->peers->instance,
				   tcp_switch_name(conn->ep), tx->copy);
	if (err)
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"no proof of this machine can be made: %s\n", strerror(-err));
	tcp_tx_dirty(conn);
}

static void log_refusal(const union wf_sockaddr *addr, const char *why)
{
	char text[WF_SOCKADDR_STRLEN];

	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"FI_TCP_LOCAL=shm: %s is on this machine, and refused: %s\n",
		wf_sockaddr_uri(addr, text, sizeof(text)), why);
}

bool tcp_way_refuses(uint32_t agreed, int fd, const union wf_sockaddr *addr)
{
	if (tcp_params.local != TCP_LOCAL_SHM || agreed & TCP_HAVE_LOCAL ||
		!tcp_sock_is_within_host(fd))
		return false;
	log_refusal(addr, "not both ends offer to share memory");
	return true;
}

/* Is the peer a process of this machine, as its card says, or else its socket? */
static bool is_on_this_host(const struct tcp_conn *conn)
{
	switch (conn->way->apart) {
	case TCP_APART_MACHINE:
		return false;
	case TCP_APART_VERSION:
	case TCP_APART_REFUSED:
		return conn->local;
	default:
		return true;
	}
}

static void refuse(struct tcp_conn *conn)
{
	log_refusal(tcp_conn_addr(conn), tcp_apart_text(conn->way->apart));
	tcp_conn_fail(conn, FI_ECONNREFUSED);
}

void tcp_way_end(struct tcp_conn *conn, int err)
{
	if (!conn->way)
		return;
	tcp_switch_end(conn, err);
	tcp_proof_done(&conn->way->proof);
	free(conn->way);
	conn->way = NULL;
}

/* One line for each peer, when both directions were examined. */
static void settle(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	char text[WF_SOCKADDR_STRLEN];

	if (!way->read || !way->told)
		return;
	tcp_proof_done(&way->proof);
	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s %s shared memory with this process: %s\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)),
		way->apart ? "has no" : "has", tcp_apart_text(way->apart));
	if (!way->apart)
		tcp_switch_begin(conn);
	else if (tcp_params.local == TCP_LOCAL_SHM && is_on_this_host(conn))
		refuse(conn);
}

void tcp_way_answer(struct tcp_conn *conn, enum tcp_rec_kind kind, uint64_t id)
{
	struct tcp_tx *tx = tcp_tx_answer(conn, (uint8_t)kind, 0);

	if (!tx)
		return;
	tx->rec.id = id;
	tcp_tx_dirty(conn);
}

int tcp_card_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	struct tcp_way *way = conn->way;
	struct iovec iov;

	if (!way || way->read)
		return -FI_EPROTO;
	rx->entry = NULL;
	rx->unexp = NULL;
	iov = (struct iovec){ way->card, sizeof(way->card) };
	tcp_rx_sink(conn, &iov, 1);
	return 0;
}

int tcp_card_done(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	enum tcp_apart apart;
	uint64_t number = 0;

	way->read = true;
	apart = way->apart;
	if (apart != TCP_APART_FAILED)
		apart = tcp_proof_read(way->card, way->instance, &number, way->name);
	/* This end's own reason says more than the peer's refusal. */
	if (apart)
		way->apart = apart;
	tcp_way_answer(conn, TCP_REC_PROOF, number);
	settle(conn);
	return 0;
}

int tcp_proof_head(struct tcp_conn *conn)
{
	struct tcp_way *way = conn->way;
	uint64_t number = conn->rx.rec.id;

	if (!way || way->told)
		return -FI_EPROTO;
	way->told = true;
	if (way->proof.fd < 0 || number != way->proof.number) {
		if (number)
			FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
				"a peer sent a number that is not in this process's "
				"memory\n");
		if (!way->apart)
			way->apart = TCP_APART_REFUSED;
	}
	settle(conn);
	return 0;
}

void tcp_way_failed(struct tcp_conn *conn)
{
	char text[WF_SOCKADDR_STRLEN];

	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s has lost its shared memory: connecting anew\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)));
	if (conn->peer)
		conn->peer->barred_instance = conn->way->instance;
	tcp_conn_fail(conn, FI_ECONNABORTED);
}
