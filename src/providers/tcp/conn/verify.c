/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/conn/peer.h"

/*
 * Verification of the identity of the other end of an accepted connection.
 *
 * A request says at which port its sender listens, and any process of that host can say
 * so. Such a connection is unverified at first: records from it are received and
 * answered, but no operation of this endpoint uses it. To verify it this endpoint
 * connects to the address as if there were no connection: at once if the AV has the
 * address, else when there is something to send. The answer of the listener at the
 * address decides:
 *
 * A reject means that the listener has a connection with this endpoint, or asks for
 * one: the unverified connection is its own. Peers with the extension compare instances
 * as well. A reply means that the listener has no connection: another process made the
 * unverified one, or the process that listened there before. If no socket listens at
 * the address, no process can be meant but the one that connected, and operations use
 * the connection. They also do if the host cannot be connected to (firewalls).
 *
 * A connection that this endpoint made needs no verification. A working connection is
 * never replaced because of a request. ep.lock guards all of this.
 */

/* Let operations use the unverified connection from now on. */
static void use(struct tcp_peer *peer)
{
	struct tcp_conn *conn = peer->unverified;

	peer->unverified = NULL;
	peer->contested = false;
	tcp_peer_use(peer, conn);
}

bool tcp_verify_pending(const struct tcp_peer *peer)
{
	return peer->unverified && !peer->unverified->err;
}

static void log_stranger(const struct tcp_peer *peer)
{
	char text[WF_SOCKADDR_STRLEN];

	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"connection closed: its other end said that it is %s, and the listener "
		"there knows nothing of it\n",
		wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)));
}

void tcp_verify_begin(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn)
{
	/* Another connection was made while the reply to this one was on its way. */
	if (tcp_verify_pending(peer) || (peer->conn && !peer->conn->err)) {
		tcp_conn_fail(conn, FI_ECONNABORTED);
		return;
	}
	peer->unverified = conn;
	peer->contested = false;
	if (tcp_verify_firewalled(ep, peer))
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

void tcp_verify_refuted(struct tcp_peer *peer)
{
	if (!tcp_verify_pending(peer))
		return;
	log_stranger(peer);
	/* Bytes that had arrived are received before the connection is taken down. */
	peer->unverified->unread = true;
	tcp_conn_fail(peer->unverified, FI_ECONNABORTED);
}

bool tcp_verify_rejected(
	struct tcp_ep *ep, struct tcp_peer *peer, const struct tcp_cm_msg *msg)
{
	const struct tcp_cm_ext *ext = &msg->ext;

	(void)ep;
	if (!tcp_verify_pending(peer))
		return false;
	if (ext->instance != peer->remote_instance) {
		tcp_verify_refuted(peer);
		return false;
	}
	/* Other implementations give no reason: if two requests have named the address,
	 * the reject may be meant for either. */
	if (ext->instance ? ext->reason != TCP_REASON_CONNECTED &&
				    ext->reason != TCP_REASON_CROSSED
			  : peer->contested)
		return false;
	use(peer);
	return true;
}

bool tcp_verify_unreachable(struct tcp_ep *ep, struct tcp_peer *peer, int err)
{
	(void)ep;
	if (!tcp_verify_pending(peer) ||
		(err != FI_ECONNREFUSED && err != FI_EHOSTUNREACH &&
			err != FI_ENETUNREACH && err != FI_ETIMEDOUT))
		return false;
	use(peer);
	return true;
}

bool tcp_verify_firewalled(struct tcp_ep *ep, struct tcp_peer *peer)
{
	if (!tcp_verify_pending(peer) ||
		!wf_av_firewalled(ep->ep.av, tcp_peer_index(ep, peer)))
		return false;
	if (peer->attempt)
		tcp_attempt_drop(peer->attempt);
	use(peer);
	return true;
}

void tcp_verify_contest(struct tcp_ep *ep, struct tcp_peer *peer)
{
	peer->contested = true;
	wf_remote_wanted(&ep->peers->remotes, &peer->ip.remote);
	tcp_peer_schedule(ep, peer);
}
