/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/conn/peer.h"

/*
 * Accepted connections until the identity of their other end is verified
 * (objects/conn/verify.h): the exchange is complete, and the socket is not read. What
 * the listener at the address answers is told by the rules of docs/tcp-wire.md, 2.2.
 */

static bool tcp_verify_is_unverified(const struct wf_remote *remote)
{
	const struct tcp_conn *conn = tcp_peer_of(remote)->unverified;

	return conn && !conn->err;
}

static void tcp_verify_use(
	struct wf_remotes *remotes, struct wf_remote *remote, bool answered)
{
	struct tcp_peer *peer = tcp_peer_of(remote);
	struct tcp_conn *conn = peer->unverified;

	(void)remotes;
	peer->unverified = NULL;
	tcp_peer_use(peer, conn, answered);
}

static void tcp_verify_refuse(struct wf_remotes *remotes, struct wf_remote *remote)
{
	(void)remotes;
	tcp_conn_fail(tcp_peer_of(remote)->unverified, FI_ECONNABORTED);
}

static bool tcp_verify_is_firewalled(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct tcp_ep *ep = tcp_peers_of(remotes)->ep;

	return wf_av_firewalled(ep->ep.av, tcp_peer_index(ep, tcp_peer_of(remote)));
}

static void tcp_verify_drop_attempt(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct tcp_attempt *attempt = tcp_peer_of(remote)->attempt;

	(void)remotes;
	if (attempt)
		tcp_attempt_drop(attempt);
}

const struct wf_verify_ops tcp_verify_ops = {
	.is_unverified = tcp_verify_is_unverified,
	.use = tcp_verify_use,
	.refuse = tcp_verify_refuse,
	.is_firewalled = tcp_verify_is_firewalled,
	.drop_attempt = tcp_verify_drop_attempt,
};

void tcp_verify_begin(struct tcp_ep *ep, struct tcp_peer *peer, struct tcp_conn *conn)
{
	/* Another connection was made while the reply to this one was on its way. */
	if (tcp_verify_is_unverified(&peer->ip.remote) ||
		(!conn->extra && peer->conn && !peer->conn->err)) {
		tcp_conn_fail(conn, FI_ECONNABORTED);
		return;
	}
	peer->unverified = conn;
	wf_verify_begin(&ep->peers->remotes, &peer->ip.remote);
	/* Within this machine the request may leave at once, while the peer is likely
	 * to make progress. */
	if (peer->attempt)
		tcp_attempt_progress(peer->attempt);
}

/* The meaning of a reject for the unverified connection. */
static enum wf_verify_answer verify_answer_of(
	const struct tcp_peer *peer, const struct tcp_cm_ext *ext)
{
	if (ext->instance != peer->remote_instance)
		return WF_VERIFY_NOT_ITS_OWN;
	/* Other implementations give no reason. */
	if (!ext->instance)
		return WF_VERIFY_SOME;
	/* The instance is no secret. A listener that has a connection with this
	 * endpoint has the unverified one, because this endpoint accepted no other. One
	 * that asks for a connection (TCP_REASON_CROSSED) may mean another request. */
	return ext->reason == TCP_REASON_CONNECTED ? WF_VERIFY_ITS_OWN
						   : WF_VERIFY_UNSETTLED;
}

/* Does the failure @err of an attempt tell that its host keeps attempts off? Not if one
 * came through before; and a timeout within this machine tells of a full queue of
 * connections, which any process can cause. */
static bool tcp_verify_is_blocked(const struct tcp_peer *peer, int err)
{
	return err != ETIMEDOUT || !(peer->reached || peer->unverified->same_host);
}

bool tcp_verify_answered(struct tcp_attempt *attempt, int err)
{
	struct wf_remotes *remotes = &attempt->ep->peers->remotes;
	struct tcp_peer *peer = attempt->peer;
	struct wf_remote *remote = &peer->ip.remote;

	peer->reached |= attempt->cm.out_done != 0;
	if (!tcp_verify_is_unverified(remote))
		return false;
	if (!err)
		return wf_verify_answered(remotes, remote, WF_VERIFY_ACCEPTED);
	if (attempt->cm.state == TCP_CM_REJECTED)
		return wf_verify_answered(
			remotes, remote, verify_answer_of(peer, &attempt->cm.msg.ext));
	return !attempt->cm.out_done && tcp_verify_is_blocked(peer, err) &&
	       wf_verify_unreachable(remotes, remote, err);
}
