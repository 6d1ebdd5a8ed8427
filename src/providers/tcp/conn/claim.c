/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/conn/peer.h"

/*
 * Claims: the identity of the other end of an accepted connection.
 *
 * A request says at which port its sender listens, and any process of that host can say
 * so. Such a connection is a claim: records from it are received and answered, but no
 * operation of this endpoint uses it before the claim is proven. To prove it this
 * endpoint connects to the address as if there were no connection: at once if the AV
 * has the address, else when there is something to send. The answer of the listener at
 * the address decides:
 *
 * A reject means that the listener has a connection with this endpoint, or asks for
 * one: the claim is its own. Peers with the extension compare instances as well. A
 * reply means that it has none: another process made the claim, or the peer before it
 * was restarted. If no socket listens there, the address has no owner that could lose
 * it, and the claim is used; as it is if the host cannot be connected to (firewalls).
 *
 * A connection that this endpoint made needs no proof. A working connection is never
 * replaced because of a request. ep.lock guards all of this.
 */

static void use(struct tcp_peer *peer)
{
	struct tcp_conn *conn = peer->claimed;

	peer->claimed = NULL;
	peer->contested = false;
	tcp_peer_use(peer, conn);
}

bool tcp_claim_stands(const struct tcp_peer *peer)
{
	return peer->claimed && !peer->claimed->err;
}

static void log_stranger(const struct tcp_peer *peer)
{
	char text[WF_SOCKADDR_STRLEN];

	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"connection closed: its other end said that it is %s, and the listener "
		"there knows nothing of it\n",
		wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)));
}

void tcp_claim_made(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn)
{
	/* Another connection was made while the reply to this one was on its way. */
	if (tcp_claim_stands(peer) || (peer->conn && !peer->conn->err)) {
		tcp_conn_fail(conn, FI_ECONNABORTED);
		return;
	}
	peer->claimed = conn;
	peer->contested = false;
	if (tcp_claim_firewalled(ep, peer))
		return;
	/* A peer in the AV is asked at once: the first operation to it is likely to be
	 * an answer to what it sends now. */
	if (wf_list_empty(&peer->ip.remote.pending) &&
		tcp_peer_index(ep, peer) == FI_ADDR_NOTAVAIL)
		return;
	/* The peer's host is reachable now, even if earlier attempts failed. */
	peer->ip.remote.retry_ns = 0;
	wf_remote_wanted(&ep->peers->remotes, &peer->ip.remote);
	tcp_peer_schedule(ep, peer);
}

void tcp_claim_refuted(struct tcp_peer *peer)
{
	if (!tcp_claim_stands(peer))
		return;
	log_stranger(peer);
	/* Bytes that had arrived are received before the connection is taken down. */
	peer->claimed->unread = true;
	tcp_conn_fail(peer->claimed, FI_ECONNABORTED);
}

bool tcp_claim_rejected(
	struct tcp_ep *ep, struct tcp_peer *peer, const struct tcp_cm_msg *msg)
{
	const struct tcp_cm_ext *ext = &msg->ext;

	(void)ep;
	if (!tcp_claim_stands(peer))
		return false;
	if (ext->instance != peer->remote_instance) {
		tcp_claim_refuted(peer);
		return false;
	}
	/* Other implementations give no reason: if two connections claim one address,
	 * the reject may mean either. */
	if (ext->instance ? ext->reason != TCP_REASON_CONNECTED &&
				    ext->reason != TCP_REASON_CROSSED
			  : peer->contested)
		return false;
	use(peer);
	return true;
}

bool tcp_claim_unreachable(struct tcp_ep *ep, struct tcp_peer *peer, int err)
{
	(void)ep;
	if (!tcp_claim_stands(peer) ||
		(err != FI_ECONNREFUSED && err != FI_EHOSTUNREACH &&
			err != FI_ENETUNREACH && err != FI_ETIMEDOUT))
		return false;
	use(peer);
	return true;
}

bool tcp_claim_firewalled(struct tcp_ep *ep, struct tcp_peer *peer)
{
	if (!tcp_claim_stands(peer) ||
		!wf_av_firewalled(ep->ep.av, tcp_peer_index(ep, peer)))
		return false;
	if (peer->attempt)
		tcp_attempt_drop(peer->attempt);
	use(peer);
	return true;
}

void tcp_claim_contest(struct tcp_ep *ep, struct tcp_peer *peer)
{
	peer->contested = true;
	wf_remote_wanted(&ep->peers->remotes, &peer->ip.remote);
	tcp_peer_schedule(ep, peer);
}
