/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/rxm/below.h"
#include "providers/rxm/conn/credit.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/local/local.h"
#include "sys/clock.h"

/*
 * How connections are made. There is one between two endpoints, except that an endpoint
 * which sends to itself has one for each direction. If both ends send a request at the
 * same time, that of the end with the larger address is used. A request is not answered
 * before it is verified (verify.c).
 */

static struct rxm_hello cm_own_hello(
	const struct rxm_ep *ep, const struct rxm_conn *conn)
{
	return (struct rxm_hello){
		.id = conn->id,
		.pid = ep->peers->pid,
		.rx_depth = (uint32_t)ep->rx_depth,
		.flow = ep->counts_credits ? RXM_FLOW_ON : RXM_FLOW_OFF,
		.port = wf_sockaddr_port(&ep->name),
		.eager_size = (uint32_t)ep->buffer_size,
	};
}

/* A request that verifies another one comes from the address that the other one was
 * sent to, by which the peer knows this endpoint. */
static struct fi_info *cm_info_to_connect(
	struct rxm_ep *ep, const struct rxm_peer *peer)
{
	const union wf_sockaddr *dest = &peer->ip.addr;
	union wf_sockaddr src = peer->unverified ? peer->unverified->own : ep->name;
	size_t len = wf_sockaddr_len(dest);
	bool any = wf_sockaddr_is_wildcard(&src);
	struct fi_info *info;

	wf_sockaddr_set_port(&src, 0);
	info = rxm_info_below(ep, any ? NULL : &src);
	if (!info)
		return NULL;
	info->dest_addr = malloc(len);
	if (!info->dest_addr) {
		fi_freeinfo(info);
		return NULL;
	}
	memcpy(info->dest_addr, dest, len);
	info->dest_addrlen = len;
	return info;
}

static int cm_send_request(struct rxm_conn *conn)
{
	const struct rxm_hello hello = cm_own_hello(conn->ep, conn);
	const struct rxm_request *unverified = conn->peer->unverified;
	uint8_t data[RXM_HELLO_MAX];
	size_t len;

	rxm_hello_request(data, &hello);
	len = rxm_local_offer(conn, data, RXM_REQUEST_LEN);
	len = rxm_hello_add_question(
		data, len, unverified ? rxm_hello_word(&unverified->hello) : 0);
	return fi_connect(conn->below.fid, &conn->peer->ip.addr.sa, data, len);
}

void rxm_cm_connect(struct rxm_ep *ep, struct rxm_peer *peer)
{
	struct fi_info *info = cm_info_to_connect(ep, peer);
	struct rxm_conn *conn;
	int ret = info ? rxm_conn_new(ep, peer, info, &conn) : -FI_ENOMEM;

	if (ret) {
		wf_remote_failed(
			&ep->peers->remotes, &peer->ip.remote, -ret, wf_now_ns());
		return;
	}
	peer->conn = conn;
	ret = rxm_conn_begin(conn, RXM_CONN_CONNECTING) ? cm_send_request(conn)
							: -FI_ENOMEM;
	if (ret)
		rxm_conn_fail(conn, -ret);
}

void rxm_cm_expired(struct wf_attempt *attempt)
{
	struct rxm_conn *conn = rxm_attempt_of(attempt)->conn;

	attempt->deadline_ns = UINT64_MAX;
	if (!rxm_local_give_up(conn))
		rxm_conn_fail(conn, FI_ETIMEDOUT);
}

/* Compare addresses, then ports, in network byte order. */
static int cm_compare(const union wf_sockaddr *a, const union wf_sockaddr *b)
{
	bool v6 = a->sa.sa_family == AF_INET6;
	int order =
		v6 ? memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr,
			     sizeof(a->in6.sin6_addr))
		   : memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));

	if (order)
		return order;
	return v6 ? memcmp(&a->in6.sin6_port, &b->in6.sin6_port,
			    sizeof(a->in6.sin6_port))
		  : memcmp(&a->in.sin_port, &b->in.sin_port, sizeof(a->in.sin_port));
}

static void cm_reject(
	struct rxm_ep *ep, fid_t handle, enum rxm_reason reason, enum rxm_answer answer)
{
	uint8_t data[RXM_REJECT_MAX];

	rxm_hello_reject(data, reason, answer);
	(void)fi_reject(ep->pep, handle, data, sizeof(data));
}

void rxm_cm_reject(struct rxm_ep *ep, const struct rxm_request *req,
	enum rxm_reason reason, enum rxm_answer answer)
{
	cm_reject(ep, req->info->handle, reason, answer);
	fi_freeinfo(req->info);
}

/* The answer to the question in @hello. */
static enum rxm_answer cm_answer_to(struct rxm_ep *ep, const struct rxm_hello *hello)
{
	const struct rxm_conn *conn =
		rxm_ids_find(&ep->peers->ids, (uint32_t)hello->about);

	if (!hello->about)
		return RXM_ANSWER_NOT_ASKED;
	return conn && conn->state != RXM_CONN_DOWN &&
			       hello->about >> 32 == ep->peers->pid
		       ? RXM_ANSWER_OWN
		       : RXM_ANSWER_NOT_OWN;
}

/* Decode the data of the request. Returns NULL: it is valid; or the reason why it is
 * refused. */
static const char *cm_read_request(
	struct rxm_ep *ep, const void *data, size_t len, struct rxm_request *req)
{
	const struct fi_info *info = req->info;
	const uint8_t *card;
	const char *why = rxm_hello_read_request(
		data, len, (uint32_t)ep->buffer_size, &req->hello);

	if (why)
		return why;
	card = rxm_hello_card(data, len, RXM_REQUEST_LEN);
	req->has_card = card != NULL;
	if (card)
		memcpy(req->card, card, sizeof(req->card));
	if (!info->dest_addr ||
		wf_sockaddr_read(info->dest_addr, info->dest_addrlen, &req->from))
		return "its address is not known";
	req->own = ep->name;
	if (wf_sockaddr_is_wildcard(&req->own) && info->src_addr &&
		!wf_sockaddr_read(info->src_addr, info->src_addrlen, &req->own))
		wf_sockaddr_set_port(&req->own, wf_sockaddr_port(&ep->name));
	wf_sockaddr_set_port(&req->from, req->hello.port);
	return req->from.sa.sa_family == req->own.sa.sa_family
		       ? NULL
		       : "its address is of another family";
}

/* Is the sender of the request this endpoint? Only its own requests have their ids. */
static bool cm_is_own(const struct rxm_ep *ep, const struct rxm_request *req)
{
	const struct rxm_conn *conn = rxm_ids_find(&ep->peers->ids, req->hello.id);

	return conn && conn->state == RXM_CONN_CONNECTING &&
	       req->hello.pid == ep->peers->pid;
}

/* May the request become a connection, once it is verified? A working connection is
 * never replaced because of a request. @answer: to the question in the request. */
static enum rxm_reason cm_judge(struct rxm_ep *ep, struct rxm_peer *peer,
	const struct rxm_request *req, enum rxm_answer answer)
{
	struct rxm_conn *conn = peer->conn;

	/* The peer verifies this endpoint's own request, which it then accepts. */
	if (answer == RXM_ANSWER_OWN)
		return RXM_REASON_CONNECTED;
	if (conn && conn->state == RXM_CONN_CONNECTING) {
		if (cm_compare(&req->from, &req->own) < 0)
			return RXM_REASON_CONNECTED;
	} else if (conn && rxm_conn_stands(conn)) {
		rxm_credit_probe(conn);
		return RXM_REASON_CONNECTED;
	} else if (conn) {
		peer->conn = NULL;
		rxm_conn_fail(conn, FI_ECANCELED);
	}
	if (!peer->unverified)
		return RXM_REASON_NONE;
	wf_verify_contest(&ep->peers->remotes, &peer->ip.remote);
	return RXM_REASON_CONNECTED;
}

static int cm_send_accept(struct rxm_conn *conn, const uint8_t *card)
{
	const struct rxm_hello hello = cm_own_hello(conn->ep, conn);
	uint8_t data[RXM_HELLO_MAX];

	rxm_hello_accept(data, &hello);
	return fi_accept(conn->below.fid, data,
		rxm_local_answer(conn, card, data, RXM_ACCEPT_LEN));
}

void rxm_cm_accept(
	struct rxm_ep *ep, struct rxm_peer *peer, const struct rxm_request *req)
{
	fid_t handle = req->info->handle;
	struct rxm_conn *conn;
	int ret = rxm_conn_new(ep, peer, req->info, &conn);

	if (ret) {
		cm_reject(ep, handle, RXM_REASON_REFUSED, RXM_ANSWER_NOT_ASKED);
		return;
	}
	conn->peer_id = req->hello.id;
	conn->peer_pid = req->hello.pid;
	conn->peer_flow = req->hello.flow;
	conn->peer_depth = req->hello.rx_depth;
	if (!peer->conn)
		peer->conn = conn;
	ret = rxm_conn_begin(conn, RXM_CONN_ACCEPTING)
		      ? cm_send_accept(conn, req->has_card ? req->card : NULL)
		      : -FI_ENOMEM;
	if (ret)
		rxm_conn_fail(conn, -ret);
}

/* Is the peer on this machine and must be refused, because memory does not reach it? */
static bool cm_is_refused(const struct rxm_ep *ep, const struct rxm_request *req)
{
	return !req->has_card && req->hello.pid != ep->peers->pid &&
	       rxm_local_possible(ep->domain) &&
	       rxm_local_refuses(&req->own, &req->from);
}

/* Accept the request of the endpoint itself, keep that of a peer until it is verified,
 * or reject it. */
static void cm_decide(
	struct rxm_ep *ep, struct rxm_peer *peer, const struct rxm_request *req)
{
	enum rxm_answer answer = cm_answer_to(ep, &req->hello);
	bool own = !cm_compare(&req->from, &req->own);
	enum rxm_reason reason = RXM_REASON_REFUSED;

	if (own && cm_is_own(ep, req)) {
		rxm_cm_accept(ep, peer, req);
		return;
	}
	if (!own)
		reason = cm_judge(ep, peer, req, answer);
	if (reason == RXM_REASON_NONE &&
		(cm_is_refused(ep, req) || !rxm_verify_begin(ep, peer, req)))
		reason = RXM_REASON_REFUSED;
	if (reason != RXM_REASON_NONE)
		rxm_cm_reject(ep, req, reason, answer);
}

static void cm_requested(
	struct rxm_ep *ep, const struct fi_eq_cm_entry *entry, size_t len)
{
	struct rxm_request req = { .info = entry->info };
	const char *why = cm_read_request(ep, entry->data, len, &req);
	struct rxm_peer *peer = why ? NULL : rxm_peer_get(ep, &req.from);

	if (why)
		FI_WARN_SPARSE(&rxm_fi, FI_LOG_EP_CTRL,
			"a request to connect is refused: %s\n", why);
	if (!peer) {
		rxm_cm_reject(ep, &req, RXM_REASON_REFUSED, RXM_ANSWER_NOT_ASKED);
		return;
	}
	wf_remote_ref(&peer->ip.remote);
	cm_decide(ep, peer, &req);
	/* Free the peer if it has no connection. */
	rxm_peer_unref(ep, peer);
}

/* The connection of an endpoint below. An event may be for an endpoint that has been
 * closed: NULL. */
static struct rxm_conn *cm_find(struct rxm_ep *ep, const struct fid *fid)
{
	wf_list_foreach(link, &ep->conns)
	{
		struct rxm_conn *conn = wf_list_entry(link, struct rxm_conn, link);

		if (conn->below.fid && &conn->below.fid->fid == fid)
			return conn;
	}
	return NULL;
}

static void cm_connected(struct rxm_conn *conn, const void *data, size_t len)
{
	struct rxm_hello hello;

	if (conn->state == RXM_CONN_CONNECTING) {
		if (!rxm_hello_read_accept(data, len, &hello)) {
			rxm_conn_fail(conn, FI_EPROTO);
			return;
		}
		rxm_verify_accepted(conn);
		conn->peer_id = hello.id;
		conn->peer_pid = hello.pid;
		conn->peer_flow = hello.flow;
		conn->peer_depth = hello.rx_depth;
		rxm_local_accepted(conn, rxm_hello_card(data, len, RXM_ACCEPT_LEN));
	}
	conn->linked = true;
	rxm_conn_settled(conn);
}

void rxm_cm_event(struct rxm_ep *ep, uint32_t event, const struct fi_eq_cm_entry *entry,
	size_t len)
{
	struct rxm_conn *conn;

	if (event == FI_CONNREQ) {
		cm_requested(ep, entry, len);
		return;
	}
	conn = cm_find(ep, entry->fid);
	if (!conn || conn->state == RXM_CONN_DOWN)
		return;
	if (event == FI_CONNECTED && !conn->linked)
		cm_connected(conn, entry->data, len);
	else if (event == FI_SHUTDOWN)
		rxm_conn_shut_down(conn);
}

void rxm_cm_error(struct rxm_ep *ep, const struct fi_eq_err_entry *entry)
{
	struct rxm_conn *conn = cm_find(ep, entry->fid);
	enum rxm_reason reason;
	char text[WF_SOCKADDR_STRLEN];

	if (!conn || conn->state == RXM_CONN_DOWN)
		return;
	reason = rxm_hello_read_reject(entry->err_data, entry->err_data_size);
	conn->refused = conn->state == RXM_CONN_CONNECTING &&
			reason == RXM_REASON_NONE && entry->err == FI_ECONNREFUSED;
	if (reason == RXM_REASON_REFUSED)
		FI_WARN_SPARSE(&rxm_fi, FI_LOG_EP_CTRL,
			"%s rejected the connection: its version or its "
			"FI_OFI_RXM_BUFFER_SIZE may be another one\n",
			wf_sockaddr_uri(&conn->peer->ip.addr, text, sizeof(text)));
	if (conn->state == RXM_CONN_CONNECTING)
		rxm_verify_failed(conn, reason,
			rxm_hello_read_answer(entry->err_data, entry->err_data_size),
			entry->err);
	rxm_conn_fail(conn, entry->err ? entry->err : FI_ECONNABORTED);
}
