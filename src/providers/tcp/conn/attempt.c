/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/tcp/conn/keepalive.h"
#include "providers/tcp/conn/peer.h"
#include "providers/tcp/local/switch.h"
#include "providers/tcp/local/local.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/fds.h"

/*
 * Connection attempts of FI_EP_RDM endpoints. There is at most one connection between
 * two endpoints, except that an endpoint which sends to itself has one for each
 * direction.
 */

enum {
	ACCEPTS = 64,     /* limit of connections that one call accepts */
	VERIFY_MS = 3000, /* limit of an attempt that verifies a connection, in
			     milliseconds */
};

static const uint32_t features =
	TCP_HAVE_OFFER & ~(uint32_t)(TCP_HAVE_LDBL_X87 | TCP_HAVE_LDBL_QUAD |
				     TCP_HAVE_TAGGED_MSG | TCP_HAVE_LOCAL);

static uint32_t attempt_features_of(const struct tcp_ep *ep)
{
	return features | TCP_HAVE_LDBL_OWN | tcp_local_offer(ep);
}

static struct tcp_cm_own attempt_own_of(const struct tcp_ep *ep)
{
	return (struct tcp_cm_own){
		.features = attempt_features_of(ep),
		.instance = ep->peers->instance,
		.contexts = (uint16_t)ep->rx_contexts,
		.timeout_ms = ep->conf.connect_ms,
		.reply_ms = ep->conf.connect_ms,
	};
}

void tcp_attempt_drop(struct tcp_attempt *attempt)
{
	struct tcp_ep *ep = attempt->ep;

	(void)tcp_watch_set(ep, &attempt->base.watch, 0);
	if (attempt->base.watch.fd >= 0)
		tcp_peers_close(ep, attempt->base.watch.fd);
	attempt->base.watch.fd = -1;
	tcp_listener_take_back(&ep->peers->listener);
	if (attempt->peer && attempt->peer->attempt == attempt)
		attempt->peer->attempt = NULL;
	if (attempt->peer)
		tcp_peer_unref(ep, attempt->peer);
	attempt->peer = NULL;
	ep->peers->callers -= attempt->passive;
	wf_attempts_end(&ep->peers->remotes.attempts, &attempt->base);
}

void tcp_attempt_end(struct wf_attempt *attempt)
{
	tcp_attempt_drop(tcp_attempt_of(attempt));
}

/* An attempt failed with @err, a positive fi_errno. @refused: because no socket listens
 * at the address. */
static void tcp_attempt_failed(
	struct tcp_ep *ep, struct tcp_peer *peer, int err, bool refused)
{
	struct wf_remotes *remotes = &ep->peers->remotes;

	if (refused)
		wf_remote_refused(remotes, &peer->ip.remote, wf_now_ns());
	else
		wf_remote_failed(remotes, &peer->ip.remote, err, wf_now_ns());
}

/* The peer or this end has refused the connection for good: fail the waiting
 * operations. */
static void attempt_denied(struct tcp_attempt *attempt)
{
	wf_remote_denied(&attempt->ep->peers->remotes, &attempt->peer->ip.remote,
		FI_ECONNREFUSED);
	tcp_attempt_drop(attempt);
}

/* The exchange continues with the next event of the socket, or ends at its deadline.
 * Returns 0 or a negative fi_errno: no event will be reported. */
static int attempt_await_event(struct tcp_attempt *attempt)
{
	attempt->base.deadline_ns = attempt->cm.deadline_ns;
	return tcp_watch_set(
		attempt->ep, &attempt->base.watch, tcp_cm_events(&attempt->cm));
}

/* The exchange succeeded: the socket becomes a connection. */
static void attempt_become_conn(
	struct tcp_attempt *attempt, uint32_t have, enum tcp_identity identity)
{
	struct tcp_wire_peer wire = attempt->cm.peer;
	struct tcp_peer *peer = attempt->peer;
	struct tcp_ep *ep = attempt->ep;
	int fd = attempt->base.watch.fd;

	wire.have |= have;
	(void)tcp_watch_set(ep, &attempt->base.watch, 0);
	attempt->base.watch.fd = -1;
	if (tcp_peer_connected(
		    ep, peer, fd, attempt->cm.msg.ext.instance, &wire, identity)) {
		tcp_peers_close(ep, fd);
		tcp_attempt_failed(ep, peer, FI_ENOMEM, false);
	}
	tcp_attempt_drop(attempt);
}

static bool attempt_is_unverified(const struct tcp_peer *peer)
{
	return peer->unverified && !peer->unverified->err;
}

/* Was the request rejected because it crossed the one that is unverified? The peer has
 * read the reply to its own request meanwhile: ask it at once. */
static bool attempt_is_crossed(const struct tcp_attempt *attempt)
{
	return attempt->cm.state == TCP_CM_REJECTED && !attempt->verifies &&
	       attempt->cm.msg.ext.reason == TCP_REASON_CROSSED &&
	       attempt_is_unverified(attempt->peer);
}

/* ECONNREFUSED after the request was sent is the peer's reject; before, the peer's host
 * refused the connection. */
static void tcp_attempt_active_failed(struct tcp_attempt *attempt, int err)
{
	bool refused = err == ECONNREFUSED && !attempt->cm.out_done;

	if (tcp_verify_answered(attempt, err)) {
		tcp_attempt_drop(attempt);
	} else if (attempt->cm.state == TCP_CM_REJECTED &&
		   attempt->cm.msg.ext.reason == TCP_REASON_REFUSED) {
		attempt_denied(attempt);
	} else {
		tcp_attempt_failed(attempt->ep, attempt->peer, err, refused);
		if (attempt_is_crossed(attempt))
			attempt->peer->ip.remote.retry_ns = 0;
		tcp_attempt_drop(attempt);
	}
}

static void tcp_attempt_active_ready(struct tcp_attempt *attempt)
{
	struct tcp_rdm_hello hello;
	int ret = tcp_cm_progress(&attempt->cm);

	if (!ret) {
		ret = attempt_await_event(attempt);
		if (!ret)
			return;
	}
	if (ret > 0)
		ret = tcp_rdm_decode_reply(tcp_cm_data(&attempt->cm),
			attempt->cm.msg.data_len, wf_sockaddr_port(&attempt->ep->name),
			&hello);
	if (ret < 0) {
		tcp_attempt_active_failed(attempt, -ret);
		return;
	}
	(void)tcp_verify_answered(attempt, 0);
	/* The attempt was to verify a connection beside this one. */
	if (attempt->peer->conn && !attempt->peer->conn->err) {
		tcp_attempt_drop(attempt);
		return;
	}
	if (tcp_local_refuses(attempt->cm.peer.have, attempt->base.watch.fd,
		    &attempt->peer->ip.addr)) {
		attempt_denied(attempt);
		return;
	}
	attempt->peer->remote_id = hello.id;
	attempt->peer->remote_instance = attempt->cm.msg.ext.instance;
	attempt_become_conn(attempt, tcp_rdm_have(&hello), TCP_VERIFIED);
}

/* Does a connection with the peer exist, as far as this end can tell? A connection that
 * has ended is taken down, after the bytes that had arrived were received. */
static bool attempt_stands(struct tcp_conn *conn)
{
	if (!conn)
		return false;
	if (!conn->err && !tcp_rx_ended(conn)) {
		/* After a broken link only the peer may know that the connection ended:
		 * if it did, the answer to the probe shows it when the peer's next
		 * request comes. */
		tcp_conn_probe(conn);
		return true;
	}
	tcp_rx_drain(conn);
	if (tcp_switch_lingers(conn))
		return true;
	tcp_conn_end(conn, FI_ECANCELED);
	return false;
}

/* The same of an unverified connection, which is never read. A process that ended
 * before its identity was verified has sent nothing. */
static bool attempt_unverified_stands(struct tcp_conn *conn)
{
	if (!conn)
		return false;
	if (!conn->err && !tcp_rx_ended(conn))
		return true;
	tcp_conn_end(conn, FI_ECANCELED);
	return false;
}

/* The reason to reject a request because the connection @conn exists: one that lingers
 * will end soon, so the peer asks again. */
static enum tcp_cm_reason attempt_rejection_by(const struct tcp_conn *conn)
{
	return conn->err ? TCP_REASON_BUSY : TCP_REASON_CONNECTED;
}

/* Log a request from the address of a live connection: it is from another process, or
 * from a peer that lost the connection and was restarted. */
static void attempt_log_other(
	const struct tcp_attempt *attempt, const struct tcp_rdm_hello *hello)
{
	const struct tcp_peer *peer = attempt->peer;
	uint64_t instance = attempt->cm.msg.ext.instance;
	char text[WF_SOCKADDR_STRLEN];

	if (instance ? instance == peer->remote_instance : hello->id == peer->remote_id)
		return;
	FI_WARN_SPARSE(&tcp_fi, FI_LOG_EP_CTRL,
		"request refused: another process says that it is %s, which is "
		"connected\n",
		wf_sockaddr_uri(&peer->ip.addr, text, sizeof(text)));
}

/*
 * Has the sender of the request accepted this endpoint's own request? Its reply may be
 * unread or still under way. If its request were accepted as well, each end would take
 * the connection that it made for the proven one, and end the other connection with the
 * messages on it.
 */
static bool attempt_answers_own(
	const struct tcp_attempt *attempt, const struct tcp_peer *peer)
{
	return attempt->cm.msg.ext.reason == TCP_REASON_CONNECTED &&
	       peer->attempt->cm.state == TCP_CM_WAITING;
}

/* Is this endpoint's own attempt, not @attempt, to become the connection? */
static bool attempt_own_survives(
	const struct tcp_attempt *attempt, const struct tcp_peer *peer, int order)
{
	return peer->attempt && (order > 0 || attempt_answers_own(attempt, peer));
}

/* Is the sender of a request that claims this endpoint's address this endpoint? Its own
 * socket is at the other end of the connection. */
static bool attempt_is_own(
	const struct tcp_attempt *attempt, const struct tcp_peer *peer)
{
	union wf_sockaddr far = { 0 }, own = { 0 };
	socklen_t far_len = sizeof(far), own_len = sizeof(own);

	return peer->attempt &&
	       !getpeername(attempt->base.watch.fd, &far.sa, &far_len) &&
	       !getsockname(peer->attempt->base.watch.fd, &own.sa, &own_len) &&
	       wf_sockaddr_equal(&far, &own);
}

/* The connection that stands in the way of a request to the address @own. An endpoint
 * that listens at all addresses of its host may be known to a peer by several of them,
 * and has a connection for each. */
static struct tcp_conn *conn_for(struct tcp_attempt *attempt, struct tcp_peer *peer,
	const union wf_sockaddr *own)
{
	struct tcp_conn *conn = peer->conn;

	if (!conn || conn->err || !wf_sockaddr_is_wildcard(&attempt->ep->name))
		return conn;
	conn = tcp_peer_conn_at(attempt->ep, peer, own);
	attempt->extra = !conn;
	return conn;
}

/* May the request become a connection, given this endpoint's connections and attempts
 * with the peer? TCP_REASON_NONE: yes. */
static enum tcp_cm_reason attempt_judge(struct tcp_attempt *attempt,
	struct tcp_peer *peer, const struct tcp_rdm_hello *hello)
{
	union wf_sockaddr own;
	socklen_t len = sizeof(own);
	struct tcp_conn *conn;
	int order;

	/* The peer knows an endpoint that listens at a wildcard by the address that the
	 * peer connected to. */
	if (getsockname(attempt->base.watch.fd, &own.sa, &len))
		return TCP_REASON_BUSY;
	wf_sockaddr_set_port(&own, wf_sockaddr_port(&attempt->ep->name));
	order = tcp_rdm_cross(&own, &peer->ip.addr);
	attempt->self = !order;
	if (!order)
		return attempt_is_own(attempt, peer) ? TCP_REASON_NONE
						     : TCP_REASON_REFUSED;
	conn = conn_for(attempt, peer, &own);
	if (attempt_stands(conn)) {
		attempt_log_other(attempt, hello);
		if (attempt->cm.msg.ext.reason == TCP_REASON_CONNECTED)
			tcp_conn_confirmed(conn);
		return attempt_rejection_by(conn);
	}
	if (attempt_unverified_stands(peer->unverified)) {
		attempt_log_other(attempt, hello);
		wf_verify_contest(&attempt->ep->peers->remotes, &peer->ip.remote);
		return TCP_REASON_CONNECTED;
	}
	/* If the peer's request is used, this endpoint's own request is still answered:
	 * the answer identifies the sender. */
	return attempt_own_survives(attempt, peer, order) ? TCP_REASON_CROSSED
							  : TCP_REASON_NONE;
}

static enum tcp_identity attempt_identity_of(const struct tcp_attempt *attempt)
{
	if (attempt->self)
		return TCP_SELF;
	return attempt->extra ? TCP_EXTRA : TCP_UNVERIFIED;
}

static void attempt_passive_finish(struct tcp_attempt *attempt, int ret)
{
	struct tcp_ep *ep = attempt->ep;
	struct tcp_rdm_hello hello, answer;

	if (!ret) {
		ret = attempt_await_event(attempt);
		if (!ret)
			return;
	}
	if (ret < 0 || attempt->cm.state != TCP_CM_CONNECTED) {
		if (attempt->peer && !wf_list_empty(&attempt->peer->ip.remote.pending))
			tcp_peer_schedule(ep, attempt->peer);
		tcp_attempt_drop(attempt);
		return;
	}
	/* It was decoded before it was accepted. */
	(void)tcp_rdm_decode_request(
		tcp_cm_data(&attempt->cm), attempt->cm.msg.data_len, &hello);
	tcp_rdm_answer(&hello, &attempt->cm.msg, ep->peers->id, &answer);
	attempt_become_conn(
		attempt, tcp_rdm_have(&answer), attempt_identity_of(attempt));
}

static void attempt_passive_asked(struct tcp_attempt *attempt)
{
	struct tcp_ep *ep = attempt->ep;
	struct tcp_rdm_hello hello, answer;
	uint8_t data[TCP_RDM_DATA];
	enum tcp_cm_reason reason;
	struct tcp_peer *peer;

	if (tcp_rdm_decode_request(
		    tcp_cm_data(&attempt->cm), attempt->cm.msg.data_len, &hello)) {
		attempt_passive_finish(attempt,
			tcp_cm_reject(&attempt->cm, TCP_REASON_PROTOCOL, NULL, 0));
		return;
	}
	wf_sockaddr_set_port(&attempt->from, hello.port);
	peer = tcp_peer_get(ep, &attempt->from);
	reason = TCP_REASON_BUSY;
	if (peer) {
		wf_remote_ref(&peer->ip.remote);
		attempt->peer = peer;
		/* The reply to this endpoint's own request may be there: the peer,
		 * which verifies that request, is told of the connection. */
		if (peer->attempt)
			tcp_attempt_progress(peer->attempt);
		reason = attempt_judge(attempt, peer, &hello);
		if (reason == TCP_REASON_NONE &&
			tcp_local_refuses(attempt->cm.peer.have, attempt->base.watch.fd,
				&attempt->from))
			reason = TCP_REASON_REFUSED;
	}
	if (reason != TCP_REASON_NONE) {
		attempt_passive_finish(
			attempt, tcp_cm_reject(&attempt->cm, reason,
					 tcp_cm_data(&attempt->cm), TCP_RDM_DATA));
		return;
	}
	peer->remote_id = hello.id;
	peer->remote_instance = attempt->cm.msg.ext.instance;
	tcp_rdm_answer(&hello, &attempt->cm.msg, ep->peers->id, &answer);
	tcp_rdm_encode(data, &answer);
	attempt_passive_finish(attempt,
		tcp_cm_accept(&attempt->cm,
			attempt->extra
				? attempt_features_of(ep) & ~(uint32_t)TCP_HAVE_LOCAL
				: attempt_features_of(ep),
			data, sizeof(data)));
}

static void attempt_passive_ready(struct tcp_attempt *attempt)
{
	int ret = tcp_cm_progress(&attempt->cm);

	if (ret > 0 && attempt->cm.state == TCP_CM_ASKED)
		attempt_passive_asked(attempt);
	else
		attempt_passive_finish(attempt, ret);
}

static void attempt_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_attempt *attempt =
		wf_container_of(watch, struct tcp_attempt, base.watch);

	(void)events;
	if (attempt->passive)
		attempt_passive_ready(attempt);
	else
		tcp_attempt_active_ready(attempt);
}

void tcp_attempt_progress(struct tcp_attempt *attempt)
{
	attempt_ready(&attempt->base.watch, 0);
}

static struct tcp_attempt *attempt_new(struct tcp_ep *ep, int fd)
{
	struct tcp_attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt)
		return NULL;
	/* Else a forked child keeps the connection alive, and no peer notices that this
	 * process has ended. */
	(void)wf_fds_own(fd);
	attempt->base.watch = (struct wf_watch){ .ready = attempt_ready, .fd = fd };
	attempt->ep = ep;
	wf_attempts_add(&ep->peers->remotes.attempts, &attempt->base);
	return attempt;
}

static bool attempt_no_descriptor(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Unverified connections may have used all descriptors: verify them with the listener's
 * spare one. */
static int attempt_connect_to(
	struct tcp_ep *ep, const struct tcp_peer *peer, int *ret_fd)
{
	union wf_sockaddr host = ep->name; /* the port is the listener's */
	uint32_t tclass = ep->ep.info->tx_attr->tclass;
	socklen_t len = sizeof(host);
	int ret;

	/* The peer knows this endpoint by the address that it connected to. */
	if (attempt_is_unverified(peer) &&
		getsockname(peer->unverified->watch.fd, &host.sa, &len))
		return -errno;
	wf_sockaddr_set_port(&host, 0);
	ret = tcp_connect(&host, &peer->ip.addr, &ep->conf, tclass, ret_fd);
	if (attempt_no_descriptor(ret) && peer->unverified &&
		tcp_listener_lend(&ep->peers->listener))
		ret = tcp_connect(&host, &peer->ip.addr, &ep->conf, tclass, ret_fd);
	return ret;
}

void tcp_attempt_start(struct tcp_ep *ep, struct tcp_peer *peer)
{
	struct tcp_rdm_hello hello = {
		.version = TCP_RDM_VERSION,
		.firewall = tcp_params.firewalled,
		.port = wf_sockaddr_port(&ep->name),
		.id = ep->peers->id,
	};
	struct tcp_cm_own own = attempt_own_of(ep);
	uint8_t data[TCP_RDM_DATA];
	struct tcp_attempt *attempt;
	int fd, ret;

	own.accepted_yours = attempt_is_unverified(peer);
	if (own.accepted_yours && (!own.timeout_ms || own.timeout_ms > VERIFY_MS))
		own.timeout_ms = VERIFY_MS;
	ret = attempt_connect_to(ep, peer, &fd);
	if (ret) {
		if (!wf_verify_unreachable(&ep->peers->remotes, &peer->ip.remote, -ret))
			tcp_attempt_failed(ep, peer, -ret, ret == -ECONNREFUSED);
		return;
	}
	attempt = attempt_new(ep, fd);
	if (!attempt) {
		(void)wf_sys_close(fd);
		tcp_attempt_failed(ep, peer, FI_ENOMEM, false);
		return;
	}
	attempt->peer = peer;
	attempt->verifies = own.accepted_yours;
	peer->attempt = attempt;
	wf_remote_ref(&peer->ip.remote);
	tcp_rdm_encode(data, &hello);
	tcp_cm_start_active(&attempt->cm, fd, &own, data, sizeof(data));
	ret = attempt_await_event(attempt);
	if (ret)
		tcp_attempt_active_failed(attempt, -ret);
	else
		wf_watches_expect(&ep->watches, attempt->base.deadline_ns);
}

void tcp_attempt_accept_ready(struct wf_watch *watch, uint32_t events)
{
	struct tcp_peers *peers = wf_container_of(watch, struct tcp_peers, watch);
	struct tcp_ep *ep = peers->ep;
	struct tcp_cm_own own = attempt_own_of(ep);
	union wf_sockaddr from;
	struct tcp_attempt *attempt;
	int fd;

	(void)events;
	for (int i = 0; i < ACCEPTS; i++) {
		if (tcp_listener_accept(&peers->listener, &ep->conf,
			    ep->ep.info->tx_attr->tclass, &fd, &from))
			return;
		attempt = attempt_new(ep, fd);
		if (!attempt) {
			(void)wf_sys_close(fd);
			return;
		}
		attempt->passive = true;
		peers->callers++;
		attempt->from = from;
		tcp_cm_start_passive(&attempt->cm, fd, &own);
		attempt_passive_ready(attempt);
	}
}

static void attempt_drop_silent(struct tcp_attempt *attempt)
{
	tcp_cm_log_silent(&attempt->cm);
	tcp_attempt_drop(attempt);
}

bool tcp_attempt_free_descriptor(struct tcp_listener *listener)
{
	struct tcp_peers *peers = wf_container_of(listener, struct tcp_peers, listener);
	uint64_t now = wf_now_ns();

	wf_list_foreach(link, &peers->remotes.attempts.live)
	{
		struct tcp_attempt *attempt =
			wf_list_entry(link, struct tcp_attempt, base.link);

		if (!attempt->passive || attempt->cm.state != TCP_CM_READING)
			continue;
		if (!tcp_cm_silent(&attempt->cm, now))
			break; /* the attempts behind this one are younger */
		attempt_drop_silent(attempt);
		return true;
	}
	return false;
}

/* Progress of an exchange notices its deadline. */
void tcp_attempt_expired(struct wf_attempt *attempt)
{
	attempt_ready(&attempt->watch, 0);
}

void tcp_attempts_drop_silent(struct tcp_ep *ep, uint64_t now)
{
	wf_list_foreach_safe(link, &ep->peers->remotes.attempts.live)
	{
		struct tcp_attempt *attempt =
			wf_list_entry(link, struct tcp_attempt, base.link);

		if (now < attempt->base.deadline_ns && attempt->passive &&
			tcp_cm_silent(&attempt->cm, now))
			attempt_drop_silent(attempt);
	}
}
