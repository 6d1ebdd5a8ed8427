/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/rxm/conn/peer.h"

/*
 * Requests until the identity of their sender is verified (objects/conn/verify.h): they
 * are neither accepted nor rejected. To verify one, this endpoint sends a request of
 * its own to the address, with the question whether the other one is from there
 * (hello.h). Other implementations do not answer the question, and reject if they have
 * a connection or ask for one.
 */

static bool rxm_verify_is_unverified(const struct wf_remote *remote)
{
	return rxm_peer_of(remote)->unverified != NULL;
}

static struct rxm_ep *verify_ep_of(struct wf_remotes *remotes)
{
	return wf_container_of(remotes, struct rxm_peers, remotes)->ep;
}

/* The request leaves the peer, which keeps its reference until the caller drops it. */
static struct rxm_request *verify_take(struct rxm_peer *peer)
{
	struct rxm_request *req = peer->unverified;

	peer->unverified = NULL;
	return req;
}

static void rxm_verify_drop_attempt(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct rxm_peer *peer = rxm_peer_of(remote);
	struct rxm_conn *conn = peer->conn;

	(void)remotes;
	if (!conn || conn->state != RXM_CONN_CONNECTING)
		return;
	peer->conn = NULL;
	rxm_conn_fail(conn, FI_ECANCELED);
}

static void rxm_verify_use(
	struct wf_remotes *remotes, struct wf_remote *remote, bool answered)
{
	struct rxm_peer *peer = rxm_peer_of(remote);
	struct rxm_request *req = verify_take(peer);

	(void)answered;
	rxm_verify_drop_attempt(remotes, remote);
	rxm_cm_accept(verify_ep_of(remotes), peer, req);
	free(req);
	wf_remote_unref(remotes, remote);
}

static void rxm_verify_refuse(struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct rxm_request *req = verify_take(rxm_peer_of(remote));

	rxm_cm_reject(
		verify_ep_of(remotes), req, RXM_REASON_CONNECTED, RXM_ANSWER_NOT_ASKED);
	free(req);
	wf_remote_unref(remotes, remote);
}

static bool rxm_verify_is_firewalled(
	struct wf_remotes *remotes, struct wf_remote *remote)
{
	struct rxm_ep *ep = verify_ep_of(remotes);

	return wf_av_firewalled(ep->ep.av, rxm_peer_index(ep, rxm_peer_of(remote)));
}

const struct wf_verify_ops rxm_verify_ops = {
	.is_unverified = rxm_verify_is_unverified,
	.use = rxm_verify_use,
	.refuse = rxm_verify_refuse,
	.is_firewalled = rxm_verify_is_firewalled,
	.drop_attempt = rxm_verify_drop_attempt,
};

bool rxm_verify_begin(
	struct rxm_ep *ep, struct rxm_peer *peer, const struct rxm_request *req)
{
	struct rxm_request *kept = malloc(sizeof(*kept));

	if (!kept)
		return false;
	*kept = *req;
	peer->unverified = kept;
	wf_remote_ref(&peer->ip.remote);
	wf_verify_begin(&ep->peers->remotes, &peer->ip.remote);
	return true;
}

void rxm_verify_drop(struct rxm_peer *peer)
{
	struct rxm_request *req = verify_take(peer);

	if (!req)
		return;
	fi_freeinfo(req->info);
	free(req);
}

void rxm_verify_accepted(struct rxm_conn *conn)
{
	struct rxm_peer *peer = conn->peer;

	peer->reached = true;
	(void)wf_verify_answered(
		&conn->ep->peers->remotes, &peer->ip.remote, WF_VERIFY_ACCEPTED);
}

/* The meaning of a rejection for the unverified request. */
static enum wf_verify_answer verify_meaning(
	const struct rxm_request *req, enum rxm_reason reason, enum rxm_answer answer)
{
	if (req->hello.asks != (answer != RXM_ANSWER_UNSTATED))
		return WF_VERIFY_NOT_ITS_OWN;
	switch (answer) {
	case RXM_ANSWER_OWN:
		return WF_VERIFY_ITS_OWN;
	case RXM_ANSWER_NOT_OWN:
		return WF_VERIFY_NOT_ITS_OWN;
	case RXM_ANSWER_UNSTATED:
		return reason == RXM_REASON_CONNECTED ? WF_VERIFY_SOME
						      : WF_VERIFY_UNSETTLED;
	default:
		return WF_VERIFY_UNSETTLED;
	}
}

/* Does a timeout tell that the host keeps requests off? Not if one came through before;
 * and within this machine it tells of a full queue of connections. */
static bool rxm_verify_is_blocked(const struct rxm_peer *peer, int err)
{
	const struct rxm_request *req = peer->unverified;

	return err != FI_ETIMEDOUT ||
	       !(peer->reached || wf_sockaddr_is_loopback(&req->from) ||
		       wf_sockaddr_same_host(&req->own, &req->from));
}

void rxm_verify_failed(
	struct rxm_conn *conn, enum rxm_reason reason, enum rxm_answer answer, int err)
{
	struct wf_remotes *remotes = &conn->ep->peers->remotes;
	struct rxm_peer *peer = conn->peer;
	struct wf_remote *remote = &peer->ip.remote;

	peer->reached |= reason != RXM_REASON_NONE;
	if (!peer->unverified)
		return;
	if (reason != RXM_REASON_NONE)
		(void)wf_verify_answered(remotes, remote,
			verify_meaning(peer->unverified, reason, answer));
	else if (rxm_verify_is_blocked(peer, err))
		(void)wf_verify_unreachable(remotes, remote, err);
}
