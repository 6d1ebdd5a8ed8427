/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/local/local.h"
#include "objects/local/mode.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/local.h"

uint32_t tcp_local_offer(const struct tcp_ep *ep)
{
	return wf_local_name(ep->below) ? TCP_HAVE_LOCAL : 0;
}

/* Memory failed for this instance of the peer: send a card that the peer refuses, and
 * do not read the peer's. */
static bool local_is_barred(const struct tcp_conn *conn)
{
	return conn->peer && conn->peer->barred_instance == conn->local->instance;
}

void tcp_local_begin(struct tcp_conn *conn, uint64_t instance, bool tell)
{
	struct tcp_local *local = calloc(1, sizeof(*local));
	struct tcp_tx *tx;
	int err;

	if (!local) {
		tcp_conn_fail(conn, FI_ENOMEM);
		return;
	}
	local->instance = instance;
	local->proof.fd = -1;
	local->conn = conn;
	local->below = FI_ADDR_NOTAVAIL;
	wf_list_init(&local->link);
	conn->local = local;
	if (!tell) {
		local->unreached = WF_UNREACHED_MACHINE;
		return;
	}
	tx = tcp_tx_answer(conn, TCP_REC_CARD, TCP_WIRE_CARD);
	if (!tx)
		return;
	memset(tx->copy, 0, TCP_WIRE_CARD);
	if (local_is_barred(conn))
		local->unreached = WF_UNREACHED_FAILED;
	err = local->unreached ? 0
			       : wf_proof_make(&local->proof, conn->ep->peers->instance,
					 wf_local_name(conn->ep->below), tx->copy);
	if (err) {
		local->unreached = WF_UNREACHED_VERSION;
		tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"no proof of this machine can be made: %s\n", strerror(-err));
	}
	/* At once: so it does not meet a socket that the peer has closed since. */
	tcp_tx_flush(conn);
}

static void local_log_refusal(const union wf_sockaddr *addr, const char *why)
{
	char text[WF_SOCKADDR_STRLEN];

	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"FI_TCP_LOCAL=shm: %s is on this machine, and refused: %s\n",
		wf_sockaddr_uri(addr, text, sizeof(text)), why);
}

bool tcp_local_refuses(uint32_t agreed, int fd, const union wf_sockaddr *addr)
{
	if (wf_local_mode != WF_LOCAL_ONLY || agreed & TCP_HAVE_LOCAL ||
		!tcp_sock_is_within_host(fd))
		return false;
	local_log_refusal(addr, "not both ends offer to share memory");
	return true;
}

/* Is the peer a process of this machine, according to its card or else to its
 * socket? */
static bool local_is_on_this_host(const struct tcp_conn *conn)
{
	switch (conn->local->unreached) {
	case WF_UNREACHED_MACHINE:
		return false;
	case WF_UNREACHED_VERSION:
	case WF_UNREACHED_REFUSED:
		return conn->same_host;
	default:
		return true;
	}
}

static void local_refuse(struct tcp_conn *conn)
{
	local_log_refusal(
		tcp_conn_addr(conn), wf_unreached_text(conn->local->unreached));
	tcp_conn_fail(conn, FI_ECONNREFUSED);
}

void tcp_local_end(struct tcp_conn *conn, int err)
{
	if (!conn->local)
		return;
	wf_list_remove(&conn->local->link);
	if (wf_local_is_inherited(conn->ep->below)) {
		wf_proof_hide(&conn->local->proof);
	} else {
		tcp_switch_end(conn, err);
		wf_proof_done(&conn->local->proof);
	}
	free(conn->local);
	conn->local = NULL;
}

/* Write one log line for each peer, when both directions were examined. An end that
 * refuses knows it at once; it knows its peer's answer from the page, or because there
 * is no page any more. */
static void local_settle(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	char text[WF_SOCKADDR_STRLEN];

	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s %s shared memory with this process: %s\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)),
		local->unreached ? "has no" : "has",
		wf_unreached_text(local->unreached));
	wf_proof_hide(&local->proof);
	if (!local->unreached) {
		tcp_switch_begin(conn);
		return;
	}
	wf_list_remove(&local->link);
	wf_proof_done(&local->proof);
	if (wf_local_mode == WF_LOCAL_ONLY && local_is_on_this_host(conn))
		local_refuse(conn);
}

static void local_poll_proof(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;
	enum wf_verdict verdict = wf_proof_verdict(&local->proof);

	if (verdict == WF_VERDICT_NONE)
		return;
	if (verdict == WF_VERDICT_WRONG)
		FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
			"a peer told a number that is not in this process's memory\n");
	local->has_verdict = true;
	if (verdict != WF_VERDICT_PROOF)
		local->unreached = WF_UNREACHED_REFUSED;
	local_settle(conn);
}

void tcp_local_poll(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	if (wf_list_empty(&local->link) || conn->err ||
		wf_local_is_inherited(conn->ep->below))
		return;
	if (!local->has_verdict)
		local_poll_proof(conn);
	/* The page is still read: a direction may switch. */
	if (local->has_verdict && !wf_list_empty(&local->link))
		tcp_switch_poll(conn);
}

/* Read the page of one connection in each call, so that many peers on this machine do
 * not cost the others anything. */
void tcp_local_tick(struct tcp_ep *ep)
{
	struct wf_list *link;
	struct tcp_conn *conn;

	if (wf_local_is_inherited(ep->below))
		return;
	link = wf_list_pop(&ep->switching);
	conn = wf_list_entry(link, struct tcp_local, link)->conn;
	wf_list_push(&ep->switching, link);
	tcp_local_poll(conn);
	tcp_switch_tick(conn);
}

int tcp_card_head(struct tcp_conn *conn)
{
	struct tcp_rx *rx = &conn->rx;
	struct tcp_local *local = conn->local;
	struct iovec iov;

	if (!local || local->read)
		return -FI_EPROTO;
	rx->entry = NULL;
	rx->unexp = NULL;
	iov = (struct iovec){ local->card, sizeof(local->card) };
	tcp_rx_sink(conn, &iov, 1);
	return 0;
}

void tcp_card_done(struct tcp_conn *conn)
{
	struct tcp_local *local = conn->local;

	local->read = true;
	/* An end without a page cannot be reached, and has sent a card that says so. */
	if (!local->unreached)
		local->unreached = wf_proof_read(
			&local->proof, local->card, local->instance, local->name);
	if (local->unreached) {
		local_settle(conn);
		return;
	}
	wf_list_push(&conn->ep->switching, &local->link);
	wf_progress_wake(&conn->ep->ep.progress);
}

void tcp_local_failed(struct tcp_conn *conn)
{
	char text[WF_SOCKADDR_STRLEN];

	tcp_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s has lost its shared memory: connecting anew\n",
		wf_sockaddr_uri(tcp_conn_addr(conn), text, sizeof(text)));
	if (conn->peer)
		conn->peer->barred_instance = conn->local->instance;
	tcp_conn_fail(conn, FI_ECONNABORTED);
}
