/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <stdlib.h>

#include "objects/endpoint/life/async.h"
#include "objects/local/mode.h"
#include "objects/lower/call.h"
#include "providers/rxm/below.h"
#include "providers/rxm/conn/credit.h"
#include "providers/rxm/conn/peer.h"
#include "providers/rxm/data/hold.h"
#include "providers/rxm/local/local.h"
#include "providers/rxm/param.h"
#include "sys/calls.h"
#include "sys/clock.h"

/* The life of a connection, and its operations below. */

static void conn_end_attempt(struct rxm_conn *conn)
{
	if (!conn->attempt)
		return;
	wf_attempts_end(&conn->ep->peers->remotes.attempts, &conn->attempt->base);
	conn->attempt = NULL;
}

int rxm_conn_count_remote(struct rxm_conn *conn)
{
	static const enum wf_ep_cntr events[] = { WF_CNTR_REMOTE_READ,
		WF_CNTR_REMOTE_WRITE };
	int ret = 0;

	for (size_t i = 0; i < WF_ARRAY_SIZE(events) && !ret; i++) {
		struct wf_cntr *cntr = conn->ep->ep.cntr[events[i]];

		if (cntr)
			ret = wf_lower_ep_import_cntr(
				&conn->below, events[i], cntr, NULL);
	}
	return ret;
}

/* Open the endpoint below and bind the objects that all connections share. */
static int conn_open_below(struct rxm_conn *conn, struct fi_info *info)
{
	struct rxm_ep *ep = conn->ep;
	int ret;

	rxm_below_size(ep, info);
	ret = wf_lower_ep_open(&conn->below, &ep->domain->below, info, NULL);
	if (!ret && conn->below.builtin)
		wf_ep_async_below(&ep->ep, conn->below.builtin);
	if (!ret)
		ret = wf_lower_ep_bind(&conn->below, &ep->eq->fid, 0);
	if (!ret)
		ret = wf_lower_ep_bind(
			&conn->below, &ep->cq.fid->fid, FI_TRANSMIT | FI_RECV);
	if (!ret && ep->srx)
		ret = wf_lower_ep_bind(&conn->below, &ep->srx->fid, 0);
	if (!ret)
		ret = rxm_conn_count_remote(conn);
	if (!ret && ep->inbox) {
		conn->inbox.inbox = ep->inbox;
		(void)wf_lower_ep_use_inbox(&conn->below, &conn->inbox);
	}
	if (!ret)
		ret = wf_lower_ep_enable(&conn->below);
	if (!ret && !ep->srx)
		ret = rxm_bufs_new(
			ep, conn, conn->below.fid, ep->rx_depth, &conn->bufs);
	return ret;
}

int rxm_conn_new(struct rxm_ep *ep, struct rxm_peer *peer, struct fi_info *info,
	struct rxm_conn **ret_conn)
{
	struct rxm_conn *conn = calloc(1, sizeof(*conn));
	int ret;

	if (!conn) {
		fi_freeinfo(info);
		return -FI_ENOMEM;
	}
	conn->ep = ep;
	conn->peer = peer;
	wf_list_init(&conn->waiting);
	wf_list_init(&conn->calls);
	wf_list_init(&conn->ready_link);
	wf_list_init(&conn->failed_link);
	wf_list_init(&conn->withheld);
	wf_list_push(&ep->conns, &conn->link);
	ep->conn_count++;
	wf_remote_ref(&peer->ip.remote);
	rxm_data_conn_init(conn);
	ret = conn_open_below(conn, info);
	if (!ret)
		ret = rxm_ids_add(&ep->peers->ids, conn);
	if (!ret) {
		*ret_conn = conn;
		return 0;
	}
	wf_lower_ep_close(&conn->below);
	rxm_bufs_free(conn->bufs);
	wf_list_remove(&conn->link);
	ep->conn_count--;
	rxm_peer_unref(ep, peer);
	free(conn);
	return ret;
}

bool rxm_conn_begin(struct rxm_conn *conn, enum rxm_conn_state state)
{
	struct wf_remotes *remotes = &conn->ep->peers->remotes;
	struct rxm_attempt *attempt = calloc(1, sizeof(*attempt));

	if (!attempt)
		return false;
	conn->state = state;
	conn->attempt = attempt;
	attempt->conn = conn;
	attempt->base.watch.fd = -1;
	wf_attempts_add(&remotes->attempts, &attempt->base);
	if (rxm_params.connect_timeout) {
		attempt->base.deadline_ns =
			wf_deadline_ns((int)rxm_params.connect_timeout);
		wf_watches_expect(&conn->ep->watches, attempt->base.deadline_ns);
	}
	wf_progress_wake(&conn->ep->ep.progress);
	return true;
}

/* For FI_TCP_LOCAL=shm. A message that a process left unread may use the connection. */
static bool conn_is_refused(struct rxm_conn *conn)
{
	union wf_sockaddr own = { 0 };
	size_t len = sizeof(own);

	return wf_local_mode == WF_LOCAL_ONLY && !rxm_local_uses_memory(conn) &&
	       !rxm_local_is_to_itself(conn) && !rxm_unread_waits(conn->peer) &&
	       rxm_local_possible(conn->ep->domain) &&
	       !fi_getname(&conn->below.fid->fid, &own, &len) &&
	       rxm_local_refuses(&own, &conn->peer->ip.addr);
}

void rxm_conn_settled(struct rxm_conn *conn)
{
	if (!conn->linked || !rxm_local_settled(conn) || conn->state == RXM_CONN_UP ||
		conn->state == RXM_CONN_DOWN || !wf_list_empty(&conn->failed_link))
		return;
	if (wf_unlikely(conn_is_refused(conn))) {
		conn->refused = true;
		rxm_conn_fail(conn, FI_ECONNREFUSED);
		return;
	}
	conn_end_attempt(conn);
	conn->state = RXM_CONN_UP;
	if (conn->peer->conn == conn)
		wf_remote_connected(&conn->peer->ip.remote, &conn->waiting);
	rxm_conn_resume(conn);
	rxm_credit_init(conn, conn->peer_flow);
}

void rxm_conn_resume(struct rxm_conn *conn)
{
	struct rxm_ep *ep = conn->ep;

	if (!wf_list_empty(&conn->ready_link) || conn->state != RXM_CONN_UP)
		return;
	wf_list_push(&ep->ready, &conn->ready_link);
	wf_progress_wake(&ep->ep.progress);
	rxm_wake_sleepers(ep);
}

void rxm_conn_fail(struct rxm_conn *conn, int err)
{
	if (conn->state == RXM_CONN_DOWN)
		return;
	conn->was_up = conn->state == RXM_CONN_UP;
	conn->state = RXM_CONN_DOWN;
	conn->err = err;
	wf_list_remove(&conn->ready_link);
	rxm_conn_shut_down(conn);
}

void rxm_conn_shut_down(struct rxm_conn *conn)
{
	struct rxm_ep *ep = conn->ep;

	if (!wf_list_empty(&conn->failed_link))
		return;
	wf_list_push(&ep->failed, &conn->failed_link);
	wf_progress_wake(&ep->ep.progress);
	rxm_wake_sleepers(ep);
}

/* End the calls that the endpoint below did not end when it was closed. */
static void conn_end_calls(struct rxm_conn *conn)
{
	const struct fi_cq_tagged_entry none = { .op_context = NULL };
	struct wf_list *link;

	while ((link = wf_list_pop(&conn->calls))) {
		struct rxm_call *call = wf_list_entry(link, struct rxm_call, link);

		call->done(call, conn->err ? conn->err : FI_ECANCELED, &none);
	}
}

/* Tell objects/conn/remote.h how the connection ended, which decides what becomes of
 * the operations that wait for the peer. */
static void conn_report_end(struct rxm_conn *conn)
{
	struct wf_remotes *remotes = &conn->ep->peers->remotes;
	struct wf_remote *remote = &conn->peer->ip.remote;

	if (conn->peer->conn != conn)
		return;
	conn->peer->conn = NULL;
	if (conn->was_up || !conn->err)
		wf_remote_schedule(remotes, remote);
	else if (conn->refused)
		wf_remote_refused(remotes, remote, wf_now_ns());
	else
		wf_remote_failed(remotes, remote, conn->err, wf_now_ns());
}

void rxm_conn_end(struct rxm_conn *conn, int err)
{
	struct rxm_ep *ep = conn->ep;

	if (conn->state != RXM_CONN_DOWN) {
		conn->was_up = conn->state == RXM_CONN_UP;
		conn->err = err;
	}
	conn->state = RXM_CONN_DOWN;
	conn_end_attempt(conn);
	wf_list_remove(&conn->ready_link);
	wf_list_remove(&conn->failed_link);
	rxm_local_end(conn, conn->data.quiet ? 0 : conn->err);
	wf_lower_ep_close(&conn->below);
	/* Handle packets that arrived before, and calls that the closing ended. */
	while (rxm_poll_cq(ep))
		;
	rxm_hold_end(conn);
	conn_end_calls(conn);
	rxm_unread_keep(conn);
	rxm_data_lost(conn, conn->err ? conn->err : FI_ECANCELED);
	wf_list_remove(&conn->link);
	ep->conn_count--;
	wf_list_remove(&conn->ready_link);
	rxm_ids_remove(&ep->peers->ids, conn);
	conn_report_end(conn);
	rxm_bufs_free(conn->bufs);
	rxm_peer_unref(ep, conn->peer);
	free(conn);
}

void rxm_conns_end_failed(struct rxm_ep *ep)
{
	struct wf_list later, *link;

	/* Handle packets that peers sent before they closed their connections. */
	while (rxm_poll_cq(ep))
		;
	wf_list_init(&later);
	while ((link = wf_list_pop(&ep->failed))) {
		struct rxm_conn *conn =
			wf_list_entry(link, struct rxm_conn, failed_link);

		if (rxm_local_lingers(conn))
			wf_list_push(&later, link);
		else
			rxm_conn_end(conn, FI_ECANCELED);
	}
	while ((link = wf_list_pop(&later)))
		wf_list_push(&ep->failed, link);
}

struct rxm_conn *rxm_conn_by_id(struct rxm_ep *ep, uint64_t id)
{
	return rxm_ids_find(&ep->peers->ids, id);
}

/* Has the peer closed the connection? Only an endpoint below with one socket can be
 * asked. */
static bool conn_has_hung_up(struct rxm_conn *conn)
{
	struct pollfd fd = { .events = POLLRDHUP };
	struct wf_ep *builtin = conn->below.builtin;

	if (!builtin || !builtin->xfer->get_fd ||
		fi_control(&conn->below.fid->fid, FI_GET_FD, &fd.fd))
		return false;
	return wf_sys_poll(&fd, 1, 0) > 0 &&
	       fd.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

bool rxm_conn_stands(struct rxm_conn *conn)
{
	return conn->state != RXM_CONN_DOWN && wf_list_empty(&conn->failed_link) &&
	       !conn_has_hung_up(conn);
}

bool rxm_conn_check(struct rxm_conn *conn)
{
	enum { PAUSE_NS = 10000000 };
	uint64_t now = wf_coarse_ns();
	uint64_t last = WF_MAX(conn->ep->eq_ns, conn->checked_ns);

	if (wf_likely(now - last < PAUSE_NS))
		return true;
	conn->checked_ns = now;
	if (!conn_has_hung_up(conn))
		return true;
	rxm_conn_fail(conn, FI_ECONNRESET);
	return false;
}

/* Can a packet be sent now? */
static bool conn_is_open(struct rxm_conn *conn)
{
	return conn->state == RXM_CONN_UP && rxm_credit_left(conn);
}

/* Handle the result @ret of the provider below for @call (NULL: none). */
static ssize_t conn_result(struct rxm_conn *conn, struct rxm_call *call, ssize_t ret)
{
	if (wf_likely(!ret)) {
		if (call) {
			call->conn = conn;
			wf_list_push(&conn->calls, &call->link);
		}
		return 0;
	}
	if (ret == -FI_EAGAIN)
		return ret;
	rxm_log(FI_LOG_INFO, FI_LOG_EP_DATA, "the provider below: %s\n",
		fi_strerror((int)-ret));
	if (ret != -FI_ENOTCONN)
		return ret;
	/* The endpoint below knows that the connection has ended; the event was not
	 * read yet. */
	rxm_conn_fail(conn, FI_ENOTCONN);
	return -FI_EAGAIN;
}

static void *conn_same_desc(const struct wf_lower_descs *descs, void *desc)
{
	(void)descs;
	return desc;
}

/* Start @op below; its descriptors are those of the provider below. */
static ssize_t conn_start_below(struct rxm_conn *conn, struct wf_op *op)
{
	static const struct wf_lower_descs descs = { conn_same_desc };

	if (wf_unlikely(!conn->below.builtin))
		return wf_lower_call(conn->below.fid, op, FI_ADDR_UNSPEC, &descs);
	return wf_lower_start(&conn->below, op, FI_ADDR_UNSPEC);
}

ssize_t rxm_conn_send(struct rxm_conn *conn, const struct iovec *iov, void **desc,
	size_t count, uint64_t flags, struct rxm_call *call)
{
	struct wf_op op = {
		.kind = WF_OP_SEND,
		.flags = (flags & ~FI_INJECT) | FI_COMPLETION,
		.iov = iov,
		.desc = desc,
		.iov_count = count,
		.len = wf_iov_len(iov, count),
		.addr = FI_ADDR_UNSPEC,
		.context = call,
	};
	ssize_t ret;

	if (wf_unlikely(!conn_is_open(conn)))
		return -FI_EAGAIN;
	call->promised = flags & FI_INJECT;
	ret = conn_start_below(conn, &op);
	if (!ret)
		rxm_credit_spend(conn);
	return conn_result(conn, call, ret);
}

ssize_t rxm_conn_inject(struct rxm_conn *conn, const void *packet, size_t len)
{
	ssize_t ret;

	if (wf_unlikely(!conn_is_open(conn)))
		return -FI_EAGAIN;
	ret = wf_lower_inject(&conn->below, packet, len, FI_ADDR_UNSPEC);
	if (!ret)
		rxm_credit_spend(conn);
	return conn_result(conn, NULL, ret);
}

ssize_t rxm_conn_rma(struct rxm_conn *conn, struct wf_op *op, struct rxm_call *call)
{
	const uint64_t own = WF_OP_WORK | FI_PEER_TRANSFER | FI_INJECT;
	struct wf_op below = *op;
	ssize_t ret;

	if (wf_unlikely(conn->state != RXM_CONN_UP))
		return -FI_EAGAIN;
	below.flags &= ~own;
	below.flags |= FI_COMPLETION;
	below.context = call;
	call->promised = op->flags & FI_INJECT;
	ret = conn_start_below(conn, &below);
	return conn_result(conn, call, ret);
}
