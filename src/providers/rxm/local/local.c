/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/local/local.h"

#include <stdlib.h>
#include <string.h>

#include "objects/local/mode.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/wire.h"

static void local_log_result(const struct rxm_conn *conn, const char *what)
{
	char text[WF_SOCKADDR_STRLEN];

	rxm_log(FI_LOG_INFO, FI_LOG_EP_CTRL, "%s %s\n",
		wf_sockaddr_uri(&conn->peer->ip.addr, text, sizeof(text)), what);
}

bool rxm_local_is_to_itself(const struct rxm_conn *conn)
{
	return conn->peer_pid == conn->ep->peers->pid;
}

static void local_log_unreached(
	const struct rxm_conn *conn, enum wf_unreached unreached)
{
	char text[WF_SOCKADDR_STRLEN];

	if (rxm_local_is_to_itself(conn))
		return;
	rxm_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
		"%s has no shared memory with this process: %s\n",
		wf_sockaddr_uri(&conn->peer->ip.addr, text, sizeof(text)),
		wf_unreached_text(unreached));
}

/* Make the state of @conn, with a page and the card of this end. NULL: it is not
 * possible, and the connection is used. */
static struct rxm_local *local_new(struct rxm_conn *conn, enum rxm_local_state state,
	uint8_t ret_card[WF_PROOF_CARD])
{
	struct rxm_ep *ep = conn->ep;
	struct rxm_local *local;

	if (!ep->below || wf_local_is_inherited(ep->below) ||
		rxm_unread_waits(conn->peer))
		return NULL;
	local = calloc(1, sizeof(*local));
	if (!local)
		return NULL;
	if (wf_proof_make(&local->proof, ep->peers->pid, wf_local_name(ep->below),
		    ret_card)) {
		free(local);
		return NULL;
	}
	local->state = state;
	local->conn = conn;
	local->below = FI_ADDR_NOTAVAIL;
	wf_list_init(&local->link);
	conn->local = local;
	return local;
}

static void local_free(struct rxm_conn *conn)
{
	struct rxm_local *local = conn->local;

	wf_list_remove(&local->link);
	/* A forked child has no pages. */
	if (wf_local_is_inherited(conn->ep->below))
		wf_proof_hide(&local->proof);
	else
		wf_proof_done(&local->proof);
	free(local);
	conn->local = NULL;
}

size_t rxm_local_offer(struct rxm_conn *conn, uint8_t data[RXM_HELLO_MAX], size_t len)
{
	uint8_t card[WF_PROOF_CARD];

	return local_new(conn, RXM_LOCAL_OFFERED, card)
		       ? rxm_hello_add_card(data, len, card)
		       : len;
}

/* The connection of @ep to a peer whose endpoint below has the name of @local; NULL:
 * there is none. */
static struct rxm_conn *local_find_name(
	struct rxm_ep *ep, const struct rxm_local *local)
{
	wf_list_foreach(link, &ep->conns)
	{
		struct rxm_conn *conn = wf_list_entry(link, struct rxm_conn, link);

		if (conn->local && conn->local->below != FI_ADDR_NOTAVAIL &&
			!strcmp(conn->local->name, local->name))
			return conn;
	}
	return NULL;
}

/* Make the endpoint below know the peer. A peer has one place in the AV below: an older
 * connection to it, which has failed, gives it up. A second address of a peer that has
 * a connection at another one is reached by the socket. */
static enum wf_unreached local_know(struct rxm_local *local)
{
	struct rxm_conn *conn = local->conn, *other = local_find_name(conn->ep, local);

	if (!local->name[0])
		return WF_UNREACHED_NAME;
	if (other && other->state != RXM_CONN_DOWN &&
		wf_list_empty(&other->failed_link))
		return WF_UNREACHED_FAILED;
	if (other)
		rxm_local_end(other, other->err ? other->err : FI_ECANCELED);
	return wf_local_insert(conn->ep->below, &conn->peer->ip.addr, local->name,
		       strlen(local->name) + 1, &local->below)
		       ? WF_UNREACHED_FAILED
		       : WF_UNREACHED_NOT;
}

/* Examine the card of the peer, and write the answer to it into the own page. */
static enum wf_unreached local_examine(struct rxm_local *local, const uint8_t *card)
{
	struct rxm_conn *conn = local->conn;
	enum wf_unreached unreached;

	if (conn->peer_pid == conn->peer->barred_pid)
		return WF_UNREACHED_FAILED;
	unreached = wf_proof_read(&local->proof, card, conn->peer_pid, local->name);
	return unreached ? unreached : local_know(local);
}

size_t rxm_local_answer(struct rxm_conn *conn, const uint8_t *card,
	uint8_t data[RXM_HELLO_MAX], size_t len)
{
	uint8_t own[WF_PROOF_CARD];
	struct rxm_local *local = NULL;
	enum wf_unreached unreached;

	if (card && !rxm_local_is_to_itself(conn))
		local = local_new(conn, RXM_LOCAL_AWAITS, own);
	if (!local)
		return len;
	unreached = local_examine(local, card);
	if (!unreached)
		return rxm_hello_add_card(data, len, own);
	local_log_unreached(conn, unreached);
	local_free(conn);
	return len;
}

static void local_send_answered(struct rxm_conn *conn)
{
	struct rxm_hdr hdr;
	ssize_t ret;

	rxm_put_local(&hdr, conn->peer_id);
	ret = fi_inject(conn->below.fid, &hdr, sizeof(hdr), FI_ADDR_UNSPEC);
	if (ret)
		rxm_conn_fail(conn, (int)-ret);
}

/* Both ends reach the memory. */
static void local_begin_to_reach(struct rxm_local *local)
{
	struct rxm_ep *ep = local->conn->ep;

	local_log_result(local->conn, "has shared memory with this process");
	wf_proof_done(&local->proof);
	local->state = RXM_LOCAL_REACHING;
	wf_list_push(&ep->reaching, &local->link);
	wf_progress_wake(&ep->ep.progress);
}

void rxm_local_accepted(struct rxm_conn *conn, const uint8_t *card)
{
	struct rxm_local *local = conn->local;
	enum wf_unreached unreached = WF_UNREACHED_REFUSED;

	if (!local)
		return;
	if (card)
		unreached = local_examine(local, card);
	if (!unreached && wf_proof_verdict(&local->proof) != WF_VERDICT_PROOF)
		unreached = WF_UNREACHED_REFUSED;
	if (unreached)
		wf_page_prove(local->proof.own, WF_PAGE_REFUSED);
	/* The peer waits for the answer to its card. */
	if (card)
		local_send_answered(conn);
	if (!unreached) {
		local_begin_to_reach(local);
		return;
	}
	local_log_unreached(conn, unreached);
	rxm_local_end(conn, 0);
}

void rxm_local_answered(struct rxm_conn *conn)
{
	struct rxm_local *local = conn->local;

	if (!local || local->state != RXM_LOCAL_AWAITS) {
		rxm_conn_fail(conn, FI_EPROTO);
		return;
	}
	if (wf_proof_verdict(&local->proof) == WF_VERDICT_PROOF) {
		local_begin_to_reach(local);
		return;
	}
	local_log_unreached(conn, WF_UNREACHED_REFUSED);
	rxm_local_end(conn, 0);
	rxm_conn_settled(conn);
}

bool rxm_local_refuses(const union wf_sockaddr *own, const union wf_sockaddr *peer)
{
	char text[WF_SOCKADDR_STRLEN];

	if (wf_local_mode != WF_LOCAL_ONLY ||
		(!wf_sockaddr_is_loopback(peer) && !wf_sockaddr_same_host(own, peer)))
		return false;
	FI_WARN_SPARSE(&rxm_fi, FI_LOG_EP_CTRL,
		"FI_TCP_LOCAL=shm: %s is on this machine, and refused: shared memory "
		"does not reach it\n",
		wf_sockaddr_uri(peer, text, sizeof(text)));
	return true;
}

static void local_reached(struct rxm_local *local, int ret)
{
	struct rxm_conn *conn = local->conn;

	wf_list_remove(&local->link);
	local->state = ret ? RXM_LOCAL_SOCKET : RXM_LOCAL_MEMORY;
	if (ret) {
		rxm_log(FI_LOG_INFO, FI_LOG_EP_CTRL,
			"a peer on this machine is reached by its socket: %s\n",
			fi_strerror(-ret));
	} else {
		conn->ep->memory_conns++;
		local_log_result(conn, "is reached by shared memory from now on");
	}
	rxm_conn_settled(conn);
}

void rxm_local_tick(struct rxm_ep *ep)
{
	wf_list_foreach_safe(link, &ep->reaching)
	{
		struct rxm_local *local = wf_list_entry(link, struct rxm_local, link);
		int ret = wf_local_reach(ep->below, local->below);

		if (ret != -FI_EAGAIN)
			local_reached(local, ret);
	}
}

bool rxm_local_give_up(struct rxm_conn *conn)
{
	if (!conn->linked || !conn->local || conn->local->state != RXM_LOCAL_REACHING)
		return false;
	local_reached(conn->local, -FI_ETIMEDOUT);
	return true;
}

void rxm_local_failed(struct rxm_conn *conn)
{
	local_log_result(conn, "has lost its shared memory: connecting anew");
	conn->peer->barred_pid = conn->peer_pid;
	rxm_conn_fail(conn, FI_ECONNABORTED);
}

bool rxm_local_lingers(struct rxm_conn *conn)
{
	struct wf_local *below = conn->ep->below;

	return rxm_local_uses_memory(conn) && !conn->data.quiet &&
	       conn->err != FI_EPROTO && !wf_local_is_inherited(below) &&
	       wf_local_lingers(below, conn->local->below, &conn->local->linger_ns);
}

void rxm_local_end(struct rxm_conn *conn, int err)
{
	struct rxm_local *local = conn->local;

	if (!local)
		return;
	conn->ep->memory_conns -= rxm_local_uses_memory(conn);
	if (local->below != FI_ADDR_NOTAVAIL && !wf_local_is_inherited(conn->ep->below))
		rxm_unread_take_over(conn, err);
	local_free(conn);
}
