/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_CONN_H
#define RXM_CONN_H

#include "objects/conn/ip.h"
#include "providers/rxm/rxm.h"

struct rxm_attempt;
struct rxm_bufs;

/* A peer of an endpoint, by address. Created by the first operation to it or by its
 * first request to connect. Guarded by ep.lock. */
struct rxm_peer {
	struct wf_ip_remote ip;
	/* The connection that operations use, or that is being made; NULL: none. */
	struct rxm_conn *conn;
};

enum rxm_conn_state {
	RXM_CONN_CONNECTING, /* this endpoint asked, and the peer has not answered */
	RXM_CONN_ACCEPTING,  /* the peer asked, this endpoint accepted */
	RXM_CONN_UP,
	RXM_CONN_DOWN, /* it failed with @err, and is in ep->failed, or is closed */
};

/*
 * A connection: an FI_EP_MSG endpoint below. Guarded by ep.lock.
 *
 * Operations that wait, because the queue below is full or because the connection does
 * not stand yet, are in @waiting in their order; the type of the members is that of
 * data/. Those for a peer that has no connection are in peer->ip.remote.pending and
 * move to @waiting when the connection is up.
 */
struct rxm_conn {
	struct rxm_ep *ep;
	struct rxm_peer *peer; /* with a reference */
	struct wf_lower_ep below;
	enum rxm_conn_state state;
	struct rxm_attempt *attempt; /* the exchange that is under way; NULL: none is */
	int err;      /* positive FI_E code of a connection that failed; else 0 */
	bool was_up;  /* before it failed; valid in state DOWN */
	bool refused; /* nothing listens at the peer's address */
	uint32_t id;  /* in the packets that come over it; see ids.h */
	struct rxm_conn *id_next;
	uint32_t peer_id;  /* in the packets that go over it; valid in state UP */
	uint32_t peer_pid; /* names the process of the peer; 0: not known */
	uint8_t peer_flow; /* enum rxm_flow */
	/* Credits (verbs without shared receives): packets that the peer has buffers
	 * for, and buffers posted since the peer was told; see credit.c. */
	bool credited;
	uint32_t credits, reposted;
	uint32_t peer_depth;   /* the most credits there can be; 0 or 1: not known */
	struct rxm_bufs *bufs; /* its receive buffers; NULL: the endpoint has them */
	uint64_t looked_ns;    /* wf_coarse_ns of the last rxm_conn_look */
	struct wf_list waiting;
	struct wf_list calls; /* struct rxm_call, by link: taken and not ended */
	struct wf_list link, ready_link, failed_link;
	struct wf_unexp_conn unexp;
	struct rxm_conn_data data; /* state of data/ */
};

/*
 * For data/. ep.lock is held unless a comment says otherwise.
 */

/* Find the connection for operations to @addr (*ret_conn), which is in state UP, or, if
 * that is NULL, the list where they wait for one (*ret_wait). -FI_EINVAL: no such
 * address; -FI_ENOMEM. */
int rxm_route(struct rxm_ep *ep, fi_addr_t addr, struct rxm_conn **ret_conn,
	struct wf_list **ret_wait);

/*
 * Send one packet: a message below of the buffers @iov, the header first, with the
 * descriptors @desc (NULL: none). All results of the calls here:
 * 0: taken; call->done will be called. The buffers stay until then.
 * -FI_EAGAIN: the queue below is full, the peer has no buffers, or the connection is
 *    not up yet. Nothing was taken. The operation waits in conn->waiting; data/ is
 *    called by rxm_data_resume when it may try again.
 * another negative code: the operation or the connection failed; done() is not called.
 * @flags: with FI_INJECT the packet leaves before the endpoint is closed, although it
 *    is not injected below; FI_DELIVERY_COMPLETE, FI_MORE and the like are passed on
 *    where the provider below has them.
 */
ssize_t rxm_conn_send(struct rxm_conn *conn, const struct iovec *iov, void **desc,
	size_t count, uint64_t flags, struct rxm_call *call);

/* Send the @len bytes at @packet, at most ep->inject_size, which are free when the call
 * returns; no done() follows. Results as above. */
ssize_t rxm_conn_inject(struct rxm_conn *conn, const void *packet, size_t len);

/* Start @op, an RMA operation, on the connection: its own flags, with FI_COMPLETION,
 * and @call as its context. @op is unchanged afterwards. Results as above. An
 * operation that wants no done() (an injected write) has a NULL @call. */
ssize_t rxm_conn_rma(struct rxm_conn *conn, struct wf_op *op, struct rxm_call *call);

/* Before an operation that comes after a pause: fail the connection if the peer has
 * closed it meanwhile. So a peer that was started again gets the operation, which
 * progress calls alone would notice too late. False: it has failed. */
bool rxm_conn_look(struct rxm_conn *conn);

/* Have rxm_data_resume called for @conn by the next progress call, or as soon as calls
 * end: conn->waiting is not empty. */
void rxm_conn_resume(struct rxm_conn *conn);

/* The connection is of no use any more, for example because the peer sent a packet that
 * makes no sense: the next progress call ends it, with the positive FI_E code @err. */
void rxm_conn_fail(struct rxm_conn *conn, int err);

/* The peer gave @count credits in a packet. */
void rxm_conn_credit(struct rxm_conn *conn, uint64_t count);

/* The connection whose packets carry @id; NULL: none. An id cannot be guessed by peers
 * of other connections. */
struct rxm_conn *rxm_conn_by_id(struct rxm_ep *ep, uint64_t id);

/* The peer's index in the AV, or FI_ADDR_NOTAVAIL. */
static inline fi_addr_t rxm_peer_index(struct rxm_ep *ep, struct rxm_peer *peer)
{
	return wf_ip_remote_index(ep->ep.av, &peer->ip);
}

static inline struct rxm_peer *rxm_peer_of(const struct wf_remote *remote)
{
	return wf_container_of(remote, struct rxm_peer, ip.remote);
}

static inline struct rxm_peer *rxm_peer_of_ip(const struct wf_ip_remote *ip)
{
	return wf_container_of(ip, struct rxm_peer, ip);
}

static inline struct rxm_conn *rxm_conn_of_unexp(struct wf_unexp_conn *unexp)
{
	return wf_container_of(unexp, struct rxm_conn, unexp);
}

#endif
